"""`memory.recall`, `.agents` and `.usage`: what questions need besides a search: names, overviews, agents, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, tzinfo
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from recollect.errors import UnknownName, UsageError
from recollect.index.query.grammar import Question, parse
from recollect.ingest.known_names import repository_names
from recollect.memory.facets import HomeFacet
from recollect.model.capabilities import Capabilities
from recollect.model.learnings.learnings import Learning
from recollect.model.sessions import Session, forgotten_note, gone_note
from recollect.model.time import required_time
from recollect.model.usage import ActivityReport, UsageReport, UsageTrend
from recollect.recall.answers import EntryView, SessionView, entry_view
from recollect.recall.coverage import Coverage, lagging
from recollect.recall.overview import Overview, overview
from recollect.recall.related_events import EarlierStatement, LearningView, RelatedEvent, is_displaced
from recollect.store.rows import DriftRow, EventFilter, UsageBy
from recollect.store.timeline import ActivityQuestion
from recollect.units import plural

if TYPE_CHECKING:
    pass


class Confined(NamedTuple):
    """The scope that filters give. after/before: UTC microseconds, [after, before)."""

    where: EventFilter
    after: int | None
    before: int | None


def _said(learning: Learning) -> tuple[str, EarlierStatement]:
    newest = max(learning.evidence, key=lambda e: e.ts or 0)
    names = (learning.path,) if learning.path else ()
    return learning.repo, EarlierStatement(learning.text, names, newest.ts, f"{newest.session_uid}#{newest.seq}")


def _as_said(learning: Learning) -> RelatedEvent:
    newest = max((e for e in learning.evidence if e.author == "user"), key=lambda e: e.ts or 0)
    return RelatedEvent("said", newest.seq, learning.text, newest.session_uid, newest.ts)


class RecallFacet(HomeFacet):
    """Answers questions. Reads only; safe from many threads."""

    def confined(self, filters: str) -> Confined:
        """Parse filters of the query language that come without words."""
        question = self._parsed(filters)
        return Confined(question.where, question.after_us, question.before_us)

    def filtered(self, filters: str) -> Question:
        """Parse a text of filters for a list of events: where, when, which kinds.

        Raises UsageError for anything else, UnknownName for a name.
        """
        question = self._parsed(filters)
        for unknown in question.unknown:
            raise unknown
        others = (question.where_not, question.not_kinds, question.tools, question.not_tools, question.paths,
                  question.not_paths)  # fmt: skip
        if question.asks_something or question.must_not or any(others):
            raise UsageError(
                f"{filters!r} is more than the filters of a list",
                hint="a list takes agent:, repo:, branch:, session:, tag:, kind:, is:, after:, before: and on:; "
                "`recollect search` takes words and all filters",
            )  # fmt: skip
        if question.around is not None and question.after_us is None and question.before_us is None:
            # In a search "yesterday" only lifts what is near; a list has nothing to rank, so it is meant as a bound.
            period = question.around
            return replace(question, after_us=period.start_us, before_us=period.end_us)
        return question

    def check_names(self, query: str, *, folders: Sequence[str] | None = None) -> None:
        """Raise UnknownName if a query names an unknown agent, repository or the like; a search only notes it.

        folders: as in `Memory.search`.
        """
        for unknown in self._parsed(query, folders).unknown:
            raise unknown

    def _parsed(self, query: str, folders: Sequence[str] | None = None) -> Question:
        return parse(query, self._now_us(), self._home.zone, names=self._home.known_names(folders))

    def check_date(self, text: str, *, name: str) -> None:
        """Raise UsageError if a text is not a time."""
        required_time(text, self._now_us(), self._home.zone, name=name)

    def overview(self, uid: str) -> Overview:
        """Return an overview of a session. Raises UnknownName."""
        session = self._home.session(uid)
        return overview(self._home.reader(), session.session_uid, event_count=session.event_count)

    def sessions(self, uids: tuple[str, ...]) -> dict[str, Session]:
        """Return sessions by uid; omits unknown ones."""
        if not uids:
            return {}
        found, _total = self._home.reader().sessions(EventFilter(sessions=uids), limit=len(uids))
        return {session.session_uid: session for session in found}

    def page(self, uid: str, *, first: int = 0, limit: int = 100, notes: tuple[str, ...] = ()) -> SessionView:
        """Return a session with its events from number `first` on. notes: shown before the page's own.

        Raises UnknownName.
        """
        reader, found = self._home.reader(), self._home.session(uid)
        events = tuple(reader.page(found.session_uid, first=first, limit=limit + 1))
        next_seq = events[limit].seq if len(events) > limit else None
        gone = (gone_note(found.evicted_at), forgotten_note(reader.forgotten(found.session_uid)))
        return SessionView(found, events[:limit], next_seq, (*notes, *filter(None, gone)))

    def entry(self, uid: str, *, first: int = 0, limit: int | None = None) -> EntryView:
        """Return a learning, note or document by its uid or unique prefix, part by part. Raises UnknownName."""
        found = entry_view(self._home.reader().entries, uid, first=first, limit=limit)
        if found is None:
            raise UnknownName("entry", uid, hint=f"`recollect search` finds it with kind:{uid.partition(':')[0]}")
        return found

    def repositories(self, cwd: str) -> tuple[str, ...]:
        """Return the names that sessions in a folder may use for their repository, most likely first.

        By the store's rule: the git top level (of a linked worktree its main one), then its remote, then the folder
        itself, for agents that do not know git.
        """
        return repository_names(cwd, self._home.env)

    def coverage(self) -> Coverage:
        """Return what is known to be missing: what this process's last look at the machine left out."""
        last = self._home.last_sync
        disabled = tuple(a.slug for a in AgentsFacet(self._home).list() if not a.enabled and a.roots)
        if last is None:
            return Coverage(disabled=disabled)
        failed = {slug: sum(s.is_failure for s in found.skipped) for slug, found in last.agents.items()}
        return Coverage(
            disabled=disabled,
            unreadable={slug: count for slug, count in failed.items() if count},
            notes=tuple(last.notes),
        )

    def told(self, learnings: Sequence[Learning]) -> list[LearningView]:
        """Return learnings with what was said later about those that a person said, and with those of a person that
        stand in for the command of an observed one. Raises StoreError.
        """
        from recollect.recall.said_later import MOST, later_of

        of_person = [one for one in learnings if any(e.author == "user" for e in one.evidence)]
        found = later_of(self._home.home, self._home.text_index(), [*map(_said, of_person)])
        later = dict(zip((one.id for one in of_person), found, strict=True))
        for one in learnings:
            if one.id not in later:
                said = (x for x in of_person if x.repo in ("", one.repo) and is_displaced(one.text, x.text))
                began = min((e.ts or 0 for e in one.evidence), default=0)
                later[one.id] = tuple(event for event in map(_as_said, said) if (event.ts or 0) >= began)[:MOST]
        return [LearningView(**msgspec.structs.asdict(one), later=later[one.id]) for one in learnings]

    def unanalysed(self, repos: Sequence[str] = ()) -> tuple[str, ...]:
        """Return a note if sessions of some repositories (without any: of all) are not analysed yet.

        Decisions and learnings of these sessions are missing. Another note says what a part of a name means.
        """
        if not self._home.is_there() or not self._home.config.distill.enabled:
            return ()
        names = self._home.known_names()
        count = self._home.reader().unanalysed(names.filter(EventFilter(repos=tuple(repos))))
        told = f"{plural(count, 'session')} not analysed yet; `recollect sync` analyses a session once it has ended"
        return (*((told,) if count else ()), *names.notes)

    def lagging(self) -> tuple[str, ...]:
        """Return notes on what is stored but not searchable yet."""
        return lagging(self._home.reader())


