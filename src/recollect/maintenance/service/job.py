"""A service independent of its manager, and the record of what was written for it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from recollect.maintenance.setup.agent_settings import RecordFile, load_record, save_record
from recollect.units import duration

ManagerName = Literal["systemd", "launchd", "cron", "schtasks"]
ServiceKind = Literal["scheduled", "daemon"]
"""scheduled: ingests what is new now and then. daemon: runs all the time."""
ServiceEvery = Literal["hourly", "daily", "weekly"]
ServiceState = Literal["planned", "installed", "unchanged", "removed", "not_installed", "incomplete", "failed"]

TIMEOUT_S = 60
JITTER_S = 600
"""Up to so much later than the hour, at random: not every machine's every job at once."""


class ServiceJob(NamedTuple):
    """What is to be run.

    name: `recollect`, with a mark for every home but the default one. program: the console script, which goes when
    Recollect is uninstalled. command: what is started. env: what it needs to find home, configuration and agents. logs:
    the folder for its output, where the manager keeps none. user: as the system names the person, with the domain on
    Windows. uid: on POSIX. retro_out: the folder for weekly retrospectives, "" for none.
    """

    name: str
    kind: ServiceKind
    every: ServiceEvery
    program: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    home: Path
    user_home: Path
    logs: Path
    user: str = ""
    uid: int = 0
    retro_out: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The program's arguments."""
        if self.kind == "daemon":
            return ("up",)
        return ("sync", "--retro-out", self.retro_out) if self.retro_out else ("sync",)

    @property
    def offset_min(self) -> int:
        """The minute of the hour at which it runs where the manager has no jitter of its own: any, always the same."""
        return hashlib.sha256(f"{self.user} {self.home}".encode("utf-8", "surrogatepass")).digest()[0] % 60


class ServiceFile(NamedTuple):
    """A file that the manager reads: ours alone."""

    path: Path
    data: bytes


class ServiceCommand(NamedTuple):
    """A command. may_fail: it says that nothing was there to stop, or that it is so already. tries: how often."""

    argv: tuple[str, ...]
    may_fail: bool = False
    tries: int = 1


def giving_way(job: ServiceJob) -> tuple[ServiceCommand, ...]:
    """Return what stops a daemon that somebody else started: there is one a memory, and a second one would fail."""
    return (ServiceCommand((*job.command, "up", "--stop"), may_fail=True),) if job.kind == "daemon" else ()


class ServicePlan(NamedTuple):
    """What a manager is told. begin: run after the files are written; stop: before they are deleted; after: when
    they are gone. crontab: our lines in the person's crontab, for cron. logs: how to read its output. notes: for
    people.
    """

    manager: ManagerName
    files: tuple[ServiceFile, ...]
    begin: tuple[ServiceCommand, ...]
    stop: tuple[ServiceCommand, ...]
    after: tuple[ServiceCommand, ...] = ()
    crontab: str = ""
    logs: str = ""
    notes: tuple[str, ...] = ()


class Live(NamedTuple):
    """What a manager says now. is_known: it has the service. is_active: it runs, or will at its time."""

    is_known: bool
    is_active: bool
    detail: str


class ServiceFinding(NamedTuple):
    """A problem of an installed service. text: what, and in which file.

    changed: somebody edited our file; installing again does not overwrite that. gone: a file is missing. outdated:
    another version, or other variables, wrote it differently. program: the program that it starts is missing. inactive:
    the manager does not run it.
    """

    kind: Literal["changed", "gone", "outdated", "program", "inactive"]
    text: str


class Ask:
    """Runs programs of a service manager in an environment; what they say is in English where it is translated."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def __call__(self, argv: tuple[str, ...], data: bytes = b"", /) -> tuple[int, str]:
        """Return exit code and output of a program; -1 where it cannot be started or does not end."""
        program = shutil.which(argv[0], path=self._env.get("PATH", os.defpath))
        if program is None:
            return -1, f"{argv[0]} is not there"
        try:
            done = subprocess.run(  # noqa: S603 (a program of the system's, shown to the person before)
                [program, *argv[1:]],
                input=data,
                env={**self._env, "LC_ALL": "C"},
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


class FileStep(msgspec.Struct, frozen=True):
    """A file of the service. text: what it holds, where it is written. action: what is, was or would be done."""

    path: str
    action: Literal["write", "delete", "none", "left"]
    text: str = ""
    detail: str = ""


class CommandStep(msgspec.Struct, frozen=True):
    """A command of the service. state: not run yet, or how it ended; detail: why not well."""

    argv: tuple[str, ...]
    state: Literal["planned", "ok", "failed", "ignored"]
    detail: str = ""


class ServiceReport(msgspec.Struct, frozen=True):
    """What was, or would be, done with the service; or how it is.

    is_active: it runs, or waits for its time; None where that was not asked. logs: the command or file that tells what
    it did. lingers: whether systemd runs it while nobody is logged in; None for other managers.
    """

    ok: bool
    action: Literal["install", "status", "remove"]
    state: ServiceState
    name: str
    manager: ManagerName | Literal[""] = ""
    kind: ServiceKind | Literal[""] = ""
    every: ServiceEvery | Literal[""] = ""
    is_active: bool | None = None
    lingers: bool | None = None
    detail: str = ""
    logs: str = ""
    files: tuple[FileStep, ...] = ()
    commands: tuple[CommandStep, ...] = ()
    notes: tuple[str, ...] = ()


NAME = "service.json"


class WrittenFile(msgspec.Struct, frozen=True):
    """A file of ours. sha256: of what we wrote last and, while that is under way, before. folders: made for it."""

    path: str
    sha256: tuple[str, ...]
    folders: tuple[str, ...] = ()


class ServiceRecord(RecordFile, frozen=True):
    """What is installed. program: that it starts. made_crontab: there was none before. lingered: we turned it on.
    environment: what the service was told of it, None where an older version wrote this. crontab: our lines in it.
    retro_out: as in `Job`.
    """

    manager: ManagerName
    name: str
    kind: ServiceKind
    every: ServiceEvery
    program: str
    files: tuple[WrittenFile, ...] = ()
    made_crontab: bool = False
    lingered: bool = False
    environment: dict[str, str] | None = None
    crontab: str = ""
    retro_out: str = ""

    def file(self, path: str) -> WrittenFile | None:
        """Return what is known of a file."""
        return next((one for one in self.files if one.path == path), None)


def load_service(home: Path) -> ServiceRecord | None:
    """Return what is installed for a home, None for nothing. Raises SettingsError for a damaged record."""
    return load_record(home / NAME, ServiceRecord, writer="the service")


def save_service(home: Path, record: ServiceRecord | None) -> None:
    """Write the record, whole or not at all; None takes it away. Raises SettingsError."""
    save_record(home / NAME, record)
