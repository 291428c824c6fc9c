"""Folders with transcripts of any agents in any layout: finds the agent of each file.

What lies as an agent lays it out, in a folder that is called like the agent's own (`backup/.qwen/projects/...`), is
that agent's; forks write files that look alike. Else a file is told by its content, then by a layout that no other
agent has. Used for what a user names (`recollect import`, `[ingest] folders`). Nothing is guessed: what none of these
tells is reported as not taken.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.capture.containers.directory import glob_of
from recollect.capture.containers.sqlite import open_database
from recollect.capture.discover import FoundSource, RefusedPath, misnamed
from recollect.errors import SourceError
from recollect.model.capabilities import Place
from recollect.model.records import ZSTD_SUFFIXES

SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "__pycache__"))
_SQLITE = b"SQLite format 3\x00"
_MANY = 200_000
"""Files looked at below one folder; more than that is no folder of transcripts."""
_COMMON = frozenset(
    """
    agent agents archived artifacts backup chat chats checkpoint checkpoints cli completions conversations data events
    event folders history hooks index json jsonl log logs message messages meta metadata part plan project projects
    prompts saved session sessions state storage subagents summary tasks threads tmp todos transcripts txt workspace
    """.split()
)
"""Words that anybody may call a folder or a file; a layout of these alone says nothing about whose it is."""
_MIN_WORD = 3
_FAMILIAR_COLUMNS = 4
"""So many columns that an agent's tables name tell a database of any other name for its own."""
_UNKNOWN = "belongs to no known agent"


class Sorted(NamedTuple):
    """What a folder holds: sources by agent, and the files that nobody knows."""

    sources: dict[str, list[FoundSource]]
    untaken: list[RefusedPath]


class _File(NamedTuple):
    path: str
    relative: str
    info: os.stat_result


class _Layout(NamedTuple):
    """A pattern of an agent's own layout, at any depth. weight: how much of it is literal.

    is_telling: no other agent has files in such places, whatever the folders above are called.
    """

    slug: str
    place: Place
    regex: re.Pattern[str]
    exclude: tuple[re.Pattern[str], ...]
    weight: int
    is_telling: bool
    homes: frozenset[str]


def sort_out(
    folder: str,
    adapters: Mapping[str, Adapter],
    *,
    known: Mapping[str, tuple[str, str]],
    read_head: Callable[[str], bytes],
    is_said: bool = False,
) -> Sorted:
    """Return the agent of each file below a folder (or of one file).

    is_said: the user says that the files belong to the one given adapter, whatever their content. known: (slug, role)
    of sources ingested before, by path. read_head: the first 64 KiB of a file, decompressed.
    """
    out = Sorted({}, [])
    layouts = _layouts(adapters, is_said=is_said)
    for file in _files(folder, out.untaken):
        if file.info.st_size == 0:
            out.untaken.append(RefusedPath(file.path, "is empty"))
            continue
        found = _told(file, adapters, layouts, known, read_head)
        if is_said and not isinstance(found, FoundSource):
            found = _said(file, next(iter(adapters.values())), read_head) or found
        if isinstance(found, FoundSource):
            out.sources.setdefault(found.agent, []).extend(_all_places(found, adapters[found.agent]))
        else:
            out.untaken.append(found if isinstance(found, RefusedPath) else RefusedPath(file.path, found))
    return out


def _all_places(found: FoundSource, adapter: Adapter) -> list[FoundSource]:
    """Return a database once for every place that reads it."""
    if found.place.container != "sqlite":
        return [found]
    shared = [p for p in adapter.facts.places if set(p.patterns) & set(found.place.patterns)]
    return [msgspec.structs.replace(found, place=place) for place in shared]


