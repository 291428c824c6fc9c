"""Finds a password that a person chose by its looks, in a sentence that speaks of a way to get in. Pure.

How a person tells a password has no end, so no wording decides alone. Three kinds of evidence add up: how the value
looks, what names a credential in the sentence, and what stands right before the value ("with", "is", "type"). A name
is no evidence without a value that looks like a password, and a value that software names too needs most of the rest.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.late import late_pattern
from recollect.privacy.plausibility import is_phrase, plausible_password

REACH: Final = 120
"""Characters before and behind the name of a credential in which its value is looked for, within the sentence."""
_ENOUGH: Final = 5
_SURELY: Final = _ENOUGH
_SENTENCE_END = late_pattern(r"[.!?;][\"')]?\s|\n")
_WORD_LIKE = late_pattern(r"[^\s\"'`„“”«»()<>\[\]|,;]{6,64}")
_PHRASE = late_pattern(r"(?<![\w\"'`])[\"'`“]([a-z]{3,12}(?: [a-z]{2,12}){2,7})[\"'`”](?!\w)")
TECHNICAL: Final = late_pattern(
    r"(?:sha|md|base|utf|aes|rsa|hs|rs|es|ed|argon|bcrypt|scrypt|pbkdf|oauth|k8s|ipv|http|gpio|v|x|p)-?\d"  # argon2id
    r"|\d+-?(?:bit|byte|char|digit|stellig|zeichen|day|min|hour|sec|fold|factor)"
    r"|(?:get|set|check|is|has|parse|make|read|load|verify|validate|test|hash|compare|new|create)_\w+\Z"
    r"|\w+\(.*\)\Z|[\w-]+/[\w./-]+\Z|[#@][\w-]+\Z",
    re.ASCII | re.IGNORECASE,
)
"""How words of software begin, or look, that have a digit or a sign as a password has one."""
_SURE = late_pattern(
    r"(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[A-Za-z]{3,}(?:[-_][A-Za-z]{3,})+[-_]?\d{1,4}\Z"  # saffron-Lantern-66
    r"|(?!(?:[A-Z]+|[A-Z]?[a-z]+)#)(?=(?:[^A-Za-z]*[A-Za-z]){4})(?=[^\d]*\d)[\w-]+(?:[!$^&#][\w-]+)+!?\Z",
    re.ASCII,
)
"""Words and a number tied together with a capital, or a sign among letters (Tr0ubadour&3): in prose nothing else."""
_LIKELY = late_pattern(
    r"(?:[a-z]{4,}|[A-Z][a-z]{3,})[-_]\d{1,4}[-_](?:[a-z]{4,}|[A-Z][a-z]{3,})\Z"  # pelican-77-stone
    r"|[A-Z][a-z]{3,}(?:\.[A-Z][a-z]{3,})?\.\d{1,4}(?:\.[A-Z][a-z]{3,})?\Z"  # Meridian.77.Lake
    r"|[a-z]{6,}\d{3,4}\Z"  # sunbeam2291
    r"|[A-Za-z][a-z]{3,}[A-Z][a-z]{3,}\d{2,4}\Z"  # copperFinch21
    r"|[a-z]?[A-Z]?[a-z]*\d[A-Z]?[a-z]{5,}\Z"  # qT7blossom
    r"|[A-Za-z]{4,}[?*+=~]\d{1,4}\Z",
    re.ASCII,
)
"""Looks so in a sentence about software too, now and then."""
_THIN = late_pattern(r"[A-Z]?[a-z]{4,}[-_#@]?\d{2,4}\Z|[a-z]{3,}(?:[A-Z][a-z]{2,})+_?\d{1,4}\Z", re.ASCII)
"""Looks like a name and its number too: Cigogne_2024, walnutGrove5."""
_NAME = (
    r"pass(?:word|phrase|code|wort|woert)|kennwort|mot de passe|contrase(?:ñ|n)a|senha|wachtwoord"
    r"|credentials|creds|zugangsdaten"
)
_NAMES = late_pattern(rf"(?<![^\W_])(?:{_NAME}|pw|pwd)(?![\w-])", re.IGNORECASE)
_WAYS = late_pattern(
    r"(?<![\w-])(?:(?P<enter>log(?:s|ged)?[ -]?(?:in(?:to)?|on)|sign(?:s|ed)? in|gets? (?:in|into)|connect(?:e[rz])?"
    r"|einloggen|anmelden|rein|entrar?)"
    r"|(?P<auth>auth|authenticat\w+|2fa)|(?P<locked>unlocks?|lock(?:s|ed))|(?P<cipher>encrypted|decrypts?)"
    r"|(?P<key>key|schlüssel|clave|secret|token|code|pin)|(?P<net>wi-?fi|wlan|vpn|ssh|vnc|rdp|nas|router|zip|sudo|root))"
    r"(?![\w-])",
    re.IGNORECASE,
)
_NAMES_IT = late_pattern(
    rf"(?<![^\W_])(?:{_NAME}|pw|pwd)(?=\W*\Z|[.,;:!?)]| (?:for|of|on|in|at|to|and|when|here|there|now|then|instead)\b)",
    re.IGNORECASE,
)
"""The name behind a value; not of another thing ("the password tests")."""
_MOST_WAYS: Final = 2
_ABOUT_SOFTWARE = late_pattern(
    r"\b(?:fail(?:s|ed|ing)?|crash\w*|broke\w*|bugs?|hash\w*|columns?|fields?|tables?|functions?|methods?|class(?:es)?"
    r"|variables?|endpoints?|screens?|pages?|version|releases?|upgrad\w+|migrat\w+|branch\w*|tickets?|librar\w+"
    r"|packages?|models?|regex\w*|polic\w+|renam\w+|render\w*|components?|pars\w+|handl\w+|implement\w*|called"
    r"|names?|named|works? (?:with|on)|compar\w+|algorithms?|modules?|rows?|index\w*|validat\w+|feld|spalte|klasse"
    r"|funktion|seite|heißt|page|champ|campo|primary|foreign|primaria|example|like|labels?|placeholders?|buttons?|titles?|messages?|says?)\b",
    re.IGNORECASE,
)
"""Words of sentences about a program. In one, only what looks like nothing else is taken for a password."""
_TOLD = late_pattern(
    r"(?:(?:\b(?:is|are|was|be|reads|ist|lautet|sind|est|es|é|è|são|sont)|['’]s|c['’]est|[:=])"
    r"(?: (?:now|still|currently|just|jetzt|noch|maintenant|ahora|agora))?|,? now"
    r"|\b(?:chang|reset|set|updat|rotat|geändert|cambi)\w*(?: back)? (?:to|auf|en|a))\s*\Z",
    re.IGNORECASE,
)
_USED = late_pattern(
    r"\b(?:(?<!ed )with|(?:lock|rypt|tect|ecur)ed with|us(?:e|es|ing)|type|enter|try|tries|wants?|mit|nimm|verwende"
    r"|avec|utilise[rz]?|tape[rz]?|con|usa|usar|com)"
    r"(?: (?:the|dem|das|le|la|el))?(?: [\w.@-]{2,24}(?:,| and| und| et| y| e))?\s*\Z",
    re.IGNORECASE,
)
_PAIRED = late_pattern(r"(?:\A|\s)[\w.@+-]{2,40} ?/ ?\Z")
_QUOTES: Final = ('"', "'", "`", "“", "„", "«")
_PROSE: Final = frozenset(
    """never always only also still just anywhere everywhere else after before each every when where then there here
    into over any some all more than so but because since until during without within per via once again too later now
    read kept sent given taken written shown hidden set error login account user key must""".split()
)


def chosen_near(match: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of what looks like a password in the sentence in which a match names a credential, None for none.

    Of several the one with the most evidence, behind the name rather than before it.
    """
    text, (start, end) = match.string, match.span()
    stop = _SENTENCE_END.search(text, end, end + REACH)
    last = stop.start() if stop else min(len(text), end + REACH)
    first = max(0, start - REACH)
    for earlier in _SENTENCE_END.finditer(text, first, start):
        first = earlier.end()
    best, span = _ENOUGH - 1, None
    for word in (*_WORD_LIKE.finditer(text, end, last), *reversed(list(_WORD_LIKE.finditer(text, first, start)))):
        value = word[0].rstrip(".:?")
        if looks := _looks_chosen(value):
            at = word.start()
            sum_of = looks if looks == _SURELY else looks + _evidence(text[first:at], text[at + len(value) : last])
            if sum_of > best:
                best, span = sum_of, (at, at + len(value))
    return span or _phrase_between(text, first, last)


