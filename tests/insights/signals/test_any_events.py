"""Whatever the events are: no failure, an order, the same again, light as whole, and what a prefix showed stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.correlation import INFRA_PATTERNS, VARIABLES, exported
from recollect.model.events import Event
from recollect.model.insights.signals import Abandoned, Completion, Loop, Signal, kind_of_signal
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Payload,
    Rewind,
    SessionEnd,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from tests.insights.signals.stories import Story, digest_from, signals_of

LARGE_CHARS = 2048

WORDS = st.sampled_from(
    (
        "", "hi", "fix #12", "never mind", "thanks", "/undo", "Done.", "I'll look.", "I can't do it", "error: boom",
        "Exit code 1\nE   assert 1 == 2\n1 failed in 0.1s", "3 passed in 0.1s", "The tool use was rejected by the user",
        "[Request interrupted by user]", "^C again to exit", "API Error: overloaded", "é\ud800\x00中", "a" * 3000,
        "x\n" * 1500 + "2 failed, 1 passed in 0.1s", "E " * 1500,
    )
)  # fmt: skip
IDS = st.sampled_from(("", "c1", "c2", "c3"))
COMMANDS = st.sampled_from(
    (
        "",
        "pytest",
        "make test | tail",
        "grep x y",
        "git commit -m 'ABC-1'",
        "echo '",
        "cat <<E\n" + "a" * 3000,
        "npm test\n",
    )
)
ARGUMENTS = st.one_of(
    st.none(),
    WORDS,
    st.builds(lambda c: {"command": c}, COMMANDS),
    st.builds(lambda c: {"cmd": ["bash", "-lc", c]}, COMMANDS),
    st.builds(lambda p: {"file_path": p, "old_string": p}, WORDS),
    st.recursive(
        st.none() | st.integers() | WORDS, lambda x: st.lists(x, max_size=2) | st.dictionaries(WORDS, x, max_size=2)
    ),
)
COUNTS = st.integers(-5, 2**70)
LIFECYCLES = st.sampled_from(
    (
        "interrupted",
        "turn_aborted",
        "api_error",
        "retry",
        "permission",
        "notice",
        "commit",
        "turn_ended",
        "compacted",
        "truncated",
    )
)
PAYLOADS: st.SearchStrategy[Payload] = st.one_of(
    st.builds(UserMessage, WORDS, st.sampled_from(("human", "queued", "command", "injected"))),
    st.builds(AssistantMessage, WORDS, WORDS, st.sampled_from(("", "aborted", "end_turn")), WORDS),
    st.builds(Thinking, WORDS),
    st.builds(
        ToolCall,
        IDS,
        st.sampled_from(("Bash", "Edit", "mcp__x__y", "")),
        st.sampled_from(("shell", "edit", "mcp", "other", "")),
        ARGUMENTS,
    ),
    st.builds(
        ToolResult, IDS, WORDS, st.none() | st.booleans(), st.none() | st.integers(-2, 130), WORDS, ARGUMENTS
    ),
    st.builds(FileEdit, WORDS, st.sampled_from(("create", "modify", "delete", "rename", "checkpoint")), call_id=IDS),
    st.builds(TokenUsage, WORDS, COUNTS, COUNTS, dedupe_key=IDS, is_additive=st.booleans()),
    st.builds(Compaction, WORDS, WORDS, st.none() | st.integers(0, 9)),
    st.builds(Rewind),
    st.builds(Lifecycle, LIFECYCLES, WORDS, ARGUMENTS, call_id=IDS, branch=WORDS, title=WORDS),
    st.builds(SessionStart, WORDS, WORDS, WORDS, parent_session=WORDS),
    st.builds(SessionEnd, WORDS),
    st.builds(Unknown, WORDS, WORDS),
)  # fmt: skip
TIMES = st.none() | st.integers(-(2**60), 2**60)
SESSIONS = st.lists(st.tuples(PAYLOADS, TIMES, st.booleans()), max_size=30)


def events_of(drawn: Sequence[tuple[Payload, int | None, bool]]) -> list[Event]:
    story = Story()
    for payload, at, is_sidechain in drawn:
        story.add(payload, at=at, is_sidechain=is_sidechain)
    return story.events


def lightened(events: Sequence[Event]) -> tuple[list[Event], Callable[[Event], Event]]:
    """Return events as the store reads them, without long strings, and what gives each whole."""
    whole = {(e.event_id, e.part): e for e in events}
    light = [msgspec.structs.replace(e, payload=_light(e.payload)) for e in events]
    return light, lambda event: whole[event.event_id, event.part]


LEFT_OUT = {
    ToolCall: ("arguments",),
    ToolResult: ("text", "structured"),
    FileEdit: ("before", "after", "diff"),
    Lifecycle: ("text", "detail"),
    Compaction: ("summary",),
    Unknown: ("text",),
}
"""Where long strings stand that are left out; names, ids and prose are short or kept."""


def _light(payload: Payload) -> Payload:
    changed = {name: _without_long(getattr(payload, name)) for name in LEFT_OUT.get(type(payload), ())}
    light: Payload = msgspec.structs.replace(payload, **changed)
    return light


def _without_long(value: Any) -> Any:
    if isinstance(value, str):
        return "" if len(value) >= LARGE_CHARS else value
    if isinstance(value, dict):
        return {k: _without_long(v) for k, v in value.items()}
    return [_without_long(v) for v in value] if isinstance(value, list) else value


@given(SESSIONS)
def test_any_events_give_signals_in_order_and_a_digest(drawn: list[tuple[Payload, int | None, bool]]) -> None:
    events = events_of(drawn)
    found: list[Signal] = signals_of(events)
    places = {(e.event_id, e.part): i for i, e in enumerate(events)}
    first = [places[s.evidence[0].event_id, s.evidence[0].part] for s in found]
    assert first == sorted(first)
    for signal in found:
        assert all((e.event_id, e.part) in places for e in signal.evidence)
    digest = digest_from(events)
    assert digest.outcome_reasons
    assert sum(digest.signals.values()) == len(found)
    assert len(digest.error_snippets) <= 10
    assert tuple(exported(digest, INFRA_PATTERNS, "/db")) == VARIABLES


@given(SESSIONS)
def test_the_same_events_give_the_same(drawn: list[tuple[Payload, int | None, bool]]) -> None:
    events = events_of(drawn)
    assert signals_of(events) == signals_of(tuple(events))
    assert digest_from(events) == digest_from(list(events))


@given(SESSIONS)
def test_light_events_give_the_same_as_whole_ones(drawn: list[tuple[Payload, int | None, bool]]) -> None:
    events = events_of(drawn)
    light, load = lightened(events)
    assert signals_of(light, load=load) == signals_of(events)
    assert digest_from(light, load) == digest_from(events)


@given(SESSIONS, st.integers(0, 30))
def test_what_a_prefix_shows_of_itself_stays(drawn: list[tuple[Payload, int | None, bool]], cut: int) -> None:
    """Signals of single events, whose calls have their results in the prefix, are the same in the whole session."""
    story = Story()
    for number, (any_payload, at, is_sidechain) in enumerate(drawn):
        payload = any_payload
        if isinstance(payload, ToolCall | ToolResult | FileEdit | Lifecycle):  # each call ends before the next begins
            payload = msgspec.structs.replace(payload, call_id=f"c{number}")
        story.add(payload, at=at, is_sidechain=is_sidechain)
        if isinstance(payload, ToolCall):
            story.gets(payload.call_id, "error: boom", ok=number % 2 == 0)
    whole = signals_of(story.events)
    settled = [s for s in signals_of(story.events[:cut]) if not isinstance(s, Abandoned | Completion | Loop)]
    cut_off = {e.event_id for e in story.events[max(0, cut - 1) : cut]}
    for signal in settled:
        if not cut_off & {e.event_id for e in signal.evidence}:
            assert signal in whole


def test_orphaned_results_missing_times_and_edits_without_calls_are_taken() -> None:
    story = Story()
    story.add(ToolResult("nobody", ok=False, text="error: boom"), at=None)
    story.add(FileEdit("/w/a.py", call_id="nobody"), at=None)
    story.add(ToolResult("", exit_code=3), at=None)
    assert [kind_of_signal(s) for s in signals_of(story.events)] == ["error", "edit", "error"]
    assert digest_from(story.events).started_at is None


def test_parents_that_point_at_each_other_do_no_harm() -> None:
    story = Story()
    story.asks("do it")
    story.says("done")
    one, other = story.events
    circle = [
        msgspec.structs.replace(one, parent_id=other.event_id),
        msgspec.structs.replace(other, parent_id=one.event_id),
    ]
    assert digest_from(circle).outcome == "success"


def test_a_call_with_many_results_has_the_last_one() -> None:
    story = Story()
    call = story.calls("Bash", {"command": "make build"})
    story.gets(call, "", ok=None)
    story.gets(call, "error: boom", ok=False, exit_code=1)
    story.gets(call, "built", ok=True, exit_code=0)
    assert signals_of(story.events, "error") == []


def test_replaced_events_are_left_out() -> None:
    story = Story()
    story.runs("make", "error: boom", exit_code=1)
    story.events[1] = msgspec.structs.replace(story.events[1], replaced_by="e9")
    assert signals_of(story.events, "error") == []


@pytest.mark.parametrize(
    ("shape", "large"),
    [("messages", 100_000), ("open", 100_000), ("failing", 20_000), ("orphans", 20_000), ("notices", 20_000)],
)
def test_many_events_are_taken_in_one_pass(shape: str, large: int) -> None:
    """Linear: as many looks at each event, however many there are (counted, not timed)."""
    counted: dict[int, int] = {}
    for size in (2_000, large):
        story = Story()
        story.events = _many(shape, size)
        looks = 0

        def load(event: Event) -> Event:
            nonlocal looks
            looks += 1
            return event

        digest = digest_from(story.events, load)
        assert digest.event_count == size
        assert len(digest.error_snippets) <= 10
        counted[size] = looks
    assert counted[large] <= large // 2_000 * counted[2_000] + 50


def _many(shape: str, size: int) -> list[Event]:
    story = Story()
    add = {
        "failing": lambda i: (
            ToolCall(f"c{i // 2}", "Bash", "shell", {"command": f"pytest {i}"})
            if i % 2 == 0
            else ToolResult(f"c{i // 2}", ok=False, exit_code=1, text=f"error {i}")
        ),
        "open": lambda i: ToolCall(f"c{i}", "Bash", "shell", {"command": "make"}),
        "orphans": lambda i: ToolResult(f"c{i}", ok=False, text="error: boom"),
        "messages": lambda _: UserMessage("go on", "queued"),
        "notices": lambda _: Lifecycle("notice", "API Error: overloaded"),
    }[shape]
    for number in range(size):
        story.add(add(number))
    return story.events
