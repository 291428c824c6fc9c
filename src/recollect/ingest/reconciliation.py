"""Brings archive and database in step after a crash: each gains what only the other one has.

Loaded only where they may differ, see `ingest.sync`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from recollect.agents.registry import adapters
from recollect.archive.archive import sorted_out
from recollect.archive.journal import ArchivedRevision, JournalEntry, burying
from recollect.archive.journal import JournalTombstone as ArchivedTombstone
from recollect.archive.packs import JOURNAL, ChunkPlace
from recollect.capture.replay import is_appended
from recollect.config import PrivacyConfig
from recollect.erasure.copies import vectors_held
from recollect.erasure.cuts import as_archived
from recollect.erasure.exclusion import KeepingOut
from recollect.erasure.forget import Opened, apply_tombstones
from recollect.erasure.tombstones import Forgotten
from recollect.errors import KeyUnavailable
from recollect.index.vectors.embed import LOCK_NAME
from recollect.ingest.archived_slices import Revision, Slice, slices_of
from recollect.ingest.batch_writer import BatchWriter
from recollect.ingest.damage import opens
from recollect.ingest.rebuild import in_turns, rebuild_index_of
from recollect.ingest.worker.trail import next_revision, same_revision
from recollect.model.ids import session_uid
from recollect.privacy.redact import redactor_of
from recollect.units import plural

EXCLUDED = "excluded"
"""The kind of tombstone that depends on the configuration: it is kept in the database alone."""
_TRIED_CHUNKS = 8
_Key = tuple[str, int]


class Compared(msgspec.Struct):
    """What journal and database tell, held against each other.

    revisions: all that either of them has, as the journal should tell of them. must_rewrite: the journal does not.
    untold: how many revisions it tells nothing, less or something else of. behind: what the database does not have.
    moves: chunks that do not open where the database looks for them, and where they do.
    """

    revisions: list[ArchivedRevision]
    others: list[JournalEntry]
    untold: int = 0
    damaged: int = 0
    stones_lacking: bool = False
    behind: list[ArchivedRevision] = []
    moves: list[tuple[ChunkPlace, ChunkPlace]] = []

    @property
    def must_rewrite(self) -> bool:
        """Whether the journal must be written again."""
        return bool(self.untold or self.damaged or self.stones_lacking)


def bring_in_step(opened: Opened, privacy: PrivacyConfig, *, at: int) -> list[str]:
    """Compare archive and database, and put right what differs; return a line on each thing done.

    The caller holds the ingest lock. at: UTC microseconds. Raises KeyUnavailable, StoreError, ArchiveError.
    """
    writer, archive = opened.writer, opened.archive
    notes: list[str] = []
    found = compare(opened)
    if found.moves:
        with writer.transaction():
            writer.removing.holes.move(found.moves)
    if found.damaged or not archive.journal.size_bytes():
        _rewrite(opened, found, notes)
    if _forget_again(opened, notes, at):
        found = compare(opened)
    if found.must_rewrite:
        _rewrite(opened, found, notes)
    if found.behind:
        sessions, lost = derive(opened, found.behind, privacy)
        if sessions:
            derived = plural(len(sessions), "session was", "sessions were")
            notes.append(f"the database was behind its archive: {derived} derived from the archive")
        notes += lost
    with writer.transaction():
        writer.mark_journal(archive.journal.size_bytes())
    archive.condition.leave_packs({JOURNAL})
    return notes


def drop_what_is_ahead(opened: Opened) -> list[str]:
    """The database is an older copy: index and vectors know of events that it does not have. Make them again.

    Before anything new is stored, which would get the same numbers. Raises StoreError, IndexUnavailable.
    """
    home, condition = opened.home, opened.archive.condition
    rebuild_index_of(home, opened.writer, opened.reader)
    if home.vectors.exists():
        with vectors_held(home):
            for path in home.vectors.rglob("*"):
                if path.is_file() and path.name != LOCK_NAME:
                    path.unlink()
    condition.remember(change=opened.writer.last_change())
    return ["the database is an older copy: the search index was rebuilt from it, and so are the vectors"]


def compare(opened: Opened) -> Compared:
    """Hold journal and database against each other. Changes nothing. Raises StoreError, ArchiveError."""
    archive, writer = opened.archive, opened.writer
    rows = {(row.source_id, row.revision): row for row in opened.reader.ledgers()}
    told, others, _ = sorted_out(archive.entries(skip_damaged=True))
    found = Compared([], others, damaged=archive.journal.damaged)
    stones = writer.removing.forgetting.tombstones()
    forgotten = Forgotten.of(opened.keys.forget_key, stones)
    by_key = {}
    for revision in told:
        entry = revision.entry
        is_known = (entry.source_id, entry.revision) in rows or not entry.session
        if not is_known and forgotten.has_session(session_uid(entry.agent, entry.session)):
            found.untold += 1  # an older journal tells of what was forgotten since
            continue
        by_key[entry.source_id, entry.revision] = revision
    for key in {**by_key, **rows}:
        journal, row = by_key.get(key), rows.get(key)
        if journal is None or (row is not None and journal.bytes_seen <= row.bytes_seen):
            journal = _agreed(opened, found, key, journal)
        elif row is None or row.is_refreshing is False:
            found.behind.append(journal)
        if journal is not None:
            found.revisions.append(journal)
    found.revisions.sort(key=lambda r: r.observations[0][1] if r.observations else r.entry.observed_at)
    told_stones = {stone.id for entry in others for stone in entry.tombstones}
    lacking = [ArchivedTombstone(*stone) for stone in stones if stone.kind != EXCLUDED and stone.id not in told_stones]
    if lacking:
        found.others = [*others, burying(lacking)]
        found.stones_lacking = True
    return found


def _agreed(opened: Opened, found: Compared, key: _Key, journal: ArchivedRevision | None) -> ArchivedRevision | None:
    """Return the revision as the journal should have it, with no less than the database; record what is to be done.

    Bytes are only ever deleted, so the side with more holes is newer. If only places differ, a chunk is where it opens:
    one side is from before a compaction.
    """
    stored = _stored(opened, key)
    if stored is None or (journal is not None and journal.chunks == stored.chunks):
        return journal
    if journal is not None and _hole_bytes(journal) > _hole_bytes(stored):
        found.behind.append(journal)
        return journal
    if journal is not None and _names(journal) == _names(stored):
        moves = [
            (ours, theirs)
            for (ours, _), (theirs, _) in zip(stored.chunks, journal.chunks, strict=True)
            if ours != theirs and not opens(opened.archive, ours) and opens(opened.archive, theirs)
        ]
        if moves:
            found.moves += moves
            moved = dict(moves)
            stored.chunks = [(moved.get(place, place), is_open) for place, is_open in stored.chunks]
        if stored.chunks == journal.chunks:
            return journal
    found.untold += 1
    return stored


def _hole_bytes(revision: ArchivedRevision) -> int:
    return sum(place.plain for place, _ in revision.chunks if place.is_hole)


def _names(revision: ArchivedRevision) -> list[bytes]:
    return [place.name for place, _ in revision.chunks]


def _stored(opened: Opened, key: _Key) -> ArchivedRevision | None:
    holes = opened.writer.removing.holes
    known = holes.revision(*key)
    if known is None:
        return None
    chunks = opened.writer.open_chunks(*key)
    return as_archived(known, key[1], chunks, holes.observations(known.source.number, key[1]))


def _rewrite(opened: Opened, found: Compared, notes: list[str]) -> None:
    """Write the journal again, unless the keys are not those of the archive: then nothing in it could be told."""
    archive = opened.archive
    if archive.journal.is_of_other_keys():
        tried = [p for r in found.revisions for p, _ in r.chunks if not p.is_hole][:_TRIED_CHUNKS]
        if not any(opens(archive, place) for place in tried):
            raise KeyUnavailable(
                "the keys of this home are not those of its archive", hint="restore the keys folder from a backup"
            )
    is_missing = not archive.journal.size_bytes()
    archive.rewrite_journal(found.revisions, found.others)
    again = f"it was written again with {plural(len(found.revisions), 'revision')}"
    if found.damaged:
        notes.append(f"the archive's journal was damaged: {again}")
    elif found.untold and is_missing:
        notes.append(f"the archive's journal was missing: {again}")
    elif found.untold:
        notes.append(
            f"the archive's journal told less than the database of {plural(found.untold, 'revision')}, as in a copy of "
            f"a home that was in use: {again}"
        )
    found.untold = found.damaged = 0
    found.stones_lacking = False


def _forget_again(opened: Opened, notes: list[str], at: int) -> bool:
    """What the archive says was forgotten, and the database does not know of, is forgotten in the database too."""
    known = {stone.id for stone in opened.writer.removing.forgetting.tombstones()}
    if all(stone.id in known for stone in opened.archive.tombstones()):
        return False
    report = apply_tombstones(opened, at=at)
    gone = report.whole_sessions + report.partial_sessions
    if gone:
        forgotten = plural(gone, "session that was", "sessions that were")
        notes.append(f"{forgotten} forgotten had come back with an older database: forgotten again")
    return True


def derive(
    opened: Opened, behind: list[ArchivedRevision], privacy: PrivacyConfig, *, keeping_out: KeepingOut | None = None
) -> tuple[set[str], list[str]]:
    """Derive from the archive what the database does not have, in the order in which it was seen; return the uids of
    the sessions, and a line on each source of which not all could be derived.

    keeping_out: promises that the bytes of what is left out go.
    """
    writer, archive = opened.writer, opened.archive
    known = adapters()
    rows = {row.source_id: row for agent in known for row in writer.sources(agent).values()}
    forgotten = Forgotten.of(opened.keys.forget_key, writer.removing.forgetting.tombstones())
    ingester = BatchWriter.of_archive(writer, archive, keeping_out=keeping_out)
    redactor = redactor_of(opened.keys.marker_key, privacy)
    lost: list[str] = []

    def slices(revision: Revision) -> Iterator[Slice]:
        row = rows.get(revision.row.source_id)
        if revision.row.agent not in known or (row is not None and row.revision > revision.row.revision):
            return iter(())
        there = [place for place, _ in revision.chunks if not place.is_hole]
        if there and not any(opens(archive, place) for place in there):
            lost.append(f"{revision.row.path} is in the archive's journal, and none of its bytes can be read")
            return iter(())
        if row is not None and row.revision == revision.row.revision:
            revision.known_bytes = row.committed_bytes
            if row.committed_bytes and is_appended(row.container):
                revision.cuts.append(row.committed_bytes)
            with writer.transaction():
                writer.rewind(row.source_id)
            revision.row.trail = same_revision(row.trail)
        else:
            revision.row.trail = next_revision(row.trail if row is not None else b"")
        return slices_of(archive, redactor, revision, forgotten=forgotten, lost=lost)

    for _revision, (result, places) in in_turns(map(Revision.of, behind), slices):
        ingester.take_archived(result, places)
        rows[result.source.source_id] = result.source
    ingester.flush()
    return ingester.touched_sessions, lost
