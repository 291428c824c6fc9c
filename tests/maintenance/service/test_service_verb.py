"""`recollect service` as a person runs it, on a machine whose programs remember what they were told."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome, recollect
from tests.maintenance.service.jobs import LOGINCTL, SYSTEMCTL, Programs

__all__ = ["recollect"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd, as Linux has it")

Recollect = Callable[..., Outcome]


@pytest.fixture
def programs(isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Return the programs that are on the PATH: those of systemd, and nothing else."""
    monkeypatch.setenv("PATH", str(tmp_path))
    found = Programs(tmp_path)
    found.set(units=str(isolated_home / ".config" / "systemd" / "user"))
    found.put("systemctl", SYSTEMCTL)
    found.put("loginctl", LOGINCTL)
    return found


def test_installed_asked_and_removed(programs: Programs, recollect: Recollect) -> None:
    assert recollect("service", "status").code == 1
    installed = recollect("service", "install", "--daemon", "--json")
    assert (installed.code, installed.data["state"], installed.data["is_active"]) == (0, "installed", True)
    status = recollect("service", "status")
    assert status.code == 0
    assert "journalctl --user --unit" in status.out
    programs.set(active=[])
    assert recollect("service", "status").code == 3
    removed = recollect("service", "remove", "--json")
    assert (removed.code, removed.data["state"]) == (0, "removed")
    assert recollect("service", "remove").code == 1


def test_a_dry_run_shows_the_files_and_makes_no_memory(programs: Programs, recollect: Recollect) -> None:
    shown = recollect("service", "install", "--dry-run")
    assert shown.code == 0
    assert "OnCalendar=hourly" in shown.out
    assert "RandomizedDelaySec=600" in shown.out
    assert "run systemctl --user enable" in shown.out
    assert not Path(os.environ["RECOLLECT_HOME"]).exists()


def test_what_cannot_be_is_a_wrong_request(programs: Programs, recollect: Recollect) -> None:
    assert recollect("service", "install", "--manager", "schtasks").code == 2
    assert recollect("service", "install", "--manager", "runit").code == 2
    assert recollect("service").code == 2


def test_a_service_that_does_not_start_has_failed(programs: Programs, recollect: Recollect) -> None:
    name = recollect("service", "install", "--json").data["name"]
    programs.set(fails=[f"systemctl --user restart {name}-sync.timer"])
    outcome = recollect("service", "install", "--every", "daily")
    assert outcome.code == 3
    assert "it does not want to" in outcome.out
