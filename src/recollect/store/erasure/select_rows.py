# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Finds what may be forgotten: sessions with their family, sources, and records behind events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from recollect.model.events import Event
from recollect.store.connection import DatabaseHolder, column, of_db, query, store_errors
from recollect.store.context_rows import named_text
from recollect.store.documents import place_of
from recollect.store.entries import read_entry_marks
from recollect.store.erasure.insight_rows import decisions_leaving, done_by, resting_on, taken_back_by
from recollect.store.erasure.note_rows import of_repos, saying
from recollect.store.events import EventRow
from recollect.store.insight_feed import light_events
from recollect.store.insights import unpack_node
from recollect.store.row_keys import EVICTED, span_of, unpack_event_id, unpack_text
from recollect.store.rows import SourceRow
from recollect.store.session_rows import decode_facts
from recollect.store.sessions import int_array
from recollect.store.sources import SOURCE_COLUMNS, source_row

_BATCH = 2_000


class StoredSession(NamedTuple):
    """What of a session tells whether it is meant. is_evicted: raw bytes of it are gone."""

    number: int
    uid: str
    root_uid: str
    parent_uid: str
    agent: str
    native_id: str
    repo: str
    repo_root: str
    cwd: str
    forked_from: str
    resumed_from: str
    started_at: int | None
    ended_at: int | None
    event_count: int
    shard: str
    is_evicted: bool


class EventFact(NamedTuple):
    """Place of a stored event's record, and its time. sha: the first 8 bytes of the record's SHA-256."""

    key: int
    event_id: str
    ts: int | None
    source: int
    revision: int
    record: int
    offset: int
    length: int
    sha: bytes


