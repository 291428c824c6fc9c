"""Stores wrapping keys in the system keyring without ever delaying a reader.

A keyring may ask for a password, in a window or on the terminal, and its service may hang. So it is spoken to in a
process of its own (`keyring_child`): one that only reads has no terminal, looks whether the keyring is locked before it
touches it, and is given up after some seconds. What was read once is kept for the life of this process.
"""

from __future__ import annotations

import base64
import json
import os
from typing import Any, Final

from recollect.errors import KeyUnavailable
from recollect.processes import own_command
from recollect.units import duration

SERVICE: Final = "recollect"
"""Under which service the keyring lists our keys; the name of an entry is `wrapping key <key id>`."""
KEY_BYTES: Final = 32
_READ_TIMEOUT_S: Final = 15
_ASK_TIMEOUT_S: Final = 180
"""A person is asked to unlock the keyring."""
_read: dict[str, bytes] = {}


def read(key_id: str) -> bytes:
    """Return a wrapping key. Asks nobody: a locked keyring is an error.

    Raises:
        KeyUnavailable: the keyring is locked, absent, unusable, silent for too long, or doesn't have the key.
    """
    if key_id not in _read:
        _read[key_id] = _fetched(key_id, may_ask=False)
    return _read[key_id]


def store(key_id: str, key: bytes) -> None:
    """Put a wrapping key into the keyring, which may ask for a password, and read it back.

    Raises:
        KeyUnavailable: it cannot be put there, or doesn't come back as it was.
    """
    _ask("store", key_id, may_ask=True, value=base64.b64encode(key).decode())
    if _fetched(key_id, may_ask=True) != key:
        raise KeyUnavailable("the system's keyring returned a different key than was stored")
    _read[key_id] = key


def delete(key_id: str) -> None:
    """Remove a wrapping key from the keyring; ignores a missing one. Raises KeyUnavailable."""
    _ask("delete", key_id, may_ask=True)
    _read.pop(key_id, None)


def name() -> str:
    """Return the keyring's name for itself. Raises KeyUnavailable without a usable keyring."""
    return str(_ask("name", "", may_ask=False).get("value", ""))


def _fetched(key_id: str, *, may_ask: bool) -> bytes:
    text = _ask("read", key_id, may_ask=may_ask).get("value")
    if text is None:
        raise KeyUnavailable(
            f"the system's keyring has no entry {_entry(key_id)!r} of {SERVICE!r}",
            hint="log in as the user who stored it; until then you can still search",
        )
    try:
        key = base64.b64decode(str(text), validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise KeyUnavailable(f"the entry {_entry(key_id)!r} of the system's keyring is not a key")
    return key


def _entry(key_id: str) -> str:
    return f"wrapping key {key_id}"


def _ask(action: str, key_id: str, *, may_ask: bool, value: str = "") -> dict[str, Any]:
    """Let the child do one thing and return its answer. Raises KeyUnavailable."""
    import subprocess  # most keys lie in a file

    request = {"action": action, "service": SERVICE, "entry": _entry(key_id), "value": value, "may_ask": may_ask}
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            own_command(module="recollect.archive.keyring_child"),
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=_ASK_TIMEOUT_S if may_ask else _READ_TIMEOUT_S,
            start_new_session=os.name == "posix" and not may_ask,
            check=False,
        )
        answer = json.loads(done.stdout) if done.returncode == 0 else {"problem": _last_line(done.stderr)}
    except subprocess.TimeoutExpired as error:
        raise KeyUnavailable(
            f"the system's keyring did not answer within {duration(error.timeout)}", hint="unlock it and try again"
        ) from None
    except (OSError, ValueError) as error:
        raise KeyUnavailable(f"the system's keyring cannot be used: {error}") from error
    if not isinstance(answer, dict):
        raise KeyUnavailable("the system's keyring does not answer")
    if "problem" in answer:
        raise KeyUnavailable(f"the system's keyring {answer['problem']}", hint=str(answer.get("hint", "")))
    return answer


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").split("\n")
    return "failed: " + next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
