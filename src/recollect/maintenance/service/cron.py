"""cron: marked lines in the user's crontab. All other lines stay unchanged.

Rules: crontab(1), crontab(5): `%` ends a command unless escaped, `@reboot` is known to Vixie cron and its heirs.
"""

from __future__ import annotations

import re
import shlex

from recollect.errors import SettingsError, UsageError
from recollect.maintenance.service.job import Ask, Live, ServiceCommand, ServiceJob, ServicePlan, giving_way

READ = ("crontab", "-l")
WRITE = ("crontab", "-")
DELETE = ("crontab", "-r")
_NONE = re.compile(r"^\s*(?:crontab: )?no crontab for ", re.IGNORECASE)


def plan(job: ServiceJob, *, ionice: bool) -> ServicePlan:
    """Return the lines of a job. ionice: the program of that name exists. Raises UsageError for a path with a line
    end.
    """
    words = [f"{name}={shlex.quote(value)}" for name, value in sorted(job.env.items())]
    words += ["nice", "-n", "19", *(("ionice", "-c", "3") if ionice else ())]
    words += [shlex.join((*job.command, *job.arguments))]
    log = job.logs / f"{job.name}-service.log"
    command = f"umask 077; {' '.join(words)} >{shlex.quote(str(log))} 2>&1"
    if not command.isprintable():
        raise UsageError(f"{command!r} holds a control character; no crontab can hold it")
    starts = {
        "hourly": f"{job.offset_min} * * * *",
        "daily": f"{job.offset_min} 12 * * *",
        "weekly": f"{job.offset_min} 12 * * 1",
    }
    when = "@reboot" if job.kind == "daemon" else starts[job.every]
    begin, end = marks(job.name)
    return ServicePlan(
        manager="cron",
        files=(),
        begin=(*giving_way(job), ServiceCommand((*job.command, "up", "--detach"))) if job.kind == "daemon" else (),
        stop=giving_way(job),
        crontab=f"{begin}\n{when} {command.replace('%', chr(92) + '%')}\n{end}\n",
        logs=str(log),
        notes=("cron does not make up for what is missed while the machine is off: the next run ingests it",),
    )


def marks(name: str) -> tuple[str, str]:
    """Return the lines that enclose ours."""
    return f"# >>> {name}: written by `recollect service`, taken out by it >>>", f"# <<< {name} <<<"


def read(ask: Ask) -> str | None:
    """Return the user's crontab, None without one. Raises SettingsError."""
    code, said = ask(READ)
    if code == 0:
        return said
    if code == 1 and (not said.strip() or _NONE.search(said)):
        return None
    raise SettingsError(f"the crontab cannot be read: {' '.join(said.split()) or f'crontab ended with {code}'}")


def write(text: str | None, ask: Ask) -> None:
    """Put a crontab in place of the present one, or take it away. Raises SettingsError."""
    code, said = ask(DELETE) if text is None else ask(WRITE, text.encode("utf-8", "surrogateescape"))
    if code != 0:
        raise SettingsError(f"the crontab cannot be written: {' '.join(said.split()) or f'crontab ended with {code}'}")


def with_lines(crontab: str | None, name: str, lines: str) -> str:
    """Return a crontab with our lines: in their old place, or at the end."""
    found = _region(crontab or "", name)
    if found is None:
        before = crontab or ""
        return before + ("\n" if before and not before.endswith("\n") else "") + lines
    return (crontab or "")[: found[0]] + lines + (crontab or "")[found[1] :]


def without_lines(crontab: str, name: str) -> str:
    """Return a crontab without our lines."""
    found = _region(crontab, name)
    return crontab if found is None else crontab[: found[0]] + crontab[found[1] :]


def lines_in(crontab: str | None, name: str) -> str:
    """Return our lines in a crontab, empty if there are none."""
    found = _region(crontab or "", name)
    return "" if found is None else (crontab or "")[found[0] : found[1]]


def live(job: ServiceJob, ask: Ask) -> Live:
    """Check whether our lines are in the crontab. That does not show whether cron itself runs."""
    is_known = bool(lines_in(read(ask), job.name))
    return Live(is_known, is_known, "in the crontab" if is_known else "not in the crontab")


def _region(crontab: str, name: str) -> tuple[int, int] | None:
    """Return (start, end) of our lines. Raises SettingsError where they have a beginning and no end."""
    begin, end = marks(name)
    first = re.search(rf"^{re.escape(begin)}$", crontab, re.MULTILINE)
    if first is None:
        return None
    last = re.compile(rf"^{re.escape(end)}(?:\n|\Z)", re.MULTILINE).search(crontab, first.end())
    if last is None:
        raise SettingsError(
            f"the crontab has {begin!r} and not the line that ends it", hint="edit it with `crontab -e`"
        )
    return first.start(), last.end()
