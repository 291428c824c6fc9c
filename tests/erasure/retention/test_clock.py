"""A clock that jumps deletes nothing; a machine that was off is believed after another day."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from recollect.cli import main
from recollect.erasure.schedule import DAY_US, HOUR_US, doubt, observe
from recollect.ingest import operations as taking_in
from recollect.ingest.retention import RetentionFacet
from tests.erasure.retention.conftest import Work

NOW = taking_in.now_us()


@pytest.fixture
def home(work: Work) -> Path:
    """A home that saw something at NOW, and no retention yet."""
    work.write(1)
    with work.open(raw_max_age_days="never") as memory:
        memory.sync()
    return work.home


def at(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    """Let the clock say so many days from now."""
    monkeypatch.setattr(time, "time_ns", lambda: (NOW + round(days * DAY_US)) * 1000)


def held(work: Work) -> bool:
    with work.open() as memory:
        return all(session.evicted_at is None for session in memory.sessions(sync=False).sessions)


def test_a_sync_under_a_clock_that_jumped_ahead_evicts_nothing_and_says_so(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.write(2)
    with work.open(raw_max_age_days=30) as memory:
        memory.sync()
    at(monkeypatch, 400)
    work.transcripts[0].user("something new")
    for _ in range(2):
        with work.open(raw_max_age_days=30) as memory:
            report = memory.sync()
        assert [note for note in report.notes if "the clock is 400 days later" in note]
    assert held(work)


def test_what_a_jump_held_up_goes_when_the_clock_says_so_for_another_day(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.write(2)
    for days in (0, 60, 60.5):
        at(monkeypatch, days)
        with work.open(raw_max_age_days=30) as memory:
            memory.sync()
        assert held(work)
    at(monkeypatch, 61)
    with work.open(raw_max_age_days=30) as memory:
        assert not [note for note in memory.sync().notes if "the clock" in note]
    assert not held(work)


def test_the_daemon_holds_back_as_a_sync_does(work: Work) -> None:
    work.write(2)
    with work.open(raw_max_age_days=30) as memory:
        memory.sync()
        report = RetentionFacet(memory, lambda: NOW + 400 * DAY_US).sweep()
        assert (report.state, report.sessions) == ("not_due", [])
        assert "2 sessions would be evicted, but the clock is 400 days later" in report.notes[0]


def test_a_person_is_asked_to_check_the_clock_before_anything_is_evicted(
    work: Work, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work.write(2)
    (work.home / "config.toml").parent.mkdir(parents=True, exist_ok=True)
    (work.home / "config.toml").write_text("[retention]\nraw_max_age_days = 30\n")
    with work.open() as memory:
        memory.sync()
    at(monkeypatch, 400)
    for name, value in {**work.env, "RECOLLECT_HOME": str(work.home)}.items():
        monkeypatch.setenv(name, value)
    assert main.run(["evict"]) == 2
    assert "evict --force" in capsys.readouterr().err
    assert held(work)
    assert main.run(["evict", "--dry-run"]) == 0
    assert "400 days later" in capsys.readouterr().out
    assert held(work)
    assert main.run(["evict", "--force"]) == 0
    assert not held(work)


def test_a_machine_that_was_off_for_a_month_is_believed_on_the_second_day(home: Path) -> None:
    back = NOW + 30 * DAY_US
    assert observe(home, now_us=back)
    assert observe(home, now_us=back + 10 * HOUR_US)
    assert not observe(home, now_us=back + 20 * HOUR_US)
    assert not observe(home, now_us=back + 40 * HOUR_US)


def test_a_clock_that_is_set_right_again_is_believed_at_once(home: Path) -> None:
    assert observe(home, now_us=NOW + 400 * DAY_US)
    assert not observe(home, now_us=NOW + HOUR_US)
    assert observe(home, now_us=NOW + 400 * DAY_US)


def test_what_a_wrong_clock_observed_holds_nothing_up_for_long(home: Path) -> None:
    """Believed for a day too long, then set right: behind what was seen by more than a year."""
    for hours in (0, 21):
        observe(home, now_us=NOW + 400 * DAY_US + hours * HOUR_US)
    assert observe(home, now_us=NOW)
    assert not observe(home, now_us=NOW + DAY_US)


def test_one_who_comes_by_weekly_is_believed_every_other_time_and_not_after_a_jump(home: Path) -> None:
    said = [bool(observe(home, now_us=NOW + weeks * 7 * DAY_US)) for weeks in range(5)]
    assert said == [False, True, False, True, False]
    assert observe(home, now_us=NOW + 35 * DAY_US)
    assert observe(home, now_us=NOW + 400 * DAY_US)


def test_daily_work_is_never_doubted(home: Path) -> None:
    assert not any(observe(home, now_us=NOW + days * (DAY_US + HOUR_US)) for days in range(30))


def test_asking_changes_nothing(home: Path) -> None:
    before = (home / "memory.db").read_bytes(), (home / "memory.db-wal").exists()
    assert doubt(home, now_us=NOW + 400 * DAY_US)
    assert doubt(home, now_us=NOW + 401 * DAY_US)
    assert ((home / "memory.db").read_bytes(), (home / "memory.db-wal").exists()) == before


def test_doctor_tells_of_a_clock_that_is_doubted(work: Work, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def state() -> str:
        with work.open() as memory:
            return next(check.state for check in memory.maintenance.doctor().checks if check.name == "clock")

    assert home.exists()
    assert state() == "ok"
    at(monkeypatch, 400)
    assert state() == "warn"


def test_a_spool_is_not_cleared_by_a_clock_that_jumped(work: Work, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drop = home / "spool" / "claude.claude.1.json"
    drop.parent.mkdir(parents=True, exist_ok=True)
    session = work.transcripts[0].session
    drop.write_text(f'{{"hook_event_name": "SessionEnd", "session_id": "{session}", "cwd": "/w/shop"}}')
    with work.open(raw_max_age_days="never") as memory:
        memory.sync()
        (kept,) = (home / "spool/hooks/claude").iterdir()
        at(monkeypatch, 400)
        memory.sync()
        assert kept.exists()
        at(monkeypatch, 401)
        memory.sync()
        memory.sync()
        assert not kept.exists()
