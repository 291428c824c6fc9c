"""Turns of real transcripts that were judged by hand: `labels/decisions.ndjson`, described in `labels/README.md`."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import msgspec

from recollect.model.events import Event
from recollect.model.payloads import AssistantMessage, UserMessage

FILE = Path(__file__).with_name("labels") / "decisions.ndjson"
LONGEST_QUOTE = 100
LONGEST_DECIDING_QUOTE = 160

Split = Literal["dev", "test"]
Polarity = Literal["adopt", "reject", "ban", "reverse", "prefer"]
PositiveClass = Literal[
    "human_rule", "human_choice", "human_preference", "confirmation", "assistant_choice", "assistant_rejection",
    "reversal",
]  # fmt: skip
NegativeClass = Literal[
    "task_request", "question", "hypothetical", "report", "narration", "progress", "quoted", "options_only",
    "code_or_log", "other_negative",
]  # fmt: skip


class Proposal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The message of the same session that a confirmation answers."""

    record: int
    part: int
    quote: str


class LabelledDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was decided: options in the words of the message, or of the proposal that it answers."""

    polarity: Polarity
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    quote: str
    answers: Proposal | None = None


class LabelledTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kind": "class"}):
    """One judged message. `record` and `part` may be shared by many in one session, `quote` tells them apart."""

    id: str
    file: str
    record: int
    part: int
    sha256: str
    session_uid: str
    language: str
    speaker: Literal["human", "assistant"]
    quote: str
    is_decision: bool
    decisions: tuple[LabelledDecision, ...]
    kind: PositiveClass | NegativeClass
    found_by: Literal["reading", "cue", "random"]
    tricky: bool
    split: Split


def read_turns(path: Path = FILE) -> list[LabelledTurn]:
    """Return all labels of a file, in its order. Raises msgspec.ValidationError."""
    decode = msgspec.json.Decoder(LabelledTurn, strict=True).decode
    return [decode(line) for line in path.read_bytes().splitlines()]


def split_of(session_uid: str) -> Split:
    """Return the half that a session belongs to: whole sessions, so that no half has seen the other."""
    return "dev" if hashlib.sha256(session_uid.encode()).hexdigest()[0] < "8" else "test"


def said_by(turn: LabelledTurn, events: Iterable[Event]) -> str | None:
    """Return the whole text of the judged message among the events of its file, or None."""
    kind = UserMessage if turn.speaker == "human" else AssistantMessage
    return _text(events, kind, turn.session_uid, Proposal(turn.record, turn.part, turn.quote))


def answered_by(turn: LabelledTurn, proposal: Proposal, events: Iterable[Event]) -> str | None:
    """Return the whole text of the assistant's message that the turn answers, or None."""
    return _text(events, AssistantMessage, turn.session_uid, proposal)


def _text(
    events: Iterable[Event], kind: type[UserMessage | AssistantMessage], session_uid: str, at: Proposal
) -> str | None:
    for event in events:
        is_there = (event.session_uid, event.location.record_index, event.part) == (session_uid, at.record, at.part)
        if is_there and isinstance(event.payload, kind) and at.quote in event.payload.text:
            return event.payload.text
    return None


def counted(turns: Iterable[LabelledTurn], key: Callable[[LabelledTurn], str], name: str) -> str:
    """Return a Markdown table: for each value of `key` the labels, the decisions among them, and both per half."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for turn in turns:
        for row in (rows[key(turn)], rows["all"]):
            row.update(("labels", turn.split))
            if turn.is_decision:
                row.update(("decisions", f"{turn.split} decisions"))
    columns = ("labels", "decisions", "dev", "dev decisions", "test", "test decisions")
    lines = [f"| {name} | {' | '.join(columns)} |", "|---" + "|---:" * len(columns) + "|"]
    values = (*sorted(rows.keys() - {"all"}), "all")
    lines += [f"| {value} | {' | '.join(str(rows[value][column]) for column in columns)} |" for value in values]
    return "\n".join(lines) + "\n"


COUNTED: dict[str, Callable[[LabelledTurn], str]] = {
    "class": lambda turn: turn.kind,
    "speaker": lambda turn: turn.speaker,
    "language": lambda turn: turn.language,
    "agent": lambda turn: turn.file.split("/")[0],
    "found by": lambda turn: turn.found_by,
    "tricky": lambda turn: "yes" if turn.tricky else "no",
}
"""The tables of `labels/README.md`."""
