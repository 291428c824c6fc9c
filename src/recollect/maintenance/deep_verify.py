"""`verify --deep`: derives everything again and compares it with what is stored."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.keys import HomeKeys, load_keys
from recollect.clock import now_us
from recollect.errors import EmbeddingUnavailable, IndexUnavailable, StoreCorrupt
from recollect.index.text.refresh import documents_of, entry_documents, in_batches
from recollect.ingest.embedding import embedder_of
from recollect.ingest.ingester import Ingester
from recollect.ingest.rebuild import rederive
from recollect.maintenance.index_verify import (
    MAX_DIFFERENCES,
    PartCheck,
    compare_entries,
    compare_entry_vectors,
    compare_index,
    compare_passages,
    compare_vectors,
)
from recollect.maintenance.reports import DeepDifference, DeepPart
from recollect.model.events import Event
from recollect.model.insights.nodes import kind_of_node
from recollect.model.sessions import Session
from recollect.paths import DATABASE_NAME
from recollect.privacy.redact import redactor_of
from recollect.store.home import Home
from recollect.store.insights import InsightReader, NodeFilter
from recollect.store.lock import IngestLock
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter
from recollect.store.snapshots import compare
from recollect.store.store import Store
from recollect.store.writer import open_writer

if TYPE_CHECKING:
    from recollect.ingest.analysis import Analyst
    from recollect.ingest.home import OpenHome

_PAGE = 500
_TOLD_OF_ONE = 5
SessionProgress = Callable[[int, int], None]
"""(sessions done, sessions in all)"""
_encode = msgspec.json.Encoder().encode
_NOT_DERIVED = (
    "discovered_at", "ingested_at", "analyzed_at", "evicted_at", "outcome", "outcome_reason", "defect_count",
)  # fmt: skip
"""Of a session: when things were done, and what analysing says of it."""

_RETOLD = ("session_start", "lifecycle")
"""Kinds of events that say what holds for all records behind them."""


def compare_events(
    present: Reader, derived: Reader, *, progress: SessionProgress | None = None
) -> tuple[PartCheck, PartCheck]:
    """Compare every session and event of a store with those of a new derivation.

    Events are matched by the record's name and their part. Their number in the session (`seq`) must be the same,
    because it is cited. Evicted sessions are skipped; of sources with holes every derived event must be in the
    database, but may say less than before.
    """
    cut = frozenset(row.source_id for row in present.ledgers() if row.holes)
    sessions, events = PartCheck("sessions"), PartCheck("events")
    others = {session.session_uid: session for session in sessions_of(derived)}
    all_of_them = list(sessions_of(present))
    for done, session in enumerate(all_of_them, 1):
        other = others.pop(session.session_uid, None)
        if session.evicted_at is not None:
            sessions.skipped += 1
        elif other is None:
            sessions.differs(session.session_uid, "is no longer in the archive")
        else:
            try:
                is_whole = _compare_events_of(session.session_uid, present, derived, events, cut=cut)
            except StoreCorrupt as error:
                events.differs(session.session_uid, str(error))
                is_whole = False
            if is_whole:
                _compare_session(session, other, sessions)
            else:
                sessions.skipped += 1
        if progress is not None:
            progress(done, len(all_of_them))
    for uid in others:
        sessions.differs(uid, "is in the archive, not in the database")
    return sessions, events


def sessions_of(reader: Reader) -> Iterator[Session]:
    """Yield every session of a store."""
    offset = 0
    while True:
        page, total = reader.sessions(EventFilter(), limit=_PAGE, offset=offset)
        yield from page
        offset += len(page)
        if not page or offset >= total:
            return


def _compare_session(session: Session, other: Session, check: PartCheck) -> None:
    check.checked += 1
    mine, theirs = (msgspec.structs.asdict(one) for one in (session, other))
    fields = [name for name in mine if name not in _NOT_DERIVED and mine[name] != theirs[name]]
    if fields:
        check.differs(session.session_uid, f"says otherwise: {', '.join(fields)}")


def _compare_events_of(uid: str, present: Reader, derived: Reader, check: PartCheck, *, cut: frozenset[str]) -> bool:
    """Compare the events of one session; return whether none of it was deleted. cut: sources with holes.

    Facts that a deleted record stated for all after it now come from the first of these; after a hole nothing is added
    to a session, so the database need not have it.
    """
    expected: dict[tuple[str, int], list[_Derived]] = defaultdict(list)
    retold: dict[tuple[str, int], int] = defaultdict(int)
    for event in derived.events(uid, limit=None, include_hidden=True):
        expected[event.event_id, event.part].append(_Derived(event.seq, _content(event)))
        retold[event.event_id, event.part] += event.kind in _RETOLD and event.location.source_id in cut
    told = 0
    is_whole = True
    for event in present.events(uid, limit=None, include_hidden=True):
        is_cut = event.location.source_id in cut
        is_whole = is_whole and not is_cut
        same_name = expected.get((event.event_id, event.part), [])
        mine = _Derived(event.seq, _content(event))
        same = next((one for one in same_name if one == mine), None)
        same = same or next((one for one in same_name if one.content == mine.content), None)
        if same is not None:
            same_name.remove(same)
        if same == mine or (same is not None and is_cut):
            check.checked += 1
            continue
        if same is not None:
            why = f"would become #{same.seq} when it is derived"
        elif same_name:
            same_name.pop()
            why = "says otherwise when it is derived"
        else:
            why = "is not derived"
        if is_cut:
            check.skipped += 1
            continue
        check.checked += 1
        told += 1
        if told <= _TOLD_OF_ONE:
            check.differs(f"{uid}#{event.seq}", f"{event.kind} {why} from the archive")
    unneeded = sum(min(len(left), retold[name]) for name, left in expected.items())
    check.skipped += unneeded
    missing = sum(map(len, expected.values())) - unneeded
    if missing:
        check.differs(uid, f"{missing:,} events of the archive are not in the database")
    if told > _TOLD_OF_ONE:
        check.differs(uid, f"{told - _TOLD_OF_ONE:,} more events differ")
    return is_whole


class _Derived(NamedTuple):
    """A newly derived event: its number and content."""

    seq: int
    content: bytes


def _content(event: Event) -> bytes:
    """Return what an event says, without its number."""
    return _encode(msgspec.structs.replace(event, seq=0))


FOLDER = "verify"
"""Where the second database is made, below the home; it goes when the check ends."""
Progress = Callable[[str, int, int], None]
"""(what is done, done, in all)"""
_OF_ANALYSES = ("conversation", "decision", "episode")
"""Kinds of nodes that one session gives by itself; bindings come of several."""


def verify_deep(memory: OpenHome, progress: Progress | None = None) -> tuple[DeepPart, ...]:
    """Derive the database again from the archive, as a rebuild does, and compare; then index, vectors and digests.

    Holds the ingest lock, so nothing is ingested meanwhile. Needs room for a second database.

    Raises:
        StoreLocked: another process is ingesting. KeyUnavailable, DiskFull, StoreError, ArchiveError: as named.
    """
    home = Home(memory.home)
    with IngestLock(memory.home):
        keys = load_keys(home.keys)
        parts = list(_compare_database(memory, home, keys, progress))
        parts.append(_told("index", lambda: _index(memory, home)))
        parts.append(_told("vectors", lambda: _vectors(memory, home)))
        parts.append(_told("digests", lambda: _digests(memory, home, keys, progress)))
        return tuple(parts)


def _told(name: str, look: Callable[[], DeepPart]) -> DeepPart:
    """Return what a part finds. A store that is too damaged to be held against anything is what it finds then."""
    try:
        return look()
    except StoreCorrupt as error:
        check = PartCheck(name)
        check.differs(DATABASE_NAME, str(error))
        return check.part()


def _compare_database(memory: OpenHome, home: Home, keys: HomeKeys, progress: Progress | None) -> Iterator[DeepPart]:
    with _derived(memory, home, keys, progress) as derived:
        with Store.open(derived, memory.config.privacy, texts_of=home) as store:
            show = None if progress is None else lambda done, total: progress("comparing sessions", done, total)
            for check in compare_events(memory.reader(), store.reader, progress=show):
                yield check.part()
        for found in compare(memory.home, derived, limit=MAX_DIFFERENCES):
            told = tuple(
                DeepDifference(
                    d.name, f"the database says {d.present or 'nothing'}, the archive {d.derived or 'nothing'}"
                )
                for d in found.differences
            )
            yield DeepPart(found.part, ok=not told, checked=found.rows, skipped=0, count=len(told), differences=told)


@contextmanager
def _derived(memory: OpenHome, home: Home, keys: HomeKeys, progress: Progress | None) -> Iterator[Path]:
    """Give a temporary home with a database derived again from this one's archive."""
    folder = memory.home / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    show = None if progress is None else lambda done, total: progress("deriving anew", done, total)
    try:
        domains = memory.config.repos.domains
        with (
            Archive.open(home.archive, keys, read_only=True) as archive,
            open_writer(folder, domains=domains, own_folder=memory.home, numbers_of=memory.home) as writer,
        ):
            ingester = Ingester.of_archive(writer, archive)
            ingester.lost = []  # `verify` names what is damaged; here it shows as a difference
            rederive(archive, redactor_of(keys.marker_key, memory.config.privacy), ingester, show)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _index(memory: OpenHome, home: Home) -> DeepPart:
    reader = memory.reader()
    check = compare_index(home.index, reader.events_for_index(), documents_of)
    if reader.entries.has_changes():
        check.notes.append("the latest notes are not indexed yet, so entries were not compared")
    else:
        for shard in reader.entries.shards():
            batches = in_batches(reader.entries.of_shard(shard))
            compare_entries(check, home.index, shard, (doc for batch in batches for doc in entry_documents(batch)))
    return check.part()


