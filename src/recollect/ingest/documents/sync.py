"""What a sync does for project documents: the collections that may have changed, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import msgspec

from recollect.archive.keys import HomeKeys
from recollect.config import Config
from recollect.ingest.documents.report import CollectionReport
from recollect.store.documents import Collection as DocumentCollection
from recollect.store.documents import DocumentStore, rename_collection
from recollect.store.home import Home


class DocumentWish(NamedTuple):
    """What is asked for. changed: paths below the folder of each collection, where it is known what changed; None: all
    of all. max_bytes: a read asks, which takes in no more than this and looks only where that is due."""

    config: Config
    now_us: Callable[[], int]
    should_stop: Callable[[], bool]
    changed: Mapping[str, Collection[str]] | None = None
    max_bytes: int | None = None


def take_documents(home: Home, keys: HomeKeys, wish: DocumentWish) -> list[CollectionReport]:
    """Bring collections in step with their folders; return what there is to say: of changes, of what failed.

    Without a collection this costs one look at the database. Raises StoreError and its kinds.
    """
    if wish.changed is not None and not wish.changed:
        return []
    with DocumentStore(home.folder, "read") as store:
        wanted = [
            one for one in store.collections() if one.folder and (wish.changed is None or one.name in wish.changed)
        ]
    if not wanted:
        return []
    from recollect.ingest.documents.refresh import Bounds, DocumentDesk, is_due, refresh

    if wish.max_bytes is not None:
        now_us = wish.now_us()
        wanted = [one for one in wanted if is_due(one, now_us)]
    desk = DocumentDesk(home, wish.config, keys, wish.now_us, wish.should_stop)
    reports: list[CollectionReport] = []
    with DocumentStore(home.folder) as store:
        for one in wanted:
            if wish.should_stop():
                break
            if wish.changed is None:
                one = _named_anew(store, one)  # noqa: PLW2901
            only = None if wish.changed is None else wish.changed[one.name]
            reports.append(refresh(desk, store, one, Bounds(only, wish.max_bytes)))
    return [_brief(report) for report in reports if report.has_changed or report.state != "done"]


def _named_anew(store: DocumentStore, one: DocumentCollection) -> DocumentCollection:
    """Return a collection by the name that its folder's file gives it now, if it had its name from there."""
    from recollect.capture.document_folders import project_name

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
