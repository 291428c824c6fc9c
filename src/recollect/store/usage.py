# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Token usage and cost: stores every sighting, counts every response once."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, tzinfo
from functools import cache
from importlib.util import find_spec
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, assert_never

import apsw
import msgspec

from recollect.files import write_cache
from recollect.late import late_pattern
from recollect.model.payloads import TokenUsage
from recollect.model.time import day_of, offsets_within, to_datetime
from recollect.model.usage import UsageDay, UsageReport, UsageSum, UsageTrend, usage_report
from recollect.store.connection import query
from recollect.store.rows import EventFilter, SessionPart, Terms, UsageBy, UsageSighting
from recollect.store.sessions import int_array, session_condition
from recollect.wire import RUN_FOLDER

MAX_TOKENS = 1 << 40
"""What an agent writes beyond this is nonsense; it is cut off here so that sums stay whole numbers of 64 bits."""
_UPSERT = (
    "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET ts = excluded.ts, "
    "model = excluded.model, input = excluded.input, output = excluded.output, cache_read = excluded.cache_read, "
    "cache_write_5m = excluded.cache_write_5m, cache_write_1h = excluded.cache_write_1h, "
    "reasoning = excluded.reasoning, cost_usd = excluded.cost_usd, is_additive = excluded.is_additive "
    "WHERE (excluded.output, excluded.input + excluded.cache_read) > (output, input + cache_read)"
)
_SHARE = (
    "INSERT OR IGNORE INTO usage_shared "
    "SELECT dedupe FROM usage WHERE dedupe IN (SELECT value FROM carray(?)) AND session <> ?"
)


def save_usage(
    db: apsw.Connection, session: int, part: SessionPart, *, keys: list[int | None], intern: Callable[[str], int]
) -> None:
    """Store a part's sightings. A sighting without a dedupe key is its event's own.

    Keys that another session has too are noted in `usage_shared`; which session counts them is decided when read.
    """
    fullest: dict[str, UsageSighting] = {}
    for sighting in part.usage:
        key = sighting.used.dedupe_key or f"\0{keys[sighting.event]}"
        known = fullest.get(key)
        if known is None or _fullness(sighting.used) > _fullness(known.used):
            fullest[key] = sighting
    rows = [
        (
            session,
            dedupe_sha(key),
            sighting.ts if sighting.ts is not None else part.events[sighting.event].ts,
            intern(sighting.used.model),
            *[
                tokens if 0 <= tokens <= MAX_TOKENS else max(0, min(tokens, MAX_TOKENS))
                for tokens in _tokens(sighting.used)
            ],
            cost if (cost := sighting.used.cost_usd) is not None and isfinite(cost) else None,
            sighting.used.is_additive,
        )
        for key, sighting in fullest.items()
    ]
    db.executemany(_UPSERT, rows)
    db.execute(_SHARE, (apsw.carray(tuple(row[1] for row in rows)), session))


def _tokens(used: TokenUsage) -> tuple[int, ...]:
    return (
        used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_5m_tokens,
        used.cache_write_1h_tokens, used.reasoning_tokens,
    )  # fmt: skip


def _fullness(used: TokenUsage) -> tuple[int, int]:
    """Order sightings of one response: by output, then by all that went in (an agent's total may have no output)."""
    return used.output_tokens, used.input_tokens + used.cache_read_tokens


