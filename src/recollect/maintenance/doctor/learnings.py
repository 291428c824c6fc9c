"""Checks of learning: does it go on, what holds the model up, what was given up, and the person's own files."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.errors import RecollectError
from recollect.ingest.keeper.learning import HasStatus, holding
from recollect.insights.learnings.queue.pause import PauseReason, is_persistent
from recollect.maintenance.doctor.context import Desk
from recollect.maintenance.reports import Check, LearningHealth
from recollect.ready import head_of
from recollect.recall.context.learnings.person_files import person_files
from recollect.units import plural

LONG_S = 24 * 3600
"""A session that could be learned from for so long and is not is worth a warning."""
MODEL = "learning model"
_HINTS: dict[PauseReason, str] = {
    "authentication": "set the key that [learning] key_variable names; the model is then asked again at once",
    "quota": "see the provider's account, or take [learning] provider out of the configuration",
    "configuration": "correct [learning] in the configuration (`recollect config` shows it)",
    "unusable": "take another [learning] model: this one does not answer in the form that it is asked for",
    "rate": "nothing is lost: it goes on when the server takes questions again",
    "unavailable": "start the server, or correct [learning] url; nothing is lost",
    "budget": "nothing is lost: it goes on tomorrow, or when you raise a day_budget of [learning]",
}


def learning_checks(desk: Desk) -> Iterator[Check]:
    """Yield what there is to say of learning, of the model only where one is configured."""
    try:
        found = desk.asks.learning()
    except RecollectError as error:
        yield Check("learning", "fail", str(error), error.hint or "run `recollect rebuild`")
        return
    yield learning(found)
    if found.enabled and found.provider:
        yield model(found)
    if found.dead:
        yield given_up(found)
    if found.held_back:
        text = f"{plural(found.held_back, 'text')} of a model's answers could not be used; none is given to an agent"
        yield Check("learning held back", "ok", text, id="quarantine")
    check = own_files(desk)
    if check is not None:
        yield check


def learning(found: LearningHealth) -> Check:
    """Say how much was learned, and whether sessions wait long."""
    if not found.enabled:
        return Check("learning", "ok", "switched off in the configuration")
    text = f"{plural(found.learnings, 'learning')}; {plural(found.sessions_waiting, 'session')} waiting"
    if found.waited_s > LONG_S:
        text += f", the longest for {plural(round(found.waited_s / 86_400), 'day')}"
        return Check("learning", "warn", text, "run `recollect sync`; its notes say what cannot be learned from")
    return Check("learning", "ok", text)


def model(found: LearningHealth) -> Check:
    """Say whether the model that is configured answers, and what keeps it from being asked."""
    waiting = f"{plural(found.turns_waiting + found.turns_parked, 'question')} waiting"
    pause = found.pause
    if pause is None:
        return Check(MODEL, "ok", f"{found.provider}; {waiting}", id=MODEL)
    text = f"{found.provider} is not asked: {pause.message}; {waiting}"
    if not is_persistent(pause):
        return Check(MODEL, "ok", text, _HINTS[pause.reason], id=MODEL)
    failures = f", {plural(pause.failures, 'failure')} in a row" if pause.failures > 1 else ""
    return Check(MODEL, "warn", text + failures, _HINTS[pause.reason], id=MODEL)


def given_up(found: LearningHealth) -> Check:
    """Say what was tried often enough and never worked."""
    text = f"{plural(found.dead, 'piece')} of work given up after its last attempt"
    hint = (
        "`recollect doctor --json` lists the newest with the reason; a new version, or a change of the session, retries"
    )
    return Check("learning given up", "warn", text, hint, found.newest_dead, id="dead-letters")


def own_files(desk: Desk) -> Check | None:
    """Say whether the files that are to lead what agents are given can be read; None where there are none."""
    settings = desk.config.context
    told = (settings.soul_file, settings.user_file)
    files = person_files(desk.folder, desk.env, soul=told[0], user=told[1])
    there = [file for file in files if head_of(file.path) is not None]
    missing = [file.path for file, named in zip(files, told, strict=True) if named and file not in there]
    if missing:
        text = f"{', '.join(missing)} cannot be read, and the configuration names it"
        return Check("own files", "warn", text, "`recollect context init` writes it", tuple(missing), id="own-files")
    if not there:
        return None
    named = " and ".join(file.name for file in there)
    return Check("own files", "ok", f"what agents are given begins with {named}", id="own-files")


def learning_health(learn: HasStatus, now_us: int) -> LearningHealth:
    """Return what `doctor` checks. Raises StoreError and its kinds."""
    status = learn.status()
    oldest = status.oldest_due_at
    return LearningHealth(
        enabled=status.enabled,
        provider=status.provider,
        learnings=holding(status),
        sessions_waiting=status.sessions_waiting,
        turns_waiting=status.turns_waiting,
        turns_parked=status.turns_parked,
        dead=status.dead,
        newest_dead=tuple(f"{job.session_uid or job.key}: {job.reason}" for job in status.newest_dead),
        held_back=status.held_back,
        waited_s=max(0, now_us - oldest) / 1e6 if oldest is not None and status.sessions_waiting else 0.0,
        pause=status.pause,
    )
