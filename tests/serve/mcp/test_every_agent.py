"""For every agent with an adapter and a setup: what it wrote is listed and found by a real client, rightly dated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.testing.fixtures import Fixture, fixtures_in, lay_out
from tests.serve.mcp.clients import TRANSPORTS, Caller, Told, ask
from tests.serve.mcp.homes import Machine

SLUGS = tuple(
    "claude codex gemini cursor opencode codewhale grok vscode copilot windsurf zed kimi qwen goose hermes pi".split()
)
SCENARIO = "dialogue"


class Expected(NamedTuple):
    """One session as its reviewed golden has it. words: of its first message. times: UTC microseconds, any or none."""

    uid: str
    models: tuple[str, ...]
    words: str
    said_at: int | None
    begin: int | None
    end: int | None


def fixture_of(repository: Path, slug: str) -> Fixture:
    """Return the dialogue of the version that has the most scenarios."""
    all_of = list(fixtures_in(repository / "tests/conformance/fixtures", slug))
    versions = [f.version for f in all_of]
    return max((f for f in all_of if f.scenario == SCENARIO), key=lambda f: (versions.count(f.version), f.version))


def expected_of(repository: Path, fixture: Fixture) -> Expected:
    """Return the first session of a golden."""
    lines = (repository / "tests/conformance/goldens" / f"{fixture.name}.jsonl").read_text("utf-8").splitlines()
    head, *rest = [json.loads(line) for line in lines]
    events: list[dict[str, Any]] = []
    for line in rest:
        if "session" in line:
            break
        events.append(line)
    said = next(e for e in events if e["kind"] == "user_message" and e.get("text"))
    times = [e["ts"] for e in events if e.get("ts") is not None]
    models = tuple(head.get("models", ()))
    return Expected(
        head["session"], models, said["text"], said.get("ts"), min(times, default=None), max(times, default=None)
    )


def minute(us: int | None) -> str:
    from datetime import UTC, datetime

    return "undated" if us is None else datetime.fromtimestamp(us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%MZ")


@pytest.fixture
def everyone(machine: Machine, repository: Path) -> Machine:
    """Return a machine on which every one of these agents has held a dialogue."""
    config = []
    for slug in SLUGS:
        root = machine.root / "agents" / slug
        lay_out(fixture_of(repository, slug), root)
        config.append(f"[agents.{slug}]\nroots = [{json.dumps(str(root))}]\n")
    machine.home.mkdir()
    (machine.home / "config.toml").write_text("\n".join(config), "utf-8")
    machine.sync()
    return machine


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_agent_is_listed_and_found_with_its_uid_model_and_times(
    transport: str, everyone: Machine, repository: Path
) -> None:
    wanted = {slug: expected_of(repository, fixture_of(repository, slug)) for slug in SLUGS}

    async def body(caller: Caller) -> dict[str, tuple[Told, Told]]:
        return {
            slug: (
                await caller.call("list_sessions", agent=slug, scope="all"),
                await caller.call("search", query=expected.words, agent=slug, scope="all"),
            )
            for slug, expected in wanted.items()
        }

    problems: list[str] = []
    for slug, (listed, found) in ask(transport, everyone, body).items():
        expected = wanted[slug]
        in_list = line_with(listed.text, f"{expected.uid}#")
        # A later hit of a session has its number alone, and the time of its day.
        first, in_search = line_with(found.text, f"{expected.uid}#"), line_with(found.text, "user_message")
        begin, end = minute(expected.begin), minute(expected.end)
        times = (begin, end if begin[:10] != end[:10] else end[11:] if begin != end else begin)
        problems += [f"{slug} list_sessions has no {part!r}: {in_list}" for part in times if part not in in_list]
        day, time = minute(expected.said_at)[:10], minute(expected.said_at)[11:]
        if day not in f"{first} {in_search}" or time not in in_search:
            problems.append(f"{slug} search has no {minute(expected.said_at)}: {in_search or found.text}")
        for model in expected.models:
            problems += [f"{slug}: {model} is not in {in_list}"] if model not in in_list else []
        if f" {slug} " not in f"{in_list} " or not first.startswith(f"{slug}:"):
            problems.append(f"{slug}: the agent is not named: {in_list} | {found.text}")
    assert problems == []


def line_with(text: str, *parts: str) -> str:
    return next((line for line in text.split("\n") if all(part in line for part in parts)), "")
