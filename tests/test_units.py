"""Counts, sizes and lengths of time: what is written is read back, and one form serves everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.units import (
    DURATION_FORMS,
    DURATION_UNITS,
    SIZE_FORMS,
    count,
    duration,
    parse_duration,
    parse_size,
    plural,
    size,
)

SIZES = st.integers(0, 10**17)
SECONDS = st.floats(0, 10**8)


def test_only_one_is_singular() -> None:
    assert [plural(n, "event") for n in (0, 1, 2, 1_000)] == ["0 events", "1 event", "2 events", "1,000 events"]


def test_an_irregular_plural_is_given() -> None:
    assert [plural(n, "entry", "entries") for n in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]


def test_a_count_has_its_thousands_apart() -> None:
    assert count(1_234_567) == "1,234,567"


@pytest.mark.parametrize(
    ("count_bytes", "expected"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (99_949, "99.9 kB"), (123_456, "123 kB"), (999_999, "1.0 MB"),
     (4_200_000_000, "4.2 GB"), (7e15, "7000 TB")],
)  # fmt: skip
def test_sizes_are_decimal(count_bytes: float, expected: str) -> None:
    assert size(count_bytes) == expected


@pytest.mark.parametrize(
    ("count_bytes", "expected"),
    [(1 << 20, "1 MiB"), (64 << 20, "64 MiB"), (256 << 10, "256 KiB"), (8 << 30, "8 GiB"), (3 << 19, "1.5 MiB")],
)
def test_limits_are_binary(count_bytes: int, expected: str) -> None:
    assert size(count_bytes, binary=True) == expected


@given(SIZES, st.booleans())
def test_any_size_is_read_back_as_precisely_as_it_is_shown(count_bytes: int, binary: bool) -> None:
    assert parse_size(size(count_bytes, binary=binary)) == pytest.approx(count_bytes, rel=0.06)


@given(SIZES, SIZES, st.booleans())
def test_a_larger_size_is_never_shown_as_a_smaller_one(one: int, other: int, binary: bool) -> None:
    less, more = (parse_size(size(number, binary=binary)) for number in sorted((one, other)))
    assert less <= more


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4294967296", 1 << 32), ("0", 0), ("500 MB", 500_000_000), ("1.5GB", 1_500_000_000), ("4 GiB", 1 << 32),
     (" 2 kb ", 2_000), ("1,048,576 B", 1 << 20), ("16mib", 1 << 24), ("7000 TB", 7 * 10**15)],
)  # fmt: skip
def test_a_size_is_a_number_of_bytes_or_has_a_unit(text: str, expected: int) -> None:
    assert parse_size(text) == expected


@given(st.integers(0, 10**15), st.sampled_from(["B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"]))
def test_every_unit_of_size_is_read(number: int, unit: str) -> None:
    assert parse_size(f"{number} {unit}") == number * parse_size(f"1{unit}")


@pytest.mark.parametrize("text", ["", "MB", "4 gigs", "-1 MB", "1e6", "3,5 MB", "1 MB 2 kB", "4 G", "٣ MB"])
def test_what_is_no_size_is_refused_with_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size") as raised:
        parse_size(text)
    assert SIZE_FORMS in str(raised.value)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0 s"), (0.2404, "240 ms"), (0.9996, "1 s"), (3.21, "3.2 s"), (40, "40 s"), (59.96, "1 min"),
     (125, "2 min 5 s"), (720, "12 min"), (3_599.6, "1 h"), (7_500, "2 h 5 min"), (4_000_000, "1,111 h 7 min")],
)  # fmt: skip
def test_a_length_of_time_is_told_in_at_most_two_units(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@given(SECONDS)
def test_any_length_of_time_is_read_back_as_precisely_as_it_is_shown(seconds: float) -> None:
    assert parse_duration(duration(seconds)) == pytest.approx(seconds, rel=0.06, abs=0.0006)


@given(SECONDS, SECONDS)
def test_a_longer_time_is_never_shown_as_a_shorter_one(one: float, other: float) -> None:
    less, more = (parse_duration(duration(seconds)) for seconds in sorted((one, other)))
    assert less <= more


@given(st.integers(0, 10**6), st.sampled_from(sorted(DURATION_UNITS)), st.sampled_from(["", " "]))
def test_every_unit_of_time_is_read(number: int, unit: str, space: str) -> None:
    assert parse_duration(f"{number}{space}{unit}") == number * DURATION_UNITS[unit]


@pytest.mark.parametrize(
    ("text", "expected"), [("2 h 5 min", 7_500), ("2h5min", 7_500), ("1.5 h", 5_400), ("6 w", 42 * 86_400), ("2", 2)]
)
def test_a_length_of_time_has_units_where_none_is_meant(text: str, expected: float) -> None:
    assert parse_duration(text, unit="s") == expected


@pytest.mark.parametrize("text", ["", "h", "5", "5 m", "3 d ago", "-1 s", "2 h and", "1e3 s", "5 minutes"])
def test_what_is_no_length_of_time_is_refused_with_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match="is not a length of time") as raised:
        parse_duration(text)
    assert DURATION_FORMS in str(raised.value)
