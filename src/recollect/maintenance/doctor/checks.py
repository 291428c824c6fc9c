"""Health, from checks that are run now, in the order in which a person would look. None of them changes anything."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from recollect.errors import RecollectError
from recollect.maintenance.doctor.agents import agent_checks, program
from recollect.maintenance.doctor.context import Desk
from recollect.maintenance.doctor.documents import documents
from recollect.maintenance.doctor.home import machine_checks
from recollect.maintenance.doctor.learnings import learning_checks
from recollect.maintenance.doctor.recent import lately_checks
from recollect.maintenance.doctor.service import service
from recollect.maintenance.doctor.store import stored_checks
from recollect.maintenance.reports import Check, DoctorReport
from recollect.paths import DATABASE_NAME
from recollect.store.ports import Reader
from recollect.store.sqlite.connection import is_lost, lost


def diagnose(desk: Desk) -> DoctorReport:
    """Run every check and return what each found. Never raises for what it finds."""
    checks = tuple(_with_id(check) for check in _checks(desk))
    return DoctorReport(ok=not any(c.state == "fail" for c in checks), checks=checks)


def _checks(desk: Desk) -> Iterator[Check]:
    yield from machine_checks(desk)
    yield program(desk)
    yield from service(desk)
    reader: Reader | None = None
    if is_lost(desk.folder):
        error = lost(desk.folder)
        yield Check("database", "fail", str(error), error.hint)
    elif not (desk.folder / DATABASE_NAME).exists():
        yield Check("memory", "warn", "nothing is stored yet", "run `recollect up --once`")
    else:
        sound = True
        for check in stored_checks(desk):
            sound = sound and not (check.name == "database" and check.state == "fail")
            yield check
        if sound:
            yield from lately_checks(desk)
            yield from documents(desk)
            yield from learning_checks(desk)
            reader = _reader(desk)
    yield from agent_checks(desk, reader)


def _reader(desk: Desk) -> Reader | None:
    try:
        return desk.open_reader()
    except RecollectError:
        return None  # told already, as the check of the database


def _with_id(check: Check) -> Check:
    """Return a check with its stable id: that of its family, where it names a thing besides (`agent claude`)."""
    return check if check.id else msgspec.structs.replace(check, id=check.name.split()[0])
