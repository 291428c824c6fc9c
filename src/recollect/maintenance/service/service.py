"""Installs, reports and uninstalls the service. Only this module writes or starts anything.

Files that somebody changed since are neither overwritten nor deleted; the report says which.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, assert_never

import msgspec

from recollect.agents.registry import adapters
from recollect.errors import RecollectError, SettingsError, UsageError
from recollect.maintenance.service import cron, launchd, schtasks, systemd
from recollect.maintenance.service.job import (
    Ask,
    CommandStep,
    FileStep,
    Live,
    ManagerName,
    ServiceCommand,
    ServiceEvery,
    ServiceFile,
    ServiceFinding,
    ServiceJob,
    ServiceKind,
    ServicePlan,
    ServiceRecord,
    ServiceReport,
    WrittenFile,
    load_service,
    save_service,
)
from recollect.maintenance.setup.agent_settings import (
    delete_settings,
    missing_folders,
    read_settings,
    replace_settings,
    sha256_of,
)
from recollect.maintenance.setup.discovery import this_machine
from recollect.paths import CONFIG_NAME, HOME_VARIABLE, STORE_VARIABLE, home_dir, user_home

_WAIT_S = 1.0
_CRONTAB = "crontab"
"""Where the report names a file, of cron its table: it has no path that is the user's business."""


class _TakenOut(msgspec.Struct, frozen=True):
    files: tuple[FileStep, ...]
    commands: tuple[CommandStep, ...]


