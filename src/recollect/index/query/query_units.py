"""The units of a question: each word or phrase with the index terms that it stands for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec
import tantivy

from recollect.index.query.grammar import Clause
from recollect.index.query.patterns import TermPattern
from recollect.index.query.spelling import MAX_CORRECTED, nearest_term
from recollect.index.text.schema import IDENT, INSTRUCTIONS, PATHS, PROSE, TEXT, schema
from recollect.index.text.shards import Shard, TextIndex
from recollect.index.text.terms import DEGREES, STOP_WORDS, is_unspaced, shared_prefix, stem, terms_of
from recollect.late import late_pattern
from recollect.model.learnings.names import normal_name

Alternatives = Mapping[Clause, tuple[tuple[str, ...], ...]]
"""Of a word its other names, each as the terms that it has in the index."""
MAX_NAME_WORDS = 4
"""A name of more words is not looked for in a question."""
MAX_ALTERNATIVES = 8
"""Of one word."""


def alternatives_of(words: Sequence[Clause], glossary: Mapping[str, tuple[str, ...]]) -> Alternatives:
    """Return the synonyms of a question's words. Each word of a longer name stands for the other name.

    glossary: by name in normal form (`model.learnings.names`), the synonyms.
    """
    if not glossary:
        return {}
    found: dict[Clause, dict[tuple[str, ...], None]] = {}
    for first in range(len(words)):
        for last in range(first + 1, min(first + MAX_NAME_WORDS, len(words)) + 1):
            name = normal_name(" ".join(clause.text for clause in words[first:last]).rstrip("?!:"))
            for other in glossary.get(name, ()):
                terms = tuple(terms_of(other))
                for clause in words[first:last] if terms else ():
                    if len(known := found.setdefault(clause, {})) < MAX_ALTERNATIVES:
                        known[terms] = None
    return {clause: tuple(others) for clause, others in found.items()}


MAX_VARIANTS = 12
"""Inflections searched for a word, most frequent first."""
MAX_PATTERN_TERMS = 4096
NO_ALTERNATIVES: Alternatives = {}
PREFIX_LIMIT = 256
COUNTED_UP_TO = 5000
"""Phrases of words more frequent than this are not counted: that takes longer than the search, and their rareness is
small anyway. A quarter of the rarest word's events is assumed."""

_POSSESSIVE = late_pattern(r"['’]s\b")

STEM_QUALITY = 0.75
PART_WEIGHT = 0.4
"""A part of an identifier or other compound counts this much of a word: the whole is there besides."""
RESPELLED_QUALITY = 0.6
"""How much a corrected word counts against one as typed."""
FOLD_QUALITY = 0.9
"""How much an inflected or accent-free form counts against the word as typed."""
ENGLISH_QUALITY = 0.9
"""The same of what a word is in English: of two words for it, one may be meant."""


class Unit(msgspec.Struct, frozen=True, cache_hash=True):
    """One thing looked for.

    terms: per form its quality (1 exact). sequence: terms that must all be there, in this order where the field has
    positions (a phrase, an identifier in parts, a word of a script without spaces); empty for a plain word.
    ident: the whole identifier in lower case, where the sequence is one. pieces: per piece of a pattern its terms.
    frequency: events that have it, at most; idf follows from it.
    """

    clause: Clause
    label: str
    terms: tuple[tuple[str, float], ...] = ()
    sequence: tuple[str, ...] = ()
    ident: str = ""
    pieces: tuple[tuple[str, ...], ...] = ()
    frequency: int = 0
    idf: float = 0.0
    is_camel: bool = False
    """True for an identifier in camelCase: those are indexed whole, wherever they stand."""
    part_of: str = ""
    """Label of the compound that this word is a part of."""
    respelled: str = ""
    """The term that is looked for instead, the word itself being nowhere."""
    also: tuple[tuple[str, ...], ...] = ()
    """Other names of it by the glossary, as their terms: an event with one of them has the unit, but not as typed."""

    @property
    def is_absent(self) -> bool:
        """True when no event can have it."""
        return self.frequency == 0


