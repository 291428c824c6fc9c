"""The result and the progress of a sync."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec

from recollect.errors import IndexUnavailable, RecollectError


class SyncProgress(msgspec.Struct, frozen=True):
    """How far a running sync is. total_bytes is known after discovery. While distilling and learning, sources are
    sessions."""

    stage: Literal["discover", "survey", "redact", "ingest", "index", "distill", "learn", "done"]
    done_bytes: int
    total_bytes: int
    done_sources: int
    total_sources: int
    current: str = ""


ProgressCallback = Callable[[SyncProgress], None]


class Skipped(msgspec.Struct, frozen=True):
    """A source that was not taken, and why (refused, unreadable, empty, disabled, changed while read …).

    is_failure: it should have been readable; the next sync tries again.
    """

    path: str
    reason: str
    is_failure: bool = False


class ImportedSession(msgspec.Struct, frozen=True):
    """What an import does, or would do, with one session.

    state: new, changed (it grew), or skipped, with the reason: too old or not the requested one, so not ingested; too
    few messages, so archived but not indexed. messages: of people and the model. last_message_at: UTC microseconds.
    """

    session_uid: str
    agent: str
    path: str
    state: Literal["new", "changed", "skipped"]
    messages: int
    last_message_at: int | None = None
    reason: str = ""


class AgentSync(msgspec.Struct):
    """What a sync did for one agent."""

    agent: str
    roots: tuple[str, ...] = ()
    found: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    moved: int = 0
    gone: int = 0
    skipped: list[Skipped] = []
    sessions: int = 0
    """Sessions touched."""
    records: int = 0
    events: int = 0
    """New events."""
    replays: int = 0
    unknown: int = 0
    defects: dict[str, int] = {}
    redactions: dict[str, int] = {}
    bytes: int = 0
    """Source bytes read and kept."""
    warnings: list[str] = []


class SyncReport(msgspec.Struct):
    """What a sync did. `state`: done, busy (another process is ingesting), interrupted or degraded."""

    agents: dict[str, AgentSync]
    seconds: float
    bytes: int
    stored_bytes: int
    """Growth of the home on disk."""
    state: Literal["done", "busy", "interrupted", "degraded"] = "done"
    notes: list[str] = []
    untaken: list[Skipped] = []
    """Files in folders that users named which are of no known agent, or were refused."""
    stage_seconds: dict[str, float] = {}
    """CPU seconds per stage, summed over processes."""
    distilled_sessions: int = 0
    """Sessions that were analysed."""
    waiting_sessions: int = 0
    """Sessions under way, which are analysed when they have ended."""
    learned_sessions: int = 0
    """Sessions that were learned from."""
    new_learnings: int = 0
    """What was learned that was not known before."""
    documents: list[CollectionReport] = []
    """Of the collections of project documents: those of which something changed or failed."""
    is_dry_run: bool = False
    """Nothing was written: what would be ingested is in `imported`."""
    imported: list[ImportedSession] = []
    """Of an import: the sessions that were skipped, and why; of a dry run: all that are new or changed, too."""

    def degrade(self, *notes: str) -> None:
        """Say what could not be done; all else goes on."""
        self.state = "degraded"
        self.notes += notes

    @contextmanager
    def despite(self, note: str, kind: type[RecollectError] = IndexUnavailable) -> Iterator[None]:
        """Go on where this fails, and say so. note: with `{}` for the error."""
        try:
            yield
        except kind as error:
            self.degrade(note.format(error))

    @property
    def events(self) -> int:
        """New events over all agents."""
        return sum(a.events for a in self.agents.values())


MOST_TOLD = 200
"""So many files that were not taken are named in a report; `recollect docs show` lists all."""


class NotTaken(msgspec.Struct, frozen=True):
    """A file that was not taken, and why. is_failure: it should have been readable; the next pass tries again."""

    path: str
    reason: str
    is_failure: bool = False


class CollectionReport(msgspec.Struct):
    """The result of a pass. Counts are files.

    state: done; absent: the folder does not exist now, what was ingested stays; interrupted; partly: a limit was
    reached, the next pass continues; failed: some files could not be read. new, changed, removed: of documents.
    unchanged: also files that were only touched. listed: would be documents, but are never read. failed: could not be
    read. kept_out: were forgotten. bytes: read and ingested. batch: see `recollect undo`, "" if nothing can be undone.
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
