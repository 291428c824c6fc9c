"""The parts of the daemon's loop: what waits, what is tried again, when the clock lied."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from recollect.errors import DiskFull, StoreLocked
from recollect.ingest.daemon_status import Failure
from recollect.ingest.keeper.idle_work import Attempts
from recollect.ingest.keeper.keeper import JUMP_S, LATE_S, Clocks
from recollect.ingest.keeper.notices import MOST_LATEST, MOST_LOOKS, MOST_PATHS, LatestPaths, Notices, SecondLooks
from recollect.memory import AgentSync, Skipped, SyncReport


class Hands:
    """Clocks that go as a test says."""

    def __init__(self) -> None:
        self.wall = 1_000_000.0
        self.forward = 10.0

    def wait(self, seconds: float, *, asleep: float = 0.0) -> None:
        self.forward += seconds
        self.wall += seconds + asleep


@pytest.fixture
def hands() -> Hands:
    return Hands()


def clocks(hands: Hands) -> Clocks:
    return Clocks(wall=lambda: hands.wall, forward=lambda: hands.forward)


@pytest.mark.parametrize(
    ("waited", "asleep", "has_jumped"),
    [
        (2.0, 0.0, False),
        (2.0, 0.5, False),
        (2.0, 3600.0, True),
        (2.0, -86_400.0, True),
        (2.0, -(JUMP_S + 0.1), True),
        (LATE_S + 1, 0.0, True),
    ],
    ids=["as waited", "set right by a little", "slept", "set back a day", "set back", "not run for long"],
)
def test_a_clock_that_jumped_is_noticed_once(hands: Hands, waited: float, asleep: float, has_jumped: bool) -> None:
    asked = clocks(hands)
    hands.wait(waited, asleep=asleep)
    assert asked.has_jumped() == has_jumped
    hands.wait(1.0)
    assert not asked.has_jumped()


def test_what_was_noticed_is_taken_once_and_put_back_whole() -> None:
    notices = Notices()
    assert notices.take() is None
    notices.add(["a", "b"])
    taken = notices.take()
    assert taken is not None
    assert (taken.paths, taken.is_everything) == ({"a", "b"}, False)
    notices.add(["c"])
    notices.put_back(taken, seconds=0.0)
    again = notices.take()
    assert again is not None
    assert again.paths == {"a", "b", "c"}
    assert again.since == taken.since
    notices.taken()
    assert notices.take() is None


def test_what_was_put_back_for_a_while_is_not_taken_before() -> None:
    notices = Notices()
    notices.add(["a"])
    taken = notices.take()
    assert taken is not None
    notices.put_back(taken, seconds=3600.0)
    assert notices.take() is None
    assert not notices.is_waiting()
    assert notices.count() == 1


def test_whoever_asks_sees_by_himself_what_was_written_to_the_files_that_changed_last(tmp_path: Path) -> None:
    talk, other = tmp_path / "a" / "talk.jsonl", tmp_path / "b" / "other.jsonl"
    for path in (talk, other):
        path.parent.mkdir()
        path.write_text("one\n")
    latest = LatestPaths()
    assert latest.changed() == []
    latest.note([str(talk), str(other)])
    assert latest.changed() == []
    with talk.open("a") as file:
        file.write("two\n")
    assert latest.changed() == [str(talk)]
    latest.note([str(talk)])
    assert latest.changed() == []
    (other.parent / "beside.jsonl").write_text("a new session")
    assert latest.changed() == [str(other.parent)]
    other.unlink()
    assert set(latest.changed()) == {str(other), str(other.parent)}


def test_no_more_files_are_looked_at_than_are_looked_at_in_no_time(tmp_path: Path) -> None:
    latest = LatestPaths()
    latest.note([str(tmp_path / str(number)) for number in range(3 * MOST_LATEST)])
    for number in range(MOST_LATEST):
        (tmp_path / f"last {number}").write_text("x")
        latest.note([str(tmp_path / f"last {number}")])
    for path in tmp_path.iterdir():
        path.write_text("longer")
    assert MOST_LATEST - 1 <= len(latest.changed()) <= MOST_LATEST


def test_very_many_paths_are_everything() -> None:
    notices = Notices()
    notices.add([str(number) for number in range(MOST_PATHS)])
    notices.add(["one more"])
    taken = notices.take()
    assert taken is not None
    assert taken.is_everything


def test_a_read_waits_until_what_was_noticed_is_taken_in() -> None:
    notices = Notices()
    assert notices.settle(0.0)
    notices.add(["a"])
    assert not notices.settle(0.0)
    assert notices.take() is not None
    assert not notices.settle(0.0), "it is being taken in"
    waited: list[bool] = []
    reader = threading.Thread(target=lambda: waited.append(notices.settle(60.0)))
    reader.start()
    notices.taken()
    reader.join()
    assert waited == [True]


def test_the_end_lets_nobody_wait() -> None:
    notices = Notices()
    notices.add(["a"])
    notices.end()
    assert notices.settle(3600.0)
    notices.wait(3600.0)


def test_work_that_fails_is_tried_ever_more_seldom_and_told_each_time_it_doubles() -> None:
    lines: list[str] = []
    told: list[Failure] = []
    attempts = Attempts("storing", now_us=lambda: 0, log=lines.append)
    attempts.persists = told.append
    waits = []
    for _ in range(12):
        with attempts.one():
            raise DiskFull("no room")
        waits.append(attempts.wait_s)
    assert waits == sorted(waits)
    assert waits[0] < 1.0
    assert waits[-1] == 60.0
    assert attempts.failure is not None
    assert (attempts.failure.code, attempts.failure.times, attempts.failures) == ("disk_full", 12, 12)
    assert len(lines) == 4, "the first, second, fourth and eighth"
    assert [(f.work, f.code, f.times) for f in told] == [("storing", "disk_full", 8)], "told beyond the log once"
    with attempts.one():
        pass
    assert (attempts.failure, attempts.wait_s) == (None, 0.0)
    assert "works again" in lines[-1]


def test_another_process_at_work_is_no_failure() -> None:
    lines: list[str] = []
    attempts = Attempts("storing", now_us=lambda: 0, log=lines.append)
    for _ in range(10):
        with attempts.one():
            raise StoreLocked("somebody is at it")
        assert attempts.was_busy
    assert (attempts.failures, lines) == (0, [])
    assert attempts.wait_s <= 2.0


def test_a_bug_is_told_by_its_place_and_never_by_its_words() -> None:
    lines: list[str] = []
    attempts = Attempts("storing", now_us=lambda: 0, log=lines.append)
    with attempts.one():
        raise RuntimeError("a prompt that nobody must read")
    assert attempts.failure is not None
    assert Path(__file__).name in attempts.failure.message
    assert "RuntimeError" in attempts.failure.message
    assert "prompt" not in attempts.failure.message + "".join(lines)


def test_a_new_folder_is_looked_at_a_second_time(tmp_path: Path) -> None:
    looks = SecondLooks()
    report = SyncReport(agents={}, seconds=0.0, bytes=0, stored_bytes=0)
    looks.after([str(tmp_path), str(tmp_path / "file.jsonl")], report)
    assert looks.due() == set()
    assert looks.next_at() < float("inf")
    rounds = taken_rounds(looks, str(tmp_path), report)
    assert rounds == 1


def test_a_source_that_could_not_be_read_is_tried_again_but_not_for_ever(tmp_path: Path) -> None:
    looks = SecondLooks()
    path = str(tmp_path / "file.jsonl")
    line = AgentSync(agent="claude", skipped=[Skipped(path, "changed while it was read", True)])
    report = SyncReport(agents={"claude": line}, seconds=0.0, bytes=0, stored_bytes=0)
    looks.after([path], report)
    assert taken_rounds(looks, path, report) == MOST_LOOKS


def taken_rounds(looks: SecondLooks, path: str, report: SyncReport) -> int:
    """Let every look be due at once, and count them."""
    rounds = 0
    while looks._waiting:
        looks._waiting = {each: (0.0, count) for each, (_at, count) in looks._waiting.items()}
        assert looks.due() == {path}
        rounds += 1
        assert rounds <= MOST_LOOKS
        looks.after([path], report)
    return rounds
