# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The decisions that hold in a folder, for a context: few rows, read without the rest of what was distilled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import apsw
import msgspec
import zstandard

from recollect.errors import StoreCorrupt
from recollect.model.insights.nodes import NODE_KINDS, Decision
from recollect.store.recent import Folder, RecentDecision
from recollect.store.sqlite.connection import REBUILD_HINT
from recollect.store.sqlite.insights.taken_back import taken_back, taken_back_at

LOOKED_AT = 400
"""The newest decisions of repositories of that name, from which those of the folder are taken."""
_OUTDONE = (
    "EXISTS (SELECT 1 FROM link WHERE link.older = {id} AND link.revoked_at IS NULL "
    "AND link.relation IN ('supersedes', 'reverses'))"
)


def held_decisions(
    db: apsw.Connection, folder: Folder, uids: Sequence[str], is_here: Callable[[str], bool]
) -> list[RecentDecision]:
    """Return the decisions that hold, the newest first, each once; none that a person took back.

    uids: sessions that worked in the folder. is_here: tells by its uid whether another one did. Raises StoreCorrupt.
    """
    marks = ", ".join("?" * len(folder.names)) or "NULL"
    of_uids = ", ".join("?" * len(uids)) or "NULL"
    rows: list[Any] = db.execute(
        "SELECT node.data, analysis.root_uid, node.ts FROM analysis JOIN node ON node.analysis = analysis.number "
        f"WHERE (analysis.repo IN ({marks}) OR analysis.session_uid IN ({of_uids})) "
        "AND node.kind = ? AND node.revoked_at IS NULL "
        f"AND NOT {_OUTDONE.format(id='node.id')} ORDER BY node.ts DESC, node.id LIMIT ?",
        (*folder.names, *uids, NODE_KINDS.index("decision"), LOOKED_AT),
    ).fetchall()
    added: list[Any] = db.execute(
        f"SELECT json, session_uid, added_at FROM added_decision WHERE repo IN ({marks}) AND revoked_at IS NULL "
        f"AND NOT {_OUTDONE.format(id='id')} ORDER BY added_at DESC LIMIT ?",
        (*folder.names, LOOKED_AT),
    ).fetchall()
    found: dict[object, RecentDecision] = {}
    unsaid = taken_back(db)
    here: dict[str, bool] = {"": True, **dict.fromkeys(uids, True)}
    for data, root, ts in sorted([*rows, *added], key=lambda row: -(row[2] or 0)):
        if root not in here:
            here[root] = is_here(root)
        decision = _decision(data) if here[root] else None
        if decision is not None and not decision.is_undone and taken_back_at(decision, unsaid) is None:
            told = _told(decision, ts)
            known = tuple((e.event_id, e.part, e.start) for e in decision.evidence) or decision.id
            found.setdefault((known, told.statement), told)
    return list(found.values())


def _decision(data: bytes | str) -> Decision:
    try:
        text = zstandard.ZstdDecompressor().decompress(data) if isinstance(data, bytes) else data
        return msgspec.json.decode(text, type=Decision)
    except (zstandard.ZstdError, ValueError) as error:
        raise StoreCorrupt(f"a stored decision is damaged: {error}", hint=REBUILD_HINT) from error


def _told(decision: Decision, ts: int | None) -> RecentDecision:
    first = decision.evidence[0] if decision.evidence else None
    citation = f"{first.session_uid}#{first.seq}" if first is not None else decision.session_uid
    return RecentDecision(
        decision.statement, decision.polarity, decision.speaker, decision.chosen, decision.rejected,
        decision.rationale, decision.paths, citation, ts, decision.confidence,
        decision.status,
    )  # fmt: skip
