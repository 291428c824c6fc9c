"""The digest: what each of its fields is made of."""

from __future__ import annotations

import json

import msgspec
import pytest

from recollect.insights.digests import MAX_SNIPPETS, TEXT_CHARS, digest_of, session_of
from recollect.insights.session_events import SessionEvents
from recollect.insights.stages import Gated
from recollect.model.insights.digests import as_schema_1, published
from recollect.model.insights.nodes import Marker
from recollect.model.insights.signals import SIGNAL_KINDS
from recollect.model.own import BLOCK_TAG
from recollect.model.payloads import AssistantMessage, TokenUsage, UserMessage
from recollect.model.time import to_iso
from tests.insights.signals.stories import START_US, STEP_US, Story

FIELDS = {
    "session_uid", "flavor", "repo", "domain", "model", "started_at", "ended_at", "outcome", "outcome_reasons", "cost",
    "tool_histogram", "event_count", "kind_counts", "markers", "signals", "first_prompt", "last_assistant",
    "error_snippets", "task_ref", "schema_version", "tool_kinds",
}  # fmt: skip


def told() -> Story:
    story = Story("claude:s1")
    story.starts(cwd="/w/demo", git_branch="main", repo_root="/w/demo")
    story.asks("fix the login")
    story.runs("make build", "error: boom", exit_code=2)
    story.edits()
    story.runs("make build")
    story.says("Fixed.", model="m-2")
    return story


def test_every_field_is_always_there() -> None:
    for story in (told(), Story()):
        assert set(json.loads(msgspec.json.encode(story.digest()))) == FIELDS


def test_who_where_and_when() -> None:
    digest = told().digest()
    assert (digest.session_uid, digest.flavor, digest.repo) == ("claude:s1", "claude", "demo")
    assert (digest.started_at, digest.ended_at) == (START_US, START_US + 9 * STEP_US)
    assert digest.cost.wall_clock_s == 18.0


def test_calls_are_counted_by_the_agents_own_names_the_most_frequent_first() -> None:
    assert list(told().digest().tool_histogram.items()) == [("Bash", 2), ("Edit", 1)]


def test_events_and_signals_are_counted_by_kind() -> None:
    digest = told().digest()
    assert digest.event_count == 10
    assert sum(digest.kind_counts.values()) == 10
    assert list(digest.kind_counts) == sorted(digest.kind_counts)
    assert digest.signals == {"error": 1, "retry": 1, "edit": 1, "completion": 1}
    assert list(digest.signals) == [kind for kind in SIGNAL_KINDS if kind in digest.signals]
    assert (digest.cost.turns, digest.cost.retries) == (1, 1)


def test_a_response_counts_once_with_its_fullest_sighting() -> None:
    story = Story()
    story.spends("r1", 5, cache_read_tokens=100)
    story.spends("r1", 40, cache_read_tokens=100, cache_write_5m_tokens=7)
    story.spends("r1", 12)
    story.spends("", 3)
    story.spends("", 3)
    story.spends("total", 999, is_additive=False)
    cost = story.digest().cost
    assert (cost.input_tokens, cost.output_tokens, cost.cache_tokens) == (30, 46, 107)


def test_nonsense_counts_are_cut_off() -> None:
    story = Story()
    story.spends("r1", 1 << 70)
    story.spends("r2", 5)
    story.events[-1] = msgspec.structs.replace(
        story.events[-1], payload=msgspec.structs.replace(story.events[-1].payload, input_tokens=-3)
    )
    cost = story.digest().cost
    assert (cost.input_tokens, cost.output_tokens) == (10, (1 << 40) + 5)


def test_the_model_is_the_one_that_took_most_tokens() -> None:
    story = told()
    assert story.digest().model == "m-2"
    story.spends("r1", 5)
    assert story.digest().model == "m-1"
    story.add(TokenUsage("m-3", 10, 1, dedupe_key="r2", cache_read_tokens=900))
    assert story.digest().model == "m-3"


def test_time_in_which_nothing_happened_for_ten_minutes_is_not_active() -> None:
    story = Story()
    story.add(UserMessage("fix it", "human"), at=START_US)
    story.add(AssistantMessage("Looking."), at=START_US + 600_000_000)
    story.add(UserMessage("go on", "human"), at=START_US + 1_201_000_000)
    story.add(AssistantMessage("Done."), at=START_US + 1_211_000_000)
    cost = story.digest().cost
    assert (cost.wall_clock_s, cost.active_s) == (1211.0, 610.0)


