"""The sources to ingest: agents' own folders, repositories, and folders that users name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.capture.detect_agents import sort_out
from recollect.capture.discover import Discovery, FoundSource, RefusedPath, RootDir, discover, roots_of, shared_roots
from recollect.capture.expand import expand
from recollect.capture.replay import is_rows
from recollect.capture.scope import Scope
from recollect.capture.sources import read_head
from recollect.config import Config
from recollect.ingest.plan import Planner
from recollect.store.reader import Reader


class Named(NamedTuple):
    """Files and folders that users name, recognised by content. is_all: look for nothing else.

    shown_as: the origin of each unpacked folder among them.
    """

    folders: Sequence[str] = ()
    is_all: bool = False
    shown_as: Mapping[str, str] = MappingProxyType({})


def named_by(plain: Sequence[str], shown_as: Mapping[str, str]) -> Named | None:
    """Return what an import examines: files and folders, and unpacked archives; None if nothing is named."""
    return Named((*plain, *shown_as), is_all=True, shown_as=shown_as) if plain or shown_as else None


class Finder:
    """Finds the sources of every agent for one pass."""

    def __init__(
        self, adapters: Sequence[Adapter], config: Config, env: Mapping[str, str], reader: Reader, named: Named, *,
        scope: Scope | None = None,
    ) -> None:  # fmt: skip
        """scope: where to look; None: everywhere."""
        own = not named.is_all
        if scope is not None:
            named = named._replace(folders=[folder for folder in named.folders if scope.touches(folder)])
        self._scope = scope
        self._shown_as = named.shown_as
        self._config = config
        self._env = env
        self._own = own
        self.folders = [folder for folder in named.folders if os.path.exists(folder)]
        self.absent = [folder for folder in named.folders if not os.path.exists(folder)]
        self._roots = {a.facts.slug: roots_of(a, config, env) for a in adapters}
        self.shared_roots = shared_roots(self._roots.values(), env)
        self._repositories: Sequence[str] = ()
        if own and any(a.facts.is_per_repository for a in adapters):
            self._repositories = repositories_of(reader) if scope is None else scope.repositories
            self.shared_roots |= frozenset(self._repositories)
        known = {row.path: (row.agent, row.role) for row in reader.sources()} if self.folders else {}
        by_slug = {a.facts.slug: a for a in adapters}
        is_said = not own and len(adapters) == 1
        self._sorted = [
            sort_out(folder, by_slug, known=known, read_head=read_head, is_said=is_said) for folder in self.folders
        ]

    @property
    def untaken(self) -> list[RefusedPath]:
        """The files in the folders that no adapter knows, with the reason."""
        taken = {source.path for found in self._sorted for of_one in found.sources.values() for source in of_one}
        refused = {one.path: one for found in self._sorted for one in found.untaken}
        return [one._replace(path=self._shown(path)) for path, one in refused.items() if path not in taken]

    def find(self, adapter: Adapter, planner: Planner) -> Discovery:
        """Return the sources of one agent, documents instead of databases, each path once."""
        roots = [*self._roots[adapter.facts.slug]] if self._own else []
        if adapter.facts.is_per_repository:
            roots += [RootDir(folder, True) for folder in self._repositories]
        if adapter.facts.is_import_only:
            roots = [root for root in roots if not root.is_home]  # those that the user named in the configuration
        found = discover(adapter, roots, known_roles=planner.known_roles, read_head=read_head, scope=self._scope)
        found.absent_roots = [root for root in found.absent_roots if root not in self._repositories]
        seen = {source.path for source in found.sources}
        found.sources += [s for s in self._of_folders(adapter.facts.slug) if s.path not in seen]
        if any(is_rows(place.container) for place in adapter.facts.places):
            expanded = expand(found.sources, planner.known_documents)
            found.sources = [self._as_shown(source) for source in expanded.sources]
            found.refused += [one._replace(path=self._shown(one.path)) for one in expanded.refused]
        return found

    def _as_shown(self, source: FoundSource) -> FoundSource:
        """Return a document of an unpacked archive under the archive's own path."""
        return msgspec.structs.replace(source, path=self._shown(source.path)) if self._shown_as else source

    def _shown(self, path: str) -> str:
        """Return a path in an unpacked archive as one in the archive."""
        for folder, archive in self._shown_as.items():
            if path.startswith((folder + os.sep, folder + "#")):
                return archive + path[len(folder) :]
        return path

    def _of_folders(self, slug: str) -> list[FoundSource]:
        """Return an agent's files in the folders, each file of a role once: folders may contain each other."""
        found: dict[tuple[str, str], FoundSource] = {}
        for one in self._sorted:
            for source in one.sources.get(slug, []):
                found.setdefault((source.path, source.place.role), source)
        return list(found.values())


def repositories_of(reader: Reader) -> list[str]:
    """Return the folders that stored sessions worked in and that are still there."""
    return sorted(place for place in reader.folders() if os.path.isabs(place) and os.path.isdir(place))
