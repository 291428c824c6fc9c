"""Finds candidate events for a question: two rounds of engine queries over the shards.

First the best of each shard by BM25, with idf rescaled to the whole index so that scores of shards can be compared.
Then, for the best of all and their neighbours in their sessions, which units each has and in which form.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import islice, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import msgspec
import tantivy
from tantivy import Occur, Query

from recollect.index.query.clauses import (
    OUTPUT_KIND,
    Confinement,
    UnitClauses,
    asked_besides,
    either,
    has_one_form,
    one_of,
    term_query,
    times,
    unscored,
)
from recollect.index.query.query_units import Unit
from recollect.index.text.engine import DamagedShard, engine_errors
from recollect.index.text.schema import INSTRUCTIONS, KEY, KIND, PROSE, SESSION, TEXT, TS, VOICE, VOICES, schema
from recollect.index.text.shards import Shard, total_of
from recollect.model.time import Period
from recollect.store.row_keys import SEQ_BITS, SEQ_MASK

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

POOL = 100
"""Candidates kept after the first round, unless more hits are wanted."""
NEIGHBOURS = 3
"""Events with text on each side of a candidate, in its session, that are looked at in the second round."""
REACH = 5
"""Those are looked for among this many events on each side: most sessions count tokens between any two messages.

Evidence (recall benchmark, dev split, 81 questions): looking at the next three events of any kind instead costs one
question of the first hit and two of the first five; 4 to 16 events give the same.
"""
WITH_NEIGHBOURS = 30
"""The neighbours of this many of the best are looked at."""
NEAR_WITH_NEIGHBOURS = 5
"""The neighbours of this many events found by meaning alone are looked at."""
MAX_UNITS = 24
"""Units scored; further words of a very long question are left out."""
_MASK_BITS = 24
"""Constant scores 2^i add up exactly in the engine's 32-bit floats up to here, so that one query tells 24 things."""
NEAR_SLOP = 4
"""Two words of a question this many places apart count as standing together."""
_FEW_KEYS = 800
_LARGE_INDEX = 50_000
"""From this many documents on, shards are searched side by side."""


T = TypeVar("T")
_Note = tuple[Literal["has", "exact", "together"], int]


class Candidate(msgspec.Struct):
    """One event that may answer. has, exact: bit i is set when it has units[i], in any form or as typed."""

    key: int
    session: int
    score: float
    voice: str = "other"
    ts: int | None = None
    has: int = 0
    exact: int = 0
    together: int = 0
    """How many pairs of neighbouring words of the question stand together in it (prose only)."""
    in_period: bool = False
    beside: tuple[int, ...] = ()
    """Keys of the events with text right before and after it, as far as they are candidates."""
    further: tuple[int, ...] = ()
    """Keys of those two and three places away."""
    is_extra: bool = False
    """Looked at only because many hits are wanted: it gives its session nothing."""
    similarity: float | None = None
    """Of its meaning to the question's, -1..1; None where nothing is known of its meaning."""


class QueryPlan(msgspec.Struct, frozen=True, dict=True):
    """Units to score, groups of which one must match, units that must not match.

    has_text_pattern: True for a pattern over several words: the index only knows that its pieces occur.
    """

    units: tuple[Unit, ...]
    must: tuple[tuple[Unit, ...], ...] = ()
    must_not: tuple[Unit, ...] = ()
    confinement: Confinement = msgspec.field(default_factory=Confinement)
    around: Period | None = None

    @cached_property
    def all_units(self) -> tuple[Unit, ...]:
        """Everything that is scored: words first, then what is required."""
        return tuple(dict.fromkeys((*self.units, *(unit for group in self.must for unit in group))))[:MAX_UNITS]

    @cached_property
    def strict(self) -> tuple[Unit, ...]:
        """What is required or refused."""
        return (*(unit for group in self.must for unit in group), *self.must_not)

    @property
    def has_checks(self) -> bool:
        """True where the index alone cannot tell: phrases in tool output, patterns over several words."""
        return any(needs_text(unit, "tool_output") for unit in self.strict)

    def surely(self, candidate: Candidate) -> int:
        """Return a bit for each unit that an event has; having a sequence's terms somewhere is not having it."""
        loose = sum(1 << i for i, unit in enumerate(self.all_units) if unit.sequence)
        return candidate.has & (candidate.exact | ~loose)


