# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Reads the few indexed rows that a context needs. No archive, no writer, no whole events.

It stands apart, so that a process that lives for one block loads nothing else. Its data are structures and no named
tuples: Python takes ten times as long to make one of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.errors import StoreCorrupt
from recollect.model.insights.nodes import NODE_KINDS, Decision
from recollect.model.learnings.learnings import GIVEN_STATES, LearningEvidence
from recollect.model.learnings.notes import DiaryEntry
from recollect.model.payloads import Payload
from recollect.model.text import summary_of
from recollect.store.bodies import DAMAGED, decompress
from recollect.store.connection import REBUILD_HINT, column

TOLD_NOTE = "told"
"""The note of what an agent is told of learning itself when a session starts, "" for nothing: blocks that were made
ready hold no more when it changes."""


class Folder(msgspec.Struct, frozen=True):
    """Where an agent works. path: the top of the repository, else the folder itself; as the system writes it.

    names: what sessions there may call their repository. is_repository: folders below belong to it too.
    """

    path: str
    names: tuple[str, ...]
    is_repository: bool


class RecentSession(msgspec.Struct, frozen=True):
    """One root session that worked in a folder. Times in UTC microseconds."""

    session_uid: str
    agent: str
    title: str
    branch: str
    started_at: int | None
    ended_at: int | None
    turn_count: int
    kind_counts: dict[str, int]


class SessionsOfPlace(msgspec.Struct, frozen=True):
    """The root sessions of a folder or repository: uids by number. messages: how many a person wrote in them."""

    uids: dict[int, str]
    messages: int


class RecentEvent:
    """One event, newest version, read on demand.

    is_failed: the result of a failed tool. payload: the part stored in the database; longer strings are empty. summary:
    one line of at most 120 characters, even if the payload's text is not here.
    """

    __slots__ = ("_found", "_load", "is_failed", "is_sidechain", "kind", "seq", "ts")

    def __init__(
        self, seq: int, kind: str, ts: int | None, load: Callable[[], tuple[Payload, str]], *,
        is_failed: bool = False, is_sidechain: bool = False,
    ) -> None:  # fmt: skip
        """load: returns the payload and its summary, "" where that can be made of the payload. Called once."""
        self.seq = seq
        self.kind = kind
        self.ts = ts
        self.is_failed = is_failed
        self.is_sidechain = is_sidechain
        self._load = load
        self._found: tuple[Payload, str] | None = None

    @property
    def payload(self) -> Payload:
        """What happened. Raises StoreCorrupt."""
        if self._found is None:
            self._found = self._load()
        return self._found[0]

    @property
    def summary(self) -> str:
        """What happened, on a line. Raises StoreCorrupt."""
        payload = self.payload
        return (self._found[1] if self._found is not None else "") or summary_of(payload)


class RecentLearning(msgspec.Struct, frozen=True):
    """A learning that holds, as a line tells it. Times in UTC microseconds.

    authors: who wrote its evidence, see `model.learnings.learnings.Author`; empty: a person told the memory itself.
    citation: `session_uid#seq` of its newest evidence, "" without any. ts: of that; first_at: when it was first said.
    is_old: an action that has expired and is not done.
    """

    id: str
    kind: str
    text: str
    scope: str
    repo: str
    path: str
    agent: str
    status: str
    state: str
    confidence: float
    ts: int
    first_at: int
    priority: str
    authors: frozenset[str]
    citation: str
    is_old: bool = False


class FolderLearnings(msgspec.Struct, frozen=True):
    """Learnings to choose from.

    changes_at: when one of them begins or ends by itself, UTC microseconds, None: never. agents: those for whom it may
    be others.
    """

    learnings: Sequence[RecentLearning]
    changes_at: int | None = None
    agents: frozenset[str] = frozenset()


_AGAINST = ("correct", "retire")
_LEAST_WORDS = 4
"""Words of a sentence without its lead-in by which it is told again."""


class TakenBack(NamedTuple):
    """The words of a learning that a person said is wrong, and when they said so, UTC microseconds.

    repo: where it held, "" for everywhere. right: the person's words in its place, "" for none.
    """

    words: str
    at: int
    repo: str = ""
    right: str = ""


