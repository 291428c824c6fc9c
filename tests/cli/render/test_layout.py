"""Times, speeds and prices as people read them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.render.layout import ago, clock, speed, stamp, when
from recollect.units import usd

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3_600, "1 h ago"),
        (86_400, "1 d ago"),
        (15 * 86_400, "2 wk ago"),
        (90 * 86_400, "2 mo ago"),
        (800 * 86_400, "2 y ago"),
    ],
)
def test_a_past_instant_is_told_in_one_unit(seconds: int, expected: str) -> None:
    now = 2_000_000_000 * SECOND
    assert ago(now - seconds * SECOND, now) == expected


def test_a_future_instant_is_told_by_its_date_only() -> None:
    assert ago(2, 1) == ""
    assert when(2, 1) == stamp(2)


def test_no_time_is_said() -> None:
    assert when(None, 1) == "no time"
    assert clock(None) == "--:--:--"


@given(st.integers())
def test_any_instant_can_be_shown(us: int) -> None:
    assert re.fullmatch(r"\d+-\d\d-\d\d \d\d:\d\d", stamp(us))


def test_an_unknown_price_is_no_zero() -> None:
    assert [usd(x) for x in (None, 0.0, 0.0012, 12.345, 1234.5)] == ["-", "$0.00", "$0.0012", "$12.35", "$1,234.50"]


@pytest.mark.parametrize(
    ("count_bytes", "seconds", "expected"),
    [
        (40_000_000, 0.5, "80.0 MB/s"), (1_000_000, 5.0, "200 kB/s"),
        (999_999, 0.01, ""), (0, 1.0, ""), (5_000_000, 0.0, ""),
    ],
)  # fmt: skip
def test_a_rate_is_told_where_it_says_something(count_bytes: int, seconds: float, expected: str) -> None:
    assert speed(count_bytes, seconds) == expected
