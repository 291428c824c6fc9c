# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The learnings that hold in a folder, for a context: few rows by index, read without the rest of what was learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import apsw
import msgspec

from recollect.errors import StoreCorrupt
from recollect.model.learnings.learnings import GIVEN_STATES, LearningEvidence
from recollect.store.recent import Folder, GivenLearnings, RecentLearning
from recollect.store.sqlite.connection import REBUILD_HINT

LOOKED_AT = 400
"""The newest learnings of a repository and state; the person's own are as one repository."""
AT_MOST = 2_000
"""As above, where so many are of the last hours."""
LATELY_US = 48 * 3600 * 1_000_000
"""Learnings of so long before the newest one are all looked at. Counted from there and not from now, the block of a
store stays the same while nothing is learned, and a weekend takes nothing away."""
_COLUMNS = "id, kind, scope, repo, path, agent, status, state, confidence, ts, expires_at, json"
_STATES = ", ".join(f"'{state}'" for state in GIVEN_STATES)


class _Told(msgspec.Struct, frozen=True):
    """What of a learning stands in no column of its own."""

    text: str
    priority: str = ""
    valid_from: int | None = None
    valid_to: int | None = None
    recorded_at: int = 0


_told = msgspec.json.Decoder(_Told).decode
_evidence = msgspec.json.Decoder(LearningEvidence).decode


def given_learnings(
    db: apsw.Connection, folder: Folder | None, is_here: Callable[[str], bool], *, now_us: int
) -> GivenLearnings:
    """Return what holds in a folder now.

    A learning of a repository of that name counts unless all the sessions that it rests on are known to have worked
    elsewhere. is_here: tells that of a stored session. Raises StoreCorrupt.
    """
    names = ("", *folder.names) if folder is not None else ("",)
    rows: list[tuple[Any, ...]] = []
    for name in names:
        rows += _actions(db, name)
        for state in GIVEN_STATES:
            rows += _newest(db, name, state)
    found: list[RecentLearning] = []
    edges: list[int] = []
    said = _evidence_of(db, [row[0] for row in rows])
    for row in rows:
        told, evidence = _decode(row[11]), said[row[0]]
        expires_at = row[10] if row[7] == "active" else None  # what a person confirmed waits on
        edges += [edge for edge in (told.valid_from, told.valid_to, expires_at) if edge is not None and edge > now_us]
        holds_from = told.valid_from is None or told.valid_from <= now_us
        if not holds_from or _is_over(told.valid_to, now_us) or _is_over(expires_at, now_us):
            continue
        if row[2] != "user" and not row[3]:
            continue  # of a repository that nobody knows
        if row[3] and evidence and not any(is_here(uid) for uid in dict.fromkeys(e.session_uid for e in evidence)):
            continue
        found.append(_learning(row, told, evidence))
    agents = frozenset(learning.agent for learning in found if learning.agent)
    return GivenLearnings(found, min(edges, default=None), agents)


def _newest(db: apsw.Connection, repo: str, state: str) -> Iterator[tuple[Any, ...]]:
    """Yield the newest of a repository and state but actions: `LOOKED_AT`, or more where they are of the last hours."""
    newest: int | None = None
    rows: Any = db.execute(
        f"SELECT {_COLUMNS} FROM learning WHERE state = ? AND repo = ? AND kind <> 'action' "
        "ORDER BY ts DESC, id DESC LIMIT ?",
        (state, repo, AT_MOST),
    )
    for place, row in enumerate(rows):
        newest = (row[9] or 0) if newest is None else newest
        if place >= LOOKED_AT and (row[9] or 0) < newest - LATELY_US:
            return
        yield row


def _actions(db: apsw.Connection, repo: str) -> list[tuple[Any, ...]]:
    """Return the pending actions of a repository; the worker keeps them few."""
    return db.execute(
        f"SELECT {_COLUMNS} FROM learning WHERE kind = 'action' AND repo = ? AND state IN ({_STATES}) "
        "ORDER BY ts DESC, id LIMIT ?",
        (repo, LOOKED_AT),
    ).fetchall()


def _evidence_of(db: apsw.Connection, ids: Sequence[str]) -> dict[str, list[LearningEvidence]]:
    """Return the evidence of learnings that was not revoked, of each oldest first."""
    found: dict[str, list[LearningEvidence]] = {id_: [] for id_ in ids}
    if not ids:
        return found
    rows: Any = db.execute(
        "SELECT learning, json FROM learning_evidence WHERE learning IN (SELECT value FROM carray(?)) "
        "AND NOT is_revoked",
        (apsw.carray(tuple(ids)),),
    )
    try:
        for id_, text in rows:
            found[id_].append(_evidence(text))
    except ValueError as error:
        raise StoreCorrupt(f"the evidence of a learning is damaged: {error}", hint=REBUILD_HINT) from error
    for evidence in found.values():
        evidence.sort(key=lambda e: (e.ts or 0, e.session_uid, e.seq))
    return found


def _decode(text: str) -> _Told:
    try:
        return _told(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored learning is damaged: {error}", hint=REBUILD_HINT) from error


def _is_over(end: int | None, now_us: int) -> bool:
    return end is not None and end <= now_us


def _learning(row: tuple[Any, ...], told: _Told, evidence: Sequence[LearningEvidence]) -> RecentLearning:
    id_, kind, scope, repo, path, agent, status, state, confidence, ts, _expires_at, _json = row
    newest = evidence[-1] if evidence else None
    said = [e.ts for e in evidence if e.ts is not None]
    return RecentLearning(
        id_, kind, told.text, scope, repo, path, agent, status, state, confidence, ts or told.recorded_at,
        min(said, default=told.recorded_at), told.priority, frozenset(e.author for e in evidence),
        f"{newest.session_uid}#{newest.seq}" if newest is not None else "",
    )  # fmt: skip
