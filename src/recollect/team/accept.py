"""Accepts a machine's batches: each in one transaction, and once."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

import msgspec
import psycopg
import zstandard

from recollect.errors import TeamRefused
from recollect.model.team_messages import (
    LEVELS,
    MAX_BATCH_BYTES,
    MAX_UNPACKED_BYTES,
    Batch,
    EventSpan,
    HeldSession,
    Level,
    SharedSession,
    Standing,
    Taken,
)
from recollect.team.database import Asker, Connection, TeamDatabase
from recollect.units import size

_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
"""In JSON. PostgreSQL keeps no such character; a local search sees a replacement character there as well."""
_DECODER = msgspec.json.Decoder(Batch)

LOCK_MACHINE = (
    "SELECT batch_number, derivation_id, position FROM recollect.machine "
    "WHERE team_id = recollect.present_team() AND machine_id = recollect.present_machine()"
)
HELD = (
    "SELECT session_uid, level, stamp, is_whole FROM recollect.session "
    "WHERE team_id = recollect.present_team() AND machine_id = recollect.present_machine() ORDER BY session_uid"
)
SHARES = (
    "SELECT repo, level FROM recollect.share "
    "WHERE team_id = recollect.present_team() AND machine_id = recollect.present_machine()"
)
LEARNINGS = (
    "SELECT learning_id, stamp FROM recollect.learning "
    "WHERE team_id = recollect.present_team() AND machine_id = recollect.present_machine()"
)
KEPT_BETWEEN = "SELECT recollect.kept_between(t.retention_days) FROM recollect.team t WHERE t.team_id = %s"
RESTART = (
    "UPDATE recollect.session SET is_whole = false "
    "WHERE team_id = recollect.present_team() AND machine_id = recollect.present_machine()"
)
DROP_SHARES = (
    "DELETE FROM recollect.share WHERE team_id = recollect.present_team() AND machine_id = recollect.present_machine()"
)
ADD_SHARE = (
    "INSERT INTO recollect.share (team_id, machine_id, repo, level) "
    "VALUES (recollect.present_team(), recollect.present_machine(), %s, %s) "
    "ON CONFLICT (team_id, machine_id, repo_key) DO NOTHING"
)
WITHDRAW = (
    "DELETE FROM recollect.session WHERE team_id = recollect.present_team() "
    "AND machine_id = recollect.present_machine() AND session_uid = ANY(%s)"
)
WITHDRAW_ALL = (
    "DELETE FROM recollect.session WHERE team_id = recollect.present_team() "
    "AND machine_id = recollect.present_machine()"
)
RETIRE_ALL = (
    "DELETE FROM recollect.learning WHERE team_id = recollect.present_team() "
    "AND machine_id = recollect.present_machine()"
)
RETIRE = f"{RETIRE_ALL} AND learning_id = ANY(%s)"
PUT_LEARNING = (
    "INSERT INTO recollect.learning AS l (team_id, machine_id, member_id, learning_id, stamp, repo, kind, body) "
    "VALUES (recollect.present_team(), recollect.present_machine(), recollect.present_member(), %s, %s, %s, %s, "
    "%s::jsonb) ON CONFLICT (team_id, machine_id, learning_id) DO UPDATE SET stamp = excluded.stamp, "
    "repo = excluded.repo, kind = excluded.kind, body = excluded.body"
)
PUT_SESSION = (
    "INSERT INTO recollect.session AS s (team_id, machine_id, member_id, session_uid, level, is_whole, stamp, agent, "
    "repo, outcome, started_at, ended_at, event_count, turn_count, title, branch) "
    "VALUES (recollect.present_team(), recollect.present_machine(), recollect.present_member(), "
    "%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (team_id, machine_id, session_uid) DO UPDATE SET level = excluded.level, "
    "is_whole = excluded.is_whole, stamp = excluded.stamp, agent = excluded.agent, repo = excluded.repo, "
    "outcome = excluded.outcome, started_at = excluded.started_at, ended_at = excluded.ended_at, "
    "event_count = excluded.event_count, turn_count = excluded.turn_count, title = excluded.title, "
    "branch = excluded.branch RETURNING session_id"
)
DROP_PARTS = tuple(
    f"DELETE FROM recollect.{table} WHERE team_id = recollect.present_team() AND session_id = %s"  # noqa: S608  four names
    for table in ("usage", "digest", "decision", "decision_link")
)
DROP_EVENTS = "DELETE FROM recollect.event WHERE team_id = recollect.present_team() AND session_id = %s"
PUT_USAGE = (
    "INSERT INTO recollect.usage (team_id, session_id, member_id, model, input_tokens, output_tokens, cache_tokens, "
    "responses, cost_usd, cache_write_5m_tokens, cache_write_1h_tokens, reasoning_tokens) "
    "VALUES (recollect.present_team(), %s, recollect.present_member(), %s, %s, %s, %s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (team_id, session_id, model) DO NOTHING"
)
PUT_DIGEST = (
    "INSERT INTO recollect.digest (team_id, session_id, member_id, body) "
    "VALUES (recollect.present_team(), %s, recollect.present_member(), %s::jsonb)"
)
PUT_DECISION = (
    "INSERT INTO recollect.decision (team_id, session_id, node_id, member_id, body) "
    "VALUES (recollect.present_team(), %s, %s, recollect.present_member(), %s::jsonb) "
    "ON CONFLICT (team_id, session_id, node_id) DO NOTHING"
)
PUT_LINK = (
    "INSERT INTO recollect.decision_link (team_id, session_id, newer, older, member_id, body) "
    "VALUES (recollect.present_team(), %s, %s, %s, recollect.present_member(), %s::jsonb) "
    "ON CONFLICT (team_id, session_id, newer, older) DO NOTHING"
)
FIND_SESSION = (
    "SELECT session_id, month FROM recollect.session WHERE team_id = recollect.present_team() "
    "AND machine_id = recollect.present_machine() AND session_uid = %s AND level = 'full'"
)
DROP_SPAN = (
    "DELETE FROM recollect.event WHERE team_id = recollect.present_team() AND session_id = %s AND seq BETWEEN %s AND %s"
)
PUT_EVENTS = (
    "INSERT INTO recollect.event (team_id, month, session_id, machine_id, member_id, event_id, part, seq, kind, role, "
    "ts, turn_index, tool, summary, said, paths, is_undone) "
    "SELECT recollect.present_team(), %s, %s, recollect.present_machine(), recollect.present_member(), n.* "
    "FROM unnest(%s::text[], %s::int[], %s::int[], %s::text[], %s::text[], %s::bigint[], %s::int[], %s::text[], "
    "%s::text[], %s::text[], %s::text[], %s::bool[]) n "
    "ON CONFLICT (team_id, month, session_id, event_id, part) DO UPDATE SET seq = excluded.seq, kind = excluded.kind, "
    "role = excluded.role, ts = excluded.ts, turn_index = excluded.turn_index, tool = excluded.tool, "
    "summary = excluded.summary, said = excluded.said, paths = excluded.paths, is_undone = excluded.is_undone"
)
PUT_MODEL = (
    "INSERT INTO recollect.model (team_id, model) VALUES (recollect.present_team(), %s) "
    "ON CONFLICT (team_id, model) DO NOTHING"
)
DROP_PASSAGES = (
    "DELETE FROM recollect.passage p USING unnest(%s::text[], %s::int[]) n (event_id, part) "
    "WHERE p.team_id = recollect.present_team() AND p.month = %s AND p.session_id = %s "
    "AND p.event_id = n.event_id AND p.part = n.part"
)
PUT_PASSAGES = (
    "INSERT INTO recollect.passage (team_id, month, session_id, machine_id, member_id, model, event_id, part, piece, "
    "embedding) SELECT recollect.present_team(), %s, %s, recollect.present_machine(), recollect.present_member(), %s, "
    "n.event_id, n.part, n.piece, n.embedding::halfvec "
    "FROM unnest(%s::text[], %s::int[], %s::int[], %s::text[]) n (event_id, part, piece, embedding)"
)
EVENT_COLUMNS = (
    "event_id", "part", "seq", "kind", "role", "ts", "turn_index", "tool", "summary", "said", "paths", "is_undone",
)  # fmt: skip
ADVANCE = (
    "UPDATE recollect.machine SET batch_number = %s, derivation_id = %s, position = coalesce(%s, position) "
    "WHERE team_id = recollect.present_team() AND machine_id = recollect.present_machine()"
)


class _Progress(NamedTuple):
    number: int
    derivation_id: str
    position: int | None


PutEvents = Callable[[Connection, tuple[int, date], list[tuple[object, ...]]], None]
"""Writes events of a session (its number, the month of its partition): rows of EVENT_COLUMNS."""


def insert_events(db: Connection, session: tuple[int, date], rows: list[tuple[object, ...]]) -> None:
    """Write events; one that exists already is replaced."""
    columns = (list(column) for column in zip(*rows, strict=True))
    db.execute(PUT_EVENTS, (session[1], session[0], *columns))


def unpacked(body: bytes) -> Batch:
    """Return the batch in a request's body. Raises TeamRefused for one that is too large or not a batch."""
    if len(body) > MAX_BATCH_BYTES:
        raise TeamRefused(f"a batch has at most {size(MAX_BATCH_BYTES, binary=True)}")
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(body) as reader:
            text = reader.read(MAX_UNPACKED_BYTES + 1)
    except zstandard.ZstdError as error:
        raise TeamRefused("this batch is not compressed as it should be") from error
    if len(text) > MAX_UNPACKED_BYTES:
        raise TeamRefused(f"a batch has at most {size(MAX_UNPACKED_BYTES, binary=True)} unpacked")
    try:
        return _DECODER.decode(_NUL.sub(rb"\1\\ufffd", text))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise TeamRefused(f"this is not a batch: {error}") from error


