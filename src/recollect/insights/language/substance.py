"""Decides whether words name something by themselves."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Final

from recollect.insights.language.pack import SCRIPTS
from recollect.insights.language.prose_mask import OPAQUE, lower
from recollect.insights.language.reader import languages, words_of
from recollect.insights.language.sentences import Clauses, Sentence, Words
from recollect.late import late_pattern

_WORD: Final = late_pattern(rf"`[^`\n]+`|{OPAQUE}+|[^\W_](?:[\w'./:@#+-]*\w)?")
_AFTER: Final = " \t\r\n.,;:!?…)\"'。，、；：！"
_LEAST_LETTERS: Final = 4
"""Letters that words of a script without blanks must have beside those of the fixed lists."""


def makes_sense(text: str) -> bool:
    """Whether words make sense by themselves in the language that they are likeliest written in."""
    words = _language_of(text)
    return names_something(text, words) > 0 and not points_outside(text, words)


def outlasts(text: str, words: Words | None = None) -> bool:
    """Whether a sentence means something outside the moment in which it was said; words: its language.

    It does if it says that it holds for longer. Else its first clause that names something has to stand alone: it
    neither begins with what is of the moment ("this bug", "needs to be", "we lost", "see") nor ends with what points.
    """
    words = words or _language_of(text)
    low = lower(text)
    if words.has("lasting", low, 0, len(low)):
        return True
    clauses, head = Clauses(low, Sentence(0, len(low)), words), 0
    for start, end in pairwise((*clauses.borders, len(low))):
        if not low[:start].rstrip()[-1:].isalnum():  # a mark parts the clauses, and no mere "but"
            head = start
        if names_something(text[start:end], words):
            heads = (at for at in clauses.starts if clauses.start_of(at) in (head, start))
            begins = any(words.begins("momentary", low, at, end) for at in heads)
            return not (begins or low[start:end].rstrip(_AFTER).endswith(_pointing_ends(words)))
    return True


def _language_of(text: str) -> Words:
    codes = languages(lower(text))  # a script of its own tells more than the words of Latin script
    return words_of(codes[-1] if SCRIPTS[codes[-1]] != "latin" else codes[0])


def names_something(text: str, words: Words) -> int:
    """Return how many words of a text name something: neither stop words, nor words that point ("the second one"),
    nor verbs that say nothing without their object ("use", "do")."""
    if not words.pack.spaces:
        return sum(c.isalnum() for c in text) // _LEAST_LETTERS
    return sum(_is_telling(word, words) for word in _WORD.findall(lower(text)))


def points_outside(text: str, words: Words) -> bool:
    """Whether a text points at something that it does not name before: "it needs Docker", "never commit them"."""
    names = 0
    low = lower(text)
    found = list(_WORD.finditer(low))
    tokens = [word[0] for word in found]
    verbs, determiners = _listed(words, "verbs"), _listed(words, "articles") - _listed(words, "vague")
    is_telling = False
    for place, word in enumerate(tokens):
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        is_pointing = word in _listed(words, "pointers") or (
            word in _listed(words, "pointing_alone") and (not after or not _is_telling(after, words))
        )
        # What stands right before it is mostly the verb whose object it is: "fix it".
        is_object = is_telling and place > 0 and low[found[place - 1].end() : found[place].start()].isspace()
        if is_pointing and names <= is_object:
            return True
        is_verb = word in verbs and (not place or tokens[place - 1] not in determiners)
        is_telling = _is_telling(word, words) and not is_verb
        names += is_telling
    return False


def is_for_all(text: str, words: Words) -> bool:
    """Whether words say in a language that something holds in every repository."""
    low = lower(text)
    return words.has("for_user", low, 0, len(low)) is not None


def is_for_all_in_any(text: str) -> bool:
    """Whether words say so in any of the languages that they may be written in."""
    return any(is_for_all(text, words_of(code)) for code in languages(lower(text)))


def _is_telling(word: str, words: Words) -> bool:
    return word[0] in ("`", OPAQUE) or not (word in _vague(words) or words.is_hollow(word))


@lru_cache(maxsize=32)
def _vague(words: Words) -> frozenset[str]:
    told = {word for name in ("vague", "negators", "pointers", "pointing_alone") for word in _listed(words, name)}
    told |= {word.strip() for listed in words.pack.lists.ordinals for word in listed.split(",")}
    return words.stop_words | told


@lru_cache(maxsize=32)
def _pointing_ends(words: Words) -> tuple[str, ...]:
    return tuple(f" {word}" if words.pack.spaces else word for word in words.phrases("pointing_ends"))


@lru_cache(maxsize=256)
def _listed(words: Words, name: str) -> frozenset[str]:
    return frozenset(words.phrases(name))
