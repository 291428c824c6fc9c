"""The check of project documents: are their folders there, could their files be read, was anything found."""

from __future__ import annotations

import os

from recollect.errors import RecollectError
from recollect.maintenance.doctor.context import Desk
from recollect.maintenance.reports import Check
from recollect.store.documents import Collection, DocumentCounts
from recollect.store.sqlite.documents.storage import SqliteDocuments
from recollect.units import plural

_NOTHING = DocumentCounts(0, 0, 0, 0)


def documents(desk: Desk) -> list[Check]:
    """Return a check for each collection that needs a word, else one for all; none where no folder was added."""
    try:
        with SqliteDocuments(desk.folder, "read") as store:
            collections, counts = store.collections(), store.counts()
    except RecollectError as error:
        return [Check("documents", "fail", f"cannot be read: {error}")]
    if not collections:
        return []
    found = [check for one in collections if (check := _trouble(one, counts.get(one.name, _NOTHING))) is not None]
    if found:
        return found
    taken = sum(one.taken for one in counts.values())
    text = f"{plural(taken, 'document')} in {plural(len(collections), 'collection')}"
    return [Check("documents", "ok", text)]


def _trouble(one: Collection, counts: DocumentCounts) -> Check | None:
    """Return what is wrong with a collection, as far as its folder shows now; None for nothing."""
    name = f"documents {one.name}"
    if one.folder and not os.path.isdir(one.folder):
        text = f"{one.folder} is not there; {plural(counts.taken, 'document')} of it can still be found"
        hint = f"mount it again, or `recollect docs remove {one.name}`"
        return Check(name, "warn", text, hint, id="documents")
    if counts.failed:
        text = f"{plural(counts.failed, 'file')} could not be read"
        return Check(name, "warn", text, f"`recollect docs show {one.name}` names them", id="documents")
    if not counts.taken:
        text = "nothing was found in it that is a document"
        if one.folder:
            text = f"nothing was found in {one.folder} that is a document"
        hint = "see docs/documents.md for what is one; `[documents] include` adds others"
        return Check(name, "warn", text, hint, id="documents")
    return None