def standing(database: TeamDatabase, token: str) -> Standing:
    """Return how far the server is with the machine that shows a token. Raises TeamRefused, TeamUnavailable."""
    with database.as_asker(token) as (db, asker):
        at = _progress(db)
        rows = db.execute(HELD).fetchall()
        shares = db.execute(SHARES).fetchall()
        learnings = db.execute(LEARNINGS).fetchall()
        kept = db.execute(KEPT_BETWEEN, (asker.team_id,)).fetchone()
    return Standing(
        team=asker.team, person=asker.person, machine=asker.machine, role=asker.role, expires_at=asker.expires_at,
        number=at.number, derivation_id=at.derivation_id, position=at.position,
        shares={str(repo): msgspec.convert(level, Level) for repo, level in shares},
        known=tuple(str(row[0]) for row in rows),
        held=tuple(
            HeldSession(str(uid), msgspec.convert(level, Level), msgspec.convert(stamp, int))
            for uid, level, stamp, is_whole in rows
            if is_whole
        ),
        learnings={str(learning_id): msgspec.convert(stamp, int) for learning_id, stamp in learnings},
        kept_between=msgspec.convert(kept[0], tuple[int, int] | None) if kept is not None else None,
    )  # fmt: skip


def accept(database: TeamDatabase, token: str, body: bytes) -> Taken:
    """Take a compressed batch if it is the next one of its machine. Raises TeamRefused, TeamUnavailable; nothing of it
    is then kept."""
    with database.as_asker(token) as (db, _asker):
        # In its own transaction: a partition made together with rows would hold its lock until they are in.
        db.execute("SELECT recollect.make_month()")
    batch = unpacked(body)  # of somebody who is known
    try:
        with database.as_asker(token) as (db, _asker):
            at = _progress(db, for_update=True)
            if batch.number <= at.number:
                return Taken(at.number, is_new=False)
            if batch.number != at.number + 1:
                raise TeamRefused(f"batch {batch.number} came before batch {at.number + 1}", hint="push again")
            if batch.derivation_id != at.derivation_id and not batch.restarts:
                raise TeamRefused("this batch counts the events of another memory", hint="push again")
            apply(db, batch)
            db.execute(ADVANCE, (batch.number, batch.derivation_id, batch.position))
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError) as error:
        raise TeamRefused(f"this batch cannot be stored: {str(error).partition(chr(10))[0]}") from error
    return Taken(batch.number, is_new=True)


