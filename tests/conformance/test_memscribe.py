"""Memscribe's conformance pairs, as far as they are about events: every difference is meant, and has its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.memscribe import Case, cases, differences, ours, shape, shape_differences

pytestmark = pytest.mark.corpus

REVIEWED = tomllib.loads((Path(__file__).parent / "deviations.toml").read_text("utf-8"))
READ = ("claude_code/2.0", "otel/genai")
"""The sets whose form the agents really write, or a collector: here the nine assertions must hold."""
SCENARIOS: dict[str, Callable[[dict[str, int]], bool]] = {
    "happy_path_decision_then_edits": lambda n: n["user"] >= 1 and n["edit"] == 2 and not n["failed"],
    "rejected_alternative": lambda n: n["user"] >= 1 and n["edit"] == 1 and not n["failed"],
    "ban": lambda n: n["user"] >= 1 and n["edit"] == 0,
    "interleaved_arcs": lambda n: n["user"] >= 2 and n["edit"] >= 2,
    "multi_edit_single_commit": lambda n: n["user"] >= 1 and n["edit"] >= 2 and n["call"] >= 1,
    "tool_failure": lambda n: n["edit"] == 0 and n["failed"] == 1,
    "rewind_compaction": lambda n: n["user"] >= 2 and n["edit"] >= 1 and n["rewind"] == 0,
    "subagent_thread": lambda n: n["user"] >= 1 and n["edit"] >= 1 and n["sessions"] >= 1,
    "no_commitment_marker": lambda n: n["user"] >= 1 and n["edit"] >= 1,
}
"""The nine assertions about nodes, said of the events that the nodes are made of (decision-capture.md, section 5)."""


@cache
def found(shared: Path, level: str) -> dict[str, list[str]]:
    compare = differences if level == "events" else shape_differences
    return {case.name: compare(case) for case in cases(shared)}


def fits(entry: dict[str, Any], case: str, difference: str) -> bool:
    wanted = entry["difference"]
    return fnmatchcase(case, entry["case"]) and any(
        fnmatchcase(difference, one) for one in ([wanted] if isinstance(wanted, str) else wanted)
    )


def unreviewed(level: str, all_found: dict[str, list[str]]) -> Iterable[str]:
    for case, lines in all_found.items():
        for line in lines:
            if not any(fits(entry, case, line) for entry in REVIEWED[level]):
                yield f"{case}: {line}"


def stale(level: str, all_found: dict[str, list[str]]) -> Iterable[str]:
    for entry in REVIEWED[level]:
        if not any(fits(entry, case, line) for case, lines in all_found.items() for line in lines):
            yield f"{entry['case']}: {entry['difference']}"


def test_all_pairs_are_there(shared: Path) -> None:
    assert len(cases(shared)) == 66


@pytest.mark.parametrize("level", ["events", "shapes"])
def test_every_difference_is_reviewed(shared: Path, level: str) -> None:
    assert list(unreviewed(level, found(shared, level))) == []


@pytest.mark.parametrize("level", ["events", "shapes"])
def test_no_reviewed_difference_is_stale(shared: Path, level: str) -> None:
    assert list(stale(level, found(shared, level))) == []


@pytest.mark.parametrize("level", ["events", "shapes"])
def test_every_reviewed_difference_has_a_reason(level: str) -> None:
    assert all(len(entry["reason"]) > 20 for entry in REVIEWED[level])


def test_a_difference_that_no_longer_is_would_be_noticed() -> None:
    (entry, *_) = REVIEWED["events"]
    assert next(iter(stale("events", {"some/other/case": ["- user: said"]}))).startswith(entry["case"])
    assert list(unreviewed("events", {"some/other/case": ["- user: said"]})) == ["some/other/case: - user: said"]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("tool", READ)
def test_the_nine_assertions_hold_of_our_events(shared: Path, tool: str, scenario: str) -> None:
    case: Case = next(c for c in cases(shared) if c.name == f"{tool}/{scenario}")
    mine = ours(case)
    assert not isinstance(mine, str)
    assert SCENARIOS[scenario](shape(mine)), shape(mine)
