# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The writer's side of the session table: find or create, merge patches, keep roots right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import apsw
import msgspec

from recollect.errors import BrokenInvariant
from recollect.model.ids import session_uid
from recollect.model.payloads import KINDS
from recollect.model.time import month_of
from recollect.store.ports import SEQ_BITS, SessionPart
from recollect.store.sqlite.event_ids import pack_text
from recollect.store.sqlite.session_facts import (
    SessionFacts,
    decode_counts,
    decode_facts,
    domain_of,
    encode_counts,
    encode_facts,
    repo_of,
)

UNDATED = "undated"

_COLUMNS = (
    "number, shard, next_seq, next_block, root_uid, parent_uid, git_branch, started_at, ended_at, event_count, "
    "turn_count, kind_counts, facts"
)


class SessionRow(msgspec.Struct):
    """A session while a slice is written to it."""

    number: int
    uid: str
    agent: str
    shard: str
    next_seq: int
    next_block: int
    root_uid: str
    parent_uid: str
    git_branch: str
    started_at: int | None
    ended_at: int | None
    event_count: int
    turn_count: int
    kind_counts: dict[str, int]
    facts: SessionFacts
    is_new: bool

    def count(self, kind: int, by: int) -> None:
        """Count a visible event more or less."""
        name = KINDS[kind]
        self.event_count += by
        left = self.kind_counts.get(name, 0) + by
        if left > 0:
            self.kind_counts[name] = left
        else:
            self.kind_counts.pop(name, None)


def load_session(db: apsw.Connection, agent: str, part: SessionPart, observed_at: int) -> SessionRow:
    """Return the row of a part's session, made where it is new.

    Its shard is the UTC month of its first event with a time at first sight, and never changes.
    """
    uid = session_uid(agent, part.native_id)
    found: Any = db.execute(f"SELECT {_COLUMNS} FROM session WHERE uid = ?", (uid,)).fetchone()
    if found is not None:
        number, shard, *middle, counts, facts = found
        if middle[0] + len(part.events) >= 1 << SEQ_BITS:
            raise BrokenInvariant(f"a session has fewer than {1 << SEQ_BITS} events ({uid})")
        return SessionRow(*(number, uid, agent, shard, *middle, decode_counts(counts), decode_facts(facts), False))
    first = next((event.ts for event in part.events if event.ts is not None), part.patch.started_at)
    shard = month_of(first) if first is not None else UNDATED
    db.execute(
        "INSERT INTO session (uid, agent, native_id, shard, root_uid, facts, discovered_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (uid, agent, pack_text(part.native_id), shard, uid, encode_facts(SessionFacts()), observed_at),
    )
    row = SessionRow(
        db.last_insert_rowid(), uid, agent, shard, 0, 0, uid, "", "", None, None, 0, 0, {}, SessionFacts(), is_new=True
    )
    _place_in_tree(db, row)
    return row


def save_session(
    db: apsw.Connection, row: SessionRow, part: SessionPart, *, domains: Mapping[str, str], observed_at: int
) -> None:
    """Merge a part's patch into its session and store the row."""
    patch = part.patch
    row.facts.take(patch)
    row.git_branch = patch.git_branch or row.git_branch
    if patch.started_at is not None and (row.started_at is None or patch.started_at < row.started_at):
        row.started_at = patch.started_at
    if patch.ended_at is not None and (row.ended_at is None or patch.ended_at > row.ended_at):
        row.ended_at = patch.ended_at
    parent = session_uid(row.agent, row.facts.parent_session) if row.facts.parent_session else ""
    if parent not in (row.parent_uid, row.uid):
        row.parent_uid = parent
        db.execute("UPDATE session SET parent_uid = ? WHERE number = ?", (parent, row.number))
        _place_in_tree(db, row)
    repo = repo_of(row.facts)
    db.execute(
        "UPDATE session SET next_seq = ?, next_block = ?, repo = ?, domain = ?, git_branch = ?, started_at = ?, "
        "ended_at = ?, event_count = ?, turn_count = ?, kind_counts = ?, facts = ?, ingested_at = ? WHERE number = ?",
        (
            row.next_seq,
            row.next_block,
            repo,
            domain_of(repo, domains),
            row.git_branch,
            row.started_at,
            row.ended_at,
            row.event_count,
            row.turn_count,
            encode_counts(row.kind_counts),
            encode_facts(row.facts),
            observed_at,
            row.number,
        ),
    )


def save_counts(db: apsw.Connection, row: SessionRow) -> None:
    """Store what a repeated slice or a hidden event can change: counts and numbers only."""
    db.execute(
        "UPDATE session SET next_seq = ?, next_block = ?, event_count = ?, turn_count = ?, kind_counts = ? "
        "WHERE number = ?",
        (
            row.next_seq,
            row.next_block,
            row.event_count,
            row.turn_count,
            encode_counts(row.kind_counts),
            row.number,
        ),
    )


def _place_in_tree(db: apsw.Connection, row: SessionRow) -> None:
    """Set the root of a session and of all below it.

    `root_uid` is the topmost uid that the parent links lead to, stored or not, so that children group before their
    parent arrives. Links in a circle have the least uid of the circle as root.
    """
    way = [row.uid]
    parent = row.parent_uid
    while parent and parent not in way:
        way.append(parent)
        found = db.execute("SELECT parent_uid FROM session WHERE uid = ?", (parent,)).fetchone()
        parent = found[0] if found else ""
    row.root_uid = min(way[way.index(parent) :]) if parent else way[-1]
    db.execute("UPDATE session SET root_uid = ? WHERE root_uid = ? OR number = ?", (row.root_uid, row.uid, row.number))