class _First(NamedTuple):
    """What the first round tells of an event. shard: its place in the list of shards."""

    score: float
    ts: int
    shard: int


class _Look(NamedTuple):
    """What one look at a shard gave: its best hits, which of them were read, and how many match for sure or may match.

    hits: of score and address, best first; with `is_scored` False of time and address, newest first. best: None where
    it is not known which events these are.
    """

    shard: int
    hits: Sequence[tuple[float, tantivy.DocAddress]]
    is_scored: bool
    best: Mapping[int, _First] | None
    certain: int
    unverified: int


class _Pass(NamedTuple):
    """One look at a shard. voice: which events; is_certain: whether those found match for sure."""

    voice: Literal["any", "spoken", "output"]
    is_certain: bool
    in_period: bool = False


def _passes_of(wanted: QueryPlan) -> tuple[_Pass, ...]:
    """Sequences are looked for by position where there are positions, and by their terms in tool output."""
    is_certain = not any(has_text_pattern(unit) for unit in wanted.strict)
    passes = [_Pass("any", is_certain)]
    if any(unit.sequence and not unit.is_camel for unit in wanted.strict):
        passes = [_Pass("spoken", is_certain), _Pass("output", False)]
    if wanted.around is not None:
        passes += [one._replace(in_period=True) for one in passes]
    return tuple(passes)


def has_text_pattern(unit: Unit) -> bool:
    """True for a pattern over several words: the index only knows that its pieces are there."""
    return unit.clause.pattern is not None and unit.clause.pattern.text is not None


def needs_text(unit: Unit, voice: str) -> bool:
    """Whether only the text can tell that an event of this voice has the unit as typed."""
    return has_text_pattern(unit) or bool(unit.sequence and not unit.is_camel and voice == "tool_output")


