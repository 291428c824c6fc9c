"""Groups a session's turns into questions, and selects what a model is shown of them.

One call for every finished turn; short ones share it. Turns of different sessions are never mixed, and what is said of
earlier turns is told by rules, not by a model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from recollect.insights.learnings.questions.excerpts import HUMAN, SHOWN, Excerpt, capped, excerpt_of, plain
from recollect.model.events import Event
from recollect.model.own import INTERNAL_ORIGINATOR, without_own_blocks
from recollect.model.payloads import AssistantMessage, ToolCall, UserMessage
from recollect.model.sessions import Session
from recollect.model.text import one_line

if TYPE_CHECKING:
    from recollect.store.insight_feed import AnalysisInput

BATCH_CHARS = 12_000
"""Of what is shown of the events of a batch, about; what matters least is left out first."""
FULL_CHARS = 6_000
"""From here on no further turn joins a group."""
MAX_TURNS = 8
CONTEXT_CHARS = 1_200
CONTEXT_TURNS = 5
_LEAST_CHARS = 24
"""Of what user and assistant say in a turn; with less there is nothing to ask about ("ok", "continue")."""
_CHARS_OF_CALL = 200
"""What a call and its result add, about."""


class TurnGroup(NamedTuple):
    """Turns that are asked about together. events: (id, part) of what they may be shown by."""

    session_uid: str
    turns: tuple[int, ...]
    events: tuple[tuple[str, int], ...]


class TurnBatch(NamedTuple):
    """Some turns of one session, as a model is shown them.

    context_before: what happened before, in a few lines. left_out: events that would be shown if there were room.
    """

    session: Session
    group: TurnGroup
    excerpts: tuple[Excerpt, ...]
    context_before: str
    left_out: int = 0


class _Turn(NamedTuple):
    number: int
    events: list[Event]


def groups_of(
    observed: AnalysisInput, *, after_turn: int = -1, through_turn: int | None = None, is_over: bool = False
) -> list[TurnGroup]:
    """Return groups of a session's turns, each for one question, oldest first. Reads nothing from the archive.

    Turns that share a call do so however the session continues, so that nothing is asked twice: a group that another
    turn may join waits until the session is over (or idle). Omits turns with hardly any words.

    Args:
        after_turn: the last turn that was asked about.
        through_turn: the last turn to ask about, None for all.
        is_over: nothing is added for now: the last turn is finished too, and so is the last group.
    """
    if observed.session.originator == INTERNAL_ORIGINATOR:
        return []
    turns = _turns(observed.events)
    groups: list[TurnGroup] = []
    gathered: list[_Turn] = []
    size = 0
    for turn in turns if is_over else turns[:-1]:
        if through_turn is not None and turn.number > through_turn:
            break
        if turn.number <= after_turn or _said_chars(turn.events) < _LEAST_CHARS:
            continue
        gathered.append(turn)
        size += _said_chars(turn.events) + _CHARS_OF_CALL * sum(isinstance(e.payload, ToolCall) for e in turn.events)
        if size >= FULL_CHARS or len(gathered) >= MAX_TURNS:
            groups.append(_group(observed.session, gathered))
            gathered, size = [], 0
    if is_over and gathered:
        groups.append(_group(observed.session, gathered))
    return groups


def batch_of(observed: AnalysisInput, turns: Collection[int]) -> TurnBatch | None:
    """Return what a model is shown of some turns, None if nothing of them is left. Reads shown parts of long output
    from the archive.
    """
    found = _turns(observed.events)
    wanted = [turn for turn in found if turn.number in turns]
    if not any(_said_chars(turn.events) for turn in wanted):
        return None
    is_subagent = bool(observed.session.parent_session)
    calls = {e.payload.call_id: e.payload for t in wanted for e in t.events if isinstance(e.payload, ToolCall)}
    excerpts: list[Excerpt] = []
    for event in (event for turn in wanted for event in turn.events):
        excerpt = excerpt_of(event, is_subagent=is_subagent, calls=calls, load=observed.load)
        if excerpt is not None:
            excerpts.append(excerpt)
    kept = _fitting(excerpts)
    return TurnBatch(
        session=observed.session,
        group=_group(observed.session, wanted),
        excerpts=tuple(kept),
        context_before=_context(found, wanted[0].number),
        left_out=len(excerpts) - len(kept),
    )


def batches_of(observed: AnalysisInput, *, after_turn: int = -1, is_over: bool = False) -> Iterator[TurnBatch]:
    """Yield `batch_of` for each of `groups_of`."""
    for group in groups_of(observed, after_turn=after_turn, is_over=is_over):
        batch = batch_of(observed, group.turns)
        if batch is not None:
            yield batch


def _turns(events: Iterable[Event]) -> list[_Turn]:
    found: dict[int, list[Event]] = {}
    for event in events:
        if not event.is_undone:
            found.setdefault(event.turn_index, []).append(event)
    return [_Turn(number, found[number]) for number in sorted(found)]


def _group(session: Session, turns: list[_Turn]) -> TurnGroup:
    events = ((e.event_id, e.part) for turn in turns for e in turn.events if isinstance(e.payload, SHOWN))
    return TurnGroup(session.session_uid, tuple(turn.number for turn in turns), tuple(events))


def _said_chars(events: Iterable[Event]) -> int:
    """Return how much a person or the agent says in a turn."""
    return sum(
        len(event.payload.text)
        for event in events
        if isinstance(event.payload, AssistantMessage)
        or (isinstance(event.payload, UserMessage) and event.payload.origin in HUMAN)
    )


def _fitting(found: list[Excerpt]) -> list[Excerpt]:
    """Return the excerpts that fit, in their order: the lower ranks first, of one rank the latest first."""
    room = BATCH_CHARS
    kept: set[int] = set()
    for rank in sorted({excerpt.rank for excerpt in found}):
        for number in reversed(range(len(found))):
            if found[number].rank == rank and len(found[number].text) <= room:
                room -= len(found[number].text)
                kept.add(number)
    return [found[number] for number in sorted(kept)]


def _context(turns: list[_Turn], before: int) -> str:
    """Return the turns before: one line for each request and one for how it ended."""
    lines: list[str] = []
    for turn in [turn for turn in turns if turn.number < before][-CONTEXT_TURNS:]:
        asked = next((_line(e.payload.text) for e in turn.events if isinstance(e.payload, UserMessage)), "")
        said = [e.payload.text for e in turn.events if isinstance(e.payload, AssistantMessage) and e.payload.text]
        if asked:
            lines.append(f"user: {asked}")
        if said:
            lines.append(f"assistant: {_line(said[-1])}")
    return plain(capped("\n".join(lines), CONTEXT_CHARS))


def _line(text: str) -> str:
    return one_line(without_own_blocks(text))
