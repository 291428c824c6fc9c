# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Reads sessions, their lists and families, and resolves the sessions that a question is confined to."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import apsw
import msgspec

from recollect.model.capabilities import WITNESS_LANE
from recollect.model.ids import session_uid
from recollect.model.insights.signals import SIGNAL_KINDS
from recollect.model.sessions import Outcome, Session
from recollect.paths import DATABASE_NAME
from recollect.store.connection import PooledReader, column, query
from recollect.store.row_keys import pack_text, unpack_text
from recollect.store.rows import AgentStats, Condition, DriftRow, EventFilter, SessionKey, StoreStats, Terms, marks_for
from recollect.store.session_rows import FolderFacts, SessionFacts, decode_counts, decode_facts, decode_folders
from recollect.visible import fields_of


def read_drift(db: apsw.Connection) -> tuple[DriftRow, ...]:
    """Return what the newest revisions hold that no parser knows, by agent and version of the agent."""
    rows: Iterable[Any] = db.execute(
        "SELECT s.agent, coalesce(e.facts, x''), d.kind, d.name, d.count, s.path, d.revision, d.record, d.offset "
        "FROM drift d JOIN source s ON s.number = d.source AND s.revision = d.revision "
        "LEFT JOIN session e ON e.agent = s.agent AND e.native_id = s.session "
        "ORDER BY s.agent, d.kind, d.name, s.path"
    )
    found: dict[tuple[str, str, str, str], DriftRow] = {}
    for agent, facts, kind, name, count, path, revision, record, offset in rows:
        version = decode_facts(facts).tool_version if facts else ""
        key = (agent, version, kind, name)
        known = found.get(key)
        if known is None:
            found[key] = DriftRow(agent, version, kind, name, count, 1, unpack_text(path), revision, record, offset)
        else:
            found[key] = msgspec.structs.replace(known, count=known.count + count, sources=known.sources + 1)
    return tuple(sorted(found.values(), key=lambda row: (row.agent, row.version, -row.count, row.kind, row.name)))


_LAST = "\U0010ffff"


def session_condition(
    db: apsw.Connection, where: EventFilter, *, after: int | None = None, before: int | None = None
) -> Condition:
    """Return a condition over the table `session` and its values.

    after/before confine to sessions with a moment in [after, before); sessions without times are then left out.
    """
    terms = Terms()
    if where.agents:
        terms.one_of("agent", (pack_text(agent.lower()) for agent in where.agents))
    for name, wanted in (("repo", where.repos), ("git_branch", where.branches)):
        if wanted:
            terms.one_of(name, map(pack_text, containing(db, name, wanted)))
    if where.sessions:
        numbers = {number for name in where.sessions for number in find_sessions(db, name)}
        terms.add("number IN (SELECT value FROM carray(?))", int_array(numbers))
    if where.tags:
        terms.add(f"uid IN (SELECT session_uid FROM tag WHERE name IN ({marks_for(where.tags)}))", *where.tags)
    if where.is_subagent is not None:
        terms.add("parent_uid <> ''" if where.is_subagent else "parent_uid = ''")
    terms.given(("ended_at >= ?", after), ("started_at < ?", before))
    return terms.condition


def find_sessions(db: apsw.Connection, name: str, *, limit: int = 100) -> list[int]:
    """Return the numbers of the session with this uid or native id, else of those whose uid or native id begins so."""
    stored = pack_text(name)
    rows: Iterable[Any] = db.execute(
        "SELECT number FROM session WHERE uid = ?1 UNION SELECT number FROM session WHERE native_id = ?1", (stored,)
    ).fetchall()
    if not rows and name and isinstance(stored, str):
        rows = db.execute(
            "SELECT number FROM session WHERE uid >= ?1 AND uid < ?2 "
            "UNION SELECT number FROM session WHERE native_id >= ?1 AND native_id < ?2 LIMIT ?3",
            (name, name + _LAST, limit),
        )
    return [number for (number,) in rows]


