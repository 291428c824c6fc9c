"""`memory.handoff`: continues a session in its own agent or, with a brief, in another one."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from recollect.agents.registry import adapters_with
from recollect.errors import ArchiveError, UsageError
from recollect.ingest.learnings.run import LearnFacet
from recollect.memory.facets import HomeFacet
from recollect.model.capabilities import AgentCommands
from recollect.model.ids import split_session_uid
from recollect.model.insights.nodes import DecisionState
from recollect.model.learnings.learnings import GIVEN_STATES, Learning
from recollect.model.sessions import Session, gone_note
from recollect.model.time import minute_of
from recollect.recall.context.builder import room_of
from recollect.recall.context.handoff import handoff_block
from recollect.recall.context.lines import ContextRequest, folder_of
from recollect.recall.decisions import DecisionQuestion, DecisionView, ask_decisions
from recollect.store.context_reader import RecentReader
from recollect.store.learnings import LearningFilter
from recollect.units import plural

BRIEF_TOKENS = 2_000
"""A brief's budget where none is given."""
ANALYSIS_S = 20.0
"""How long a brief may wait for the analysis of its session."""
STATES: tuple[DecisionState, ...] = ("holds", "contradicted", "superseded", "reversed", "undone")


def command_line(command: Sequence[str], folder: str = "") -> str:
    """Return a command as you would type it in a shell, with the change to its folder first."""
    join = subprocess.list2cmdline if sys.platform == "win32" else shlex.join
    return f"{join(['cd', folder])} && {join(command)}" if folder else join(command)


class ResumeCommand(msgspec.Struct, frozen=True):
    """The agent's own command to continue a session.

    command: program and arguments, run without a shell. folder: where to run it: the session's first folder, "" if
    unknown. is_folder_there: whether it exists on this machine. source: where the agent documents the command.
    """

    session_uid: str
    agent: str
    command: tuple[str, ...]
    folder: str
    is_folder_there: bool
    source: str
    notes: tuple[str, ...] = ()


class Handoff(msgspec.Struct, frozen=True):
    """A brief of a session for another agent.

    text: the whole brief. lines: its cited lines. left_out: lines that did not fit. tokens: upper bound for the text.
    start: program and arguments that start a session of that agent with the brief; empty if unknown. folder: as in
    `ResumeCommand`. file: where the brief is written, "" for nowhere.
    """

    session_uid: str
    to: str
    text: str
    lines: tuple[str, ...]
    citations: tuple[str, ...]
    left_out: int
    tokens: int
    start: tuple[str, ...]
    folder: str
    file: str = ""
    notes: tuple[str, ...] = ()


