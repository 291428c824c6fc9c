"""`recollect doctor`: runs health checks that change nothing."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from recollect.errors import RecollectError
from recollect.ingest.learnings.status import LearnStatus
from recollect.insights.learnings.pause import PauseReason, is_persistent
from recollect.maintenance.agent_checks import agent_checks, program
from recollect.maintenance.home_checks import DoctorContext, lately_checks, machine_checks, service
from recollect.maintenance.reports import Check, DoctorReport
from recollect.maintenance.store_checks import documents, stored_checks
from recollect.paths import DATABASE_NAME
from recollect.ready_blocks import head_of
from recollect.recall.context.person_files import person_files
from recollect.store.connection import is_lost, lost
from recollect.store.reader import Reader
from recollect.units import plural

LONG_S = 24 * 3600
"""A session that could be learned from for so long and is not is worth a warning."""
MODEL = "learning model"
_HINTS: dict[PauseReason, str] = {
    "authentication": "set the variable that [learning] key_variable names; the model is then asked again at once",
    "quota": "check your account with the provider, or remove [learning] provider from the configuration",
    "configuration": "correct [learning] in the configuration (`recollect config` shows it)",
    "unusable": "choose another [learning] model: this one does not answer in the required form",
    "rate": "nothing is lost: it continues when the server accepts requests again",
    "unavailable": "start the server, or correct [learning] url; nothing is lost",
    "budget": "nothing is lost: it continues tomorrow, or when you raise a day_budget of [learning]",
}


def learning_checks(context: DoctorContext) -> Iterator[Check]:
    """Yield what there is to say of learning, of the model only where one is configured."""
    try:
        found = context.learning()
    except RecollectError as error:
        yield Check("learning", "fail", str(error), error.hint or "run `recollect rebuild`")
        return
    yield learning(found, context.now_us)
    if found.enabled and found.provider:
        yield model(found)
    if found.dead:
        yield given_up(found)
    if found.held_back:
        text = f"{plural(found.held_back, 'text')} of a model's answers could not be used; agents do not get them"
        yield Check("learning held back", "ok", text, id="quarantine")
    check = own_files(context)
    if check is not None:
        yield check


def learning(found: LearnStatus, now_us: int) -> Check:
    """Say how much was learned, and whether sessions wait long."""
    if not found.enabled:
        return Check("learning", "ok", "switched off in the configuration")
    text = f"{plural(found.holding, 'learning')}; {plural(found.sessions_waiting, 'session')} waiting"
    due_at = found.oldest_due_at if found.sessions_waiting else None
    waited_s = (now_us - due_at) / 1e6 if due_at is not None else 0.0
    if waited_s > LONG_S:
        text += f", the longest for {plural(round(waited_s / 86_400), 'day')}"
        return Check("learning", "warn", text, "run `recollect sync`; its notes say what cannot be learned from")
    return Check("learning", "ok", text)


def model(found: LearnStatus) -> Check:
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


def given_up(found: LearnStatus) -> Check:
    """Report work that was tried often enough and never succeeded."""
    text = f"{plural(found.dead, 'piece')} of work failed at the last attempt"
    hint = (
        "`recollect doctor --json` lists the newest with the reason; a new version, or a change of the session, retries"
    )
    newest = tuple(f"{job.session_uid or job.key}: {job.reason}" for job in found.newest_dead)
    return Check("learning given up", "warn", text, hint, newest, id="dead-letters")


def own_files(context: DoctorContext) -> Check | None:
    """Say whether the files that are to lead what agents are given can be read; None if there are none."""
    settings = context.config.context
    told = (settings.soul_file, settings.user_file)
    files = person_files(context.folder, context.env, soul=told[0], user=told[1])
    there = [file for file in files if head_of(file.path) is not None]
    missing = [file.path for file, named in zip(files, told, strict=True) if named and file not in there]
    if missing:
        text = f"{', '.join(missing)} cannot be read, though the configuration names it"
        return Check("own files", "warn", text, "`recollect context init` writes it", tuple(missing), id="own-files")
    if not there:
        return None
    named = " and ".join(file.name for file in there)
    return Check("own files", "ok", f"{named} comes first in what agents are given", id="own-files")


def diagnose(context: DoctorContext) -> DoctorReport:
    """Run every check and return what each found. Never raises for what it finds."""
    checks = tuple(_with_id(check) for check in _checks(context))
    return DoctorReport(ok=not any(c.state == "fail" for c in checks), checks=checks)


def _checks(context: DoctorContext) -> Iterator[Check]:
    yield from machine_checks(context)
    yield program(context)
    yield from service(context)
    reader: Reader | None = None
    if is_lost(context.folder):
        error = lost(context.folder)
        yield Check("database", "fail", str(error), error.hint)
    elif not (context.folder / DATABASE_NAME).exists():
        yield Check("memory", "warn", "nothing is stored yet", "run `recollect up --once`")
    else:
        sound = True
        for check in stored_checks(context):
            sound = sound and not (check.name == "database" and check.state == "fail")
            yield check
        if sound:
            yield from lately_checks(context)
            yield from documents(context)
            yield from learning_checks(context)
            reader = _reader(context)
    yield from agent_checks(context, reader)


def _reader(context: DoctorContext) -> Reader | None:
    try:
        return context.open_reader()
    except RecollectError:
        return None  # told already, as the check of the database


def _with_id(check: Check) -> Check:
    """Return a check with its stable id: that of its family, if it also names a thing (`agent claude`)."""
    return check if check.id else msgspec.structs.replace(check, id=check.name.split()[0])
