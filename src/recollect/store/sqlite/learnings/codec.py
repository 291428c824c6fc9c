"""How learnings lie in their rows: as JSON, the evidence apart, so that an event's end takes its evidence along."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import msgspec

from recollect.errors import StoreCorrupt
from recollect.model.learnings.learnings import Learning, LearningEvidence
from recollect.store.learnings import Verdict
from recollect.store.sqlite.connection import REBUILD_HINT

_learning = msgspec.json.Decoder(Learning)
_evidence = msgspec.json.Decoder(LearningEvidence)
_verdict = msgspec.json.Decoder(Verdict)
_encode = msgspec.json.Encoder().encode


def encode(value: Learning | LearningEvidence | Verdict) -> str:
    """Return the JSON of a row."""
    return _encode(value).decode()


def decode_learning(text: str) -> Learning:
    """Return a learning. Raises StoreCorrupt."""
    try:
        return _learning.decode(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored learning is damaged: {error}", hint=REBUILD_HINT) from error


def decode_verdict(text: str) -> Verdict:
    """Return a verdict. Raises StoreCorrupt."""
    try:
        return _verdict.decode(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored verdict is damaged: {error}", hint=REBUILD_HINT) from error


def evidence_of(db: apsw.Connection, learning_id: str, *, is_revoked: bool = False) -> tuple[LearningEvidence, ...]:
    """Return the evidence of a learning in order of time, session and seq. Raises StoreCorrupt."""
    rows: Iterable[Any] = db.execute(
        "SELECT json FROM learning_evidence WHERE learning = ? AND is_revoked = ?", (learning_id, is_revoked)
    )
    try:
        found = [_evidence.decode(text) for (text,) in rows]
    except ValueError as error:
        raise StoreCorrupt(f"stored evidence is damaged: {error}", hint=REBUILD_HINT) from error
    return tuple(sorted(found, key=place_of))


def place_of(evidence: LearningEvidence) -> tuple[int, str, int, int, str]:
    """Return by what evidence is put in order; what has no time stands last."""
    ts = evidence.ts if evidence.ts is not None else 1 << 62
    return ts, evidence.session_uid, evidence.seq, evidence.part, evidence.event_id
