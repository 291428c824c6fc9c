"""What holds for any content: nothing raises, the state stays small, and no cut of the stream shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.agents.grok.parse import GrokAdapter
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_json
from tests.agents.grok.lines import CHAT, EVENTS, STREAM, SUMMARY
from tests.agents.kit.bent import places_in
from tests.examples import tried

ADAPTER = GrokAdapter()
ROLES = tuple(place.role for place in ADAPTER.facts.places)
STARTS = [*STREAM, *CHAT, *EVENTS, SUMMARY]


def info_of(role: str) -> SourceInfo:
    return SourceInfo("grok", role, "sessions/%2Fwork/s1/updates.jsonl", session="s1")


@st.composite
def bent_lines(draw: st.DrawFn) -> list[Any]:
    """The lines of a real-looking session, some of whose values are anything else."""
    lines = json.loads(json.dumps(draw(st.lists(st.sampled_from(STARTS), min_size=1, max_size=12))))
    for _ in range(draw(st.integers(1, 6))):
        places = places_in(draw(st.sampled_from(lines)))
        if places:
            container, key = draw(st.sampled_from(places))
            container[key] = draw(any_json())
    return lines


@settings(max_examples=tried(200))
@given(values=bent_lines(), role=st.sampled_from(ROLES))
def test_no_bent_line_makes_the_parser_raise(values: list[Any], role: str) -> None:
    assert check_adapter(ADAPTER, info_of(role), values) == []


@pytest.mark.parametrize("text", ["x" * 300_000, "\U0001f600" * 60_000, "\ud800"])
def test_no_text_makes_the_state_large_or_impossible_to_store(text: str) -> None:
    lines = [
        json.loads(json.dumps(line).replace('"First."', json.dumps(text)).replace('"c1"', json.dumps(text[:400])))
        for line in STREAM
    ]
    state = ADAPTER.begin(info_of("updates"))
    for record in records_of([]) or []:
        pytest.fail(str(record))
    for index, line in enumerate(lines * 3):
        state = ADAPTER.parse(records_of([line])[0], state).state
        assert len(msgspec.msgpack.encode(state)) < 1 << 20, index


def samples(shared: Path) -> list[Path]:
    folders = ("corpus/grok-build", "corpus/multi-synthetic", "corpus/peers/agentsview")
    paths = [p for folder in folders for p in sorted((shared / folder).rglob("*.json*")) if "grok" in str(p)]
    return [p for p in paths if p.is_file()]


@pytest.mark.corpus
def test_known_samples_leave_nothing_unknown(shared: Path) -> None:
    roles = {"updates": "updates", "chat_history": "chat", "source-v1": "chat", "summary": "summary"}
    seen = 0
    for path in samples(shared):
        role = roles.get(path.stem)
        if role is None:
            continue
        data = path.read_bytes()
        values = [msgspec.json.decode(line) for line in data.splitlines()] if path.suffix == ".jsonl" else []
        values = values or [msgspec.json.decode(data)]
        found = read(ADAPTER, info_of(role), records_of(values))
        assert "unknown" not in found.kinds, path
        assert ADAPTER.recognise(path.name, data[:65536]) in (role, None) if role == "summary" else True
        seen += 1
    assert seen >= 6


@pytest.mark.corpus
def test_no_transcript_of_another_agent_is_taken_for_grok(shared: Path) -> None:
    for name in ("claude-code", "codex", "qwen-code", "gemini-cli", "pi", "kimi-cli", "copilot-cli"):
        for path in sorted((shared / "corpus" / name).rglob("*.json*"))[:60]:
            with path.open("rb") as file:
                assert ADAPTER.recognise(path.name, file.read(65_536)) is None, path
