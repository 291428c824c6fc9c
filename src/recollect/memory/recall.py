"""`memory.recall`: what an agent's questions need besides a search: overviews, where it works, what is missing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.config import Config
from recollect.errors import UnknownName
from recollect.index.query.grammar import Question, parse
from recollect.model.sessions import Session
from recollect.model.time import required_time
from recollect.recall.answers import EntryView, entry_view
from recollect.recall.context.sources import folder_of
from recollect.recall.coverage import Coverage, lagging
from recollect.recall.overview import Overview, overview
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter
from recollect.store.session_facts import SessionFacts, repo_of

if TYPE_CHECKING:
    from recollect.ingest.report import SyncReport
    from recollect.memory.agents import AgentsFacet
    from recollect.memory.known_names import KnownNames


class Confined(NamedTuple):
    """What filters confine to. after/before: UTC microseconds, [after, before)."""

    where: EventFilter
    after: int | None
    before: int | None


class OpenMemory(Protocol):
    """What the facet needs of an open memory."""

    config: Config
    env: Mapping[str, str]
    last_sync: SyncReport | None
    zone: tzinfo

    def reader(self) -> Reader: ...
    def session(self, uid: str) -> Session: ...
    def known_names(self, folders: Sequence[str] | None = None) -> KnownNames: ...
    @property
    def agents(self) -> AgentsFacet: ...


class RecallFacet:
    """Reads only, and is safe from many threads."""

    def __init__(self, memory: OpenMemory, now_us: int) -> None:
        self._memory = memory
        self._now_us = now_us

    def confined(self, filters: str) -> Confined:
        """Understand filters of the query language (docs/query-language.md), where there are no words to look for."""
        question = self._parsed(filters)
        return Confined(question.where, question.after_us, question.before_us)

    def check_names(self, query: str, *, folders: Sequence[str] | None = None) -> None:
        """Raise UnknownName where a query names an agent, a repository or the like that nobody knows; a search only
        notes it. folders: as in `Memory.search`."""
        for unknown in self._parsed(query, folders).unknown:
            raise unknown

    def _parsed(self, query: str, folders: Sequence[str] | None = None) -> Question:
        return parse(query, self._now_us, self._memory.zone, names=self._memory.known_names(folders))

    def check_date(self, text: str, *, name: str) -> None:
        """Raise UsageError where a text names no time."""
        required_time(text, self._now_us, self._memory.zone, name=name)

    def overview(self, uid: str) -> Overview:
        """Return what a session was about. Raises UnknownName."""
        session = self._memory.session(uid)
        return overview(self._memory.reader(), session.session_uid, event_count=session.event_count)

    def sessions(self, uids: tuple[str, ...]) -> dict[str, Session]:
        """Return sessions by uid; unknown ones are left out."""
        if not uids:
            return {}
        found, _total = self._memory.reader().sessions(EventFilter(sessions=uids), limit=len(uids))
        return {session.session_uid: session for session in found}

    def entry(self, uid: str, *, first: int = 0, limit: int | None = None) -> EntryView:
        """Return what was learned, noted or documented, by its uid or a unique beginning of it, part by part.

        Raises UnknownName.
        """
        found = entry_view(self._memory.reader().entries, uid, first=first, limit=limit)
        if found is None:
            raise UnknownName("entry", uid, hint=f"`recollect search` finds it with kind:{uid.partition(':')[0]}")
        return found

    def repositories(self, cwd: str) -> tuple[str, ...]:
        """Return what sessions that worked in a folder may call their repository, the likeliest first.

        By the rule of the store: the git top level (of a linked worktree its main one), then its remote, then the
        folder itself, which is what an agent without git knows.
        """
        return repositories_of(cwd, self._memory.env)

    def coverage(self) -> Coverage:
        """Return what is known to be missing: what this process's last look at the machine left out."""
        last = self._memory.last_sync
        disabled = tuple(a.slug for a in self._memory.agents.list() if not a.enabled and a.roots)
        if last is None:
            return Coverage(disabled=disabled)
        failed = {slug: sum(s.is_failure for s in found.skipped) for slug, found in last.agents.items()}
        return Coverage(
            disabled=disabled,
            unreadable={slug: count for slug, count in failed.items() if count},
            notes=tuple(last.notes),
        )

    def lagging(self) -> tuple[str, ...]:
        """Return what is stored and cannot be searched yet, a note each."""
        return lagging(self._memory.reader())


def repositories_of(cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """See `RecallFacet.repositories`. Never raises for what it finds."""
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
