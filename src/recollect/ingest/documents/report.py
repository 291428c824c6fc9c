"""What a pass over a collection's folder did, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

MOST_TOLD = 200
"""So many files that were not taken are named in a report; `recollect docs show` lists all."""


class NotTaken(msgspec.Struct, frozen=True):
    """A file that was not taken, and why. is_failure: it should have been readable; the next pass tries again."""

    path: str
    reason: str
    is_failure: bool = False


class CollectionReport(msgspec.Struct):
    """What a pass did. Counts are files.

    state: done; absent: the folder is not there now, what was taken stays; interrupted; partly: a bound was reached,
    the next pass goes on; failed: some files could not be read. new, changed, removed: of documents. unchanged: also
    files that were only touched. listed: would be documents, but are never read. failed: could not be read.
    kept_out: were forgotten. bytes: read and taken. batch: see `recollect undo`, "" where nothing can be undone.
    """

    name: str
    folder: str
    state: Literal["done", "absent", "interrupted", "partly", "failed"] = "done"
    is_dry_run: bool = False
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    listed: int = 0
    failed: int = 0
    kept_out: int = 0
    parts: int = 0
    bytes: int = 0
    redactions: int = 0
    seconds: float = 0.0
    batch: str = ""
    not_taken: list[NotTaken] = []
    files: list[str] = []
    """With a dry run: the first of those that would be taken."""
    notes: list[str] = []

    @property
    def has_changed(self) -> bool:
        """Whether anything was taken or removed."""
        return bool(self.new or self.changed or self.removed)

    def leave(self, path: str, reason: str, *, is_failure: bool) -> None:
        """Count a file that was not taken."""
        if is_failure:
            self.failed += 1
        else:
            self.listed += 1
        if len(self.not_taken) < MOST_TOLD:
            self.not_taken.append(NotTaken(path, reason, is_failure))


class DocumentProgress(msgspec.Struct, frozen=True):
    """How far a pass is: files looked at, of them taken, and where it is."""

    collection: str
    seen: int
    taken: int
    path: str = ""


DocumentProgressCallback = Callable[[DocumentProgress], None]