def taken_back(db: apsw.Connection) -> dict[str, list[TakenBack]]:
    """Return by event what the person said in it and took back later."""
    rows: Iterable[Any] = db.execute(
        "SELECT learning_evidence.event_id, learning.json ->> '$.text', verdict.at, learning.repo, "
        "coalesce((SELECT instead.json ->> '$.text' FROM learning AS instead "
        "WHERE instead.id = verdict.json ->> '$.replaced_by'), '') FROM verdict "
        "JOIN learning ON learning.id = verdict.learning "
        "JOIN learning_evidence ON learning_evidence.learning = learning.id "
        "WHERE verdict.verdict IN (?, ?) AND learning.kind <> 'pattern' "
        "AND learning_evidence.json ->> '$.author' = 'user' AND NOT EXISTS (SELECT 1 FROM verdict AS later "
        "WHERE later.learning = verdict.learning AND (later.at, later.nonce) > (verdict.at, verdict.nonce))",
        _AGAINST,
    )
    return _by_event(rows)


def replaced_in_learnings(db: apsw.Connection) -> dict[str, list[TakenBack]]:
    """Return by event what the person asked for in it and later asked for otherwise."""
    rows: Iterable[Any] = db.execute(
        "SELECT learning_evidence.event_id, old.json ->> '$.text', coalesce(newer.ts, old.updated_at) "
        "FROM learning AS old JOIN learning_evidence ON learning_evidence.learning = old.id "
        "LEFT JOIN learning AS newer ON newer.id = old.json ->> '$.superseded_by' "
        "WHERE old.state = 'superseded' AND old.kind IN ('preference', 'correction') "
        "AND learning_evidence.json ->> '$.author' = 'user' "
        "AND NOT EXISTS (SELECT 1 FROM verdict WHERE verdict.learning = old.id)"
    )
    return _by_event(rows)


def _by_event(rows: Iterable[Any]) -> dict[str, list[TakenBack]]:
    found: dict[str, list[TakenBack]] = {}
    for event_id, text, *rest in rows:
        found.setdefault(event_id, []).append(TakenBack(words_of(text), *rest))
    return found


def taken_back_at(decision: Decision, known: Mapping[str, Iterable[TakenBack]]) -> int | None:
    """Return when a person took back what a decision says, None where they did not."""
    if not known or not any(evidence.event_id in known for evidence in decision.evidence):
        return None
    said = words_of(decision.statement)
    times = [
        one.at
        for evidence in decision.evidence
        for one in known.get(evidence.event_id, ())
        if one.words in said or any(words in one.words for words in _without_lead_in(said))
    ]
    return min(times, default=None)


def restated_at(decision: Decision, repos: Sequence[str], unsaid: Mapping[str, Iterable[TakenBack]]) -> int | None:
    """Return when a person took back what a decision in some repositories had said in other words before."""
    if not unsaid:
        return None
    from recollect.store.restated import says_again

    known = {one for some in unsaid.values() for one in some if one.repo in ("", *repos)}
    times = [
        one.at
        for one in known
        if (decision.ts is None or decision.ts < one.at) and says_again(decision.statement, one.words, one.right)
    ]
    return min(times, default=None)


def _without_lead_in(said: str) -> Iterator[str]:
    """Yield a sentence, and it without its first words: a learning leaves out "No," and "Wait, no"."""
    words = said.split(" ")
    yield said
    yield from (" ".join(words[count:]) for count in (1, 2) if len(words) - count >= _LEAST_WORDS)


def words_of(text: str) -> str:
    """Return the words of a sentence as they are compared."""
    return " ".join(text.casefold().split()).strip(" .!")


DECISIONS_LOOKED_AT = 400
"""The newest decisions of repositories of that name, from which those of the folder are taken."""
_OUTDONE = (
    "EXISTS (SELECT 1 FROM link WHERE link.older = {id} AND link.revoked_at IS NULL "
    "AND link.relation IN ('supersedes', 'reverses'))"
)


