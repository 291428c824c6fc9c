"""Addresses of servers: usable, and none to which a key would go in the open."""

from __future__ import annotations

from urllib.parse import urlsplit

from recollect.errors import ConfigError

_LOCAL = ("localhost", "127.0.0.1", "::1")


def checked_address(url: str, *, key: str, has_secret: bool, example: str) -> str:
    """Return an address without a slash at its end. Raises ConfigError for one that must not or cannot be used.

    key: of the configuration, for the error. has_secret: a key is sent there, which asks for https, or this machine.
    """
    try:
        parts = urlsplit(url)
        host, has_port = parts.hostname or "", parts.port is None or parts.port > 0
    except ValueError:
        parts, host, has_port = urlsplit(""), "", False
    if parts.scheme not in ("http", "https") or not host or not has_port:
        raise _wrong(key, f"is not an address such as {example}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise _wrong(key, "must be an address alone; a key belongs into the variable that `key_variable` names")
    if has_secret and parts.scheme == "http" and host not in _LOCAL:
        raise _wrong(key, "would show the key to the network; use https")
    return url.rstrip("/")


def is_on_this_machine(url: str) -> bool:
    """Tell whether a checked address is this machine's own."""
    return urlsplit(url).hostname in _LOCAL


def _wrong(key: str, why: str) -> ConfigError:
    section, _, name = key.partition(".")
    return ConfigError(f"[{section}] {name}: {why}", key=key)
