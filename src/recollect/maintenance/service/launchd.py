"""launchd: an agent of the user's.

Rules: launchd.plist(5), launchctl(1): `bootstrap`, `bootout` and `enable` take the place of `load` and `unload`.
"""

from __future__ import annotations

import plistlib
from pathlib import Path
from typing import Any

from recollect.maintenance.service.job import (
    Ask,
    Live,
    ServiceCommand,
    ServiceFile,
    ServiceJob,
    ServicePlan,
    giving_way,
)

_BOOTSTRAP_TRIES = 5
"""`bootout` returns before the old job is gone; `bootstrap` then fails with an input/output error for a moment."""


def plan(job: ServiceJob, *, domain: str) -> ServicePlan:
    """Return the property list of a job. domain: `gui/501`, or `user/501` where nobody is logged in at the screen."""
    path = agents_folder(job) / f"{label(job)}.plist"
    target = f"{domain}/{label(job)}"
    return ServicePlan(
        manager="launchd",
        files=(ServiceFile(path, plistlib.dumps(_job(job), sort_keys=False)),),
        begin=(
            ServiceCommand(("launchctl", "bootout", target), may_fail=True),
            *giving_way(job),
            ServiceCommand(("launchctl", "enable", target)),
            ServiceCommand(("launchctl", "bootstrap", domain, str(path)), tries=_BOOTSTRAP_TRIES),
        ),
        stop=(ServiceCommand(("launchctl", "bootout", target), may_fail=True),),
        logs=str(log_file(job)),
        notes=() if domain.startswith("gui/") else ("nobody is logged in at the screen: it runs in the user's domain",),
    )


def label(job: ServiceJob) -> str:
    """Return the name by which launchd knows the job."""
    return f"local.{job.name}"


def agents_folder(job: ServiceJob) -> Path:
    """Return the folder of the user's agents."""
    return job.user_home / "Library" / "LaunchAgents"


def log_file(job: ServiceJob) -> Path:
    """Return where its output goes: where Console looks for the logs of a user's programs."""
    return job.user_home / "Library" / "Logs" / "Recollect" / f"{job.name}.log"


def domain_of(uid: int, ask: Ask) -> str:
    """Return the domain that the user's agents live in now."""
    return f"gui/{uid}" if ask(("launchctl", "print", f"gui/{uid}"))[0] == 0 else f"user/{uid}"


def live(job: ServiceJob, ask: Ask, *, domain: str) -> Live:
    """Ask for the state of the job. Its text is for people, so only long-standing parts are read."""
    code, said = ask(("launchctl", "print", f"{domain}/{label(job)}"))
    if code != 0:
        return Live(False, False, f"launchd does not know {label(job)}")
    fields = dict(line.strip().split(" = ", 1) for line in said.splitlines() if " = " in line)
    state, last = fields.get("state", "loaded"), fields.get("last exit code", "")
    is_active = job.kind == "scheduled" or state == "running"
    return Live(True, is_active, f"{label(job)}: {state}" + (f"; last exit code {last}" if last else ""))


def _job(job: ServiceJob) -> dict[str, Any]:
    log = str(log_file(job))
    found: dict[str, Any] = {
        "Label": label(job),
        "ProgramArguments": [*job.command, *job.arguments],
        "EnvironmentVariables": dict(sorted(job.env.items())),
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
        "Umask": 0o077,
        "StandardOutPath": log,
        "StandardErrorPath": log,
        # A calendar interval makes up for what was missed asleep, and this for what was missed while switched off.
        "RunAtLoad": True,
    }
    if job.kind == "daemon":
        found |= {"KeepAlive": {"SuccessfulExit": False}, "ThrottleInterval": 30, "ExitTimeOut": 15}
    else:
        when = {"hourly": {}, "daily": {"Hour": 12}, "weekly": {"Hour": 12, "Weekday": 1}}[job.every]
        found["StartCalendarInterval"] = {"Minute": job.offset_min, **when}
    return found
