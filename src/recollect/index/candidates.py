"""From units to candidate events: two rounds of engine queries over the shards.

First the best of each shard by BM25, with idf rescaled to the whole index so that scores of shards can be compared.
Then, for the best of all and their neighbours in their sessions, which units each has and in which form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import tantivy
from tantivy import Occur, Query

from recollect.index.engine import engine_errors
from recollect.index.query.dates import Period
from recollect.index.schema import (
    IDENT,
    INSTRUCTIONS,
    KEY,
    KIND,
    PATHS,
    PROSE,
    SESSION,
    TEXT,
    TOOL,
    TS,
    VOICE,
    VOICES,
    schema,
    terms_of,
)
from recollect.index.text_index import Shard, total_of
from recollect.index.units import Unit, idf, phrase_query
from recollect.model.tools import canonical_tool

POOL = 100
"""Candidates kept after the first round, unless more hits are wanted."""
NEIGHBOURS = 3
"""Events on each side of a candidate, in its session, that are looked at in the second round."""
WITH_NEIGHBOURS = 40
"""The neighbours of this many of the best are looked at."""
MAX_UNITS = 24
"""Units scored; further words of a very long question are left out."""
_MASK_BITS = 24
"""Constant scores 2^i add up exactly in the engine's 32-bit floats up to here, so that one query tells 24 things."""
PATH_QUALITY = 0.6
PHRASE_BOOST = 1.2
NEAR_SLOP = 4
"""Two words of a question this many places apart count as standing together."""
_MAX_TOOLS = 1000
_FEW_KEYS = 150
_LARGE_SHARD = 10_000


_Note = tuple[Literal["has", "exact", "together"], int]


@dataclass(frozen=True)
class Confinement:
    """What an event must be. sessions None: any; TEXT fields follow from kinds. Times in UTC microseconds."""

    sessions: frozenset[int] | None = None
    not_sessions: frozenset[int] = frozenset()
    kinds: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    not_tools: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    not_paths: tuple[str, ...] = ()
    after_us: int | None = None
    before_us: int | None = None

    @property
    def with_instructions(self) -> bool:
        """Instructions are searched only when asked for."""
        return "instructions" in self.kinds


@dataclass
class Candidate:
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


@dataclass(frozen=True)
class Wanted:
    """Units to score, groups of which one must match, units that must not match."""

    units: tuple[Unit, ...]
    must: tuple[tuple[Unit, ...], ...] = ()
    must_not: tuple[Unit, ...] = ()
    confinement: Confinement = field(default_factory=Confinement)
    around: Period | None = None

    @property
    def all_units(self) -> tuple[Unit, ...]:
        """Everything that is scored: words first, then what is required."""
        return tuple(dict.fromkeys((*self.units, *(unit for group in self.must for unit in group))))[:MAX_UNITS]


