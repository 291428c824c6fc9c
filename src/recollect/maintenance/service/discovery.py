"""What this machine has to run a service with, and what the service would need to be told."""

from __future__ import annotations

import getpass
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from recollect.agents.registry import adapters
from recollect.errors import UsageError
from recollect.maintenance.service import cron, launchd, schtasks, systemd
from recollect.maintenance.service.job import Ask, Job, Live, ManagerName, Plan, ServiceEvery, ServiceKind
from recollect.maintenance.setup.discovery import this_machine
from recollect.paths import CONFIG_NAME, HOME_VARIABLE, STORE_VARIABLE, home_dir, user_home
from recollect.units import duration

TIMEOUT_S = 60
_BASE_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PYTHON_KEYRING_BACKEND")
_PROBES: dict[ManagerName, tuple[str, ...]] = {
    "launchd": ("launchctl", "version"),
    "cron": ("crontab", "-l"),
    "schtasks": ("schtasks", "/?"),
}
"""What a manager's program is run with to see that it is there; how it ends says nothing."""


def asking(env: Mapping[str, str]) -> Ask:
    """Return what runs a manager's program in an environment; its words in English where it has others."""

    def ask(argv: tuple[str, ...], given: bytes | None = None) -> tuple[int, str]:
        program = shutil.which(argv[0], path=env.get("PATH", os.defpath))
        if program is None:
            return -1, f"{argv[0]} is not there"
        try:
            done = subprocess.run(  # noqa: S603 (a program of the system's, shown to the person before)
                [program, *argv[1:]],
                input=given if given is not None else b"",
                env={**env, "LC_ALL": "C"},
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return -1, f"did not end within {duration(TIMEOUT_S)}"
        except OSError as error:
            return -1, f"cannot be started: {error.strerror}"
        said = done.stdout if done.returncode == 0 else done.stderr or done.stdout
        return done.returncode, said.decode("utf-8", "surrogateescape")

    return ask


def job_for(home: Path, env: Mapping[str, str], kind: ServiceKind, every: ServiceEvery, *, retro_out: str = "") -> Job:
    """Return the job that keeps a home fresh. Raises UsageError where the program is not installed to stay."""
    machine = this_machine(home, env)
    needed = _needed(home, env)
    return Job(
        name=job_name(home, env),
        kind=kind,
        every=every,
        program=machine.program.recollect,
        command=machine.program.command,
        env=needed,
        home=home,
        user_home=user_home(env),
        logs=home / "logs",
        user=_user(env),
        uid=os.getuid() if sys.platform != "win32" else 0,
        retro_out=retro_out,
    )


def job_name(home: Path, env: Mapping[str, str]) -> str:
    """Return `recollect` for the platform's own home, else that with a mark of the home: each has its own service."""
    plain = {name: value for name, value in env.items() if name not in (HOME_VARIABLE, STORE_VARIABLE)}
    if home_dir(plain) == home:
        return "recollect"
    return f"recollect-{hashlib.sha256(os.fsencode(home)).hexdigest()[:8]}"


def choose(ask: Ask, wanted: ManagerName | None, *, must_be_there: bool) -> ManagerName:
    """Return what will run the job: what is wanted, else what the machine has. Raises UsageError for none."""
    if wanted is not None:
        if must_be_there and not _is_there(wanted, ask):
            raise UsageError(
                f"{wanted} cannot be used here: its program is not there or does not answer",
                hint="leave --manager out: what is here is found by itself; --dry-run shows the text for any",
            )
        return wanted
    order: tuple[ManagerName, ...] = ("systemd", "cron")
    if sys.platform == "win32":
        order = ("schtasks",)
    elif sys.platform == "darwin":
        order = ("launchd", "cron")
    for manager in order:
        if _is_there(manager, ask):
            return manager
    raise UsageError(
        f"no service manager answers here (looked for {', '.join(order)})",
        hint="`recollect up --detach` runs the daemon without one",
    )


def plan_for(manager: ManagerName, job: Job, ask: Ask) -> Plan:
    """Return how a manager is told of a job. Raises UsageError for paths that it cannot be told."""
    match manager:
        case "systemd":
            return systemd.plan(job)
        case "launchd":
            return launchd.plan(job, domain=launchd.domain_of(job.uid, ask))
        case "cron":
            return cron.plan(job, ionice=bool(shutil.which("ionice", path=os.defpath)))
        case "schtasks":
            return schtasks.plan(job)
        case _:
            assert_never(manager)


def live_of(manager: ManagerName, job: Job, ask: Ask) -> Live:
    """Ask a manager how the job is now. Raises SettingsError where it cannot be asked."""
    match manager:
        case "systemd":
            return systemd.live(job, ask)
        case "launchd":
            return launchd.live(job, ask, domain=launchd.domain_of(job.uid, ask))
        case "cron":
            return cron.live(job, ask)
        case "schtasks":
            return schtasks.live(job, ask)
        case _:
            assert_never(manager)


def _is_there(manager: ManagerName, ask: Ask) -> bool:
    return systemd.is_there(ask) if manager == "systemd" else ask(_PROBES[manager])[0] != -1


def _needed(home: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without which the service would look elsewhere than the person's own commands do."""
    names = {root.variable for one in adapters().values() for root in one.facts.roots if root.variable}
    given = {name: env[name] for name in sorted(names | set(_BASE_VARIABLES)) if env.get(name)}
    plain = {name: value for name, value in env.items() if name != HOME_VARIABLE}
    if home_dir(plain) != home or (home / CONFIG_NAME).exists():
        given[HOME_VARIABLE] = str(home)
    elif env.get(STORE_VARIABLE):
        given[STORE_VARIABLE] = env[STORE_VARIABLE]
    for common in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        given.pop(common, None)
    return given


def _user(env: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        name = env.get("USERNAME", "")
        return f"{env['USERDOMAIN']}\\{name}" if env.get("USERDOMAIN") else name
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user that no database knows (containers)
        return env.get("USER") or getpass.getuser()
