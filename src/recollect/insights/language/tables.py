"""Parses shipped TOML tables once, and prepares what they say, because both take longer than using that.

Whoever starts a process may give what an earlier one parsed, by the hash of its text.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable
from typing import Any

Tables = dict[str, dict[str, Any]]


class ParsedTables:
    """What this process has parsed or prepared, or was given. Texts that changed have another hash."""

    def __init__(self) -> None:
        self.load: Callable[[], Tables] = dict
        """Gives what was parsed before, when a table is first asked for."""
        self.has_new = False
        """Whether something was parsed that was not given."""
        self._tables: Tables | None = None

    @property
    def tables(self) -> Tables:
        """All of them, by the hash of their text."""
        if self._tables is None:
            self._tables = self.load()
        return self._tables

    def table_of(self, text: str) -> dict[str, Any]:
        """Return what a text of TOML says. Raises tomllib.TOMLDecodeError."""
        return self.made_of(text, lambda: tomllib.loads(text))

    def made_of(self, text: str, make: Callable[[], dict[str, Any]], *, what: str = "") -> dict[str, Any]:
        """Return what `make` makes of a text. what: the name of that, where a text gives several things."""
        name = hashlib.blake2b(text.encode(), digest_size=16).hexdigest() + what
        found = self.tables.get(name)
        if found is None:
            found = self.tables[name] = make()
            self.has_new = True
        return found


PARSED = ParsedTables()
"""Of this process."""