class AgentView(msgspec.Struct, frozen=True):
    """One agent. roots: existing folders; absent_roots: missing ones."""

    slug: str
    name: str
    enabled: bool
    roots: tuple[str, ...]
    absent_roots: tuple[str, ...]
    sessions: int
    events: int
    sources: int
    source_bytes: int
    capabilities: Capabilities


class AgentsFacet(HomeFacet):
    """The agents that this version supports."""

    def drift(self) -> tuple[DriftRow, ...]:
        """Return records that no parser knows, by agent and version, most frequent first."""
        return self._home.reader().stats().drift

    def list(self) -> tuple[AgentView, ...]:
        """Return every supported agent with its folders and stored sessions."""
        from recollect.agents.registry import adapters_with  # hardly a question is about agents
        from recollect.capture.discover import roots_of

        counts = {a.agent: a for a in self._home.reader().stats().agents}
        views = []
        for slug, known in adapters_with(self._home.config.formats()).items():
            is_looked_for = not known.facts.is_import_only
            roots = roots_of(known, self._home.config, self._home.env) if is_looked_for else []
            count = counts.get(slug)
            views.append(
                AgentView(
                    slug=slug,
                    name=known.facts.name,
                    enabled=self._home.config.agent(slug).enabled,
                    roots=tuple(r.shown for r in roots if r.is_there),
                    absent_roots=tuple(r.shown for r in roots if not r.is_there),
                    sessions=count.sessions if count else 0,
                    events=count.events if count else 0,
                    sources=count.sources if count else 0,
                    source_bytes=count.source_bytes if count else 0,
                    capabilities=known.facts.capabilities,
                )
            )
        return tuple(views)