def held_decisions(
    db: apsw.Connection, folder: Folder, uids: Sequence[str], is_here: Callable[[str], bool]
) -> list[Decision]:
    """Return the decisions that hold, newest first, each once; none that a person took back.

    uids: sessions that worked in the folder. is_here: tells by its uid whether another one did. Raises StoreCorrupt.
    """
    marks = ", ".join("?" * len(folder.names)) or "NULL"
    of_uids = ", ".join("?" * len(uids)) or "NULL"
    rows: list[Any] = db.execute(
        "SELECT node.data, analysis.root_uid, node.ts FROM analysis JOIN node ON node.analysis = analysis.number "
        f"WHERE (analysis.repo IN ({marks}) OR analysis.session_uid IN ({of_uids})) "
        "AND node.kind = ? AND node.revoked_at IS NULL "
        f"AND NOT {_OUTDONE.format(id='node.id')} ORDER BY node.ts DESC, node.id LIMIT ?",
        (*folder.names, *uids, NODE_KINDS.index("decision"), DECISIONS_LOOKED_AT),
    ).fetchall()
    added: list[Any] = db.execute(
        f"SELECT json, session_uid, added_at FROM added_decision WHERE repo IN ({marks}) AND revoked_at IS NULL "
        f"AND NOT {_OUTDONE.format(id='id')} ORDER BY added_at DESC LIMIT ?",
        (*folder.names, DECISIONS_LOOKED_AT),
    ).fetchall()
    found: dict[object, Decision] = {}
    unsaid, replaced = taken_back(db), replaced_in_learnings(db)
    here: dict[str, bool] = {"": True, **dict.fromkeys(uids, True)}
    for data, root, ts in sorted([*rows, *added], key=lambda row: -(row[2] or 0)):
        if root not in here:
            here[root] = is_here(root)
        decision = _decision(data) if here[root] else None
        if decision is None or decision.is_undone or taken_back_at(decision, replaced) is not None:
            continue
        if taken_back_at(decision, unsaid) is None and restated_at(decision, folder.names, unsaid) is None:
            known = tuple((e.event_id, e.part, e.start) for e in decision.evidence) or decision.id
            found.setdefault((known, decision.statement), msgspec.structs.replace(decision, ts=ts))
    return list(found.values())


def _decision(data: bytes | str) -> Decision:
    try:
        text = decompress(data) if isinstance(data, bytes) else data
        return msgspec.json.decode(text, type=Decision)
    except (DAMAGED, ValueError) as error:
        raise StoreCorrupt(f"a stored decision is damaged: {error}", hint=REBUILD_HINT) from error


LOOKED_AT = 400
"""The newest learnings of a repository and state; the person's own are as one repository."""
AT_MOST = 2_000
"""As above, where so many are of the last hours."""
LATELY_US = 48 * 3600 * 1_000_000
"""Learnings of so long before the newest one are all looked at. Counted from there and not from now, the block of a
store stays the same while nothing is learned, and a weekend takes nothing away."""
_COLUMNS = "id, kind, scope, repo, path, agent, status, state, confidence, ts, expires_at, json"
_STATES = ", ".join(f"'{state}'" for state in GIVEN_STATES)


class _LearningDetails(msgspec.Struct, frozen=True):
    """The fields of a learning without a column."""

    text: str
    priority: str = ""
    valid_from: int | None = None
    valid_to: int | None = None
    recorded_at: int = 0


_decode_details = msgspec.json.Decoder(_LearningDetails).decode
_evidence = msgspec.json.Decoder(LearningEvidence).decode


def given_learnings(
    db: apsw.Connection, folder: Folder | None, is_here: Callable[[str], bool], *, now_us: int
) -> FolderLearnings:
    """Return what holds in a folder now.

    A learning of a repository of that name counts unless all the sessions that it rests on are known to have worked
    elsewhere. is_here: tells that of a stored session. Raises StoreCorrupt.
    """
    names = ("", *folder.names) if folder is not None else ("",)
    rows: list[tuple[Any, ...]] = []
    for name in names:
        rows += db.execute(
            f"SELECT {_COLUMNS} FROM learning WHERE kind = 'action' AND repo = ? AND state IN ({_STATES}, 'expired') "
            "ORDER BY ts DESC, id LIMIT ?",
            (name, LOOKED_AT),
        ).fetchall()
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
        if not holds_from or _is_over(told.valid_to, now_us):
            continue
        if row[2] != "user" and not row[3]:
            continue  # of a repository that nobody knows
        if row[3] and evidence and not any(is_here(uid) for uid in dict.fromkeys(e.session_uid for e in evidence)):
            continue
        is_old = row[7] == "expired" or _is_over(expires_at, now_us)
        found.append(_learning(row, told, evidence, is_old=is_old))
    agents = frozenset(learning.agent for learning in found if learning.agent)
    return FolderLearnings(found, min(edges, default=None), agents)


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


