"""Token usage and cost: every response counted once, whatever files and sessions repeat it."""

# ruff: noqa: S608  statements are put together of our own constants; values are always bound

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, tzinfo
from typing import Any, NamedTuple, assert_never

import apsw

from recollect.model.time import day_of, offsets_within
from recollect.model.usage import UsageReport, UsageRow, UsageTotals
from recollect.store.ports import EventFilter, UsageBy
from recollect.store.sqlite.readers.filters import int_array, session_condition
from recollect.store.sqlite.readers.prices import Prices, price_book, prices_on
from recollect.store.sqlite.writing.usage_rows import MAX_TOKENS

_DAY_US = 86_400_000_000
_SUMS = (
    "count(*), sum(u.input), sum(u.output), sum(u.cache_read), sum(u.cache_write_5m), sum(u.cache_write_1h), "
    "sum(u.reasoning), sum(u.cost_usd)"
)
_INPUT = "(u.input + u.cache_read + u.cache_write_5m + u.cache_write_1h)"
UNKNOWN_MODEL = "(unknown)"
_FEW_MODELS = 3


_BY_SESSION = ("session", "repo", "domain", "agent")


class UsageQuestion(NamedTuple):
    """What is asked for. zone: in which days count."""

    by: UsageBy
    where: EventFilter
    after: int | None
    before: int | None
    zone: tzinfo = UTC


class _Group(NamedTuple):
    """Sums over responses of one day, model and price band; `is_stated`: the agent states their cost.

    Of one session too where the report needs it, else `session` is any of them.
    """

    session: int
    day: int | None
    model: int
    band: int
    is_stated: int
    responses: int
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    reasoning: int
    stated_usd: float | None


class _Sum:
    """Totals while they grow."""

    def __init__(self) -> None:
        self.tokens = [0] * 7
        self.cost: float | None = None
        self.unpriced: dict[str, int] = {}

    def add(self, group: _Group, cost: float | None, model: str) -> None:
        for i, value in enumerate(group[5:12]):
            self.tokens[i] += value
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        elif any(group[6:11]):
            self.unpriced[model] = self.unpriced.get(model, 0) + group.responses

    def totals(self) -> UsageTotals:
        responses, inputs, output, read, write_5m, write_1h, reasoning = self.tokens
        return UsageTotals(
            input_tokens=inputs,
            output_tokens=output,
            cache_read_tokens=read,
            cache_write_5m_tokens=write_5m,
            cache_write_1h_tokens=write_1h,
            reasoning_tokens=reasoning,
            responses=responses,
            cost_usd=None if self.cost is None else round(self.cost, 6),
        )


def read_usage(db: apsw.Connection, asked: UsageQuestion) -> UsageReport:
    """Return a usage report, see `store.ports.Reader.usage`.

    A response counts on the day of its own time, else of its session's start. A cost that the agent states is
    taken; else tokens are priced. Models without a known price are listed and left out of the cost.
    """
    prices = price_book()
    names: Iterable[Any] = db.execute("SELECT id, text FROM name WHERE id IN (SELECT DISTINCT model FROM usage)")
    models: dict[int, str] = dict(names)
    thresholds = prices.thresholds(list(models.values()))
    by = asked.by
    keys = _keys(db, by, asked.where)
    sums: dict[str, _Sum] = {}
    total = _Sum()
    for group in _groups(db, asked, keys, thresholds):
        model = models.get(group.model) or UNKNOWN_MODEL
        cost = group.stated_usd if group.is_stated else _cost(prices, group, model, thresholds)
        key = _key_of(by, group, keys, model)
        if key not in sums:
            sums[key] = _Sum()
        sums[key].add(group, cost, model)
        total.add(group, cost, model)
    rows = [UsageRow(key, one.totals(), tuple(sorted(one.unpriced))) for key, one in sums.items()]
    rows.sort(key=lambda row: row.key if by == "day" else (-(row.totals.cost_usd or 0.0), row.key))
    return UsageReport(by, tuple(rows), total.totals(), prices_on(), _unpriced_notes(total.unpriced))


def _unpriced_notes(unpriced: Mapping[str, int]) -> tuple[str, ...]:
    """Say what the cost leaves out: a line for each of a few models, one for many; the rows name them all."""
    if len(unpriced) <= _FEW_MODELS:
        return tuple(
            f"no price is known for {model}: the cost leaves out {count} of its responses"
            for model, count in sorted(unpriced.items())
        )
    most = sorted(unpriced, key=lambda model: (-unpriced[model], model))[:_FEW_MODELS]
    rest = len(unpriced) - len(most)
    return (
        f"no price is known for {', '.join(most)} and {rest} more: the cost leaves out {sum(unpriced.values())} "
        "of their responses",
    )


