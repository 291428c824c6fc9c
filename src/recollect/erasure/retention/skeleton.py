"""What stays of an evicted session: the events that its digest and nodes cite, as whole texts of bounded size."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from recollect.insights.provenance import evidence_of
from recollect.model.payloads import AssistantMessage, Payload, ToolResult, UserMessage
from recollect.model.time import day_of
from recollect.store.bodies import capped_body
from recollect.store.erasure.eviction import EvictionWriter
from recollect.store.insights import InsightReader, NodeFilter
from recollect.store.reader import Reader

SAID_CHARS = 8192
"""How much of what a person or the model said is kept; a conversation's own text stays whole in its node."""
DONE_CHARS = 1024
"""How much is kept of each text of a call, a result, an edit or anything else."""


def skeleton_of(
    uid: str, evicting: EvictionWriter, reader: Reader, distilled: InsightReader, *, at: int
) -> dict[int, bytes]:
    """Return the bodies to keep of a session, by seq: what nodes rest on, the first prompt, the last words.

    Reads each of these events whole, from the archive where it lies there. at: when the rest goes, UTC microseconds.
    """
    cited = (
        (evidence.event_id, evidence.part)
        for kept in distilled.nodes(NodeFilter(sessions=(uid,), with_revoked=True))
        for evidence in evidence_of(kept.node)
        if evidence.session_uid == uid
    )
    return _bodies(uid, evicting.cited(uid, cited) | evicting.ends(uid), reader, at)


def shortened(uid: str, seqs: Iterable[int], reader: Reader, *, at: int) -> dict[int, bytes]:
    """Return the bodies of events whose records go while their session stays: what is said whole, results cut."""
    return _bodies(uid, seqs, reader, at, said_chars=None)


def _bodies(
    uid: str, seqs: Iterable[int], reader: Reader, at: int, *, said_chars: int | None = SAID_CHARS
) -> dict[int, bytes]:
    note = f"not kept: evicted on {day_of(at)}"
    found: dict[int, bytes] = {}
    for seq in sorted(seqs):
        for event in reader.events(uid, first_seq=seq, limit=1, include_hidden=True):
            if event.seq == seq:
                limit = said_chars if isinstance(event.payload, UserMessage | AssistantMessage) else DONE_CHARS
                found[seq] = capped_body(_without_copies(event.payload), max_chars=limit, note=note)
    return found


def _without_copies(payload: Payload) -> Payload:
    """A result's structured output mostly says its text again."""
    if not isinstance(payload, ToolResult) or payload.structured is None or not payload.text:
        return payload
    return msgspec.structs.replace(payload, structured=None)