def _decode(text: str) -> _LearningDetails:
    try:
        return _decode_details(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored learning is damaged: {error}", hint=REBUILD_HINT) from error


def _is_over(end: int | None, now_us: int) -> bool:
    return end is not None and end <= now_us


def _learning(
    row: tuple[Any, ...], told: _LearningDetails, evidence: Sequence[LearningEvidence], *, is_old: bool
) -> RecentLearning:
    id_, kind, scope, repo, path, agent, status, state, confidence, ts, _expires_at, _json = row
    newest = evidence[-1] if evidence else None
    said = [e.ts for e in evidence if e.ts is not None]
    return RecentLearning(
        id_, kind, told.text, scope, repo, path, agent, status, state, confidence, ts or told.recorded_at,
        min(said, default=told.recorded_at), told.priority, frozenset(e.author for e in evidence),
        f"{newest.session_uid}#{newest.seq}" if newest is not None else "", is_old,
    )  # fmt: skip


@cache
def _diary_decoder() -> Callable[[str], DiaryEntry]:
    """Return the decoder: making it takes longer than asking a store that has no diary."""
    return msgspec.json.Decoder(DiaryEntry).decode


def newest_diary(
    db: apsw.Connection, folder: Folder | None, is_elsewhere: Callable[[str], bool], *, agent: str, limit: int
) -> tuple[list[DiaryEntry], int]:
    """Return the newest entries that are about a folder or about nothing in particular, oldest first, and how many.

    One that speaks of sessions counts unless all of them are known to have worked elsewhere. Raises StoreCorrupt.
    """
    names = ("", *folder.names) if folder is not None else ("",)
    found: list[DiaryEntry] = []
    total = 0
    for repo in names:
        for name in (agent,) if agent else diary_agents(db, repo):
            rows: Any = db.execute(
                "SELECT json FROM diary WHERE repo = ? AND agent = ? AND retired_at IS NULL "
                "ORDER BY written_at DESC, id DESC LIMIT ?",
                (repo, name, limit),
            )
            found += [entry for (text,) in rows if (entry := _entry(text, is_elsewhere)) is not None]
            counted = "SELECT count(*) FROM diary WHERE repo = ? AND agent = ? AND retired_at IS NULL"
            total += int(db.execute(counted, (repo, name)).get)
    found.sort(key=lambda entry: (entry.written_at, entry.id))
    return found[-limit:], max(total, len(found))


def diary_agents(db: apsw.Connection, repo: str) -> list[str]:
    """Return the agents that wrote about a repository, or with "" about none."""
    return column(db, "SELECT DISTINCT agent FROM diary WHERE repo = ? AND retired_at IS NULL ORDER BY agent", (repo,))


def _entry(text: str, is_elsewhere: Callable[[str], bool]) -> DiaryEntry | None:
    try:
        entry = _diary_decoder()(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored entry of a diary is damaged: {error}", hint=REBUILD_HINT) from error
    uids = [uid.partition("#")[0] for uid in entry.sessions]
    return None if uids and all(is_elsewhere(uid) for uid in uids) else entry


_STATEMENTS = {
    "learning": "SELECT json_extract(json, '$.text') FROM learning WHERE id = ?",
    "action": "SELECT json_extract(json, '$.text') FROM learning WHERE id = ?",
    "diary": "SELECT json_extract(json, '$.text') FROM diary WHERE id = ?",
    "fact": "SELECT json ->> '$.subject' || ' ' || (json ->> '$.predicate') || ' ' || (json ->> '$.object') "
    "FROM fact WHERE id = ?",
    "decision": "SELECT json_extract(json, '$.statement') FROM added_decision WHERE id = ?",
}


def named_text(db: apsw.Connection, uid: str) -> str:
    """Return the text of `learning:ID`, `action:ID`, `diary:ID`, `fact:ID` or an added `decision:ID`; "" for none."""
    kind, _, name = uid.partition(":")
    if kind not in _STATEMENTS:
        return ""
    found: Any = db.execute(_STATEMENTS[kind], (name,)).get
    return found if isinstance(found, str) else ""