def find_session(db: apsw.Connection, name: str) -> int | None:
    """Return the number of the one session that a name means, None where it means none or several.

    What begins like a session and its subagents means the session: their ids begin with its own.
    """
    numbers = find_sessions(db, name)
    if len(numbers) > 1:
        found: Iterable[Any] = db.execute(
            "SELECT number, uid, parent_uid FROM session WHERE number IN carray(?)", (int_array(numbers),)
        ).fetchall()
        uids = {uid for _number, uid, _parent in found}
        numbers = [number for number, _uid, parent in found if parent not in uids]
    return numbers[0] if len(numbers) == 1 else None


def containing(db: apsw.Connection, column: str, wanted: tuple[str, ...], *, table: str = "session") -> list[str]:
    """Return the values of a column that contain one of the texts, or are one that begins with "=", in any case."""
    folded = [text.casefold() for text in wanted]
    whole = {text[1:] for text in folded if text.startswith("=")}
    parts = [text for text in folded if not text.startswith("=")]
    rows: Iterable[Any] = db.execute(f"SELECT DISTINCT {column} FROM {table}")
    return [v for (v,) in rows if v.casefold() in whole or any(text in v.casefold() for text in parts)]


def int_array(values: Iterable[int]) -> Any:
    """Return whole numbers to bind to carray(?), which takes no empty array: then one number that no row has."""
    numbers = array("q", values)
    return apsw.carray(numbers or array("q", (-1,)))


_COLUMNS = (
    "number, uid, agent, root_uid, parent_uid, repo, domain, git_branch, started_at, ended_at, event_count, "
    "turn_count, kind_counts, facts, discovered_at, ingested_at, analyzed_at, evicted_at, outcome, outcome_reason"
)
NOT_ANALYSED = "not analysed yet"
_NAMES = {
    "agent": (("session", "agent"),),
    "repo": (("session", "repo"),),
    "noted_repo": tuple(
        (table, "repo") for table in ("entry", "added_decision", "learning", "fact", "diary", "collection")
    ),
    "branch": (("session", "git_branch"),),
    "tag": (("tag", "name"),),
    "collection": (("collection", "name"),),
    "tool": (("name", "text"),),  # and models, which do no harm: to look at every event would take long
}
_NEWEST_FIRST = "ORDER BY coalesce(ended_at, started_at, 0) DESC, uid"


def session_of_number(db: apsw.Connection, number: int) -> Session:
    """Return a stored session by its number."""
    return read_sessions(db, "number = ?", [number])[0]


def read_session_keys(db: apsw.Connection, numbers: Iterable[int]) -> dict[int, SessionKey]:
    """Return what ranking needs of sessions, by number."""
    rows: Iterable[Any] = db.execute(
        "SELECT number, uid, root_uid, agent, event_count, parent_uid <> '', started_at, ended_at, "
        "repo, evicted_at, shard, facts FROM session "
        "WHERE number IN (SELECT value FROM carray(?))",
        (int_array(numbers),),
    )
    return {
        number: _session_key(
            (number, uid, root, agent, events, bool(is_subagent), started, ended), packed, repo, (gone, shard)
        )
        for number, uid, root, agent, events, is_subagent, started, ended, repo, gone, shard, packed in rows
    }


def _session_key(
    row: tuple[int, str, str, str, int, bool, int | None, int | None],
    packed: bytes,
    repo: str,
    place: tuple[int | None, str],
) -> SessionKey:
    facts = decode_facts(packed)
    origin = session_uid(row[3], facts.forked_from) if facts.forked_from else ""
    return SessionKey(*row, title_of(facts), repo, origin, *place)


def title_of(facts: SessionFacts) -> str:
    """Return the agent's own title, else the first human words."""
    return facts.title or facts.first_human


