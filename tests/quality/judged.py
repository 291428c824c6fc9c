"""Turns written for the purpose, and how sessions ended: `labels/written.ndjson` and `labels/outcomes.ndjson`.

Both are described in `labels/outcomes.md`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from tests.quality.labelled import NegativeClass, Polarity, PositiveClass, Split

WRITTEN = Path(__file__).with_name("labels") / "written.ndjson"
FRESH = WRITTEN.with_name("fresh.ndjson")
"""Written later, by one who knew neither the rules nor what they find."""
LATER = WRITTEN.with_name("later.ndjson")
"""Written later still, each half by another such writer."""
GERMAN = WRITTEN.with_name("german.ndjson")
"""Written last, in three parts by three such writers: German alone."""
OUTCOMES = Path(__file__).with_name("labels") / "outcomes.ndjson"
LONGEST_REASON = 160

Language = Literal["de", "es", "fr", "pt", "zh", "ja", "ru", "en"]


class WrittenDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was decided: options and the reason ("" where none is given) in words of the turn or of what it answers."""

    polarity: Polarity
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    rationale: str


class WrittenTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kind": "class"}):
    """One written message. before: the assistant's message that it answers, "" where it stands alone."""

    id: str
    language: Language
    speaker: Literal["human", "assistant"]
    text: str
    is_decision: bool
    decisions: tuple[WrittenDecision, ...]
    kind: PositiveClass | NegativeClass
    tricky: bool
    split: Split
    before: str = ""


class JudgedOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a session of the shared corpus ended. file: relative to the corpus."""

    id: str
    file: str
    session_uid: str
    outcome: Literal["success", "fail", "abandoned", "unknown"]
    reason: str
    split: Split


def read_written(path: Path = WRITTEN) -> list[WrittenTurn]:
    """Return all written turns, in the order of the file. Raises msgspec.ValidationError."""
    decode = msgspec.json.Decoder(WrittenTurn, strict=True).decode
    return [decode(line) for line in path.read_bytes().splitlines()]


def read_outcomes(path: Path = OUTCOMES) -> list[JudgedOutcome]:
    """Return all judged sessions, in the order of the file. Raises msgspec.ValidationError."""
    decode = msgspec.json.Decoder(JudgedOutcome, strict=True).decode
    return [decode(line) for line in path.read_bytes().splitlines()]
