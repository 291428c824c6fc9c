"""Every agent, every version, every scenario through a real memory: `recollect.testing.suite` with our fixtures."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from recollect.agents.registry import adapters
from recollect.testing.fixtures import Fixture, fixtures_in
from recollect.testing.suite import SHAPES, FixtureOutcome, check_fixtures, check_growth, check_twice
from tests.conformance.conftest import Together, each_of
from tests.conformance.growth import CUTS, telling
from tests.conformance.meaning import meaning_of
from tests.examples import IS_THOROUGH

FOLDER = Path(__file__).resolve().parent
FIXTURES = list(fixtures_in(FOLDER / "fixtures"))
STORIES = ("tool", "half_written", "rewind", "compaction", "setup", "subagent", "fork", "resume")
"""Scenarios that differ in how the files grow; others are a dialogue with another content."""
GROWING = [f for f in FIXTURES if f.scenario in STORIES or f.agent == "codewhale"]
GROWING = GROWING[:: 1 if IS_THOROUGH else 3]
COUNTED = [f for f in FIXTURES if f.scenario in ("usage", "fork")]
ALSO_KNOWN = (
    "fork", "interruption", "usage", "resume", "setup",
    "left_branch", "dropped_history", "compaction_new_session", "system",
)  # fmt: skip
"""Scenarios with rules of their own, or none but those that hold for all."""


@pytest.mark.golden
@each_of(FIXTURES)
def test_a_fixture_keeps_every_rule_and_gives_the_reviewed_events(fixture: Fixture, together: Together) -> None:
    outcome = together(check_fixtures, fixture)
    assert outcome.problems == []
    assert is_golden(fixture, _written(outcome)), "if the change is meant: `make goldens`, then read the difference"


@each_of(GROWING)
def test_which_steps_of_an_agents_files_were_seen_makes_no_difference(fixture: Fixture, together: Together) -> None:
    assert together(growing, fixture) == []


def growing(fixtures: Sequence[Fixture], work: Path) -> list[list[str]]:
    told = [telling(fixture, work / "told" / fixture.agent) for fixture in fixtures]
    return check_growth(told, work, meaning_of, CUTS)


@each_of(COUNTED)
def test_a_copy_of_the_files_counts_nothing_twice(fixture: Fixture, together: Together) -> None:
    assert together(check_twice, fixture) == []


@pytest.mark.parametrize("slug", sorted(adapters()))
def test_what_an_agent_declares_is_what_its_fixtures_give(slug: str) -> None:
    facts = adapters()[slug].facts
    given = {
        line["kind"]
        for path in sorted((FOLDER / "goldens" / slug).rglob("*.jsonl"))
        for line in map(json.loads, path.read_text("utf-8").splitlines())
        if "kind" in line
    }
    inferred = {"rewind"} - set(facts.capabilities.kinds)
    assert given - inferred == set(facts.capabilities.kinds)


def test_scenarios_are_known() -> None:
    assert {f.scenario for f in FIXTURES} - SHAPES.keys() - set(ALSO_KNOWN) == set()


def is_golden(fixture: Fixture, content: str) -> bool:
    path = FOLDER / "goldens" / f"{fixture.name}.jsonl"
    if os.environ.get("RECOLLECT_UPDATE_GOLDENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8", newline="\n")
    return path.is_file() and path.read_text("utf-8") == content


def _written(outcome: FixtureOutcome) -> str:
    """Return the events as lines to be read: a session, then what happened in it."""
    lines: list[str] = []
    for session in sorted(outcome.sessions, key=lambda s: s.session_uid):
        facts = {
            "session": session.session_uid, "title": session.title, "cwd": session.cwd, "branch": session.git_branch,
            "models": list(session.models), "version": session.tool_version, "parent": session.parent_session,
            "forked_from": session.forked_from, "resumed_from": session.resumed_from, "agent_name": session.agent_name,
        }  # fmt: skip
        lines.append(_line({k: v for k, v in facts.items() if v}))
        for event in outcome.events[session.session_uid]:
            payload = {k: v for k, v in msgspec.to_builtins(event.payload).items() if k != "kind"}
            fields = {
                "seq": event.seq, "id": event.event_id, "part": event.part, "ts": event.ts,
                "ts_quality": event.ts_quality, "kind": event.kind, "role": event.role, "turn": event.turn_index,
                "parent": event.parent_id,
                "sidechain": event.is_sidechain,
            }  # fmt: skip
            lines.append(_line({**{k: v for k, v in fields.items() if v or k in ("seq", "turn")}, **payload}))
    lines += [_line({"drift": line}) for line in outcome.drift]
    return "\n".join(lines) + "\n"


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
