"""The process that talks to the system keyring: one JSON request on stdin, one JSON answer on stdout.

Who may not ask a person anything looks first whether the keyring is locked, by the means of each kind of keyring; the
library itself would open a window. Standard library only, but for what speaks to keyrings.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from contextlib import closing
from typing import Any

LEAST_PRIORITY = 1
"""Below it, the library itself does not recommend a keyring: those that keep secrets in a readable file, or nowhere."""
UNLOCK = "unlock it, usually by logging in to the desktop, and try again; you can still search"


class KeyringRefused(Exception):
    """The keyring cannot be used; `hint` says what to do."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks for. What else a keyring raises ends the process; the other side tells its last line."""
    from keyring.errors import KeyringLocked

    try:
        backend = _backend()
        if not request["may_ask"] and request["action"] != "name":
            _check_unlocked(backend)
        return {"value": _done(backend, request)}
    except KeyringRefused as refused:
        return {"problem": str(refused), "hint": refused.hint}
    except KeyringLocked:
        return {"problem": "is locked", "hint": UNLOCK}


def _done(backend: Any, request: dict[str, Any]) -> str | None:
    from keyring.errors import PasswordDeleteError

    service, entry = request["service"], request["entry"]
    match request["action"]:
        case "store":
            backend.set_password(service, entry, request["value"])
        case "read":
            found: str | None = backend.get_password(service, entry)
            return found
        case "delete":
            try:
                backend.delete_password(service, entry)
            except PasswordDeleteError:
                if backend.get_password(service, entry) is not None:
                    raise
        case "name":
            return _named(backend)
    return None


def _backend() -> Any:
    """Return the keyring that the person or the system chose. Raises Refused where that is none, or none to trust."""
    import keyring

    found = keyring.get_keyring()
    chain = getattr(found, "backends", None)
    for backend in chain if chain is not None else (found,):
        if backend.priority >= LEAST_PRIORITY:
            return backend
    raise KeyringRefused(
        f"cannot be used: {_named(found)} does not store keys safely",
        "a desktop session with a keyring is needed: Secret Service, KWallet, Keychain or Credential Manager",
    )


def _named(backend: Any) -> str:
    return f"{type(backend).__module__}.{type(backend).__name__}"


def _check_unlocked(backend: Any) -> None:
    """Raise Refused where reading would make the keyring ask somebody."""
    module = type(backend).__module__
    if module in ("keyring.backends.SecretService", "keyring.backends.libsecret"):
        import secretstorage

        path = getattr(backend, "preferred_collection", None)
        with closing(secretstorage.dbus_init()) as bus:
            # Not `get_default_collection`, which makes one if there is none, and asks for its password.
            collection = secretstorage.Collection(bus, path) if path else secretstorage.Collection(bus)
            if collection.is_locked():
                raise KeyringRefused("is locked", UNLOCK)
    elif module == "keyring.backends.kwallet":
        bus, place = (
            importlib.import_module("dbus").SessionBus(),
            (backend.bus_name, backend.object_path, "org.kde.KWallet"),
        )
        wallet = bus.call_blocking(*place, "networkWallet", "", ())
        if not bus.call_blocking(*place, "isOpen", "s", (wallet,)):
            raise KeyringRefused("is locked", UNLOCK)
    elif module == "keyring.backends.macOS":
        import ctypes.util

        security = ctypes.CDLL(ctypes.util.find_library("Security") or "")
        security.SecKeychainSetUserInteractionAllowed(ctypes.c_ubyte(0))  # then it fails instead of asking


def main() -> None:
    """Answer one request."""
    request = json.loads(sys.stdin.buffer.read())
    # A keyring may print; the answer alone may stand on standard output.
    out = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(out, "wb") as stream:
        stream.write(json.dumps(answer(request)).encode())


if __name__ == "__main__":
    main()