def _told(
    file: _File,
    adapters: Mapping[str, Adapter],
    layouts: Sequence[_Layout],
    known: Mapping[str, tuple[str, str]],
    read_head: Callable[[str], bytes],
) -> FoundSource | RefusedPath | str:
    """Return the source that a file is, or why it is none."""
    path = file.path.replace(os.sep, "/")
    fitting = [
        (layout, match["inside"])
        for layout in layouts
        if (match := layout.regex.fullmatch(path)) is not None
        and not any(e.fullmatch(match["inside"]) for e in layout.exclude)
    ]
    before = known.get(file.path)
    if before is not None and before[0] in adapters:
        place = _place_of(adapters[before[0]], before[1], file.path)
        if place is not None:
            told = (inside for layout, inside in fitting if (layout.slug, layout.place.role) == before)
            return _found(before[0], file, next(told, file.relative), place)
    try:
        head = read_head(file.path)
    except OSError as error:
        return RefusedPath(file.path, error.strerror or "cannot be read", is_failure=True)
    is_database = head.startswith(_SQLITE)
    fitting = [(layout, i) for layout, i in fitting if is_database == (layout.place.container == "sqlite")]
    for layout, inside in fitting:
        if _is_at_home(path.removesuffix(inside), layout):
            return _found(layout.slug, file, inside, layout.place)
    if not is_database:
        for slug, adapter in adapters.items():
            role = adapter.recognise(file.relative, head)
            place = _place_of(adapter, role, file.path) if role else None
            if place is not None:
                return _as_member(slug, file, place) if place.members else _found(slug, file, file.relative, place)
    for layout, inside in fitting:
        if layout.is_telling and (not is_database or _has_tables(file.path, layout.place, adapters[layout.slug])):
            return _found(layout.slug, file, inside, layout.place)
    return _by_schema(file, adapters) if is_database else _UNKNOWN


def _by_schema(file: _File, adapters: Mapping[str, Adapter]) -> FoundSource | RefusedPath | str:
    """Return the source that a database of any name is, by its tables and columns; or why it is none: no agent, or
    several, write such.
    """
    found: dict[str, int] = {}
    for slug, adapter in adapters.items():
        places = [place for place in adapter.facts.places if place.container == "sqlite"]
        tables = tuple(t for place in places for t in place.tables if t.document and not t.keys)
        try:
            with open_database(file.path, tables) as database:
                found[slug] = database.familiar_columns
        except SourceError as error:
            return RefusedPath(file.path, str(error), is_failure=True)
    best = max(found.values(), default=0)
    slugs = [slug for slug, count in found.items() if count == best and count >= _FAMILIAR_COLUMNS]
    if not slugs:
        return _UNKNOWN
    if len(slugs) > 1:
        return f"may belong to {' or '.join(sorted(slugs))}: choose with --as"
    place = next(p for p in adapters[slugs[0]].facts.places if p.container == "sqlite")
    return _found(slugs[0], file, file.relative, place)


def _has_tables(path: str, place: Place, adapter: Adapter) -> bool:
    """Return whether a database has the tables that identify its agent; also True if that cannot be checked now."""
    first = next(p for p in adapter.facts.places if set(p.patterns) & set(place.patterns))
    try:
        with open_database(path, first.tables) as database:
            return database.is_known
    except SourceError:
        return True


def _as_member(slug: str, file: _File, place: Place) -> FoundSource | str:
    """Return a file of a folder document under its place in that folder, however deep the folder is."""
    for member in place.members:
        match = re.fullmatch(f"(?:.*/)?(?P<inside>{_whole(glob_of(member.pattern))})", file.relative, re.DOTALL)
        if match is not None:
            return _found(slug, file, match["inside"], place)
    return "is one file of a folder that belongs together; name that folder"


def _is_at_home(above: str, layout: _Layout) -> bool:
    """Return whether the folder in which a layout begins has the name of one of the agent's own."""
    steps = above.rstrip("/").lower().split("/")
    return not layout.homes.isdisjoint((steps[-1].lstrip("."), "/".join(steps[-2:])))


def _said(file: _File, adapter: Adapter, read_head: Callable[[str], bytes]) -> FoundSource | None:
    """Return the source that a file is when its content doesn't tell: of the first place that is written like it."""
    try:
        head = read_head(file.path).lstrip()
    except OSError:
        return None
    is_lines = file.path.removesuffix(".zst").removesuffix(".zstd").endswith(("l", ".log")) or b"\n{" in head
    wanted = "sqlite" if head.startswith(_SQLITE) else "text" if head[:1] not in b"{[" else ""
    fitting = ("jsonl", "patchlog") if is_lines else ("snapshot", "export", "directory", "jsonl")
    for container in (wanted,) if wanted else fitting:
        for place in adapter.facts.places:
            if place.container == container:
                if place.members:
                    found = _as_member(adapter.facts.slug, file, place)
                    return found if isinstance(found, FoundSource) else None
                return _found(adapter.facts.slug, file, file.relative, place)
    return None


