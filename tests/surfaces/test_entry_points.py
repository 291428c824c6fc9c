"""Agents that other packages bring, by the entry points in `recollect.agents`: found, checked, never in the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.testing.builders import ClaudeTranscript
from tests.surfaces.strangers import installed, program

__all__ = ["installed"]
TINY = '{"who": "me", "says": "polish the samovar", "at": "2026-08-01T09:00:00Z"}\n{"who": "it", "says": "done"}\n'


@pytest.fixture
def history(isolated_home: Path) -> Path:
    """Three agents' transcripts in the user's home: one of ours, one that works, one that raises."""
    ClaudeTranscript(isolated_home / ".claude", "one").user("water the fern")
    for name, text in ((".tiny/logs/first.jsonl", TINY), (".raising/odd.jsonl", '{"key": "marmalade"}\n')):
        path = isolated_home / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return isolated_home


def data(*argv: str, beside: Path) -> Any:
    done = program(*argv, "--json", beside=beside)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_agent_of_an_installed_package_is_taken_in_and_found(history: Path, installed: Path) -> None:
    report = data("sync", beside=installed)
    assert (report["state"], report["agents"]["tiny"]["events"]) == ("done", 2)
    (hit,) = data("search", "samovar agent:tiny", beside=installed)["hits"]
    assert hit["session_uid"] == "tiny:first"
    assert "tiny" in [agent["slug"] for agent in data("agents", beside=installed)["agents"]]
    assert data("verify", beside=installed)["ok"]


def test_a_file_is_told_by_its_content(history: Path, installed: Path) -> None:
    done = program("parse", str(history / ".tiny/logs/first.jsonl"), beside=installed)
    assert [json.loads(line)["session_uid"] for line in done.stdout.splitlines()] == ["tiny:first"] * 2


def test_without_the_package_nobody_knows_the_agent(history: Path) -> None:
    done = program("parse", str(history / ".tiny/logs/first.jsonl"), "--as", "tiny")
    assert done.returncode == 2
    assert "no agent called 'tiny'" in done.stderr


def test_an_agent_of_a_package_is_found_by_its_other_names_and_without_the_package_by_its_slug(
    history: Path, installed: Path
) -> None:
    data("sync", beside=installed)
    assert data("search", "samovar agent:TinyAgent", beside=installed)["total"] == 1
    assert data("sessions", "--agent", "tiny_agent", beside=installed)["total"] == 1
    done = program("sessions", "--agent", "tiny", "--no-sync", "--json")
    assert json.loads(done.stdout)["total"] == 1
    done = program("sessions", "--agent", "tiny-agent", "--no-sync")
    assert (done.returncode, "no agent called 'tiny-agent'" in done.stderr) == (2, True)


def test_what_cannot_be_loaded_is_a_line_of_the_doctor(history: Path, installed: Path) -> None:
    report = data("doctor", beside=installed)
    lines = {check["name"]: check for check in report["checks"] if "cannot be loaded" in check["detail"]}
    assert report["ok"]
    assert {name: check["state"] for name, check in lines.items()} == {
        "agent broken": "warn", "agent halfway": "warn", "agent claude": "warn",
    }  # fmt: skip
    assert "No module named 'recollect.agents.kit.gone'" in lines["agent broken"]["detail"]
    assert "Halfway is no adapter, it has no facts" in lines["agent halfway"]["detail"]
    assert "there is an agent of this name already" in lines["agent claude"]["detail"]
    assert "the package broken-agent" in lines["agent broken"]["hint"]
    assert "the package taken-agent" in lines["agent claude"]["hint"]


def test_a_slug_of_ours_is_not_taken_over(history: Path, installed: Path) -> None:
    assert data("sync", beside=installed)["agents"]["claude"]["unknown"] == 0
    (claude,) = [agent for agent in data("agents", beside=installed)["agents"] if agent["slug"] == "claude"]
    assert claude["name"] == "Claude Code"


def test_a_parser_that_raises_loses_nothing_and_stops_nobody(history: Path, installed: Path) -> None:
    report = data("sync", beside=installed)
    assert report["agents"]["raising"]["defects"] == {"parser_raised": 1, "identify_raised": 1}
    assert any(note.startswith("raising: source_key raised KeyError in raising_agent.py:") for note in report["notes"])
    (hit,) = data("search", "marmalade", beside=installed)["hits"]
    assert hit["kind"] == "unknown"
    assert data("search", "fern", beside=installed)["hits"][0]["agent"] == "claude"
    assert data("verify", beside=installed)["ok"]
