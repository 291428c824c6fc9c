"""`verify --deep`: derives everything again and compares it with what is stored."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.keys import HomeKeys, load_keys
from recollect.clock import now_us
from recollect.errors import EmbeddingUnavailable, IndexUnavailable, StoreCorrupt
from recollect.index.text.refresh import documents_of, entry_documents, in_batches
from recollect.index.text.shards import ShardContents
from recollect.index.vectors.contextual import IDENTITY, ContextualModel, weights_path
from recollect.index.vectors.nearest_messages import cosines
from recollect.index.vectors.passages import STAGES, coverage_of, texts_of
from recollect.index.vectors.texts import KINDS, chunks_of, chunks_of_part
from recollect.index.vectors.vector_index import MAX_KEY, EntryVectorIndex, VectorIndex
from recollect.ingest.background_embedding import embedder_of
from recollect.ingest.batch_writer import BatchWriter
from recollect.ingest.rebuild import rederive
from recollect.maintenance.reports import MAX_DIFFERENCES, DeepPart
from recollect.model.events import Event
from recollect.model.insights.nodes import kind_of_node
from recollect.model.sessions import Session
from recollect.paths import DATABASE_NAME
from recollect.privacy.redact import redactor_of
from recollect.store.change_feed import TextFeed
from recollect.store.entries import EntryReader, EntryTexts, key_of_entry
from recollect.store.home import Home, Store
from recollect.store.insights import InsightReader, NodeFilter
from recollect.store.lock import IngestLock
from recollect.store.passages import PassageStore, hash_of
from recollect.store.reader import Reader
from recollect.store.row_keys import ENTRY_BASE, SEQ_BITS, span_of
from recollect.store.rows import EventFilter, IndexDoc, IndexEvent
from recollect.store.snapshots import compare
from recollect.store.writer import open_writer
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.ingest.analysis import Analyst
    from recollect.ingest.open_home import OpenHome


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
) -> tuple[DeepPart, DeepPart]:
    """Compare every session and event of a store with those of a new derivation.

    Events are matched by the record's name and their part. Their number in the session (`seq`) must be the same,
    because it is cited. Evicted sessions are skipped; of sources with holes every derived event must be in the
    database, but may say less than before.
    """
    cut = frozenset(row.source_id for row in present.ledgers() if row.holes)
    sessions, events = DeepPart("sessions"), DeepPart("events")
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


def _compare_session(session: Session, other: Session, check: DeepPart) -> None:
    check.checked += 1
    mine, theirs = (msgspec.structs.asdict(one) for one in (session, other))
    fields = [name for name in mine if name not in _NOT_DERIVED and mine[name] != theirs[name]]
    if fields:
        check.differs(session.session_uid, f"says otherwise: {', '.join(fields)}")


def _compare_events_of(uid: str, present: Reader, derived: Reader, check: DeepPart, *, cut: frozenset[str]) -> bool:
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
        check = DeepPart(name)
        check.differs(DATABASE_NAME, str(error))
        return check


def _compare_database(memory: OpenHome, home: Home, keys: HomeKeys, progress: Progress | None) -> Iterator[DeepPart]:
    with _derived(memory, home, keys, progress) as derived:
        with Store.open(derived, memory.config.privacy, texts_of=home) as store:
            show = None if progress is None else lambda done, total: progress("comparing sessions", done, total)
            yield from compare_events(memory.reader(), store.reader, progress=show)
        for found in compare(memory.home, derived, limit=MAX_DIFFERENCES):
            part = DeepPart(found.part, checked=found.rows)
            for d in found.differences:
                present, derived_now = d.present or "nothing", d.derived or "nothing"
                part.differs(d.name, f"the database says {present}, the archive {derived_now}")
            yield part


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
            ingester = BatchWriter.of_archive(writer, archive)
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
    return check


def _vectors(memory: OpenHome, home: Home) -> DeepPart:
    config = memory.config.embedding
    if config.model == "off":
        check = DeepPart("vectors")
        check.notes.append("switched off in the configuration")
        return check
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
        return check
    except (IndexUnavailable, EmbeddingUnavailable) as error:
        check = DeepPart("vectors")
        check.differs("vectors", str(error))
        return check
    finally:
        opened.close()


def _digests(memory: OpenHome, home: Home, keys: HomeKeys, progress: Progress | None) -> DeepPart:
    """Analyse every analysed session again; its digest and the ids of its nodes must come out the same."""
    from recollect.ingest.analysis import Analyst, scheme_of
    from recollect.store.insight_feed import SessionFeed

    check = DeepPart("digests")
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
    return check


def _compare_analysis(analyst: Analyst, kept: InsightReader, uid: str, check: DeepPart) -> None:
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


SAMPLE_EVERY = 50
"""Of so many events with documents one has its words looked up."""
_WORDS = 8
_BATCH = 500
DocumentsOf = Callable[[Iterable[IndexEvent]], list[IndexDoc]]


def compare_index(folder: Path, events: Iterable[IndexEvent], documents_of: DocumentsOf) -> DeepPart:
    """Hold the shards below a folder against every event of the store, in order of key.

    documents_of: makes the documents of events as the ingester does. Raises StoreError.
    """
    check = DeepPart("index")
    shards: dict[str, ShardContents | None] = {}
    seen: dict[str, int] = Counter()
    for (shard, session), of_session in groupby(events, key=lambda event: (event.shard, event.session)):
        if shard not in shards:
            shards[shard] = _open(folder, shard, check)
        contents = shards[shard]
        if contents is not None:
            seen[shard] += _Session(contents, session, check).compare(_documents(of_session, documents_of))
    for name, contents in shards.items():
        if contents is not None and contents.documents != seen[name]:
            check.differs(name, f"{_documents_are(contents.documents - seen[name])} of sessions that are not stored")
    return check


def compare_entries(check: DeepPart, folder: Path, shard: str, documents: Iterable[IndexDoc]) -> None:
    """Compare one shard with learnings, notes and documents. documents: of all entries of it, in order."""
    contents = _open(folder, shard, check)
    if contents is None:
        return
    seen = sum(
        _Session(contents, number, check).compare(of_entry)
        for number, of_entry in groupby(documents, key=lambda document: document.session)
    )
    if contents.documents != seen:
        check.differs(shard, f"{_documents_are(contents.documents - seen)} of entries that are not stored")


def _documents_are(number: int) -> str:
    return plural(number, "document is", "documents are")


def _open(folder: Path, shard: str, check: DeepPart) -> ShardContents | None:
    try:
        return ShardContents(folder / shard)
    except IndexUnavailable as error:
        check.differs(shard, str(error))
        return None


def _documents(events: Iterable[IndexEvent], documents_of: DocumentsOf) -> Iterator[IndexDoc]:
    batch: list[IndexEvent] = []
    for event in events:
        if event.is_hidden:
            continue
        batch.append(event)
        if len(batch) >= _BATCH:
            yield from documents_of(batch)
            batch = []
    yield from documents_of(batch)


class _Session:
    """One session in its shard."""

    def __init__(self, contents: ShardContents, number: int, check: DeepPart) -> None:
        self._contents = contents
        self._number = number
        self._check = check

    def compare(self, documents: Iterable[IndexDoc]) -> int:
        """Return how many documents the shard has of the session."""
        present = self._contents.keys_of(self._number)
        expected: Counter[int] = Counter()
        for document in documents:
            if document.key not in expected and len(expected) % SAMPLE_EVERY == 0 and document.key in present:
                self._look_up(document)
            expected[document.key] += 1
        self._check.checked += sum(expected.values())
        self._tell(expected - present, "documents of event key {key} are missing")
        self._tell(present - expected, "documents of event key {key} should not be there")
        return sum(present.values())

    def _tell(self, wrong: Mapping[int, int], text: str) -> None:
        for key in wrong:
            self._check.differs(f"{self._contents.name}, session {self._number}", text.format(key=key))

    def _look_up(self, document: IndexDoc) -> None:
        fields: dict[str, Any] = msgspec.json.decode("{" + document.json)
        for field, words in self._contents.words(fields, limit=_WORDS):
            lost = [word for word in words if not self._contents.has(document.key, field, word)]
            if lost:
                self._check.differs(f"{self._contents.name}, session {self._number}", f"words not found: {len(lost)}")


_ENTRIES_AT_A_TIME = 200
LEAST_SIMILARITY = 0.97
"""A vector is kept in eight bits a dimension: its likeness to the one that is made again stays above this."""


def compare_vectors(index: VectorIndex, feed: TextFeed, *, with_samples: bool) -> DeepPart:
    """Hold the vectors against every text that should have some.

    with_samples: some texts are embedded again (not where that costs money). Raises IndexUnavailable, StoreError.
    """
    check = DeepPart("vectors")
    rows = index.rows()
    if rows is None:
        check.notes.append("none are made")
        return check
    covered = set(rows.live_keys().tolist())
    is_stale = index.coverage().is_stale
    for event in feed.events_of_kinds(KINDS, [(1, MAX_KEY)]):
        chunks = chunks_of(event.payload)
        if not chunks:
            continue
        if event.key not in covered:
            if not is_stale:
                check.differs(f"event key {event.key}", "has no vector")
            continue
        covered.remove(event.key)
        if with_samples and check.checked % SAMPLE_EVERY == 0:
            _look_at(event.key, chunks[0], index, check)
        check.checked += 1
    for key in covered:
        check.differs(f"event key {key}", "has a vector and is no text that a search may find")
    if is_stale:
        check.notes.append("some are not made yet: `recollect embed`")
    return check


def compare_entry_vectors(index: EntryVectorIndex, feed: EntryReader, check: DeepPart, *, with_samples: bool) -> None:
    """Hold the vectors of entries against every entry that should have some, as `compare_vectors` does for events.

    What differs, and how many entries were looked at, is added to `check`.
    """
    rows = index.rows()
    if rows is None:
        if index.is_stale():
            check.notes.append("none are made of what was learned, noted and documented: `recollect embed`")
        return
    numbers, marks = rows.marks_by_session()
    kept = dict(zip(numbers.tolist(), marks.tolist(), strict=True))
    keys = set(rows.live_keys().tolist())
    is_stale = index.is_stale()
    after = looked_at = 0
    while batch := feed.marks(after=after, limit=_ENTRIES_AT_A_TIME):
        after = batch[-1][0]
        texts = feed.by_number([number for number, _mark in batch])
        for number, mark in batch:
            if number not in texts:
                continue  # gone meanwhile
            is_same = kept.pop(ENTRY_BASE + number, None) == mark
            chunks = _chunks_by_key(texts[number])
            without = chunks.keys() - keys if is_same else chunks.keys()
            if with_samples:  # what the model knows no sign of has none
                without = {key for key in without if index.asked.vector_of(chunks[key]).any()}
            elif is_same:
                without = set()
            if without and not is_stale:
                check.differs(texts[number].entry.uid, "has no vector of what it says now")
            elif chunks and is_same and with_samples and looked_at % SAMPLE_EVERY == 0:
                key = min(chunks)
                _look_at(key, chunks[key], index, check)
            looked_at += 1
    check.checked += looked_at
    if not is_stale:
        for number in kept:
            check.differs(f"entry {number - ENTRY_BASE}", "has a vector and is not stored")
    else:
        check.notes.append("some of what was learned, noted and documented are not made yet: `recollect embed`")


def _chunks_by_key(one: EntryTexts) -> dict[int, str]:
    """Return the first piece of each part that has one, by the part's key."""
    found: dict[int, str] = {}
    for part in one.parts:
        pieces = chunks_of_part(one.entry, part)
        if pieces:
            found[key_of_entry(one.entry.number, part.part)] = pieces[0]
    return found