def read_session_numbers(db: apsw.Connection, where: EventFilter) -> frozenset[int]:
    """Return the numbers of the sessions that match."""
    condition, values = session_condition(db, where)
    return frozenset(column(db, f"SELECT number FROM session WHERE {condition}", values))


def _sums(db: apsw.Connection, statement: str) -> dict[str, int]:
    return {str(name): int(count) for name, count in query(db, statement)}


def read_sessions(db: apsw.Connection, condition: str, values: list[Any]) -> list[Session]:
    """Return the sessions that meet a condition, which is SQL of ours over the table `session`."""
    rows: list[Any] = db.execute(f"SELECT {_COLUMNS} FROM session WHERE {condition}", values).fetchall()
    sources = _sources(db, [row[0] for row in rows])
    return [_session(row, sources.get(row[0], _SourceFacts((), 0, 0, False))) for row in rows]


class _SourceFacts(NamedTuple):
    """What a session's sources say of it."""

    paths: tuple[str, ...]
    size: int
    defects: int
    is_witnessed: bool


def _sources(db: apsw.Connection, numbers: list[int]) -> dict[int, _SourceFacts]:
    """Return what the sources of sessions say. Bytes and defects are those of the sources that are theirs alone.

    A prompt history gives events to many sessions: its path is listed, its bytes belong to none of them.
    """
    paths: dict[int, list[str]] = defaultdict(list)
    sizes: Counter[int] = Counter()
    defects: Counter[int] = Counter()
    is_witnessed: dict[int, bool] = {}
    rows: Iterable[Any] = db.execute(
        "SELECT session.number, source.lane, source.path, source.session = native_id, coalesce(bytes_seen, 0), "
        "coalesce(defects, 0) "
        "FROM session JOIN session_source ON session_source.session = session.number "
        "JOIN source ON source.number = session_source.source LEFT JOIN revision "
        "ON revision.source = source.number AND revision.revision = source.revision "
        "WHERE session.number IN (SELECT value FROM carray(?)) ORDER BY source.lane, source.number",
        (int_array(numbers),),
    )
    for number, lane, path, is_own, size, count in rows:
        is_witnessed.setdefault(number, lane >= WITNESS_LANE)  # the best lane comes first
        paths[number].append(unpack_text(path))
        if is_own:
            sizes[number] += size
            defects[number] += count
    return {
        number: _SourceFacts(tuple(found), sizes[number], defects[number], is_witnessed[number])
        for number, found in paths.items()
    }


def _session(row: Any, sources: _SourceFacts) -> Session:
    (_number, uid, agent, root, parent, repo, domain, branch, started, ended, events, turns, kinds, packed, *marks) = (
        row
    )
    facts = decode_facts(packed)
    return Session(
        session_uid=uid,
        agent=agent,
        title=title_of(facts),
        title_status="agent" if facts.title else "derived" if facts.first_human else "",
        repo=repo,
        domain=domain,
        cwd=facts.cwd or facts.cwd_first,
        git_branch=branch,
        models=tuple(facts.models),
        **fields_of(facts, "repo_root git_commit git_remote tool_version originator agent_name"),
        started_at=started,
        ended_at=ended,
        parent_session=parent,
        forked_from=session_uid(agent, facts.forked_from) if facts.forked_from else "",
        resumed_from=session_uid(agent, facts.resumed_from) if facts.resumed_from else "",
        root_session=root,
        event_count=events,
        turn_count=turns,
        kind_counts=decode_counts(kinds),
        defect_count=sources.defects,
        source_bytes=sources.size,
        sources=sources.paths,
        is_witnessed=sources.is_witnessed,
        discovered_at=marks[0],
        ingested_at=marks[1],
        analyzed_at=marks[2],
        evicted_at=marks[3],
        outcome=marks[4],
        outcome_reason=marks[5] if marks[2] is not None else NOT_ANALYSED,
    )


class SessionPlace(NamedTuple):
    """The repository of a session by name, and what tells which of that name it is."""

    number: int
    repo: str
    facts: FolderFacts


