"""Names that a question may use: agents, repositories, collections, branches, tags, tools, sessions.

"Nothing found" is no answer to a question about something that does not exist: it would be taken for one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from recollect.errors import UnknownName
from recollect.index.query.grammar import FILTERS
from recollect.model.tools import TOOL_NAMES
from recollect.recall.context.lines import folder_of
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter
from recollect.store.session_rows import SessionFacts, repo_of

_NOUNS = {"repo": "repository"}
_NO_NAME = "="
"""Asks for what is of no repository or branch."""
_IN_PARTS = ("repo", "branch")
_NEAR = 3
_SHOWN = 6


class KnownNames:
    """Says which names there are, by the name of their filter in a query. Made for one question."""

    def __init__(
        self, reader: Callable[[], Reader], slug: Callable[[str], str], here: Callable[[], Iterable[str]]
    ) -> None:
        """slug: returns an agent's slug by any of its names, or raises UnknownName. here: returns the possible names
        of the present repository, which may be so new that nothing of it is stored; that is no error.
        """
        self._reader = reader
        self._slug = slug
        self._here = here
        self._stored = cache(lambda field: reader().names(field))
        self.notes: tuple[str, ...] = ()
        """Say what was meant by each part of a name that several repositories or branches have."""

    def __call__(self, field: str, name: str) -> str:
        """Return a filter's name as it is looked for. Raises UnknownName, which names the nearest.

        A whole name of a repository or branch means only that one ("=name"), even if it is a part of other names.
        """
        if field == "agent":
            return self._slug(name)
        if field == "collection":
            name = self._spelled(field, name)
        if (
            self._is_known(field, name)
            or self._is_empty()
            or (field == "repo" and any(_matches(name, own) for own in self._here()))
        ):
            return self._whole(field, name) if field in _IN_PARTS else name
        raise self._unknown(field, name)

    def _whole(self, field: str, name: str) -> str:
        found = sorted({one for one in self._names(field) if _matches(name, one)})
        if any(one.casefold() == name.casefold() for one in found):
            return f"{_NO_NAME}{name}"
        if len(found) > 1 and not name.startswith(_NO_NAME):
            shown = ", ".join(found[:_SHOWN]) + (" …" if len(found) > _SHOWN else "")
            self.notes += (f"{name!r} is part of {len(found):,} names, and all are meant: {shown}",)
        return name

    def filter(self, where: EventFilter) -> EventFilter:
        """Return a filter with its names as they are looked for. Raises UnknownName for any name in it."""
        named = {one.attribute: field for field, one in FILTERS.items() if one.attribute}
        found = {at: tuple(self(field, name) for name in getattr(where, at)) for at, field in named.items()}
        return msgspec.structs.replace(where, **found)

    def repository(self, name: str) -> str:
        """Return the stored name of exactly this repository, in any case. Raises UnknownName."""
        return self("repo", f"={self._spelled('repo', name)}")[1:]

    def repositories(self, name: str) -> tuple[str, ...]:
        """Return the stored names of the repositories that a name, or a part of one, means. Raises UnknownName."""
        name = self("repo", name)
        found = tuple(one for one in self._names("repo") if _matches(name, one))
        return found or (name.removeprefix(_NO_NAME),)

    def _spelled(self, field: str, name: str) -> str:
        names = tuple(self._names(field))
        return name if name in names else next((one for one in names if one.casefold() == name.casefold()), name)

    def _names(self, field: str) -> Iterator[str]:
        yield from self._stored(field)
        if field == "repo":  # looked up only where no session has the name
            yield from self._stored("noted_repo")

    def _is_known(self, field: str, name: str) -> bool:
        if field == "session":
            return bool(self._reader().session_numbers(EventFilter(sessions=(name,))))
        if field == "tool":
            return name in TOOL_NAMES or any(name == known.lower() for known in self._stored(field))
        if field in ("tag", "collection"):
            return name in self._stored(field)
        return name == _NO_NAME or any(_matches(name, known) for known in self._names(field))

    def _is_empty(self) -> bool:
        """Return whether nothing is stored: then no result is correct, whatever the name."""
        return not self._stored("agent") and not self._reader().entries.counts()

    def _unknown(self, field: str, name: str) -> UnknownName:
        said = name.removeprefix("=")
        if field == "session":
            near = self._reader().nearest_sessions(name)
        else:
            near = nearest(said, tuple(self._names(field)) or (TOOL_NAMES if field == "tool" else ()))
        return UnknownName(_NOUNS.get(field, field), said, nearest=near, hint=FILTERS[field].hint)


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are spelled like one, or like the last part of a path; then those with a similar word."""
    whole = {one.casefold(): one for one in known if one}
    words = {word: one for folded, one in whole.items() for word in re.split(r"[-_./ ]+", folded) if word}
    wanted = [name.casefold(), name.casefold().rstrip("/").rpartition("/")[2]]
    import difflib

    near = [one[found] for one in (whole, words) for text in wanted for found in difflib.get_close_matches(text, one)]
    near += [whole[folded] for folded in whole if wanted[1] and wanted[1] in folded]
    return tuple(dict.fromkeys(near))[:_NEAR]


def _matches(name: str, known: str) -> bool:
    wanted, folded = name.casefold(), known.casefold()
    return wanted[1:] == folded if wanted.startswith("=") else wanted in folded


def repository_names(cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return what sessions that worked in a folder may call their repository, the likeliest first.

    By the rule of the store: the git top level (of a linked worktree its main one), then its remote, then the
    folder itself, which is what an agent without git knows. Never raises for what it finds.
    """
    folder = folder_of(cwd, env)
    if folder is None:
        return ()
    remote = _remote(Path(folder.path, ".git")) if folder.is_repository else ""
    known = (repo_of(SessionFacts(git_remote=remote)), repo_of(SessionFacts(cwd=os.path.abspath(cwd))))
    return tuple(dict.fromkeys(name for name in (*folder.names, *known) if name))


def _remote(git: Path) -> str:
    """Return the URL of the remote `origin`, "" without one."""
    try:
        lines = (git / "config").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    section = ""
    for line in (raw.strip() for raw in lines):
        if line.startswith("["):
            section = line
        elif section == '[remote "origin"]' and line.replace(" ", "").startswith("url="):
            return line.partition("=")[2].strip()
    return ""