def _keys(db: apsw.Connection, by: UsageBy, where: EventFilter) -> dict[int, str]:
    """Return the sessions asked for, by number, with what the report groups them by."""
    column: str
    match by:
        case "repo" | "domain" | "agent":
            column = by
        case "session" | "day" | "model" | "total":
            column = "uid"
        case _:
            assert_never(by)
    condition, values = session_condition(db, where)
    rows: Iterable[Any] = db.execute(f"SELECT number, {column} FROM session WHERE {condition}", values)
    return dict(rows)


def _key_of(by: UsageBy, group: _Group, keys: dict[int, str], model: str) -> str:
    match by:
        case "total":
            return "total"
        case "model":
            return model
        case "day":
            return day_of(group.day * _DAY_US) if group.day is not None else ""
        case "session" | "repo" | "domain" | "agent":
            return keys[group.session]
        case _:
            assert_never(by)


def _cost(prices: Prices, group: _Group, model: str, thresholds: tuple[int, ...]) -> float | None:
    at = (group.day or 0) * _DAY_US + _DAY_US // 2
    rates = prices.rates(model, at, thresholds[group.band - 1] if group.band else 0)
    if rates is None:
        return None
    return (
        group.input * rates.input
        + group.output * rates.output
        + group.cache_read * rates.cache_read
        + group.cache_write_5m * rates.cache_write_5m
        + group.cache_write_1h * rates.cache_write_1h
    )


def _groups(
    db: apsw.Connection, asked: UsageQuestion, sessions: dict[int, str], thresholds: tuple[int, ...]
) -> Iterator[_Group]:
    """Yield the sums: of responses that one session has, then those that several have, in the one that counts them."""
    time = "coalesce(u.ts, (SELECT started_at FROM session WHERE number = u.session))"
    day = f"({time} + {_offset(db, asked.zone, time)}) / {_DAY_US}"
    band = " + ".join(f"({_INPUT} > {int(start)})" for start in thresholds) or "0"
    # One number to group by is a third faster than its four parts.
    packed = "((coalesce(day, -1000000) << 32 | u.model) << 6 | band) << 1 | stated"
    group = f"GROUP BY u.session, {packed}" if asked.by in _BY_SESSION else f"GROUP BY {packed}"
    terms, values = ["u.is_additive"], list[Any]()
    if not asked.where.is_empty:
        terms.append("u.session IN (SELECT value FROM carray(?))")
        values.append(int_array(sessions))
    if asked.after is not None:
        terms.append(f"{time} >= ?")
        values.append(asked.after)
    if asked.before is not None:
        terms.append(f"{time} < ?")
        values.append(asked.before)
    selection = (
        f"SELECT u.session, {day} AS day, u.model, {band} AS band, u.cost_usd IS NOT NULL AS stated, "
        f"{_SUMS} FROM usage u WHERE {' AND '.join(terms)} AND "
    )
    rows: Iterable[Any] = db.execute(f"{selection} u.dedupe NOT IN (SELECT dedupe FROM usage_shared) {group}", values)
    yield from map(_Group._make, rows)
    for session, dedupes in _owners(db).items():
        rows = db.execute(
            f"{selection} u.session = ? AND u.dedupe IN (SELECT value FROM carray(?)) {group}",
            [*values, session, apsw.carray(tuple(dedupes))],
        )
        yield from map(_Group._make, rows)


def _offset(db: apsw.Connection, zone: tzinfo, time: str) -> str:
    """Return an expression of how far a zone is ahead of UTC at a time, which is an expression too."""
    if zone is UTC:
        return "0"
    begin, end = db.execute("SELECT min(started_at), max(ended_at) FROM session").get or (0, 0)
    first, *later = offsets_within(begin or 0, end or 0, zone)
    if not later:
        return str(first.offset_us)
    begun = " ".join(f"WHEN {time} >= {span.start_us} THEN {span.offset_us}" for span in reversed(later))
    return f"CASE {begun} ELSE {first.offset_us} END"


def _owners(db: apsw.Connection) -> dict[int, list[bytes]]:
    """Return, for the keys that several sessions have, the session that counts each.

    The one that saw most of the response (a fork may have been made in its midst), then the least start, then uid.
    """
    rows: Iterable[Any] = db.execute(
        "SELECT u.dedupe, u.session, "
        f"min(printf('%014d%014d', {MAX_TOKENS} - u.output, {2 * MAX_TOKENS} - u.input - u.cache_read) "
        "|| (s.started_at IS NULL) || printf('%020d', coalesce(s.started_at, 0)) || s.uid) "
        "FROM usage_shared h JOIN usage u ON u.dedupe = h.dedupe JOIN session s ON s.number = u.session "
        "WHERE u.is_additive GROUP BY u.dedupe"
    )
    owners: dict[int, list[bytes]] = {}
    for dedupe, session, _least in rows:
        owners.setdefault(session, []).append(dedupe)
    return owners
