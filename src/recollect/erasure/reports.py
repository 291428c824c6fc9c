"""What is to be forgotten, and what was: counts, and uids only of what is still there."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA_VERSION = 1
ForgetState = Literal["planned", "done", "nothing", "busy"]


class ForgetSelection(msgspec.Struct, frozen=True):
    """What is meant; what is given narrows, and at least one thing is. Times in UTC microseconds, [after, before).

    session: a uid, its unique beginning, or a citation. repo: a name, or a pattern of paths of its root. path: records
    about a file or folder, with the results of the calls that name it. pattern: a regular expression, searched in the
    exact text of every record and in what it says.
    """

    session: str = ""
    repo: str = ""
    after: int | None = None
    before: int | None = None
    path: str = ""
    pattern: str = ""

    @property
    def is_empty(self) -> bool:
        """Nothing is meant."""
        return self == ForgetSelection()

    @property
    def has_records(self) -> bool:
        """Whether single records may be meant, not only whole sessions."""
        return bool(self.path or self.pattern or self.after is not None or self.before is not None)


class SessionToForget(msgspec.Struct, frozen=True):
    """A session that goes, or loses records. is_whole: all of it. because_of: the session that it belongs to."""

    session_uid: str
    repo: str
    started_at: int | None
    is_whole: bool
    events: int
    because_of: str = ""


class NoteToForget(msgspec.Struct, frozen=True):
    """Something learned or noted that goes too: its name (`learning:ID`), and what it says, "" once it is gone."""

    name: str
    text: str = ""


class ForgetReport(msgspec.Struct):
    """What would be, or was, forgotten.

    state: planned (a dry run), done, nothing (nothing is meant by this), busy (another process is ingesting). sessions:
    with their uids before it is done; afterwards they are only counted. records: single ones, beside whole sources.
    events: with those that are hidden behind others. written: learnings, notes, documents and decisions added by hand
    that go though no session does with them. learned: what was learned and noted that goes, with its text before it is
    done. files: the agents' own files that still hold what is forgotten; they are not touched. bytes: of the agents'
    own, taken from the archive; freed_bytes: disk given back. kept_copies: sessions that stay though they continue, or
    were forked from, one that goes.
    """

    state: ForgetState
    sessions: list[SessionToForget] = []
    whole_sessions: int = 0
    partial_sessions: int = 0
    sources: int = 0
    records: int = 0
    events: int = 0
    written: int = 0
    learned: list[NoteToForget] = []
    files: list[str] = []
    bytes: int = 0
    freed_bytes: int = 0
    kept_copies: list[str] = []
    notes: list[str] = []
    seconds: float = 0.0
    schema_version: int = SCHEMA_VERSION


class TombstoneGroup(msgspec.Struct, frozen=True):
    """Tombstones of one forgetting: when (UTC microseconds), of which kind, how many.

    kind: `session`, `event`, `record`, `excluded`, or `written` (what was learned, noted, documented or decided).
    """

    forgotten_at: int
    kind: str
    count: int


class ForgottenList(msgspec.Struct, frozen=True):
    """What was ever forgotten: counts and times only, the newest first."""

    groups: tuple[TombstoneGroup, ...]
    schema_version: int = SCHEMA_VERSION
