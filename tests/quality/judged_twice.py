"""Turns of real transcripts that two people judged apart, and turns written as people talk: `labels/judged.ndjson` and
`labels/natural.ndjson`, described in `labels/README.md`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from tests.quality.judged import Language
from tests.quality.labelled import Polarity, Split

JUDGED = Path(__file__).with_name("labels") / "judged.ndjson"
NATURAL = JUDGED.with_name("natural.ndjson")


class EditOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An edit that carries a decision out."""

    event_id: str
    part: int
    path: str


class JudgedDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was decided: the deciding words, and the options in words of the turn or of what it answers."""

    quote: str
    polarity: Polarity
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    edits: tuple[EditOf, ...] = ()


class JudgedLearning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is worth keeping for later sessions, in words of the turn."""

    kind: Literal["preference", "correction", "fact"]
    quote: str


class Judgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one judge found in a turn. none: why it decides nothing, "" where it does."""

    decisions: tuple[JudgedDecision, ...]
    learnings: tuple[JudgedLearning, ...]
    actions: tuple[str, ...]
    none: str


class TwiceJudgedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of a transcript below the shared corpus. quote: how it begins, at most 100 characters."""

    id: str
    file: str
    record: int
    part: int
    sha256: str
    session_uid: str
    speaker: Literal["human", "assistant"]
    quote: str
    judges: tuple[Judgement, Judgement]
    split: Split


class NaturalTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One written message. before: what the other side said, "" where it answers nothing."""

    id: str
    language: Language
    speaker: Literal["human", "assistant"]
    before: str
    text: str
    decisions: tuple[JudgedDecision, ...]
    learnings: tuple[JudgedLearning, ...]
    actions: tuple[str, ...]
    none: str
    split: Split


def read_judged(path: Path = JUDGED) -> list[TwiceJudgedTurn]:
    """Return all turns of the file, in its order. Raises msgspec.ValidationError."""
    return [msgspec.json.decode(line, type=TwiceJudgedTurn) for line in path.read_bytes().splitlines()]


def read_natural(path: Path = NATURAL) -> list[NaturalTurn]:
    """Return all turns of the file, in its order. Raises msgspec.ValidationError."""
    return [msgspec.json.decode(line, type=NaturalTurn) for line in path.read_bytes().splitlines()]
