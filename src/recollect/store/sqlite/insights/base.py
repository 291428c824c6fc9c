# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""What an evicted session came to, up to where its events are gone: later analyses add to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import msgspec

from recollect.model.insights.digests import Digest
from recollect.model.insights.nodes import Binding, Episode, Node
from recollect.model.insights.signals import Signal
from recollect.store.insights import Base
from recollect.store.keys import SEQ_BITS
from recollect.store.sqlite.bits import UNDONE
from recollect.store.sqlite.insights.codec import unpack_node, unpack_signals

_decode_digest = msgspec.json.Decoder(Digest).decode


def read_base(db: apsw.Connection, uid: str) -> Base | None:
    """Return what a session came to before its events went, None for one that has all of them."""
    found: Any = db.execute(
        "SELECT through_seq, coalesce(eviction.digest, json) FROM eviction "
        "LEFT JOIN analysis USING (session_uid) LEFT JOIN digest ON digest.analysis = analysis.number "
        "WHERE session_uid = ?",
        (uid,),
    ).fetchone()
    if found is None:
        return None
    through, digest = found
    undone = _undone_before(db, uid, through)
    nodes: dict[str, Node] = {}
    recorded_at: dict[str, int] = {}
    rows: Iterable[Any] = db.execute(
        "SELECT data, node.recorded_at FROM node JOIN analysis ON analysis.number = node.analysis "
        "WHERE session_uid = ? AND origin = 0 AND revoked_at IS NULL ORDER BY place",
        (uid,),
    )
    for data, seen_at in rows:
        node = unpack_node(data)
        if _is_before(node, uid, through):
            nodes[node.id], recorded_at[node.id] = _as_it_stands(node, uid, undone), seen_at
    packed: Iterable[Any] = db.execute(
        "SELECT data FROM signal JOIN analysis ON analysis.number = signal.analysis WHERE session_uid = ? "
        "ORDER BY kind",
        (uid,),
    )
    signals = [
        s
        for (data,) in packed
        for s in unpack_signals(data)
        if _is_before(s, uid, through) and undone.isdisjoint(e.seq for e in s.evidence if e.session_uid == uid)
    ]
    return Base(through, _decode_digest(digest) if digest else None, signals, list(nodes.values()), recorded_at)


def keep_base(db: apsw.Connection, uid: str) -> None:
    """Before the digest of an evicted session changes or goes: keep what it came to. Inside a transaction."""
    db.execute(
        "UPDATE eviction SET digest = coalesce((SELECT json FROM digests WHERE session_uid = ?1), '') "
        "WHERE session_uid = ?1 AND digest IS NULL",
        (uid,),
    )


def _undone_before(db: apsw.Connection, uid: str, through: int) -> set[int]:
    """Return the seqs of events that rewinds left behind, those too that were evicted since."""
    rows: Iterable[Any] = db.execute(
        f"SELECT key & {(1 << SEQ_BITS) - 1} FROM session JOIN event ON key BETWEEN number << {SEQ_BITS} "
        f"AND (number << {SEQ_BITS}) + ? WHERE uid = ? AND bits & {UNDONE}",
        (through, uid),
    )
    return {seq for (seq,) in rows}


def _as_it_stands(node: Node, uid: str, undone: set[int]) -> Node:
    """Return a node marked where what it rests on was undone since: of a decision the deciding words, its last."""
    if node.is_undone or isinstance(node, Binding):
        return node
    said = [evidence.seq for evidence in node.evidence if evidence.session_uid == uid]
    decides = said[:1] if isinstance(node, Episode) else said[-1:]
    return node if undone.isdisjoint(decides) else msgspec.structs.replace(node, is_undone=True)


def _is_before(item: Node | Signal, uid: str, through: int) -> bool:
    return all(evidence.seq < through for evidence in item.evidence if evidence.session_uid == uid)