class UsageFacet(HomeFacet):
    """Tokens and cost, each response counted once, and when sessions worked."""

    def report(
        self, *, by: UsageBy = "day", where: EventFilter | None = None, after: int | None = None,
        before: int | None = None, zone: tzinfo = UTC, folders: Sequence[str] | None = None, model: str = "",
    ) -> UsageReport:  # fmt: skip
        """Return tokens and cost by session, day, repo, domain, model, agent, or in total.

        after/before: UTC microseconds, [after, before). zone: the time zone of days. folders: as in `Memory.search`.
        model: only this one. Forks, replays and repeated lines count once. Raises UnknownName.
        """
        names = self._home.known_names(folders)
        known = names.filter(where or EventFilter())
        found = self._home.reader().usage(by=by, where=known, after=after, before=before, zone=zone, model=model)
        return msgspec.structs.replace(found, notes=(*found.notes, *names.notes))

    def trend(
        self, *, first: date, last: date, by: UsageBy = "agent", where: EventFilter | None = None, zone: tzinfo = UTC
    ) -> UsageTrend:
        """Return usage day by day beside that of as many days before.

        Raises UnknownName, UsageError for days out of order.
        """
        _check_days(first, last)
        known = self._known(where)
        return self._home.reader().usage_trend(by=by, where=known, first=first, last=last, zone=zone)

    def activity(
        self, *, first: date, last: date, where: EventFilter | None = None, zone: tzinfo = UTC
    ) -> ActivityReport:
        """Return when sessions worked: by weekday and hour, by day, and how many at once. Raises as `trend`."""
        _check_days(first, last)
        return self._home.reader().activity(ActivityQuestion(self._known(where), first, last, zone))

    def active_sessions(
        self, *, first: date, last: date, weekday: int, hour: int, where: EventFilter | None = None, zone: tzinfo = UTC
    ) -> tuple[str, ...]:
        """Return the uids of sessions that worked in an hour of a weekday (0: Monday), most work first.

        Raises as `trend`.
        """
        _check_days(first, last)
        asked = ActivityQuestion(self._known(where), first, last, zone)
        return self._home.reader().active_sessions(asked, weekday=weekday, hour=hour)

    def _known(self, where: EventFilter | None) -> EventFilter:
        return self._home.known_names().filter(where or EventFilter())


_MOST_DAYS = 36_600
_FIRST_DAY = date(1970, 1, 1)


def _check_days(first: date, last: date) -> None:
    if not 0 <= (last - first).days < _MOST_DAYS or first < _FIRST_DAY:
        raise UsageError(f"no span of days: {first} to {last}", hint="the first day comes before the last")
