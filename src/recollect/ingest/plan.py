"""Decides what to do with each source: nothing, continue, begin a new revision, or first ingest."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.registry import for_role
from recollect.archive.packs import ChunkPlace, Hole
from recollect.capture.changes import SourceMarks, compare, whole_marks
from recollect.capture.containers.sqlite import FileState
from recollect.capture.discover import FoundSource
from recollect.capture.expand import KnownDocument, split_path
from recollect.capture.replay import is_appended, is_rows
from recollect.capture.scope import Scope
from recollect.capture.sources import ReadableSource, open_found, open_source
from recollect.errors import ArchiveError, RecollectError, SourceError, where_raised
from recollect.ingest.rechecks import Calm, Compared, NamedChunks, Rechecks, compare_whole
from recollect.ingest.report import AgentSync, Skipped
from recollect.ingest.worker.slices import SourceTask
from recollect.ingest.worker.trail import next_revision
from recollect.model.ids import source_id
from recollect.model.records import SourceInfo
from recollect.model.synced import is_foreign
from recollect.store.rows import ChunkReader, SourceRow

_STEP_BYTES = 1024 * 1024
Heal = Callable[[SourceRow, Callable[[], AbstractContextManager[ReadableSource]]], None]


class KnownSources(Protocol):
    """The store's side of planning: a writer, or a reader if nothing is to be written."""

    def sources(
        self, agent: str, *, paths: Sequence[str] | None = None, key: str | None = None
    ) -> dict[str, SourceRow]: ...
    def open_chunks(self, source_id: str, revision: int) -> list[tuple[ChunkPlace, bool]]: ...
    def holes(self, source_id: str, revision: int) -> list[Hole]: ...


class KnownBytes(ChunkReader, NamedChunks, Protocol):
    """The side of the archive that plans need."""


class Planned(NamedTuple):
    """A source to ingest and its approximate size."""

    task: SourceTask
    bytes: int


