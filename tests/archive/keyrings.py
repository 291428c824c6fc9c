"""Keyrings of the tests' own. The keyring library loads them as it would any other that its configuration names."""

from __future__ import annotations

from pathlib import Path

import pytest
from keyring.util.platform_ import config_root

_MODULE = '''
import getpass, json, os, sys
from pathlib import Path
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

KEPT = Path(__file__).with_suffix(".json")

class Kept(KeyringBackend):
    """Keeps what it is given, in a file."""
    priority = 5
    def _all(self):
        return json.loads(KEPT.read_text()) if KEPT.exists() else {}
    def _write(self, entries):
        draft = KEPT.with_suffix(".new")
        draft.write_text(json.dumps(entries))
        os.replace(draft, KEPT)
    def get_password(self, service, username):
        print("a keyring that talks")
        return self._all().get(f"{service}/{username}")
    def set_password(self, service, username, password):
        self._write({**self._all(), f"{service}/{username}": password})
    def delete_password(self, service, username):
        entries = self._all()
        if entries.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("there is none")
        self._write(entries)

class Locked(Kept):
    def get_password(self, service, username):
        raise KeyringLocked("no password was given")
    set_password = delete_password = get_password

class Asking(Kept):
    """Asks on the terminal, as keyrings in encrypted files do."""
    def get_password(self, service, username):
        getpass.getpass("Password for the keyring: ")
        return super().get_password(service, username)

class Broken(Kept):
    def get_password(self, service, username):
        raise RuntimeError("the service went away")

class Forgetful(Kept):
    """Takes what it is given and keeps nothing."""
    def set_password(self, service, username, password):
        pass

class Readable(Kept):
    """Keeps secrets for everybody to read, and says so by its priority."""
    priority = 0.5
'''


class Keyrings:
    """Chooses which keyring the program finds."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = folder / "keyring_of_tests.json"
        (folder / "keyring_of_tests.py").write_text(_MODULE)
        monkeypatch.delenv("PYTHON_KEYRING_BACKEND", raising=False)
        self.choose("Kept")

    def choose(self, name: str) -> None:
        """Let a class of the module above be the keyring, or one of the library's by its whole name."""
        whole = name if "." in name else f"keyring_of_tests.{name}"
        settings = Path(config_root(), "keyringrc.cfg")
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f"[backend]\ndefault-keyring={whole}\nkeyring-path={self.path.parent}\n")

    @property
    def text(self) -> str:
        """What the keyring holds."""
        return self.path.read_text() if self.path.exists() else "{}"
