"""Tokens are counted once whatever repeats them; what has a price is priced, what has none is named."""

from __future__ import annotations

from datetime import timedelta, timezone
from itertools import permutations
from pathlib import Path

import pytest

from recollect.model.time import to_datetime
from recollect.model.usage import ActivityTotals, UsageReport, UsageTotals
from recollect.store.reader import Reader, open_reader
from recollect.store.rows import EventFilter, UsageBy
from recollect.store.timeline import SLOT_S, ActivityQuestion
from recollect.store.usage import Prices, prices_on
from recollect.store.writer import Writer, open_writer
from tests.store.slices import START, Line, Source, make_slices, sighting, write_all

SONNET = "claude-sonnet-4-5"


def report(reader: Reader, by: UsageBy = "total", where: EventFilter = EventFilter()) -> UsageReport:  # noqa: B008
    return reader.usage(by=by, where=where, after=None, before=None)


def total(reader: Reader) -> UsageTotals:
    return report(reader).total


def test_repeated_streaming_lines_count_once_with_the_most_output(writer: Writer, reader: Reader) -> None:
    lines = [Line(f"l{n}", usage=sighting("msg-1", output)) for n, output in enumerate((1, 90, 40))]
    write_all(writer, make_slices(lines, cuts=[1, 2]))
    assert (total(reader).responses, total(reader).input_tokens, total(reader).output_tokens) == (1, 10, 90)


@pytest.mark.parametrize("order", list(permutations(["early", "late", "later"])))
def test_a_fork_counts_in_the_session_that_began_first(tmp_path: Path, order: tuple[str, ...]) -> None:
    minutes = {"early": 0, "late": 5, "later": 9}
    with open_writer(tmp_path) as writer, open_reader(tmp_path, None, None) as reader:
        for name in order:
            own = Line("own", f"{name}-own", session=name, usage=sighting(f"only {name}", 1), minute=minutes[name])
            shared = Line("shared", "shared", session=name, usage=sighting("msg-1", 100), minute=20)
            write_all(writer, make_slices([own, shared], Source(name, session=name)))
        rows = {row.key: row.totals.output_tokens for row in report(reader, "session").rows}
        assert rows == {"claude:early": 101, "claude:late": 1, "claude:later": 1}


def test_a_filter_does_not_move_a_shared_response(writer: Writer, reader: Reader) -> None:
    for minute, name in enumerate(("first", "second")):
        line = Line("shared", "s", session=name, usage=sighting("msg-1", 7), minute=minute)
        write_all(writer, make_slices([line], Source(name, session=name)))
    assert report(reader, where=EventFilter(sessions=("claude:second",))).total.responses == 0
    assert report(reader, where=EventFilter(sessions=("claude:first",))).total.output_tokens == 7


def test_running_totals_are_not_summed(writer: Writer, reader: Reader) -> None:
    lines = [Line("a", usage=sighting("x", 5)), Line("b", usage=sighting("y", 500, is_additive=False))]
    write_all(writer, make_slices(lines))
    assert total(reader).output_tokens == 5


def test_sightings_without_a_key_count_each(writer: Writer, reader: Reader) -> None:
    slices = make_slices([Line(f"l{n}", usage=sighting("", 1)) for n in range(3)])
    write_all(writer, [*slices, *slices])
    assert total(reader).responses == 3


def test_cost_follows_the_price_of_every_kind_of_token(writer: Writer, reader: Reader) -> None:
    million = 1_000_000
    usage = sighting("m", million, input_tokens=100_000, model=SONNET)
    more = sighting("n", 0, input_tokens=0, cache_read_tokens=100_000, model=SONNET)
    five = sighting("o", 0, input_tokens=0, cache_write_5m_tokens=100_000, model=SONNET)
    hour = sighting("p", 0, input_tokens=0, cache_write_1h_tokens=100_000, model=SONNET)
    write_all(writer, make_slices([Line(f"{n}", usage=u) for n, u in enumerate((usage, more, five, hour))]))
    rates = Prices().rates(SONNET, START, 0)
    assert rates is not None
    assert rates.cache_read < rates.input < rates.cache_write_5m < rates.cache_write_1h < rates.output
    expected = million * rates.output + 100_000 * (sum(rates) - rates.output)
    assert total(reader).cost_usd == pytest.approx(expected)


