"""Language packs: what one language says when it decides. The form is described in packs/README.md."""

from __future__ import annotations

import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, Literal

import msgspec

from recollect.errors import BrokenInvariant
from recollect.insights.language.accents import spellings
from recollect.model.insights.nodes import MarkerCategory, Polarity, Strength

LATIN: Final = ("en", "de", "es", "fr", "pt")
CODES: Final = (*LATIN, "ru", "zh", "ja")
"""The languages that ship, in the order in which their rules are tried."""

Script = Literal["latin", "cyrillic", "han", "kana"]
Allowed = Literal["question", "hypothetical", "reported", "negated", "conditional", "offer"]


class PackRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of a pack; packs/README.md says what each field does. `id` is without the language."""

    id: str
    category: MarkerCategory
    patterns: tuple[str, ...]
    polarity: Polarity = "adopt"
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


class Pack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One language."""

    code: str
    name: str
    script: Script
    stop_words: str
    lists: Lists
    rules: tuple[PackRule, ...]
    words: dict[str, str] = {}
    spaces: bool = True


@lru_cache(maxsize=4096)
def phrases(listed: str) -> tuple[str, ...]:
    """Return the phrases of a comma-separated list, each also as it is typed without its accents."""
    found = (" ".join(part.split()) for part in listed.split(","))
    return tuple(spelling for phrase in found if phrase for spelling in spellings(phrase))


@cache
def pack(code: str) -> Pack | None:
    """Return the pack of a language, None where none ships. Read once a process."""
    place = files("recollect.insights.language").joinpath("packs", f"{code}.toml")
    if not place.is_file():
        return None
    try:
        return msgspec.convert(tomllib.loads(place.read_text("utf-8")), Pack)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BrokenInvariant(f"the language pack {code} cannot be read: {error}") from error
