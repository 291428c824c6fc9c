"""Turns words into index terms: stop words, Snowball inflections, scripts without spaces."""

from __future__ import annotations

import threading
from functools import lru_cache

import Stemmer

from recollect.index.text.schema import MAX_TERM_BYTES, plain_analyzer

# Words that say how a question is put, not what it is about. English, and the most frequent of languages that
# people mix into it are not listed: their idf is low enough where they are in use.
STOP_WORDS = frozenset(
    (
        "a about after again all also am an and any are as at be because been before being but by can could did do "
        "does doing done down during each ever for from further get gets got had has have having he her here him his "
        "how i if in into is it its itself just let me might more most must my no nor not now of off on once only or "
        "other our out over own s same shall she should so some such t than that the their them then there these they "
        "this those though through to too under unless until up upon us very was we were what when where whether "
        "which while who whom whose why will with would you your yours d ll m re ve don doesn didn isn wasn aren "
        "weren couldn shouldn wouldn hasn haven hadn won"
    ).split()
)

DEGREES = frozenset("big deep far fast large long many much often old slow small soon well".split())
"""Stop words behind "how": "how long" asks for a time, and nothing is said to be long."""

_LOCK = threading.Lock()
_STEMMERS: dict[str, Stemmer.Stemmer] = {}


def is_unspaced(char: str) -> bool:
    """True for Han, kana and Hangul: each such character is a term of its own."""
    point = ord(char)
    return 0x3000 <= point <= 0x9FFF or 0xAC00 <= point <= 0xDFFF or 0x20000 <= point <= 0x3FFFF


def stem(word: str) -> str:
    """Return the stem of a lower-case word: English for Latin letters, Russian for Cyrillic, else the word itself.

    Words with digits and of fewer than four letters stay as they are.
    """
    if len(word) < 4 or not word.isalpha():
        return word
    point = ord(word[0])
    language = "english" if word.isascii() else "russian" if 0x400 <= point <= 0x52F else ""
    if not language:
        return word
    with _LOCK:  # a stemmer keeps state between calls
        stemmer = _STEMMERS.get(language)
        if stemmer is None:
            stemmer = _STEMMERS[language] = Stemmer.Stemmer(language)
        return str(stemmer.stemWord(word))


def shared_prefix(word: str, word_stem: str) -> str:
    """Return a prefix that all inflections of the word have: the stem, without what stemming itself changed."""
    length = 0
    for a, b in zip(word, word_stem, strict=False):
        if a != b:
            break
        length += 1
    # happy/happi: the last letter of the stem may be another in the other forms.
    return (
        word_stem[:length] if length < len(word_stem) else word_stem[: -1 if word_stem.endswith(("i", "y")) else None]
    )


def terms_of(text: str) -> list[str]:
    """Return the terms of a text, in order, exactly as the index cuts it."""
    if text.isascii() and text.isalpha() and text.islower() and len(text) <= MAX_TERM_BYTES:
        return [text]  # a plain word is a term as it is
    return list(_cut(text))


@lru_cache(maxsize=64)  # a search cuts the same words several times
def _cut(text: str) -> tuple[str, ...]:
    from recollect.index.text.preparation import prepare_one

    return tuple(plain_analyzer().analyze(prepare_one(text).text))