class SelectionReader(DatabaseHolder):
    """Reads with a connection of its own. Not thread safe; close it."""

    def sessions(self) -> list[StoredSession]:
        """Return every session, in order of uid."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT number, uid, root_uid, parent_uid, agent, native_id, repo, started_at, ended_at, event_count, "
            "shard, evicted_at, facts FROM session ORDER BY uid"
        )
        found = []
        for number, uid, root, parent, agent, native, repo, first, last, count, shard, evicted, blob in rows:
            facts = decode_facts(blob)
            found.append(
                StoredSession(
                    number, uid, root, parent, agent, unpack_text(native), repo, facts.repo_root,
                    facts.cwd_first or facts.cwd, facts.forked_from, facts.resumed_from, first, last, count, shard,
                    evicted is not None,
                )
            )  # fmt: skip
        return found

    def sources(self) -> dict[int, SourceRow]:
        """Return every source by its number."""
        return {row.number: row for row in map(source_row, query(self._db, f"SELECT {SOURCE_COLUMNS} FROM source"))}

    def revisions(self, source: int) -> list[int]:
        """Return the revisions of a source, in order."""
        return column(self._db, "SELECT revision FROM revision WHERE source = ? ORDER BY revision", (source,))

    def sessions_of_sources(self) -> dict[int, set[int]]:
        """Return the numbers of the sessions that each source told of, by the source's number."""
        found: dict[int, set[int]] = {}
        for source, session in self._db.execute("SELECT source, session FROM session_source"):
            found.setdefault(source, set()).add(session)
        return found

    def events(self, session: int) -> Iterator[EventFact]:
        """Yield every stored event of a session, hidden ones too, in order of key."""
        first, last = span_of(session)
        while True:
            with store_errors():
                rows: list[Any] = self._db.execute(
                    "SELECT key, event_id, ts, source, revision, record, offset, length, sha FROM event "
                    "WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?",
                    (first, last, _BATCH),
                ).fetchall()
            for key, event_id, *rest in rows:
                yield EventFact(key, unpack_event_id(event_id), *rest)
            if len(rows) < _BATCH:
                return
            first = rows[-1][0] + 1

    def light(self, uid: str, session: int) -> Iterator[tuple[int, Event]]:
        """Yield (key, event) of a session, hidden ones too; strings stored in the archive are empty.

        Omits events whose body an eviction deleted.
        """
        first, last = span_of(session)
        while True:
            with store_errors():
                rows = [
                    EventRow(*row)
                    for row in self._db.execute(
                        "SELECT key, event_id, part, bits, ts, turn, source, revision, record, offset, length, sha, "
                        "NULL, block, entry, NULL FROM event WHERE key BETWEEN ? AND ? "
                        f"AND NOT bits & {EVICTED} ORDER BY key LIMIT ?",
                        (first, last, _BATCH),
                    )
                ]
                events = light_events(self._db, uid, rows)
            yield from zip((row.key for row in rows), events, strict=True)
            if len(rows) < _BATCH:
                return
            first = rows[-1].key + 1

    def same_words(self, session: int, keys: Collection[int]) -> set[int]:
        """Return the keys of a session's messages with the same words as one of these, in any source."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT key FROM said WHERE session = ?1 AND text_sha IN "
            "(SELECT text_sha FROM said WHERE session = ?1 AND key IN (SELECT value FROM carray(?2)))",
            (session, int_array(keys)),
        )
        return {key for (key,) in rows}

    def told(self, uid: str) -> list[str]:
        """Return what is stored about a session beside its events, as JSON: digests, nodes, added decisions."""
        texts = [
            text
            for (text,) in self._db.execute(
                "SELECT digest.json FROM digest JOIN analysis ON analysis.number = digest.analysis "
                "WHERE session_uid = ?1 UNION ALL SELECT digest FROM eviction WHERE session_uid = ?1",
                (uid,),
            )
            if text
        ]
        rows: Iterable[Any] = self._db.execute(
            "SELECT data FROM node JOIN analysis ON analysis.number = node.analysis WHERE session_uid = ?", (uid,)
        )
        return texts + [msgspec.json.encode(unpack_node(data)).decode() for (data,) in rows]

    def shards_of(self, sessions: Collection[int]) -> set[str]:
        """Return the shards of the index that have the documents of sessions."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT DISTINCT shard FROM session WHERE number IN (SELECT value FROM carray(?))",
            (int_array(sessions),),
        )
        return {shard for (shard,) in rows}

    def sessions_in(self, shards: Collection[str]) -> list[int]:
        """Return the numbers of the sessions whose documents are in shards of the index."""
        marks = ", ".join("?" * len(shards)) or "NULL"
        return column(self._db, f"SELECT number FROM session WHERE shard IN ({marks}) ORDER BY number", tuple(shards))

    def existing(self, keys: Collection[int]) -> set[int]:
        """Return those of some event keys that are stored."""
        return set(
            column(self._db, "SELECT key FROM event WHERE key IN (SELECT value FROM carray(?))", (int_array(keys),))
        )

    entry_marks = of_db(read_entry_marks)
    written_saying = of_db(saying)
    written_of = of_db(of_repos)
    resting_on = of_db(resting_on)
    decisions_leaving = of_db(decisions_leaving)
    done_by = of_db(done_by)
    taken_back_by = of_db(taken_back_by)

    def shown_name(self, name: str) -> str:
        """Return the name by which a learning or note is shown: that of an action is `action:ID`."""
        kind, _, learning_id = name.partition(":")
        if kind != "learning":
            return name
        found: Any = self._db.execute("SELECT json_extract(json, '$.kind') FROM learning WHERE id = ?", (learning_id,))
        return f"action:{learning_id}" if found.get == "action" else name

    def files_of(self, names: Iterable[str]) -> list[str]:
        """Return the paths of those documents that are files in a folder, by their names."""
        places = (place_of(self._db, name) for name in names)
        return [str(Path(place[1], place[2])) for place in places if place is not None and place[1]]

    text_of = of_db(named_text)

    def repos_of_entries(self) -> list[str]:
        """Return the names of the repositories that something was learned, noted or documented of."""
        return [repo for (repo,) in self._db.execute("SELECT DISTINCT repo FROM entry WHERE repo <> ''")]

    def tombstones(self) -> list[tuple[str, int]]:
        """Return (kind, time) of every tombstone; `written`: of learnings, notes, documents and decisions."""
        statement = "SELECT kind, forgotten_at FROM tombstone UNION ALL SELECT 'written', at FROM document_kept_out"
        return list(query(self._db, statement))
