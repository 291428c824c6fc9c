"""Ingests a collection's folder: walk, compare, read, redact, split, write in batches of files.

It needs no ingest lock: everything is written by path, so that two passes at once, or one that was killed and runs
again, come to the same. What cannot be seen now is kept: a folder that is not there, or cannot be listed, may come
back. What was forgotten stays out, told by keyed hashes of its path.

A file is unchanged while its size and both of its times are as they were; else its content decides.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from recollect.archive.keys import HomeKeys
from recollect.capture.document_folders import FoundDocument, WalkRules, project_name, walk, walk_rules
from recollect.config import Config
from recollect.errors import SourceError, SourceUnavailable
from recollect.ingest.collections import Taker, failed_row, listed_row, rules_of
from recollect.ingest.report import CollectionReport, DocumentProgress, DocumentProgressCallback
from recollect.model.learnings.entries import EntryDraft
from recollect.privacy.redact import redactor_of
from recollect.store.documents import Collection as DocumentCollection
from recollect.store.documents import DocumentStore, StoredDocument, document_uid, path_mark, rename_collection
from recollect.store.home import Home
from recollect.units import plural

_GROUP_FILES = 200
_GROUP_CHARS = 1_000_000
"""So much is written in one transaction, which keeps it below 100 ms."""
MOST_DOCUMENTS = 100_000
"""Of one collection: what is known of it is held in memory while a pass looks at it."""
_TELL_EVERY_S = 0.1
_MOMENT_US = 200_000
"""A look that takes no longer is made by every read, and is not worth a write of its own."""
_SHARE = 20
"""A read looks for changes of a folder for at most one part in so many of the time."""


class RefreshContext(NamedTuple):
    """What a pass is given. should_stop: asked between files. never: see `WalkRules`."""

    home: Home
    config: Config
    keys: HomeKeys
    now_us: Callable[[], int]
    should_stop: Callable[[], bool] = lambda: False
    progress: DocumentProgressCallback | None = None

    def rules(self) -> WalkRules:
        """Return what decides which files are documents."""
        return walk_rules(self.config.documents, never=(str(self.home.folder),))


class Bounds(NamedTuple):
    """How much of a folder a pass examines. only: changed paths, each with all below; None: everything. max_bytes:
    the total size to read; the rest waits for the next pass.
    """

    only: Collection[str] | None = None
    max_bytes: int | None = None
    is_dry_run: bool = False


ALL = Bounds()


def refresh_collection(
    context: RefreshContext, store: DocumentStore, collection: DocumentCollection, bounds: Bounds = ALL
) -> CollectionReport:
    """Bring a collection up to date with its folder. Idempotent; may be killed anywhere.

    Raises StoreError and its subclasses; failed files are in the report.
    """
    started, began_at = time.perf_counter(), context.now_us()
    report = CollectionReport(collection.name, collection.folder, is_dry_run=bounds.is_dry_run, batch=collection.batch)
    below = None if bounds.only is None else sorted(set(bounds.only))
    known = store.documents(collection.name, below=below)
    taking_s = 0.0
    absence = _absence(collection.folder, has_documents=bool(known) or below is not None)
    if absence:
        report.state = "absent"
        report.notes.append(f"{collection.folder} {absence}; what was taken of it stays")
    else:
        one = _Pass(context, store, collection, bounds, report, known)
        one.run()
        taking_s = one.taking_s
    report.seconds = time.perf_counter() - started
    if below is None and not bounds.is_dry_run:
        check_us = round((report.seconds - taking_s) * 1e6)
        _keep(context, store, msgspec.structs.replace(collection, checked_at=began_at, check_us=check_us), report)
    return report


def is_due(collection: DocumentCollection, now_us: int) -> bool:
    """Return whether a read should look for changes of a collection: rarely, if that takes long."""
    age_us = now_us - collection.checked_at
    return collection.check_us <= _MOMENT_US or not 0 <= age_us < _SHARE * collection.check_us


def _keep(
    context: RefreshContext, store: DocumentStore, collection: DocumentCollection, report: CollectionReport
) -> None:
    """Write down how it went. collection: with when it was looked at, and how long that took."""
    is_absent = report.state == "absent"
    now = msgspec.structs.replace(
        collection,
        absent_since=(collection.absent_since or collection.checked_at) if is_absent else None,
    )
    is_told = now.absent_since == collection.absent_since
    if is_told and collection.check_us <= _MOMENT_US and not report.has_changed:
        return
    with store.transaction():
        # Somebody may have removed the collection, or given it another folder, meanwhile.
        if any(one.name == now.name and one.folder == now.folder for one in store.collections()):
            store.save_collection(now)


def _absence(folder: str, *, has_documents: bool) -> str:
    """Say why a folder's content is absent, not deleted; "" where it is there. An empty one may be unmounted."""
    try:
        with os.scandir(folder) as entries:
            if next(entries, None) is not None or not has_documents:
                return ""
    except PermissionError as error:
        return f"cannot be read ({error.strerror})"
    except OSError:
        pass
    return "is not there, or empty"


