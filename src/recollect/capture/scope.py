"""The part of the file system that a pass examines when the changed paths are known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Protocol

from recollect.model.records import ZSTD_SUFFIXES


class FolderEntry(Protocol):
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


def named_entries(folder: str, names: Iterable[str]) -> Sequence[FolderEntry]:
    """Return those of these names that a listing of the folder would have, dangling links too, in its order."""
    return [entry for name in sorted(names) if os.path.lexists((entry := _Named(folder, name)).path)]


_DOCUMENT = "#"
"""Stands between a file and a document in it, in the path of a source."""
_FEW = 8
"""So many paths are compared one by one."""


class Scope:
    """Changed paths: each includes everything below it if it is a folder.

    paths: absolute, spelled as below the agents' folders. agents: slugs of the possible agents. repositories: folders
    of agents that write into repositories. A transcript and its compressed twin belong together.
    """

    def __init__(
        self,
        paths: Iterable[str],
        *,
        agents: Iterable[str],
        repositories: Iterable[str] = (),
        takes_spool: bool = False,
    ) -> None:
        self.agents = frozenset(agents)
        self.repositories = tuple(repositories)
        self.takes_spool = takes_spool
        """Whether what hooks dropped into the spool is ingested too."""
        self.documents: dict[str, set[str]] = {}
        """Paths of project documents that changed, below the folder of their collection, by its name."""
        self._paths: set[str] = set()
        self._named: dict[str, set[str]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Let a path belong to it too."""
        for each in _with_twins(path.rstrip("/\\") or path):
            self._paths.add(each)
            below, (folder, name) = each, os.path.split(each)
            while folder != below and name:
                self._named.setdefault(folder, set()).add(name)
                below, (folder, name) = folder, os.path.split(folder)

    @property
    def paths(self) -> frozenset[str]:
        """The paths themselves."""
        return frozenset(self._paths)

    def covers(self, path: str) -> bool:
        """Return whether a path, or the file of a document `file#role/document`, is one of these or below one."""
        if path in self._paths:
            return True
        if len(self._paths) <= _FEW:
            return path.startswith(tuple(f"{each}{mark}" for each in self._paths for mark in (os.sep, _DOCUMENT)))
        folder, name = os.path.split(path)
        while name:
            while _DOCUMENT in name:
                name = name.rpartition(_DOCUMENT)[0]
                if os.path.join(folder, name) in self._paths:
                    return True
            if folder in self._paths:
                return True
            folder, name = os.path.split(folder)
        return False

    def touches(self, folder: str) -> bool:
        """Return whether anything in a folder, or the folder itself, is examined."""
        return folder in self._named or self.covers(folder)

    def names_in(self, folder: str) -> frozenset[str] | None:
        """Return which entries of a folder are looked at; None: all."""
        return None if self.covers(folder) else frozenset(self._named.get(folder, ()))


def _with_twins(path: str) -> Iterable[str]:
    """Return a path, and where it may be a transcript the one that replaces it, or that it replaces."""
    for suffix in ZSTD_SUFFIXES:
        if path.endswith(suffix):
            return path, path.removesuffix(suffix)
    if path.endswith((".jsonl", ".ndjson")):
        return path, *(f"{path}{suffix}" for suffix in ZSTD_SUFFIXES)
    return (path,)
