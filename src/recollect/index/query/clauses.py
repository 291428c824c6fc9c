"""Builds the engine queries of a unit in one shard (for finding, exact matches, scoring), and those of the filters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property

import msgspec
import tantivy
from tantivy import Occur, Query

from recollect.index.query.grammar import Question
from recollect.index.query.query_units import MAX_PATTERN_TERMS, Unit, idf, phrase_query
from recollect.index.text.schema import IDENT, INSTRUCTIONS, KIND, PATHS, SESSION, TEXT, TOOL, TS, schema
from recollect.index.text.shards import Shard
from recollect.index.text.terms import terms_of
from recollect.model.tools import canonical_tool

PATH_QUALITY = 0.6
PHRASE_BOOST = 1.2
OTHER_FORMS = 0.2
"""How much the further forms of a word that an event has count besides the best of them."""
SYNONYM_QUALITY = 0.7
"""How much another name counts against the word as typed: a little less than an inflected form."""
OUTPUT_KIND = "tool_result"
"""The kind whose text is tool output, which has no positions."""
_FEW_TERMS = 400
"""Up to here terms are asked for one by one; a set of terms walks the field's dictionary."""
_RARE_DOCUMENTS = 1_000
"""Terms of so few documents are asked for together: walking all of them takes less than going to each event apart."""


class UnitClauses:
    """Builds queries; None means that nothing in the shard can match.

    fields: the text fields to search. given: units that every candidate has, because they alone are required.
    """

    def __init__(self, fields: Sequence[str], given: Collection[Unit]) -> None:
        self._fields = tuple(fields)
        self._given = given

    def scores(self, shard: Shard, unit: Unit) -> list[Query]:
        """Return what together gives BM25 for the unit, rescaled from the shard's rareness to that of the index."""
        if unit in self._given and unit.sequence and not unit.also:
            return self._score_terms(shard, unit)
        score = self._with_other_names(shard, unit)
        return [score] if score is not None else []

    def _with_other_names(self, shard: Shard, unit: Unit) -> Query | None:
        own = self._score(shard, unit)
        also = self._also(shard, unit)
        if also is None:
            return own
        other = Query.const_score_query(also, SYNONYM_QUALITY * unit.idf)
        return Query.disjunction_max_query([own, other]) if own is not None else other

    def _score(self, shard: Shard, unit: Unit) -> Query | None:
        if unit.pieces:
            matches = self.found(shard, unit)
            return Query.const_score_query(matches, unit.idf) if matches is not None else None
        if unit in self._given and unit.sequence:
            return either(self._score_terms(shard, unit))
        if unit.sequence:
            parts: list[Query] = []
            whole = self._sequence(shard, unit)
            if whole is not None:
                parts.append(Query.const_score_query(whole, unit.idf))
            phrase = self._phrase(unit)
            if phrase is not None:
                parts.append(Query.const_score_query(phrase, unit.idf * PHRASE_BOOST))
            if unit.ident:
                ident = self.whole(shard, unit)
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
                    forms.append(Query.boost_query(term_query(name, term), boost))
            if shard.document_frequency(IDENT, term):
                forms.append(Query.const_score_query(term_query(IDENT, term), quality * unit.idf))
        return Query.disjunction_max_query(forms, OTHER_FORMS) if len(forms) > 1 else forms[0] if forms else None

    def found(self, shard: Shard, unit: Unit) -> Query | None:
        """Return what has the unit in any form; of a sequence all terms in any order."""
        if unit.pieces:
            return self._pattern(shard, unit)
        if unit.sequence:
            return either([self._sequence(shard, unit), self.whole(shard, unit), self._also(shard, unit)])
        forms = [self._term(shard, name, term) for term, _ in unit.terms for name in (*self._fields, PATHS, IDENT)]
        return either([*forms, self._also(shard, unit)])

    def leaves(self, shard: Shard, unit: Unit) -> Iterator[tuple[bool, Query]]:
        """Yield what finds the unit, piece by piece, and whether what has the piece has the unit as typed, or may have
        it, in tool output. Where having it is having it as typed, nothing is said to be typed.

        No piece is a union of anything frequent, so that each can be asked of few events: see `asked_besides`.
        """
        if unit.terms:
            forms = [(quality == 1.0 and not has_one_form(unit), term) for term, quality in unit.terms]
            names = (*self._fields, PATHS, IDENT)
            yield from _frequent_apart(shard, [(typed, name, term) for typed, term in forms for name in names])
        elif unit.sequence:
            yield from ((False, q) for q in (self._sequence(shard, unit),) if q is not None)
            yield from _frequent_apart(shard, [(True, name, unit.ident) for name in self._whole_in(unit)])
            scattered = None if unit.is_camel else self.scattered(shard, unit)
            in_output = all_of([scattered, term_query(KIND, OUTPUT_KIND)])
            yield from ((True, q) for q in (self._phrase(unit), in_output) if q is not None)
        else:
            yield from ((False, q) for q in (self._pattern(shard, unit),) if q is not None)
        yield from ((False, q) for q in (self._also(shard, unit),) if q is not None)

    def as_typed(self, shard: Shard, unit: Unit) -> Query | None:
        """Return the query for a unit, not a sequence, as typed."""
        if unit.terms:
            typed = [term for term, quality in unit.terms if quality == 1.0]
            return either([self._term(shard, name, t) for t in typed for name in (*self._fields, PATHS, IDENT)])
        return self.found(shard, unit)

    def certain(self, shard: Shard, unit: Unit) -> Query | None:
        """Return what has the sequence for sure."""
        return either([self._phrase(unit), self.whole(shard, unit)])

    def scattered(self, shard: Shard, unit: Unit) -> Query | None:
        """Return tool output with all terms of the sequence: it has no positions, and paths are never its own."""
        return all_of([self._term(shard, TEXT, term) for term in dict.fromkeys(unit.sequence)])

    def whole(self, shard: Shard, unit: Unit) -> Query | None:
        """Return what has the identifier in one piece: `GitHub` is `github`, among the identifiers or in the text."""
        return either([self._term(shard, name, unit.ident) for name in self._whole_in(unit)])

    def _whole_in(self, unit: Unit) -> tuple[str, ...]:
        return (IDENT, *self._fields, PATHS) if unit.ident else ()

    def _also(self, shard: Shard, unit: Unit) -> Query | None:
        """Return what has another name of the unit: a word anywhere, several as a phrase."""
        names = [
            either([self._term(shard, field, name[0]) for field in (*self._fields, PATHS, IDENT)])
            if len(name) == 1
            else phrase_query(name, with_instructions=INSTRUCTIONS in self._fields)
            for name in unit.also
        ]
        return either(names)

    def _score_terms(self, shard: Shard, unit: Unit) -> list[Query]:
        """Score a sequence that every candidate has, by its terms' share of the text; the whole is as rare as it is."""
        rareness = {t: idf(n, shard.documents) for t in unit.sequence if (n := shard.document_frequency(TEXT, t))}
        boost = unit.idf / max(sum(rareness.values()), 1e-9)
        return [Query.boost_query(term_query(TEXT, term), boost) for term in rareness]

    def _sequence(self, shard: Shard, unit: Unit) -> Query | None:
        """All terms of the sequence, in any order."""
        fields = (*self._fields, PATHS)
        return all_of([either([self._term(shard, f, term) for f in fields]) for term in dict.fromkeys(unit.sequence)])

    def _phrase(self, unit: Unit) -> Query | None:
        return phrase_query(unit.sequence, with_instructions=INSTRUCTIONS in self._fields)

    def _pattern(self, shard: Shard, unit: Unit) -> Query | None:
        """For each piece of a pattern the shard's own terms that it matches."""
        pieces = unit.clause.pattern.pieces if unit.clause.pattern is not None else ()
        each = [shard.matching(piece.literal, piece.pattern, limit=MAX_PATTERN_TERMS)[0] for piece in pieces]
        return all_of([self._one_of(shard, terms) for terms in each])

    def _one_of(self, shard: Shard, terms: Sequence[str]) -> Query | None:
        fields = (*self._fields, PATHS, IDENT)
        if len(terms) <= _FEW_TERMS:
            return either([self._term(shard, f, term) for term in terms for f in fields])
        return either([Query.term_set_query(schema(), f, list(terms)) for f in fields])

    def _term(self, shard: Shard, name: str, term: str) -> Query | None:
        return term_query(name, term) if shard.document_frequency(name, term) else None


