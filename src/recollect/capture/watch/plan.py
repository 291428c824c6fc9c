"""What to watch so that nothing an agent writes is missed, and which sources a changed path may be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from glob import escape
from typing import NamedTuple

from recollect.agents.base import Adapter
from recollect.capture.confined.scope import Scope
from recollect.capture.containers.directory import glob_of
from recollect.capture.discover import RootDir, roots_of
from recollect.capture.watch.patterns import Pattern
from recollect.config import Config
from recollect.paths import SPOOL_FOLDER, expand
from recollect.wire import OTLP_FOLDER

_BESIDE_DATABASE = ("-wal", "-shm", "-journal")
"""What SQLite writes beside a database: a change of these is one of the database."""


class Watched(NamedTuple):
    """A folder to watch. is_deep: with all below it. agents: slugs of whose it is, none for folders that users name.

    It need not be there: what is not there is looked for again and again.
    """

    folder: str
    is_deep: bool
    agents: tuple[str, ...] = ()


class _Tree(NamedTuple):
    """A root as one adapter sees it. files: patterns of files. members: of files that are parts of one document.

    is_home False: any file of lines in it may be the adapter's.
    """

    slug: str
    root: str
    is_home: bool
    files: tuple[Pattern, ...]
    members: tuple[Pattern, ...]


class WatchPlan:
    """What to watch for these adapters. repositories: folders that agents work in, for those that write there.

    home: the memory's own folder, of which nothing but its spool is looked at.
    """

    def __init__(
        self, adapters: Sequence[Adapter], config: Config, env: Mapping[str, str], *,
        repositories: Sequence[str] = (), home: str,
    ) -> None:  # fmt: skip
        self._home = home
        self._spool = os.path.join(home, SPOOL_FOLDER)
        self._repositories = tuple(repositories)
        self._all = tuple(adapter.facts.slug for adapter in adapters)
        self._named = tuple(os.path.abspath(expand(folder, env)) for folder in config.ingest.folders)
        self._trees: dict[str, list[_Tree]] = {}
        for adapter in adapters:
            for tree in _trees_of(adapter, config, env, self._repositories):
                self._trees.setdefault(tree.root, []).append(tree)
        self.folders = self._folders()

    def _folders(self) -> tuple[Watched, ...]:
        found: dict[str, tuple[bool, set[str]]] = {self._spool: (False, set())}
        for folder in self._named:
            found[folder] = (True, set())
        for tree in (tree for trees in self._trees.values() for tree in trees):
            wanted = [(p.base, p.is_deep) for p in (*tree.files, *tree.members)] if tree.is_home else [("", True)]
            for base, is_deep in wanted:
                folder = os.path.join(tree.root, *base.split("/")) if base else tree.root
                was_deep, agents = found.get(folder, (False, set()))
                found[folder] = (was_deep or is_deep, agents | {tree.slug})
        deep = {folder for folder, (is_deep, _) in found.items() if is_deep}
        return tuple(
            Watched(folder, is_deep, tuple(sorted(agents)))
            for folder, (is_deep, agents) in sorted(found.items())
            if not any(above in deep for above in _above(folder))
        )

    def roots_of(self, slug: str) -> list[str]:
        """Return the folders of one agent that are there."""
        trees = (tree for trees in self._trees.values() for tree in trees if tree.slug == slug)
        return sorted({tree.root for tree in trees if os.path.isdir(tree.root)})

    def scope_of(self, paths: Iterable[str]) -> Scope | None:
        """Return what a pass must look at after these paths changed; None where they are nobody's."""
        agents: set[str] = set()
        looked_at: set[str] = set()
        takes_spool = False
        for path in paths:
            if _is_in(path, self._spool) and not _is_in(path, os.path.join(self._spool, OTLP_FOLDER)):
                # What was taken out of the spool changed it too, and means nothing.
                is_drop = os.path.dirname(path) == self._spool and os.path.isfile(path)
                takes_spool = takes_spool or path == self._spool or is_drop
                continue
            if _is_in(path, self._home) and not _is_in(path, self._spool):
                continue
            if any(_is_in(path, folder) for folder in self._named):
                agents.update(self._all)
                looked_at.add(path)
            for place, slug in self._places(path):
                agents.add(slug)
                looked_at.add(place)
        if not looked_at and not takes_spool:
            return None
        return Scope(looked_at, agents=agents, repositories=self._repositories, takes_spool=takes_spool)

    def _places(self, path: str) -> Iterable[tuple[str, str]]:
        """Yield (path to look at, slug) of every adapter that may care."""
        for suffix in _BESIDE_DATABASE:
            path = path.removesuffix(suffix)
        for root in (path, *_above(path)):
            for tree in self._trees.get(root, ()):
                parts = os.path.relpath(path, root).split(os.sep) if path != root else []
                if any(pattern.matches(parts) for pattern in tree.members):
                    yield root, tree.slug  # a document's mark is made of all its files
                elif not tree.is_home or any(p.matches(parts) for p in tree.files) or _may_be_folder(tree, path, parts):
                    yield path, tree.slug


def _trees_of(adapter: Adapter, config: Config, env: Mapping[str, str], repositories: Sequence[str]) -> list[_Tree]:
    facts = adapter.facts
    roots = [root for root in roots_of(adapter, config, env) if not (facts.is_import_only and root.is_home)]
    if facts.is_per_repository:
        roots += [RootDir(folder, True) for folder in repositories]
    files = tuple(Pattern(text) for place in facts.places for text in place.patterns)
    members = tuple(Pattern(glob_of(member.pattern)) for place in facts.places for member in place.members)
    return [
        _Tree(facts.slug, root.path, root.is_home, (Pattern(escape(root.database)),), ())
        if root.database
        else _Tree(facts.slug, root.path, root.is_home, files, members)
        for root in roots
    ]


def _may_be_folder(tree: _Tree, path: str, parts: Sequence[str]) -> bool:
    """Tell whether a path that is no source may be a folder with sources: one that has come, or that is gone."""
    if os.path.isfile(path):
        return False
    return any(pattern.may_lie_below(parts) for pattern in (*tree.files, *tree.members))


def _above(path: str) -> Iterable[str]:
    folder = os.path.dirname(path)
    while folder != path:
        yield folder
        path, folder = folder, os.path.dirname(folder)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)
