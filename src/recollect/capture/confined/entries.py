"""Entries of folders, as `os.scandir` gives them, that are known by name already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Protocol


class Entry(Protocol):
    """What is asked of an entry of a folder; `os.DirEntry` is one."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    def is_dir(self) -> bool: ...
    def is_symlink(self) -> bool: ...
    def stat(self) -> os.stat_result: ...


class _Named:
    """An entry that is known by name, so that its folder, which may hold thousands, need not be listed."""

    def __init__(self, folder: str, name: str) -> None:
        self.name = name
        self.path = os.path.join(folder, name)

    def is_dir(self) -> bool:
        return os.path.isdir(self.path)

    def is_symlink(self) -> bool:
        return os.path.islink(self.path)

    def stat(self) -> os.stat_result:
        return os.stat(self.path)


def named_entries(folder: str, names: Iterable[str]) -> Sequence[Entry]:
    """Return those of these names that a list of the folder would have, links that lead nowhere too, in its order."""
    return [entry for name in sorted(names) if os.path.lexists((entry := _Named(folder, name)).path)]
