"""The bundled sample: small, in the agents' real layouts, and free of anything a reader would stumble over."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from recollect.cli.first_run import lay_out
from recollect.config import load_config
from recollect.memory import parse_file

SAMPLE = Path(str(files("recollect") / "sample"))
TRANSCRIPTS = sorted(SAMPLE.rglob("*.jsonl"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda p: p.name[:28])
def test_a_transcript_is_read_without_anything_unknown(path: Path) -> None:
    events = list(parse_file(path))
    assert [e.payload for e in events if e.kind == "unknown"] == []
    assert all(e.ts is not None for e in events if e.kind != "lifecycle")
    assert {"user_message", "assistant_message", "tool_call", "tool_result"} <= {e.kind for e in events}


def test_there_are_about_ten_sessions_of_both_agents_and_a_subagent() -> None:
    slugs = [next(iter(parse_file(p))).session_uid.split(":")[0] for p in TRANSCRIPTS]
    assert {slug: slugs.count(slug) for slug in set(slugs)} == {"claude": 7, "codex": 4}
    assert sum("subagents" in p.parts for p in TRANSCRIPTS) == 1


def test_it_is_small() -> None:
    assert sum(p.stat().st_size for p in SAMPLE.rglob("*") if p.is_file()) < 200_000


def test_laying_it_out_twice_changes_nothing(tmp_path: Path) -> None:
    lay_out(tmp_path, ["claude", "codex", "other"])
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    lay_out(tmp_path, ["claude", "codex", "other"])
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_the_demos_configuration_points_every_agent_into_the_demo(tmp_path: Path) -> None:
    laid = lay_out(tmp_path, ["claude", "codex", "other"])
    assert load_config(tmp_path / "config.toml") == laid
    for slug in ("claude", "codex"):
        assert laid.agent(slug).enabled
        assert all(Path(place).is_relative_to(tmp_path) for place in laid.agent(slug).variables.values())
    assert not laid.agent("other").enabled