def reads_as_phrase(value: str, *, least: int = 4) -> bool:
    """Return whether words are a passphrase rather than what a sentence says of one. least: how many they must be."""
    words = value.split()
    is_said = any(word in _PROSE or word.endswith("ly") for word in words)
    return is_phrase(value, least=least) and not is_said and not words[0].endswith(("ed", "ing", "able", "al"))


def _looks_chosen(value: str) -> int:
    """Return how much a word looks like a password that a person chose, 0 for not at all."""
    if not any("0" <= c <= "9" for c in value) or not plausible_password(value) or TECHNICAL.match(value):
        return 0
    return _SURELY if _SURE.match(value) else 2 if _LIKELY.match(value) else 1 if _THIN.match(value) else 0


def _evidence(before: str, after: str) -> int:
    """Return what the sentence says for a password between its two parts, 0 where nothing leads up to it."""
    if _ABOUT_SOFTWARE.search(before) or _ABOUT_SOFTWARE.search(after):
        return 0
    is_quoted = before.endswith(_QUOTES)
    before = before.rstrip("".join(_QUOTES))
    ways = min(_MOST_WAYS, len({found.lastgroup for found in _WAYS.finditer(before)}))
    is_named, is_named_before = _NAMES_IT.search(after) is not None, _NAMES.search(before) is not None
    is_paired = _PAIRED.search(before) is not None
    if _TOLD.search(before) and (is_named_before or ways):
        lead = 2 if is_named_before else 1
    elif is_paired or _USED.search(before):
        lead = 2 if is_paired else 1
    else:
        return 0
    return (2 if is_named or is_named_before else ways) + lead + is_quoted


def _phrase_between(text: str, first: int, last: int) -> tuple[int, int] | None:
    """Return the span of words in quotes that a sentence tells as a passphrase or password."""
    for phrase in _PHRASE.finditer(text, first, last):
        before = text[first : phrase.start()]
        is_told = _NAMES.search(before) and _TOLD.search(before) and not _ABOUT_SOFTWARE.search(before)
        if is_told and reads_as_phrase(phrase[1], least=3):
            return phrase.span(1)
    return None