def test_schema_2_has_iso_times_and_the_contracts_markers_and_schema_1_is_as_it_was() -> None:
    rules = {"en.choice.use": 2, "en.preference.like": 1, "de.rejection.statt": 1, "en.ban.never": 1, "mine": 3}
    digest = msgspec.structs.replace(told().digest(), markers=rules)
    two = msgspec.to_builtins(published(digest, 0.25))
    assert two["schema_version"] == 2
    assert two["started_at"] == to_iso(START_US)
    assert two["ended_at"] == to_iso(START_US + 9 * STEP_US)
    assert two["markers"] == {"ban": 1, "decision_verb": 3, "mine": 3, "rejection": 1}
    assert two["infra_overhead_share"] == 0.25
    assert two["cost"]["active_s"] == two["cost"]["wall_clock_s"] == 18.0
    one = as_schema_1(digest)
    assert (one["schema_version"], one["started_at"], one["markers"]) == (1, START_US, rules)
    assert set(one) == FIELDS - {"tool_kinds"}
    assert "active_s" not in one["cost"]
    assert set(two) == FIELDS - {"tool_kinds"} | {"infra_overhead_share"}
    empty = published(Story().digest(), 0.0)
    assert (empty.started_at, empty.task_ref) == (None, None)


def test_texts_are_cut_and_without_recalled_blocks() -> None:
    story = Story()
    story.asks("injected first", "injected")
    story.asks(f"<{BLOCK_TAG}>old things</{BLOCK_TAG}>\n" + "x" * 2000)
    story.says("y" * 2000)
    digest = story.digest()
    assert len(digest.first_prompt) == TEXT_CHARS == len(digest.last_assistant)
    assert digest.first_prompt == "x" * (TEXT_CHARS - 1) + "…"
    assert digest.last_assistant.startswith("yyy")


def test_the_last_words_are_those_of_the_main_line() -> None:
    story = Story()
    story.says("Done.")
    story.add(AssistantMessage("Aside."), is_sidechain=True)
    assert story.digest().last_assistant == "Done."


def test_errors_are_listed_by_count_then_first_seen_at_most_ten() -> None:
    story = Story()
    for number in range(14):
        story.runs("make", f"error: {'abcdefghijklmn'[number]}{'x' * number}", exit_code=2)
    for _ in range(2):
        story.runs("make", "error: n" + "x" * 13, exit_code=2)
    snippets = story.digest().error_snippets
    assert len(snippets) == MAX_SNIPPETS
    assert (snippets[0].sample, snippets[0].count, snippets[0].tool) == ("error: n" + "x" * 13, 3, "shell")
    assert [s.sample[7] for s in snippets[1:4]] == ["a", "b", "c"]


def test_markers_are_counted_by_rule() -> None:
    story = told()
    marker = Marker("en.choice.use", "choice", "strong", "use", 0, 3)
    gated = [Gated(story.events[1], "use", "human", (marker, marker))]
    stream = SessionEvents(story.events)
    digest = digest_of(stream, session_of(stream.events), (), gated)
    assert digest.markers == {"en.choice.use": 2}


def test_what_is_known_of_the_session_is_taken_from_it() -> None:
    story = told()
    stream = story.stream()
    known = msgspec.structs.replace(
        session_of(stream.events), repo="other", domain="work", started_at=START_US - STEP_US, ended_at=None
    )
    digest = digest_of(stream, known, (), ())
    assert (digest.repo, digest.domain, digest.started_at) == ("other", "work", START_US - STEP_US)
    assert digest.ended_at == START_US + 9 * STEP_US
    assert digest.cost.wall_clock_s == 20.0


def test_a_session_without_times_took_no_time() -> None:
    story = Story()
    story.add(AssistantMessage("hm"), at=None)
    digest = story.digest()
    assert (digest.started_at, digest.ended_at, digest.cost.wall_clock_s) == (None, None, 0.0)


def test_a_session_is_told_from_its_events() -> None:
    story = Story("codex:s 1".replace(" ", "%20"))
    story.starts(cwd="/w/demo/.worktrees/x", model="m-1", parent_session="p", tool_version="1.2", agent_name="explore")
    story.notes("title", title="The login")
    story.notes("branch", branch="fix/login")
    story.asks("fix it")
    story.asks("more", "queued")
    story.asks("/exit", "command")
    story.asks("reminder", "injected")
    story.says("ok", model="m-2")
    session = session_of(story.events, domains={"demo": "work"})
    assert (session.agent, session.repo, session.domain) == ("codex", "demo", "work")
    assert (session.title, session.title_status, session.git_branch) == ("The login", "agent", "fix/login")
    assert session.models == ("m-1", "m-2")
    assert (session.parent_session, session.root_session) == ("codex:p", "codex:p")
    assert (session.turn_count, session.event_count) == (3, 8)


@pytest.mark.parametrize("parent", ["", "s1"])
def test_a_session_is_never_its_own_parent(parent: str) -> None:
    story = Story("codex:s1")
    story.starts(parent_session=parent)
    session = session_of(story.events)
    assert (session.parent_session, session.root_session) == ("", "codex:s1")


def test_no_events_are_an_empty_session() -> None:
    assert session_of(()).session_uid == ""
