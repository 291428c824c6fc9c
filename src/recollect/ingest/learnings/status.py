"""How learning is, from the database alone: for `doctor`, the status pages and the line at a session's start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from recollect.config import Config
from recollect.ingest.learnings.ask import fingerprint_of
from recollect.ingest.learnings.extract import ANSWERED_NOTE, RAN_NOTE
from recollect.ingest.learnings.views import LearnStatus
from recollect.insights.learnings.queue.pause import NOTE, Pause, holds, unpack_pause
from recollect.model.learnings.spending import day_of_us
from recollect.store.jobs import JobKind, JobState, SpendingLedger
from recollect.store.learnings import LearningReader

NEWEST_DEAD = 5


class OpenMemory(Protocol):
    """What is needed of an open memory."""

    home: Path
    config: Config
    env: Mapping[str, str]


def pause_of(reader: LearningReader, memory: OpenMemory, now_us: int) -> Pause | None:
    """Return why no model is asked now, None for nothing."""
    if not memory.config.learning.provider or not memory.config.learning.enabled:
        return None
    pause = unpack_pause(reader.note(NOTE))
    is_held = holds(pause, fingerprint=fingerprint_of(memory.config.learning, memory.env), now_us=now_us)
    return pause if is_held else None


def status_of(reader: LearningReader, memory: OpenMemory, now_us: int) -> LearnStatus:
    """Return how learning is. Raises StoreError and its kinds."""
    jobs = reader.jobs()
    counts = jobs.counts

    def count(kind: JobKind, *states: JobState) -> int:
        return sum(counts.get((kind, state), 0) for state in states)

    def asked(state: JobState) -> int:
        return count("model", state) + count("past", state)

    oldest = jobs.oldest_due_at
    learning = memory.config.learning
    spent = SpendingLedger(memory.home).spent_on(day_of_us(now_us))
    return LearnStatus(
        enabled=learning.enabled,
        provider=learning.provider,
        sessions_waiting=count("rules", "waiting", "running"),
        turns_waiting=asked("waiting"),
        turns_running=asked("running"),
        turns_parked=asked("parked"),
        turns_done=asked("done"),
        older_sessions_waiting=count("older", "waiting", "running"),
        dead=count("rules", "dead") + asked("dead") + count("relate", "dead") + count("older", "dead"),
        newest_dead=tuple(reader.dead(limit=NEWEST_DEAD)),
        held_back=reader.quarantined_count(),
        learnings={f"{kind}/{state}": number for (kind, state), number in sorted(reader.counts().items())},
        pause=pause_of(reader, memory, now_us),
        last_run_at=_time(reader.note(RAN_NOTE)),
        last_answer_at=_time(reader.note(ANSWERED_NOTE)),
        spent_micro_dollars=spent.micro_dollars,
        spent_tokens=spent.tokens,
        oldest_due_at=oldest if oldest is not None and oldest <= now_us else None,
    )


def _time(note: bytes) -> int | None:
    return int(note) if note.isdigit() else None
