# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Reads insights: digests, signals, nodes and links.

A session is named by its uid, a node by its id; what was found outlives the events that it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.late import late_call
from recollect.model.insights.digests import Digest
from recollect.model.insights.nodes import NODE_KINDS, Decision, Episode, Link, Node
from recollect.model.insights.signals import SIGNAL_KINDS, Signal
from recollect.model.sessions import Session
from recollect.store.bodies import compress, unpack
from recollect.store.connection import REBUILD_HINT, PooledReader
from recollect.store.context_rows import replaced_in_learnings, restated_at, taken_back, taken_back_at
from recollect.store.rows import Condition, Terms, marks_for
from recollect.store.sessions import containing

PATHS_CHARS = 8_000


class Base(NamedTuple):
    """What a session came to up to `through_seq`, before which its events are gone or not whole any more (evicted).

    digest None: they went before they were analysed.
    """

    through_seq: int
    digest: Digest | None
    signals: list[Signal]
    nodes: list[Node]
    recorded_at: dict[str, int]


class AnalysisDraft(NamedTuple):
    """What one session gave, ready to be kept.

    digest None: the session holds nothing that could be analysed (all of it is our own, or hidden). recorded_at: by
    node id, when its evidence was first seen, UTC microseconds. change_id: how far in the change log it looked.
    """

    session: Session
    scheme: int
    digest: Digest | None
    signals: Sequence[Signal]
    nodes: Sequence[Node]
    recorded_at: Mapping[str, int]
    change_id: int
    event_count: int


class SavedCounts(NamedTuple):
    """What keeping an analysis changed."""

    new: int = 0
    changed: int = 0
    revoked: int = 0


class KeptNode(NamedTuple):
    """A stored node.

    recorded_at: when its evidence was first seen; revoked_at: since when its session no longer gives it, None while it
    does. Both UTC microseconds.
    """

    node: Node
    repo: str
    recorded_at: int
    revoked_at: int | None = None


class KeptLink(NamedTuple):
    """A stored link between decisions; times as in `KeptNode`."""

    link: Link
    recorded_at: int
    revoked_at: int | None = None


class KeptDecision(NamedTuple):
    """A decision as it is kept, and what it has to do with others. taken_back_at: when the person took it back in words
    that gave a learning or a verdict; until then it held."""

    decision: Decision
    repo: str
    recorded_at: int
    revoked_at: int | None = None
    taken_back_at: int | None = None
    links: tuple[KeptLink, ...] = ()

    @property
    def over_at(self) -> int | None:
        """Since when it does not hold any more, None while it does."""
        return _earlier(self.revoked_at, self.taken_back_at)


class RepoNodes(NamedTuple):
    """What relating reads of one repository. lineage: (parent, root) uids by session."""

    decisions: list[Decision]
    episodes: list[Episode]
    lineage: dict[str, tuple[str, str]]
    recorded_at: dict[str, int]


class NodeFilter(NamedTuple):
    """Which nodes. Empty: all that are not revoked.

    repos: as in `EventFilter`. sessions: exact uids. after/before: UTC microseconds, [after, before).
    """

    kinds: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    after: int | None = None
    before: int | None = None
    with_revoked: bool = False


class EditedPath(NamedTuple):
    """A path that episodes of a repository changed. last_at: UTC microseconds, 0 for no time."""

    repo: str
    path: str
    episodes: int
    last_at: int


class AnalysisCounts(NamedTuple):
    """The progress of analysis. unfit: analyses of another scheme. sessions: sessions with an analysis."""

    sessions: int
    unfit: int
    nodes: int
    revoked: int


class KeptSignals(NamedTuple):
    """The signals of one kind of one session."""

    session_uid: str
    repo: str
    signals: list[Signal]


_encode = msgspec.json.Encoder().encode
_decode_node: Callable[[bytes], Node] = late_call(lambda: msgspec.json.Decoder(Node).decode)
_decode_signals = late_call(lambda: msgspec.json.Decoder(list[Signal]).decode)


