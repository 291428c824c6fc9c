"""How work that failed waits, and when no model is asked at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.learnings.pause import (
    DAY_US,
    FIRST_S,
    LONGEST_S,
    LONGEST_STATED_S,
    Failed,
    Pause,
    PauseReason,
    holds,
    pack_pause,
    paused,
    unpack_pause,
    wait_us,
)

NOW = 1_800_000_123_456_789
REASONS = ("authentication", "quota", "rate", "unavailable", "unusable", "budget", "configuration")


@given(failures=st.integers(1, 10**6), chance=st.floats(0, 1, exclude_max=True))
def test_waits_are_between_one_second_and_a_bound_that_doubles_to_a_minute(failures: int, chance: float) -> None:
    wait = wait_us(failures, chance) / 1e6
    assert FIRST_S <= wait <= min(LONGEST_S, 2.0 ** min(failures, 20))


def test_the_bound_is_reached_by_chance_alone() -> None:
    assert wait_us(1, 0.0) == wait_us(9, 0.0) == 1_000_000
    assert [round(wait_us(n, 1 - 1e-9) / 1e6) for n in (1, 2, 3, 6, 7, 60)] == [2, 4, 8, 60, 60, 60]


@given(stated=st.floats(0, 1e9), chance=st.floats(0, 1, exclude_max=True))
def test_a_server_that_says_how_long_is_asked_no_earlier_but_not_never(stated: float, chance: float) -> None:
    wait = wait_us(1, chance, retry_after_s=stated) / 1e6
    assert wait >= round(min(stated, LONGEST_STATED_S), 5) - 1e-5
    assert wait <= max(2.0, LONGEST_STATED_S)


def pause(reason: PauseReason, before: Pause | None = None, *, now: int = NOW, fingerprint: str = "f") -> Pause:
    return paused(before, Failed(reason, "why", now), fingerprint=fingerprint, chance=0.5)


def test_a_budget_is_free_again_when_the_day_is_over() -> None:
    assert pause("budget").until % DAY_US == 0
    assert 0 < pause("budget").until - NOW <= DAY_US


def test_a_refused_key_waits_for_another_one() -> None:
    refused = pause("authentication")
    assert holds(refused, fingerprint="f", now_us=NOW + DAY_US - 1)
    assert not holds(refused, fingerprint="other", now_us=NOW)


def test_failures_in_a_row_wait_longer_and_know_since_when() -> None:
    first = pause("unavailable")
    second = pause("unavailable", first, now=NOW + 9)
    assert (second.failures, second.since, second.at) == (2, NOW, NOW + 9)
    assert second.until - second.at > first.until - first.at
    assert pause("unavailable", second, fingerprint="other").failures == 1


@given(reason=st.sampled_from(REASONS), jump=st.integers(-(10**16), 10**16))
def test_no_clock_can_make_a_pause_longer_than_it_was_meant(reason: PauseReason, jump: int) -> None:
    found = pause(reason)
    if holds(found, fingerprint="f", now_us=NOW + jump):
        assert 0 <= jump < DAY_US


def test_a_pause_is_kept_and_read_again_and_nonsense_is_none() -> None:
    found = pause("quota")
    assert unpack_pause(pack_pause(found)) == found
    assert unpack_pause(pack_pause(None)) is None
    assert unpack_pause(b'{"reason":"of a later version"}') is None
