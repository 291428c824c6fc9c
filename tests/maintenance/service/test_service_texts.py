"""What every manager is told, as text: reviewed files, and whatever on this machine can read them."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.maintenance.service import cron, launchd, schtasks, systemd
from recollect.maintenance.service.job import ServiceEvery, ServiceKind, ServicePlan
from tests.formats.goldens import is_golden
from tests.maintenance.service.jobs import job

JOBS: list[tuple[ServiceKind, ServiceEvery]] = [
    ("scheduled", "hourly"),
    ("scheduled", "daily"),
    ("scheduled", "weekly"),
    ("daemon", "hourly"),
]
PLANS = {
    "systemd": systemd.plan,
    "launchd": lambda one: launchd.plan(one, domain="gui/501"),
    "cron": lambda one: cron.plan(one, ionice=True),
    "schtasks": schtasks.plan,
}


def text_of(plan: ServicePlan) -> str:
    """Return everything that a plan would write and run."""
    parts = [plan.crontab] if plan.crontab else []
    for one in plan.files:
        encoding = "utf-16" if one.path.suffix == ".xml" else "utf-8"
        parts.append(f"== {one.path.as_posix()}\n{one.data.decode(encoding)}".replace("\r\n", "\n"))
    for title, runs in (("begin", plan.begin), ("stop", plan.stop), ("after", plan.after)):
        parts += [f"== {title}\n" + "".join(f"{' '.join(run.argv)}\n" for run in runs)] if runs else []
    return "\n".join(parts)


@pytest.mark.golden
@pytest.mark.parametrize(("kind", "every"), JOBS)
@pytest.mark.parametrize("manager", PLANS)
def test_what_a_manager_is_told_is_reviewed(manager: str, kind: ServiceKind, every: ServiceEvery) -> None:
    name = kind if kind == "daemon" else every
    assert is_golden(f"service/{manager}_{name}.txt", text_of(PLANS[manager](job(kind, every))))


def what_systemd_says(folder: Path, plan: ServicePlan) -> str:
    """Return what systemd finds wrong in units; nothing else that is on this machine is looked at."""
    units = folder / "units"
    units.mkdir(exist_ok=True)
    for one in plan.files:
        (units / one.path.name).write_bytes(one.data)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *(str(units / one.path.name) for one in plan.files)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder), "SYSTEMD_LOG_LEVEL": "info"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "Failed to initialize manager" in done.stderr:
        pytest.skip("systemd cannot read units here")
    return done.stderr if done.returncode or str(units) in done.stderr else ""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here that could read a unit")
@pytest.mark.parametrize(("kind", "every"), JOBS)
def test_systemd_itself_reads_the_units(tmp_path: Path, kind: ServiceKind, every: ServiceEvery) -> None:
    program = tmp_path / "100% of my $HOME; #programs" / "recollect"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    one = job(kind, every, {"A": "x\\y $HOME 100% 'q' \"q\";#"})
    assert what_systemd_says(tmp_path, systemd.plan(one._replace(command=(str(program), "-I")))) == ""
    assert "recollect" in what_systemd_says(tmp_path, systemd.plan(one._replace(command=(f"{program}-gone",))))


def test_a_unit_cannot_be_given_a_line_more() -> None:
    with pytest.raises(UsageError, match="control character"):
        systemd.plan(job(env={"CODEX_HOME": "/x\nExecStartPre=/bin/false"}))


def test_a_program_that_systemd_would_not_start_is_refused() -> None:
    with pytest.raises(UsageError, match="systemd cannot start"):
        systemd.plan(job()._replace(command=("/home/dev/'my' programs/recollect",)))


def test_a_relative_configuration_folder_means_nothing() -> None:
    assert systemd.units_folder(job(env={"XDG_CONFIG_HOME": "conf"})) == Path("/home/dev/.config/systemd/user")
    assert systemd.units_folder(job(env={"XDG_CONFIG_HOME": "/conf"})) == Path("/conf/systemd/user")


@pytest.mark.parametrize(("kind", "every"), JOBS)
def test_a_property_list_says_what_was_meant(kind: ServiceKind, every: ServiceEvery) -> None:
    one = job(kind, every, {"CODEX_HOME": "/a & <b>"})
    told = plistlib.loads(launchd.plan(one, domain="gui/501").files[0].data)
    assert told["ProgramArguments"] == [*one.command, *one.arguments]
    assert told["EnvironmentVariables"] == {"CODEX_HOME": "/a & <b>"}
    assert told["Umask"] == 0o077
    assert ("StartCalendarInterval" in told) is (kind == "scheduled")
    assert ("KeepAlive" in told) is (kind == "daemon")


@pytest.mark.skipif(shutil.which("plutil") is None, reason="no macOS here that could read a property list")
def test_macos_itself_reads_the_property_list(tmp_path: Path) -> None:
    path = tmp_path / "one.plist"
    path.write_bytes(launchd.plan(job(), domain="gui/501").files[0].data)
    subprocess.run(["plutil", "-lint", str(path)], check=True)


@pytest.mark.skipif(shutil.which("sh") is None, reason="cron runs its lines in a shell")
def test_a_shell_runs_the_line_as_it_was_meant(tmp_path: Path) -> None:
    folder = tmp_path / "100% 'mine' \"$HOME\" ; & logs"
    folder.mkdir()
    program = folder / "recollect"
    program.write_text('#!/bin/sh\nprintf "%s|%s|%s\\n" "$CODEX_HOME" "$*" "$(umask)"\necho said >&2\n')
    program.chmod(0o755)
    odd = "/x 100% $HOME 'a' \"b\" `c` #d"
    one = job(env={"CODEX_HOME": odd})._replace(command=(str(program),), logs=folder)
    line = cron.plan(one, ionice=False).crontab.splitlines()[1]
    command = line.split(" ", 5)[5].replace("\\%", "%")  # what cron itself makes of a line
    subprocess.run(["sh", "-c", command], check=True, env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere"})
    log = folder / f"{one.name}-service.log"
    assert log.read_text() == f"{odd}|sync|0077\nsaid\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_every_percent_sign_of_a_crontab_line_is_escaped() -> None:
    line = cron.plan(job(), ionice=True).crontab
    assert line.count("%") == line.count("\\%") == 1


_ORDER = {
    "Task": ["RegistrationInfo", "Triggers", "Principals", "Settings", "Actions"],
    "TimeTrigger": ["Enabled", "StartBoundary", "EndBoundary", "Repetition", "ExecutionTimeLimit", "RandomDelay"],
    "CalendarTrigger": ["Enabled", "StartBoundary", "Repetition", "RandomDelay", "ScheduleByDay", "ScheduleByWeek"],
    "LogonTrigger": ["Enabled", "StartBoundary", "Repetition", "UserId", "Delay"],
    "RestartOnFailure": ["Interval", "Count"],
}
"""The order that the schema of the task scheduler demands; elsewhere it takes any."""


@pytest.mark.parametrize(("kind", "every"), JOBS)
def test_a_task_keeps_the_order_of_the_schema(kind: ServiceKind, every: ServiceEvery) -> None:
    plan = schtasks.plan(job(kind, every)._replace(user="AT&T\\dev"))
    data = plan.files[1].data
    assert data[:2] in (b"\xff\xfe", b"\xfe\xff")
    root = ET.fromstring(data.decode("utf-16").replace('encoding="UTF-16"', ""))
    names = [[part.tag.rpartition("}")[2] for part in (node, *node)] for node in root.iter()]
    for name, *parts in names:
        if name in _ORDER:
            assert parts == sorted(parts, key=_ORDER[name].index)
    assert root.findtext(".//{*}Principal/{*}UserId") == "AT&T\\dev"


def test_a_folder_with_a_space_stays_one_word_of_a_command_script() -> None:
    one = job()._replace(retro_out=r"C:\Users\dev\my 100% retros")
    (script,) = [file for file in schtasks.plan(one).files if file.path.suffix == ".cmd"]
    assert r'sync --retro-out "C:\Users\dev\my 100%% retros" >' in script.data.decode()


def test_a_command_script_takes_no_quotes_in_a_value() -> None:
    with pytest.raises(UsageError, match="command script"):
        schtasks.plan(job(env={"CODEX_HOME": 'C:\\x" & del *'}))


CRONTABS = ["", "MAILTO=me\n", "0 5 * * * backup", "# >>> other >>>\n1 * * * * x\n# <<< other <<<\n\n\n"]


@pytest.mark.parametrize("before", CRONTABS)
def test_lines_go_into_a_crontab_and_out_again(before: str) -> None:
    lines = cron.plan(job(), ionice=False).crontab
    with_ours = cron.with_lines(before, job().name, lines)
    assert cron.lines_in(with_ours, job().name) == lines
    assert cron.with_lines(with_ours, job().name, lines) == with_ours
    again = cron.without_lines(with_ours, job().name)
    assert again == (before if not before or before.endswith("\n") else before + "\n")