def pack_node(node: Node) -> bytes:
    """Return the stored form of a node; the same node gives the same bytes."""
    return compress(_encode(node))


def unpack_node(data: bytes) -> Node:
    """Return the node of its stored form. Raises StoreCorrupt."""
    return unpack(data, _decode_node, "a stored node is", hint=REBUILD_HINT)


def pack_signals(signals: list[Signal]) -> bytes:
    """Return the stored form of signals."""
    return compress(_encode(signals))


def unpack_signals(data: bytes) -> list[Signal]:
    """Return signals of their stored form. Raises StoreCorrupt."""
    return unpack(data, _decode_signals, "stored signals are", hint=REBUILD_HINT)


MAX_RELATED = 20_000
"""Decisions, and episodes, of one repository that are related; the newest."""
_BATCH = 500
_DECISION = NODE_KINDS.index("decision")
_EPISODE = NODE_KINDS.index("episode")
_LAST = "\U0010ffff"
decode_digest = late_call(lambda: msgspec.json.Decoder(Digest).decode)
_decode_link = late_call(lambda: msgspec.json.Decoder(Link).decode)
decode_decision = late_call(lambda: msgspec.json.Decoder(Decision).decode)


class InsightReader(PooledReader):
    """Reads insights. Never blocked by the writer; safe from many threads."""

    def digest(self, uid: str) -> Digest | None:
        """Return the digest of a session by uid or a unique prefix."""
        rows: list[Any] = self._db.execute("SELECT json FROM digests WHERE session_uid = ?", (uid,)).fetchall()
        if not rows and uid:
            rows = self._db.execute(
                "SELECT json FROM digests WHERE session_uid >= ? AND session_uid < ? LIMIT 2", (uid, uid + _LAST)
            ).fetchall()
        return decode_digest(rows[0][0]) if len(rows) == 1 else None

    def digests(self, uids: Iterable[str]) -> Iterator[Digest]:
        """Yield the digests of sessions by exact uid, in that order, unknown ones left out."""
        with self._reading() as db:
            for uid in uids:
                text = db.execute("SELECT json FROM digests WHERE session_uid = ?", (uid,)).get
                if text is not None:
                    yield decode_digest(text)

    def signals(self, kinds: Iterable[str], where: NodeFilter) -> Iterator[KeptSignals]:
        """Yield signals by kind, session by session. Of the filter `repos` and `sessions` count."""
        with self._reading() as db:
            condition, values = _of_analyses(db, where)
            for kind in kinds:
                rows: list[Any] = db.execute(
                    "SELECT analysis.number, session_uid, repo FROM signal JOIN analysis ON number = signal.analysis "
                    f"WHERE signal.kind = ? AND {condition} ORDER BY session_uid",
                    [SIGNAL_KINDS.index(kind), *values],
                ).fetchall()
                for number, uid, repo in rows:
                    data = db.execute(
                        "SELECT data FROM signal WHERE kind = ? AND analysis = ?", (SIGNAL_KINDS.index(kind), number)
                    ).get
                    if data is not None:
                        yield KeptSignals(uid, repo, unpack_signals(data))

    def nodes(self, where: NodeFilter, *, limit: int | None = None) -> Iterator[KeptNode]:
        """Yield nodes: session by session in order of uid, each session's in canonical order."""
        with self._reading() as db:
            condition, values = _of_analyses(db, where)
            terms, bound = _of_nodes(where)
            numbers: list[Any] = db.execute(
                f"SELECT number, repo FROM analysis WHERE {condition} ORDER BY session_uid", values
            ).fetchall()
            left = limit
            for number, repo in numbers:
                rows: list[Any] = db.execute(
                    f"SELECT data, recorded_at, revoked_at FROM node WHERE analysis = ? AND {terms} "
                    "ORDER BY kind, place, id LIMIT ?",
                    [number, *bound, -1 if left is None else left],
                ).fetchall()
                for data, recorded_at, revoked_at in rows:
                    yield KeptNode(unpack_node(data), repo, recorded_at, revoked_at)
                if left is not None:
                    left -= len(rows)
                    if left <= 0:
                        return

    def episodes_with(self, file_name: str) -> list[KeptNode]:
        """Return the episodes that changed a file of this name, in any folder; nothing revoked."""
        if not file_name:
            return []
        # Where the column is nearly full, what it leaves out may have the name.
        rows: list[Any] = self._db.execute(
            "SELECT data, repo, recorded_at FROM node JOIN analysis ON analysis.number = node.analysis "
            "WHERE node.kind = ? AND revoked_at IS NULL AND (instr(paths, ?) OR length(paths) > ?) ORDER BY id",
            (_EPISODE, file_name, PATHS_CHARS // 2),
        ).fetchall()
        kept = [KeptNode(unpack_node(data), repo, recorded_at) for data, repo, recorded_at in rows]
        return [one for one in kept if isinstance(one.node, Episode) and _has_name(one.node, file_name)]

    def edited_paths(self, repos: tuple[str, ...]) -> list[EditedPath]:
        """Return the paths that episodes of repositories changed, as these write them; those of most episodes first.

        repos: as in `EventFilter`. A path that was cut off with the end of a long column is left out.
        """
        found: dict[tuple[str, str], list[int]] = {}
        condition, values = _of_analyses(self._db, NodeFilter(repos=repos))
        rows: Iterable[Any] = self._db.execute(
            "SELECT repo, paths, coalesce(ts, 0) FROM node JOIN analysis ON analysis.number = node.analysis "
            f"WHERE node.kind = ? AND revoked_at IS NULL AND paths <> '' AND {condition}",
            [_EPISODE, *values],
        )
        for repo, paths, ts in rows:
            names = paths.split("\n")
            for path in names[:-1] if len(paths) > PATHS_CHARS // 2 else names:
                found.setdefault((repo, path), []).append(ts)
        edited = [EditedPath(repo, path, len(times), max(times)) for (repo, path), times in found.items()]
        return sorted(edited, key=lambda one: (-one.episodes, -one.last_at, one.repo, one.path))

    def decisions(
        self, *, repos: tuple[str, ...] = (), sessions: tuple[str, ...] = (), words: tuple[str, ...] = (),
        ids: tuple[str, ...] = (), after: int | None = None, before: int | None = None,
    ) -> list[KeptDecision]:  # fmt: skip
        """Return decisions with their links, revoked ones too, in order of id; `episodes_of` tells what they led to.

        words: each must stand in the statement, the options or the reasons, in any case. ids: beginnings of ids, one is
        enough. after, before: times in [after, before), UTC microseconds.
        """
        found = _kept_decisions(self._db, NodeFilter((), repos, sessions, after, before), words, ids)
        links = _links(self._db, {repo for _, repo, *_ in found}, [row[0].id for row in found])
        held: dict[str, list[KeptLink]] = {}
        for kept in links:
            held.setdefault(kept.link.older, []).append(kept)
            held.setdefault(kept.link.newer, []).append(kept)
        return [KeptDecision(*row, links=tuple(held.get(row[0].id, ()))) for row in found]

    def episodes_of(self, decisions: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the episodes that decisions led to, in order of id; those of none are left out."""
        return _episodes_of(self._db, list(decisions))

    def statements_of(self, decisions: Collection[str]) -> dict[str, str]:
        """Return what decisions say by their exact ids, whatever became of them."""
        found: dict[str, str] = {}
        for names in _batches(sorted(decisions)):
            rows: Iterable[Any] = self._db.execute(f"SELECT data FROM node WHERE id IN ({marks_for(names)})", names)
            kept = [unpack_node(data) for (data,) in rows]
            added: Iterable[Any] = self._db.execute(
                f"SELECT json FROM added_decision WHERE id IN ({marks_for(names)})", names
            )
            kept += [decode_decision(text) for (text,) in added]
            found.update((node.id, node.statement) for node in kept if isinstance(node, Decision))
        return found

    def paths_of(self, episodes: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the paths of episodes by id."""
        found: dict[str, tuple[str, ...]] = {}
        for names in _batches(sorted(episodes)):
            rows: Iterable[Any] = self._db.execute(
                f"SELECT id, paths FROM node WHERE id IN ({marks_for(names)})", names
            )
            found.update((name, tuple(paths.split("\n")) if paths else ()) for name, paths in rows)
        return found

    def repo_nodes(self, repo: str) -> RepoNodes:
        """Return what relating needs of a repository, nothing revoked, added decisions too."""
        lineage: dict[str, tuple[str, str]] = {
            uid: (parent, root)
            for uid, parent, root in self._db.execute(
                "SELECT session_uid, parent_uid, root_uid FROM analysis WHERE repo = ? ORDER BY session_uid",
                (repo,),
            )
        }
        decisions = decisions_of(self._db, repo)
        episodes = _nodes_of(self._db, repo, _EPISODE)
        recorded_at = {node.id: at for node, at in (*decisions, *episodes)}
        return RepoNodes([node for node, _ in decisions], [node for node, _ in episodes], lineage, recorded_at)

    def counts(self, scheme: int) -> AnalysisCounts:
        """Return how far distilling is."""
        # A count always gives its one row.
        analysed: Any = self._db.execute(
            "SELECT count(*), coalesce(sum(scheme <> ?), 0) FROM analysis", (scheme,)
        ).fetchone()
        kept: Any = self._db.execute("SELECT count(*), coalesce(sum(revoked_at IS NOT NULL), 0) FROM node").fetchone()
        return AnalysisCounts(*analysed, *kept)


def decisions_of(db: apsw.Connection, repo: str) -> list[tuple[Decision, int]]:
    """Return the decisions of a repository that are not revoked, added ones too, and when each was recorded."""
    added: list[Any] = db.execute(
        "SELECT json, added_at FROM added_decision WHERE repo = ? AND revoked_at IS NULL ORDER BY id", (repo,)
    ).fetchall()
    return [*_nodes_of(db, repo, _DECISION), *((decode_decision(text), at) for text, at in added)]


def outdone_in(db: apsw.Connection, repo: str) -> list[tuple[str, str]]:
    """Return which decisions of a repository another one supersedes or reverses: (older, newer)."""
    return list(
        db.execute(
            "SELECT older, newer FROM link WHERE repo = ? AND revoked_at IS NULL "
            "AND relation IN ('supersedes', 'reverses')",
            (repo,),
        )
    )


def _nodes_of(db: apsw.Connection, repo: str, kind: int) -> list[tuple[Any, int]]:
    rows: list[Any] = db.execute(
        "SELECT data, recorded_at FROM node WHERE analysis IN (SELECT number FROM analysis WHERE repo = ?) "
        "AND kind = ? AND revoked_at IS NULL AND origin = 0 ORDER BY ts DESC, id LIMIT ?",
        (repo, kind, MAX_RELATED),
    ).fetchall()
    return [(unpack_node(data), at) for data, at in rows]


def _has_name(episode: Episode, file_name: str) -> bool:
    return any(path.replace("\\", "/").rpartition("/")[2] == file_name for path in episode.paths)


def _kept_decisions(
    db: apsw.Connection, where: NodeFilter, words: tuple[str, ...], ids: tuple[str, ...]
) -> list[tuple[Decision, str, int, int | None, int | None]]:
    """Return (decision, repo, recorded_at, revoked_at, taken_back_at), those of transcripts and those added.

    One whose words gave a learning that a person corrected or retired is taken back since then, and one that had said
    the same in other words, and one of which only a learning took the place.
    """
    more = "".join(" AND instr(subject, ?)" for _ in words)
    wanted: list[Any] = [word.casefold() for word in words]
    if ids:
        more += f" AND ({' OR '.join('id >= ? AND id < ?' for _ in ids)})"
        wanted += [bound for name in ids for bound in (name, name + _LAST)]
    bounds = [(term, at) for term, at in ((">= ?", where.after), ("< ?", where.before)) if at is not None]
    times = [at for _, at in bounds]
    condition, values = _of_analyses(db, where)
    rows: list[Any] = db.execute(
        "SELECT data, repo, recorded_at, revoked_at FROM node JOIN analysis ON analysis.number = node.analysis "
        f"WHERE node.kind = ? AND {condition}{more}{''.join(f' AND node.ts {term}' for term, _ in bounds)}",
        [_DECISION, *values, *wanted, *times],
    ).fetchall()
    # Put in order here: SQLite would carry the nodes along.
    found: list[tuple[Any, str, int, int | None]] = sorted(
        ((unpack_node(row[0]), *row[1:]) for row in rows), key=lambda row: row[0].id
    )
    condition, values = _of_analyses(db, where, table="added_decision")
    added: list[Any] = db.execute(
        f"SELECT json, repo, added_at, revoked_at FROM added_decision WHERE {condition}{more}"
        f"{''.join(f' AND added_at {term}' for term, _ in bounds)} ORDER BY id",
        [*values, *wanted, *times],
    ).fetchall()
    unsaid, replaced = taken_back(db), replaced_in_learnings(db)
    rows = (
        db.execute(
            "SELECT older FROM link WHERE revoked_at IS NULL AND relation IN ('supersedes', 'reverses')"
        ).fetchall()
        if replaced
        else []
    )
    outdone = {older for (older,) in rows}  # a link tells of it already
    kept = [*found, *((decode_decision(row[0]), *row[1:]) for row in added)]
    return [
        (
            decision,
            repo,
            recorded_at,
            revoked_at,
            _earlier(
                _earlier(taken_back_at(decision, unsaid), restated_at(decision, (repo,), unsaid)),
                None if decision.id in outdone else taken_back_at(decision, replaced),
            ),
        )
        for decision, repo, recorded_at, revoked_at in kept
    ]


def _earlier(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _links(db: apsw.Connection, repos: Collection[str], ids: Collection[str]) -> list[KeptLink]:
    """Return the links of repositories: where few decisions are wanted, only theirs."""
    ends, values = "", list[str]()
    if len(ids) <= _BATCH:
        ends, values = f" AND (older IN ({marks_for(ids)}) OR newer IN ({marks_for(ids)}))", [*ids, *ids]
    found: list[KeptLink] = []
    for batch in _batches(sorted(repos)):
        rows: Iterable[Any] = db.execute(
            f"SELECT json, recorded_at, revoked_at FROM link WHERE repo IN ({marks_for(batch)}){ends} "
            "ORDER BY older, newer, relation",
            [*batch, *values],
        )
        found += [KeptLink(_decode_link(text), *times) for text, *times in rows]
    return found


def _episodes_of(db: apsw.Connection, decisions: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the episodes that decisions led to, in order of id."""
    found: dict[str, tuple[str, ...]] = {}
    for names in _batches(decisions):
        rows: Iterable[Any] = db.execute(
            f"SELECT source, episode FROM node WHERE source IN ({marks_for(names)}) AND revoked_at IS NULL "
            "ORDER BY source, episode",
            names,
        )
        for source, episode in rows:
            found[source] = (*found.get(source, ()), episode)
    return found


def _of_analyses(db: apsw.Connection, where: NodeFilter, *, table: str = "analysis") -> Condition:
    """Return the condition over a table with `repo` and `session_uid`."""
    terms = Terms()
    if where.repos:
        terms.one_of(f"{table}.repo", containing(db, "repo", where.repos, table=table))
    if where.sessions:
        terms.one_of(f"{table}.session_uid", where.sessions)
    return terms.condition


def _of_nodes(where: NodeFilter) -> Condition:
    terms = Terms() if where.with_revoked else Terms("revoked_at IS NULL")
    if where.kinds:
        terms.one_of("kind", map(NODE_KINDS.index, where.kinds))
    terms.given(("ts >= ?", where.after), ("ts < ?", where.before))
    return terms.condition


def _batches(names: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(names), _BATCH):
        yield names[start : start + _BATCH]
