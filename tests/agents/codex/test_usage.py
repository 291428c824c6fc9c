"""Token counts: once per response, whatever is told again and whatever a fork copies."""

from __future__ import annotations

import pytest

from recollect.model.payloads import TokenUsage
from tests.agents.codex.records import (
    PARENT,
    THREAD,
    TURN_1,
    TURN_2,
    Json,
    context,
    event,
    meta,
    read,
    tokens,
)


def usage_of(*records: Json) -> list[TokenUsage]:
    return read(*records).of(TokenUsage)


def keys_of(*records: Json) -> list[str]:
    return [u.dedupe_key for u in usage_of(*records)]


def test_input_is_told_without_what_came_from_the_cache():
    (usage,) = usage_of(context(), tokens(900, 900, cached=600, out=40))
    assert (usage.model, usage.input_tokens, usage.cache_read_tokens) == ("gpt-x", 300, 600)
    assert (usage.output_tokens, usage.reasoning_tokens) == (40, 2)


def test_the_last_response_counts_and_never_the_running_total():
    assert [u.input_tokens for u in usage_of(tokens(10, 10), tokens(25, 15))] == [10, 15]


def test_a_count_told_again_is_not_a_response():
    again = tokens(10, 10)
    again["payload"]["rate_limits"] = {"primary": {"used_percent": 3}}
    assert len(usage_of(tokens(10, 10), context(TURN_1), again)) == 1


@pytest.mark.parametrize("info", [None, {}])
def test_a_count_without_info_is_not_a_response(info):
    assert not read(event("token_count", info=info, rate_limits={})).payloads


def test_an_estimate_after_a_compaction_is_not_a_response():
    estimate = {"last_token_usage": {"total_tokens": 500}, "total_token_usage": {"input_tokens": 9, "total_tokens": 9}}
    assert not usage_of(event("token_count", info=estimate))


def test_totals_that_fall_are_a_reset_and_no_refund():
    reading = usage_of(meta(), tokens(100, 100), tokens(100_000, 50), tokens(100, 100))
    assert [u.input_tokens for u in reading] == [100, 50, 100]
    assert len({u.dedupe_key for u in reading}) == 3


def test_a_count_without_totals_is_a_response():
    info = {"last_token_usage": {"input_tokens": 10, "output_tokens": 2}}
    assert len(usage_of(event("token_count", info=info), event("token_count", info=info))) == 1


@pytest.mark.parametrize("turn", ["", "turn-1", TURN_1])
@pytest.mark.parametrize("has_copied_header", [True, False])
def test_a_fork_counts_its_copied_prefix_under_the_parents_keys(turn, has_copied_header):
    prefix = [context(turn), tokens(10, 10), tokens(25, 15)]
    parent = keys_of(meta(PARENT), *prefix)
    later = [{**r, "timestamp": "2026-07-09T00:00:00.000Z"} for r in prefix]
    header = [meta(THREAD, forked_from_id=PARENT)] + ([meta(PARENT)] if has_copied_header else [])
    fork = keys_of(*header, *later, context(TURN_2), tokens(50, 25))
    assert fork[:2] == parent
    assert fork[2] not in parent


def test_a_subagent_that_replays_its_parent_counts_it_under_the_parents_keys():
    prefix = [context("1"), tokens(10, 10)]
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}
    child = keys_of(meta(THREAD, source=spawn), meta(PARENT), *prefix)
    assert child == keys_of(meta(PARENT), *prefix)


def test_a_subagent_with_turns_of_its_own_only_shares_no_key_with_its_parent():
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}
    records = [context("1"), tokens(10, 10)]
    assert not set(keys_of(meta(THREAD, source=spawn), *records)) & set(keys_of(meta(PARENT), *records))


def test_a_fork_of_a_fork_keeps_the_first_keys():
    prefix = [tokens(10, 10), tokens(25, 15)]
    first = keys_of(meta(PARENT), *prefix)
    middle = [meta("middle", forked_from_id=PARENT), meta(PARENT), *prefix]
    assert keys_of(*middle) == first
    assert keys_of(meta(THREAD, forked_from_id="middle"), *middle) == first


def test_equal_counts_of_two_sessions_are_two_responses():
    records = [context("1"), tokens(10, 10)]
    assert keys_of(meta(THREAD), *records) != keys_of(meta(PARENT), *records)


@pytest.mark.parametrize("bad", ["12 tokens", -1, 1.5, [], 2**80, True])
def test_a_count_of_the_wrong_type_is_a_defect_and_counts_nothing(bad):
    info = {"last_token_usage": {"input_tokens": bad, "output_tokens": 3}}
    reading = read(event("token_count", info=info))
    assert reading.of(TokenUsage)[0].input_tokens == 0
    assert reading.defects
