"""The tree of errors that Recollect raises on purpose.

RecollectError            .code (stable), .retryable, .exit_code, .hint
├─ UsageError (2)         ConfigError · UnknownName · AmbiguousName · QueryError
├─ SourceError (3)        SourceUnavailable (retry) · SourceChanged (retry) · SourceRefused
├─ ArchiveError (3)       ArchiveCorrupt · RawGone · KeyUnavailable (retry)
├─ StoreError (3)         StoreLocked (retry) · SchemaTooNew · StoreCorrupt · StoreLost · DiskFull (retry)
│                         BackupUnusable
├─ IndexUnavailable (3)   search falls back and says so; never fatal. EmbeddingUnavailable
├─ EndpointError (3)      EndpointUnavailable (retry) · EndpointRefused · EndpointUnusable
├─ TeamError (3)          TeamUnavailable (retry) · TeamRefused · TeamForbidden
├─ SettingsError (3)      SettingsInvalid · SettingsRefused · SettingsChanged (retry)
└─ BrokenInvariant (3)    a bug of ours: says what was assumed

Not errors: an unknown record (data), unreadable content (`Defect`), nothing found (an answer, exit code 1).
"""

from __future__ import annotations


class RecollectError(Exception):
    """The root of the tree. `str(error)` is one line for people; `hint` says what to do next."""

    code = "error"
    retryable = False
    exit_code = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(RecollectError):
    """An impossible request; exit code 2."""

    code = "usage"
    exit_code = 2


