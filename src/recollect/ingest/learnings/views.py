"""What `memory.learn` takes and gives: plain data."""

from __future__ import annotations

import msgspec

from recollect.insights.learnings.queue.pause import Pause
from recollect.model.events import Event
from recollect.model.learnings.learnings import Learning, LearningEvidence, LearningKind, Priority, Scope
from recollect.store.jobs import Job
from recollect.store.learnings import Verdict

LEARN_STATUS_SCHEMA_VERSION = 1


class NewLearning(msgspec.Struct, frozen=True, kw_only=True):
    """What a person writes down themselves. repo: "" for scope user. expires_at: of an action, UTC microseconds; None:
    as the configuration says."""

    text: str
    kind: LearningKind = "fact"
    scope: Scope = "repo"
    repo: str = ""
    path: str = ""
    priority: Priority = ""
    expires_at: int | None = None


class SeenEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence and the event that it names. event None: it was evicted or forgotten, or its session is not stored.

    citation: `session_uid#seq`. is_revoked: its session does not say it any more.
    """

    evidence: LearningEvidence
    citation: str
    event: Event | None = None
    is_revoked: bool = False


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a learning is what it is: what it rests on, what people said of it, what stands for it now."""

    learning: Learning
    evidence: tuple[SeenEvidence, ...]
    verdicts: tuple[Verdict, ...] = ()
    superseded_by: Learning | None = None


class HeldBack(msgspec.Struct, frozen=True, kw_only=True):
    """A text that a model gave and that cannot be used, redacted, and why. It is given to no agent. at: UTC
    microseconds."""

    session_uid: str
    at: int
    reason: str
    text: str


class LearnStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How learning is. Counts of jobs: of sessions that the rules read (`sessions`), of turns that a model is asked
    about (`turns`), of sessions from before it was configured that it is still to be asked about
    (`older_sessions_waiting`). Times in UTC microseconds.

    learnings: by kind and state, "fact/active". held_back: texts of a model's answers that cannot be used. pause: why
    no model is asked now. last_answer_at: when a model answered last. spent_micro_dollars, spent_tokens: today, UTC.
    oldest_due_at: since when the oldest job waits that is due, None for none.
    """

    enabled: bool
    provider: str = ""
    sessions_waiting: int = 0
    turns_waiting: int = 0
    turns_running: int = 0
    turns_parked: int = 0
    turns_done: int = 0
    older_sessions_waiting: int = 0
    dead: int = 0
    newest_dead: tuple[Job, ...] = ()
    held_back: int = 0
    learnings: dict[str, int] = {}
    pause: Pause | None = None
    last_run_at: int | None = None
    last_answer_at: int | None = None
    spent_micro_dollars: int = 0
    spent_tokens: int = 0
    oldest_due_at: int | None = None
    schema_version: int = LEARN_STATUS_SCHEMA_VERSION