def _place_of(adapter: Adapter, role: str, path: str) -> Place | None:
    """Return the place of a role; a compressed file needs none of its own."""
    is_compressed = path.endswith(ZSTD_SUFFIXES)
    places = [p for p in adapter.facts.places if p.role == role]
    for place in places:
        if place.is_compressed == is_compressed:
            return place
    if not places or places[0].container in ("sqlite", "directory"):
        return None
    return msgspec.structs.replace(places[0], is_compressed=is_compressed)


def _layouts(adapters: Mapping[str, Adapter], *, is_said: bool) -> list[_Layout]:
    """Return every distinguishable layout, most specific first. is_said: there is only one agent's."""
    found: list[_Layout] = []
    for slug, adapter in adapters.items():
        homes = _homes(adapter)
        for place in adapter.facts.places:
            exclude = tuple(re.compile(_whole(e), re.DOTALL) for e in place.exclude)
            for pattern in (*place.patterns, *(glob_of(member.pattern) for member in place.members)):
                weight = sum(len(s) for s in re.split(r"[*?\[\]/]", pattern) if not s.startswith(".json"))
                is_any_name = "/" not in pattern and "*" in pattern
                is_telling = not is_any_name and (is_said or _is_telling(pattern, place))
                exact = frozenset(home for home in homes if "/" in home) if is_any_name else homes
                if is_telling or exact:
                    regex = re.compile(f"(?:.*/)?(?P<inside>{_whole(pattern)})", re.DOTALL)
                    found.append(_Layout(slug, place, regex, exclude, weight, is_telling, exact))
    return sorted(found, key=lambda layout: -layout.weight)


def _is_telling(pattern: str, place: Place) -> bool:
    words = re.findall(r"[a-z0-9]+", pattern.lower())
    is_named_database = place.container == "sqlite" and "*" not in pattern.rpartition("/")[2]
    return is_named_database or any(len(word) >= _MIN_WORD and word not in _COMMON for word in words)


def _homes(adapter: Adapter) -> frozenset[str]:
    """Return what the folder of an agent may be called: like the agent, or as its roots end."""
    facts = adapter.facts
    homes = {facts.slug, *(alias for alias in facts.aliases if len(alias) >= _MIN_WORD)}
    for root in facts.roots:
        steps = [step for step in f"{root.default}/{root.below}".lower().split("/") if step]
        if steps and steps[-1].startswith("."):
            homes.add(steps[-1].lstrip("."))
        if len(steps) > 1:
            homes.add("/".join(steps[-2:]))
    return frozenset(homes)


@lru_cache(4096)
def _whole(pattern: str) -> str:
    """Return a glob over a whole path as a regular expression; "*" stays in one folder."""
    segments = [
        ".*" if segment == "**" else translate(segment)[4:-3].replace(".*", "[^/]*") for segment in pattern.split("/")
    ]
    return "/".join(segments).replace("/.*/", "/(?:.*/)?")


def _files(folder: str, untaken: list[RefusedPath]) -> Iterator[_File]:
    """Yield every regular file below a folder, links left out; or the one file that was named."""
    try:
        info = os.stat(folder)
    except OSError as error:
        untaken.append(RefusedPath(folder, error.strerror or "cannot be read", is_failure=True))
        return
    if stat.S_ISREG(info.st_mode):
        yield _File(folder, os.path.basename(folder), info)
        return
    stack = [(folder, "")]
    count = 0
    while stack:
        here, prefix = stack.pop()
        try:
            with os.scandir(here) as entries:
                ordered = sorted(entries, key=lambda e: e.name)
        except OSError as error:
            untaken.append(RefusedPath(here, error.strerror or "cannot be listed", is_failure=True))
            continue
        for entry in ordered:
            if (bad := misnamed(entry.path)) is not None:
                untaken.append(bad)
            elif entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED_FOLDERS:
                    stack.append((entry.path, f"{prefix}{entry.name}/"))
            elif entry.is_file(follow_symlinks=False):
                count += 1
                if count > _MANY:
                    untaken.append(
                        RefusedPath(folder, f"holds more than {_MANY:,} files; the rest was not looked at", True)
                    )
                    return
                yield _File(entry.path, prefix + entry.name, entry.stat(follow_symlinks=False))


def _found(slug: str, file: _File, relative: str, place: Place) -> FoundSource:
    info = file.info
    return FoundSource(slug, file.path, relative, place, info.st_size, info.st_mtime_ns, info.st_ino)