class CandidateSearch:
    """Runs one question over the shards."""

    def __init__(self, shards: Sequence[Shard], wanted: Wanted, *, pool: int = POOL) -> None:
        self._shards = shards
        self._wanted = wanted
        self._pool = pool
        self._units = wanted.all_units
        self._fields = (INSTRUCTIONS, TEXT) if wanted.confinement.with_instructions else (TEXT,)
        self._scored_queries: dict[str, Query | None] = {}
        self._given = frozenset(group[0] for group in wanted.must if len(group) == 1)
        """Units that every candidate has, being required alone."""
        self.total = 0
        """Documents that match at all; an event with a very long text has several."""

    def run(self) -> dict[int, Candidate]:
        """Return candidates by key: the pool and its neighbours that have any unit.

        Raises:
            IndexUnavailable: a shard cannot be read.
        """
        pool = self._first_round()
        best = sorted(pool.items(), key=lambda item: (-item[1][0], item[0]))[: self._pool]
        by_shard: dict[int, set[int]] = {}
        is_strict = bool(self._wanted.must or self._wanted.must_not)
        for place, (key, (_, number)) in enumerate(best):
            # A neighbour need not fulfil what is required, so that strict questions go without.
            reach = NEIGHBOURS if place < WITH_NEIGHBOURS and not is_strict else 0
            by_shard.setdefault(number, set()).update(range(max(key - reach, 0), key + reach + 1))
        found: dict[int, Candidate] = {}
        for number, keys in by_shard.items():
            shard = self._shards[number]
            with engine_errors("searching", shard.name):
                found.update(self._second_round(shard, sorted(keys)))
        self._give_scores(found, {key: score for key, (score, _) in best})
        return found

    def _give_scores(self, found: Mapping[int, Candidate], scores: Mapping[int, float]) -> None:
        """The pool has its BM25. A neighbour gets what the pool's candidates have on average for the same rareness,
        but no more than the last of the pool: it did not get in."""

        def rareness(candidate: Candidate) -> float:
            return sum(unit.idf for i, unit in enumerate(self._units) if candidate.has >> i & 1)

        pool = [found[key] for key in scores if key in found]
        total = sum(rareness(candidate) for candidate in pool)
        rate = sum(scores[candidate.key] for candidate in pool) / total if total else 0.0
        last = min(scores.values(), default=0.0)
        for key, candidate in found.items():
            candidate.score = scores[key] if key in scores else min(last, rate * rareness(candidate))

    def _first_round(self) -> dict[int, tuple[float, int]]:
        pool: dict[int, tuple[float, int]] = {}
        for number, shard in enumerate(self._shards):
            with engine_errors("searching", shard.name):
                for period_only in (False, True) if self._wanted.around else (False,):
                    query = self._restricted(shard, period_only=period_only)
                    result = shard.searcher.search(query, limit=self._pool, count=not period_only)
                    if not period_only:
                        self.total += total_of(result)
                    addresses = [address for _, address in result.hits]
                    keys = shard.searcher.fast_field_values(KEY, addresses)
                    for (score, _), key in zip(result.hits, keys, strict=True):
                        known = pool.get(int(key or 0))
                        if known is None or score > known[0]:
                            pool[int(key or 0)] = (score, number)
        return pool

    def _second_round(self, shard: Shard, keys: list[int]) -> dict[int, Candidate]:
        among = _unscored(_among(keys))
        found: dict[int, Candidate] = {}
        questions = self._questions(shard, among)
        for first in range(0, max(len(questions), 1), _MASK_BITS):
            asked = questions[first : first + _MASK_BITS]
            clauses = [(Occur.Must, among), *self._confined(shard)]
            if asked:
                bits = [(Occur.Should, Query.const_score_query(q, float(1 << i))) for i, (_, q) in enumerate(asked)]
                # What is required alone is not asked again, and then an event may have nothing else.
                clauses.append((Occur.Should if self._given else Occur.Must, Query.boolean_query(bits)))
            result = shard.searcher.search(Query.boolean_query(clauses), len(keys) * 4, count=False)
            for (score, _), candidate in zip(result.hits, self._candidates(shard, result, found), strict=True):
                _note_bits(candidate, [note for note, _ in asked], int(score))
        given = sum(1 << i for i, unit in enumerate(self._units) if unit in self._given)
        same = sum(1 << i for i, unit in enumerate(self._units) if _has_one_form(unit))
        for candidate in found.values():
            candidate.has |= given
            candidate.exact |= candidate.has & (same | given)
        return {key: candidate for key, candidate in found.items() if candidate.has}

    def _questions(self, shard: Shard, among: Query) -> list[tuple[_Note, Query]]:
        """What is asked of each candidate: which units it has, which as typed, which neighbouring words together."""
        asked: list[tuple[_Note, Query | None]] = []
        open_units = [(i, unit) for i, unit in enumerate(self._units) if unit not in self._given]
        asked += [(("has", 1 << i), self._any(shard, unit)) for i, unit in open_units]
        asked += [(("exact", 1 << i), self._as_typed(shard, unit)) for i, unit in open_units if not _has_one_form(unit)]
        asked += [(("together", 1), pair) for pair in self._pairs()]
        # Phrases are the dear ones: a union looks at all of the shard, an intersection only at these events. It has
        # its own cost, so that small shards do without.
        dear = [i for i, (note, _) in enumerate(asked) if note[0] == "together" or self._is_sequence(note[1])]
        if shard.documents < _LARGE_SHARD:
            dear = []
        for i in dear:
            note, query = asked[i]
            asked[i] = (note, _all([among, query]))
        return [(note, query) for note, query in asked if query is not None]

    def _is_sequence(self, bit: int) -> bool:
        return bool(self._units[bit.bit_length() - 1].sequence)

    def _candidates(
        self, shard: Shard, result: tantivy.SearchResult, found: dict[int, Candidate]
    ) -> Iterator[Candidate]:
        """Yield the candidate of each hit, made where it is new; documents of one event are one candidate."""
        addresses = [address for _, address in result.hits]
        columns = [shard.searcher.fast_field_values(name, addresses) for name in (KEY, SESSION, VOICE, TS)]
        around = self._wanted.around
        for key, session, voice, ts in zip(*columns, strict=True):
            number = int(key or 0)
            if number not in found:
                found[number] = Candidate(
                    number,
                    int(session or 0),
                    0.0,
                    VOICES[int(voice or 0)],
                    None if ts is None else int(ts),
                    in_period=around is not None and ts is not None and around.start_us <= ts < around.end_us,
                )
            yield found[number]

    # The clauses of one unit in one shard.

    def _scored(self, shard: Shard) -> Query | None:
        """What gives scores; None where no unit is in the shard, or only patterns that are required anyway."""
        if shard.name not in self._scored_queries:
            units = [unit for unit in self._units if not (unit.pieces and unit in self._given)]
            clauses = [(Occur.Should, q) for unit in units if (q := self._score_unit(shard, unit)) is not None]
            self._scored_queries[shard.name] = Query.boolean_query(clauses) if clauses else None
        return self._scored_queries[shard.name]

    def _score_unit(self, shard: Shard, unit: Unit) -> Query | None:
        if unit.pieces:
            matches = self._any(shard, unit)
            return Query.const_score_query(matches, unit.idf) if matches is not None else None
        if unit.sequence:
            parts: list[Query] = []
            whole = self._sequence(shard, unit, strict=False)
            if whole is not None:
                parts.append(Query.const_score_query(whole, unit.idf))
            phrase = self._phrase(unit)
            if phrase is not None:
                parts.append(Query.const_score_query(phrase, unit.idf * PHRASE_BOOST))
            if unit.ident:
                ident = self._whole(shard, unit)
                if ident is not None:
                    parts.append(Query.const_score_query(ident, unit.idf * PHRASE_BOOST))
            return Query.disjunction_max_query(parts) if parts else None
        forms: list[Query] = []
        for term, quality in unit.terms:
            for name, weight in ((TEXT, 1.0), (PATHS, PATH_QUALITY), (INSTRUCTIONS, 1.0)):
                if name == INSTRUCTIONS and name not in self._fields:
                    continue
                count = shard.document_frequency(name, term)
                if count:
                    boost = weight * quality * unit.idf / idf(count, shard.documents)
                    forms.append(Query.boost_query(_term(name, term), boost))
            if shard.document_frequency(IDENT, term):
                forms.append(Query.const_score_query(_term(IDENT, term), quality * unit.idf))
        return Query.disjunction_max_query(forms, 0.2) if forms else None

    def _any(self, shard: Shard, unit: Unit) -> Query | None:
        if unit.pieces:
            each = [self._term_set(terms) for terms in unit.pieces]
            return _all(each)
        if unit.sequence:
            return _either([self._sequence(shard, unit, strict=False), self._whole(shard, unit)])
        return _either(
            [self._term(shard, name, term) for term, _ in unit.terms for name in (*self._fields, PATHS, IDENT)]
        )

    def _as_typed(self, shard: Shard, unit: Unit) -> Query | None:
        if unit.terms:
            typed = [term for term, quality in unit.terms if quality == 1.0]
            return _either([self._term(shard, name, t) for t in typed for name in (*self._fields, PATHS, IDENT)])
        if unit.sequence:
            return _either([self._sequence(shard, unit, strict=True), self._whole(shard, unit)])
        return self._any(shard, unit)

    def _whole(self, shard: Shard, unit: Unit) -> Query | None:
        """The identifier in one piece: `GitHub` is `github` among the identifiers, or in the text as such."""
        if not unit.ident:
            return None
        return _either([self._term(shard, name, unit.ident) for name in (IDENT, *self._fields, PATHS)])

    def _sequence(self, shard: Shard, unit: Unit, *, strict: bool) -> Query | None:
        """All terms of the sequence; strict: in order where the field knows positions."""
        if any(not any(shard.document_frequency(f, t) for f in (*self._fields, PATHS)) for t in unit.sequence):
            return None
        anywhere = _all([_either([_term(f, t) for f in (*self._fields, PATHS)]) for t in unit.sequence])
        phrase = self._phrase(unit)
        if not strict or phrase is None or anywhere is None:
            return anywhere
        # Tool output has no positions: there, all terms; the caller verifies against the text.
        output = VOICES.index("tool_output")
        unordered = Query.range_query(schema(), VOICE, tantivy.FieldType.Unsigned, output, output)
        return _either([phrase, _all([anywhere, unordered])])

    def _phrase(self, unit: Unit) -> Query | None:
        return phrase_query(unit.sequence, with_instructions=INSTRUCTIONS in self._fields)

    def _pairs(self) -> list[Query | None]:
        words = [unit.terms[0][0] for unit in self._units if unit.terms and not unit.is_absent]
        return [Query.phrase_query(schema(), PROSE, [a, b], slop=NEAR_SLOP) for a, b in pairwise(words)]

    def _term(self, shard: Shard, name: str, term: str) -> Query | None:
        return _term(name, term) if shard.document_frequency(name, term) else None

    def _term_set(self, terms: Sequence[str]) -> Query | None:
        if not terms:
            return Query.empty_query()
        return _either([Query.term_set_query(schema(), f, list(terms)) for f in (*self._fields, PATHS, IDENT)])

    # What confines.

    def _restricted(self, shard: Shard, *, period_only: bool) -> Query:
        clauses = self._confined(shard)
        for group in self._wanted.must:
            matches = _either([self._as_typed(shard, unit) for unit in group])
            clauses.append((Occur.Must, _unscored(matches or Query.empty_query())))
        for unit in self._wanted.must_not:
            # A sequence in tool output cannot be told from its scattered terms here; the caller checks the text.
            matches = (
                _either([self._phrase(unit), self._whole(shard, unit)])
                if unit.sequence
                else self._as_typed(shard, unit)
            )
            if matches is not None and not _needs_text(unit):
                clauses.append((Occur.MustNot, matches))
        scored = self._scored(shard)
        if not self._wanted.must:
            clauses.append((Occur.Must, scored or Query.empty_query()))
        elif scored is not None:
            clauses.append((Occur.Should, scored))
        around = self._wanted.around
        if period_only and around is not None:
            clauses.append((Occur.Must, _unscored(_times(around.start_us, around.end_us))))
        return Query.boolean_query(clauses)

    def _confined(self, shard: Shard) -> list[tuple[Occur, Query]]:
        confine = self._wanted.confinement
        clauses: list[tuple[Occur, Query]] = []
        if confine.sessions is not None:
            sessions = Query.term_set_query(schema(), SESSION, sorted(confine.sessions))
            clauses.append((Occur.Must, _unscored(sessions)))
        if confine.not_sessions:
            clauses.append((Occur.MustNot, Query.term_set_query(schema(), SESSION, sorted(confine.not_sessions))))
        if confine.after_us is not None or confine.before_us is not None:
            clauses.append((Occur.Must, _unscored(_times(confine.after_us, confine.before_us))))
        for occur, query in (
            (Occur.Must, _kinds(confine.kinds)),
            (Occur.MustNot, _kinds(confine.not_kinds)),
            (Occur.Must, _tools(shard, confine.tools)),
            (Occur.MustNot, _tools(shard, confine.not_tools)),
            (Occur.Must, _either([_path(shard, path) for path in confine.paths])),
            (Occur.MustNot, _either([_path(shard, path) for path in confine.not_paths])),
        ):
            if query is not None:
                clauses.append((occur, _unscored(query) if occur == Occur.Must else query))
        return clauses