def leave(database: TeamDatabase, token: str) -> Asker:
    """Withdraw everything of a machine and end its token. Raises TeamRefused, TeamUnavailable."""
    with database.as_asker(token) as (db, asker):
        db.execute(WITHDRAW_ALL)
        db.execute(RETIRE_ALL)
        db.execute(DROP_SHARES)
        db.execute("SELECT recollect.leave_team()")
    return asker


def _progress(db: Connection, *, for_update: bool = False) -> _Progress:
    found = db.execute(f"{LOCK_MACHINE} FOR UPDATE" if for_update else LOCK_MACHINE).fetchone()
    assert found is not None
    return msgspec.convert(found, _Progress)


def apply(db: Connection, batch: Batch, *, put_events: PutEvents = insert_events) -> None:
    """Bring the rows of the present machine to what a batch says. Raises TeamRefused, psycopg.Error.

    put_events: writes rows of EVENT_COLUMNS.
    """
    if batch.restarts:
        db.execute(RESTART)
    if batch.shares is not None:
        db.execute(DROP_SHARES)
        # Of two names that differ in case only, the one that shares more counts.
        shares = sorted(batch.shares.items(), key=lambda share: -LEVELS.index(share[1]))
        db.cursor().executemany(ADD_SHARE, shares)
    if batch.withdrawn:
        db.execute(WITHDRAW, (list(batch.withdrawn),))
    for session in batch.sessions:
        _put_session(db, session)
    if batch.model:
        db.execute(PUT_MODEL, (batch.model,))
    for span in batch.spans:
        _put_span(db, span, batch.model, put_events)
    if batch.retired:
        db.execute(RETIRE, (list(batch.retired),))
    learnings = [
        (n.learning_id, n.stamp, n.repo, n.kind, msgspec.json.encode(n.body).decode()) for n in batch.learnings
    ]
    db.cursor().executemany(PUT_LEARNING, learnings)