def _vectors(memory: OpenHome, home: Home) -> DeepPart:
    from recollect.index.vectors.contextual import IDENTITY, ContextualModel, weights_path
    from recollect.index.vectors.vector_index import EntryVectorIndex, VectorIndex
    from recollect.store.passages import PassageStore

    config = memory.config.embedding
    if config.model == "off":
        check = PartCheck("vectors")
        check.notes.append("switched off in the configuration")
        return check.part()
    opened = Store.open(memory.home, memory.config.privacy)
    try:
        feed = opened.feed
        embedder, with_samples = embedder_of(config, memory.env), not config.api
        check = compare_vectors(VectorIndex.open(home.vectors, embedder, store=feed), feed, with_samples=with_samples)
        entries = EntryVectorIndex(home.vectors, embedder, feed)
        compare_entry_vectors(entries, feed.entries, check, with_samples=with_samples)
        if config.contextual and with_samples and weights_path() is not None:
            with closing(PassageStore(home.vectors, model=IDENTITY, derivation_id=feed.derivation_id())) as store:
                compare_passages(store, feed, cache(ContextualModel), check)
        return check.part()
    except (IndexUnavailable, EmbeddingUnavailable) as error:
        check = PartCheck("vectors")
        check.differs("vectors", str(error))
        return check.part()
    finally:
        opened.close()


