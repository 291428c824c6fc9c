"""How learning is, as the daemon tells it."""

from __future__ import annotations

from typing import Protocol

from recollect.errors import RecollectError
from recollect.ingest.keeper.status import LearningNow
from recollect.ingest.learnings.views import LearnStatus
from recollect.insights.learnings.queue.pause import is_persistent
from recollect.model.learnings.learnings import GIVEN_STATES


class HasStatus(Protocol):
    """What tells how learning is, see `LearnFacet`."""

    def status(self) -> LearnStatus: ...


def learning_now(learn: HasStatus) -> LearningNow:
    """Return what the daemon tells. Never raises for what is stored: it then has the error's code."""
    try:
        status = learn.status()
    except (RecollectError, ValueError) as error:
        return LearningNow(paused=f"not known: {error.code if isinstance(error, RecollectError) else 'damaged'}")
    pause = status.pause
    return LearningNow(
        enabled=status.enabled,
        provider=status.provider,
        learnings=holding(status),
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


def holding(status: LearnStatus) -> int:
    """Return how many learnings hold."""
    return sum(number for name, number in status.learnings.items() if name.rpartition("/")[2] in GIVEN_STATES)
