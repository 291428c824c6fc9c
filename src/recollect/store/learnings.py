"""What was learned, as the store takes and gives it: typed protocols and plain data, implemented by each backend.

A learning is what all sessions that speak of it say together, and what a person said of it: `Sighting` is one session's
part of that, `Verdict` the person's. Both are kept; `insights.learnings.corroboration` computes the learning
from them.
Work that waits is a `Job` in the same database, so that results and the end of the work are one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol

import msgspec

from recollect.model.insights.nodes import Decision
from recollect.model.learnings.entries import EntryDraft
from recollect.model.learnings.learnings import Learning, LearningEvidence, LearningKind, LearningState, Scope
from recollect.model.learnings.notes import Batch

CONSUMER = "learn"
"""The name under which learning follows the change log."""
BY_RULES = "rules"
"""`Sighting.origin` of what the deterministic extractor found."""
BY_CLOSING = "closing"
"""`Sighting.origin` of what tells that an action was done."""
VERDICT_SCHEMA_VERSION = 1
TURN_GOES_ON = frozenset({"user_message", "thinking", "tool_call", "tool_result", "file_edit"})
TURN_IS_OVER = frozenset({"assistant_message", "session_end"})
"""Kinds of events: the last one that is of either says whether the newest turn of a session is over."""

JobKind = Literal["rules", "model", "relate", "older", "past"]
"""rules: the extractor reads one session. model: a model is asked about some turns. relate: the learnings of one
repository are compared with each other. older: a model is to be asked about a session from before it was configured;
past: about some turns of such a session."""
QUESTIONS: tuple[JobKind, ...] = ("model", "past", "older")
"""Kinds of jobs that a model is asked for, in the order in which it is."""
JobState = Literal["waiting", "running", "parked", "done", "dead"]
"""parked: until the configuration changes; dead: given up, with the reason."""
VerdictName = Literal["said", "confirm", "correct", "retire", "done", "undo"]
"""said: a person or agent wrote it down itself. undo: of the whole run that added it."""


class Sighting(NamedTuple):
    """What one session says of a learning, with that session's evidence. origin: who found it there: `BY_RULES`,
    `BY_CLOSING`, or the key of the job in which a model said so."""

    session_uid: str
    origin: str
    learning: Learning


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a person said of a learning. at: UTC microseconds, later than any before of the same learning.

    reason: their words, redacted. learning: for `said`, what it says. replaced_by: for `correct`, the id of what holds.
    """

    verdict: VerdictName
    at: int
    reason: str = ""
    learning: Learning | None = None
    replaced_by: str = ""
    schema_version: int = VERDICT_SCHEMA_VERSION


