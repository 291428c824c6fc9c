"""Prepares text for the engine's plain tokenizer.

The engine only splits at everything that is not a letter or digit: each filter behind that costs it a tenth of its
time, and its regular-expression tokenizer does the rest of what is wanted at 4 MB/s. So camelCase is taken apart by
inserting a space, characters of scripts that write no spaces become words of their own, letters become small, what is
too long to be a term becomes spaces, and so does every ASCII character that only separates words, so that the text can
be put into a JSON string as it is.

Identifiers that were taken apart by case are given whole besides, in lower case. Those in snake_case are not:
their parts stand side by side, so that a phrase finds them; indexing them twice cost a third more time.

Little text is prepared as here; many texts at once as in `bulk_preparation`.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import NamedTuple

from recollect.index.text.schema import MAX_TERM_BYTES, plain_analyzer

_BLANK = 0x20
PLAIN = bytes(b if b >= 0x80 or b == 0x5F or bytes((b,)).isalnum() else _BLANK for b in range(256)).lower()
"""Small letters, digits, the underscore and all beyond ASCII stay; the rest is blank."""
_ANSI = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_LATIN_WORD = re.compile("[a-z\u00df-\u024f\u1e00-\u1eff]+")
_NO_MARK = dict.fromkeys(range(768, 880))
_RUN = re.compile(rb"[A-Za-z0-9_]+")
_CAMEL = re.compile(rb"(?<=[a-z])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])")
"""The capitals that begin a part of a word. HTTPServer: one after a capital and before a small letter begins a part."""
_UNSPACED = re.compile(rb"(?s:[\xe3-\xe9\xeb-\xed]..|\xea[\xb0-\xff].|\xf0[\xa0-\xff]..)")
"""A Han, kana or Hangul character."""
_TOO_LONG = re.compile(rb"[^ ]{%d,}" % (MAX_TERM_BYTES + 1))


class Prepared(NamedTuple):
    """One prepared text: its field's content, safe inside a JSON string, and its identifiers. All lower case."""

    text: str
    identifiers: str
    """With the words that have accents, without them."""


def fold_accents(word: str) -> str:
    """Return the word with accents taken off Latin letters: `résumé` becomes `resume`."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", word).translate(_NO_MARK))


def clean(text: str) -> bytes:
    """Return the text as NFC UTF-8, with terminal colours and escaped line breaks (`\\n` as two characters) blanked.

    Where a Windows drive occurs, backslashes are left alone: `C:\\new` is a folder.
    """
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    data = text.encode("utf-8", "replace")
    if b"\\" in data and b":\\" not in data:
        data = data.replace(b"\\n", b"  ").replace(b"\\t", b"  ").replace(b"\\r", b"  ")
    if b"\x1b" in data:
        data = _ANSI.sub(b" ", data)
    return data


def prepare_one(text: str) -> Prepared:
    """Prepare one text, by the same rules; for queries and tests."""
    return prepare(clean(text))


def latin_folds(text: str) -> set[str]:
    """Return the accent-free form of every Latin word of the text that has an accent, in lower case."""
    chunks = {chunk for chunk in text.lower().split() if not chunk.isascii()}
    words = {word for chunk in chunks for word in _LATIN_WORD.findall(chunk) if not word.isascii()}
    return {fold for word in words if (fold := fold_accents(word)).isascii() and len(fold) <= MAX_TERM_BYTES}


def prepare(piece: bytes) -> Prepared:
    """Prepare a cleaned text, see `clean`."""
    stands, identifiers = _identifiers(piece)
    is_ascii = piece.isascii()
    if not is_ascii:
        around = {at for mark in _UNSPACED.finditer(piece) for at in mark.span()}
        stands = sorted(around.union(stands))
    places = [0, *stands, len(piece)] if stands else ()
    plain = piece.translate(PLAIN)
    spread = b" ".join([plain[a:b] for a, b in pairwise(places)]) if stands else plain
    text = _TOO_LONG.sub(lambda run: blank_long_terms(run[0]), spread).decode("utf-8", "replace")
    if is_ascii:
        return Prepared(text, identifiers)
    return with_small_letters(Prepared(text, identifiers), piece)


def _identifiers(piece: bytes) -> tuple[list[int], str]:
    """Return where words are taken apart by case, and these words: unique, lower case, by blanks.

    A run of letters and digits longer than a term is left as it is.
    """
    stands: list[int] = []
    words: dict[bytes, None] = {}
    for run in _RUN.finditer(piece):
        breaks = [mark.start() for mark in _CAMEL.finditer(run[0])]
        if not breaks:
            continue
        if len(run[0]) <= MAX_TERM_BYTES:
            words[run[0]] = None
        else:
            breaks = [at for at in breaks if _part_length(run[0], at) <= MAX_TERM_BYTES]
        stands += [run.start() + at for at in breaks]
    return stands, b" ".join(words).lower().decode()


def _part_length(run: bytes, at: int) -> int:
    """Return how long what stands between underscores around a place is."""
    last = run.find(b"_", at)
    return (len(run) if last < 0 else last) - run.rfind(b"_", 0, at) - 1


def with_small_letters(prepared: Prepared, piece: bytes) -> Prepared:
    """Return what was prepared of a piece with letters beyond ASCII: these small, and its words without accents."""
    folds = sorted(latin_folds(piece.decode("utf-8", "replace")))
    return Prepared(_small(prepared.text), " ".join(filter(None, (prepared.identifiers, *folds))))


def blank_long_terms(run: bytes) -> bytes:
    """Return a run without blanks with every run of letters and digits in it blanked that is longer than a term."""
    terms = {term.encode() for term in plain_analyzer().analyze(run.decode("utf-8", "replace"))}
    for term in sorted(terms, key=len, reverse=True):
        if len(term) > MAX_TERM_BYTES:
            run = run.replace(term, b" " * len(term))
    return run


def _small(text: str) -> str:
    """Return text with all letters small, each for itself."""
    # The small form of the first has two characters in Python, that of the second depends on what follows it.
    return text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()