class CandidateSearch:
    """Runs one question over the shards."""

    def __init__(
        self, shards: Sequence[Shard], wanted: QueryPlan, *, pool: int = POOL, near: Sequence[int] = (),
        homes: Mapping[int, str] = MappingProxyType({}), is_in_turn: bool = False,
    ) -> None:  # fmt: skip
        """near: keys of events that are near in meaning, best first; they become candidates if the filters allow.
        homes: names of shards by the number of a session that is in it, as far as they are known. is_in_turn: look at
        one shard after the other, not at several at once."""
        self._shards = shards
        self._wanted = wanted
        self._pool = pool
        self._near = near
        self._near_keys = frozenset(near)
        self._homes = homes
        self._is_in_turn = is_in_turn or sum(shard.documents for shard in shards) < _LARGE_INDEX
        self._units = wanted.all_units
        self._scored_queries: dict[str, list[Query]] = {}
        self._given = frozenset(group[0] for group in wanted.must if len(group) == 1)
        """Units that every candidate has, being required alone."""
        fields = (INSTRUCTIONS, TEXT) if wanted.confinement.with_instructions else (TEXT,)
        self._clauses = UnitClauses(fields, self._given)
        self._passes = _passes_of(wanted)
        self.certain = 0
        """Events that match for sure."""
        self.unverified = 0
        """Further events that may match: only their text can tell, see `needs_text`."""

    def run(self) -> dict[int, Candidate]:
        """Return candidates by key: the pool and its neighbours that have any unit.

        Raises:
            IndexUnavailable: a shard cannot be read.
        """
        pool = self._first_round()
        # Ties by time and place, not by the session's number, which follows the order of arrival.
        placed = sorted((-first.score, -first.ts, key & SEQ_MASK, key) for key, first in pool.items())
        best = [key for _, _, _, key in placed[: self._pool]]
        is_strict = bool(self._wanted.must or self._wanted.must_not)
        by_shard: dict[int, set[int]] = {}
        core: set[int] = set()
        for place, key in enumerate(best):
            # A neighbour need not fulfil what is required, so that strict questions go without.
            reach = REACH if place < WITH_NEIGHBOURS and not is_strict else 0
            around = range(max(key - reach, 0), key + reach + 1)
            by_shard.setdefault(pool[key].shard, set()).update(around)
            if place < POOL:
                core.update(around)
        # One found by its words too, but not among the best of them, is taken for its meaning.
        taken = set(best[:POOL])
        near_only = [key for key in self._near if key not in taken]
        for place, (key, shards) in enumerate(self._shards_of(near_only)):
            reach = REACH if place < NEAR_WITH_NEIGHBOURS else 0
            around = range(max(key - reach, 0), key + reach + 1)
            for shard in shards:
                by_shard.setdefault(shard, set()).update(around)
            core.update(around)
        scores = {key: pool[key].score for key in best}
        found: dict[int, Candidate] = {}
        there: list[int] = []
        for some, keys in self._on_shards(
            lambda number: self._second_round(self._shards[number], sorted(by_shard[number]), scores), list(by_shard)
        ):
            there += keys
            for key, candidate in some.items():
                if candidate.has or key in self._near_keys:
                    candidate.is_extra = key not in core
                    found[key] = candidate
        _note_neighbours(found, sorted(core.intersection(there)))
        self._give_scores(found, scores)
        return found

    def newest(self) -> list[Candidate]:
        """Return the newest events that the filters allow, for a query without words. Raises as `run`."""
        pool = self._first_round()
        placed = sorted(pool.items(), key=lambda item: (-item[1].ts, item[0]))
        return [Candidate(key, key >> SEQ_BITS, 0.0, ts=first.ts) for key, first in placed[: self._pool]]

    def _shards_of(self, keys: Sequence[int]) -> list[tuple[int, Sequence[int]]]:
        """Return each key with the places of the shards that may have it; keys that none may have are left out."""
        places = {shard.name: (number,) for number, shard in enumerate(self._shards)}
        anywhere = range(len(self._shards))
        homes = [(key, self._homes.get(key >> SEQ_BITS, "")) for key in keys]
        return [(key, places[home] if home else anywhere) for key, home in homes if not home or home in places]

    def _on_shards(self, do: Callable[[int], T], numbers: Sequence[int]) -> list[T]:
        """Do something on several shards, side by side where they are large: the engine lets go of the GIL."""

        def checked(number: int) -> T:
            with engine_errors("searching", self._shards[number].name):
                return do(number)

        if len(numbers) < 2 or self._is_in_turn:
            return [checked(number) for number in numbers]
        return list(_threads().map(checked, numbers))

    def _give_scores(self, found: Mapping[int, Candidate], scores: Mapping[int, float]) -> None:
        """The pool has its BM25 from the first round, its neighbours and nearness in meaning from the second.

        No other event scores above the last of the pool, which it did not enter. Hits requested beyond POOL do not
        change the order of the first. scores: best first.
        """
        first = dict(islice(scores.items(), POOL))
        last = min(first.values(), default=0.0)
        for key, candidate in found.items():
            is_scored = key in first or candidate.is_extra
            candidate.score = scores.get(key, 0.0) if is_scored else min(last, candidate.score)

    def _first_round(self) -> dict[int, _First]:
        has_words = bool(self._units) and not self._wanted.must
        numbers = [n for n, shard in enumerate(self._shards) if not has_words or self._scored(shard)]
        looks = [look for some in self._on_shards(self._look_at, numbers) for look in some]
        self.certain += sum(look.certain for look in looks)
        self.unverified += sum(look.unverified for look in looks)
        # Of many shards most hits are not among the best of all. Twice as many as are kept are read, since an event
        # may have several documents; where that is too few, all are.
        is_scored = any(look.is_scored for look in looks)
        places = sorted([place or 0 for look in looks if look.is_scored is is_scored for place, _ in look.hits])
        if len(places) > 2 * self._pool:
            least = places[-2 * self._pool]
            pool = self._pool_of(looks, least, is_scored=is_scored)
            if sum((first.score if is_scored else first.ts) >= least for first in pool.values()) >= self._pool:
                return pool
        return self._pool_of(looks, 0, is_scored=is_scored)

    def _pool_of(self, looks: Sequence[_Look], least: float, *, is_scored: bool) -> dict[int, _First]:
        """Return the best of all looks with at least this score, or of at least this time, by key."""
        pool: dict[int, _First] = {}
        for look in looks:
            best = look.best
            if best is None:
                hits = look.hits
                if look.is_scored is is_scored:
                    hits = hits[: bisect_right(hits, -least, key=lambda hit: -(hit[0] or 0))]
                with engine_errors("searching", self._shards[look.shard].name):
                    best = self._read(look.shard, hits, is_scored=look.is_scored)
            for key, first in best.items():
                if key not in pool or first.score > pool[key].score:
                    pool[key] = first
        return pool

    def _look_at(self, number: int) -> list[_Look]:
        looks: list[_Look] = []
        for one in self._passes:
            # Tool output comes after what was said, so that it is only counted where that is plenty already.
            is_plenty = one.voice == "output" and bool(looks) and len(looks[0].best or ()) >= self._pool
            looks.append(self._search(number, one, limit=1 if is_plenty else self._pool))
        return looks

    def _search(self, number: int, one: _Pass, *, limit: int) -> _Look:
        shard = self._shards[number]
        scored = self._scored(shard)
        is_scored = bool(scored) and limit > 1
        restricted = self._restricted(shard, scored if limit > 1 else (), one)
        if restricted is None:
            return _Look(number, (), is_scored, {}, 0, 0)
        result = shard.searcher.search(
            restricted,
            limit=limit,
            count=not one.in_period,
            order_by_field=None if is_scored else TS,
        )
        hits: Sequence[tuple[float, tantivy.DocAddress]] = result.hits
        count = 0 if one.in_period else total_of(result)
        best = None
        is_followed = len(self._passes) > 1 and one is self._passes[0] and len(hits) >= self._pool
        if count == len(hits) or is_followed or limit == 1:
            best = self._read(number, hits, is_scored=is_scored)
            # A very long text has several documents; they are told apart from events where all are at hand.
            count = len(best) if count == len(hits) else count
        return _Look(number, hits, is_scored, best, count if one.is_certain else 0, 0 if one.is_certain else count)

    def _read(
        self, number: int, hits: Sequence[tuple[float, tantivy.DocAddress]], *, is_scored: bool
    ) -> dict[int, _First]:
        """Return which events some hits in a shard are, by key."""
        shard = self._shards[number]
        addresses = [address for _, address in hits]
        keys = [int(key or 0) for key in shard.searcher.fast_field_values(KEY, addresses)]
        if 0 in keys:  # session numbers begin at 1: the columns are not what was written
            raise DamagedShard(f"part {shard.name} of the search index has events without keys", shard=shard.name)
        stamps = shard.searcher.fast_field_values(TS, addresses)
        best: dict[int, _First] = {}
        for (score, _), key, ts in zip(hits, keys, stamps, strict=True):
            # Best first: of an event with several documents the first counts.
            best.setdefault(key, _First(float(score) if is_scored else 0.0, int(ts or 0), number))
        return best

    def _second_round(
        self, shard: Shard, keys: Sequence[int], scores: Mapping[int, float]
    ) -> tuple[dict[int, Candidate], set[int]]:
        """Return the events of a shard with any unit or near in meaning, by key, and the keys of all existing ones.

        scores: those known from the first round.
        """
        given, same = self._always
        among = unscored(_among(keys))
        confined = self._wanted.confinement.clauses(shard)
        events = Query.boolean_query([(Occur.Must, among), *confined]) if confined else among
        found: dict[int, Candidate] = {}
        there: set[int] = set()
        for asked in self._questions(shard) or [[]]:
            # Not required: events between that have none of the words tell how far apart the others are.
            bits = (Query.const_score_query(query, float(1 << i)) for i, (_, query) in enumerate(asked))
            hits = shard.searcher.search(asked_besides(events, bits), len(keys) * 4, count=False).hits
            there.update(self._note_hits(shard, hits, [note for note, _ in asked], found, has_all=bool(given)))
        for key, candidate in found.items():
            candidate.has = has = candidate.has | candidate.exact | given
            candidate.exact |= has & same
            candidate.score = scores.get(key, 0.0)
        self._score(shard, [candidate for key, candidate in found.items() if candidate.has and key not in scores])
        return found, there

    def _score(self, shard: Shard, candidates: Sequence[Candidate]) -> None:
        scored = self._scored(shard)
        if not scored or not candidates:
            return
        by_key = {candidate.key: candidate for candidate in candidates}
        query = asked_besides(unscored(_among(list(by_key))), scored)
        result = shard.searcher.search(query, len(by_key) * 4, count=False)
        keys = shard.searcher.fast_field_values(KEY, [address for _, address in result.hits])
        for (score, _), key in zip(result.hits, keys, strict=True):
            if (candidate := by_key.get(int(key or 0))) is not None:
                candidate.score = max(candidate.score, float(score))

    def _questions(self, shard: Shard) -> list[list[tuple[_Note, Query]]]:
        """Return what is asked of each candidate, as many things at a time as one query can tell: which units it has,
        which as typed, which neighbouring words together."""
        asked: list[tuple[_Note, Query]] = []
        for i, unit in enumerate(self._units):
            if unit not in self._given:
                for is_typed, query in self._clauses.leaves(shard, unit):
                    asked.append((("exact" if is_typed else "has", 1 << i), query))
        pairs: list[tuple[_Note, Query]] = [(("together", 1), pair) for pair in self._pairs]
        # Of a long question not all pairs are counted together: the weights were chosen with units and pairs asked
        # in a row, _MASK_BITS at a time, and the most of one time counts.
        first = -len({note for note, _ in asked}) % _MASK_BITS
        groups = [asked[at : at + _MASK_BITS] for at in range(0, len(asked), _MASK_BITS)]
        if groups and len(groups[-1]) + len(pairs[:first]) <= _MASK_BITS:
            groups[-1] += pairs[:first]
        else:
            groups.append(pairs[:first])
        groups += [pairs[at : at + _MASK_BITS] for at in range(first, len(pairs), _MASK_BITS)]
        return [group for group in groups if group]

    def _note_hits(
        self, shard: Shard, hits: Sequence[tuple[float, tantivy.DocAddress]], notes: Sequence[_Note],
        found: dict[int, Candidate], *, has_all: bool,
    ) -> Sequence[int]:  # fmt: skip
        """Note what hits have, in candidates that are made where they are new, and return the keys of all hits.

        Documents of one event are one candidate. Most neighbours have nothing: these are none, unless has_all.
        """
        addresses = [address for _, address in hits]
        keys = [int(key or 0) for key in shard.searcher.fast_field_values(KEY, addresses)]
        near = self._near_keys
        chosen = [i for i, (score, _) in enumerate(hits) if score or has_all or keys[i] in near]
        addresses = [addresses[i] for i in chosen]
        columns = [shard.searcher.fast_field_values(name, addresses) for name in (SESSION, VOICE, TS)]
        around = self._wanted.around
        told: dict[float, tuple[int, int, int]] = {}
        for i, session, voice, ts in zip(chosen, *columns, strict=True):
            key, score = keys[i], hits[i][0]
            candidate = found.get(key)
            if candidate is None:
                candidate = found[key] = Candidate(key, session or 0, 0.0, VOICES[voice or 0], ts)
                if around is not None and ts is not None:
                    candidate.in_period = around.start_us <= ts < around.end_us
            if score:
                bits = told.get(score) or told.setdefault(score, _bits_of(notes, int(score)))
                candidate.has |= bits[0]
                candidate.exact |= bits[1]
                candidate.together = max(candidate.together, bits[2])
        return keys

    @cached_property
    def _always(self) -> tuple[int, int]:
        """A bit for each unit that every candidate has, and one for each that is as typed wherever it is."""
        given = sum(1 << i for i, unit in enumerate(self._units) if unit in self._given)
        return given, given | sum(1 << i for i, unit in enumerate(self._units) if has_one_form(unit))

    def _scored(self, shard: Shard) -> list[Query]:
        """Return what gives scores; nothing where no unit is in the shard, or only patterns that are required."""
        if shard.name not in self._scored_queries:
            units = [unit for unit in self._units if not (unit.pieces and unit in self._given)]
            self._scored_queries[shard.name] = [q for unit in units for q in self._clauses.scores(shard, unit)]
        return self._scored_queries[shard.name]

    @cached_property
    def _pairs(self) -> list[Query]:
        words = [unit.terms[0][0] for unit in self._units if unit.terms and not unit.is_absent]
        return [Query.phrase_query(schema(), PROSE, [a, b], slop=NEAR_SLOP) for a, b in pairwise(words)]

    # What is required.

    def _restricted(self, shard: Shard, scored: Sequence[Query], one: _Pass) -> Query | None:
        """Return what finds events in a shard, None where it has none of the terms."""
        if not self._wanted.must and self._units and not scored:
            return None
        clauses = self._wanted.confinement.clauses(shard)
        if one.voice != "any":
            of_tools = term_query(KIND, OUTPUT_KIND)
            clauses.append((Occur.Must, unscored(of_tools)) if one.voice == "output" else (Occur.MustNot, of_tools))
        for group in self._wanted.must:
            matches = either([self._required(shard, unit, one) for unit in group])
            if matches is None:
                return None
            clauses.append((Occur.Must, unscored(matches)))
        for unit in self._wanted.must_not:
            # A sequence in tool output cannot be told from its scattered terms here; the caller checks the text.
            refused = self._clauses.certain(shard, unit) if unit.sequence else self._clauses.found(shard, unit)
            if refused is not None and not has_text_pattern(unit):
                clauses.append((Occur.MustNot, refused))
        if not self._wanted.must and not self._units:
            clauses += self._any()
        elif not self._wanted.must and (found := either(scored)) is not None:
            clauses.append((Occur.Must, found))
        if one.in_period and self._wanted.around is not None:
            around = self._wanted.around
            clauses.append((Occur.Must, unscored(times(around.start_us, around.end_us))))
        restricted = Query.boolean_query(clauses)
        return asked_besides(restricted, scored) if self._wanted.must else restricted

    def _any(self) -> list[tuple[Occur, Query]]:
        """Return what filters alone select: every event, instructions only on request."""
        refused = (
            [] if self._wanted.confinement.with_instructions else [(Occur.MustNot, term_query(KIND, "instructions"))]
        )
        return [(Occur.Must, unscored(Query.all_query())), *refused]

    def _required(self, shard: Shard, unit: Unit, one: _Pass) -> Query | None:
        if not unit.sequence:
            return self._clauses.as_typed(shard, unit)
        if one.voice == "output" and not unit.is_camel:
            return either([self._clauses.scattered(shard, unit), self._clauses.whole(shard, unit)])
        return self._clauses.certain(shard, unit)


