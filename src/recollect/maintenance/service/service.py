"""Installs the service, tells how it is, takes it out: the only part that writes or starts anything.

Files that somebody changed since are neither overwritten nor deleted; the report says which.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from recollect.errors import RecollectError, SettingsError, UsageError
from recollect.maintenance.service import cron, launchd, systemd
from recollect.maintenance.service.discovery import asking, choose, job_for, live_of, plan_for
from recollect.maintenance.service.job import (
    CommandStep,
    FileStep,
    Finding,
    Job,
    ManagerName,
    Plan,
    Run,
    ServiceEvery,
    ServiceFile,
    ServiceKind,
    ServiceReport,
)
from recollect.maintenance.service.record import Record, WrittenFile, load_record, save_record
from recollect.maintenance.setup.files import (
    delete_settings,
    missing_folders,
    read_settings,
    replace_settings,
    sha256_of,
)

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
        self._ask = asking(env)

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
        before = load_record(self._home)
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
        save_record(self._home, record)
        files = self._write(plan, record)
        record = _settled(record, plan)
        is_new = any(step.action == "write" for step in files)
        commands = () if not is_new and self._is_active(job, chosen) else self._run(plan.begin)
        if chosen == "systemd" and lingers and systemd.lingers(job.user, self._ask) is False:
            commands += self._run((systemd.linger(job.user, turned_on=True),))
            record = msgspec.structs.replace(record, lingered=commands[-1].state == "ok")
        save_record(self._home, record)
        report = _with(report, files=(*gone, *files), commands=commands)
        if any(step.state == "failed" for step in commands):
            detail = next(step.detail for step in commands if step.state == "failed")
            return _with(report, ok=False, state="failed", detail=detail)
        return self._live(_with(report, state="installed" if commands or is_new else "unchanged"), job, chosen)

    def status(self) -> ServiceReport:
        """Tell how the service is, asked now: what was written, what the manager says, whether the program is there.

        Raises SettingsError for a damaged record or crontab.
        """
        record = load_record(self._home)
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

    def findings(self) -> tuple[Finding, ...] | None:
        """Return what is not right with the service, asked now; None where none is installed.

        Raises SettingsError for a damaged record or crontab, or a manager that cannot be asked.
        """
        record = load_record(self._home)
        if record is None:
            return None
        job = self._job_of(record)
        report = _report("status", job, plan_for(record.manager, job, self._ask))
        return self._findings(record, job, self._live(report, job, record.manager))

    def install_again(self) -> ServiceReport:
        """Install what is installed once more, as this version does it. Raises as `install`."""
        record = load_record(self._home)
        if record is None:
            return ServiceReport(True, "install", "not_installed", "")
        return self.install(record.kind, record.every, manager=record.manager, retro_out=record.retro_out)

    def _findings(self, record: Record, job: Job, report: ServiceReport) -> tuple[Finding, ...]:
        found = [wrong for one in record.files if (wrong := self._written_wrong(one)) is not None]
        if record.manager == "cron" and (wrong := self._crontab_wrong(record)) is not None:
            found.append(wrong)
        if not Path(record.program).is_file():
            found.append(Finding("program", f"the program that it starts is gone: {record.program}"))
        elif not found:
            found += self._outdated(record, job)
        if not report.is_active:
            found.append(Finding("inactive", report.detail))
        return tuple(found)

    def _written_wrong(self, written: WrittenFile) -> Finding | None:
        found = read_settings(written.path)
        if found.data is None:
            return Finding("gone", f"{written.path} is gone")
        return None if found.sha256 in written.sha256 else Finding("changed", f"{written.path} was changed since")

    def _crontab_wrong(self, record: Record) -> Finding | None:
        lines = cron.lines_in(cron.read(self._ask), record.name)
        if not lines or not record.crontab:  # that it is not there, the manager says
            return None
        return None if lines == record.crontab else Finding("changed", "our lines in the crontab were changed since")

    def _outdated(self, record: Record, job: Job) -> list[Finding]:
        """Compare what is there with what this version would write for the same variables."""
        known = record.environment
        plan = plan_for(record.manager, job if known is None else job._replace(env=known), self._ask)
        text = "is not as this version writes it" + (" with the variables as they are now" if known is None else "")
        data = {str(one.path): one.data for one in plan.files}
        found = [
            Finding("outdated", f"{one.path} {text}")
            for one in record.files
            if read_settings(one.path).data != data.get(one.path)
        ]
        if record.manager == "cron":
            lines = cron.lines_in(cron.read(self._ask), record.name)
            found += [Finding("outdated", f"the crontab {text}")] if lines and lines != plan.crontab else []
        return found

    def remove(self, *, is_dry_run: bool = False) -> ServiceReport:
        """Stop the service and take out what was written. Raises SettingsError for a damaged record or crontab."""
        record = load_record(self._home)
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
        save_record(self._home, None)
        notes = tuple(f"{path} was changed by somebody since and is left; delete it yourself" for path in left)
        return _with(report, state="removed", files=done.files, commands=done.commands, notes=notes)

    def _job_of(self, record: Record) -> Job:
        """Return the job as it was installed. Where the program is gone, what it was is known from the record."""
        try:
            job = job_for(self._home, self._env, record.kind, record.every, retro_out=record.retro_out)
        except RecollectError:
            program = record.program
            job = Job(record.name, record.kind, record.every, program, (program,), {}, self._home, Path(), self._home)
        return job._replace(name=record.name, program=record.program)

    def _check_files(self, plan: Plan, before: Record | None) -> None:
        """Raise SettingsError where a file of somebody else's stands in our place."""
        for one in plan.files:
            found, known = read_settings(str(one.path)), before.file(str(one.path)) if before else None
            if found.data in (None, one.data) or (known is not None and found.sha256 in known.sha256):
                continue
            raise SettingsError(
                f"{one.path} is not as Recollect wrote it",
                hint="move it away to have it written anew; with systemd, `systemctl --user edit` keeps your changes",
            )

    def _make_folders(self, job: Job, manager: ManagerName) -> None:
        self._make_home()
        logs = launchd.log_file(job).parent if manager == "launchd" else job.logs
        try:
            logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{logs} cannot be made: {error.strerror}") from error

    def _recorded(self, job: Job, plan: Plan, before: Record | None) -> Record:
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
        return Record(
            plan.manager, job.name, job.kind, job.every, job.program, tuple(files), made_crontab, lingered,
            dict(job.env), plan.crontab, job.retro_out,
        )  # fmt: skip

    def _write(self, plan: Plan, record: Record) -> tuple[FileStep, ...]:
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

    def _take_out(self, record: Record, *, keep: set[str]) -> _TakenOut:
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

    def _out_of_crontab(self, record: Record) -> list[FileStep]:
        present = cron.read(self._ask)
        if not cron.lines_in(present, record.name):
            return []
        rest = cron.without_lines(present or "", record.name)
        cron.write(None if record.made_crontab and not rest.strip() else rest, self._ask)
        return [FileStep(_CRONTAB, "delete")]

    def _run(self, runs: tuple[Run, ...]) -> tuple[CommandStep, ...]:
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

    def _is_active(self, job: Job, manager: ManagerName) -> bool:
        return live_of(manager, job, self._ask).is_active

    def _live(self, report: ServiceReport, job: Job, manager: ManagerName) -> ServiceReport:
        """Return a report with what the manager says now."""
        live = live_of(manager, job, self._ask)
        lingering = systemd.lingers(job.user, self._ask) if manager == "systemd" else None
        notes = report.notes
        if lingering is False:
            notes += (
                "it stops when you log out of your last session; `recollect service install --linger` lets it go on",
            )
        return _with(report, is_active=live.is_active, detail=live.detail, lingers=lingering, notes=notes)


def _report(action: str, job: Job, plan: Plan) -> ServiceReport:
    return msgspec.convert(
        {
            "ok": True,
            "action": action,
            "state": "planned",
            "name": job.name,
            "manager": plan.manager,
            "kind": job.kind,
            "every": job.every if job.kind == "scheduled" else "",
            "logs": plan.logs,
            "notes": plan.notes,
        },
        ServiceReport,
    )


def _with(report: ServiceReport, **changes: object) -> ServiceReport:
    return msgspec.structs.replace(report, **changes)


def _planned(runs: tuple[Run, ...]) -> tuple[CommandStep, ...]:
    return tuple(CommandStep(run.argv, "planned") for run in runs)


def _settled(record: Record, plan: Plan) -> Record:
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
