"""Language packs: how one language expresses decisions. packs/README.md describes the format."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, Literal, cast

import msgspec

from recollect.errors import BrokenInvariant
from recollect.insights.language.tables import PARSED
from recollect.late import late_pattern, shipped
from recollect.model.insights.nodes import MarkerCategory, Polarity, Strength

EXACT: Final = "="
"""Stands before a phrase of a pack that has no other spelling, since without accents it is another word (`=qué`)."""

_STOP_WORDS: Final = late_pattern(r'^stop_words = """([^"]*)"""', re.MULTILINE)

_PLAIN: Final = str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "ø": "o", "ё": "е"})
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_KEPT: Final = frozenset("йЙ")
"""Letters of their own that Unicode takes apart."""


def spellings(phrase: str) -> tuple[str, ...]:
    """Return how a lower-case phrase is typed: with its accents first, then without them, each once."""
    if phrase.startswith(EXACT):
        return (phrase[len(EXACT) :],)
    if phrase.isascii():
        return (phrase,)
    return tuple(dict.fromkeys((phrase, _plain(phrase), _plain(phrase.translate(_UMLAUTS)))))


class _Bare(dict[int, str]):
    """Letters without their accents, each taken apart when it is met first: a pack has thousands of words."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        base = unicodedata.normalize("NFD", letter)[0]
        self[code] = base if base.isascii() and letter not in _KEPT else letter
        return self[code]


_BARE: Final = _Bare()


def _plain(phrase: str) -> str:
    """Return a phrase without accents; letters of scripts other than Latin stay, but for ё."""
    return phrase.translate(_PLAIN).translate(_BARE)


Script = Literal["latin", "cyrillic", "han", "kana"]
SCRIPTS: Final[Mapping[str, Script]] = {
    "en": "latin", "de": "latin", "es": "latin", "fr": "latin", "pt": "latin",
    "ru": "cyrillic", "zh": "han", "ja": "kana",
}  # fmt: skip
"""The scripts of the languages that ship, known before any pack is read."""
CODES: Final = tuple(SCRIPTS)
"""The languages that ship, in the order in which their rules are tried."""

Allowed = Literal["question", "hypothetical", "reported", "negated", "conditional", "offer"]


POLARITY: Final[Mapping[MarkerCategory, Polarity]] = {
    "choice": "adopt",
    "rejection": "reject",
    "ban": "ban",
    "preference": "prefer",
    "reversal": "reverse",
    "rule": "adopt",
    "confirmation": "adopt",
}


class PackRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of a pack; packs/README.md says what each field does. `id` is without the language."""

    id: str
    patterns: tuple[str, ...]
    strength: Strength = "strong"
    speaker: Literal["any", "human", "assistant"] = "any"
    allow: tuple[Allowed, ...] = ()
    needs: tuple[Literal["named", "reason", "explained", "contrast", "short"], ...] = ()
    unless: tuple[str, ...] = ()
    """Names of word lists; an option that begins with one of them is none."""
    without: tuple[str, ...] = ()
    """Names of word lists; a sentence that holds one of them is none."""
    is_nameless: bool = False
    """Whether it decides something also where its slots name nothing ("undo that")."""

    @property
    def category(self) -> MarkerCategory:
        """What its matches are: the beginning of its id."""
        return cast("MarkerCategory", self.id.partition(".")[0])

    @property
    def polarity(self) -> Polarity:
        """Whether its matches are for or against what they name."""
        return POLARITY[self.category]


class Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The word lists that the analyser itself reads: phrases separated by commas; every one may be empty."""

    lead_ins: str = ""
    joints: str = ""
    negators: str = ""
    undecided: str = ""
    hypothetical: str = ""
    questions: str = ""
    question_ends: str = ""
    question_tags: str = ""
    requests: str = ""
    reported: str = ""
    sayings: str = ""
    own_voice: str = ""
    adverbs: str = ""
    turns: str = ""
    introductions: str = ""
    slips: str = ""
    conditions: str = ""
    reasons: str = ""
    reasons_next: str = ""
    weighed: str = ""
    consequences: str = ""
    articles: str = ""
    option_ends: str = ""
    prepositions: str = ""
    pronouns: str = ""
    hollow: str = ""
    step_verbs: str = ""
    step_tools: str = ""
    vague: str = ""
    pointers: str = ""
    pointing_alone: str = ""
    pointing_ends: str = ""
    momentary: str = ""
    lasting: str = ""
    for_session: str = ""
    for_user: str = ""
    yes: str = ""
    no: str = ""
    do_it: str = ""
    offers: str = ""
    proposals: str = ""
    generic: str = ""
    praise: str = ""
    option_words: str = ""
    ordinals: tuple[str, ...] = ()


Meaning = Literal["explicit", "rule", "correction", "action", "place"]
"""explicit: asked to be remembered; rule: holds from now on; correction: of what was done before; action: to be done
later; place: where a service of this machine is."""


class SpokenRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way of saying what should be learned; packs/README.md says what each field does."""

    id: str
    meaning: Meaning
    weight: float
    cues: tuple[str, ...]
    pattern: str
    with_next: bool = False
    with_before: bool = False
    is_alone: bool = False


_NOTHING: Final = "(?!)"
"""Matches nothing."""


class Spoken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How people say what should be learned: rules in the order in which they are tried, and what reads around them."""

    rules: tuple[SpokenRule, ...]
    parts: dict[str, str] = {}
    lead_ins: str = _NOTHING
    questions: str = _NOTHING
    doubtful: str = _NOTHING
    unfinished: str = _NOTHING
    duty: str = _NOTHING
    reported: str = _NOTHING
    refusal: str = _NOTHING
    orders: str = _NOTHING
    urgent: str = _NOTHING
    important: str = _NOTHING


class Pack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One language."""

    code: str
    name: str
    stop_words: str
    lists: Lists
    rules: tuple[PackRule, ...]
    spoken: Spoken
    words: dict[str, str] = {}
    spaces: bool = True


@lru_cache(maxsize=4096)
def phrases(listed: str) -> tuple[str, ...]:
    """Return the phrases of a comma-separated list, each also without its accents."""
    found = (" ".join(part.split()) for part in listed.split(","))
    return tuple(spelling for phrase in found if phrase for spelling in spellings(phrase))


@cache
def stop_words() -> frozenset[str]:
    """Return the stop words of all languages, without the rest of the packs: a session's start has no time for that."""
    texts = (shipped("recollect.insights.language", "packs", f"{code}.toml").decode() for code in CODES)
    listed = (_STOP_WORDS.search(text) for text in texts)
    return frozenset(word for found in listed if found for word in found[1].replace("\\\n", " ").split())


@cache
def pack(code: str) -> Pack | None:
    """Return the pack of a language, None without one. Read once per process."""
    try:
        written = shipped("recollect.insights.language", "packs", f"{code}.toml").decode()
    except OSError:
        return None
    try:
        return msgspec.convert(PARSED.table_of(written), Pack)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BrokenInvariant(f"the language pack {code} cannot be read: {error}") from error