def asked_besides(required: Query, optional: Iterable[Query]) -> Query:
    """Return what matches the first query, with the scores of those of the others that match as well.

    Several optional clauses of one query are a union to the engine, which walks all that they match, 4,096 documents
    at a time, wherever there is an event that is asked about. Each of these is sought at the event alone: of 580,000
    events it takes 1.6 ms instead of 8 to tell what 400 of them have of a question of two words.
    """
    every = _every_document()
    clauses = [Query.boolean_query([(Occur.Must, every), (Occur.Should, query)]) for query in optional]
    return Query.boolean_query([(Occur.Must, query) for query in (required, *clauses)]) if clauses else required


@cache
def _every_document() -> Query:
    return Query.const_score_query(Query.all_query(), 0.0)


def _frequent_apart(shard: Shard, forms: Sequence[tuple[bool, str, str]]) -> Iterator[tuple[bool, Query]]:
    """Yield queries for (is typed, field, term): the frequent ones apart, the others together."""
    rare: dict[bool, list[Query]] = {}
    for typed, name, term in forms:
        count = shard.document_frequency(name, term)
        if count > _RARE_DOCUMENTS:
            yield typed, term_query(name, term)
        elif count:
            rare.setdefault(typed, []).append(term_query(name, term))
    for typed, queries in rare.items():
        yield from ((typed, query) for query in (either(queries),) if query is not None)


def has_one_form(unit: Unit) -> bool:
    """Having it is having it as typed."""
    return bool(unit.pieces) or (len(unit.terms) == 1 and not unit.respelled and not unit.also)