def dedupe_sha(key: str) -> bytes:
    """Return the 12-byte hash under which a dedupe key is stored."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12, person=b"recollect.usage").digest()


_PROBE = 1_000_000
_CHECKED = late_pattern(r"(?:as of|checked on|verified on) (20\d\d-\d\d-\d\d)")


class Rates(NamedTuple):
    """USD per token of one model at one time, for one band of input size."""

    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float


class _Priced(msgspec.Struct):
    """What was found of a model. starts: input sizes at which its price changes. changes: whether time changes it.
    rates: by time ("" where that changes nothing) and threshold."""

    is_known: bool
    starts: tuple[int, ...] = ()
    changes: bool = False
    rates: dict[str, Rates] = {}


class _KeptPrices(msgspec.Struct):
    """What was found, as another process finds it. library: tells price data apart. models: by the hash of a name."""

    library: str
    prices_on: str | None = None
    models: dict[str, _Priced] = {}


class Prices:
    """Rates by model and time. Tiers are cliffs: the tier of a response's whole input sets the rate of all its tokens.

    Pricing is linear inside a tier, so a few probes per model give its rates, and sums can be priced. A model whose
    price depends on the time of day is priced at the requested time. Results are cached; two threads may compute the
    same one twice, which is harmless.
    """

    def __init__(self, kept: Path | None = None) -> None:
        """kept: a file that caches results for other processes: loading the library takes longer than a report.

        It can be made again; failures to read or write it are ignored.
        """
        self._models: dict[str, Any] = {}
        self._file = kept
        self._found = _KeptPrices(_library())
        with suppress(OSError, ValueError):
            if kept is not None:
                found = msgspec.json.decode(kept.read_bytes(), type=_KeptPrices)
                self._found = found if found.library == self._found.library else self._found
        self._is_new = False

    def keep(self) -> None:
        """Store new results for other processes."""
        if self._is_new and self._file is not None:
            self._is_new = False
            write_cache(self._file, msgspec.json.encode(self._found))

    def prices_on(self) -> str:
        """Return the date of the prices, see `prices_on`."""
        if self._found.prices_on is None:
            self._found.prices_on, self._is_new = prices_on(), True
        return self._found.prices_on

    def thresholds(self, models: Sequence[str]) -> tuple[int, ...]:
        """Return every input size at which some of the models changes its price, in order."""
        return tuple(sorted({start for name in models for start in self._priced(name).starts}))

    def rates(self, name: str, at: int, above: int) -> Rates | None:
        """Return a model's rates, None where no price is known.

        Args:
            at: UTC microseconds of the response.
            above: the greatest threshold that its input (cached tokens too) exceeds, 0 for none.
        """
        priced = self._priced(name)
        if not priced.is_known:
            return None
        key = f"{at if priced.changes else ''}/{above}"
        found = priced.rates.get(key)
        if found is None:
            found = priced.rates[key] = _probe(self._model(name).get_prices(to_datetime(at)), above)
            self._is_new = True
        return found

    def _priced(self, name: str) -> _Priced:
        key = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        found = self._found.models.get(key)
        if found is None:
            found = self._found.models[key] = _terms_of(self._model(name))
            self._is_new = True
        return found

    def _model(self, name: str) -> Any:
        """Return the library's model, None where it knows none."""
        if name not in self._models:
            from genai_prices import Usage, calc_price

            try:
                self._models[name] = calc_price(Usage(input_tokens=1), name).model
            except (LookupError, ValueError):
                self._models[name] = None
        return self._models[name]


def _terms_of(model: Any) -> _Priced:
    """Return what is to be known of the library's model, None for one that it does not know."""
    from genai_prices.types import ModelPrice, TieredPrices

    if model is None:
        return _Priced(is_known=False)
    is_one = isinstance(model.prices, ModelPrice)
    prices = [model.prices] if is_one else [p.prices for p in model.prices]
    values = (value for price in prices for value in vars(price).values())
    starts = {tier.start for value in values if isinstance(value, TieredPrices) for tier in value.tiers}
    return _Priced(is_known=True, starts=tuple(sorted(starts)), changes=not is_one)


def _library() -> str:
    """Return what tells the library's price data from those of another version, without loading it."""
    found = find_spec("genai_prices")
    data = os.path.join(os.path.dirname(found.origin or ""), "data.py") if found is not None else ""
    info = os.stat(data)
    return f"{data} {info.st_mtime_ns} {info.st_size}"


def _probe(price: Any, above: int) -> Rates:
    from genai_prices import Usage

    size = above + _PROBE if above else 1  # the smallest input is in no tier
    plain = float(price.calc_price(Usage(input_tokens=size))["total_price"])

    def rate(**kinds: int) -> float:
        return float(price.calc_price(Usage(input_tokens=size, **kinds))["total_price"]) / size

    both = float(price.calc_price(Usage(input_tokens=size, output_tokens=_PROBE))["total_price"])
    return Rates(
        input=plain / size,
        output=(both - plain) / _PROBE,
        cache_read=rate(cache_read_tokens=size),
        cache_write_5m=rate(cache_write_tokens=size, cache_write_5m_tokens=size),
        cache_write_1h=rate(cache_write_tokens=size, cache_write_1h_tokens=size),
    )


