"""One grammar of times: what people and agents may write, in any zone."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import UsageError
from recollect.model.time import Period, in_zone, offsets_within, parse_iso, parse_time, required_time, to_iso

EAST = timezone(timedelta(hours=2))
LOS_ANGELES = ZoneInfo("America/Los_Angeles")
NOW = parse_iso("2026-08-10T13:30:00Z") or 0  # a Monday
FORMS = (
    "2026", "2026-11", "2026-11-03", "2026-11-03T09:00", "2026-11-03 09:00:30Z", "now", "today", "yesterday", "monday",
    "last week", "this week", "last month", "this month", "last year", "this year", "last-week", "last_week",
    "30min", "12h", "3d", "2w", "3m", "3mo", "1y", "3 days ago", "1 month", "2 weeks ago", "45 minutes",
    "3-days-ago", "TODAY",
)  # fmt: skip

zones = st.one_of(
    st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    st.sampled_from(["America/Los_Angeles", "Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"]).map(ZoneInfo),
)
instants = st.integers(parse_iso("1990-01-01") or 0, parse_iso("2060-01-01") or 0)


def named(text: str, now_us: int = NOW, zone: tzinfo = UTC) -> Period:
    period = parse_time(text, now_us, zone)
    assert period is not None, text
    return period


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026", "2025-12-31T22:00", "2026-12-31T22:00"),
        ("2026-12", "2026-11-30T22:00", "2026-12-31T22:00"),
        ("2026-8-1", "2026-07-31T22:00", "2026-08-01T22:00"),
        ("2026-08-01T09:00:00.000001", "2026-08-01T07:00:00.000001", "2026-08-01T07:00:00.000002"),
        ("2026-08-01T09:00Z", "2026-08-01T09:00", "2026-08-01T09:00:00.000001"),
        ("2026-08-01T09:00:00+05:30", "2026-08-01T03:30", "2026-08-01T03:30:00.000001"),
        ("today", "2026-08-09T22:00", "2026-08-10T22:00"),
        ("Yesterday", "2026-08-08T22:00", "2026-08-09T22:00"),
        ("monday", "2026-08-02T22:00", "2026-08-03T22:00"),
        ("last week", "2026-08-02T22:00", "2026-08-09T22:00"),
        ("this month", "2026-07-31T22:00", "2026-08-31T22:00"),
        ("last year", "2024-12-31T22:00", "2025-12-31T22:00"),
        ("30min", "2026-08-10T13:00", "2026-08-10T13:30"),
        ("3 days ago", "2026-08-07T13:30", "2026-08-10T13:30"),
        ("2 w", "2026-07-27T13:30", "2026-08-10T13:30"),
        ("2y", "2024-08-10T13:30", "2026-08-10T13:30"),
    ],
)
def test_a_text_names_a_period_in_the_zone_that_is_passed(text: str, start: str, end: str) -> None:
    assert named(text, zone=EAST)[:2] == (parse_iso(start), parse_iso(end))


def test_m_and_mo_are_months_and_min_are_minutes() -> None:
    assert named("3m") == named("3mo") == named("3 months") == named("90d")
    assert named("3min").end_us - named("3min").start_us == 180_000_000


@pytest.mark.parametrize("text", ["", "soon", "3", "2026-13-01", "2026-02-30", "2026-08-01T25:00", "-3d", "last day"])
def test_what_is_no_time_is_refused_with_the_forms(text: str) -> None:
    assert parse_time(text, NOW) is None
    with pytest.raises(UsageError, match=r"--at: .* is not a time") as refused:
        required_time(text, NOW, UTC, name="--at")
    assert "last week" in (refused.value.hint or "")


def test_a_day_is_as_long_as_the_zone_has_it() -> None:
    hours = [
        (period.end_us - period.start_us) / 3_600_000_000
        for period in (named(day, zone=LOS_ANGELES) for day in ("2026-03-08", "2026-03-09", "2026-11-01"))
    ]
    assert hours == [23, 24, 25]


def test_the_end_of_a_period_is_what_at_and_until_mean() -> None:
    day = named("2026-08-01")
    assert (to_iso(day.last_us), to_iso(day.until_us)) == ("2026-08-01T23:59:59.999Z", "2026-08-02T00:00:00.000Z")
    for text in ("7d", "2026-08-01T09:00", "now"):
        point = named(text)
        assert point.last_us == point.until_us == point.start_us


def test_a_period_that_ends_just_now_is_still_a_period() -> None:
    midnight = parse_iso("2026-08-10") or 0
    assert named("yesterday", midnight).until_us == named("last week", midnight).until_us == midnight


def test_a_day_that_a_zone_skipped_is_empty() -> None:
    skipped = named("2011-12-30", zone=ZoneInfo("Pacific/Apia"))
    assert skipped.start_us == skipped.end_us == parse_iso("2011-12-30T10:00Z")


@given(st.sampled_from(FORMS), instants, zones)
def test_any_accepted_form_names_a_period_that_does_not_end_before_it_begins(
    text: str, now_us: int, zone: tzinfo
) -> None:
    period = named(text, now_us, zone)
    assert period.start_us <= period.last_us + 1 <= period.end_us + 1
    assert period.start_us <= period.until_us <= period.end_us


@given(st.sampled_from(FORMS), instants, instants, zones)
def test_a_later_now_never_names_an_earlier_period(text: str, one: int, other: int, zone: tzinfo) -> None:
    early, late = sorted((one, other))
    before, after = named(text, early, zone), named(text, late, zone)
    assert (before.start_us, before.end_us) <= (after.start_us, after.end_us)
    assert before.end_us <= after.end_us


@given(instants, zones)
def test_any_local_day_that_is_shown_names_the_day_of_that_instant(us: int, zone: tzinfo) -> None:
    shown = in_zone(us, zone)
    for form in ("%Y", "%Y-%m", "%Y-%m-%d"):
        period = named(shown.strftime(form), zone=zone)
        assert period.start_us <= us < period.end_us


@given(instants, st.integers(0, 10 * 366 * 86_400_000_000), st.floats(0, 1), zones)
def test_offsets_of_a_span_are_those_of_any_instant_in_it(first: int, length: int, share: float, zone: tzinfo) -> None:
    at = first + int(length * share)
    spans = offsets_within(first, first + length, zone)
    found = [span.offset_us for span in spans if span.start_us <= at][-1]
    assert timedelta(microseconds=found) == in_zone(at, zone).utcoffset()


@given(st.text(max_size=30) | st.from_regex(r"[0-9]{1,4}-[0-9]{1,2}(-[0-9]{1,2})?(T\d\d:\d\d)?", fullmatch=True), zones)
def test_any_text_is_a_time_or_none(text: str, zone: tzinfo) -> None:
    period = parse_time(text, NOW, zone)
    assert period is None or period.start_us <= period.end_us


@given(st.sampled_from(["0001-01-01", "0001", "9999-12-30", "9998-12", "99999y", "last year"]), zones)
def test_the_ends_of_the_calendar_raise_nothing(text: str, zone: tzinfo) -> None:
    parse_time(text, NOW, zone)
    parse_time(text, -62_135_596_800_000_000, zone)
