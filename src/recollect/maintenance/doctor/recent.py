"""Checks of what happened lately: what kept failing, what was lost, how near the caps are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from recollect.erasure.retention.sweep import limits_of, look
from recollect.errors import RecollectError
from recollect.maintenance.doctor.context import Desk
from recollect.maintenance.reports import Check
from recollect.store.sqlite.audit import read_audit
from recollect.units import plural, size

FAILURES_DAYS = 7
LOSS_DAYS = 30
REBUILD = "run `recollect rebuild all`: everything derived is made anew from the archive"
_DAY_US = 24 * 3600 * 1_000_000


def lately_checks(desk: Desk) -> Iterator[Check]:
    """Yield what the audit and the caps say."""
    for check in (failures, losses, caps):
        try:
            yield check(desk)
        except RecollectError as error:
            yield Check(check.__name__, "fail", str(error), error.hint or REBUILD)


def failures(desk: Desk) -> Check:
    """Say what went on failing unattended."""
    since = desk.now_us - FAILURES_DAYS * _DAY_US
    found = [entry for entry in read_audit(desk.folder, actions=("failure",)) if entry.at >= since]
    if not found:
        return Check("failures", "ok", f"nothing went on failing in the last {FAILURES_DAYS} days")
    kinds = Counter(str(entry.value.get("code") or entry.value.get("what") or "unknown") for entry in found)
    named = ", ".join(f"{kind} ({number:,})" for kind, number in kinds.most_common())
    text = f"{plural(len(found), 'failure')} in the last {FAILURES_DAYS} days: {named}"
    return Check("failures", "warn", text, "run `recollect sync` and see what it says")


def losses(desk: Desk) -> Check:
    """Say what was lost because there was no room for it, or with the database."""
    since = desk.now_us - LOSS_DAYS * _DAY_US
    if any(entry.at >= since for entry in read_audit(desk.folder, actions=("recover",))):
        text = f"the database was lost in the last {LOSS_DAYS} days: what only it had is gone (notes, facts, pins …)"
        return Check("losses", "warn", text, "`recollect repair --from BACKUP` brings it back from a backup")
    found = [entry for entry in read_audit(desk.folder, actions=("data_loss",)) if entry.at >= since]
    if not found:
        return Check("losses", "ok", f"nothing was dropped before it was analysed in the last {LOSS_DAYS} days")
    text = f"original text was dropped before it was analysed, {plural(len(found), 'time')} in {LOSS_DAYS} days"
    return Check("losses", "warn", text, "raise [retention] raw_hard_cap_bytes, or free some room")


def caps(desk: Desk) -> Check:
    """Say how near what is kept is to its caps."""
    limits = limits_of(desk.config.retention)
    held = look(desk.folder, limits).raw_bytes
    text = f"{size(held)} of {size(limits.soft_cap_bytes)} of original text"
    if held > limits.hard_cap_bytes:
        return Check("retention", "fail", f"{text}, above the hard cap", "run `recollect evict`")
    if held > limits.soft_cap_bytes:
        return Check("retention", "warn", f"{text}: the oldest analysed sessions go next", "run `recollect evict`")
    return Check("retention", "ok", text)
