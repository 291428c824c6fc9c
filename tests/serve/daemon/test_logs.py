"""The log stays small, private and on one line an entry."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from recollect.serve import daemon_control
from recollect.serve.daemon_control import KEPT, DaemonLog


def test_it_turns_over_and_keeps_a_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_control, "MAX_BYTES", 2_000)
    log = DaemonLog(tmp_path / "logs")
    for number in range(500):
        log(f"line {number} " + "x" * 50)
    files = sorted(path.name for path in log.path.parent.iterdir())
    assert files == ["daemon.log", *(f"daemon.log.{number}" for number in range(1, KEPT))]
    assert sum(path.stat().st_size for path in log.path.parent.iterdir()) < KEPT * 3_000
    assert log.last_lines(1)[0].endswith("line 499 " + "x" * 50)


def test_an_entry_is_one_line_of_bounded_length(tmp_path: Path) -> None:
    log = DaemonLog(tmp_path)
    log("two\nlines \udcff " + "x" * 100_000)
    assert len(log.last_lines(10)) == 1
    assert log.path.stat().st_size < 4_000


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_it_is_for_its_user_alone(tmp_path: Path) -> None:
    log = DaemonLog(tmp_path / "logs")
    log("x")
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700


def test_where_nothing_can_be_written_nothing_is_raised(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way", "utf-8")
    log = DaemonLog(tmp_path / "logs")
    log("x")
    assert log.last_lines(3) == []
