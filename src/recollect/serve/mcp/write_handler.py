"""The writing tools: from arguments to stored data and the text of an answer. Safe from many threads."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import UnknownName, UsageError
from recollect.memory import DiaryQuestion, FactQuestion, NewEntry, NewFact
from recollect.model.learnings.notes import DiaryEntry, Fact
from recollect.model.undone import UNDONE
from recollect.serve.mcp.answer_size import DEFAULT_BYTES, Paged
from recollect.serve.mcp.bounded_answer import PageFrame, check_position, fit, name, passage, when, whole
from recollect.serve.mcp.handler import ToolHandler
from recollect.serve.mcp.tools import (
    WRITING_TOOLS,
    ActionDoneArguments,
    DiaryReadArguments,
    DiaryWriteArguments,
    FactAddArguments,
    FactInvalidateArguments,
    FactQueryArguments,
)
from recollect.units import plural

EVERYBODY = "all"
_ENTRY_BYTES = 1_500
_LINE_BYTES = 300
_FACT_BYTES = 400
_WHY = {"single_valued": "that predicate has one object at a time", "opposite": "it says the opposite"}


class WriteHandler(ToolHandler):
    """Answers the calls of one caller; what is to be kept is kept by then."""

    tools = WRITING_TOOLS

    # Diary

    def diary_write(self, asked: DiaryWriteArguments) -> str:
        """Keep an entry; return its citation."""
        entry = self._memory.notes.diary.write(
            NewEntry(
                agent=self._agent(asked.agent),
                text=asked.entry,
                repo=asked.repo or self._repo(),
                topic=asked.topic,
                decided=asked.decided,
                discovered=asked.discovered,
                left_pending=asked.left_pending,
                sessions=(asked.session,) if asked.session else (),
            )
        )
        about = f" about {' '.join(entry.sessions)}" if entry.sessions else ""
        return self._said(f"Kept as diary:{entry.id} in the diary of {name(entry.agent)}{_in(entry.repo)}{about}.")

    def diary_read(self, asked: DiaryReadArguments) -> str:
        """Return entries, newest first."""
        agent = "" if asked.agent == EVERYBODY else self._agent(asked.agent)
        known = self._memory.known_names(self._caller.folders)
        repo = asked.repo or self._repo()
        named = known("repo", repo) if asked.repo else repo and f"={repo}"
        after, before = self._range(asked)
        question = DiaryQuestion(agent=agent, repo=named, after=after, before=before)
        try:
            found = self._memory.notes.diary.read(question, limit=None).entries
        except UnknownName:
            found = ()  # anybody may keep a diary, and this one has not begun it
        lines = [_entry_line(entry) for entry in found]
        what = f"of {name(agent) if agent else 'everybody'}{_in(repo)}"
        heading = f"{plural(len(found), 'diary entry', 'diary entries')} {what}, newest first."
        if not found and agent:
            heading = f'No diary entry {what}. agent "{EVERYBODY}" reads everybody\'s.'
        return self._page("diary_read", asked, lines, [e.id for e in found], heading=heading, limit=asked.limit)

    # Facts

    def fact_add(self, asked: FactAddArguments) -> str:
        """Keep a fact; return what became of it and what contradicts it."""
        facts = self._memory.notes.facts
        added = facts.add(
            NewFact(
                subject=asked.subject,
                predicate=asked.predicate,
                object=asked.object,
                valid_from=facts.begin(asked.valid_from, name="valid_from") if asked.valid_from else None,
                valid_to=facts.end_of(asked.valid_to, name="valid_to") if asked.valid_to else None,
                source="agent",
                reference=asked.reference,
            )
        )
        heading = "Kept." if added.is_new else "Known already; nothing was changed."
        against = added.contradictions
        heading += f" {plural(len(against), 'contradicts', 'contradict')} it." if against else ""
        others = (f"against ({_WHY[pair.reason]}): {_fact_line(pair.other)}" for pair in against)
        return self._said(heading, [_fact_line(added.fact), *others])

    def fact_query(self, asked: FactQueryArguments) -> str:
        """Return facts, newest first."""
        facts = self._memory.notes.facts
        question = FactQuestion(
            about=asked.about,
            predicate=asked.predicate,
            words=tuple(asked.query.split()),
            at=facts.instant(asked.at, name="at") if asked.at else None,
            is_history=asked.history,
        )
        found = facts.find(question, limit=None).facts
        held = "whatever became of them" if asked.history else f"at {passage(asked.at, 60)}" if asked.at else "now"
        heading = f"{plural(len(found), 'fact')} ({held})."
        lines = [_fact_line(fact) for fact in found]
        return self._page("fact_query", asked, lines, [f.id for f in found], heading=heading, limit=asked.limit)

    def fact_invalidate(self, asked: FactInvalidateArguments) -> str:
        """End a fact, or say that it never held."""
        facts = self._memory.notes.facts
        if asked.was_wrong and asked.ended:
            raise UsageError("what was wrong has no end: give either ended or was_wrong")
        if asked.was_wrong:
            return self._said("Kept as wrong.", [_fact_line(facts.retract(asked.id))])
        ended = facts.end_of(asked.ended, name="ended") if asked.ended else None
        return self._said("Kept as ended.", [_fact_line(facts.end(asked.id, ended=ended))])

    # Actions

    def action_done(self, asked: ActionDoneArguments) -> str:
        """Say that an action is done."""
        action = self._memory.learn.done(asked.id)
        return self._said("Done.", [f"action:{action.id} · {action.state}\n{passage(action.text, _LINE_BYTES)}"])

    # Inside

    def _agent(self, said: str) -> str:
        agent = said or self._caller.agent
        if not agent:
            raise UsageError("say whose diary it is: agent")
        return agent

    def _repo(self) -> str:
        names = (repo for folder in self._caller.folders for repo in self._memory.recall.repositories(folder))
        return next(names, "")

    def _range(self, asked: DiaryReadArguments) -> tuple[int | None, int | None]:
        """Return [after, before) in UTC microseconds. Raises UsageError for a date that is none."""
        filters = ""
        for field in ("after", "before"):
            said = " ".join(str(getattr(asked, field)).replace('"', " ").split())
            if said:
                self._memory.recall.check_date(said, name=field)
                filters += f'{field}:"{said}" '
        confined = self._memory.recall.confined(filters)
        return confined.after, confined.before

    def _said(self, heading: str, lines: Sequence[str] = ()) -> str:
        return (
            fit(lines, PageFrame(heading), max_bytes=DEFAULT_BYTES).text
            if lines
            else whole([], PageFrame(heading), max_bytes=DEFAULT_BYTES)
        )

    def _page(
        self, tool: str, asked: Paged, lines: Sequence[str], ids: Sequence[str], *, heading: str, limit: int
    ) -> str:  # fmt: skip
        scope = "\0".join(self._caller.folders)
        start = self._cursors.read(tool, asked, scope=scope)
        check_position(start, ids)
        shown, frame = lines[start.offset : start.offset + limit], PageFrame(heading, self._notes)
        return self._list(tool, asked, start, shown, ids, frame=frame, scope=scope)


def _in(repo: str) -> str:
    return f" in {name(repo)}" if repo else ""


def _entry_line(entry: DiaryEntry) -> str:
    head = (f"diary:{entry.id}#0", when(entry.written_at), name(entry.agent), name(entry.repo))
    named = (("decided", entry.decided), ("discovered", entry.discovered), ("left pending", entry.left_pending))
    lines = [" · ".join(part for part in head if part)]
    lines += [passage(entry.topic, _LINE_BYTES)] if entry.topic else []
    lines += [passage(entry.text, _ENTRY_BYTES)] if entry.text else []
    lines += [f"{what}: {passage(line, _LINE_BYTES)}" for what, said in named for line in said]
    lines += [f"about {' '.join(entry.sessions)}"] if entry.sessions else []
    return "\n".join(lines)


def _fact_line(fact: Fact) -> str:
    begin = f"from {when(fact.valid_from)}" if fact.valid_from is not None else ""
    end = f"until {when(fact.valid_to)}" if fact.valid_to is not None else ""
    state = "retracted" if fact.is_retracted else UNDONE if fact.is_undone else ""
    said_by = f"{fact.source} {name(fact.reference)}".strip()
    head = (f"fact:{fact.id}#0", begin, end, state, fact.status, said_by, name(fact.repo))
    words = passage(f"{fact.subject} {fact.predicate} {fact.object}", _FACT_BYTES)
    return f"{' · '.join(part for part in head if part)}\n{words}"