class HandoffFacet(HomeFacet):
    """Continues sessions. Ingests nothing and starts no agent."""

    def resume(self, uid: str) -> ResumeCommand:
        """Return the command that continues a session.

        Raises UnknownName; UsageError if there is none: the agent has no such command, the session is a subagent's, or
        its id would be read as an option.
        """
        session = self._home.session(uid)
        name, commands = self._commands(session.agent)
        if session.parent_session:
            raise UsageError(
                f"{session.session_uid} is a subagent's session: {name} goes on with the session that started it",
                hint=f"run: recollect resume {session.root_session or session.parent_session}",
            )
        if commands is None or not commands.resume:
            raise UsageError(
                f"no command is known with which {name} goes on with a session",
                hint=f"`recollect handoff {session.session_uid} --to AGENT` writes a brief of it for another agent",
            )
        native = split_session_uid(session.session_uid)[1]
        if native.startswith("-") or not native.isprintable():
            raise UsageError(f"{session.session_uid} cannot be resumed: {name} would read its id as something else")
        command = tuple(word.replace("{session}", native) for word in commands.resume)
        folder = self._home.reader().first_folder(session.session_uid)
        is_there = os.path.isabs(folder) and os.path.isdir(folder)
        missing = f"its folder is not on this machine: {folder}"
        if not folder:
            missing = "the session does not say in which folder it worked"
        notes = () if is_there else (missing,)
        return ResumeCommand(session.session_uid, session.agent, command, folder, is_there, commands.source, notes)

    def analyse(self, uid: str) -> tuple[str, ...]:
        """Analyse a session up to its present end, if necessary; return notes about problems.

        Raises UnknownName, ConfigError, StoreError.
        """
        session = self._home.session(uid)
        is_done = session.analyzed_at is not None and (session.ingested_at or 0) <= session.analyzed_at
        if is_done or session.evicted_at is not None or not self._home.config.distill.enabled:
            return ()
        from recollect.ingest.distill import DistillingFacet

        try:
            report = DistillingFacet(self._home).run(sessions=[session.session_uid], max_seconds=ANALYSIS_S)
            LearnFacet(self._home).run(max_seconds=ANALYSIS_S)  # it no longer counts as waiting
        except ArchiveError as error:  # what is told of the events themselves needs no archive, and no key
            return (f"not analysed: {error}",)
        return tuple(report.notes)

    def brief(self, uid: str, *, to: str, budget: int = BRIEF_TOKENS, file: str = "") -> Handoff:
        """Return a brief of a session. to: the other agent, by any of its names. budget: in LLM tokens.

        file: where the caller writes the brief; the other agent is told to read it. Raises UnknownName for the session
        or agent, StoreError.
        """
        session = self._home.session(uid)
        slug = self._home.slug(to)
        _name, commands = self._commands(slug)
        folder = self._home.reader().first_folder(session.session_uid)
        reader = RecentReader(self._home.home)
        try:
            asked = ContextRequest(
                reader, folder_of(folder, self._home.env), session.session_uid, room=room_of(budget), agent=slug,
                now_us=self._now_us(),
            )  # fmt: skip
            block = handoff_block(
                asked, head=self._head(session), decisions=self._decisions(session), actions=self._actions(session),
                budget=budget,
            )  # fmt: skip
        finally:
            reader.close()
        text = block.text if block.lines else ""  # the head alone says nothing
        notes = [gone_note(session.evicted_at)]
        if session.analyzed_at is None:
            missing = "its decisions and actions are missing; `recollect sync` analyses it"
            notes.append(f"the session is not analysed yet: {missing}")
        if not block.lines:
            no_room = f"{budget:,} tokens have no room for a brief"
            notes.append(no_room if block.left_out else "nothing that could be told is stored of it")
        prompt = f"Read {file}, a brief of earlier work on this, and go on with it." if file else text
        start = commands.start if commands is not None and text else ()
        return Handoff(
            session.session_uid, slug, text, block.lines, block.citations, block.left_out, block.tokens,
            tuple(word.replace("{prompt}", prompt) for word in start), folder, file,
            tuple(note for note in notes if note),
        )  # fmt: skip

    def _commands(self, slug: str) -> tuple[str, AgentCommands | None]:
        """Return an agent's name and commands; of one whose package is gone the slug and none."""
        found = adapters_with(self._home.config.formats()).get(slug)
        return (found.facts.name, found.facts.commands) if found is not None else (slug, None)

    def _head(self, session: Session) -> str:
        name = self._commands(session.agent)[0]
        where = f" in {session.repo}" if session.repo else ""
        where += f" on {session.git_branch}" if session.git_branch else ""
        zone = self._home.zone
        times = [minute_of(at, zone) for at in (session.started_at, session.ended_at) if at is not None]
        when = f", {' to '.join(times)}" if times else ""
        how = f" Outcome: {session.outcome} ({session.outcome_reason})." if session.analyzed_at is not None else ""
        return (
            f"Handed over: session {session.session_uid} of {name}{where}{when}, {plural(session.turn_count, 'turn')}."
            f"{how}"
        )

    def _decisions(self, session: Session) -> Sequence[DecisionView]:
        question = DecisionQuestion(states=STATES, session=session.session_uid)
        return ask_decisions(self._home.distilled(), question).decisions

    def _actions(self, session: Session) -> list[Learning]:
        where = LearningFilter(kinds=("action",), states=GIVEN_STATES, session=session.session_uid)
        found = LearnFacet(self._home, self._now_us).learnings(where)
        return [one for one in found if one.expires_at is None or one.expires_at > self._now_us()]