class ConfigError(UsageError):
    """A configuration file or variable has an invalid value."""

    code = "config"

    def __init__(self, message: str, *, key: str = "", allowed: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.key = key
        self.allowed = allowed


class UnknownName(UsageError):
    """A session, agent or other name does not exist; `nearest` may hold similar ones."""

    code = "unknown_name"

    def __init__(self, kind: str, name: str, *, nearest: tuple[str, ...] = (), hint: str = "") -> None:
        near = f"; did you mean {', '.join(nearest)}?" if nearest else ""
        super().__init__(f"no {kind} called {name!r}{near}", hint=hint)
        self.kind = kind
        self.name = name
        self.nearest = nearest


class AmbiguousName(UnknownName):
    """A prefix fits several names; `nearest` holds some of them."""

    def __init__(self, kind: str, name: str, *, nearest: tuple[str, ...]) -> None:
        super().__init__(kind, name, nearest=nearest, hint="write more of it")
        self.args = (f"several {kind}s begin like {name!r}: {', '.join(nearest)}",)


class EventMissing(UnknownName):
    """An event number under which nothing exists any more; the message says why."""

    def __init__(self, name: str, why: str, *, hint: str = "") -> None:
        super().__init__("event", name, hint=hint)
        self.args = (f"event {name} is not shown: {why}",)


class SourceError(RecollectError):
    """An agent's file cannot be ingested now."""

    code = "source"


class SourceUnavailable(SourceError):
    """The source cannot be opened or read (permission, vanished, unmounted)."""

    code = "source_unavailable"
    retryable = True


class SourceChanged(SourceError):
    """The source changed during reading; the next sync ingests it."""

    code = "source_changed"
    retryable = True


class SourceRefused(SourceError):
    """The source is outside the allow-list, leaves its root, or is too large."""

    code = "source_refused"

    def __init__(self, message: str, *, reason: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class ArchiveError(RecollectError):
    """The exact copy cannot be written or read."""

    code = "archive"


class ArchiveCorrupt(ArchiveError):
    """Stored bytes do not match their hash or do not unseal."""

    code = "archive_corrupt"

    def __init__(self, message: str, *, chunk: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint or "run `recollect verify` to see what is affected")
        self.chunk = chunk


class RawGone(ArchiveError):
    """The bytes were deleted on purpose: evicted by retention, or forgotten. Not a defect."""

    code = "raw_gone"


class KeyUnavailable(ArchiveError):
    """The archive is sealed and its key cannot be read."""

    code = "key_unavailable"
    retryable = True


class StoreError(RecollectError):
    """The database cannot be used."""

    code = "store"


class StoreLocked(StoreError):
    """Another process is ingesting or holds the database."""

    code = "store_locked"
    retryable = True


class SchemaTooNew(StoreError):
    """The home was written by a newer version of Recollect."""

    code = "schema_too_new"

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"this memory was written by a newer Recollect (schema {found}, this one knows {known})",
            hint="upgrade recollect, or point RECOLLECT_HOME at another folder",
        )
        self.found = found
        self.known = known


class StoreCorrupt(StoreError):
    """The database is damaged."""

    code = "store_corrupt"


class StoreLost(StoreCorrupt):
    """The database is missing or empty, but the archive is not. No empty database replaces it."""

    code = "store_lost"


class DiskFull(StoreError):
    """No space left; stored data stays, and the next sync continues."""

    code = "disk_full"
    retryable = True


class BackupUnusable(StoreError):
    """A backup is incomplete, damaged, of a newer version, or no backup at all; the memory is unchanged."""

    code = "backup_unusable"


class IndexUnavailable(RecollectError):
    """The search index is missing, damaged or being rebuilt."""

    code = "index_unavailable"
    retryable = True


class EmbeddingUnavailable(IndexUnavailable):
    """Texts cannot be embedded: the model is missing, unreachable or returns invalid vectors."""

    code = "embedding_unavailable"


class EndpointError(RecollectError):
    """An outside model cannot be used. `status`: of its HTTP answer, 0 without one. `kind`: see the subclasses."""

    code = "endpoint"

    def __init__(self, message: str, *, status: int = 0, kind: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.kind = kind


class EndpointUnavailable(EndpointError):
    """The model is unreachable, too slow, too busy, or temporarily broken.

    `kind`: "unreachable", "cut" (the connection broke later), "slow", "rate" (too many questions), "overloaded" or
    "broken". `retry_after_s`: the wait that the server asks for, None without one.
    """

    code = "endpoint_unavailable"
    retryable = True

    def __init__(
        self, message: str, *, status: int = 0, kind: str = "", hint: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, status=status, kind=kind, hint=hint)
        self.retry_after_s = retry_after_s


class EndpointRefused(EndpointError):
    """The server refuses the request. Trying again would not help.

    `kind`: "authentication" (a wrong key, or no right to the model), "quota" (nothing left to spend), "too_large" (the
    question), "request" (anything else: an unknown model, a wrong address).
    """

    code = "endpoint_refused"


class EndpointUnusable(EndpointError):
    """The answer does not have the requested form."""

    code = "endpoint_unusable"


class TeamError(RecollectError):
    """A team's memory cannot be used."""

    code = "team"


class TeamUnavailable(TeamError):
    """The team's server or its database does not answer, or is full; nothing of this request was stored."""

    code = "team_unavailable"
    retryable = True


class TeamRefused(TeamError):
    """The team's server or its database refuses: an expired token, a batch out of order, a role."""

    code = "team_refused"


class TeamForbidden(TeamRefused):
    """A token or invitation is unknown, used, expired or revoked."""

    code = "team_forbidden"


class SettingsError(RecollectError):
    """An agent's settings cannot be changed now; they are unchanged."""

    code = "settings"


class SettingsInvalid(SettingsError):
    """A settings file that its agent could not read (syntax, encoding); `line` counts from 1, 0 if unknown."""

    code = "settings_invalid"

    def __init__(self, message: str, *, line: int = 0, hint: str = "") -> None:
        super().__init__(f"{message} (line {line})" if line else message, hint=hint)
        self.line = line


class SettingsRefused(SettingsError):
    """Our place in a settings file is taken, or it cannot be changed without changing something else."""

    code = "settings_refused"


class SettingsChanged(SettingsError):
    """A settings file changed between plan and writing."""

    code = "settings_changed"
    retryable = True


class BrokenInvariant(RecollectError):
    """A bug in Recollect: `assumed` says which assumption failed."""

    code = "bug"

    def __init__(self, assumed: str) -> None:
        super().__init__(f"internal assumption failed: {assumed}", hint="please report this")
        self.assumed = assumed


def where_raised(bug: BaseException, *, frames: int = 1) -> str:
    """Return type and place of an unexpected exception, innermost first: "KeyError in a.py:3".

    Names and lines of our code, never the exception's text, which may quote a transcript.
    """
    import traceback

    found = traceback.extract_tb(bug.__traceback__)[-frames:]
    places = ", ".join(
        f"{frame.filename.replace(chr(92), '/').rpartition('/')[2]}:{frame.lineno}" for frame in reversed(found)
    )
    return f"{type(bug).__name__} in {places}" if places else type(bug).__name__
