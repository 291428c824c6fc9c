"""Telling somebody: one JSON object to a program of the user's, once a day for each thing, never waiting for long."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from recollect.config import NotifyConfig
from recollect.ingest.retention import Notice, notify
from recollect.store.writer import open_writer

NOW = 1_800_000_000_000_000
HOUR_US = 3600 * 1_000_000
LOST = Notice("session_memory.data_loss", {"sessions": ["claude:a"], "bytes": 10})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    open_writer(tmp_path / "home").close()
    return tmp_path / "home"


def program(folder: Path, body: str) -> tuple[str, ...]:
    """Return the command of a program that has `said`, what it was given, and `told`, a file to append to."""
    script = folder / "program.py"
    head = f"import sys, pathlib, time\nsaid = sys.stdin.read()\ntold = pathlib.Path({str(folder / 'told')!r})\n"
    script.write_text(head + body)
    return (sys.executable, str(script))


def test_the_program_gets_one_json_object_and_each_thing_once_a_day(home: Path, tmp_path: Path) -> None:
    config = NotifyConfig(command=program(tmp_path, "told.open('a').write(said)\n"))
    for at in (NOW, NOW + HOUR_US, NOW + 23 * HOUR_US):
        assert notify(home, config, LOST, now_us=at) == ""
    assert notify(home, config, Notice("session_memory.distilled_cap", {"cap_bytes": 5}), now_us=NOW + HOUR_US) == ""
    assert notify(home, config, LOST, now_us=NOW + 24 * HOUR_US) == ""
    said = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    assert [(s["event"], s["at"]) for s in said] == [
        ("session_memory.data_loss", NOW),
        ("session_memory.distilled_cap", NOW + HOUR_US),
        ("session_memory.data_loss", NOW + 24 * HOUR_US),
    ]
    assert said[0] == {**LOST.value, "event": LOST.event, "at": NOW, "home": str(home)}


def test_nobody_is_told_without_a_program(home: Path) -> None:
    assert notify(home, NotifyConfig(), LOST, now_us=NOW) == ""


@pytest.mark.parametrize(
    ("body", "problem"),
    [("raise SystemExit(3)\n", "ended with 3"), ("time.sleep(600)\n", "took longer than 1 s and was ended")],
)
def test_a_program_that_fails_or_hangs_is_a_note(home: Path, tmp_path: Path, body: str, problem: str) -> None:
    config = NotifyConfig(command=program(tmp_path, body), timeout_seconds=1)
    assert problem in notify(home, config, LOST, now_us=NOW)


def test_a_program_that_is_not_there_is_a_note(home: Path, tmp_path: Path) -> None:
    config = NotifyConfig(command=(str(tmp_path / "nothing"),))
    assert "could not be run" in notify(home, config, LOST, now_us=NOW)