def _bits_of(notes: Sequence[_Note], mask: int) -> tuple[int, int, int]:
    """Return what a score encodes: which units occur, which of them as typed, and how many pairs are adjacent."""
    has = exact = together = 0
    while mask:
        low = mask & -mask
        what, bit = notes[low.bit_length() - 1]
        mask ^= low
        if what == "has":
            has |= bit
        elif what == "exact":
            exact |= bit
        else:
            together += bit
    return has, exact, together


def _note_neighbours(found: Mapping[int, Candidate], keys: Sequence[int]) -> None:
    """Tell each candidate the keys of its neighbours that are candidates too. keys: of all events with text, in order,
    that were looked at."""
    count = len(keys)
    for i, key in enumerate(keys):
        candidate = found.get(key)
        if candidate is None:
            continue
        first = max(key - REACH, key & ~SEQ_MASK)
        last = min(key + REACH, key | SEQ_MASK)
        beside: list[int] = []
        further: list[int] = []
        for at in range(i - NEIGHBOURS if i > NEIGHBOURS else 0, i):
            if (k := keys[at]) >= first and k in found:
                (beside if at == i - 1 else further).append(k)
        for at in range(i + 1, min(i + 1 + NEIGHBOURS, count)):
            if (k := keys[at]) > last:
                break
            if k in found:
                (beside if at == i + 1 else further).append(k)
        candidate.beside, candidate.further = tuple(beside), tuple(further)


@cache
def _threads() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(min(os.cpu_count() or 1, 4), thread_name_prefix="recollect-search")


def _among(keys: Sequence[int]) -> Query:
    """Events of these keys: a set of so many walks the keys of the shard in less time than they are looked up in."""
    return one_of(KEY, keys, few=_FEW_KEYS)
