"""Parameters and results of `memory.learn`: plain data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from recollect.config import LearningConfig
from recollect.errors import RecollectError, UnknownName
from recollect.ingest.daemon_status import LearningNow
from recollect.ingest.learnings.ask import fingerprint_of
from recollect.ingest.learnings.extract import ANSWERED_NOTE, RAN_NOTE
from recollect.ingest.run_limits import MICROSECONDS
from recollect.insights.learnings.pause import NOTE, Pause, holds, is_persistent, unpack_pause
from recollect.model.events import Event
from recollect.model.learnings.learnings import GIVEN_STATES, Learning, LearningEvidence, LearningKind, Priority, Scope
from recollect.model.learnings.spending import day_of_us
from recollect.store.jobs import Job, JobKind, JobState, SpendingLedger
from recollect.store.learnings import LearningReader, Verdict

if TYPE_CHECKING:
    from recollect.ingest.open_home import OpenHome


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
    """The reasons for a learning: its evidence, people's verdicts, its successor."""

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
    """How learning is. Counts of jobs: of sessions that are still to be analysed, or read by the rules (`sessions`), of
    turns that a model is asked about (`turns`), of sessions from before it was configured that it is still to be asked
    about (`older_sessions_waiting`). Times in UTC microseconds.

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

    @property
    def holding(self) -> int:
        """How many learnings hold."""
        return sum(number for name, number in self.learnings.items() if name.rpartition("/")[2] in GIVEN_STATES)


NEWEST_DEAD = 5


def pause_of(reader: LearningReader, home: OpenHome, now_us: int) -> Pause | None:
    """Return why no model is asked now, None for nothing."""
    if not home.config.learning.provider or not home.config.learning.enabled:
        return None
    pause = unpack_pause(reader.note(NOTE))
    is_held = holds(pause, fingerprint=fingerprint_of(home.config.learning, home.env), now_us=now_us)
    return pause if is_held else None


def status_of(reader: LearningReader, home: OpenHome, now_us: int) -> LearnStatus:
    """Return the state of learning. Raises StoreError and its subclasses."""
    from recollect.store.insight_feed import SessionFeed

    jobs = reader.jobs()
    counts = jobs.counts

    def count(kind: JobKind, *states: JobState) -> int:
        return sum(counts.get((kind, state), 0) for state in states)

    def asked(state: JobState) -> int:
        return count("model", state) + count("past", state)

    oldest = jobs.oldest_due_at
    learning = home.config.learning
    spent = SpendingLedger(home.home).spent_on(day_of_us(now_us))
    waiting = reader.unread() if learning.enabled else set()
    if home.config.distill.enabled:
        idle_us = home.config.distill.idle_seconds * MICROSECONDS
        with closing(SessionFeed(home.home, None, None)) as feed:
            waiting.update(feed.due(scheme=None, now_us=now_us, idle_us=idle_us).uids)
    return LearnStatus(
        enabled=learning.enabled,
        provider=learning.provider,
        sessions_waiting=len(waiting),
        turns_waiting=asked("waiting"),
        turns_running=asked("running"),
        turns_parked=asked("parked"),
        turns_done=asked("done"),
        older_sessions_waiting=count("older", "waiting", "running"),
        dead=count("rules", "dead") + asked("dead") + count("relate", "dead") + count("older", "dead"),
        newest_dead=tuple(reader.dead(limit=NEWEST_DEAD)),
        held_back=reader.quarantined_count(),
        learnings={f"{kind}/{state}": number for (kind, state), number in sorted(reader.counts().items())},
        pause=pause_of(reader, home, now_us),
        last_run_at=_instant(reader.note(RAN_NOTE)),
        last_answer_at=_instant(reader.note(ANSWERED_NOTE)),
        spent_micro_dollars=spent.micro_dollars,
        spent_tokens=spent.tokens,
        oldest_due_at=oldest if oldest is not None and oldest <= now_us else None,
    )


def _instant(note: bytes) -> int | None:
    return int(note) if note.isdigit() else None


PREVIEW_SCHEMA_VERSION = 1
UNDECIDED = "anthropic"
"""The provider that is shown where none is configured: what is sent is the same, only address and price differ."""
_MICRO = 1_000_000


class PreviewedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One call that would be made. turns: their numbers in the session. system, user: the texts that would be sent,
    redacted. most_…: what it can cost at most; the bill will not exceed it."""

    turns: tuple[int, ...]
    system: str
    user: str
    most_input_tokens: int
    most_output_tokens: int
    most_usd: float


class AskPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What a model would be sent of a session if it were asked about all of it now.

    is_configured: a provider is; else the default one of `UNDECIDED` is shown. url: where it would be sent. is_key_set:
    the environment variable `key_variable` holds a key ("": none is needed). most_usd: of all questions;
    session_budget_usd: where asking about a session ends. prices_on: date of the price list, "" where it says none.
    """

    session_uid: str
    is_configured: bool
    provider: str
    model: str
    url: str
    key_variable: str
    is_key_set: bool
    questions: tuple[PreviewedQuestion, ...]
    most_usd: float
    session_budget_usd: float
    prices_on: str
    schema_version: int = PREVIEW_SCHEMA_VERSION


def preview_of(home: OpenHome, session: str, *, now_us: Callable[[], int]) -> AskPreview:
    """Return what would be sent of a session, as if it were over. Raises UnknownName, ConfigError, StoreError."""
    from recollect.endpoints.chat import pricing_of, target_of
    from recollect.insights.learnings.budget import Budget
    from recollect.insights.learnings.questions import batches_of, preview
    from recollect.store.home import LazyArchive, LazyRedactor
    from recollect.store.insight_feed import SessionFeed
    from recollect.store.jobs import SpendingLedger
    from recollect.store.usage import prices_on

    uid = home.session(session).session_uid
    config = _decided(home.config.learning)
    target = target_of(config, home.env)
    pricing = pricing_of(config, model=target.model, url=target.url, at_us=now_us())
    budget = Budget(config, SpendingLedger(home.home), pricing, now_us=now_us)
    archive = LazyArchive(home.folders)
    feed = SessionFeed(home.home, archive, LazyRedactor(home.folders.keys, home.config.privacy))
    try:
        observed = feed.read(uid)
        if observed is None:
            raise UnknownName("session", session)
        found = [preview(batch, budget=budget) for batch in batches_of(observed, is_over=True)]
    finally:
        feed.close()
        archive.close()
    return AskPreview(
        session_uid=uid,
        is_configured=bool(home.config.learning.provider),
        provider=target.provider,
        model=target.model,
        url=target.url,
        key_variable=target.key_variable,
        is_key_set=not target.key_variable or bool(home.env.get(target.key_variable, "").strip()),
        questions=tuple(
            PreviewedQuestion(
                turns=one.turns,
                system=one.system,
                user=one.user,
                most_input_tokens=one.most.input_tokens,
                most_output_tokens=one.most.output_tokens,
                most_usd=one.most.micro_dollars / _MICRO,
            )
            for one in found
        ),
        most_usd=sum(one.most.micro_dollars for one in found) / _MICRO,
        session_budget_usd=config.session_budget_usd,
        prices_on="" if target.provider == "ollama" else prices_on(),
    )


def _decided(config: LearningConfig) -> LearningConfig:
    return config if config.provider else msgspec.structs.replace(config, provider=UNDECIDED)


def learning_now(ask: Callable[[], LearnStatus]) -> LearningNow:
    """Return what the daemon tells. Never raises for what is stored: it then has the error's code."""
    try:
        status = ask()
    except (RecollectError, ValueError) as error:
        return LearningNow(paused=f"not known: {error.code if isinstance(error, RecollectError) else 'damaged'}")
    pause = status.pause
    return LearningNow(
        enabled=status.enabled,
        provider=status.provider,
        learnings=status.holding,
        sessions_waiting=status.sessions_waiting,
        turns_waiting=status.turns_waiting + status.turns_running + status.turns_parked,
        dead=status.dead,
        held_back=status.held_back,
        last_run_at=status.last_run_at,
        last_answer_at=status.last_answer_at,
        spent_today_usd=status.spent_micro_dollars / 1e6,
        paused=pause.message if pause is not None else "",
        is_failing=pause is not None and is_persistent(pause),
    )