class SessionReader(PooledReader):
    """Reads sessions: one, a page, their names, what is stored in all."""

    def session(self, uid: str) -> Session | None:
        """Return a session by its uid or a unique prefix of it (of the whole uid or of the native id)."""
        number = find_session(self._db, uid)
        return read_sessions(self._db, "number = ?", [number])[0] if number is not None else None

    def first_folder(self, uid: str) -> str:
        """Return the folder in which a session began, as its agent wrote it; "" if unknown. uid: exact."""
        packed: bytes | None = self._db.execute("SELECT facts FROM session WHERE uid = ?", (uid,)).get
        facts = decode_facts(packed) if packed is not None else SessionFacts()
        return facts.cwd_first or facts.cwd or facts.repo_root

    def nearest_sessions(self, uid: str, *, limit: int = 3) -> tuple[str, ...]:
        """Return the uids that begin like the requested one, newest first, for "did you mean"."""
        _agent, _colon, native = uid.rpartition(":")
        for begun in filter(None, (uid, native, *(native[:size] for size in range(len(native) - 1, 2, -1)))):
            numbers = find_sessions(self._db, begun)
            if numbers:
                statement = (
                    f"SELECT uid FROM session WHERE number IN (SELECT value FROM carray(?)) {_NEWEST_FIRST} LIMIT ?"
                )
                return tuple(column(self._db, statement, (int_array(numbers), limit)))
        return ()

    def sessions(
        self,
        where: EventFilter,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> tuple[tuple[Session, ...], int]:
        """Return a page of sessions, newest first, and how many match.

        after/before: UTC microseconds; a session matches when it has a moment in [after, before).
        """
        condition, values = session_condition(self._db, where, after=after, before=before)
        total: int = self._db.execute(f"SELECT count(*) FROM session WHERE {condition}", values).get
        page = read_sessions(self._db, f"{condition} {_NEWEST_FIRST} LIMIT ? OFFSET ?", [*values, limit, offset])
        return tuple(page), total

    def folders(self) -> set[str]:
        """Return the folders and repositories that sessions worked in."""
        facts = [decode_folders(packed) for packed in column(self._db, "SELECT facts FROM session")]
        return {place for one in facts for place in (one.repo_root, one.cwd or one.cwd_first) if place}

    def session_places(self) -> list[SessionPlace]:
        """Return where each session of a named repository worked."""
        rows: Iterable[Any] = self._db.execute("SELECT number, repo, facts FROM session WHERE repo <> ''")
        return [SessionPlace(number, repo, decode_folders(packed)) for number, repo, packed in rows]

    def unanalysed(self, where: EventFilter) -> int:
        """Return how many sessions have no analysis, or were ingested since theirs. Evicted ones get none any more."""
        condition, values = session_condition(self._db, where, after=None, before=None)
        stale = "turn_count > 0 AND evicted_at IS NULL AND coalesce(ingested_at, 0) > coalesce(analyzed_at, -1)"
        found: int = self._db.execute(f"SELECT count(*) FROM session WHERE {condition} AND {stale}", values).get
        return found

    def stats(self) -> StoreStats:
        """Return what is stored, from the session rows and the ledger."""
        kinds: Counter[str] = Counter()
        sessions: Counter[str] = Counter()
        subagents: Counter[str] = Counter()
        events: Counter[str] = Counter()
        rows: Iterable[Any] = self._db.execute("SELECT agent, parent_uid <> '', event_count, kind_counts FROM session")
        for agent, is_subagent, count, kind_counts in rows:
            sessions[agent] += 1
            subagents[agent] += is_subagent
            events[agent] += count
            kinds.update(decode_counts(kind_counts))
        sources: dict[str, tuple[int, int]] = {
            agent: (count, size)
            for agent, count, size in self._db.execute(
                "SELECT agent, count(*), coalesce(sum(bytes_seen), 0) FROM source LEFT JOIN revision "
                "ON revision.source = source.number AND revision.revision = source.revision GROUP BY agent"
            )
        }
        agents = tuple(
            AgentStats(agent, sessions[agent], subagents[agent], events[agent], *sources.get(agent, (0, 0)))
            for agent in sorted(sessions.keys() | sources.keys())
        )
        first, last = self._db.execute("SELECT min(started_at), max(ended_at) FROM session").fetchone()  # type: ignore[misc]
        return StoreStats(
            agents=agents,
            kind_counts=dict(kinds.most_common()),
            defects=_sums(self._db, "SELECT code, sum(count) FROM defect_count GROUP BY code ORDER BY 2 DESC, 1"),
            redactions=_sums(self._db, "SELECT kind, sum(count) FROM redaction_count GROUP BY kind ORDER BY 2 DESC, 1"),
            first_event=first,
            last_event=last,
            database_bytes=sum(path.stat().st_size for path in self._pool.home.glob(f"{DATABASE_NAME}*")),
            drift=read_drift(self._db),
        )

    def names(self, of: str) -> tuple[str, ...]:
        """Return names of sessions ("agent", "repo", "branch", "tag", "tool"), "noted_repo" or "collection"."""
        columns = " UNION ".join(f"SELECT DISTINCT {column} FROM {table}" for table, column in _NAMES[of])
        return tuple(name for name in column(self._db, f"{columns} ORDER BY 1") if name and isinstance(name, str))


SessionOrder = Literal[
    "recent", "start", "title", "agent", "repo", "outcome", "turns", "active", "cost", "errors", "edits"
]
_ANALYSIS = "(SELECT number FROM analysis WHERE session_uid = session.uid)"
_ERRORS = f"(SELECT count FROM signal WHERE kind = {SIGNAL_KINDS.index('error')} AND analysis = {_ANALYSIS})"
_ACTIVE = f"(SELECT json_extract(json, '$.cost.active_s') FROM digest WHERE analysis = {_ANALYSIS})"
_ORDERS: dict[SessionOrder, str] = {
    "recent": "coalesce(ended_at, started_at, 0)", "start": "coalesce(started_at, ended_at, 0)",
    "title": "title_of(facts)", "agent": "agent", "repo": "repo COLLATE NOCASE", "outcome": "outcome",
    "turns": "turn_count", "edits": "coalesce(json_extract(kind_counts, '$.file_edit'), 0)",
    "active": f"coalesce({_ACTIVE}, -1)", "errors": f"coalesce({_ERRORS}, -1)", "cost": "cost_of(uid)",
}  # fmt: skip
MAX_RELATIVES = 300
_GENERATIONS = 32


class SessionQuestion(NamedTuple):
    """Which sessions are listed, and in which order. title: a part of it, in any case. after/before: UTC microseconds,
    a session has a moment in [after, before)."""

    where: EventFilter = EventFilter()
    title: str = ""
    outcome: Outcome | Literal[""] = ""
    after: int | None = None
    before: int | None = None
    by: SessionOrder = "recent"
    is_descending: bool = True


class ListedSession(msgspec.Struct, frozen=True):
    """A line of a list. active_s, errors: None before the session is analysed. cost_usd: None without a known price."""

    session: Session
    active_s: float | None
    errors: int | None
    cost_usd: float | None = None


def list_sessions(
    db: apsw.Connection, asked: SessionQuestion, costs: dict[str, float], *, limit: int, offset: int
) -> tuple[list[ListedSession], int]:
    """Return a page of sessions and how many there are. costs: by uid, for the order of that name."""
    db.create_scalar_function("title_of", _title_of, 1)
    db.create_scalar_function("cost_of", lambda *uid: costs.get(str(uid[0]), -1.0), 1)
    condition, values = session_condition(db, asked.where, after=asked.after, before=asked.before)
    if asked.outcome:
        condition, values = f"{condition} AND outcome = ? AND analyzed_at IS NOT NULL", [*values, asked.outcome]
    if asked.title:
        condition, values = f"{condition} AND instr(title_of(facts), ?)", [*values, asked.title.casefold()]
    total: int = db.execute(f"SELECT count(*) FROM session WHERE {condition}", values).get
    direction = "DESC" if asked.is_descending else "ASC"
    rows: list[Any] = db.execute(
        f"SELECT number, uid, {_ACTIVE}, {_ERRORS}, analyzed_at FROM session WHERE {condition} "
        f"ORDER BY {_ORDERS[asked.by]} {direction}, coalesce(ended_at, started_at, 0) DESC, uid LIMIT ? OFFSET ?",
        [*values, limit, offset],
    ).fetchall()
    found = {
        session.session_uid: session
        for session in read_sessions(
            db, "number IN (SELECT value FROM carray(?))", [int_array(number for number, *_ in rows)]
        )
    }
    lines = [
        ListedSession(found[uid], active_s, errors if errors is not None or analyzed_at is None else 0)
        for _number, uid, active_s, errors, analyzed_at in rows
    ]
    return lines, total


def _title_of(*facts: Any) -> str:
    return title_of(decode_facts(facts[0])).casefold()


class Relative(msgspec.Struct, frozen=True):
    """A session of a family. depth: how many levels below the first. how: its relation to the one above it."""

    session: Session
    depth: int
    how: Literal["", "subagent", "fork", "resumed"]


def read_family(db: apsw.Connection, session: Session) -> list[Relative]:
    """Return the sessions that one came from and all that came from them, each below its own origin, oldest first;
    at most `MAX_RELATIVES`. A session without relatives is alone in it."""
    origins = _origins(db, session.agent)
    first, seen = session.session_uid, set[str]()
    while first in origins and first not in seen and len(seen) < _GENERATIONS:
        seen.add(first)
        first = origins[first][0]
    below: dict[str, list[str]] = {}
    for uid, (origin, _how) in origins.items():
        below.setdefault(origin, []).append(uid)
    placed: list[tuple[str, int]] = []
    waiting, known = [(first, 0)], {first}
    while waiting and len(placed) < MAX_RELATIVES:
        uid, depth = waiting.pop()
        placed.append((uid, depth))
        later = [one for one in below.get(uid, ()) if one not in known]
        known.update(later)
        waiting += [(one, depth + 1) for one in reversed(later)]
    marks = ", ".join("?" * len(placed))
    found = {one.session_uid: one for one in read_sessions(db, f"uid IN ({marks})", [uid for uid, _ in placed])}
    return [
        Relative(found[uid], depth, origins[uid][1] if uid in origins else "") for uid, depth in placed if uid in found
    ]


def _origins(db: apsw.Connection, agent: str) -> dict[str, tuple[str, Literal["subagent", "fork", "resumed"]]]:
    """Return which session each session of an agent came from, oldest first."""
    rows: Iterable[Any] = db.execute(
        "SELECT uid, parent_uid, facts FROM session WHERE agent = ? AND (parent_uid <> '' OR "
        "instr(facts, CAST('forked_from' AS BLOB)) OR instr(facts, CAST('resumed_from' AS BLOB))) "
        "ORDER BY coalesce(started_at, 0), uid",
        (agent,),
    )
    found: dict[str, tuple[str, Literal["subagent", "fork", "resumed"]]] = {}
    for uid, parent, packed in rows:
        facts = decode_facts(packed)
        if parent:
            found[uid] = (parent, "subagent")
        elif facts.forked_from:
            found[uid] = (session_uid(agent, facts.forked_from), "fork")
        elif facts.resumed_from:
            found[uid] = (session_uid(agent, facts.resumed_from), "resumed")
    return {uid: origin for uid, origin in found.items() if origin[0] != uid}