class Service:
    """The service of one home. make_home: makes that folder, with its permissions."""

    def __init__(
        self, home: Path, env: Mapping[str, str], *, make_home: Callable[[], None], wait_s: float = _WAIT_S
    ) -> None:
        self._home = home
        self._env = env
        self._make_home = make_home
        self._wait_s = wait_s
        self._ask = Ask(env)

    def install(
        self, kind: ServiceKind, every: ServiceEvery = "hourly", *, manager: ManagerName | None = None,
        lingers: bool = False, retro_out: str = "", is_dry_run: bool = False,
    ) -> ServiceReport:  # fmt: skip
        """Write what the manager needs and start it; done twice, the second time changes nothing.

        manager: by default what this machine has. lingers: with systemd, let it run while nobody is logged in.
        retro_out: the folder, as an absolute path, where a scheduled service writes a retrospective every week.
        Raises UsageError where the machine or a path cannot do it, SettingsError for a damaged record or crontab.
        """
        if retro_out and kind == "daemon":
            raise UsageError("a daemon writes no weekly retrospective", hint="leave out --daemon or --retro-out")
        job = job_for(self._home, self._env, kind, every, retro_out=retro_out)
        chosen = choose(self._ask, manager, must_be_there=not is_dry_run)
        plan = plan_for(chosen, job, self._ask)
        before = load_service(self._home)
        report = _report("install", job, plan)
        if is_dry_run:
            files = tuple(FileStep(str(one.path), "write", _text(one)) for one in plan.files)
            if plan.crontab:
                files = (FileStep(_CRONTAB, "write", plan.crontab),)
            return _with(report, state="planned", files=files, commands=_planned(plan.begin))
        self._check_files(plan, before)
        self._make_folders(job, chosen)
        gone: tuple[FileStep, ...] = ()
        if before is not None and (before.manager, before.name, before.kind) != (chosen, job.name, kind):
            gone = self._take_out(before, keep={str(one.path) for one in plan.files}).files
        record = self._recorded(job, plan, before)
        save_service(self._home, record)
        files = self._write(plan, record)
        record = _settled(record, plan)
        is_new = any(step.action == "write" for step in files)
        commands = () if not is_new and live_of(chosen, job, self._ask).is_active else self._run(plan.begin)
        if chosen == "systemd" and lingers and systemd.lingers(job.user, self._ask) is False:
            commands += self._run((systemd.linger(job.user, turned_on=True),))
            record = msgspec.structs.replace(record, lingered=commands[-1].state == "ok")
        save_service(self._home, record)
        report = _with(report, files=(*gone, *files), commands=commands)
        if any(step.state == "failed" for step in commands):
            detail = next(step.detail for step in commands if step.state == "failed")
            return _with(report, ok=False, state="failed", detail=detail)
        return self._live(_with(report, state="installed" if commands or is_new else "unchanged"), job, chosen)

    def status(self) -> ServiceReport:
        """Return the present state of the service: written files, the manager's answer, whether the program exists.

        Raises SettingsError for a damaged record or crontab.
        """
        record = load_service(self._home)
        if record is None:
            return ServiceReport(True, "status", "not_installed", "")
        job = self._job_of(record)
        report = _report("status", job, plan_for(record.manager, job, self._ask))
        written = {one.path: self._written_wrong(one) for one in record.files}
        files = tuple(FileStep(path, "none", detail=found.text if found else "") for path, found in written.items())
        report = self._live(_with(report, state="installed", files=files, notes=()), job, record.manager)
        findings = self._findings(record, job, report)
        if findings:
            hint = "`recollect service install` puts it right"
            detail = "; ".join(found.text for found in findings)
            return _with(report, ok=False, state="incomplete", detail=detail, notes=(*report.notes, hint))
        return report

    def findings(self) -> tuple[ServiceFinding, ...] | None:
        """Return the present problems of the service; None if none is installed.

        Raises SettingsError for a damaged record or crontab, or a manager that cannot be asked.
        """
        record = load_service(self._home)
        if record is None:
            return None
        job = self._job_of(record)
        report = _report("status", job, plan_for(record.manager, job, self._ask))
        return self._findings(record, job, self._live(report, job, record.manager))

    def install_again(self) -> ServiceReport:
        """Install what is installed once more, as this version does it. Raises as `install`."""
        record = load_service(self._home)
        if record is None:
            return ServiceReport(True, "install", "not_installed", "")
        return self.install(record.kind, record.every, manager=record.manager, retro_out=record.retro_out)

    def _findings(self, record: ServiceRecord, job: ServiceJob, report: ServiceReport) -> tuple[ServiceFinding, ...]:
        found = [wrong for one in record.files if (wrong := self._written_wrong(one)) is not None]
        if record.manager == "cron" and (wrong := self._crontab_wrong(record)) is not None:
            found.append(wrong)
        if not Path(record.program).is_file():
            found.append(ServiceFinding("program", f"the program that it starts is gone: {record.program}"))
        elif not found:
            found += self._outdated(record, job)
        if not report.is_active:
            found.append(ServiceFinding("inactive", report.detail))
        return tuple(found)

    def _written_wrong(self, written: WrittenFile) -> ServiceFinding | None:
        found = read_settings(written.path)
        if found.data is None:
            return ServiceFinding("gone", f"{written.path} is gone")
        return (
            None if found.sha256 in written.sha256 else ServiceFinding("changed", f"{written.path} was changed since")
        )

    def _crontab_wrong(self, record: ServiceRecord) -> ServiceFinding | None:
        lines = cron.lines_in(cron.read(self._ask), record.name)
        if not lines or not record.crontab:  # that it is not there, the manager says
            return None
        return (
            None
            if lines == record.crontab
            else ServiceFinding("changed", "our lines in the crontab were changed since")
        )

    def _outdated(self, record: ServiceRecord, job: ServiceJob) -> list[ServiceFinding]:
        """Compare the files with what this version would write for the same variables."""
        known = record.environment
        plan = plan_for(record.manager, job if known is None else job._replace(env=known), self._ask)
        text = "is not as this version writes it" + (" with the variables as they are now" if known is None else "")
        data = {str(one.path): one.data for one in plan.files}
        found = [
            ServiceFinding("outdated", f"{one.path} {text}")
            for one in record.files
            if read_settings(one.path).data != data.get(one.path)
        ]
        if record.manager == "cron":
            lines = cron.lines_in(cron.read(self._ask), record.name)
            found += [ServiceFinding("outdated", f"the crontab {text}")] if lines and lines != plan.crontab else []
        return found

    def remove(self, *, is_dry_run: bool = False) -> ServiceReport:
        """Stop the service and remove what was written. Raises SettingsError for a damaged record or crontab."""
        record = load_service(self._home)
        if record is None:
            return ServiceReport(True, "remove", "not_installed", "")
        job = self._job_of(record)
        plan = plan_for(record.manager, job, self._ask)
        report = _with(_report("remove", job, plan), notes=())
        if is_dry_run:
            files = tuple(FileStep(one.path, "delete") for one in record.files)
            files += (FileStep(_CRONTAB, "delete", plan.crontab),) if record.manager == "cron" else ()
            return _with(report, state="planned", files=files, commands=_planned((*plan.stop, *plan.after)))
        done = self._take_out(record, keep=set())
        left = [step.path for step in done.files if step.action == "left"]
        save_service(self._home, None)
        notes = tuple(f"{path} was changed since then, so it stays; delete it yourself" for path in left)
        return _with(report, state="removed", files=done.files, commands=done.commands, notes=notes)

    def _job_of(self, record: ServiceRecord) -> ServiceJob:
        """Return the job as it was installed. Where the program is gone, what it was is known from the record."""
        try:
            job = job_for(self._home, self._env, record.kind, record.every, retro_out=record.retro_out)
        except RecollectError:
            program = record.program
            job = ServiceJob(
                record.name, record.kind, record.every, program, (program,), {}, self._home, Path(), self._home
            )
        return job._replace(name=record.name, program=record.program)

    def _check_files(self, plan: ServicePlan, before: ServiceRecord | None) -> None:
        """Raise SettingsError if somebody else's file is in our place."""
        for one in plan.files:
            found, known = read_settings(str(one.path)), before.file(str(one.path)) if before else None
            if found.data in (None, one.data) or (known is not None and found.sha256 in known.sha256):
                continue
            raise SettingsError(
                f"{one.path} has changed since Recollect wrote it",
                hint="move it away to have it written again; with systemd, `systemctl --user edit` keeps your changes",
            )

    def _make_folders(self, job: ServiceJob, manager: ManagerName) -> None:
        self._make_home()
        logs = launchd.log_file(job).parent if manager == "launchd" else job.logs
        try:
            logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{logs} cannot be made: {error.strerror}") from error

    def _recorded(self, job: ServiceJob, plan: ServicePlan, before: ServiceRecord | None) -> ServiceRecord:
        """Return the record of what is about to be written."""
        files: list[WrittenFile] = []
        for one in plan.files:
            found, known = read_settings(str(one.path)), before.file(str(one.path)) if before else None
            folders = known.folders if known and found.data is not None else missing_folders(found)
            hashes = dict.fromkeys(filter(None, (found.sha256, sha256_of(one.data))))
            files.append(WrittenFile(str(one.path), tuple(hashes), folders))
        was_cron = before is not None and before.manager == "cron" and plan.manager == "cron"
        made_crontab = before is not None and before.made_crontab if was_cron else False
        if plan.crontab and not was_cron:
            made_crontab = cron.read(self._ask) is None
        lingered = before is not None and before.lingered
        return ServiceRecord(
            plan.manager, job.name, job.kind, job.every, job.program, tuple(files), made_crontab, lingered,
            dict(job.env), plan.crontab, job.retro_out,
        )  # fmt: skip

    def _write(self, plan: ServicePlan, record: ServiceRecord) -> tuple[FileStep, ...]:
        steps = [self._written(one) for one in plan.files]
        if plan.crontab:
            present = cron.read(self._ask)
            wanted = cron.with_lines(present, record.name, plan.crontab)
            if wanted != present:
                cron.write(wanted, self._ask)
            steps.append(FileStep(_CRONTAB, "none" if wanted == present else "write", plan.crontab))
        return tuple(steps)

    def _written(self, one: ServiceFile) -> FileStep:
        found = read_settings(str(one.path))
        if found.data == one.data:
            return FileStep(str(one.path), "none")
        try:
            replace_settings(found, one.data)
        except SettingsError as error:
            raise SettingsError(str(error), hint="make it writable and run the same command again") from error
        return FileStep(str(one.path), "write", _text(one))

    def _take_out(self, record: ServiceRecord, *, keep: set[str]) -> _TakenOut:
        """Stop what a record speaks of and delete its files, but those to keep."""
        job = self._job_of(record)
        plan = plan_for(record.manager, job, self._ask)
        commands = self._run(plan.stop)
        files: list[FileStep] = []
        for written in record.files:
            found = read_settings(written.path)
            if written.path in keep or found.data is None:
                continue
            if found.sha256 not in written.sha256:
                files.append(FileStep(written.path, "left", detail="was changed since"))
                continue
            delete_settings(found, written.folders)
            files.append(FileStep(written.path, "delete"))
        if record.manager == "cron":
            files += self._out_of_crontab(record)
        if record.manager == "launchd":
            _delete_log(launchd.log_file(job))
        commands += self._run(plan.after)
        if record.lingered:
            commands += self._run((systemd.linger(job.user, turned_on=False),))
        return _TakenOut(tuple(files), commands)

    def _out_of_crontab(self, record: ServiceRecord) -> list[FileStep]:
        present = cron.read(self._ask)
        if not cron.lines_in(present, record.name):
            return []
        rest = cron.without_lines(present or "", record.name)
        cron.write(None if record.made_crontab and not rest.strip() else rest, self._ask)
        return [FileStep(_CRONTAB, "delete")]

    def _run(self, runs: tuple[ServiceCommand, ...]) -> tuple[CommandStep, ...]:
        """Run commands, up to the first that may not fail and does."""
        steps: list[CommandStep] = []
        for run in runs:
            code, said = self._ask(run.argv)
            for _ in range(run.tries - 1):
                if code == 0:
                    break
                time.sleep(self._wait_s)
                code, said = self._ask(run.argv)
            detail = (
                "" if code == 0 else f"{' '.join(run.argv)}: {' '.join(said.split())[-300:] or f'ended with {code}'}"
            )
            state: Literal["ok", "ignored", "failed"] = "ok" if code == 0 else "ignored" if run.may_fail else "failed"
            steps.append(CommandStep(run.argv, state, detail))
            if state == "failed":
                break
        return tuple(steps)

    def _live(self, report: ServiceReport, job: ServiceJob, manager: ManagerName) -> ServiceReport:
        """Return a report with what the manager says now."""
        live = live_of(manager, job, self._ask)
        lingering = systemd.lingers(job.user, self._ask) if manager == "systemd" else None
        notes = report.notes
        if lingering is False:
            notes += (
                "it stops when you log out of your last session; `recollect service install --linger` lets it go on",
            )
        return _with(report, is_active=live.is_active, detail=live.detail, lingers=lingering, notes=notes)