def _note_bits(candidate: Candidate, notes: Sequence[_Note], mask: int) -> None:
    together = 0
    for i, (what, bit) in enumerate(notes):
        if not mask >> i & 1:
            continue
        if what == "has":
            candidate.has |= bit
        elif what == "exact":
            candidate.exact |= bit
        else:
            together += bit
    candidate.together = max(candidate.together, together)


def _has_one_form(unit: Unit) -> bool:
    """Having it is having it as typed."""
    return bool(unit.pieces) or len(unit.terms) == 1


def _needs_text(unit: Unit) -> bool:
    return unit.clause.pattern is not None and unit.clause.pattern.text is not None


def _term(name: str, term: str) -> Query:
    return Query.term_query(schema(), name, term, "basic" if name in (IDENT, KIND, TOOL) else "freq")


def _either(queries: Iterable[Query | None]) -> Query | None:
    present = [query for query in queries if query is not None]
    if len(present) < 2:
        return present[0] if present else None
    return Query.boolean_query([(Occur.Should, query) for query in present])


def _all(queries: Sequence[Query | None]) -> Query | None:
    if any(query is None for query in queries):
        return None
    return Query.boolean_query([(Occur.Must, query) for query in queries if query is not None])


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)


def _among(keys: Sequence[int]) -> Query:
    """Events of these keys. A term set walks all keys of the shard (.4 ms at 30,000), a few terms do not."""
    if len(keys) > _FEW_KEYS:
        return Query.term_set_query(schema(), KEY, list(keys))
    return Query.boolean_query([(Occur.Should, Query.term_query(schema(), KEY, key, "basic")) for key in keys])


