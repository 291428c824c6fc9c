"""Installing, asking and removing the service, with programs of the system's that remember what they were told."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from recollect.errors import SettingsError, UsageError
from recollect.maintenance.service.service import Service
from recollect.store.home import make_home
from tests.maintenance.service.jobs import CRONTAB, LOGINCTL, SYSTEMCTL, Programs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd and cron, as Linux has them")


class Desk:
    """A person's home, a memory in it, and the programs that are on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.memory = self.home / "memory"
        self.units = self.home / ".config" / "systemd" / "user"
        (folder / "bin").mkdir()
        self.home.mkdir()
        self.programs = Programs(folder / "bin")
        self.programs.set(units=str(self.units))
        self.env = {"HOME": str(self.home), "PATH": str(folder / "bin"), "RECOLLECT_HOME": str(self.memory)}

    @property
    def service(self) -> Service:
        """The service of the memory, as a new process would see it."""
        return Service(self.memory, self.env, make_home=partial(make_home, self.memory), wait_s=0)

    def tree(self) -> dict[str, bytes]:
        """Return every file and folder below the person's home, but the memory's own."""
        found = [path for path in self.home.rglob("*") if self.memory not in (path, *path.parents)]
        return {str(path.relative_to(self.home)): path.read_bytes() if path.is_file() else b"" for path in found}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a machine with systemd."""
    desk = Desk(tmp_path)
    desk.programs.put("systemctl", SYSTEMCTL)
    desk.programs.put("loginctl", LOGINCTL)
    return desk


@pytest.fixture
def cron_desk(tmp_path: Path) -> Desk:
    """Return a machine with nothing but cron."""
    desk = Desk(tmp_path)
    desk.programs.put("crontab", CRONTAB)
    return desk


def names(desk: Desk) -> list[str]:
    """Return the units that are there."""
    return sorted(path.name for path in desk.units.iterdir()) if desk.units.exists() else []


def test_installed_and_removed_leaves_everything_as_it_was(desk: Desk) -> None:
    before = desk.tree()
    report = desk.service.install("scheduled")
    assert (report.ok, report.state, report.manager, report.is_active) == (True, "installed", "systemd", True)
    assert names(desk) == [f"{report.name}-sync.service", f"{report.name}-sync.timer"]
    assert desk.service.status().ok
    report = desk.service.remove()
    assert (report.ok, report.state) == (True, "removed")
    assert desk.tree() == before
    assert not (desk.memory / "service.json").exists()
    assert desk.programs.state["active"] == desk.programs.state["enabled"] == []
    assert desk.service.status().state == desk.service.remove().state == "not_installed"


def test_a_dry_run_writes_and_starts_nothing(desk: Desk) -> None:
    report = desk.service.install("daemon", is_dry_run=True)
    assert report.state == "planned"
    assert "ExecStart=" in report.files[0].text
    assert not desk.memory.exists()
    assert desk.tree() == {}
    assert desk.programs.calls == ["systemctl --user show-environment"]
    desk.service.install("daemon")
    before = desk.tree()
    assert desk.service.remove(is_dry_run=True).state == "planned"
    assert desk.tree() == before


def test_a_weekly_retrospective_is_part_of_what_is_installed(desk: Desk) -> None:
    folder = str(desk.home / "my retros")
    assert desk.service.install("scheduled", retro_out=folder).ok
    (unit,) = [path for path in desk.units.iterdir() if path.suffix == ".service"]
    assert f'sync --retro-out "{folder}"' in unit.read_text()
    assert desk.service.install("scheduled", retro_out=folder).state == "unchanged"
    assert desk.service.install_again().state == "unchanged"
    assert desk.service.findings() == ()
    assert desk.service.install("scheduled").state == "installed"
    assert "--retro-out" not in unit.read_text()
    with pytest.raises(UsageError, match="a daemon writes no weekly retrospective"):
        desk.service.install("daemon", retro_out=folder)


def test_installed_twice_the_second_time_changes_nothing(desk: Desk) -> None:
    desk.service.install("daemon")
    before = desk.tree()
    desk.programs.calls  # noqa: B018 (forgotten)
    assert desk.service.install("daemon").state == "unchanged"
    assert desk.tree() == before
    assert not [call for call in desk.programs.calls if " show" not in call]


def test_what_has_stopped_is_started_by_installing_again(desk: Desk) -> None:
    desk.service.install("daemon")
    desk.programs.set(active=[])
    report = desk.service.status()
    assert (report.ok, report.state, report.is_active) == (False, "incomplete", False)
    assert desk.service.install("daemon").state == "installed"
    assert desk.service.status().ok


def test_a_timer_gives_way_to_a_daemon_and_back(desk: Desk) -> None:
    name = desk.service.install("scheduled", "daily").name
    desk.service.install("daemon")
    assert names(desk) == [f"{name}.service"]
    assert desk.programs.state["active"] == [f"{name}.service"]
    desk.service.install("scheduled")
    assert names(desk) == [f"{name}-sync.service", f"{name}-sync.timer"]
    assert desk.programs.state["active"] == [f"{name}-sync.timer"]


def test_a_unit_that_somebody_changed_is_neither_overwritten_nor_deleted(desk: Desk) -> None:
    name = desk.service.install("daemon").name
    unit = desk.units / f"{name}.service"
    unit.write_text(unit.read_text() + "# mine\n")
    assert "was changed since" in desk.service.status().detail
    with pytest.raises(SettingsError, match="has changed since Recollect wrote it"):
        desk.service.install("daemon")
    report = desk.service.remove()
    assert unit.read_text().endswith("# mine\n")
    assert any(str(unit) in note for note in report.notes)
    assert desk.programs.state["active"] == []


def test_a_strangers_unit_of_our_name_is_left_alone(desk: Desk) -> None:
    name = desk.service.install("daemon", is_dry_run=True).name
    desk.units.mkdir(parents=True)
    (desk.units / f"{name}.service").write_text("[Service]\nExecStart=/bin/true\n")
    with pytest.raises(SettingsError, match="has changed since Recollect wrote it"):
        desk.service.install("daemon")
    assert not (desk.memory / "service.json").exists()


def test_another_schedule_takes_the_place_of_the_first(desk: Desk) -> None:
    desk.service.install("scheduled", "hourly")
    desk.programs.calls  # noqa: B018 (forgotten)
    report = desk.service.install("scheduled", "weekly")
    assert "OnCalendar=weekly" in next(desk.units.glob("*.timer")).read_text()
    assert f"systemctl --user restart {report.name}-sync.timer" in desk.programs.calls
    assert desk.service.status().every == "weekly"


def test_a_start_that_fails_is_told_and_can_be_taken_out(desk: Desk) -> None:
    name = desk.service.install("daemon", is_dry_run=True).name
    desk.programs.set(fails=[f"systemctl --user restart {name}.service"])
    report = desk.service.install("daemon")
    assert (report.ok, report.state) == (False, "failed")
    assert "it does not want to" in report.detail
    assert desk.service.remove().state == "removed"
    assert desk.tree() == {}


def test_lingering_is_turned_on_only_when_asked_and_taken_back_only_then(desk: Desk) -> None:
    report = desk.service.install("scheduled")
    assert report.lingers is False
    assert any("--linger" in note for note in report.notes)
    assert desk.service.install("scheduled", lingers=True).lingers is True
    desk.service.remove()
    assert desk.programs.state["linger"] is False
    desk.programs.set(linger=True)
    desk.service.install("scheduled", lingers=True)
    desk.service.remove()
    assert desk.programs.state["linger"] is True


def test_a_program_that_is_gone_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.service.install("daemon")
    record = desk.memory / "service.json"
    record.write_text(record.read_text().replace('"program": "', '"program": "/gone'))
    assert "the program that it starts is gone" in desk.service.status().detail


def test_a_crash_between_record_and_files_is_put_right(desk: Desk) -> None:
    desk.service.install("daemon")
    for path in desk.units.iterdir():
        path.unlink()
    assert "is gone" in desk.service.status().detail
    assert desk.service.install("daemon").state == "installed"
    assert desk.service.status().ok


def test_without_a_manager_the_way_out_is_named(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with pytest.raises(UsageError, match="no service manager") as caught:
        desk.service.install("daemon")
    assert "up --detach" in caught.value.hint
    with pytest.raises(UsageError, match="cron cannot be used here"):
        desk.service.install("daemon", manager="cron")


@pytest.mark.parametrize("before", [None, "MAILTO=me\n0 5 * * * other\n"])
def test_cron_takes_our_line_and_gives_back_the_rest(cron_desk: Desk, before: str | None) -> None:
    cron_desk.programs.set(crontab=before)
    report = cron_desk.service.install("scheduled")
    assert (report.manager, report.is_active) == ("cron", True)
    told = str(cron_desk.programs.state["crontab"])
    assert told.startswith(before or "")
    assert f"RECOLLECT_HOME={cron_desk.memory}" in told
    assert cron_desk.service.install("scheduled").state == "unchanged"
    assert cron_desk.programs.state["crontab"] == told
    assert cron_desk.service.install("scheduled", "daily").state == "installed"
    assert cron_desk.service.status().every == "daily"
    cron_desk.service.remove()
    assert cron_desk.programs.state["crontab"] == before
    assert cron_desk.tree() == {}


def test_a_crontab_that_cannot_be_read_is_not_overwritten(cron_desk: Desk) -> None:
    cron_desk.programs.set(crontab="0 5 * * * other\n", fails=["crontab -l"])
    with pytest.raises(SettingsError, match="cannot be read"):
        cron_desk.service.install("scheduled")
    assert cron_desk.programs.state["crontab"] == "0 5 * * * other\n"


def test_cron_starts_the_daemon_at_once_and_removing_stops_it(cron_desk: Desk) -> None:
    def up(word: str) -> int:
        argv = [sys.executable, "-m", "recollect", "up", word]
        return subprocess.run(argv, env=cron_desk.env, capture_output=True, check=False).returncode

    cron_desk.memory.mkdir(mode=0o700)
    (cron_desk.memory / "config.toml").write_text("[daemon]\nport = 0\n")
    try:
        report = cron_desk.service.install("daemon")
        assert report.ok, report
        assert "@reboot" in str(cron_desk.programs.state["crontab"])
        assert up("--status") == 0
        cron_desk.service.remove()
        assert up("--status") == 1
    finally:
        up("--stop")


def test_two_memories_have_two_services(desk: Desk) -> None:
    first = desk.service.install("daemon")
    other = {**desk.env, "RECOLLECT_HOME": str(desk.home / "other")}
    second = Service(desk.home / "other", other, make_home=partial(make_home, desk.home / "other"))
    assert second.install("daemon").name != first.name
    desk.service.remove()
    assert names(desk) == [f"{second.status().name}.service"]
    second.remove()


def test_the_platforms_own_memory_has_the_plain_name(desk: Desk) -> None:
    env = {name: value for name, value in desk.env.items() if name != "RECOLLECT_HOME"}
    home = desk.home / ".local" / "share" / "recollect"
    service = Service(home, {**env, "RECOLLECT_HOME": str(home)}, make_home=partial(make_home, home))
    report = service.install("daemon", is_dry_run=True)
    assert report.name == "recollect"
    assert "RECOLLECT_HOME" not in report.files[0].text


def test_what_the_agents_variables_say_reaches_the_service(desk: Desk) -> None:
    desk.env |= {"CODEX_HOME": "/work/codex", "AWS_SECRET_ACCESS_KEY": "fake"}
    text = desk.service.install("daemon", is_dry_run=True).files[0].text
    assert "Environment=CODEX_HOME=/work/codex" in text
    assert "fake" not in text


def test_everything_written_is_the_persons_alone(desk: Desk) -> None:
    before = os.umask(0)
    try:
        desk.service.install("daemon")
    finally:
        os.umask(before)
    for path in [*desk.home.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
