"""The Windows Task Scheduler: a task of the user's, registered from XML.

Rules: the Task Scheduler schema (learn.microsoft.com, `taskschd`): the order of elements is part of it; schtasks.exe
takes the file in UTF-16. A task has no environment, so it runs a command script of ours that sets it.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

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

_TASK = """\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Recollect, the memory of coding agents: {what}.</Description>
  </RegistrationInfo>
  <Triggers>
{trigger}  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
{restart}    <Enabled>true</Enabled>
    <Hidden>false</Hidden>
    <ExecutionTimeLimit>{limit}</ExecutionTimeLimit>
    <Priority>9</Priority>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>cmd.exe</Command>
      <Arguments>{arguments}</Arguments>
    </Exec>
  </Actions>
</Task>
"""
_LOGON = """\
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>{user}</UserId>
      <Delay>PT1M</Delay>
    </LogonTrigger>
"""
# The date is only a lower bound. A repetition without a duration continues for ever.
_HOURLY = """\
    <TimeTrigger>
      <Enabled>true</Enabled>
      <StartBoundary>2026-01-05T00:{minute:02}:00</StartBoundary>
      <Repetition>
        <Interval>PT1H</Interval>
      </Repetition>
      <RandomDelay>PT{jitter_s}S</RandomDelay>
    </TimeTrigger>
"""
_CALENDAR = """\
    <CalendarTrigger>
      <Enabled>true</Enabled>
      <StartBoundary>2026-01-05T12:{minute:02}:00</StartBoundary>
      <RandomDelay>PT{jitter_s}S</RandomDelay>
{schedule}    </CalendarTrigger>
"""
_BY_DAY = """\
      <ScheduleByDay>
        <DaysInterval>1</DaysInterval>
      </ScheduleByDay>
"""
_BY_WEEK = """\
      <ScheduleByWeek>
        <WeeksInterval>1</WeeksInterval>
        <DaysOfWeek>
          <Monday />
        </DaysOfWeek>
      </ScheduleByWeek>
"""
_RESTART = """\
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>3</Count>
    </RestartOnFailure>
"""


def plan(job: ServiceJob) -> ServicePlan:
    """Return the task of a job. Raises UsageError for a value that no command script can hold."""
    folder = job.home / "service"
    script, task = folder / f"{job.name}.cmd", folder / f"{job.name}.xml"
    log = job.logs / f"{job.name}-service.log"
    named = ("/TN", job.name)
    return ServicePlan(
        manager="schtasks",
        files=(
            ServiceFile(script, _script(job, log).encode()),
            ServiceFile(task, _task(job, script).encode("utf-16")),
        ),
        begin=(
            ServiceCommand(("schtasks", "/Create", *named, "/XML", str(task), "/F")),
            *giving_way(job),
            *((ServiceCommand(("schtasks", "/Run", *named)),) if job.kind == "daemon" else ()),
        ),
        stop=(
            *giving_way(job),
            ServiceCommand(("schtasks", "/End", *named), may_fail=True),
            ServiceCommand(("schtasks", "/Delete", *named, "/F"), may_fail=True),
        ),
        logs=str(log),
        notes=("it runs while you are logged in",),
    )


def live(job: ServiceJob, ask: Ask) -> Live:
    """Ask whether the task exists. The program's other output is in the system's language, so it is not read."""
    is_known = ask(("schtasks", "/Query", "/TN", job.name))[0] == 0
    return Live(is_known, is_known, f"task {job.name}" if is_known else f"there is no task {job.name}")


def _task(job: ServiceJob, script: Path) -> str:
    user = escape(job.user)
    if job.kind == "daemon":
        trigger = _LOGON.format(user=user)
    elif job.every == "hourly":
        trigger = _HOURLY.format(minute=job.offset_min, jitter_s=JITTER_S)
    else:
        schedule = {"daily": _BY_DAY, "weekly": _BY_WEEK}[job.every]
        trigger = _CALENDAR.format(minute=job.offset_min, jitter_s=JITTER_S, schedule=schedule)
    return _TASK.format(
        what="runs all the time" if job.kind == "daemon" else "ingests what they wrote",
        trigger=trigger,
        user=user,
        restart=_RESTART if job.kind == "daemon" else "",
        limit="PT0S" if job.kind == "daemon" else "PT4H",
        arguments=escape(f'/d /c ""{script}""'),
    ).replace("\n", "\r\n")


def _script(job: ServiceJob, log: Path) -> str:
    lines = ["@echo off", "chcp 65001 >nul"]
    lines += [f'set "{name}={_inside(value)}"' for name, value in sorted(job.env.items())]
    words = " ".join(
        f'"{_inside(word)}"' if " " in word else _inside(word) for word in (*job.command[1:], *job.arguments)
    )
    lines += [f'"{_inside(job.command[0])}" {words} >"{_inside(str(log))}" 2>&1']
    return "".join(f"{line}\r\n" for line in lines)


def _inside(text: str) -> str:
    """Return text for between quotes in a command script. Raises UsageError for what no path holds there."""
    if '"' in text or not text.isprintable():
        raise UsageError(f"{text!r} cannot stand in a command script")
    return text.replace("%", "%%")
