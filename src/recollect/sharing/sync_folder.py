"""Syncs a memory with others of one person through a shared folder: takes what their machines put there, adds its own.

    sync: ingest what the agents of this machine wrote
    take: archive what is new there, derive it, forget what another machine forgot
    give: batches of what the folder does not have of this machine; then its batches that hold what was forgotten go

Each step can be killed: what was taken is told by the archive, and what was given by the folder.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.keys import load_keys
from recollect.clock import now_us
from recollect.erasure.exclusion import KeepingOut
from recollect.erasure.forget import Opened, Reasons, forget, selector_of
from recollect.erasure.reports import ForgetReport
from recollect.erasure.selection import excluded_repos
from recollect.erasure.tombstones import Forgotten
from recollect.errors import ArchiveCorrupt
from recollect.ingest import operations
from recollect.ingest.distill import DistillingFacet
from recollect.ingest.open_home import OpenHome
from recollect.ingest.received_archives import Received, derive_received
from recollect.ingest.sync import bring_together
from recollect.model.synced import VERSION, BatchHead, SentRevision, SentTombstone
from recollect.sharing.batch_folder import (
    SALT_BYTES,
    BatchFolder,
    BatchKey,
    FolderKeys,
    OpenedBatch,
    RefusedBatch,
    batched,
    by_key,
    content,
    encoded,
    is_stale,
    missing,
    owned,
    part_bytes,
    tombstones_to_send,
)
from recollect.sharing.membership import read_folder_state, write_folder_state
from recollect.store.audit import add_audit
from recollect.store.erasure.select_rows import EventFact, SelectionReader
from recollect.store.home import make_home

Progress = Callable[[str, int, int], None]
"""(what is done now, done, in all)"""
_COUNTED = ("whole_sessions", "partial_sessions", "sources", "records", "events", "bytes")


class FolderReport(msgspec.Struct):
    """What a sync with a folder did, or would do. machines: the others, as people call them. bytes are of transcripts.

    waiting: batches that continue from what is not in the folder yet. forgotten_sessions: that lost something because
    another machine forgot it. removed_batches: of this machine, with what was forgotten here. held_back: sources that
    stay here because a session of theirs is of an excluded repository. refused: files that were passed over.
    """

    folder: str
    machine: str
    is_dry_run: bool = False
    machines: tuple[str, ...] = ()
    received_sessions: int = 0
    received_bytes: int = 0
    sent_sessions: int = 0
    sent_bytes: int = 0
    sent_batches: int = 0
    waiting: int = 0
    forgotten_sessions: int = 0
    removed_batches: int = 0
    held_back: int = 0
    refused: tuple[RefusedBatch, ...] = ()
    notes: list[str] = []


class FolderSync:
    """One sync of a home with a folder. Raises what `run` and `look` do."""

    def __init__(self, home: OpenHome, folder: Path, name: str, keys: Callable[[dict[str, bytes]], FolderKeys]) -> None:
        """name: what this machine is called. keys: makes the keys, given those that are remembered."""
        self._home = home
        self._name = name
        self._state = read_folder_state(home.home)
        self._keys = keys(self._state.keys)
        self._folder = BatchFolder(folder, self._keys)
        self._report = FolderReport(str(folder), name)
        self._excluded = excluded_repos(home.config, home.env)

    def run(self, *, is_remembered: bool | None, progress: Progress) -> FolderReport:
        """Do it. is_remembered: keep the keys, and have the daemon sync with the folder; or neither; None: as it is.

        Raises StoreLocked while another process ingests, UsageError, SourceUnavailable where the folder cannot be used,
        StoreError, ArchiveError, IndexUnavailable.
        """
        key = self._folder.key(secrets.token_bytes(SALT_BYTES))
        if is_remembered is not None:
            keys = {**self._state.keys, **self._keys.masters} if is_remembered else {}
            folder, name = (os.path.abspath(self._report.folder), self._name) if is_remembered else ("", "")
            self._state = msgspec.structs.replace(self._state, keys=keys, folder=folder, name=name)
        make_home(self._home.home)
        write_folder_state(self._home.home, self._state)  # the machine's id is not drawn twice
        self._ingest()
        with self._home.writing() as opened:
            again = self._take(opened, progress)
            self._give(opened, key, progress)
        if again:
            self._report.notes += DistillingFacet(self._home).run(sessions=again).notes
        if self._report.received_bytes or self._report.forgotten_sessions:  # index and analyse it
            self._ingest()
        return self._finished()

    def _ingest(self) -> None:
        report = operations.sync(self._home)
        if report.state != "done":
            self._report.notes += report.notes

    def look(self) -> FolderReport:
        """Say what would be done, without writing anything. Raises as `run`."""
        self._report.is_dry_run = True
        home = self._home
        if not home.is_there() or not home.folders.keys.exists():
            self._look_at_others(lambda _machine, _sent: True)
            return self._finished()
        keys = load_keys(home.folders.keys)
        with home.archive() as archive, SelectionReader(home.home) as stored:
            forgotten = Forgotten.of(keys.forget_key, archive.tombstones())
            self._look_at_others(Received(archive, forgotten).is_wanted)
            own = owned(archive, stored, self._excluded)
            kept, stale = self._own_batches(archive, forgotten)
            parts = missing(own, kept)
            self._report.held_back = own.held_back
            self._report.removed_batches = len(stale)
            self._report.sent_bytes = sum(map(part_bytes, parts))
            self._report.sent_batches = sum(1 for _ in batched(parts))
            sources = {part.revision.entry.source_id for part in parts}
            self._report.sent_sessions = len({uid for one in sources for uid in own.sessions.get(one, ())})
        return self._finished()

    def _others(self) -> list[OpenedBatch]:
        return [batch for batch in self._folder.batches if batch.head.machine != self._state.machine]

    def _finished(self) -> FolderReport:
        self._report.machines = tuple(sorted({batch.head.name for batch in self._others()}))
        self._report.refused = tuple(self._folder.refused)
        return self._report

    # What others have

    def _look_at_others(self, is_wanted: Callable[[str, SentRevision], bool]) -> None:
        sessions: set[str] = set()
        for batch in self._others():
            for sent in batch.head.revisions:
                if is_wanted(batch.head.machine, sent):
                    sessions.update(sent.sessions)
                    self._report.received_bytes += sent.bytes_seen - sent.from_bytes
        self._report.received_sessions = len(sessions)

    def _take(self, opened: Opened, progress: Progress) -> list[str]:
        """Take what is new of other machines; return the uids of sessions to analyse again."""
        privacy = self._home.config.privacy
        report = self._report
        report.notes += bring_together(opened, privacy, at=now_us(), is_bounded=False)
        again = self._forget_too(opened, progress)  # before what comes has holes where bytes are still here
        keeping_out = KeepingOut(opened, self._excluded, now_us=now_us())
        received = Received(opened.archive, keeping_out.forgotten)
        pending = [
            batch
            for batch in self._others()
            if any(received.is_wanted(batch.head.machine, sent) for sent in batch.head.revisions)
        ]
        if pending and self._state.applied:  # what comes may be what another machine has forgotten
            self._state = msgspec.structs.replace(self._state, applied="")
            write_folder_state(self._home.home, self._state)
        self._archive_all(received, pending, progress)
        progress("deriving", 0, 0)
        report.notes += [*received.notes, *derive_received(opened, received, keeping_out, privacy)]
        return [*again, *self._forget_too(opened, progress)]

    def _archive_all(self, received: Received, pending: list[OpenedBatch], progress: Progress) -> None:
        """Archive every batch whose beginning is here, in whatever order they lie there."""
        sessions: set[str] = set()
        done, total = 0, sum(map(_bytes_of, pending))
        while True:
            ready = [
                batch
                for batch in pending
                if any(
                    received.is_wanted(batch.head.machine, sent) and received.can_take(batch.head.machine, sent)
                    for sent in batch.head.revisions
                )
            ]
            if not ready:
                break
            for batch in ready:
                progress("receiving", done, total)
                pending.remove(batch)
                try:
                    parts = list(zip(batch.head.revisions, batch.parts(), strict=True))
                except ArchiveCorrupt as error:
                    self._folder.refuse(batch.path, error)
                    continue
                except OSError as error:
                    self._folder.refuse(batch.path, f"it cannot be read: {error.strerror}")
                    continue
                came = received.take(batch.head, parts)
                self._report.received_bytes += came
                sessions.update(uid for sent, _ in parts for uid in sent.sessions if came)
                done += _bytes_of(batch)
                if any(received.is_wanted(batch.head.machine, sent) for sent in batch.head.revisions):
                    pending.append(batch)
        self._report.received_sessions = len(sessions)
        self._report.waiting = len(pending)

    def _forget_too(self, opened: Opened, progress: Progress) -> list[str]:
        """Forget what other machines have forgotten, where that is not done yet."""
        stones: dict[tuple[str, bytes], dict[bytes, SentTombstone]] = {}
        for batch in self._others():
            if batch.head.tombstones:
                of_machine = stones.setdefault((batch.head.machine, batch.head.forget_key), {})
                of_machine.update({one.id: one for one in batch.head.tombstones})
        theirs = [Forgotten.of(key, found.values()) for (_machine, key), found in stones.items()]
        mark = blake2b(b"".join(sorted(name for found in stones.values() for name in found)), digest_size=16)
        if not theirs or self._state.applied == mark.hexdigest():
            return []
        again = self._forget(opened, theirs, progress)
        self._state = msgspec.structs.replace(self._state, applied=mark.hexdigest())
        write_folder_state(self._home.home, self._state)
        return again

    def _forget(self, opened: Opened, theirs: list[Forgotten], progress: Progress) -> list[str]:
        def has_session(uid: str) -> bool:
            return any(one.has_session(uid) for one in theirs)

        def has_record(uid: str, sha: bytes) -> bool:
            return any(one.has_record(uid, sha) for one in theirs)

        def has_event(uid: str, fact: EventFact) -> bool:
            return has_record(uid, fact.sha) or any(one.has_event(uid, fact.event_id) for one in theirs)

        at, report = now_us(), ForgetReport("done")
        with SelectionReader(opened.home.folder) as stored:
            chosen = selector_of(opened, stored).of_tombstones(has_session, has_event, has_record)
            if chosen.is_empty:
                return []
            again = forget(opened, stored, chosen, Reasons(at), report, tell=progress)
        add_audit(opened.home.folder, "forget", {name: getattr(report, name) for name in _COUNTED}, at=at)
        self._report.forgotten_sessions += report.whole_sessions + report.partial_sessions
        self._report.notes += report.notes
        return again

    # What this machine has

    def _own_batches(self, archive: Archive, forgotten: Forgotten) -> tuple[list[OpenedBatch], list[OpenedBatch]]:
        """Return this machine's batches: those that stay, and those that hold what was forgotten since."""
        revisions = by_key(archive)
        kept: list[OpenedBatch] = []
        stale: list[OpenedBatch] = []
        for batch in self._folder.of(self._state.machine):
            (stale if is_stale(batch, revisions, forgotten) else kept).append(batch)
        return kept, stale

    def _give(self, opened: Opened, key: BatchKey, progress: Progress) -> None:
        """Put batches of what the folder does not have into it; then remove those that hold what was forgotten."""
        archive, report, machine = opened.archive, self._report, self._state.machine
        stones = archive.tombstones()
        kept, stale = self._own_batches(archive, Forgotten.of(opened.keys.forget_key, stones))
        with SelectionReader(opened.home.folder) as stored:
            own = owned(archive, stored, self._excluded)
        parts = missing(own, kept)
        report.held_back = own.held_back
        done, total = 0, sum(map(part_bytes, parts))
        unsent = tombstones_to_send(stones, kept)
        sessions: set[str] = set()
        for batch in [*batched(parts), []]:
            progress("sending", done, total)
            found = content(archive, own, batch, report.notes)
            if found or unsent:
                head = BatchHead(
                    VERSION, machine, self._name, tuple(sent for sent, _ in found),
                    opened.keys.forget_key if unsent else b"", unsent,
                )  # fmt: skip
                self._folder.write(machine, encoded(head, tuple(part for _, part in found), key))
                report.sent_batches += 1
            unsent = ()
            done += sum(map(part_bytes, batch))
            sessions.update(uid for sent, _ in found for uid in sent.sessions)
        for old in stale:
            self._folder.remove(old)
        report.sent_bytes, report.sent_sessions, report.removed_batches = done, len(sessions), len(stale)


def _bytes_of(batch: OpenedBatch) -> int:
    return sum(sent.bytes_seen - sent.from_bytes for sent in batch.head.revisions)