class UnitReader:
    """Turns clauses into units against the shards as they are now."""

    def __init__(self, index: TextIndex, shards: Sequence[Shard], *, with_instructions: bool) -> None:
        self._index = index
        self._shards = shards
        self._fields = (TEXT, INSTRUCTIONS) if with_instructions else (TEXT,)
        self._documents = sum(shard.documents for shard in shards)
        self.notes: list[str] = []
        self._corrected = 0
        self._alternatives: Alternatives = {}
        self._english: Mapping[Clause, tuple[str, ...]] = {}

    def words(
        self,
        clauses: Sequence[Clause],
        alternatives: Alternatives = NO_ALTERNATIVES,
        english: Iterable[tuple[Clause, tuple[str, ...]]] = (),
    ) -> list[Unit]:
        """Return the units of plain words: stop words are left out unless there is nothing else.

        alternatives: what else they are called; a note says so where that is in the index. english: what they are in
        English.
        """
        self._alternatives = alternatives
        self._english = dict(english)
        units: dict[str, Unit] = {}
        asked = {c.text for b, c in pairwise(clauses) if b.text.lower() == "how" and c.text.lower() in DEGREES}
        for leave_out, keep_stop_words in ((asked, False), ((), False), ((), True)):
            for clause in clauses:
                if clause.text in leave_out:
                    continue
                for unit in self._word(clause, keep_stop_words=keep_stop_words):
                    known = units.get(unit.label)
                    if known is None or (known.part_of and not unit.part_of):
                        units[unit.label] = unit
            if units:
                break
        return list(units.values())

    def exact(self, clause: Clause) -> Unit | None:
        """Return the unit of a quoted word or phrase, or None where it has no letters or digits."""
        terms = terms_of(clause.text)
        if not terms:
            return None
        if len(terms) == 1:
            return self._finish(Unit(clause, terms[0], terms=((terms[0], 1.0),)))
        return self._sequence(clause, terms)

    def pattern(self, clause: Clause, pattern: TermPattern) -> Unit:
        """Return the unit of an infix pattern or regular expression."""
        pieces: list[tuple[str, ...]] = []
        for piece in pattern.pieces:
            terms, was_cut = self._index.matching(self._shards, piece.literal, piece.pattern, limit=MAX_PATTERN_TERMS)
            if was_cut:
                self.notes.append(f"{clause.text} matches more than {MAX_PATTERN_TERMS} words; only those were used")
            pieces.append(tuple(terms))
        frequency = min((self._pattern_frequency(terms) for terms in pieces), default=0)
        return self._finish(Unit(clause, clause.text.lower(), pieces=tuple(pieces), frequency=frequency))

    def frequency(self, term: str) -> int:
        """Return in how many documents the term occurs, over all shards."""
        return sum(
            max(sum(shard.document_frequency(field, term) for field in self._fields), 0) for shard in self._shards
        )

    def _word(self, clause: Clause, *, keep_stop_words: bool) -> list[Unit]:
        terms = terms_of(_POSSESSIVE.sub("", clause.text))
        if not terms:
            return []
        runs = _runs(terms)
        if len(runs) == 1 and isinstance(runs[0], str):
            if runs[0] in STOP_WORDS and not keep_stop_words:
                return []
            return [self._simple(clause, runs[0])]
        if len(runs) == 1:
            return [self._sequence(clause, terms)]
        whole = self._sequence(clause, terms)
        parts: list[Unit] = []
        for run in runs:
            if isinstance(run, str):
                if run not in STOP_WORDS and (len(run) > 1 or run.isdigit()):
                    parts.append(self._simple(clause, run, part_of=whole.label))
            else:
                parts.append(self._sequence(clause, run, part_of=whole.label))
        return [whole, *parts] if len(parts) > 1 else parts or [whole]

    def _simple(self, clause: Clause, word: str, *, part_of: str = "") -> Unit:
        terms = {word: 1.0}
        word_stem = stem(word)
        if word.isalpha() and len(word) > 3:
            for form in self._inflections(word, word_stem):
                terms.setdefault(form, STEM_QUALITY)
        if not word.isascii():
            from recollect.index.text.preparation import fold_accents

            terms.setdefault(fold_accents(word), FOLD_QUALITY)
        for form, quality in () if part_of else self._in_english(clause):
            terms.setdefault(form, quality)
        also = () if part_of else self._also(clause)
        unit = self._finish(Unit(clause, word, terms=tuple(terms.items()), part_of=part_of, also=also))
        return self._respelled(unit) if unit.is_absent and not part_of else unit

    def _respelled(self, unit: Unit) -> Unit:
        """Return the unit of the term that an absent word most likely means, with a note; else the unit itself."""
        if self._corrected >= MAX_CORRECTED:
            return unit
        term = nearest_term(unit.label, self._shards)
        if term is None:
            return unit
        self._corrected += 1
        self.notes.append(f"no {unit.clause.text}; looked for {term}")
        return self._finish(msgspec.structs.replace(unit, terms=((term, RESPELLED_QUALITY),), respelled=term))

    def _inflections(self, word: str, word_stem: str) -> list[str]:
        prefix = shared_prefix(word, word_stem)
        if len(prefix) < 3:
            return []
        found: dict[str, int] = {}
        for shard in self._shards:
            for field in self._fields:
                for term, count in shard.terms_with_prefix(field, prefix, PREFIX_LIMIT):
                    if term != word and len(term) <= len(word) + 6 and stem(term) == word_stem:
                        found[term] = found.get(term, 0) + count
        return sorted(found, key=lambda term: (-found[term], term))[:MAX_VARIANTS]

    def _sequence(self, clause: Clause, terms: Sequence[str], *, part_of: str = "") -> Unit:
        ident = "".join(c for c in clause.text.lower() if c.isalnum() or c == "_")
        is_identifier = clause.kind == "word" and ident.isascii() and clause.text.strip("`'\".,:;()").lower() == ident
        unit = Unit(
            clause,
            " ".join(terms),
            sequence=tuple(terms),
            ident=ident if is_identifier else "",
            is_camel=is_identifier and len(terms) > len(terms_of(ident)),
            part_of=part_of,
            also=() if part_of or clause.kind != "word" else self._also(clause),
        )
        if not part_of:
            unit = msgspec.structs.replace(unit, also=(*unit.also, *((form,) for form, _ in self._in_english(clause))))
        return self._finish(unit)

    def _in_english(self, clause: Clause) -> Iterator[tuple[str, float]]:
        for word in self._english.get(clause, ()):
            yield word, ENGLISH_QUALITY
            for form in self._inflections(word, stem(word)):
                yield form, STEM_QUALITY

    def _also(self, clause: Clause) -> tuple[tuple[str, ...], ...]:
        """Return the other names of a word that are in the index, with a note."""
        names = tuple(name for name in self._alternatives.get(clause, ()) if self._name_frequency(name))
        if names:
            self.notes.append(f"also looked for {', '.join(' '.join(name) for name in names)}")
        return names

    def _name_frequency(self, name: Sequence[str]) -> int:
        if len(name) == 1:
            return self._form_frequency(name[0])
        phrase = phrase_query(name, with_instructions=INSTRUCTIONS in self._fields)
        return sum(shard.count(phrase) for shard in self._shards) if phrase is not None else 0

    def _pattern_frequency(self, terms: Sequence[str]) -> int:
        total = 0
        for shard in self._shards:
            for term in terms[:64]:
                total += max(shard.document_frequency(field, term) for field in (*self._fields, IDENT))
        return total + (len(terms) > 64)

    def _finish(self, unit: Unit) -> Unit:
        frequency = unit.frequency
        if unit.sequence:
            frequency = self._sequence_frequency(unit)
        elif unit.terms:
            frequency = sum(self._form_frequency(term) for term, _ in unit.terms)
        frequency = min(frequency + sum(map(self._name_frequency, unit.also)), self._documents)
        weight = PART_WEIGHT if unit.part_of else 1.0
        return msgspec.structs.replace(unit, frequency=frequency, idf=weight * idf(frequency, self._documents))

    def _sequence_frequency(self, unit: Unit) -> int:
        """Counted where positions or whole identifiers tell; else as often as its rarest term at most."""
        at_most = min(self.frequency(term) for term in unit.sequence)
        if not at_most:
            return 0
        whole = self._form_frequency(unit.ident) if unit.ident else 0
        if whole and unit.is_camel:
            return whole
        if at_most > COUNTED_UP_TO and not unit.is_camel:
            return max(whole, at_most // 4)
        phrase = phrase_query(unit.sequence, with_instructions=INSTRUCTIONS in self._fields)
        count = sum(shard.count(phrase) for shard in self._shards) if phrase is not None else at_most
        count = max(count, whole)
        # It may stand in tool output, where only its terms are known; camelCase is known everywhere.
        return count if unit.is_camel else count or 1

    def _form_frequency(self, term: str) -> int:
        """`github` occurs in the text as such, or as the whole of `GitHub` among the identifiers."""
        return self.frequency(term) + sum(shard.document_frequency(IDENT, term) for shard in self._shards)


def idf(frequency: int, documents: int) -> float:
    """Return the weight of rareness, by the engine's own formula (BM25), so that its scores can be rescaled."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def phrase_query(terms: Sequence[str], *, with_instructions: bool) -> tantivy.Query | None:
    """Return the query for terms in this order, in the fields that know positions; None for a single term."""
    if len(terms) < 2:
        return None
    names = (PROSE, PATHS, INSTRUCTIONS) if with_instructions else (PROSE, PATHS)
    each = [tantivy.Query.phrase_query(schema(), name, list(terms)) for name in names]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in each])


def _runs(terms: Sequence[str]) -> list[str | list[str]]:
    """Words as they are; neighbouring characters of scripts without spaces together."""
    runs: list[str | list[str]] = []
    for term in terms:
        if len(term) == 1 and is_unspaced(term):
            if runs and isinstance(runs[-1], list):
                runs[-1].append(term)
            else:
                runs.append([term])
        else:
            runs.append(term)
    return runs