def _put_session(db: Connection, session: SharedSession) -> None:
    has_text = session.level != "figures"
    found = db.execute(
        PUT_SESSION,
        (
            session.session_uid, session.level, session.is_last, session.stamp, session.agent, session.repo,
            session.outcome, session.started_at, session.ended_at, session.event_count, session.turn_count,
            session.title if has_text else "", session.branch if has_text else "",
        ),
    ).fetchone()  # fmt: skip
    assert found is not None
    session_id = found[0]
    for statement in DROP_PARTS:
        db.execute(statement, (session_id,))
    if session.level != "full":
        db.execute(DROP_EVENTS, (session_id,))
    db.cursor().executemany(
        PUT_USAGE,
        [
            (
                session_id,
                u.model,
                u.input_tokens,
                u.output_tokens,
                u.cache_tokens,
                u.responses,
                u.cost_usd,
                u.cache_write_5m_tokens,
                u.cache_write_1h_tokens,
                u.reasoning_tokens,
            )
            for u in session.usage
        ],
    )
    if has_text and session.digest is not None:
        digest = {name: value for name, value in session.digest.items() if name != "cost"}  # a figure of one person
        db.execute(PUT_DIGEST, (session_id, msgspec.json.encode(digest).decode()))
    if has_text:
        decisions = [(session_id, one.node_id, msgspec.json.encode(one.body).decode()) for one in session.decisions]
        db.cursor().executemany(PUT_DECISION, decisions)
        links = [
            (session_id, link.newer, link.older, msgspec.json.encode(link).decode())
            for one in session.decisions
            for link in one.links
        ]
        db.cursor().executemany(PUT_LINK, links)


def _put_span(db: Connection, span: EventSpan, model: str, put_events: PutEvents) -> None:
    found = db.execute(FIND_SESSION, (span.session_uid,)).fetchone()
    if found is None:
        raise TeamRefused(f"the events of {span.session_uid} are not shared", hint="push again")
    session_id, month = found
    db.execute(DROP_SPAN, (session_id, span.first_seq, span.last_seq))
    once = {(event.event_id, event.part): event for event in span.events}
    if any(not span.first_seq <= event.seq <= span.last_seq for event in once.values()):
        raise TeamRefused(f"an event of {span.session_uid} lies outside of its span")
    if not once:
        return
    put_events(
        db,
        msgspec.convert((session_id, month), tuple[int, date]),
        [
            (e.event_id, e.part, e.seq, e.kind, e.role, e.ts, e.turn_index, e.tool, e.summary, e.text,
             "\n".join(e.paths), e.is_undone)
            for e in once.values()
        ],
    )  # fmt: skip
    pieces = [
        (e.event_id, e.part, number, vector_text(vector))
        for e in once.values()
        for number, vector in enumerate(e.vectors)
    ]
    # What moved here from elsewhere in the session brings no vectors of before along.
    db.execute(DROP_PASSAGES, ([e.event_id for e in once.values()], [e.part for e in once.values()], month, session_id))
    if pieces and model:
        db.execute(PUT_PASSAGES, (month, session_id, model, *(list(column) for column in zip(*pieces, strict=True))))


def vector_text(vector: bytes) -> str:
    """Return a vector as PostgreSQL reads it."""
    return str(array("b", vector).tolist())
