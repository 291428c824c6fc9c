"""When a sweep is due, and that a sync does it then and not otherwise."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from recollect.erasure.schedule import Cadence, is_due, swept, swept_at
from recollect.ingest.operations import take_changes
from recollect.ingest.retention import RetentionFacet
from recollect.store.writer import open_writer
from tests.erasure.retention.conftest import Work

DAY_US = 24 * 3600 * 1_000_000
NOW = 1_800_000_000_000_000


@pytest.mark.parametrize(("cadence", "days"), [("daily", 1), ("weekly", 7)])
def test_a_sweep_is_due_when_its_time_has_come(tmp_path: Path, cadence: Cadence, days: int) -> None:
    open_writer(tmp_path).close()
    assert is_due(tmp_path, cadence, now_us=NOW)
    swept(tmp_path, now_us=NOW)
    assert swept_at(tmp_path) == NOW
    assert not is_due(tmp_path, cadence, now_us=NOW)
    assert not is_due(tmp_path, cadence, now_us=NOW + days * DAY_US - 1)
    assert is_due(tmp_path, cadence, now_us=NOW + days * DAY_US)
    assert is_due(tmp_path, cadence, now_us=NOW - 1)  # the clock was set back


def test_a_sync_sweeps_when_it_is_due_and_says_so(work: Work) -> None:
    work.write(2)
    with work.open(raw_soft_cap_bytes=0) as memory:
        first = memory.sync()
        assert any(note.startswith("retention: 2 sessions evicted") for note in first.notes)
        session = work.transcripts[0]
        session.user("Let's keep the otter index instead of dropping it.")
        assert not any("retention" in note for note in memory.sync().notes)  # a day has not passed
        tomorrow = (memory.maintenance.retention.swept_at() or 0) + DAY_US
        assert RetentionFacet(memory, lambda: tomorrow).sweep().state == "done"
        assert RetentionFacet(memory, lambda: tomorrow).sweep().state == "not_due"


def test_on_hook_waits_for_what_hooks_left(work: Work) -> None:
    (session,) = work.write(1)
    with work.open(cadence="on-hook") as memory:
        memory.sync()
        assert not memory.maintenance.retention.is_due()
        memory.sync()
        assert not memory.maintenance.retention.is_due()
        event = {"hook_event_name": "SessionEnd", "session_id": session.session, "cwd": "/w/shop", "reason": "exit"}
        drop = work.home / "spool" / "claude.claude.1900000000000000000.json"
        drop.parent.mkdir(exist_ok=True)
        drop.write_text(json.dumps(event))
        memory.refresh()
        take_changes(memory, None, should_stop=lambda: False)
        assert memory.maintenance.retention.is_due()


def test_a_failure_that_persists_is_told_without_its_text(work: Work) -> None:
    work.write(1)
    told = work.folder / "told"
    script = work.folder / "tell.py"
    script.write_text(f"import sys, pathlib\npathlib.Path({str(told)!r}).open('a').write(sys.stdin.read())\n")
    with work.open(notify=(sys.executable, str(script))) as memory:
        memory.sync()
        for times in (8, 16):
            assert memory.maintenance.retention.tell_failure("analysing", code="store_corrupt", times=times) == ""
    (line,) = told.read_text().splitlines()
    said = json.loads(line)
    assert (said["event"], said["work"], said["code"], said["times"]) == (
        "session_memory.failure", "analysing", "store_corrupt", 8,
    )  # fmt: skip


def test_an_empty_home_is_never_due_and_costs_nothing(work: Work) -> None:
    with work.open() as memory:
        assert memory.maintenance.retention.sweep().state == "not_due"
        assert memory.maintenance.retention.preview().sessions == []
        assert memory.maintenance.retention.evict().sessions == []
        assert memory.maintenance.retention.pins() == ()
    assert not (work.home / "memory.db").exists()