def term_query(name: str, term: str) -> Query:
    """Return the query for one term of a text field."""
    return Query.term_query(schema(), name, term, "basic" if name in (IDENT, KIND, TOOL) else "freq")


def either(queries: Iterable[Query | None]) -> Query | None:
    """Return a query that matches any of the existing queries."""
    present = [query for query in queries if query is not None]
    if len(present) < 2:
        return present[0] if present else None
    return Query.boolean_query([(Occur.Should, query) for query in present])


def all_of(queries: Sequence[Query | None]) -> Query | None:
    """Return what matches all queries; nothing does where one is missing."""
    if any(query is None for query in queries):
        return None
    return Query.boolean_query([(Occur.Must, query) for query in queries if query is not None])


Clauses = list[tuple[Occur, Query]]
_MAX_TOOLS = 1000
_FEW_VALUES = 100


class Confinement(msgspec.Struct, frozen=True, dict=True):
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

    @classmethod
    def of(cls, question: Question, *, sessions: frozenset[int] | None, not_sessions: frozenset[int]) -> Confinement:
        """Return what a question asks for. sessions, not_sessions: numbers of those that it allows and refuses."""
        asked = {name: getattr(question, name) for name in _OF_QUESTIONS}
        return cls(sessions=sessions, not_sessions=not_sessions, **asked)

    @property
    def with_instructions(self) -> bool:
        """Instructions are searched only on request."""
        return "instructions" in self.kinds

    def clauses(self, shard: Shard) -> Clauses:
        """Return what a shard's documents must and must not match."""
        of_shard = _present(
            (Occur.Must, _tools(shard, self.tools)),
            (Occur.MustNot, _tools(shard, self.not_tools)),
            (Occur.Must, _any_path(shard, self.paths)),
            (Occur.MustNot, _any_path(shard, self.not_paths)),
        )
        return [*self._of_any_shard, *of_shard]

    @cached_property
    def _of_any_shard(self) -> Clauses:
        has_times = self.after_us is not None or self.before_us is not None
        return _present(
            (Occur.Must, None if self.sessions is None else _sessions(self.sessions)),
            (Occur.MustNot, _sessions(self.not_sessions) if self.not_sessions else None),
            (Occur.Must, times(self.after_us, self.before_us) if has_times else None),
            (Occur.Must, _kinds(self.kinds)),
            (Occur.MustNot, _kinds(self.not_kinds)),
        )


_OF_QUESTIONS = tuple(name for name in Confinement.__struct_fields__ if "sessions" not in name)


def _present(*clauses: tuple[Occur, Query | None]) -> Clauses:
    """Return the clauses that have a query; what must match gives no score."""
    return [(o, unscored(query) if o == Occur.Must else query) for o, query in clauses if query is not None]


def unscored(query: Query) -> Query:
    """Return a query that matches the same and adds nothing to the score."""
    return Query.const_score_query(query, 0.0)


def times(after_us: int | None, before_us: int | None) -> Query:
    """Return the query for after_us <= ts < before_us, UTC microseconds."""
    last = None if before_us is None else before_us - 1
    return Query.range_query(schema(), TS, tantivy.FieldType.Integer, after_us, last)


def one_of(name: str, values: Sequence[str | int], *, few: int = _FEW_VALUES) -> Query:
    """Return what has one of some values in a field; it gives no score that says anything.

    A set of terms takes .2 ms before anything is looked up, and again for every part of the index; a few terms do not.
    """
    if len(values) > few:
        return Query.term_set_query(schema(), name, list(values))
    fields, term_query = schema(), Query.term_query  # of hundreds of keys, in every part of the index
    return Query.boolean_query([(Occur.Should, term_query(fields, name, one, "basic")) for one in values])


def _sessions(numbers: frozenset[int]) -> Query:
    return one_of(SESSION, sorted(numbers))


def _kinds(kinds: Sequence[str]) -> Query | None:
    return one_of(KIND, kinds) if kinds else None


def _tools(shard: Shard, wanted: Sequence[str]) -> Query | None:
    """Tools by their own name or by the canonical one (`shell`, `edit` …)."""
    if not wanted:
        return None
    names = [name for name, _ in shard.terms_with_prefix(TOOL, "", _MAX_TOOLS)]
    chosen = [name for name in names if name in wanted or canonical_tool(name) in wanted]
    return one_of(TOOL, chosen) if chosen else Query.empty_query()


def _any_path(shard: Shard, paths: Sequence[str]) -> Query | None:
    if not paths:
        return None
    return Query.boolean_query([(Occur.Should, _path(shard, path)) for path in paths])


def _path(shard: Shard, path: str) -> Query:
    """A path by consecutive parts; the last may be the beginning of a name."""
    parts = terms_of(path)
    if not parts:
        return Query.empty_query()
    if len(parts) == 1:
        names = [term for term, _ in shard.terms_with_prefix(PATHS, parts[0], _MAX_TOOLS)]
        return one_of(PATHS, names) if names else Query.empty_query()
    return Query.phrase_prefix_query(schema(), PATHS, list(parts))
