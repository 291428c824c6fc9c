"""What the whole pipeline promises of any session: only observed and derived, each with its place, always the same."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.insights import Analysis, analyse, default_stages, prepare
from recollect.model.events import Event
from recollect.model.insights.nodes import Binding, Conversation, Decision, Episode
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Payload,
    Rewind,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from tests.insights.episodes.stories import Story, lightened

STAGES = default_stages()
encode = msgspec.json.Encoder(order="deterministic").encode

_SAID = st.sampled_from([
    "Use Postgres instead of MySQL, because we need transactions.", "never commit to main", "yes", "option 2",
    "Actually, back to MySQL.", "Should we use Redis?", "ok thanks", "Fix the login bug in src/app.py", "好的,用 Redis",
    "Wir nehmen lieber Redis statt Memcached.", "I'd rather have tabs than spaces", "do that", "",
])  # fmt: skip
_ANSWERED = st.sampled_from([
    "I'll keep the old API, since clients depend on it.", "1. Redis\n2. Postgres\n\nWhich one do you want?", "Done.",
    "Shall I introduce an outbox table for the events?", "We considered Redis but rejected it: too heavy.", "",
])  # fmt: skip
_CALLS = st.sampled_from(["", "c1", "c2", "c3"])
_PATHS = st.sampled_from(["src/app.py", "/w/a/src/app.py", "db/postgres.py", "b\\c.py", ""])
_PAYLOADS: st.SearchStrategy[Payload] = st.one_of(
    st.builds(UserMessage, _SAID, st.sampled_from(["human", "queued", "injected", "command"])),
    st.builds(AssistantMessage, _ANSWERED),
    st.builds(ToolCall, _CALLS, st.sampled_from(["Bash", "Edit"]), st.sampled_from(["shell", "edit", "mcp"]),
              st.sampled_from([{"command": "pytest -q"}, {"command": "sed -i s/a/b/ src/app.py"},
                               {"file_path": "src/app.py"}, None, "x", [1]])),
    st.builds(ToolResult, _CALLS, st.just("Bash"), st.sampled_from([None, True, False]),
              st.sampled_from([None, 0, 1, 127]),
              st.sampled_from(["2 failed, 1 passed in 0.1s", "ValueError: bad", "ok", ""])),
    st.builds(FileEdit, _PATHS, st.sampled_from(["create", "modify", "delete", "rename", "checkpoint"]),
              st.none() | st.just("import pymysql"), st.none() | st.just("import psycopg  # Postgres"), call_id=_CALLS),
    st.builds(SessionStart, st.sampled_from(["", "/w/a"]), git_branch=st.sampled_from(["", "fix/ABC-12"])),
    st.builds(Lifecycle, st.sampled_from(["interrupted", "api_error", "permission", "retry", "turn_ended", "cwd"])),
    st.builds(Compaction), st.builds(Rewind, st.sampled_from(["", "e1", "nowhere"])), st.builds(SessionEnd),
    st.builds(Unknown),
)  # fmt: skip


@st.composite
def sessions(draw: st.DrawFn) -> list[Event]:
    """Events of any kind in any order; times that are missing, equal or go back; calls and results that are orphans."""
    story = Story("any:1", timed=draw(st.booleans()))
    for payload in draw(st.lists(_PAYLOADS, min_size=1, max_size=30)):
        story.minutes(draw(st.sampled_from([0, 0, 1, 90, -5])))
        story.happens(payload)
    return list(story.stream().events)


def everything(events: list[Event], **options: Any) -> Analysis:
    return analyse(events, stages=STAGES, **options)


@settings(max_examples=150)
@given(sessions())
def test_only_observed_and_derived_and_every_node_stands_somewhere(events: list[Event]) -> None:
    told = everything(events)
    places = {(e.event_id, e.part): e for e in events}
    names = [node.id for node in told.nodes]
    assert len(set(names)) == len(names)
    for node in told.nodes:
        assert node.status == ("observed" if isinstance(node, Conversation) else "derived")
        assert 0 <= node.confidence <= 1
        assert node.evidence
        assert node.location in {e.location for e in events}
        for evidence in node.evidence:
            event = places[evidence.event_id, evidence.part]
            assert evidence.location == event.location
            assert 0 <= evidence.start <= evidence.end <= len(getattr(event.payload, "text", ""))
    for signal in told.signals:
        assert all((e.event_id, e.part) in places for e in signal.evidence)
        assert signal.evidence
    assert told.digest.outcome_reasons


@settings(max_examples=150)
@given(sessions())
def test_what_is_quoted_stands_there_word_for_word(events: list[Event]) -> None:
    places = {(e.event_id, e.part): getattr(e.payload, "text", "") for e in events}
    for node in everything(events).nodes:
        if isinstance(node, Conversation):
            quoted = [places[e.event_id, e.part][e.start : e.end] for e in node.evidence]
            assert node.text == "\n\n".join(quoted)
            for marker in node.markers:
                assert node.text[marker.start : marker.end].startswith(marker.text)
        elif isinstance(node, Decision):
            assert any(node.statement in text for text in places.values())


@settings(max_examples=150)
@given(sessions())
def test_no_use_is_later_than_what_came_of_it(events: list[Event]) -> None:
    told = everything(events)
    order = {(e.event_id, e.part): i for i, e in enumerate(events)}
    nodes = {node.id: node for node in told.nodes}
    for node in told.nodes:
        if isinstance(node, Binding):
            source, episode = nodes[node.source], nodes[node.episode]
            assert isinstance(source, Conversation | Decision)
            assert isinstance(episode, Episode)
            assert node.t_use is None or node.t_gen is None or node.t_use <= node.t_gen
            last = max(order[e.evidence.event_id, e.evidence.part] for e in episode.edits)
            assert min(order[e.event_id, e.part] for e in source.evidence) < last


@settings(max_examples=100)
@given(sessions(), st.integers(0, 10_000))
def test_the_same_events_give_the_same_whatever_they_are_numbered_and_however_light(
    events: list[Event], first: int
) -> None:
    told = everything(events)
    assert encode(everything(events).nodes) == encode(told.nodes)
    renumbered = [msgspec.structs.replace(e, seq=first + 2 * e.seq) for e in events]
    assert [n.id for n in everything(renumbered).nodes] == [n.id for n in told.nodes]
    light = lightened(events, limit=16)  # more than any path here, as the store's limit is more than any target
    from_light = everything(list(light.events), load=light.whole)
    assert encode((from_light.nodes, from_light.signals, from_light.digest)) == encode(
        (told.nodes, told.signals, told.digest)
    )


@settings(max_examples=60)
@given(sessions())
def test_two_sessions_in_one_stream_are_two_sessions(events: list[Event]) -> None:
    other = [msgspec.structs.replace(e, session_uid="any:2", event_id=f"o-{e.event_id}") for e in events]
    mixed = [event for pair in zip(events, other, strict=True) for event in pair]
    apart = [*prepare(events, stages=STAGES), *prepare(other, stages=STAGES)]
    assert sorted(n.id for n in prepare(mixed, stages=STAGES)) == sorted(n.id for n in apart)
