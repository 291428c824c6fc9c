"""Whether the service that keeps the memory fresh is as it was installed, and would do its work."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.errors import RecollectError
from recollect.maintenance.doctor.context import Desk
from recollect.maintenance.reports import Check
from recollect.maintenance.service.service import Service

_HINT = "`recollect doctor --fix` or `recollect service install` puts it right"


def service(desk: Desk) -> Iterator[Check]:
    """Say how the installed service is; nothing is said of none, which is no fault."""
    try:
        findings = Service(desk.folder, desk.env, make_home=lambda: None).findings()
    except RecollectError as error:
        yield Check("service", "fail", f"what is installed cannot be told: {error}", error.hint or "")
        return
    if findings is None:
        return
    changed = [found.text for found in findings if found.kind == "changed"]
    wrong = [found for found in findings if found.kind != "changed"]
    if changed:
        hint = "move it away and run `recollect service install`, or leave it: nothing overwrites it"
        yield Check("service files", "warn", "; ".join(changed), hint, id="service-files")
    if wrong:
        is_at_work = all(found.kind == "outdated" for found in wrong)
        yield Check("service", "warn" if is_at_work else "fail", "; ".join(found.text for found in wrong), _HINT)
    elif not changed:
        yield Check("service", "ok", "installed, and its manager runs it")