class Known(NamedTuple):
    """All that is kept of a learning. kept: what it came to the last time, None for a new one. verdicts: the oldest
    first. is_undone: the run that added it was undone."""

    id: str
    kept: Learning | None
    sightings: tuple[Sighting, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    is_undone: bool = False


class LearningFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which learnings are asked for; empty: all. The newest evidence first.

    repos, paths: exact; what holds for the user everywhere has the repo "". words: each must stand in the text, in any
    case. after, before: UTC microseconds of the newest evidence, [after, before).
    """

    kinds: tuple[LearningKind, ...] = ()
    scopes: tuple[Scope, ...] = ()
    repos: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    states: tuple[LearningState, ...] = ()
    statuses: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    session: str = ""
    batch: str = ""
    after: int | None = None
    before: int | None = None
    limit: int | None = None
    offset: int = 0


class Job(msgspec.Struct, frozen=True):
    """One piece of work. data: what its kind needs, JSON. attempts: with the present one. Times in UTC microseconds."""

    key: str
    kind: JobKind
    session_uid: str
    data: bytes = b"{}"
    made_at: int = 0
    due_at: int = 0
    attempts: int = 0
    reason: str = ""


class JobCounts(NamedTuple):
    """How many jobs there are by kind and state, and since when the oldest one that is due waits."""

    counts: dict[tuple[JobKind, JobState], int]
    oldest_due_at: int | None


class Quarantined(NamedTuple):
    """A text that a model gave and that cannot be used, redacted, and why. at: UTC microseconds."""

    key: str
    session_uid: str
    at: int
    reason: str
    text: str


class LearningReader(Protocol):
    """Asks for what was learned. Never blocked by a writer; safe from many threads."""

    def learnings(self, where: LearningFilter) -> list[Learning]:
        """Return learnings with the evidence that holds, the newest evidence first."""
        ...

    def learning(self, name: str) -> Learning | None:
        """Return a learning by its id, a beginning of it that only one has, or its entry's uid."""
        ...

    def named(self, beginning: str, *, limit: int = 5) -> list[str]:
        """Return the ids that begin so, in order."""
        ...

    def verdicts(self, learning_id: str) -> list[Verdict]:
        """Return what people said of a learning, the oldest first."""
        ...

    def revoked(self, learning_id: str) -> list[LearningEvidence]:
        """Return the evidence that its session does not give any more."""
        ...

    def counts(self) -> dict[tuple[LearningKind, LearningState], int]:
        """Return how many learnings there are, by kind and state."""
        ...

    def jobs(self) -> JobCounts:
        """Return how much work there is."""
        ...

    def dead(self, *, limit: int = 20) -> list[Job]:
        """Return jobs that were given up, the newest first, with the reason."""
        ...

    def quarantined(self, *, limit: int = 20) -> list[Quarantined]:
        """Return what was held back of a model's answers, the newest first."""
        ...

    def quarantined_count(self) -> int:
        """Return how many of them there are."""
        ...

    def note(self, name: str) -> bytes:
        """Return a small value that learning keeps for itself, b"" for none."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...


class LearningStore(Protocol):
    """Keeps what was learned. One thread's; all but `transaction` happens inside one."""

    changed: int
    """How many learnings were written that are not as before: blocks that show them don't hold any more."""

    def transaction(self) -> AbstractContextManager[None]:
        """One short transaction; everything inside is kept or nothing. Does not nest."""
        ...

    def sightings(self, session_uid: str) -> list[Sighting]:
        """Return what a session says now."""
        ...

    def put_sightings(self, put: Sequence[Sighting], remove: Sequence[Sighting]) -> None:
        """Keep what sessions say, and let go of what they don't say any more; the latter's evidence is marked revoked.

        The learnings themselves are for the caller to compute and `save`.
        """
        ...

    def known(self, ids: Collection[str]) -> list[Known]:
        """Return all that is kept of learnings, in order of id. One that nobody speaks of is left out."""
        ...

    def of_repo(self, repo: str, *, limit: int) -> list[str]:
        """Return the ids of the learnings of a repository ("": of the user), the newest evidence first."""
        ...

    def decisions(self, repo: str) -> list[Decision]:
        """Return what was decided in a repository and neither revoked nor undone."""
        ...

    def save(self, learnings: Iterable[Learning], entries: Iterable[EntryDraft], gone: Iterable[str]) -> None:
        """Keep learnings as they came to be, with what a search finds of them. gone: uids of entries to be removed."""
        ...

    def add_verdict(self, learning_id: str, verdict: Verdict) -> None:
        """Keep a verdict, after all that there are of the learning whatever its clock says."""
        ...

    def add_batch(self, batch: Batch) -> None:
        """Keep what can be undone as a whole; again with other counts as the run goes on."""
        ...

    def add_quarantined(self, items: Iterable[Quarantined]) -> None:
        """Keep what cannot be used, once by key."""
        ...

    def note(self, name: str) -> bytes:
        """Return a small value that learning keeps for itself, b"" for none. Outside of a transaction too."""
        ...

    def set_note(self, name: str, value: bytes) -> None:
        """Keep a small value, b"" to remove it."""
        ...


class JobQueue(Protocol):
    """Durable work, at least once. Claims and completions happen inside a transaction of the `LearningStore` that the
    queue belongs to, so that a job's results and its end are one."""

    def has_changes(self) -> bool:
        """Tell whether the change log says something since the last time. Outside of a transaction too."""
        ...

    def note_changes(self, *, now_us: int, least_wait_us: int) -> None:
        """Make a `rules` job of every session that changed, so that the change log need not keep it for learning.

        A session that was read is due again after the time that its size asks for, `least_wait_us` at least.
        """
        ...

    def add_all_sessions(self, *, now_us: int) -> None:
        """Make a `rules` job of every session there is."""
        ...

    def add_older_sessions(self, *, since: int, after: int | None, before: int | None, now_us: int) -> int:
        """Make an `older` job of every session that began before `since`, and in a period if one is given; the newest
        are done first. Return how many were not known. Times in UTC microseconds."""
        ...

    def want_sessions(self, repo: str, *, after: int, but: str, now_us: int) -> None:
        """Have the newest sessions of a repository read again that went on after a time (UTC microseconds), but for
        one: something became known that they may tell more of."""
        ...

    def hasten(self, *, now_us: int) -> None:
        """Have sessions of which the newest turn is over due as soon as their size allows."""
        ...

    def add(self, jobs: Iterable[Job]) -> int:
        """Keep jobs that are not known by key; return how many those are. Done, parked and dead ones stay so."""
        ...

    def want(self, job: Job) -> None:
        """Keep a job, or have the one of this key wait again, due at `due_at` or earlier."""
        ...

    def claim(self, kind: JobKind, *, holder: str, now_us: int, lease_us: int) -> Job | None:
        """Take the job that has waited longest; None where none is due.

        It is the holder's until `now_us + lease_us`; then it is given out again, and after so many attempts as a job
        has it is given up instead. lease_us: the same for all of a kind.
        """
        ...

    def release(self, kind: JobKind, *, now_us: int) -> None:
        """Have jobs of a kind that somebody took wait again: for who knows that nobody else is at work."""
        ...

    def finish(self, job: Job, *, holder: str, data: bytes = b"{}") -> bool:
        """Mark a job as done; False where another holder has it by now: then nothing of it may be kept."""
        ...

    def retry(self, job: Job, *, holder: str, due_at: int, reason: str, is_counted: bool = True) -> None:
        """Have a job wait until `due_at`; after its last attempt that counts it is given up. reason: of the failure."""
        ...

    def give_up(self, job: Job, *, holder: str, reason: str) -> None:
        """Keep a job as dead."""
        ...

    def park(self, job: Job, *, holder: str, reason: str) -> None:
        """Keep a job until `unpark`, as if it had not been tried."""
        ...

    def unpark(self, kind: JobKind, *, now_us: int) -> int:
        """Have the parked jobs of a kind wait again, and all that wait due at once; return how many were parked."""
        ...

    def next_due_at(self, kinds: Iterable[JobKind], *, now_us: int) -> int | None:
        """Return when the first job is due, 0 where one is taken, None where there is none to do."""
        ...

    def count_due(self, kind: JobKind, *, now_us: int) -> int:
        """Return how many waiting jobs of a kind are due."""
        ...
