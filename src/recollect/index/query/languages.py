"""Reads a question in German, French, Spanish, Chinese or Japanese by what its words are in English.

Most transcripts are in English, whoever asks. Words that only put the question are left out: they are rare in such
transcripts and would count most. Every other word that the table knows is looked for as it stands and in English.
The table, `words.txt`, is our own work. It has a row a notion, with English and each language in a column of its own;
the words of the first row, without English, only put a question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import msgspec
import Stemmer

from recollect.index.query.grammar import Clause, Question
from recollect.index.text.terms import STOP_WORDS, is_unspaced

_TABLE = Path(__file__).with_name("words.txt")
_COLUMNS = ("german", "french", "spanish", "chinese", "japanese")
_MARKS = {
    "german": frozenset(
        "warum wieso wie wo wer wann welche welcher welches welchen wurde wurden haben hat hatte hatten wir ich der "
        "das den dem ein eine einen einem einer nicht nur und oder aber bei mit für von vom zum zur auf aus nach wenn "
        "dass ist sind sich auch noch gab konnte jetzt im".split()
    ),
    "french": frozenset(
        "pourquoi comment où quand quel quelle quels quelles est sont était avons avez avait nous vous le la les une "
        "du des et mais dans sur pour par avec sans ne pas ce cette qui que quoi aux au".split()
    ),
    "spanish": frozenset(
        "qué cómo dónde cuándo cuál cuáles quién el los las una del con sin para por que fue era había hemos han nos "
        "lo su sus pero como este esta la de en".split()
    ),
}
"""Frequent words of a language. A question is in it that has two of them, and fewer that only English has."""
_ALL_MARKS = frozenset().union(*_MARKS.values())
_ASKS_UNSPACED = re.compile("[?？]|什么|怎么|为何|哪|谁|吗|なぜ|どう|どこ|どの|何|誰|いつ|ですか|ましたか|でしたか")
"""Keywords without spaces are looked for as they stand: cut into words, they would be in more events."""
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_HIRAGANA_ONLY = re.compile("[\u3040-\u309f]+")
_MOST_FORMS = 4
"""English words looked for in the place of one."""
_LEAST_PART = 3
"""Letters of the shortest part of a German compound."""
_LINKS = ("s", "n", "en", "es", "er")
"""What stands between the parts of a German compound."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_FRENCH_AROUND = re.compile(r"^\w{1,2}['’]|-(?:t-)?(?:ils?|elles?|on|nous|vous|je|tu|ce)$", re.I)
_SIGNS = ".,:;?!\"'`()[]{}<>«»„“”¿¡，。？！、「」『』（）：；・…-"


class _Table(NamedTuple):
    """Of one language. asks: words that only put a question. english, of_stem: by a word, and by its stem, what it is
    in English. longest: letters of the longest word."""

    asks: frozenset[str]
    english: Mapping[str, tuple[str, ...]]
    of_stem: Mapping[str, tuple[str, ...]]
    longest: int


class _Read(NamedTuple):
    """A word of a question, and what it is in English: nothing for a name, an identifier, or a word not known."""

    clause: Clause
    english: tuple[str, ...] = ()

    @property
    def is_sought(self) -> bool:
        """Whether it says what the question is about, not how it is put."""
        return not self.english or not STOP_WORDS.issuperset(self.english)


def in_english(question: Question) -> Question:
    """Return a question with what its words are in English; itself if it is in English or no known language."""
    language = _language_of(question)
    if not language:
        return question
    is_spaced = language in _MARKS
    read = list((_read_spaced if is_spaced else _read_unspaced)(question.words, language))
    sought = [one for one in read if one.is_sought]
    english = {one.clause: _terms(one.english) for one in sought if one.english}
    if not english:
        return question
    words = tuple(dict.fromkeys(one.clause for one in sought))
    # What is left of a run of letters without spaces need be no word, and is not missed.
    rest = [one.clause for one in sought if not is_spaced and not one.english and is_unspaced(one.clause.text[0])]
    said = " ".join(one.english[0] if one.english else one.clause.text.strip(_SIGNS) for one in read)
    pairs = ((one.clause.text.strip(_SIGNS), one.english[0]) for one in sought if one.english)
    known = dict.fromkeys(f"{word} = {other}" for word, other in pairs if word.casefold() != other.casefold())
    asks = "?" if not is_spaced or question.text.rstrip().endswith("?") else ""
    return msgspec.structs.replace(
        question,
        words=words,
        either=(*question.either, *((clause, *words) for clause in rest)),
        english=tuple(english.items()),
        in_english=said + asks,
        notes=(*question.notes, *((f"also looked for in English: {', '.join(known)}",) if known else ())),
    )


def _language_of(question: Question) -> str:
    if not question.text.isascii() and any(map(is_unspaced, question.text)):
        if not _ASKS_UNSPACED.search(question.text) or _HANGUL.search(question.text):
            return ""
        return "japanese" if _KANA.search(question.text) else "chinese"
    words = {clause.text.strip(_SIGNS).lower() for clause in question.words}
    there = _ALL_MARKS & words
    if len(there) < 2:
        return ""
    counts = {language: len(marks & there) for language, marks in _MARKS.items()}
    best = max(counts, key=lambda language: counts[language])
    if counts[best] < 2:
        return ""
    asks = _table(best).asks
    return best if len(asks & words) > len((STOP_WORDS & words) - asks) else ""


def _terms(english: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in english if word not in STOP_WORDS)


def _read_spaced(clauses: Sequence[Clause], language: str) -> Iterator[_Read]:
    table = _table(language)
    for clause in clauses:
        bare = unicodedata.normalize("NFC", clause.text).strip(_SIGNS)
        if language == "french":
            bare = _FRENCH_AROUND.sub("", bare)
        word = bare.lower()
        if not word or word in table.asks:
            continue
        if not _WORD.fullmatch(bare):
            yield _Read(clause)
        elif english := _english(word, table, language):
            yield _Read(Clause(bare), english)
        elif language == "german" and (parts := _parts_of_name(bare, table) or _parts(word, table)):
            # Each part is a word of its own, which is also where the whole is.
            yield from (_Read(Clause(part[0]), (*part, word)) for part in parts)
        else:
            yield _Read(clause)


def _english(word: str, table: _Table, language: str) -> tuple[str, ...]:
    return table.english.get(word) or table.of_stem.get(_stem(word, language), ())


def _parts_of_name(word: str, table: _Table) -> tuple[tuple[str, ...], ...]:
    """Return `Checkpoint-Ordner` as a name and a word; nothing for a name in lower case, as `claude-code-log`."""
    *names, last = word.split("-")
    english = _english(last.lower(), table, "german") if names and last[:1].isupper() else ()
    return (*((name,) for name in names), english) if english else ()


def _parts(word: str, table: _Table) -> tuple[tuple[str, ...], ...]:
    """Return what the parts of a compound are in English, the longest last part tried first."""
    for at in range(_LEAST_PART, len(word) - _LEAST_PART + 1):
        last = _english(word[at:], table, "german")
        if not last:
            continue
        heads = (word[:at], *(word[: at - len(link)] for link in _LINKS if word[:at].endswith(link)))
        for head in heads:
            if first := _english(head, table, "german"):
                return first, last
        if more := next((parts for head in heads if (parts := _parts(head, table))), ()):
            return (*more, last)
    return ()


def _read_unspaced(clauses: Sequence[Clause], language: str) -> Iterator[_Read]:
    table = _table(language)
    for clause in clauses:
        for is_run, letters in groupby(clause.text, lambda c: is_unspaced(c) and c not in _SIGNS):
            run = "".join(letters).strip(_SIGNS)
            if is_run:
                yield from _cut(run, table)
            elif run:
                yield _Read(Clause(run))


def _cut(run: str, table: _Table) -> Iterator[_Read]:
    """Yield the known words in a run of letters, the longest first, and what is left between them."""
    at, rest = 0, ""
    while at <= len(run):
        lengths = range(min(table.longest, len(run) - at), 0, -1)
        words = (run[at : at + length] for length in lengths)
        known = next((word for word in words if word in table.english or word in table.asks), "")
        if known or at == len(run):
            if len(rest) > 1 and not _HIRAGANA_ONLY.fullmatch(rest):
                yield _Read(Clause(rest))
            rest = ""
        else:
            rest += run[at]
        if known in table.english:
            yield _Read(Clause(known), table.english[known])
        at += len(known) or 1


def _stem(word: str, language: str) -> str:
    return str(_stemmer(language).stemWord(word)) if language in _MARKS else word


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language)


@cache
def _table(language: str) -> _Table:
    """Read a column. A word in several rows means most what it stands first for."""
    column = 1 + _COLUMNS.index(language)
    rows = [line.split("|") for line in _TABLE.read_text("utf-8").splitlines()]
    asks = frozenset(word for row in rows if not row[0] for word in row[column].split())
    places = sorted(
        ((at, row[0].split(), word) for row in rows if row[0] for at, word in enumerate(row[column].split())),
        key=lambda place: place[0],
    )
    english: dict[str, dict[str, None]] = {}
    of_stem: dict[str, dict[str, None]] = {}
    for _, meaning, word in places:
        english.setdefault(word, {}).update(dict.fromkeys(meaning))
        of_stem.setdefault(_stem(word, language), {}).update(dict.fromkeys(meaning))
    first, second = (
        {word: tuple(meanings)[:_MOST_FORMS] for word, meanings in known.items()} for known in (english, of_stem)
    )
    return _Table(asks, first, second, max(map(len, first)))
