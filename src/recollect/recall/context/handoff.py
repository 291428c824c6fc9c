"""Briefs another agent on a session: request, decisions, changes, failures, remaining work.

It is a block as any other: quoted, cited line by line, within a budget. Nothing in it is made up: each line quotes the
session, or counts what is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.model.learnings.learnings import Learning
from recollect.model.own import without_own_blocks
from recollect.model.payloads import AssistantMessage, ToolCall, ToolResult
from recollect.model.text import one_line
from recollect.model.time import day_of
from recollect.recall.context.builder import ContextBlock, build
from recollect.recall.context.compacted import EditedFiles, LastPlan, Requests, StillFailing
from recollect.recall.context.failures import COMMAND_CHARS, EVENTS, ToolCommand, command_of
from recollect.recall.context.history import REASON_CHARS, STATEMENT_CHARS, last_words
from recollect.recall.context.learnings import quotable
from recollect.recall.context.lines import ContextLine, ContextRequest, SourceLines
from recollect.recall.context.person_files import Front
from recollect.recall.decisions import DecisionView

WORDS_CHARS = 600
"""Of the assistant's last words: what comes next mostly stands at their end."""
_REPLIES = 8
_COMMIT = "git commit"


def handoff_block(
    asked: ContextRequest, *, head: str, decisions: Sequence[DecisionView], actions: Sequence[Learning], budget: int
) -> ContextBlock:
    """Return the brief of the session of a request, of at most `budget` tokens. Raises what the reader raises.

    head: a line of ours that says which session it is. decisions, actions: all of the session's.
    """
    asked.is_whole = True
    sources = (
        Requests(), DecidedThen(decisions), RunThen(), EditedFiles(), StillFailing(), LastPlan(), LeftToDo(actions),
        LastWords(),
    )  # fmt: skip
    return build(asked, sources, budget=budget, fronts=[Front("handoff", (head,))])


class DecidedThen:
    """What was decided in the session, and what became of it."""

    heading = "Decided in this session, and whether it still holds:"

    def __init__(self, decisions: Sequence[DecisionView]) -> None:
        self._decisions = decisions

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return a line for each of the newest decisions, in order of time."""
        shown = self._decisions[: max(2, asked.room * 2 // 5)]
        lines = [_decision_line(view) for view in reversed(shown)]
        return SourceLines(lines, len(self._decisions) - len(shown))


def _decision_line(view: DecisionView) -> ContextLine:
    decision = view.decision
    who = "the person" if decision.speaker == "human" else "the agent"
    maybe = "maybe, " if decision.status == "ranked" else ""
    text = f"{view.state}, {maybe}by {who}: “{quotable(decision.statement, STATEMENT_CHARS)}”"
    if decision.rationale and decision.rationale not in decision.statement:
        text += f" (why: “{quotable(decision.rationale, REASON_CHARS)}”)"
    newer = next((link.newer for link in view.links if link.older == decision.id), "")
    if newer:
        text += f"; see {newer}"
    return ContextLine(text, view.citation, decision.ts, 0.95 if view.state == "holds" else 0.75)


class RunThen:
    """Commands that ended well, each as it was run last."""

    heading = "Run in this session, and ended well (the newest last):"

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return checks, changes and commits before other commands."""
        events = asked.reader.events(asked.session, ("tool_call", "tool_result"), limit=EVENTS)
        calls: dict[str, ToolCommand] = {}
        passed: dict[str, ContextLine] = {}
        for event in events:
            payload = event.payload
            if isinstance(payload, ToolCall) and payload.canonical == "shell":
                command = command_of(payload)
                if command is not None and payload.call_id:
                    calls[payload.call_id] = command
            elif isinstance(payload, ToolResult) and (found := calls.pop(payload.call_id, None)) is not None:
                passed.pop(found.key, None)
                if not event.is_failed and (payload.ok or payload.exit_code == 0):
                    passed[found.key] = _run_line(found, f"{asked.session}#{event.seq}", event.ts)
        chosen = sorted(passed.values(), key=lambda line: -line.worth)[: max(2, asked.room // 4)]
        kept = {line.citation for line in chosen}
        return SourceLines([line for line in passed.values() if line.citation in kept])


def _run_line(command: ToolCommand, citation: str, ts: int | None) -> ContextLine:
    is_telling = command.is_check or command.is_change or _COMMIT in command.key
    return ContextLine(f"`{one_line(command.shown, COMMAND_CHARS)}`", citation, ts, 0.65 if is_telling else 0.3)


class LeftToDo:
    """Actions that the session left, and that are neither done nor over."""

    heading = "Left to do by this session:"

    def __init__(self, actions: Sequence[Learning]) -> None:
        self._actions = actions

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return a line for each action."""
        cited = ((action, next(iter(action.evidence), None)) for action in self._actions)
        lines = [
            ContextLine(
                f"“{quotable(action.text)}”", f"action:{action.id}", action.updated_at, 0.9,
                also=f"{evidence.session_uid}#{evidence.seq}" if evidence is not None else "",
            )
            for action, evidence in cited
        ]  # fmt: skip
        return SourceLines(lines)


class LastWords:
    """Where the session stopped: the assistant's last words, and what was asked after them."""

    heading = "Where it stopped:"

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return the last answer, and the requests that have none."""
        events = asked.reader.events(asked.session, ("assistant_message",), limit=_REPLIES)
        told = ((event, event.payload) for event in reversed(events) if not event.is_sidechain)
        said = next(
            (
                (e, words)
                for e, p in told
                if isinstance(p, AssistantMessage) and (words := last_words(p.text, WORDS_CHARS))
            ),
            None,
        )
        after = said[0].seq if said is not None else -1
        waiting = [
            line for line in Requests().candidates(asked).candidates if int(line.citation.rpartition("#")[2]) > after
        ]
        lines = [ContextLine(f"without an answer: {line.text}", line.citation, line.ts, 0.95) for line in waiting]
        if said is not None:
            event, words = said
            day = day_of(event.ts) if event.ts is not None else "undated"
            quoted = without_own_blocks(words)
            lines.insert(
                0,
                ContextLine(
                    f"{day}, the agent's last words: “{quoted}”", f"{asked.session}#{event.seq}", event.ts, 1.0
                ),
            )
        return SourceLines(lines)