class _Pass:
    """One pass over an existing folder."""

    def __init__(
        self, context: RefreshContext, store: DocumentStore, collection: DocumentCollection, bounds: Bounds,
        report: CollectionReport, known: dict[str, StoredDocument],
    ) -> None:  # fmt: skip
        self._context = context
        self._store = store
        self._collection = collection
        self._bounds = bounds
        self._report = report
        self._known = known
        self._taker = Taker(
            collection, partial(redactor_of, context.keys.marker_key, context.config.privacy),
            key=context.keys.marker_key, max_bytes=context.config.documents.max_file_bytes,
            rules=rules_of(context.config),
        )  # fmt: skip
        self._kept_out = store.kept_out()
        self._rows: list[StoredDocument] = []
        self._drafts: list[EntryDraft] = []
        self._chars = 0
        self._seen: set[str] = set()
        self._beyond = 0
        self._unlisted: list[str] = []
        self._told_at = 0.0
        self.taking_s = 0.0
        """How long reading and writing took."""

    def run(self) -> None:
        """Take what is new or changed, then remove what is gone."""
        report = self._report
        is_whole = True
        for found in walk(self._collection.folder, self._context.rules(), only=self._bounds.only):
            if self._context.should_stop():
                report.state, is_whole = "interrupted", False
                break
            if not self._look(found):
                report.state, is_whole = "partly", False
                break
        self._write()
        if self._beyond:
            report.notes.append(f"left out: {plural(self._beyond, 'file')} beyond the first {MOST_DOCUMENTS:,}")
        if is_whole:
            self._remove_gone()
            if report.failed or self._unlisted:
                report.state = "failed"

    def _look(self, found: FoundDocument) -> bool:
        """Take note of what the walk came by; False where a bound is reached."""
        if found.kind == "folder":
            return True
        if found.kind == "unlisted":
            self._unlisted.append(found.path)
            self._report.leave(found.path or ".", f"cannot be listed: {found.reason}", is_failure=True)
            return True
        if len(self._seen) >= MOST_DOCUMENTS:
            self._beyond += 1
            return True
        if self._kept_out and self._is_kept_out(found.path):
            self._report.kept_out += 1  # not seen: a row that is left of it goes
            return True
        self._seen.add(found.path)
        known = self._known.get(found.path)
        if found.kind == "listed":
            self._list(found, known)
        elif known is not None and _is_as_it_was(known, found) and not self._taker.is_by_other_rules(known):
            if known.state == "listed":
                self._report.leave(found.path, known.reason, is_failure=False)
            else:
                self._report.unchanged += 1
        elif self._bounds.is_dry_run:
            self._would_take(found, known)
        elif self._bounds.max_bytes is not None and self._report.bytes + found.size > self._bounds.max_bytes:
            return False
        else:
            self._take(found, known)
        self._tell(found.path)
        return True

    def _list(self, found: FoundDocument, known: StoredDocument | None) -> None:
        self._report.leave(found.path, found.reason, is_failure=False)
        row = listed_row(found, found.reason, now_us=self._context.now_us())._replace(batch=self._collection.batch)
        if known is None or known._replace(taken_at=row.taken_at) != row:
            self._report.removed += known is not None and known.state != "listed"
            self._add(row, None)

    def _take(self, found: FoundDocument, known: StoredDocument | None) -> None:
        began = time.perf_counter()
        self._take_in(found, known)
        self.taking_s += time.perf_counter() - began

    def _take_in(self, found: FoundDocument, known: StoredDocument | None) -> None:
        try:
            taken = self._taker.take(found, known, now_us=self._context.now_us())
        except SourceError as error:
            if isinstance(error, SourceUnavailable) and not os.path.lexists(self._absolute(found.path)):
                self._seen.discard(found.path)  # gone since it was listed
                return
            self._report.leave(found.path, str(error), is_failure=True)
            row = failed_row(found, known, str(error), now_us=self._context.now_us())
            row = row._replace(batch=self._collection.batch)
            if known is None or known._replace(taken_at=row.taken_at) != row:
                self._add(row, None)
            return
        was_taken = known is not None and bool(known.parts)
        if taken.row.state == "listed":
            self._report.leave(found.path, taken.row.reason, is_failure=False)
            self._report.removed += was_taken
        elif taken.draft is None:
            self._report.unchanged += 1
        else:
            self._report.new += not was_taken
            self._report.changed += was_taken
            self._report.parts += len(taken.draft.texts)
            self._report.bytes += taken.row.size
            self._report.redactions += taken.redactions
        if known != taken.row:
            self._add(taken.row, taken.draft)

    def _would_take(self, found: FoundDocument, known: StoredDocument | None) -> None:
        report = self._report
        report.new += known is None
        report.changed += known is not None
        report.bytes += found.size
        if len(report.files) < MOST_NAMED:
            report.files.append(found.path)

    def _add(self, row: StoredDocument, draft: EntryDraft | None) -> None:
        if self._bounds.is_dry_run:
            return
        self._rows.append(row)
        if draft is not None:
            self._drafts.append(draft)
            self._chars += sum(map(len, draft.texts))
        if len(self._rows) >= _GROUP_FILES or self._chars >= _GROUP_CHARS:
            self._write()

    def _write(self) -> None:
        if self._rows:
            with self._store.transaction():
                # A collection that was removed meanwhile does not come back file by file.
                if any(one.name == self._collection.name for one in self._store.collections()):
                    self._save()
        self._rows, self._drafts, self._chars = [], [], 0

    def _save(self) -> None:
        rows, drafts = self._rows, self._drafts
        self._kept_out = self._store.kept_out()
        if self._kept_out:  # a document may have been forgotten since the pass began
            out = {row.path for row in rows if self._is_kept_out(row.path)}
            uids = {document_uid(self._collection.name, path) for path in out}
            rows = [row for row in rows if row.path not in out]
            drafts = [draft for draft in drafts if draft.uid not in uids]
        self._store.save_documents(self._collection.name, rows, drafts)

    def _remove_gone(self) -> None:
        for group in _grouped(sorted(self._gone())):
            self._report.removed += sum(bool(self._known[path].parts) for path in group)
            if not self._bounds.is_dry_run:
                with self._store.transaction():
                    self._store.remove_documents(self._collection.name, group)

    def _gone(self) -> Iterator[str]:
        """Yield known files that were not seen. Files in a folder that cannot be listed may still exist."""
        prefixes = tuple(f"{path}/" if path else "" for path in self._unlisted)
        for path in self._known.keys() - self._seen:
            if not path.startswith(prefixes) if prefixes else True:
                yield path

    def _is_kept_out(self, path: str) -> bool:
        return path_mark(self._context.keys.forget_key, self._absolute(path)) in self._kept_out

    def _absolute(self, path: str) -> str:
        return os.path.join(self._collection.folder, *path.split("/"))

    def _tell(self, path: str) -> None:
        now = time.monotonic()
        if self._context.progress is not None and now - self._told_at >= _TELL_EVERY_S:
            self._told_at = now
            taken = self._report.new + self._report.changed
            self._context.progress(DocumentProgress(self._collection.name, len(self._seen), taken, path))


