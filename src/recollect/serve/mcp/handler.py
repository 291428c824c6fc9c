"""The six reading tools: from arguments to the text of an answer. Safe from many threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, ClassVar

from recollect.errors import EventMissing, TeamRefused, UnknownName, UsageError
from recollect.memory import EntryView, Hit, Memory, SearchAnswer, clean, conversations
from recollect.model.events import Event
from recollect.model.learnings.entries import is_entry_uid, parts_of_citation
from recollect.model.sessions import forgotten_note, gone_note
from recollect.serve.mcp.answer_size import DEFAULT_BYTES
from recollect.serve.mcp.bounded_answer import (
    LEFT_OUT,
    Caller,
    Confines,
    CursorPosition,
    Cursors,
    PageFrame,
    Paging,
    check_position,
    citation,
    cited_line,
    confines_of,
    conversation_line,
    event_head,
    event_line,
    event_text,
    filters_of,
    fit,
    hit_line,
    mark_of,
    name,
    passage,
    repository_of,
    session_facts,
    session_line,
    size,
    stale,
    when,
    whole,
    words_of,
)
from recollect.serve.mcp.team_handler import TeamHandler, is_of_team
from recollect.serve.mcp.tools import (
    TOOLS,
    Confining,
    ConversationArguments,
    ListArguments,
    OpenArguments,
    SearchArguments,
    SessionArguments,
    StatusArguments,
    ToolSpec,
    read_arguments,
)
from recollect.units import plural

LEARNED_HEADING = "Learned and noted:"
_LINE_BYTES = 240
_NEIGHBOUR_BYTES = 160


def learned_lines(hits: Sequence[Hit]) -> list[str]:
    """Return the short block of learnings and notes beside the events; nothing without any."""
    lines = []
    for hit in hits:
        head = (citation(hit.session_uid, hit.seq), hit.kind, hit.state, hit.status, when(hit.ts))
        lines.append(f"{' · '.join(part for part in head if part)}\n{passage(hit.snippet, _LINE_BYTES)}")
    return [LEARNED_HEADING, *lines] if lines else []


class EntryHandler(Paging):
    """Answers `open` and `get_session` for entries."""

    def open(self, asked: OpenArguments) -> str:
        """Return one part in full, in pages if it is long, with its neighbours."""
        uid, part = parts_of_citation(asked.id.strip())
        view = self._memory.recall.entry(uid)
        texts = {one.part: clean(one.text) for one in view.parts}
        at = part or 0
        if at not in texts:
            raise UnknownName("part", passage(asked.id, 200), hint=f"it has {view.part_count}, from #0 on")
        start = self._begin("open", asked, texts[at])
        near = [n for n in texts if n != at and abs(n - at) <= asked.around] if not start.offset else []
        parts = f", one of {view.part_count} parts" if view.part_count > 1 else ""
        heading = f"{view.uid}#{at} from character {start.offset + 1} of {len(texts[at])}{parts}."
        lines = {n: f"{_head(view, n)}\n{passage(texts[n], _NEIGHBOUR_BYTES)}" for n in sorted(near)}
        return self._text(
            "open", asked, texts[at], start, PageFrame(heading, self._notes), head=_head(view, at),
            near=([lines[n] for n in lines if n < at], [lines[n] for n in lines if n > at]), least=size(texts[at]),
        )  # fmt: skip

    def read(self, asked: SessionArguments) -> str:
        """Return an entry with as many of its parts as fit, in order; a cursor continues within a part or after it."""
        uid, _part = parts_of_citation(asked.session.strip())
        view = self._memory.recall.entry(uid)
        text = "\n\n".join(f"{_head(view, part.part)}\n{clean(part.text)}" for part in view.parts)
        start = self._begin("get_session", asked, text)
        parts = plural(view.part_count, "part")
        heading = f"{view.kind} {name(view.title, 160)}, {parts}, from character {start.offset + 1}."
        return self._text("get_session", asked, text, start, PageFrame(heading, self._notes))


def _head(view: EntryView, part: int) -> str:
    heading = next((one.heading for one in view.parts if one.part == part), "")
    source = f"from {view.session_uid}" if view.session_uid else ""
    facts = (
        citation(view.uid, part), when(view.ts), view.kind, view.state, view.status, name(view.repo),
        name(heading, 160), source,
    )  # fmt: skip
    return " · ".join(fact for fact in facts if fact)


def status(memory: Memory, caller: Caller, notes: tuple[str, ...], *, max_bytes: int) -> str:
    """Return the text of the answer, in at most so many bytes. notes: what the look for changes said.

    Raises StoreError.
    """
    stats = memory.stats()
    sessions, events = plural(stats.sessions, "session"), plural(stats.events, "event")
    heading = f"The memory holds {sessions} and {events} of {plural(len(stats.agents), 'agent')}"
    if stats.first_event is not None:
        heading += f", from {when(stats.first_event)} to {when(stats.last_event)}"
    lines = list(_lines(memory, caller))
    agents = sorted(stats.agents, key=lambda agent: -agent.events)
    lines += [f"{a.agent}: {plural(a.sessions, 'session')}, {plural(a.events, 'event')}" for a in agents]
    missing = (*notes, *memory.recall.lagging()) or ("nothing is known to be missing",)
    return fit(lines, PageFrame(f"{heading}.", missing), max_bytes=max_bytes).text


def _lines(memory: Memory, caller: Caller) -> Iterator[str]:
    confines = repository_of(memory, caller)
    if confines.filters:
        where = memory.recall.confined(confines.filters).where
        here = memory.sessions(where=where, limit=1, sync=False, folders=caller.folders)
        newest = f", the newest of {when(here.sessions[0].ended_at)}" if here.sessions else ""
        yield f"{confines.words}, where you work: {plural(here.total, 'session')}{newest}"
    if memory.live.is_kept():
        yield "kept fresh by a daemon"
    else:
        yield "kept fresh by answers: each looks for changes first, no daemon runs"
    with suppress(TeamRefused):
        yield f'what the team {name(memory.team.membership().team)} shares is searched with scope "team"'
    yield from _by_meaning(memory)
    if not memory.config.distill.enabled:
        yield "analysis for decisions is off"
        return
    health = memory.distilling.health()
    older = f" ({health.unfit:,} by older rules)" if health.unfit else ""
    waiting = f"{health.waiting:,} waiting, {health.under_way:,} under way"
    yield f"analysed for decisions: {plural(health.analysed, 'session')}{older}; {waiting}"


def _by_meaning(memory: Memory) -> Iterator[str]:
    vectors = memory.embedding.stats()
    if vectors is None:
        yield "search by meaning is off: only words are matched"
        return
    if vectors.problem:
        yield f"search by meaning does not work: {vectors.problem}"
        return
    yield f"search by meaning covers {vectors.covered:,} of {plural(vectors.total, 'event')} of talk"
    if vectors.sessions_total:
        yield f"the contextual model has read {vectors.sessions_read:,} of {plural(vectors.sessions_total, 'session')}"


MAX_HITS = 100
"""Every page of a search is cut from this many: what comes first depends on how many are asked for."""
_LOOK_BACK = 64
"""Sessions that may have come in since a list's page was shown; beyond, its cursor is stale."""
_SAID_SHARE = 5
"""What the first prompt and the last answer may each take of an answer: one part of so many."""
_EVENTS_A_PAGE = 80
_WIDEN = 'Look everywhere with scope "all".'
_WITHIN = "More of one session: search with `session`."
_BETWEEN = (*LEFT_OUT, "lifecycle")
"""Kinds that are no neighbours: an agent with hooks has several such events between any two others."""


