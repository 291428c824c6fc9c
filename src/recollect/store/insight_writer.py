# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Writes insights: analyses, summaries of evicted sessions, decisions added by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.model.insights.nodes import NODE_KINDS, Binding, Decision, Episode, Link, Node, kind_of_node
from recollect.model.insights.signals import SIGNAL_KINDS, Signal, kind_of_signal
from recollect.store.connection import RowWriter, open_to_write, query
from recollect.store.insights import (
    PATHS_CHARS,
    AnalysisDraft,
    Base,
    SavedCounts,
    decode_digest,
    pack_node,
    pack_signals,
    unpack_node,
    unpack_signals,
)
from recollect.store.row_keys import SEQ_BITS, SEQ_MASK, UNDONE
from recollect.store.sources import DISTILL, last_change, position_of, take_note


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
    return Base(through, decode_digest(digest) if digest else None, signals, list(nodes.values()), recorded_at)


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
        f"SELECT key & {SEQ_MASK} FROM session JOIN event ON key BETWEEN number << {SEQ_BITS} "
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


OF_SESSION = 0
"""`node.origin`: the analysis of its session gives it."""
OF_RELATING = 1
"""`node.origin`: relating several sessions gives it."""
SUBJECT_CHARS = 2_000
_REASON_CHARS = 400
_NODE = (
    "INSERT INTO node (id, analysis, place, kind, origin, ts, recorded_at, source, episode, paths, subject, data) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET analysis = excluded.analysis, "
    "place = excluded.place, origin = excluded.origin, ts = excluded.ts, recorded_at = excluded.recorded_at, "
    "revoked_at = NULL, source = excluded.source, episode = excluded.episode, paths = excluded.paths, "
    "subject = excluded.subject, data = excluded.data"
)


class _Stored(NamedTuple):
    """What of a stored node tells whether it is as before."""

    place: int
    recorded_at: int
    revoked_at: int | None
    data: bytes