def _look_at(key: int, chunk: str, index: VectorIndex, check: DeepPart) -> None:
    found = index.similarities(chunk, [key]).get(key)
    if found is not None and found < LEAST_SIMILARITY:
        name = f"entry {(key >> SEQ_BITS) - ENTRY_BASE}" if key >> SEQ_BITS >= ENTRY_BASE else f"event key {key}"
        check.differs(name, f"its vector is not that of its text (similarity {found:.2f})")


def compare_passages(
    store: PassageStore, feed: TextFeed, model: Callable[[], ContextualModel], check: DeepPart
) -> None:
    """Compare the vectors of passages with the texts of the sessions that were read completely.

    model: returns the model, for samples. Adds differences and the number of examined events to `check`. Raises
    IndexUnavailable, StoreError, EmbeddingUnavailable.
    """
    coverage = coverage_of(feed, store)
    if coverage.is_stale:
        check.notes.append(f"the contextual model has read {coverage.covered} of {coverage.total} sessions")
    if store.position is None or feed.changes_since(store.position, limit=1):
        return
    looked_at = 0
    kinds = [kind for of_stage in STAGES for kind in of_stage]
    for number, stage in store.stages().items():
        for event in feed.events_of_kinds(kinds, [span_of(number)] if stage >= len(STAGES) else []):
            texts = texts_of(event.payload)[1]
            if not texts:
                continue
            hashes = tuple(hash_of(text) for text in texts)
            codes = store.codes(hashes)
            if store.hashes([event.key]).get(event.key) != hashes or codes.keys() != set(hashes):
                check.differs(f"event key {event.key}", "its passages have not the vectors of what it says now")
            elif looked_at % SAMPLE_EVERY == 0:
                (found,) = cosines(model().embed(texts[:1])[0], [codes[hashes[0]]])
                if found < LEAST_SIMILARITY:
                    check.differs(f"event key {event.key}", f"a passage's vector is not of its text ({found:.2f})")
            looked_at += 1
    check.checked += looked_at
