"""Progress on stderr: a line per stage where it is no terminal, a bar where it is."""

from __future__ import annotations

import sys
from typing import Any, get_args, get_type_hints

import pytest

from recollect.cli.render.progress import ProgressLine, StageLine
from recollect.memory import SyncProgress


def ingest(done: int, total: int = 4_000_000) -> SyncProgress:
    return SyncProgress("ingest", done, total, 1, 3, "codex")


def test_without_a_terminal_a_stage_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as progress:
        for done in range(0, 4_000_000, 1_000_000):
            progress(ingest(done))
        progress(SyncProgress("done", 4_000_000, 4_000_000, 3, 3))
    assert capsys.readouterr().err == "ingesting 3 sources (4.0 MB)\n"


def test_work_on_nothing_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as progress:
        progress(SyncProgress("ingest", 0, 0, 0, 0))
    assert capsys.readouterr().err == ""


def test_work_of_one_stage_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine("verifying") as progress:
        progress.bytes_done(1, 2_000)
        progress.bytes_done(2_000, 2_000)
    assert capsys.readouterr().err == "verifying (2.0 kB)\n"


def test_on_a_terminal_there_is_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ProgressLine() as progress:
        progress(ingest(1_000_000))
    assert "ingesting codex" in capsys.readouterr().err


@pytest.mark.parametrize("stage", get_args(get_type_hints(SyncProgress)["stage"]))
def test_every_stage_of_a_sync_has_words(stage: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as progress:
        progress(SyncProgress(stage, 1, 2_000, 1, 3))
    assert bool(capsys.readouterr().err) == (stage != "done")  # the end is said by the report


def test_what_counts_sessions_is_not_said_in_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as progress:
        progress.stage_done("deriving anew", 1, 2_000)
        progress.stage_done("comparing sessions", 1, 67)
        progress.stage_done("analysing again", 1, 1)
    told = capsys.readouterr().err.splitlines()
    assert told == ["deriving anew (2.0 kB)", "comparing sessions (67 sessions)", "analysing again (1 session)"]


def test_a_line_is_written_over_on_a_terminal_and_gone_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with StageLine() as line:
        line.show("looking back")
        line.show("a folder \x1b[2J")
    assert capsys.readouterr().err == "\r\x1b[Klooking back\r\x1b[Ka folder \u241b[2J\r\x1b[K"


def test_a_line_is_nothing_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with StageLine() as line:
        line.show("looking back")
    assert capsys.readouterr().err == ""
