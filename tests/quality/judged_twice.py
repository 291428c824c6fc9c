"""Turns of real transcripts that one or two people judged, each alone, and turns written as people talk.

`labels/judged.ndjson`, `labels/natural.ndjson` and their later parts, described in `labels/README.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from tests.quality.judged import Language
from tests.quality.labelled import Polarity, Split

LABELS = Path(__file__).with_name("labels")
JUDGED = (LABELS / "judged.ndjson", LABELS / "judged-2.ndjson", LABELS / "judged-3.ndjson")
NATURAL = (LABELS / "natural.ndjson", LABELS / "natural-2.ndjson")


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


class JudgedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of a transcript below the shared corpus. quote: how it begins, at most 100 characters.

    judges: two; one, for a turn of `judged-2.ndjson` that weights may be learned from.
    """

    id: str
    file: str
    record: int
    part: int
    sha256: str
    session_uid: str
    speaker: Literal["human", "assistant"]
    quote: str
    judges: tuple[Judgement, ...]
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


def read_judged(paths: Sequence[Path] = JUDGED) -> list[JudgedTurn]:
    """Return all turns of the files, in their order. Raises msgspec.ValidationError."""
    return [msgspec.json.decode(line, type=JudgedTurn) for path in paths for line in path.read_bytes().splitlines()]


def read_natural(paths: Sequence[Path] = NATURAL) -> list[NaturalTurn]:
    """Return all turns of the files, in their order. Raises msgspec.ValidationError."""
    return [msgspec.json.decode(line, type=NaturalTurn) for path in paths for line in path.read_bytes().splitlines()]