def _report(action: Literal["install", "status", "remove"], job: ServiceJob, plan: ServicePlan) -> ServiceReport:
    return ServiceReport(
        True, action, "planned", job.name, plan.manager, job.kind, job.every if job.kind == "scheduled" else "",
        logs=plan.logs, notes=plan.notes,
    )  # fmt: skip


def _with(report: ServiceReport, **changes: object) -> ServiceReport:
    return msgspec.structs.replace(report, **changes)


def _planned(runs: tuple[ServiceCommand, ...]) -> tuple[CommandStep, ...]:
    return tuple(CommandStep(run.argv, "planned") for run in runs)


def _settled(record: ServiceRecord, plan: ServicePlan) -> ServiceRecord:
    """Return the record of files that are written: nothing of before is ours any more."""
    data = {str(one.path): sha256_of(one.data) for one in plan.files}
    files = tuple(msgspec.structs.replace(one, sha256=(data[one.path],)) for one in record.files)
    return msgspec.structs.replace(record, files=files)


def _text(one: ServiceFile) -> str:
    return one.data.decode("utf-16" if one.path.suffix == ".xml" else "utf-8")


def _delete_log(path: Path) -> None:
    path.unlink(missing_ok=True)
    try:
        path.parent.rmdir()
    except OSError:  # not there, or another home's log is in it
        return


_BASE_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PYTHON_KEYRING_BACKEND")
_PROBES: dict[ManagerName, tuple[str, ...]] = {
    "launchd": ("launchctl", "version"),
    "cron": ("crontab", "-l"),
    "schtasks": ("schtasks", "/?"),
}
"""What a manager's program is run with to see that it is there; how it ends says nothing."""


def job_for(
    home: Path, env: Mapping[str, str], kind: ServiceKind, every: ServiceEvery, *, retro_out: str = ""
) -> ServiceJob:
    """Return the job that keeps a home fresh. Raises UsageError where the program is not installed to stay."""
    machine = this_machine(home, env)
    needed = _needed(home, env)
    return ServiceJob(
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


def plan_for(manager: ManagerName, job: ServiceJob, ask: Ask) -> ServicePlan:
    """Return a job's plan for a manager. Raises UsageError for paths that the manager cannot handle."""
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


def live_of(manager: ManagerName, job: ServiceJob, ask: Ask) -> Live:
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