def test_a_large_input_is_priced_by_its_tier(writer: Writer, reader: Reader) -> None:
    prices = Prices()
    [threshold] = prices.thresholds([SONNET])
    sizes = (threshold, threshold + 1)
    lines = [Line(f"{n}", usage=sighting(f"{n}", 0, input_tokens=n, model=SONNET)) for n in sizes]
    write_all(writer, make_slices(lines))
    low, high = prices.rates(SONNET, START, 0), prices.rates(SONNET, START, threshold)
    assert low is not None
    assert high is not None
    assert low.input < high.input
    assert total(reader).cost_usd == pytest.approx(sizes[0] * low.input + sizes[1] * high.input)


def test_a_cost_that_the_agent_states_is_taken(writer: Writer, reader: Reader) -> None:
    lines = [Line("a", usage=sighting("x", 5, cost_usd=0.25, model="never-heard-of"))]
    write_all(writer, make_slices(lines))
    assert (total(reader).cost_usd, report(reader).notes) == (0.25, ())


def test_a_model_without_a_price_is_named(writer: Writer, reader: Reader) -> None:
    lines = [Line("a", usage=sighting("x", 5, model="never-heard-of")), Line("b", usage=sighting("y", 5, model=""))]
    write_all(writer, make_slices(lines))
    found = report(reader)
    assert found.total.cost_usd is None
    assert found.rows[0].unpriced_models == ("(unknown)", "never-heard-of")
    assert len(found.notes) == 2


def test_many_models_without_a_price_are_one_note(writer: Writer, reader: Reader) -> None:
    lines = [Line(name, usage=sighting(name, 5, model=f"unheard-of-{name}")) for name in "abcdef"]
    write_all(writer, make_slices([*lines, Line("g", usage=sighting("g", 5, model="unheard-of-f"))]))
    (note,) = report(reader).notes
    assert note.startswith("no price is known for unheard-of-f, unheard-of-a, unheard-of-b and 3 more")
    assert "leaves out 7 of" in note


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("session", ["claude:one", "claude:two"]),
        ("day", ["2026-05-28", "2026-05-29"]),
        ("repo", ["alpha", "beta"]),
        ("domain", ["", "work"]),
        ("model", [SONNET, "gpt-5"]),
        ("agent", ["claude"]),
        ("total", ["total"]),
    ],
)
def test_usage_is_grouped(writer: Writer, reader: Reader, by: UsageBy, keys: list[str]) -> None:
    one = Line("a", usage=sighting("x", 5, model=SONNET))
    two = Line("b", session="two", usage=sighting("y", 7, model="gpt-5", minute=1440), minute=1440)
    write_all(writer, make_slices([one], Source("a", patch={"cwd": "/w/alpha"})))
    write_all(writer, make_slices([two], Source("b", session="two", patch={"cwd": "/w/beta"})))
    found = report(reader, by)
    assert sorted(row.key for row in found.rows) == keys
    assert sum(row.totals.output_tokens for row in found.rows) == found.total.output_tokens == 12


def test_usage_is_confined_to_a_time(writer: Writer, reader: Reader) -> None:
    lines = [Line(f"{m}", usage=sighting(f"{m}", 1, minute=m), minute=m) for m in (0, 10, 20)]
    write_all(writer, make_slices(lines))
    minute = 60_000_000
    found = reader.usage(by="total", where=EventFilter(), after=START + minute, before=START + 20 * minute)
    assert found.total.responses == 1


def test_a_grouping_that_is_not_finished_is_an_error(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("a", usage=sighting("x", 5))]))
    with pytest.raises(AssertionError):
        report(reader, "week")  # type: ignore[arg-type]


def test_no_usage_is_an_empty_report(reader: Reader) -> None:
    assert report(reader).rows == ()
    assert report(reader).total == UsageTotals()


