"""Finds an agent's sources, only in the places that it declares.

Only names that match a place's pattern are looked at; nothing else in an agent's folder is opened. A link
that leaves its root is refused, a folder named like a file and a special file are reported, not followed.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache
from glob import escape
from typing import NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.capture.containers.directory import glob_of
from recollect.capture.scope import FolderEntry, Scope, named_entries
from recollect.capture.sources import DocumentPlace
from recollect.config import Config
from recollect.late import PATTERNS
from recollect.model.capabilities import Place
from recollect.model.records import ZSTD_SUFFIXES
from recollect.paths import expand_text, spool_dir, user_home, user_home_text

HEAD_BYTES = 64 * 1024
_IN_MEMORY = ":memory:"
"""What names no file to SQLite."""
_LOOSE_SUFFIXES = (".jsonl", ".jsonl.zst", ".jsonl.zstd")
_LOOSE_SKIP = frozenset((".git", "node_modules", ".venv", "__pycache__"))


class RootDir(NamedTuple):
    """A folder to search. is_home: the agent's own layout; else any folder with its transcripts.

    database: the name of the only file to examine, whatever it is called; "" if places give the names.
    """

    path: str
    is_home: bool
    database: str = ""

    @property
    def shown(self) -> str:
        """The path to show to a person: the folder, or the database."""
        return os.path.join(self.path, self.database) if self.database else self.path

    @property
    def is_there(self) -> bool:
        """Whether there is something to look at."""
        return os.path.isfile(self.shown) if self.database else os.path.isdir(self.path)


class FoundSource(msgspec.Struct, frozen=True):
    """A file that matches a place. path is absolute, relative its place below the root, "/"-separated."""

    agent: str
    path: str
    relative: str
    place: Place
    size: int
    mtime_ns: int
    inode: int
    document: DocumentPlace | None = None
    """Where it is, if it is not a file; path and relative then end in `#role/document`."""
    share_bytes: int = -1
    """About how many bytes of a database belong to the document; -1: `size` says it."""


class RefusedPath(NamedTuple):
    """A path that was not taken, and why. is_failure: it should have been readable."""

    path: str
    reason: str
    is_failure: bool = False


def misnamed(path: str) -> RefusedPath | None:
    """Return why a path that is not UTF-8 is not taken: it could neither be stored nor told."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return RefusedPath(path.encode("utf-8", "replace").decode(), "has a name that is not UTF-8")
    return None


class Discovery(msgspec.Struct):
    """Everything found for one agent."""

    roots: list[str]
    sources: list[FoundSource]
    refused: list[RefusedPath]
    absent_roots: list[str]


def roots_of(adapter: Adapter, config: Config, env: Mapping[str, str]) -> list[RootDir]:
    """Return the folders of an agent: its own variable or default, then the configured extra roots.

    `[agents.SLUG] variables` overrides the environment. A variable may list several folders, split by
    the platform's path separator. Spools of an agent are below the home that `env` names.
    """
    settings = config.agent(adapter.facts.slug)
    values = {**env, **settings.variables}
    found: list[RootDir] = []
    for root in adapter.facts.roots:  # as text throughout: this is asked for every agent each time anybody looks
        value = values.get(root.variable) if root.variable else None
        if root.is_database:
            if value and value != _IN_MEMORY:
                folder, name = os.path.split(os.path.abspath(os.path.join(found[-1].path, expand_text(value, values))))
                found.append(RootDir(folder, True, name))
            continue
        texts = value.split(os.pathsep) if value else [os.path.join(user_home_text(values), root.default)]
        found += [RootDir(os.path.abspath(os.path.join(expand_text(t, values), root.below)), True) for t in texts if t]
    found += [RootDir(os.path.abspath(spool_dir(name, env)), True) for name in adapter.facts.spools]
    found += [RootDir(os.path.abspath(expand_text(t, values)), False) for t in settings.roots]
    unique: dict[str, RootDir] = {}
    for item in found:
        unique.setdefault(item.shown, item)
    return list(unique.values())


def shared_roots(roots: Iterable[Sequence[RootDir]], env: Mapping[str, str]) -> frozenset[str]:
    """Return the folders that others write into too (an editor's data, the home): finding nothing there is normal.

    roots: those of each agent, see `roots_of`.
    """
    found = Counter(path for of_one in roots for path in {root.path for root in of_one})
    return frozenset(path for path, count in found.items() if count > 1) | {str(user_home(env))}


