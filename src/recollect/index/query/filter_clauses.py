"""Builds engine clauses for the filters: sessions, times, kinds, tools and paths. They add no score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec
import tantivy
from tantivy import Occur, Query

from recollect.index.query.grammar import Question
from recollect.index.text.schema import KIND, PATHS, SESSION, TOOL, TS, schema
from recollect.index.text.shards import Shard
from recollect.index.text.terms import terms_of
from recollect.model.tools import canonical_tool

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
