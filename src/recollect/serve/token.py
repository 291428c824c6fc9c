"""The HTTP tokens of a home: one for reading the memory, one for sending telemetry."""

from __future__ import annotations

import secrets
from pathlib import Path

from recollect.errors import StoreError
from recollect.files import create_file

ADDRESS = "127.0.0.1"
NAME = "http-token"
OTLP_NAME = "otlp-token"
"""Of the receiver, which only keeps what it is sent. An agent hands its exporter's headers on to every program that it
runs, so they must not let anybody read the memory."""
_BYTES = 32
_MIN_CHARS = 32


def home_token(home: Path, name: str = NAME) -> str:
    """Return the token of a home, made at first use: a file that only its owner can read (0600).

    Raises StoreError when it cannot be made or read.
    """
    path = home / name
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        create_file(path, f"{secrets.token_urlsafe(_BYTES)}\n".encode("ascii"), durable=True)
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"cannot read or make the token {path}: {error}") from error
    if len(token) < _MIN_CHARS:
        raise StoreError(f"{path} contains no token", hint="delete it; a new one is made")
    return token


def is_token(shown: str, token: str) -> bool:
    """Return whether an `Authorization` header shows the token, in time that does not depend on where it differs."""
    scheme, _space, given = shown.partition(" ")
    is_bearer = scheme.lower() == "bearer"
    return secrets.compare_digest(given.strip().encode("utf-8", "replace"), token.encode()) and is_bearer