MOST_NAMED = 1_000
"""So many files does a dry run name."""


def _is_as_it_was(known: StoredDocument, found: FoundDocument) -> bool:
    """Return whether a file need not be read. One that was never read, for its size say, is read now."""
    is_read = bool(known.content_hmac)
    return is_read and (known.size, known.mtime_ns, known.ctime_ns) == (found.size, found.mtime_ns, found.ctime_ns)


def _grouped(paths: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(paths), _GROUP_FILES):
        yield paths[start : start + _GROUP_FILES]


def take_documents(
    context: RefreshContext, *, changed: Mapping[str, Collection[str]] | None = None, max_bytes: int | None = None
) -> list[CollectionReport]:
    """Bring collections up to date with their folders; return notes on changes and failures.

    changed: changed paths below the folder of each collection, if known; None: everything. max_bytes: for a read, which
    ingests no more than this and looks only if that is due. Raises StoreError and its subclasses.
    """
    with DocumentStore(context.home.folder, "read") as store:
        wanted = [one for one in store.collections() if one.folder and (changed is None or one.name in changed)]
    if max_bytes is not None:
        now_us = context.now_us()
        wanted = [one for one in wanted if is_due(one, now_us)]
    reports: list[CollectionReport] = []
    with DocumentStore(context.home.folder) as store:
        for one in wanted:
            if context.should_stop():
                break
            if changed is None:
                one = _named_anew(store, one)  # noqa: PLW2901
            only = None if changed is None else changed[one.name]
            reports.append(refresh_collection(context, store, one, Bounds(only, max_bytes)))
    return [_brief(report) for report in reports if report.has_changed or report.state != "done"]


def _named_anew(store: DocumentStore, one: DocumentCollection) -> DocumentCollection:
    """Return a collection by the name that its folder's file gives it now, if it had its name from there."""
    said = project_name(one.folder)
    is_its_own = one.named_by != "" or one.name == said.name
    if not said.name or not is_its_own or (said.name, said.file) == (one.name, one.named_by):
        return one
    with store.transaction():
        known = {other.name for other in store.collections()}
        if one.name not in known or (said.name != one.name and said.name in known):
            return one  # it was taken out meanwhile; or another folder has the name: it keeps its own
        renamed = msgspec.structs.replace(one, name=said.name, named_by=said.file)
        rename_collection(store.db, one.name, renamed)
    return renamed


def notes_of(reports: Collection[CollectionReport]) -> list[str]:
    """Return what a person should know of these."""
    notes = [f"collection {one.name}: {note}" for one in reports for note in one.notes]
    for one in reports:
        if one.failed:
            notes.append(
                f"collection {one.name}: {one.failed} of its files could not be read; see `recollect docs show`"
            )
        if one.state == "partly":
            notes.append(f"collection {one.name}: not all of it is ingested yet; run `recollect sync`")
    return notes


def _brief(report: CollectionReport) -> CollectionReport:
    """Leave out what a pass says every time: what is only listed."""
    report.not_taken = [left for left in report.not_taken if left.is_failure]
    return report
