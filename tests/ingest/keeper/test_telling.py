"""Work that goes on failing is told where people look: in the audit, by `doctor`, and to the program of `[notify]`."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from recollect.config import Config, NotifyConfig
from recollect.ingest.daemon_status import Failure
from recollect.memory import Memory
from recollect.store.audit import read_audit

FAILED = Failure(work="taking in", code="disk_full", message="no room", times=8, at=0, again_at=0)


def test_work_that_goes_on_failing_is_told_everywhere(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    program = (sys.executable, "-c", f"import sys; open({str(told)!r}, 'wb').write(sys.stdin.buffer.read())")
    config = Config(notify=NotifyConfig(command=program))
    lines: list[str] = []
    with Memory.open(tmp_path / "memory", config=config, env={"HOME": str(tmp_path)}) as memory:
        memory.sync()
        keeper = memory.live.make_keeper(lines.append)
        assert {attempts.persists is not None for attempts in keeper.attempts} == {True}
        persists = keeper.attempts[1].persists
        assert persists is not None
        persists(FAILED)
        (entry,) = read_audit(memory.home, actions=("failure",))
        assert entry.value == {"work": "taking in", "code": "disk_full", "times": 8}
        (check,) = (c for c in memory.maintenance.doctor().checks if c.id == "failures")
        assert (check.state, "disk_full" in check.detail) == ("warn", True)
    said = msgspec.json.decode(told.read_bytes())
    assert (said["event"], said["work"], said["code"]) == ("session_memory.failure", "taking in", "disk_full")
    assert lines == []


def test_what_cannot_be_told_is_said_in_the_log(tmp_path: Path) -> None:
    config = Config(notify=NotifyConfig(command=(str(tmp_path / "not-there"),)))
    lines: list[str] = []
    with Memory.open(tmp_path / "memory", config=config, env={"HOME": str(tmp_path)}) as memory:
        memory.sync()
        persists = memory.live.make_keeper(lines.append).attempts[0].persists
        assert persists is not None
        persists(FAILED)
    assert len(lines) == 1
    assert "could not be told" in lines[0]