class InsightWriter(RowWriter):
    """The ingester's writer of insights. Inside its transactions."""

    def has_changes(self) -> bool:
        """Return whether the change log has news since the last time. Outside of a transaction too."""
        return last_change(self._db) > position_of(self._db, DISTILL)

    def note_changes(self) -> None:
        """Take what the change log says since the last time, so that it need not keep it for distilling."""
        last, position = last_change(self._db), position_of(self._db, DISTILL)
        if last > position:
            self._db.execute(
                "INSERT INTO waiting SELECT session, max(id) FROM change WHERE id > ? GROUP BY session "
                "ON CONFLICT DO UPDATE SET change_id = excluded.change_id",
                (position,),
            )
            take_note(self._db, DISTILL, last)

    def save(self, draft: AnalysisDraft, *, now_us: int) -> SavedCounts:
        """Keep an analysis: digest, signals, nodes, the session's outcome and `analyzed_at`, all or nothing.

        A node that the session does not give any more stays and is marked revoked. The same analysis again changes
        nothing but `analyzed_at`.
        """
        number = self._save_analysis(draft, now_us)
        self._save_digest(draft, number)
        self._save_signals(draft.signals, number)
        counts = self._save_nodes(draft, number, now_us)
        self._save_session(draft, now_us)
        return counts

    def touched_repos(self) -> list[str]:
        """Return the repositories whose decisions or episodes an analysis changed since they were last related."""
        return [repo for (repo,) in self._db.execute("SELECT repo FROM waiting_repo ORDER BY repo")]

    def relate(
        self, repo: str, links: Sequence[Link], nodes: Sequence[Binding | Decision], *,
        recorded_at: Mapping[str, int], now_us: int,
    ) -> SavedCounts:  # fmt: skip
        """Store how a repository's decisions and episodes relate, and replace what was stored before.

        nodes: bindings, and what people said that ends decisions and is none by itself.
        """
        self._save_links(repo, links, recorded_at, now_us)
        counts = self._save_related(repo, nodes, recorded_at, now_us)
        self._db.execute("DELETE FROM waiting_repo WHERE repo = ?", (repo,))
        return counts

    def _save_analysis(self, draft: AnalysisDraft, now_us: int) -> int:
        session = draft.session
        before = self._db.execute("SELECT repo FROM analysis WHERE session_uid = ?", (session.session_uid,)).get
        if before is not None and before != session.repo:
            self._touch_repo(before)
        number: int = self._db.execute(
            "INSERT INTO analysis "
            "(session_uid, scheme, change_id, event_count, analyzed_at, repo, parent_uid, root_uid) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_uid) DO UPDATE SET scheme = excluded.scheme, "
            "change_id = excluded.change_id, event_count = excluded.event_count, analyzed_at = excluded.analyzed_at, "
            "repo = excluded.repo, parent_uid = excluded.parent_uid, root_uid = excluded.root_uid RETURNING number",
            (
                session.session_uid, draft.scheme, draft.change_id, draft.event_count, now_us, session.repo,
                session.parent_session, session.root_session,
            ),
        ).get  # fmt: skip
        if before is not None and before != session.repo:
            self._touch_repo(session.repo)
        return number

    def _save_digest(self, draft: AnalysisDraft, number: int) -> None:
        keep_base(self._db, draft.session.session_uid)
        if draft.digest is None:
            self._db.execute("DELETE FROM digest WHERE analysis = ?", (number,))
            return
        text = msgspec.json.encode(draft.digest).decode()
        self._db.execute("INSERT OR REPLACE INTO digest VALUES (?, ?)", (number, text))

    def _save_signals(self, signals: Sequence[Signal], number: int) -> None:
        """Replace the signals of a session."""
        by_kind: dict[str, list[Signal]] = {}
        for signal in signals:
            by_kind.setdefault(kind_of_signal(signal), []).append(signal)
        self._db.execute("DELETE FROM signal WHERE analysis = ?", (number,))
        self._db.executemany(
            "INSERT INTO signal VALUES (?, ?, ?, ?)",
            [(SIGNAL_KINDS.index(kind), number, len(found), pack_signals(found)) for kind, found in by_kind.items()],
        )

    def _save_nodes(self, draft: AnalysisDraft, number: int, now_us: int) -> SavedCounts:
        stored = self._stored("analysis = ? AND origin = ?", (number, OF_SESSION))
        counts, is_related = self._put(draft.nodes, draft.recorded_at, stored, analyses=number, origin=OF_SESSION)
        given = {node.id for node in draft.nodes}
        gone = [node_id for node_id, old in stored.items() if node_id not in given and old.revoked_at is None]
        self._revoke(gone, now_us)
        if is_related or gone:
            self._touch_repo(draft.session.repo)
        return counts._replace(revoked=len(gone))

    def _save_related(
        self, repo: str, nodes: Sequence[Binding | Decision], recorded_at: Mapping[str, int], now_us: int
    ) -> SavedCounts:
        condition = "analysis IN (SELECT number FROM analysis WHERE repo = ?) AND origin = ?"
        stored = self._stored(condition, (repo, OF_RELATING))
        rows: Iterable[Any] = self._db.execute("SELECT session_uid, number FROM analysis WHERE repo = ?", (repo,))
        numbers: dict[str, int] = dict(rows)
        kept = [node for node in nodes if node.session_uid in numbers]
        counts, _ = self._put(kept, recorded_at, stored, analyses=numbers, origin=OF_RELATING)
        given = {node.id for node in kept}
        gone = [node_id for node_id, old in stored.items() if node_id not in given and old.revoked_at is None]
        self._revoke(gone, now_us)
        return counts._replace(revoked=len(gone))

    def _put(
        self, nodes: Iterable[Node], recorded_at: Mapping[str, int], stored: Mapping[str, _Stored], *,
        analyses: int | Mapping[str, int], origin: int,
    ) -> tuple[SavedCounts, bool]:  # fmt: skip
        """Write the nodes that are new or not as before; tell whether one of them matters to relating."""
        new = changed = 0
        is_related = False
        rows = []
        for place, node in enumerate(nodes):
            data = pack_node(node)
            seen_at = recorded_at.get(node.id, 0)
            old = stored.get(node.id)
            if old == _Stored(place, seen_at, None, data):
                continue
            is_new = old is None or old.revoked_at is not None
            new += is_new
            is_other = is_new or (old is not None and old.data != data)
            changed += is_other and not is_new
            is_related = is_related or (is_other and isinstance(node, Decision | Episode))
            number = analyses if isinstance(analyses, int) else analyses[node.session_uid]
            rows.append((node.id, number, place, _code(node), origin, node.ts, seen_at, *_columns(node), data))
        self._db.executemany(_NODE, rows)
        return SavedCounts(new, changed), is_related

    def _stored(self, condition: str, values: tuple[Any, ...]) -> dict[str, _Stored]:
        rows: Iterable[Any] = self._db.execute(
            f"SELECT id, place, recorded_at, revoked_at, data FROM node WHERE {condition}", values
        )
        return {node_id: _Stored(*rest) for node_id, *rest in rows}

    def _revoke(self, ids: Sequence[str], now_us: int) -> None:
        self._db.executemany("UPDATE node SET revoked_at = ? WHERE id = ?", [(now_us, node_id) for node_id in ids])

    def _save_links(self, repo: str, links: Sequence[Link], recorded_at: Mapping[str, int], now_us: int) -> None:
        self._db.executemany(
            "INSERT INTO link VALUES (?, ?, ?, ?, ?, NULL, ?) ON CONFLICT DO UPDATE SET repo = excluded.repo, "
            "recorded_at = excluded.recorded_at, revoked_at = NULL, json = excluded.json",
            [
                (
                    x.newer, x.older, x.relation, repo, max(recorded_at.get(x.newer, 0), recorded_at.get(x.older, 0)),
                    msgspec.json.encode(x).decode(),
                )
                for x in links
            ],
        )  # fmt: skip
        gone = set(
            query(self._db, "SELECT older, newer, relation FROM link WHERE repo = ? AND revoked_at IS NULL", (repo,))
        ) - {(x.older, x.newer, x.relation) for x in links}
        self._db.executemany(
            "UPDATE link SET revoked_at = ? WHERE older = ? AND newer = ? AND relation = ?",
            [(now_us, *link) for link in sorted(gone)],
        )

    def _save_session(self, draft: AnalysisDraft, now_us: int) -> None:
        digest = draft.digest
        outcome, reason = "unknown", "nothing in it can be analysed"
        if digest is not None:
            outcome, reason = digest.outcome, "; ".join(digest.outcome_reasons)[:_REASON_CHARS]
        number = self._db.execute(
            "UPDATE session SET analyzed_at = ?, outcome = ?, outcome_reason = ? WHERE uid = ? RETURNING number",
            (now_us, outcome, reason, draft.session.session_uid),
        ).get
        if number is not None:
            self._db.execute("DELETE FROM waiting WHERE session = ? AND change_id <= ?", (number, draft.change_id))
            self._touched.add(number)

    def _touch_repo(self, repo: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO waiting_repo VALUES (?)", (repo,))


def subject_of(decision: Decision) -> str:
    """Return the words by which a decision is found, in one case."""
    options = " ".join(option.text for option in decision.options)
    words = f"{decision.statement} {options} {decision.question} {decision.rationale} {decision.consequences}"
    return " ".join(words.casefold().split())[:SUBJECT_CHARS]


def paths_column(paths: Iterable[str]) -> str:
    """Return paths as stored, one per line; omits those beyond the limit."""
    kept: list[str] = []
    size = 0
    for path in paths:
        size += len(path) + 1
        if size > PATHS_CHARS:
            break
        kept.append(path.replace("\n", " "))
    return "\n".join(kept)


def _code(node: Node) -> int:
    return NODE_KINDS.index(kind_of_node(node))


def _columns(node: Node) -> tuple[str, str, str, str]:
    """Return (source, episode, paths, subject) of a node."""
    if isinstance(node, Binding):
        return node.source, node.episode, "", ""
    if isinstance(node, Episode):
        return "", "", paths_column(node.paths), ""
    if isinstance(node, Decision):
        return "", "", paths_column(node.paths), subject_of(node)
    return "", "", "", ""


def add_decision(home: Path, decision: Decision, *, repo: str, added_at: int) -> None:
    """Keep a decision, and have its repository related again. Waits for the ingester up to the busy timeout.

    Raises StoreLocked, DiskFull, StoreError; then nothing is kept.
    """
    row = (
        decision.id, decision.session_uid, repo, added_at, paths_column(decision.paths), subject_of(decision),
        msgspec.json.encode(decision).decode(),
    )  # fmt: skip
    with open_to_write(home) as db:
        db.execute("INSERT INTO added_decision VALUES (?, ?, ?, ?, NULL, ?, ?, ?)", row)
        db.execute("INSERT OR IGNORE INTO waiting_repo VALUES (?)", (repo,))