def _digests(memory: OpenHome, home: Home, keys: HomeKeys, progress: Progress | None) -> DeepPart:
    """Analyse every analysed session again; its digest and the ids of its nodes must come out the same."""
    from recollect.ingest.analysis import Analyst, scheme_of
    from recollect.store.insight_feed import SessionFeed

    check = PartCheck("digests")
    redactor = redactor_of(keys.marker_key, memory.config.privacy)
    with (
        Archive.open(home.archive, keys, read_only=True) as archive,
        SessionFeed(memory.home, archive, redactor) as feed,
    ):
        analyst = Analyst(feed, memory.config)
        due = feed.due(scheme=scheme_of(memory.config), now_us=now_us(), idle_us=0)
        waiting = {*due.uids}
        sessions = [one for one in sessions_of(memory.reader()) if one.analyzed_at is not None]
        for done, session in enumerate(sessions, 1):
            if session.evicted_at is not None or session.session_uid in waiting:
                check.skipped += 1
            else:
                _compare_analysis(analyst, memory.distilled(), session.session_uid, check)
            if progress is not None:
                progress("analysing again", done, len(sessions))
    return check.part()


def _compare_analysis(analyst: Analyst, kept: InsightReader, uid: str, check: PartCheck) -> None:
    from recollect.ingest.analysis import SessionTask

    found = analyst.analyse(SessionTask(uid))
    check.checked += 1
    if found.draft is None:
        check.differs(uid, found.note or "is no longer stored")
        return
    if _encode(found.draft.digest) != _encode(kept.digest(uid)):
        check.differs(uid, "its digest is different when derived again")
    mine = {item.node.id for item in kept.nodes(NodeFilter(kinds=_OF_ANALYSES, sessions=(uid,)))}
    again = {node.id for node in found.draft.nodes if kind_of_node(node) in _OF_ANALYSES}
    if mine != again:
        check.differs(uid, f"{len(mine - again)} of its nodes are not derived again,  {len(again - mine)} are not kept")
