"""What is missing is said in one line; where nothing is, nothing is said."""

from __future__ import annotations

from recollect.recall.coverage import Coverage


def test_a_whole_memory_says_nothing() -> None:
    assert Coverage().is_whole
    assert Coverage().sentence() == ""


def test_everything_that_is_missing_is_named() -> None:
    coverage = Coverage(disabled=("grok",), unreadable={"zed": 2, "codex": 1}, notes=("5 MB are not taken in yet",))
    assert coverage.sentence(is_refreshing=True) == (
        "Coverage is partial: catching up, the newest events may be missing; not read because disabled: grok; "
        "unreadable sources of codex 1, zed 2 (recollect doctor); 5 MB are not taken in yet."
    )
