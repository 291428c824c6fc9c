"""systemd: units of the user's own manager.

Rules: systemd.service(5), systemd.timer(5), systemd.exec(5), systemd.syntax(7) on quoting, systemd.unit(5) on `%` and
on where a user's units lie, loginctl(1) on lingering.
"""

from __future__ import annotations

from pathlib import Path

from recollect.errors import UsageError
from recollect.maintenance.service.job import (
    JITTER_S,
    Ask,
    Live,
    ServiceCommand,
    ServiceFile,
    ServiceJob,
    ServicePlan,
    giving_way,
)

_CTL = ("systemctl", "--user")
_NOT_IN_A_PROGRAM = frozenset("\"'\\*?[")
"""systemd starts no program with one of these in its path, however it is quoted."""
_DAEMON = """\
[Unit]
Description=Recollect, the memory of coding agents
StartLimitIntervalSec=10min
StartLimitBurst=5

[Service]
Type=simple
ExecStart={command}
{environment}Restart=on-failure
RestartSec=10
# 2: what it was told cannot be (a wrong configuration); starting again would not help
RestartPreventExitStatus=2
TimeoutStopSec=15
UMask=0077
NoNewPrivileges=true
Nice=10
IOSchedulingClass=idle

[Install]
WantedBy=default.target
"""
_ONCE = """\
[Unit]
Description=Recollect ingests what coding agents wrote

[Service]
Type=oneshot
ExecStart={command}
# vectors are made here, not in the background: systemd ends what a service leaves behind
ExecStart=-{embed}
Environment=RECOLLECT_BACKGROUND=0
{environment}UMask=0077
NoNewPrivileges=true
Nice=19
CPUSchedulingPolicy=idle
IOSchedulingClass=idle
"""
_TIMER = """\
[Unit]
Description=When Recollect ingests what coding agents wrote

[Timer]
OnCalendar={every}
RandomizedDelaySec={jitter_s}
# what was missed while the machine was off is made up for
Persistent=true

[Install]
WantedBy=timers.target
"""


def plan(job: ServiceJob) -> ServicePlan:
    """Return the units of a job. Raises UsageError for a path that no unit can hold."""
    folder = units_folder(job)
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in sorted(job.env.items()))
    command = _command(*job.command, *job.arguments)
    if job.kind == "daemon":
        unit = f"{job.name}.service"
        texts = {unit: _DAEMON.format(command=command, environment=environment)}
        logs = f"journalctl --user --unit {unit}"
    else:
        service, unit = f"{job.name}-sync.service", f"{job.name}-sync.timer"
        embed = _command(*job.command, "embed")
        texts = {
            service: _ONCE.format(command=command, embed=embed, environment=environment),
            unit: _TIMER.format(every=job.every, jitter_s=JITTER_S),
        }
        logs = f"journalctl --user --unit {service}"
    return ServicePlan(
        manager="systemd",
        files=tuple(ServiceFile(folder / name, text.encode()) for name, text in texts.items()),
        begin=(
            ServiceCommand((*_CTL, "daemon-reload")),
            ServiceCommand((*_CTL, "enable", unit)),
            *giving_way(job),
            ServiceCommand(
                (*_CTL, "restart", unit)
            ),  # starts what does not run; a changed unit has no effect otherwise
        ),
        stop=(ServiceCommand((*_CTL, "disable", "--now", unit), may_fail=True),),
        after=(
            ServiceCommand((*_CTL, "daemon-reload"), may_fail=True),
            ServiceCommand((*_CTL, "reset-failed", unit), may_fail=True),
        ),
        logs=logs,
    )


def units_folder(job: ServiceJob) -> Path:
    """Return the folder of the user's units. A relative path in the variable is ignored (base directory rules)."""
    named = job.env.get("XDG_CONFIG_HOME", "")
    config = Path(named) if named.startswith("/") else job.user_home / ".config"
    return config / "systemd" / "user"


def is_there(ask: Ask) -> bool:
    """Return whether the user has a running manager that can be reached."""
    return ask((*_CTL, "show-environment"))[0] == 0


def live(job: ServiceJob, ask: Ask) -> Live:
    """Ask how the unit is."""
    unit = f"{job.name}.service" if job.kind == "daemon" else f"{job.name}-sync.timer"
    fields = _shown(unit, ask, "LoadState", "ActiveState", "SubState", "UnitFileState", "Result")
    if not fields:
        return Live(False, False, "the user's systemd cannot be reached")
    is_known = fields.get("LoadState") == "loaded"
    is_active = fields.get("ActiveState") in ("active", "activating")
    detail = f"{unit}: {fields.get('ActiveState', '?')} ({fields.get('SubState', '?')})"
    detail += f", {fields['UnitFileState']}" if fields.get("UnitFileState") else ""
    if job.kind == "scheduled" and is_known:
        last = _shown(f"{job.name}-sync.service", ask, "Result", "ExecMainStatus", "ExecMainExitTimestamp")
        if last.get("ExecMainExitTimestamp"):
            detail += f"; last run {last['ExecMainExitTimestamp']}: {last.get('Result', '?')}"
    return Live(is_known, is_known and is_active, detail)


def lingers(user: str, ask: Ask) -> bool | None:
    """Return whether the user's services run while the user is logged out; None if unknown."""
    code, said = ask(("loginctl", "show-user", user, "--property=Linger"))
    # Of a user who is not logged in and does not linger, logind knows nothing.
    return "Linger=yes" in said.splitlines() if code == 0 else None


def linger(user: str, *, turned_on: bool) -> ServiceCommand:
    """Return the command that lets the user's services run without a login, or takes that back."""
    return ServiceCommand(("loginctl", "enable-linger" if turned_on else "disable-linger", user))


def _shown(unit: str, ask: Ask, *properties: str) -> dict[str, str]:
    code, said = ask((*_CTL, "show", unit, f"--property={','.join(properties)}"))
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line) if code == 0 else {}


def _command(program: str, *arguments: str) -> str:
    if _NOT_IN_A_PROGRAM & set(program):
        raise UsageError(
            f"systemd cannot start {program}: its path holds quotes, backslashes or wildcards",
            hint="install recollect elsewhere, or use --manager cron",
        )
    # `$` stands for itself in the first word, and is doubled in the others.
    return " ".join((_quoted(program), *(_quoted(word).replace("$", "$$") for word in arguments)))


def _quoted(text: str) -> str:
    """Return one word of a unit. Raises UsageError for control characters, which no unit file holds safely."""
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise UsageError(f"{text!r} holds a control character; no service can be told of it")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if escaped == text and not set(text) & set(" '\t;#") else f'"{escaped}"'