class Planner:
    """Plans one agent's sources. Of grown files it reads the head, the end and the open tail; a file that was replaced,
    or changed without growing, is compared whole.

    archive: returns what was seen of a source before. scope: the examined part; None: everything. Outside of it only
    stored facts are known.
    """

    def __init__(
        self, adapter: Adapter, writer: KnownSources, report: AgentSync, *, archive: KnownBytes, slice_bytes: int,
        scope: Scope | None = None,
    ) -> None:  # fmt: skip
        self._scope = scope
        self.rechecks: Rechecks | None = None
        """What is to be compared whole later; None: nothing is."""
        self.was_left_out: Callable[[FoundSource], bool] = lambda _item: False
        """Tells sources of which nothing may be ingested, as they are now."""
        self.heal: Heal | None = None
        """Archives again what a known source still has of chunks that are damaged."""
        self._adapter = adapter
        self._writer = writer
        self._archive = archive
        self._report = report
        self._slice_bytes = slice_bytes
        self.touched: list[SourceRow] = []
        """Rows to write though no bytes came: moved, gone, back again, or only their time changed."""
        self.rewritten: list[Planned] = []
        """What was found to differ from the archive when it was compared whole."""
        paths = None if scope is None else sorted(scope.paths)
        sources = writer.sources(adapter.facts.slug, paths=paths)
        self._known = {name: row for name, row in sources.items() if not is_foreign(row.key)}
        self._known_documents = [
            KnownDocument(row.path, row.relative, row.role, row.tail_sha, FileState(row.size, row.mtime_ns, row.inode))
            for row in self._known.values()
            if row.container == "sqlite" and row.status == "active" and row.size >= 0
        ]
        self._by_path = {row.path: row for row in self._known.values()}
        self._by_key: dict[str, list[SourceRow]] = {}
        if scope is None:
            for row in self._known.values():
                self._by_key.setdefault(row.key, []).append(row)

    @property
    def known_roles(self) -> dict[str, str]:
        """Absolute path to role of every source taken before."""
        return {row.path: row.role for row in self._known.values()}

    @property
    def known_documents(self) -> list[KnownDocument]:
        """The documents taken from databases before."""
        return self._known_documents

    @property
    def known_bytes(self) -> int:
        """Bytes of all sources known before."""
        return sum(row.committed_bytes for row in self._known.values())

    def plan(self, found: Sequence[FoundSource], *, present_roots: Sequence[str]) -> list[Planned]:
        """Return the tasks, oldest source first, and settle what needs none."""
        found = self._without_compressed_twins(found)
        paths = {item.path for item in found}
        planned: list[Planned] = []
        for item in found:
            self._report.found += 1
            if item.size == 0 and item.path not in self._by_path:
                self._report.skipped.append(Skipped(item.path, "is empty"))
                continue
            if item.path not in self._by_path and self.was_left_out(item):
                self._report.unchanged += 1
                continue
            try:
                task = self._plan_one(item, paths)
            except SourceError as error:
                self._report.skipped.append(Skipped(item.path, str(error), True))
                continue
            except RecollectError:
                raise
            except Exception as bug:  # noqa: BLE001 - one source must not keep all others out; it is told
                reason = f"could not be compared ({where_raised(bug)}); please report this"
                self._report.skipped.append(Skipped(item.path, reason, True))
                continue
            if task is not None:
                size = item.size - task.seen_bytes if item.share_bytes < 0 else item.share_bytes
                planned.append(Planned(task, max(0, size)))
        self._settle_gone(paths, present_roots)
        return planned

    def _key(self, item: FoundSource) -> str:
        reader = for_role(self._adapter, item.place.role)
        return reader.source_key(SourceInfo.of(item.agent, item.place.role, item.relative))

    def _without_compressed_twins(self, found: Sequence[FoundSource]) -> list[FoundSource]:
        """Where the plain file and its compressed twin both exist, the plain one counts (format notes: Codex)."""
        if not any(item.place.is_compressed for item in found):  # keys are made by the parser, which is loaded for it
            return list(found)
        plain = {self._key(item) for item in found if not item.place.is_compressed}
        return [item for item in found if not (item.place.is_compressed and self._key(item) in plain)]

    def _plan_one(self, item: FoundSource, paths: set[str]) -> SourceTask | None:
        row = self._by_path.get(item.path)
        has_moved = False
        if row is None:
            row = self._moved_here(item, paths)
            has_moved = row is not None
            self._report.moved += has_moved
        if row is None:
            self._report.new += 1
            return self._first_sight(item)
        if self.heal is not None:
            self.heal(row, partial(self._open, item))
        if self._looks_unchanged(row, item):
            self._report.unchanged += 1
            self._offer(row, item)
            if has_moved or row.status != "active" or not self._has_same_state(row, item):
                self._touch(row, item)
            return None
        return self._changed(row, item)

    def _looks_unchanged(self, row: SourceRow, item: FoundSource) -> bool:
        """A document is compared by its mark: its database changes whenever any other document does."""
        if item.document is not None:
            return row.size >= 0 and row.tail_sha == item.document.mark
        return self._has_same_state(row, item)

    @staticmethod
    def _has_same_state(row: SourceRow, item: FoundSource) -> bool:
        return (row.size, row.mtime_ns, row.inode) == (item.size, item.mtime_ns, item.inode)

    def _moved_here(self, item: FoundSource, paths: set[str]) -> SourceRow | None:
        """Find the source that was elsewhere before: same key, its old path gone, its bytes the same."""
        for row in self._of_key(self._key(item)):
            if row.path in paths or row.revision == 0 or self._stands_elsewhere(row):
                continue
            if item.document is not None:
                if row.tail_sha == item.document.mark:
                    self._by_path.pop(row.path, None)
                    return msgspec.structs.replace(row, path=item.path, relative=item.relative)
                continue
            with open_source(item.path, is_compressed=item.place.is_compressed) as source:
                marks = SourceMarks(row.committed_bytes, row.head_sha, row.tail_sha)
                if compare(source, marks, bytes_seen=row.committed_bytes) != "rewritten":
                    self._by_path.pop(row.path, None)
                    return msgspec.structs.replace(row, path=item.path, relative=item.relative)
        return None

    def _of_key(self, key: str) -> list[SourceRow]:
        """Return the sources of a key, wherever they are."""
        if key not in self._by_key and self._scope is not None:
            self._by_key[key] = list(self._writer.sources(self._adapter.facts.slug, key=key).values())
        return self._by_key.setdefault(key, [])

    def _stands_elsewhere(self, row: SourceRow) -> bool:
        """Return whether a source is, or a document may be, in a place that this pass does not examine."""
        if self._scope is None or self._scope.covers(row.path):
            return False
        return os.path.lexists(split_path(row.path, row.role)[0])

    def _first_sight(self, item: FoundSource) -> SourceTask:
        key = self._key(item)
        ordinal = len(self._of_key(key))
        row = SourceRow(
            source_id=source_id(item.agent, key, ordinal),
            agent=item.agent,
            role=item.place.role,
            key=key,
            path=item.path,
            container=item.place.container_name,
            lane=item.place.lane,
            revision=1,
            relative=item.relative,
        )
        self._by_key[key].append(row)
        return self._task(row, item, is_new_revision=True, is_first_sight=True)

    def _changed(self, row: SourceRow, item: FoundSource) -> SourceTask | None:
        places = self._writer.open_chunks(row.source_id, row.revision)
        seen = sum(place.plain for place, _ in places)
        is_quick = self._is_compared_by_its_ends(row, item)
        with self._open(item) as source:
            if is_appended(row.container):
                marks = SourceMarks(row.committed_bytes, row.head_sha, row.tail_sha)
                change = compare(source, marks, bytes_seen=seen)
                goes_on = self._goes_on if is_quick else self._is_as_archived
                if change != "rewritten" and not goes_on(source, [p for p, _ in places], row.committed_bytes):
                    change = "rewritten"
            elif is_rows(row.container):
                # Rows may change anywhere: all that was taken must still stand at the beginning.
                is_same = row.size >= 0 and whole_marks(source, seen).head_sha == row.head_sha
                change = ("appended" if source.read_at(seen, 1) else "unchanged") if is_same else "rewritten"
            else:
                was = SourceMarks(seen, row.head_sha, row.tail_sha)
                change = "unchanged" if whole_marks(source) == was else "rewritten"
        if change == "unchanged":
            self._report.unchanged += 1
            self._touch(row, item)
            return None
        self._report.changed += 1
        if change == "rewritten":
            return self._new_revision(row, item)
        if is_quick and self.rechecks is not None:
            self.rechecks.note(row)
        return self._append(row, item, places, seen)

    def _is_compared_by_its_ends(self, row: SourceRow, item: FoundSource) -> bool:
        """Return whether comparing the ends is enough for now: the file only grew, and its session may continue.

        If the system gives files no numbers, or changing ones, all are compared whole.
        """
        has_grown = item.inode != 0 and item.inode == row.inode and item.size > row.size
        is_quick = is_appended(row.container) and has_grown and not item.place.is_compressed
        return is_quick and not (self.rechecks is not None and self.rechecks.is_over(item))

    def _is_as_archived(self, source: ReadableSource, places: Sequence[ChunkPlace], _committed_bytes: int) -> bool:
        return compare_whole(source, places, self._archive).is_same

    def _offer(self, row: SourceRow, item: FoundSource) -> None:
        """Queue an unchanged file for a whole comparison, if it had none yet."""
        if self.rechecks is not None and is_appended(row.container) and row.number and row.size >= 0:
            self.rechecks.offer(Calm(row, partial(self._compare, row, item), partial(self._differs, row, item)))

    def _compare(self, row: SourceRow, item: FoundSource, start: int, most: int) -> Compared:
        places = [place for place, _ in self._writer.open_chunks(row.source_id, row.revision)]
        try:
            with self._open(item) as source:
                return compare_whole(source, places, self._archive, start=start, most=most)
        except SourceError as error:
            self._report.skipped.append(Skipped(item.path, str(error), True))
            return Compared(True, start)

    def _differs(self, row: SourceRow, item: FoundSource) -> None:
        self._report.unchanged -= 1
        self._report.changed += 1
        self.rewritten.append(Planned(self._new_revision(row, item), item.size))

    def _goes_on(self, source: ReadableSource, places: Sequence[ChunkPlace], committed_bytes: int) -> bool:
        """Return whether the source still has the unfinished record that was archived. The marks end before it."""
        seen = sum(place.plain for place in places)
        try:
            for start in range(committed_bytes, seen, _STEP_BYTES):
                length = min(_STEP_BYTES, seen - start)
                if source.read_at(start, length) != self._archive.read_range(places, start, length):
                    return False
        except ArchiveError:
            return False  # nothing can be added to what cannot be read; a new revision holds all
        return True

    def _append(
        self, row: SourceRow, item: FoundSource, places: list[tuple[ChunkPlace, bool]], seen: int
    ) -> SourceTask:
        closed = [place for place, is_open in places if not is_open]
        row = msgspec.structs.replace(row)
        is_stale = row.parser_version != self._adapter.facts.derived_version or not row.state
        is_stale = is_stale or row.container == "patchlog"
        return self._task(
            row, item, seen_bytes=seen, closed_bytes=sum(p.plain for p in closed), closed_chunks=len(closed),
            open_chunks=[place.plain for place, is_open in places if is_open],
            refold=[place for place, _ in places] if is_stale else [],
            holes=self._writer.holes(row.source_id, row.revision),
        )  # fmt: skip

    def _new_revision(self, row: SourceRow, item: FoundSource) -> SourceTask:
        row = msgspec.structs.replace(
            row, revision=row.revision + 1, committed_bytes=0, records=0, state=b"", turn_index=0,
            trail=next_revision(row.trail),
        )  # fmt: skip
        return self._task(row, item, is_new_revision=True)

    def _task(self, row: SourceRow, item: FoundSource, **how: Any) -> SourceTask:
        """Return a task for a source as it was found now. how: further fields of it."""
        self._observe(row, item)
        return SourceTask(
            source=row, path=item.path, relative=item.relative, is_compressed=item.place.is_compressed,
            document=item.document, slice_bytes=self._slice_bytes, **how,
        )  # fmt: skip

    def _open(self, item: FoundSource) -> AbstractContextManager[ReadableSource]:
        return open_found(
            item.path,
            self._adapter.facts.places,
            item.place.role,
            item.document,
            is_compressed=item.place.is_compressed,
        )

    @staticmethod
    def _observe(row: SourceRow, item: FoundSource) -> None:
        row.size, row.mtime_ns, row.inode = item.size, item.mtime_ns, item.inode
        row.status = "active"

    def _touch(self, row: SourceRow, item: FoundSource) -> None:
        row = msgspec.structs.replace(row, path=item.path, relative=item.relative)
        self._observe(row, item)
        self.touched.append(row)

    def _settle_gone(self, paths: set[str], present_roots: Sequence[str]) -> None:
        """Mark sources whose file is gone. An absent root is not a deletion: the volume may be unmounted."""
        roots = tuple(root.rstrip("/\\") for root in present_roots)
        for path, row in self._by_path.items():
            if path in paths or row.status != "active" or (self._scope is not None and not self._scope.covers(path)):
                continue
            if any(path.startswith((root + "/", root + "\\", root + "#")) for root in roots):
                self._report.gone += 1
                self.touched.append(msgspec.structs.replace(row, status="gone"))