@cache
def price_book(home: Path) -> Prices:
    """Return the process's prices; what they find is kept in a home."""
    return Prices(home / RUN_FOLDER / "prices.json")


@cache
def prices_on() -> str:
    """Return the newest date (YYYY-MM-DD) on which the price data says that prices were checked, "" if it names none.

    The package gives no date of its own; its comments say "as of", "checked on" or "verified on".
    """
    from genai_prices.data_snapshot import get_snapshot

    comments = (model.price_comments for provider in get_snapshot().providers for model in provider.models)
    more = (provider.price_comments for provider in get_snapshot().providers)
    return max((date for text in (*comments, *more) if text for date in _CHECKED.findall(text)), default="")


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
    """Which usage. zone: the time zone of days. model: only of this one, "" for all."""

    by: UsageBy
    where: EventFilter
    after: int | None
    before: int | None
    zone: tzinfo = UTC
    model: str = ""


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


def read_usage(db: apsw.Connection, asked: UsageQuestion) -> UsageReport:
    """Return a usage report, see `store.reader.Reader.usage`.

    A response counts on the day of its own time, else of its session's start. A cost that the agent states is
    taken; else tokens are priced. Models without a known price are listed and left out of the cost.
    """
    prices = _prices(db)
    sums, total = defaultdict[str, UsageSum](UsageSum), UsageSum()
    for group, key, cost, model in _priced_groups(db, asked, prices):
        _add(group, cost, model, sums[key], total)
    report = _report(asked.by, sums, total, prices)
    prices.keep()
    return report


def read_usage_trend(db: apsw.Connection, asked: UsageQuestion, first: date, last: date) -> UsageTrend:
    """Return a span of whole days, day by day, and as many days before it; both from one look at all responses."""
    days = (last - first).days + 1
    begin = (first - _EPOCH).days
    now, before = defaultdict[str, UsageSum](UsageSum), defaultdict[str, UsageSum](UsageSum)
    each = defaultdict[tuple[str, str], UsageSum](UsageSum)
    totals = UsageSum(), UsageSum()
    prices = _prices(db)
    for group, key, cost, model in _priced_groups(db, asked, prices):
        day = group.day
        if day is None or not begin - days <= day < begin + days:
            continue
        if day < begin:
            _add(group, cost, model, before[key], totals[1])
        else:
            _add(group, cost, model, now[key], totals[0], each[day_of(day * _DAY_US), key])
    trend = UsageTrend(
        first.isoformat(),
        last.isoformat(),
        _report(asked.by, now, totals[0], prices),
        _report(asked.by, before, totals[1], prices),
        tuple(UsageDay(day, key, one.totals()) for (day, key), one in sorted(each.items(), key=itemgetter(0))),
    )
    prices.keep()
    return trend


_EPOCH = date(1970, 1, 1)


def _report(by: UsageBy, sums: Mapping[str, UsageSum], total: UsageSum, prices: Prices) -> UsageReport:
    return usage_report(by, sums, total, prices.prices_on(), _unpriced_notes(total.unpriced))


def _add(group: _Group, cost: float | None, model: str, *sums: UsageSum) -> None:
    unpriced = group.responses if cost is None and any(group[6:11]) else 0
    for one in sums:
        one.add((*group[6:12], group.responses), cost, model, unpriced=unpriced)


def _prices(db: apsw.Connection) -> Prices:
    return price_book(Path(db.filename).parent)


def _priced_groups(
    db: apsw.Connection, asked: UsageQuestion, prices: Prices
) -> Iterator[tuple[_Group, str, float | None, str]]:
    """Yield each sum with the value that it counts for, its cost and its model."""
    keys = _keys(db, asked.by, asked.where)
    models = _models(db, None if asked.where.is_empty else keys)
    thresholds = prices.thresholds(list(models.values()))
    for group in _groups(db, asked, keys, thresholds):
        model = models.get(group.model) or UNKNOWN_MODEL
        if asked.model and model != asked.model:
            continue
        cost = group.stated_usd if group.is_stated else _cost(prices, group, model, thresholds)
        yield group, _key_of(asked.by, group, keys, model), cost, model