def discover(
    adapter: Adapter, roots: Sequence[RootDir], *, known_roles: Mapping[str, str], read_head: Callable[[str], bytes],
    scope: Scope | None = None,
) -> Discovery:  # fmt: skip
    """Return every source below the roots, in a stable order. Never raises for a single bad path.

    known_roles: absolute path to role of sources already taken, so that folders without the agent's layout
    are not opened again and again. read_head returns the first 64 KiB of a candidate (decompressed).
    scope: where to look; None: everywhere. Roots that it does not touch are left out, as if there were none.
    """
    out = Discovery(roots=[], sources=[], refused=[], absent_roots=[])
    seen: set[str] = set()
    databases: set[tuple[str, str]] = set()
    for root in roots:
        if scope is not None and not scope.touches(root.path):
            continue
        if not root.is_there:
            out.absent_roots.append(root.shown)
            continue
        out.roots.append(root.shown)
        walk = _Walk(adapter, root, out.refused, scope)
        for path, relative, place, info in walk.strict():
            # Several places may read one database: its documents are sources of their own.
            is_new = (path, place.role) not in databases if place.container == "sqlite" else path not in seen
            if is_new:
                seen.add(path)
                databases.add((path, place.role))
                out.sources.append(_found(adapter, path, relative, place, info))
        if not root.is_home:
            for path, relative, info in walk.loose():
                if path in seen:
                    continue
                role = known_roles.get(path)
                if role is None:
                    role = adapter.recognise(relative, _safe_head(read_head, path, out.refused))
                told = _place_of(adapter, role, path) if role else None
                if told is not None:
                    seen.add(path)
                    out.sources.append(_found(adapter, path, relative, told, info))
    out.sources.sort(key=lambda s: (s.mtime_ns, s.path))
    return out


def _safe_head(read_head: Callable[[str], bytes], path: str, refused: list[RefusedPath]) -> bytes:
    try:
        return read_head(path)
    except OSError as error:
        refused.append(RefusedPath(path, error.strerror or type(error).__name__))
        return b""


def _place_of(adapter: Adapter, role: str, path: str) -> Place | None:
    is_compressed = path.endswith(ZSTD_SUFFIXES)
    for place in adapter.facts.places:
        if place.role == role and place.container == "jsonl" and place.is_compressed == is_compressed:
            return place
    for place in adapter.facts.places:
        if place.role == role and place.container == "jsonl":
            return msgspec.structs.replace(place, is_compressed=is_compressed)
    return None


def _found(adapter: Adapter, path: str, relative: str, place: Place, info: os.stat_result) -> FoundSource:
    return FoundSource(
        agent=adapter.facts.slug,
        path=path,
        relative=relative,
        place=place,
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
        inode=info.st_ino,
    )


def patterns_of(place: Place, root: RootDir) -> tuple[str, ...]:
    """Return the globs of a place's files below a root."""
    if root.database:
        return (escape(root.database),) if place.container == "sqlite" else ()
    return (*place.patterns, *(glob_of(member.pattern) for member in place.members))


class _Rule(NamedTuple):
    """One pattern of a place, split into segments; "**" is None."""

    place: Place
    segments: tuple[re.Pattern[str] | None, ...]
    exclude: tuple[re.Pattern[str], ...]


_State = tuple[_Rule, int]