class ToolHandler(Paging):
    """Answers the calls of one caller."""

    tools: ClassVar[tuple[ToolSpec, ...]] = TOOLS

    def __init__(self, memory: Memory, cursors: Cursors, caller: Caller, notes: Sequence[str] = ()) -> None:
        super().__init__(memory, cursors, notes)
        self._caller = caller
        self._entries = EntryHandler(memory, cursors, self._notes)
        self._team = TeamHandler(memory, cursors)

    def answer(self, tool: str, arguments: dict[str, Any] | None) -> str:
        """Return the text of an answer. A tool is the method of its name.

        Raises UsageError for arguments that cannot be, UnknownName for a tool, session or event that is not there,
        StoreError where the memory cannot be read or written, TeamError where a team is asked.
        """
        spec = next((one for one in self.tools if one.name == tool), None)
        if spec is None:
            raise UnknownName("tool", tool, hint=f"there are {', '.join(one.name for one in self.tools)}")
        asked = read_arguments(spec.arguments, arguments)
        text: str = getattr(self._team if is_of_team(asked) else self, tool)(asked)
        return text

    # Searching

    def search(self, asked: SearchArguments) -> str:
        """Return cited events; of everywhere where the caller named no place and nothing is stored of its own."""
        confines = confines_of(self._memory, asked, self._caller)
        scope = confines.filters
        start = self._cursors.read("search", asked, scope=scope)
        found, confines, empty = self._ask_here_or_elsewhere(asked, confines)
        cites = [f"{hit.session_uid}#{hit.seq}" for hit in found.hits]
        check_position(start, cites)
        learned = [] if start.offset else learned_lines(found.learned)
        shown = found.hits[start.offset : start.offset + asked.limit]
        first: dict[str, Hit] = {}
        lines = []
        for hit in shown:
            lines.append(hit_line(hit, first=first.get(hit.session_uid)))
            first.setdefault(hit.session_uid, hit)
        if not lines:
            return self._nothing(asked, confines, found, learned)
        where = f" in {confines.words}" if confines.words else ""
        how = f"{found.match_level}, {found.by_meaning:,} by meaning alone" if found.by_meaning else found.match_level
        hedge, remarks = _hedge(asked, found)
        words = ("event has", "events have") if found.is_unsure else ("event matches", "events match")
        many = plural(found.total, *words) + (" some of its words" if found.is_unsure else "")
        heading = f"{hedge}{empty}{many} ({how}){where}{_from(start.offset)}."
        is_end = len(cites) == MAX_HITS and start.offset + len(shown) == MAX_HITS
        capped = f"only the best {MAX_HITS} are shown: use more telling words" if is_end else ""
        within = "" if asked.session or found.total <= len(shown) else _WITHIN
        notes = (*remarks, *self._notes, capped, within, _WIDEN if confines.is_default else "")
        frame = PageFrame(heading, notes)
        page = fit(lines, frame, max_bytes=asked.max_bytes - sum(size(line) + 8 for line in learned))
        text = whole([*_by_session(page.lines, shown), *learned], frame, max_bytes=asked.max_bytes)
        end = start.offset + page.shown
        go_on = CursorPosition(end, mark_of(*cites[:end])) if len(cites) > end else None
        return self._with_next(text, "search", asked, go_on, scope=scope)

    def search_conversations(self, asked: ConversationArguments) -> str:
        """Return ranked sessions with their best line each."""
        confines = confines_of(self._memory, asked, self._caller)
        scope = confines.filters
        start = self._cursors.read("search_conversations", asked, scope=scope)
        found, confines, empty = self._ask_here_or_elsewhere(asked, confines)
        ranked = conversations(found.hits)
        uids = [conversation.session_uid for conversation in ranked]
        check_position(start, uids)
        shown = ranked[start.offset : start.offset + asked.limit]
        known = self._memory.recall.sessions(tuple(c.session_uid for c in shown))
        lines = [conversation_line(c, known.get(c.session_uid)) for c in shown]
        if not lines:
            return self._nothing(asked, confines, found)
        where = f" in {confines.words}" if confines.words else ""
        many = plural(len(ranked), "session matches", "sessions match")
        hedge, remarks = _hedge(asked, found)
        heading = f"{hedge}{empty}{many}{where}, each with its best event{_from(start.offset)}."
        notes = (*remarks, *self._notes, _WIDEN if confines.is_default else "")
        frame = PageFrame(heading, notes)
        return self._list("search_conversations", asked, start, lines, uids, frame=frame, scope=scope)

    def _ask_here_or_elsewhere(
        self, asked: SearchArguments | ConversationArguments, confines: Confines
    ) -> tuple[SearchAnswer, Confines, str]:
        """Return an answer, what it is confined to, and words that say so where nothing is stored of the caller's own
        repository: then it is of everywhere."""
        found = self._ask(asked, confines, MAX_HITS)
        if not confines.is_default or found.hits or self._has_sessions(confines):
            return found, confines, ""
        empty = f"Nothing is stored of {confines.words}: these are from elsewhere. "
        return self._ask(asked, Confines(), MAX_HITS), Confines(), empty

    def _ask(self, asked: SearchArguments | ConversationArguments, confines: Confines, limit: int) -> SearchAnswer:
        if not asked.query.strip():
            raise UsageError("the query is empty", hint="list_sessions needs none")
        filters = filters_of(self._memory, asked, confines)
        # Filters first: a quote that the words leave open must not swallow them.
        query = f"{filters} {words_of(asked.query)}".strip()
        return self._memory.search(query, limit=limit, sync=False, folders=self._caller.folders)

    def _nothing(
        self,
        asked: SearchArguments | ConversationArguments,
        confines: Confines,
        found: SearchAnswer,
        learned: Sequence[str] = (),
    ) -> str:
        where = f" in {confines.words}" if confines.words else ""
        elsewhere = _elsewhere(asked, found) if confines.filters else ""
        searched = "" if found.abstained else " in what was searched"
        frame = PageFrame(f"Nothing found{searched}{where}. {elsewhere}", (*found.notes, *self._notes))
        return whole(learned, frame, max_bytes=asked.max_bytes)

    # Sessions

    def list_sessions(self, asked: ListArguments) -> str:
        """Return sessions, newest first."""
        confines = confines_of(self._memory, asked, self._caller)
        start = self._cursors.read("list_sessions", asked, scope=confines.filters)
        where, after, before = self._memory.recall.confined(filters_of(self._memory, asked, confines))
        offset = max(0, start.offset - 1)
        page = self._memory.sessions(
            where=where, after=after, before=before, limit=asked.limit + _LOOK_BACK, offset=offset, sync=False,
            folders=self._caller.folders,
        )  # fmt: skip
        sessions = list(page.sessions)
        if start.offset:
            # New sessions push the others down: continue behind the last one that was shown.
            last = next((n for n, s in enumerate(sessions) if mark_of(s.session_uid) == start.mark), None)
            if last is None:
                raise stale()
            sessions = sessions[last + 1 :]
            offset += last + 1
        words = f" in {confines.words}" if confines.words else ""
        if not sessions:
            return self._no_sessions(asked, confines)
        heading = f"{plural(page.total, 'session')}{words}, newest first{_from(offset)}."
        notes = (*self._notes, _WIDEN if confines.is_default else "")
        lines = [session_line(session) for session in sessions[: asked.limit]]
        shown = fit(lines, PageFrame(heading, notes), max_bytes=asked.max_bytes)
        end = offset + shown.shown
        go_on = CursorPosition(end, mark_of(sessions[shown.shown - 1].session_uid)) if end < page.total else None
        return self._with_next(shown.text, "list_sessions", asked, go_on, scope=confines.filters)

    def _has_sessions(self, confines: Confines) -> bool:
        where, _after, _before = self._memory.recall.confined(confines.filters)
        page = self._memory.sessions(where=where, limit=1, sync=False, folders=self._caller.folders)
        return page.total > 0

    def _no_sessions(self, asked: Confining, confines: Confines) -> str:
        words = f" in {confines.words}" if confines.words else ""
        elsewhere = ""
        if confines.filters:
            where, after, before = self._memory.recall.confined(filters_of(self._memory, asked, Confines()))
            total = self._memory.sessions(where=where, after=after, before=before, limit=1, sync=False).total
            elsewhere = f'{total:,} elsewhere: repeat with scope "all"{" and no repo" if asked.repo else ""}.'
        return whole([], PageFrame(f"No sessions{words}. {elsewhere}", self._notes), max_bytes=asked.max_bytes)

    def get_session(self, asked: SessionArguments) -> str:
        """Return what a session was about; with a cursor, its events in order. Of an entry its text."""
        if is_entry_uid(asked.session.strip()):
            return self._entries.read(asked)
        session = self._memory.session(asked.session)
        start = self._cursors.read("get_session", asked)
        if start.offset:
            return self._events(asked, session.session_uid, start.offset - 1)
        uid = session.session_uid
        over = self._memory.recall.overview(uid)
        said = max(DEFAULT_BYTES, asked.max_bytes) // _SAID_SHARE
        lines = [session_facts(session)]
        if over.first_prompt is not None:
            lines.append(cited_line(uid, over.first_prompt, "first prompt", limit=said))
        if over.last_answer is not None:
            lines.append(cited_line(uid, over.last_answer, "last answer", limit=said))
        lines += [cited_line(uid, failure, "failed") for failure in over.failures]
        lines += [f"{uid}#{f.seq} · edited {f.edits}×\n{passage(f.path, 200)}" for f in over.files]
        failures = f"Failed tool calls: {over.failure_count}, the last {len(over.failures)} shown."
        edited = f"Files edited: {len(over.files)}, the most edited first, as many as fit."
        heading = " ".join(
            ("Summary of one session.", failures if over.failure_count else "", edited if over.files else "")
        )
        gone, forgotten = gone_note(session.evicted_at), self._forgotten(uid)
        partial = "" if over.is_whole else "the session is long: failures and files are those of its first part"
        page = fit(lines, PageFrame(heading, (partial, gone, forgotten, *self._notes)), max_bytes=asked.max_bytes)
        go_on = CursorPosition(1) if session.event_count else None
        return self._with_next(page.text, "get_session", asked, go_on, what="Its events in order")

    def _forgotten(self, uid: str) -> str:
        return forgotten_note(self._memory.reader().forgotten(uid))

    def _events(self, asked: SessionArguments, uid: str, first: int) -> str:
        most = _EVENTS_A_PAGE * max(1, asked.max_bytes // DEFAULT_BYTES)
        events = list(islice(self._memory.events(uid, first_seq=first, limit=most), most))
        told = [event for event in events if event.kind not in LEFT_OUT]
        heading = f"Events of {uid} from #{first}, in order; `open` shows one in full."
        if not told:
            return whole([], PageFrame(heading, ("there are no more events",)), max_bytes=asked.max_bytes)
        frame = PageFrame(heading, (self._forgotten(uid), *self._notes))
        page = fit([event_line(event) for event in told], frame, max_bytes=asked.max_bytes)
        is_last = page.shown == len(told) and len(events) < most
        following = told[page.shown].seq if page.shown < len(told) else events[-1].seq + 1
        return self._with_next(page.text, "get_session", asked, None if is_last else CursorPosition(following + 1))

    # One event

    def open(self, asked: OpenArguments) -> str:
        """Return one event in full, in pages where it is long, with its neighbours on the first."""
        if is_entry_uid(asked.id.strip()):
            return self._entries.open(asked)
        uid, seq = self._cited(asked.id)
        near = self._near(uid, seq, asked.around)
        event = next((e for e in near if e.seq == seq), None)
        if event is None:
            hint = "get_session shows the events of a session"
            if why := self._memory.reader().why_missing(uid, seq):
                raise EventMissing(f"{uid}#{seq}", why, hint=hint)
            raise UnknownName("event", passage(asked.id, 200), hint=hint)
        text = clean(event_text(event))
        start = self._begin("open", asked, text)
        before = [] if start.offset else [event_line(e) for e in near if e.seq < seq]
        after = [] if start.offset else [event_line(e) for e in near if e.seq > seq]
        heading = f"Event {uid}#{seq} from character {start.offset + 1} of {len(text)}"
        frame = PageFrame(f"{heading}, with its neighbours." if before or after else f"{heading}.", self._notes)
        return self._text("open", asked, text, start, frame, head=event_head(event), near=(before, after))

    # What is there

    def status(self, _asked: StatusArguments) -> str:
        """Return what the memory covers, how fresh that is, and what is missing."""
        return status(self._memory, self._caller, self._notes, max_bytes=DEFAULT_BYTES)

    def _cited(self, cited: str) -> tuple[str, int]:
        name, mark, seq = cited.strip().rpartition("#")
        if not mark or not seq.isdecimal() or not seq.isascii() or len(seq) > 9:
            raise UsageError(
                f"{passage(cited, 100)} is not a citation", hint="write session_uid#seq, as answers cite it"
            )
        return self._memory.session(name).session_uid, int(seq)

    def _near(self, uid: str, seq: int, around: int) -> list[Event]:
        """Return an event with so many told ones on each side."""
        reach = 6 * around + 2
        stream = self._memory.events(uid, first_seq=max(0, seq - reach), limit=2 * reach + 1)
        told = [e for e in islice(stream, 2 * reach + 1) if e.kind not in _BETWEEN or e.seq == seq]
        before = [e for e in told if e.seq < seq][-around:] if around else []
        return [*before, *(e for e in told if e.seq == seq), *[e for e in told if e.seq > seq][:around]]


def _elsewhere(asked: SearchArguments | ConversationArguments, found: SearchAnswer) -> str:
    """Say what a search without its confines finds."""
    if not found.elsewhere:
        return "Nothing elsewhere either."
    many = plural(found.elsewhere, "event matches", "events match")
    return f'{many} elsewhere: repeat with scope "all"{" and no repo" if asked.repo else ""}.'


def _hedge(asked: SearchArguments | ConversationArguments, found: SearchAnswer) -> tuple[str, tuple[str, ...]]:
    """Return what an unsure answer says before anything else, and the notes that are left for its end.

    Hits that match only in part must not hide that others match better elsewhere.
    """
    elsewhere = (_elsewhere(asked, found),) if found.elsewhere else ()
    if found.is_unsure:
        return f"({found.notes[0]}) ", (*elsewhere, *found.notes[1:])
    return "", (*elsewhere, *found.notes)


def _from(offset: int) -> str:
    """Say where a further page begins; the first one needs no word."""
    return f"; these from number {offset + 1}" if offset else ""


def _by_session(lines: Sequence[str], hits: Sequence[Hit]) -> list[str]:
    """Return the lines of the first hits with those of one session together, in the order of their best."""
    sessions = [hit.session_uid for hit in hits[: len(lines)]]
    return [lines[at] for at in sorted(range(len(lines)), key=lambda at: sessions.index(sessions[at]))]
