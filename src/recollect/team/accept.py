"""Accepts a machine's batches, each in one transaction and once; answers which decisions of them still hold."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, NamedTuple

import msgspec
import psycopg
import zstandard

from recollect.errors import TeamRefused
from recollect.memory import (
    DecisionQuestion,
    KeptDecision,
    KeptLink,
    MatchingDecision,
    TeamDecisionsAnswer,
    TeamDecisionsQuestion,
    TeamDecisionView,
    by_words,
    matching,
    words_and_ids,
)
from recollect.model.insights.nodes import Decision, Link
from recollect.model.team_citation import PREFIX, TeamCitation
from recollect.model.team_messages import LEVELS, Batch, EventSpan, HeldSession, Level, SharedSession, Standing, Taken
from recollect.team.database import Asker, Connection, TeamDatabase, beginning, cited_by, clean, containing, note
from recollect.units import size

MAX_BATCH_BYTES = 4 * 1024 * 1024
"""Of a batch as sent, compressed."""
MAX_UNPACKED_BYTES = 64 * 1024 * 1024
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
    db.cursor().executemany(PUT_USAGE, [(session_id, *msgspec.structs.astuple(used)) for used in session.usage])
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


MAX_READ = 5000
"""Decisions that one question looks at, the newest that have its words."""

FIND = (
    "SELECT d.node_id, d.body, d.member_id, p.name, m.name, s.session_uid, s.repo, "
    "(extract(epoch FROM s.received_at) * 1e6)::bigint "
    "FROM recollect.decision d JOIN recollect.session s ON s.team_id = d.team_id AND s.session_id = d.session_id "
    "JOIN recollect.member p ON p.team_id = s.team_id AND p.member_id = s.member_id "
    "JOIN recollect.machine m ON m.team_id = s.team_id AND m.machine_id = s.machine_id "
    "WHERE d.team_id = recollect.present_team() "
    "AND (%(repos)s::text[] = '{}' OR s.repo ILIKE ANY(%(repos)s)) "
    "AND (%(ids)s::text[] = '{}' OR d.node_id LIKE ANY(%(ids)s)) "
    "AND (%(session)s::text IS NULL OR s.session_uid LIKE %(session)s) "
    "AND (%(person)s::text IS NULL OR (p.name = %(person)s AND m.name = %(machine)s)) "
    "AND (%(after)s::bigint IS NULL OR (d.body ->> 'ts')::bigint >= %(after)s) "
    "AND (%(before)s::bigint IS NULL OR (d.body ->> 'ts')::bigint < %(before)s) "
    "AND concat_ws(E'\\n', d.body ->> 'statement', d.body ->> 'rationale', "
    "jsonb_path_query_array(d.body, '$.options[*].text')::text) ILIKE ALL (%(words)s) "
    "ORDER BY (d.body ->> 'ts')::bigint DESC NULLS LAST, d.session_id, d.node_id LIMIT %(most)s"
)
LINKS = (
    "SELECT l.body, (extract(epoch FROM s.received_at) * 1e6)::bigint FROM recollect.decision_link l "
    "JOIN recollect.session s ON s.team_id = l.team_id AND s.session_id = l.session_id "
    "WHERE l.team_id = recollect.present_team() AND (l.older = ANY(%s) OR l.newer = ANY(%s))"
)


class _Row(NamedTuple):
    node_id: str
    body: Any
    member_id: Any
    person: str
    machine: str
    session_uid: str
    repo: str
    received_at: int


def decisions(database: TeamDatabase, token: str, asked: TeamDecisionsQuestion) -> TeamDecisionsAnswer:
    """Return decisions, newest first, and note whose sessions they are of. Raises TeamRefused, TeamUnavailable."""
    question = asked.question
    with database.as_asker(token) as (db, _asker):
        rows = _rows(db, question)
        is_cut = len(rows) == MAX_READ
        rows_by_id = {row.node_id: row for row in reversed(rows)}
        found, left_out = matching(_kept(db, rows_by_id), question, {})
        said = [[one] for one in found] if words_and_ids(question)[1] else by_words(found)
        shown = [_view(same, rows_by_id) for same in said[: asked.limit]]
        of = ((rows_by_id[view.decision.id].member_id, view.session_uid) for view in shown)
        note(db, "decisions", " ".join((*question.words, *(f"repo:{repo}" for repo in question.repos))), of)
    notes = [f"only the newest {MAX_READ:,} that have these words were looked at"] if is_cut else []
    if question.path:
        notes.append("decisions that name the path; what edits of it they led to is not shared")
    return TeamDecisionsAnswer(tuple(shown), len(said), left_out, tuple(notes))


def _rows(db: Connection, question: DecisionQuestion) -> list[_Row]:
    words, ids = words_and_ids(question)
    cited = cited_by(question.session) if question.session.startswith(PREFIX) else None
    session = cited.session_uid if cited is not None else question.session.replace("\0", "")
    found: list[Any] = db.execute(
        FIND,
        {
            "repos": [containing(repo) for repo in clean(question.repos)],
            "ids": [beginning(one) for one in clean(ids)],
            "session": beginning(session) if session else None,
            "person": cited.person if cited is not None else None,
            "machine": cited.machine if cited is not None else None,
            "after": question.after,
            "before": question.before,
            "words": [containing(word.lstrip("=")) for word in clean(words)] or ["%"],
            "most": MAX_READ,
        },
    ).fetchall()
    return [_Row(*row) for row in found]


def _kept(db: Connection, rows: dict[str, _Row]) -> list[KeptDecision]:
    """Return the decisions as a memory keeps them, with the links that say what became of them."""
    links: dict[str, list[KeptLink]] = {}
    found: list[Any] = db.execute(LINKS, (list(rows), list(rows))).fetchall()
    for body, at in found:
        link = msgspec.convert(body, Link)
        for end in {link.older, link.newer}:
            links.setdefault(end, []).append(KeptLink(link, at))
    return [
        KeptDecision(msgspec.convert(row.body, Decision), row.repo, row.received_at, links=tuple(links.get(name, ())))
        for name, row in rows.items()
    ]


def _view(same: Sequence[MatchingDecision], rows: dict[str, _Row]) -> TeamDecisionView:
    """Return the newest of decisions in the same words, with the citations of the others."""
    newest, *others = same
    place = _place(newest, rows)
    view = newest.view(repeats=tuple(str(_place(one, rows)) for one in others))
    return TeamDecisionView(**{**msgspec.structs.asdict(view), **place._asdict(), "citation": str(place)})


def _place(one: MatchingDecision, rows: dict[str, _Row]) -> TeamCitation:
    row, decision = rows[one.item.decision.id], one.item.decision
    evidence = decision.evidence[0] if decision.evidence else None
    event_id, part = (evidence.event_id, evidence.part) if evidence is not None else ("", 0)
    return TeamCitation(row.person, row.machine, row.session_uid, event_id, part)