class _Walk:
    """Walks one root, keeping only the folders that some pattern can still match."""

    def __init__(self, adapter: Adapter, root: RootDir, refused: list[RefusedPath], scope: Scope | None = None) -> None:
        self._root = root.path
        self._scope = scope
        self._real_root = os.path.realpath(root.path)
        self._refused = refused
        self._rules = [
            _Rule(
                place,
                tuple(None if s == "**" else _segment(s) for s in pattern.split("/")),
                tuple(_whole_path(e) for e in place.exclude),
            )
            for place in adapter.facts.places
            for pattern in patterns_of(place, root)
        ]

    def strict(self) -> Iterator[tuple[str, str, Place, os.stat_result]]:
        """Yield (path, relative path, place, stat) of every file that a pattern names."""
        stack: list[tuple[str, str, list[_State]]] = [(self._root, "", [(r, 0) for r in self._rules])]
        while stack:
            folder, prefix, states = stack.pop()
            here = _closure(states)
            ends = [(rule, rule.segments[i]) for rule, i in here if i == len(rule.segments) - 1]
            passing = [(rule, i) for rule, i in here if i < len(rule.segments) - (rule.segments[-1] is not None)]
            for entry in self._entries(folder):
                relative = prefix + entry.name
                files = [rule for rule, last in ends if _fits(last, entry.name)]
                deeper = _advance(passing, entry.name)
                if not files and not deeper:
                    continue
                info = self._stat(entry, is_file_wanted=bool(files))
                if info is None:
                    continue
                if stat.S_ISDIR(info.st_mode):
                    if deeper:
                        stack.append((entry.path, relative + "/", deeper))
                    if files:
                        self._refused.append(RefusedPath(entry.path, "is a folder, not a file"))
                    continue
                for rule in files:
                    if any(e.fullmatch(relative) for e in rule.exclude):
                        continue
                    if not stat.S_ISREG(info.st_mode):
                        self._refused.append(RefusedPath(entry.path, "is not a regular file"))
                    else:
                        yield entry.path, relative, rule.place, info
                        if rule.place.container == "sqlite":
                            continue
                    break

    def loose(self) -> Iterator[tuple[str, str, os.stat_result]]:
        """Yield every line-file below the root, for folders that hold transcripts in no known layout."""
        stack = [(self._root, "")]
        while stack:
            folder, prefix = stack.pop()
            for entry in self._entries(folder):
                is_wanted = entry.name.endswith(_LOOSE_SUFFIXES)
                try:
                    is_dir = entry.is_dir()
                except OSError:
                    continue
                if not is_dir and not is_wanted:
                    continue
                if is_dir and entry.name in _LOOSE_SKIP:
                    continue
                info = self._stat(entry, is_file_wanted=is_wanted)
                if info is None:
                    continue
                if stat.S_ISDIR(info.st_mode):
                    stack.append((entry.path, prefix + entry.name + "/"))
                elif stat.S_ISREG(info.st_mode):
                    yield entry.path, prefix + entry.name, info

    def _entries(self, folder: str) -> Sequence[FolderEntry]:
        names = None if self._scope is None else self._scope.names_in(folder)
        if names is not None:
            return named_entries(folder, names)
        try:
            with os.scandir(folder) as found:
                return sorted(found, key=lambda e: e.name)
        except OSError as error:
            self._refused.append(RefusedPath(folder, error.strerror or "cannot be listed"))
            return []

    def _stat(self, entry: FolderEntry, *, is_file_wanted: bool) -> os.stat_result | None:
        """Return the stat of an entry's target, or None when a link leaves the root or dangles."""
        if (bad := misnamed(entry.path)) is not None:
            self._refused.append(bad)
            return None
        try:
            if entry.is_symlink():
                real = os.path.realpath(entry.path)
                if real != self._real_root and not real.startswith(self._real_root + os.sep):
                    self._refused.append(RefusedPath(entry.path, "is a link that leaves the agent's folder"))
                    return None
                if os.path.isdir(real) and self._is_above(real, entry.path):
                    return None
            return entry.stat()
        except OSError as error:
            if is_file_wanted:
                self._refused.append(RefusedPath(entry.path, error.strerror or "cannot be read"))
            return None

    @staticmethod
    def _is_above(real: str, path: str) -> bool:
        """A link to a folder above itself would never end."""
        parent = os.path.realpath(os.path.dirname(path))
        return parent == real or parent.startswith(real + os.sep)


@cache
def _segment(pattern: str) -> re.Pattern[str]:
    """Return what a name between two slashes must be. There are as many as the adapters declare."""
    return PATTERNS.compile(translate(pattern))


@cache
def _whole_path(pattern: str) -> re.Pattern[str]:
    return PATTERNS.compile("/".join(".*" if s == "**" else translate(s)[4:-3] for s in pattern.split("/")), re.DOTALL)


def _fits(segment: re.Pattern[str] | None, name: str) -> bool:
    if segment is None:
        return True
    if name.startswith(".") and not segment.pattern.startswith(("(?s:\\.", "(?s:.")):
        return False
    return segment.match(name) is not None


def _closure(states: list[_State]) -> list[_State]:
    """Add the states after a "**", which may match no folder at all."""
    out = list(states)
    for rule, first in states:
        i = first
        while i < len(rule.segments) and rule.segments[i] is None:
            i += 1
            out.append((rule, i))
    return out


def _advance(states: list[_State], name: str) -> list[_State]:
    deeper: list[_State] = []
    for rule, i in states:
        if i >= len(rule.segments):
            continue
        segment = rule.segments[i]
        if segment is None:
            if not name.startswith("."):
                deeper.append((rule, i))
        elif i < len(rule.segments) - 1 and _fits(segment, name):
            deeper.append((rule, i + 1))
    return deeper