def _times(after_us: int | None, before_us: int | None) -> Query:
    last = None if before_us is None else before_us - 1
    return Query.range_query(schema(), TS, tantivy.FieldType.Integer, after_us, last)


def _kinds(kinds: Sequence[str]) -> Query | None:
    return Query.term_set_query(schema(), KIND, list(kinds)) if kinds else None


def _tools(shard: Shard, wanted: Sequence[str]) -> Query | None:
    """Tools by their own name or by the canonical one (`shell`, `edit` …)."""
    if not wanted:
        return None
    names = [name for name, _ in shard.terms_with_prefix(TOOL, "", _MAX_TOOLS)]
    chosen = [name for name in names if name in wanted or canonical_tool(name) in wanted]
    return Query.term_set_query(schema(), TOOL, chosen) if chosen else Query.empty_query()


def _path(shard: Shard, path: str) -> Query:
    """A path by consecutive parts; the last may be the beginning of a name."""
    parts = terms_of(path)
    if not parts:
        return Query.empty_query()
    if len(parts) == 1:
        names = [term for term, _ in shard.terms_with_prefix(PATHS, parts[0], _MAX_TOOLS)]
        return Query.term_set_query(schema(), PATHS, names) if names else Query.empty_query()
    return Query.phrase_prefix_query(schema(), PATHS, list(parts))