def test_absurd_numbers_do_no_harm(writer: Writer, reader: Reader) -> None:
    absurd = sighting("x", 1 << 70, input_tokens=-5, cost_usd=float("inf"))
    write_all(writer, make_slices([Line("a", usage=absurd)]))
    assert total(reader).input_tokens == 0
    assert total(reader).output_tokens == 1 << 40


def test_the_date_of_the_prices_is_known() -> None:
    assert prices_on() > "2025-01-01"


def test_prices_that_were_found_are_kept_for_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "run" / "prices.json"
    first = Prices(kept)
    told = (first.thresholds([SONNET, "nobody's"]), first.rates(SONNET, START, 0), first.rates("nobody's", START, 0))
    first.keep()
    monkeypatch.setattr(Prices, "_model", lambda *_: pytest.fail("the library is asked"))
    second = Prices(kept)
    assert (
        second.thresholds([SONNET, "nobody's"]), second.rates(SONNET, START, 0), second.rates("nobody's", START, 0)
    ) == told  # fmt: skip


def test_prices_of_another_version_of_the_library_are_not_used(tmp_path: Path) -> None:
    kept = tmp_path / "prices.json"
    first = Prices(kept)
    assert first.rates(SONNET, START, 0) is not None
    first.keep()
    text = kept.read_text("utf-8")
    kept.write_text(text.replace("data.py ", "data.py 1"), "utf-8")
    assert SONNET not in text  # names come from transcripts
    second = Prices(kept)
    assert second.rates(SONNET, START, 0) == first.rates(SONNET, START, 0)
    second.keep()
    assert kept.read_text("utf-8") == text


def test_a_span_of_days_is_told_beside_as_many_days_before_it(writer: Writer, reader: Reader) -> None:
    day = 24 * 60
    lines = [
        Line(f"l{n}", usage=sighting(f"msg-{n}", n + 1, minute=minute), minute=minute)
        for n, minute in enumerate((0, day, day + 1, 2 * day, 3 * day))
    ]
    write_all(writer, make_slices(lines))
    first = to_datetime(START).date() + timedelta(days=2)
    trend = reader.usage_trend(by="agent", where=EventFilter(), first=first, last=first + timedelta(days=1))
    assert trend.report.total.output_tokens == 4 + 5
    assert trend.previous.total.output_tokens == 1 + 2 + 3
    assert [(one.day, one.totals.output_tokens) for one in trend.days] == [
        (first.isoformat(), 4),
        ((first + timedelta(days=1)).isoformat(), 5),
    ]
    whole = reader.usage(by="agent", where=EventFilter(), after=None, before=None)
    assert trend.report.total.responses + trend.previous.total.responses == whole.total.responses


def test_work_is_counted_in_slots_of_the_clock_on_the_wall(writer: Writer, reader: Reader) -> None:
    for session, minutes in (("one", (0, 1, 7)), ("two", (1,))):
        lines = [Line(f"{session}{n}", session=session, minute=minute) for n, minute in enumerate(minutes)]
        write_all(writer, make_slices(lines, Source(session, session=session)))
    east = timezone(timedelta(hours=5, minutes=30))
    begun = to_datetime(START).astimezone(east)
    asked = ActivityQuestion(EventFilter(), begun.date(), begun.date(), east)
    report = reader.activity(asked)
    assert (report.total.active_s, report.total.any_s) == (3 * SLOT_S, 2 * SLOT_S)
    assert (report.total.sessions, report.total.days, report.total.most_at_once) == (2, 1, 2)
    assert sum(map(sum, report.hours)) == report.total.active_s
    assert report.hours[begun.weekday()][begun.hour] > 0
    assert report.previous == ActivityTotals()
    uids = reader.active_sessions(asked, weekday=begun.weekday(), hour=begun.hour)
    assert uids[0] == "claude:one"
    assert reader.active_sessions(asked, weekday=begun.weekday(), hour=(begun.hour + 12) % 24) == ()
