"""`doctor` tells what is wrong with an installed service, each by itself, and `--fix` installs it again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recollect.maintenance.service.job import load_service, save_service
from recollect.memory import Check, Memory
from tests.maintenance.service.test_service_work import Desk, cron_desk, desk

__all__ = ["cron_desk", "desk"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd and cron, as Linux has them")


def checks(desk: Desk) -> dict[str, Check]:
    with Memory.open(desk.memory, env=desk.env) as memory:
        return {check.id: check for check in memory.maintenance.doctor().checks if check.id.startswith("service")}


def fixed(desk: Desk) -> dict[str, str]:
    with Memory.open(desk.memory, env=desk.env) as memory:
        return {fix.id: fix.state for fix in memory.maintenance.fix().fixes if fix.id.startswith("service")}


def unit(desk: Desk) -> Path:
    return next(desk.units.glob("*.service"))


def lose_a_file(desk: Desk) -> None:
    unit(desk).unlink()


def stop(desk: Desk) -> None:
    desk.programs.set(active=[])


def lose_the_program(desk: Desk) -> None:
    record = load_service(desk.memory)
    assert record is not None
    save_service(desk.memory, msgspec.structs.replace(record, program="/gone/recollect"))


def be_of_another_version(desk: Desk) -> None:
    """Have the unit as a version wrote it that knew no `Nice=`."""
    from recollect.maintenance.setup.agent_settings import sha256_of

    record = load_service(desk.memory)
    assert record is not None
    text = unit(desk).read_bytes().replace(b"Nice=10\n", b"")
    unit(desk).write_bytes(text)
    files = tuple(msgspec.structs.replace(one, sha256=(sha256_of(text),)) for one in record.files)
    save_service(desk.memory, msgspec.structs.replace(record, files=files))


def test_where_none_is_installed_nothing_is_said(desk: Desk) -> None:
    assert checks(desk) == {}


def test_one_that_is_at_work_is_well_wherever_doctor_is_called_from(desk: Desk) -> None:
    desk.env |= {"CODEX_HOME": "/work/codex"}
    desk.service.install("daemon")
    del desk.env["CODEX_HOME"]  # a terminal in which the variable is not set
    assert [check.state for check in checks(desk).values()] == ["ok"]
    assert desk.service.status().ok


@pytest.mark.parametrize(
    ("happens", "state", "said"),
    [
        (lose_a_file, "fail", "is gone"),
        (stop, "fail", "inactive"),
        (lose_the_program, "fail", "the program that it starts is gone: /gone/recollect"),
        (be_of_another_version, "warn", "is not as this version writes it"),
    ],
)
def test_each_fault_is_told_and_put_right(desk: Desk, happens: Callable[[Desk], None], state: str, said: str) -> None:
    desk.service.install("daemon")
    before = unit(desk).read_bytes()
    happens(desk)
    found = checks(desk)["service"]
    assert (found.state, found.hint != "") == (state, True)
    assert said in found.detail
    assert not desk.service.status().ok
    assert fixed(desk) == {"service": "done"}
    assert {check.state for check in checks(desk).values()} == {"ok"}
    assert unit(desk).read_bytes() == before
    assert desk.programs.state["active"] == [unit(desk).name]


def test_what_a_person_changed_is_told_and_left(desk: Desk) -> None:
    desk.service.install("daemon")
    unit(desk).write_text(unit(desk).read_text() + "# mine\n")
    (found,) = checks(desk).values()
    assert (found.id, found.state) == ("service-files", "warn")
    assert fixed(desk) == {}
    stop(desk)
    assert set(checks(desk)) == {"service", "service-files"}
    assert fixed(desk) == {"service": "failed"}
    assert unit(desk).read_text().endswith("# mine\n")


def test_lines_of_the_crontab_are_looked_at_too(cron_desk: Desk) -> None:
    cron_desk.service.install("scheduled")
    lines = str(cron_desk.programs.state["crontab"])
    assert checks(cron_desk)["service"].state == "ok"
    cron_desk.programs.set(crontab=lines.replace("nice -n 19", "nice -n 5"))
    assert [(check.id, check.state) for check in checks(cron_desk).values()] == [("service-files", "warn")]
    cron_desk.programs.set(crontab="0 5 * * * other\n")
    assert checks(cron_desk)["service"].detail == "not in the crontab"
    assert fixed(cron_desk) == {"service": "done"}
    assert cron_desk.programs.state["crontab"] == f"0 5 * * * other\n{lines}"


def test_a_manager_that_does_not_answer_is_told(cron_desk: Desk) -> None:
    cron_desk.service.install("scheduled")
    cron_desk.programs.set(fails=["crontab -l"])
    found = checks(cron_desk)["service"]
    assert found.state == "fail"
    assert "cannot find out" in found.detail


def test_a_damaged_record_is_told(desk: Desk) -> None:
    desk.service.install("daemon")
    (desk.memory / "service.json").write_text("{")
    found = checks(desk)["service"]
    assert (found.state, "cannot be read" in found.detail) == ("fail", True)