def _models(db: apsw.Connection, sessions: Iterable[int] | None) -> dict[int, str]:
    """Return the models by number, of some sessions or of all."""
    within = "" if sessions is None else " WHERE session IN (SELECT value FROM carray(?))"
    names: Iterable[Any] = db.execute(
        f"SELECT id, text FROM name WHERE id IN (SELECT DISTINCT model FROM usage{within})",
        () if sessions is None else (int_array(sessions),),
    )
    return dict(names)


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
    """Return the requested sessions, by number, with their group in the report."""
    column: str
    match by:
        case "repo" | "domain" | "agent":
            column = by
        case "session" | "day" | "model" | "total":
            column = "uid"
        case _:
            assert_never(by)
    condition, values = session_condition(db, where)
    return dict(query(db, f"SELECT number, {column} FROM session WHERE {condition}", values))


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
    day = f"({time} + {_offset(db, asked, time)}) / {_DAY_US}"
    band = " + ".join(f"({_INPUT} > {int(start)})" for start in thresholds) or "0"
    # One number to group by is a third faster than its four parts.
    packed = "((coalesce(day, -1000000) << 32 | u.model) << 6 | band) << 1 | stated"
    group = f"GROUP BY u.session, {packed}" if asked.by in _BY_SESSION else f"GROUP BY {packed}"
    terms = Terms("u.is_additive")
    if not asked.where.is_empty:
        terms.add("u.session IN (SELECT value FROM carray(?))", int_array(sessions))
    terms.given((f"{time} >= ?", asked.after), (f"{time} < ?", asked.before))
    counted, values = terms.condition
    selection = (
        f"SELECT u.session, {day} AS day, u.model, {band} AS band, u.cost_usd IS NOT NULL AS stated, "
        f"{_SUMS} FROM usage u WHERE {counted} AND "
    )
    rows: Iterable[Any] = db.execute(f"{selection} u.dedupe NOT IN (SELECT dedupe FROM usage_shared) {group}", values)
    yield from map(_Group._make, rows)
    for session, dedupes in _owners(db, None if asked.where.is_empty else sessions).items():
        rows = db.execute(
            f"{selection} u.session = ? AND u.dedupe IN (SELECT value FROM carray(?)) {group}",
            [*values, session, apsw.carray(tuple(dedupes))],
        )
        yield from map(_Group._make, rows)


def _offset(db: apsw.Connection, asked: UsageQuestion, time: str) -> str:
    """Return an expression of how far the asked zone is ahead of UTC at a time, which is an expression too."""
    if asked.zone is UTC:
        return "0"
    begin, end = db.execute("SELECT min(started_at), max(ended_at) FROM session").get or (0, 0)
    begin, end = max(begin or 0, asked.after or 0), min(end or 0, asked.before or end or 0)
    first, *later = offsets_within(begin, max(begin, end), asked.zone)
    if not later:
        return str(first.offset_us)
    begun = " ".join(f"WHEN {time} >= {span.start_us} THEN {span.offset_us}" for span in reversed(later))
    return f"CASE {begun} ELSE {first.offset_us} END"


def _owners(db: apsw.Connection, sessions: Iterable[int] | None) -> dict[int, list[bytes]]:
    """Return, for the keys that several sessions have, the session that counts each. sessions: which have them, too.

    The one that saw most of the response (a fork may have been made in its midst), then the least start, then uid.
    """
    if not db.execute("SELECT EXISTS (SELECT 1 FROM usage_shared)").get:
        return {}
    # A session has many keys and shares few: each is looked up, none are gathered.
    shared, mine, values = "usage_shared h", "", list[Any]()
    if sessions is not None:
        shared = "usage m CROSS JOIN usage_shared h ON h.dedupe = m.dedupe"
        mine = "AND m.session IN (SELECT value FROM carray(?)) "
        values.append(int_array(sessions))
    rows: Iterable[Any] = db.execute(
        "SELECT u.dedupe, u.session, "
        f"min(printf('%014d%014d', {MAX_TOKENS} - u.output, {2 * MAX_TOKENS} - u.input - u.cache_read) "
        "|| (s.started_at IS NULL) || printf('%020d', coalesce(s.started_at, 0)) || s.uid) "
        f"FROM {shared} JOIN usage u ON u.dedupe = h.dedupe JOIN session s ON s.number = u.session "
        f"WHERE u.is_additive {mine}GROUP BY u.dedupe",
        values,
    )
    owners: dict[int, list[bytes]] = {}
    for dedupe, session, _least in rows:
        owners.setdefault(session, []).append(dedupe)
    return owners
