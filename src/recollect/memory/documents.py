"""`memory.documents`: adds, refreshes, lists and removes folders of project documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from recollect.errors import StoreLocked, UnknownName
from recollect.ingest.known_names import nearest
from recollect.memory.facets import HomeFacet
from recollect.store.documents import Collection as StoredCollection
from recollect.store.documents import DocumentCounts, DocumentState, DocumentStore, StoredDocument, document_uid

if TYPE_CHECKING:
    from recollect.ingest.documents import RefreshContext
    from recollect.ingest.report import CollectionReport, DocumentProgressCallback

_NOT_YET = "another process is ingesting; a search finds this when that is done"


class CollectionView(msgspec.Struct, frozen=True):
    """A collection. Times in UTC microseconds.

    folder: "" for documents imported once from elsewhere. documents: searchable files; listed: files that would be
    documents but are never read; failed: unreadable files. bytes: of the documents. checked_at: time of the last
    complete pass, 0 for never. absent_since: since when the folder is missing.
    """

    name: str
    folder: str
    repo: str
    documents: int
    listed: int
    failed: int
    bytes: int
    added_at: int
    checked_at: int
    absent_since: int | None = None


class DocumentView(msgspec.Struct, frozen=True):
    """A file of a collection. path: relative to its folder. uid: its citation, "" if it is not searchable. size in
    bytes.
    """

    path: str
    state: DocumentState
    size: int
    uid: str = ""
    title: str = ""
    parts: int = 0
    reason: str = ""


class CollectionFiles(msgspec.Struct, frozen=True):
    """A collection and its files by path."""

    collection: CollectionView
    files: tuple[DocumentView, ...]


class CollectionRemoved(msgspec.Struct, frozen=True):
    """The result of removing a collection. documents: how many were searchable before."""

    name: str
    documents: int
    notes: tuple[str, ...] = ()


class DocumentsFacet(HomeFacet):
    """The project documents of one memory. Safe from many threads."""

    def add(
        self, folder: Path, *, collection: str = "", is_dry_run: bool = False,
        progress: DocumentProgressCallback | None = None,
    ) -> CollectionReport:  # fmt: skip
        """Take a folder's documents in, and look after them from now on. A folder that is one already is refreshed.

        collection: its name; "": as its project file, repository or folder is called. is_dry_run: say what would be
        taken; nothing is written and no lock is held. Ctrl-C ends it after the file it is at; again continues.
        Raises UsageError, SourceUnavailable as `ingest.documents.collections.propose`; StoreError and its subclasses.
        """
        from recollect.ingest.collections import propose
        from recollect.ingest.documents import ALL, Bounds, refresh_collection

        with self._pass(progress, is_dry_run=is_dry_run) as (context, store):
            proposed = propose(
                str(folder), collection, store.collections(), env=self._home.env, home=str(self._home.home),
                now_us=self._now_us(),
            )  # fmt: skip
            one = proposed.collection
            if is_dry_run:
                report = refresh_collection(context, store, one, Bounds(is_dry_run=True))
            else:
                if proposed.is_new:
                    one = self._begin(store, one)
                report = refresh_collection(context, store, one, ALL)
                self._end(store, one)
        report.notes[:0] = proposed.notes
        if not is_dry_run:
            report.notes += self._index()
        return report

    def refresh(
        self, name: str = "", *, progress: DocumentProgressCallback | None = None
    ) -> tuple[CollectionReport, ...]:
        """Ingest changes of one collection, or of all. Raises UnknownName, StoreError and subclasses."""
        from recollect.ingest.documents import refresh_collection

        if not self._home.is_there():
            if name:
                raise _unknown(name, ())
            return ()
        reports: list[CollectionReport] = []
        with self._pass(progress) as (context, store):
            known = store.collections()
            wanted = [one for one in known if one.folder and name in ("", one.name)]
            if name and not wanted:
                raise _unknown(name, (one.name for one in known))
            for one in wanted:
                reports.append(refresh_collection(context, store, one))
                if reports[-1].state == "interrupted":
                    break
        if reports:  # also where nothing has changed: what a pass that was killed had taken may not be in the index
            reports[-1].notes += self._index()
        return tuple(reports)

    def list(self) -> tuple[CollectionView, ...]:
        """Return the collections by name. Raises StoreError and subclasses."""
        if not self._home.is_there():
            return ()
        with DocumentStore(self._home.home, "read") as store:
            counts = store.counts()
            return tuple(_view(one, counts) for one in store.collections())

    def show(self, name: str) -> CollectionFiles:
        """Return a collection with its files: which are searchable, and why the others are not. Raises UnknownName."""
        if not self._home.is_there():
            raise _unknown(name, ())
        with DocumentStore(self._home.home, "read") as store:
            one = _named(store.collections(), name)
            files = sorted(store.documents(name).values())
            view = _view(one, store.counts())
        return CollectionFiles(view, tuple(_document(name, file) for file in files))

    def remove(self, name: str) -> CollectionRemoved:
        """Remove a collection from the memory; its folder stays. Raises UnknownName."""
        if not self._home.is_there():
            raise _unknown(name, ())
        with DocumentStore(self._home.home) as store:
            _named(store.collections(), name)
            with store.transaction():
                count = store.remove_collection(name)
        return CollectionRemoved(name, count, tuple(self._index()))

    # Inside

    @contextmanager
    def _pass(
        self, progress: DocumentProgressCallback | None, *, is_dry_run: bool = False
    ) -> Iterator[tuple[RefreshContext, DocumentStore]]:
        """Open what a pass needs. The first Ctrl-C asks it to end after the file that it is at."""
        from recollect.archive.keys import home_keys, load_keys
        from recollect.ingest.documents import RefreshContext
        from recollect.ingest.sync import interruptible

        home = self._home
        with interruptible() as stop, ExitStack() as opening:
            if not is_dry_run:
                home.make_keys()
                store, keys = DocumentStore(home.home), load_keys(home.folders.keys)
            elif home.is_there():
                store, keys = DocumentStore(home.home, "read"), load_keys(home.folders.keys)
            else:  # an empty store elsewhere, so that nothing is made here
                folder = opening.enter_context(TemporaryDirectory())
                store, keys = DocumentStore(Path(folder)), home_keys(os.urandom(32))
            opening.enter_context(store)
            yield RefreshContext(home.folders, home.config, keys, self._now_us, stop.is_set, progress), store

    def _begin(self, store: DocumentStore, one: StoredCollection) -> StoredCollection:
        """Keep a new collection, so that a pass which is killed continues with the next `sync`."""
        from recollect.store.notes import new_batch

        made = msgspec.structs.replace(one, batch=new_batch("documents", started_at=one.added_at).id)
        with store.transaction():
            store.save_collection(made)
        return made

    def _end(self, store: DocumentStore, one: StoredCollection) -> None:
        """Keep the run, so that it can be undone; where adding was killed, the next `add` does."""
        from recollect.model.learnings.notes import Batch
        from recollect.store.notes import add_batch

        counts = store.counts().get(one.name)
        if not one.batch or counts is None or not counts.taken:
            return
        about = f"documents of {one.name}"
        batch = Batch(
            id=one.batch, kind="documents", started_at=one.added_at, about=about, counts={"documents": counts.taken}
        )
        with store.transaction():
            add_batch(store.db, batch)

    def _index(self) -> Iterable[str]:
        """Have what changed found at once; return a note where that must wait."""
        from recollect.capture.scope import Scope
        from recollect.ingest.operations import take_changes

        try:
            report = take_changes(self._home, Scope((), agents=()))
        except StoreLocked:
            return [_NOT_YET]
        return report.notes


def _view(one: StoredCollection, counts: Mapping[str, DocumentCounts]) -> CollectionView:
    taken, listed, failed, size = counts.get(one.name, DocumentCounts(0, 0, 0, 0))
    return CollectionView(
        one.name, one.folder, one.repo, taken, listed, failed, size, one.added_at, one.checked_at, one.absent_since
    )


def _document(collection: str, file: StoredDocument) -> DocumentView:
    uid = document_uid(collection, file.path) if file.parts and file.state != "listed" else ""
    return DocumentView(file.path, file.state, file.size, uid, file.title, file.parts, file.reason)


def _named(known: Iterable[StoredCollection], name: str) -> StoredCollection:
    found = {one.name: one for one in known}
    if name not in found:
        raise _unknown(name, found)
    return found[name]


def _unknown(name: str, known: Iterable[str]) -> UnknownName:
    return UnknownName("collection", name, nearest=nearest(name, known), hint="`recollect docs list` lists them")
