"""Finds credentials that a person or an agent tells in prose, in whatever words.

How a sentence puts it has no end, so no wording is looked for. Four kinds of evidence add up: which credential the
sentence names, how the value looks, what leads up to it (a copula or a colon, "with", a pause), and whether it ends its
clause. Code and talk about software count against it. The sum that redacts is higher than the one that only keeps a
sentence from being learned: a wrongly held back sentence costs little.

Assignments, options and connection strings are the matter of the other detectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

from recollect.late import LatePattern, late_pattern
from recollect.model.marker import MARKER_BEGINNING, names_marker
from recollect.privacy.assignments import KEY_OF, NO_KEYS, NO_TOKENS
from recollect.privacy.detector import ENCODED_RAW, Detector, ended, literals, raw_pattern
from recollect.privacy.password_looks import CHOSEN, NOTHING, ODD, SURE, WORD, is_pin, looks_of, reads_as_phrase
from recollect.privacy.password_words import (
    AND,
    AS,
    CHANGED,
    COMPOUNDS,
    COPULAS,
    FUNCTION,
    INTO,
    LOCKED,
    NAMES,
    STILL,
    TIED_COPULAS,
    USED,
)

REACH: Final = 120
"""Characters before and behind the name of a credential in which its value is looked for."""
ENOUGH: Final = 5
ENOUGH_TO_DOUBT: Final = 4

_WORDS: Final = {kind: tuple(said.replace("_", " ") for said in words.split()) for kind, words in NAMES.items()}
_KINDS: Final = {word: kind for kind, words in _WORDS.items() for word in words}


def _rest_of(words: Iterable[str]) -> str:
    """Return a pattern of words behind their first letter."""
    by_first: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        by_first.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"(?<=[{first}{first.upper()}])(?:{'|'.join(rest)})" for first, rest in by_first.items())


_SPACED: Final = tuple(word for word in _KINDS if word[0] < "\u3000")
_UNSPACED: Final = tuple(word for word in _KINDS if word[0] >= "\u3000")
_NAMED = late_pattern(  # the first letter apart: a class is looked for ten times faster than a choice of words
    f"[{''.join(sorted({form for word in _KINDS for form in (word[0], word[0].upper())}))}]"
    rf"(?:(?<![^\W_].)(?<![_.$/\\@].)(?<!--.)(?i:{_rest_of(_SPACED)})(?![^\W_])"
    rf"|(?<=[^\W_].)(?i:{_rest_of(COMPOUNDS)})(?![^\W_])"
    rf"|(?:{_rest_of(_UNSPACED)}))"
    r"(?![_(=\[/\\]|-[^\W_]|[\"`]|['’](?!s(?![^\W_]))|:[^\s*\"'`])"
)
"""The name of a credential, where it is a word of a text rather than of code."""
_SENTENCE_END = late_pattern(r"[.?;][\"')]?\s+|\s*\n\s*|[。！？]")
_FIELD_END = late_pattern(r"\"\s?[:}\]]|\",\s?\"")
"""Between two values of JSON."""
_CJK: Final = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7ff\uff00-\uffef"
_VALUE = late_pattern(rf"[^\x00-\x20\s\\{{}}\"'`„“”«»()<>\[\]|,;{_CJK}]{{4,64}}")
_PHRASE = late_pattern(r"(?<![\w\"'`])[\"'`“]([^\"'`“”\n]{6,64})[\"'`”](?!\w)")
_BARE_PHRASE = late_pattern(r"[a-z]{3,12}(?: [a-z]{2,12}){3,9}(?=[.,;!]?(?:\s|\Z))")
_ASIDE = late_pattern(r"\([^()]*\)")
_CLAUSE_END = late_pattern(rf"[*_]*(?:\s*\Z|[.,;!?)](?:\s|\Z)|\s*\n|\s+[-—(<]|[{_CJK}]| and | und | et )")
_FIRST_WORD = late_pattern(r"[ \t]+([^\W\d_]+(?:['’][^\W\d_]+)?)(?=[\s.,;:!?)\"'’]|\Z)")
_QUOTES: Final = "\"'`„“”«»「」『』*"
_QUOTED: Final = frozenset(_QUOTES) - {"*"}
_BEFORE_VALUE: Final = " \t(" + _QUOTES
_MARKS: Final = (":", "=", "→", ">", "—", "–", " -", "：", "は", "是", "为", "為", "成", "成了")
_HEADS: Final = FUNCTION | COPULAS | TIED_COPULAS | STILL | USED | AND
"""Behind the name of a credential, of which the sentence then speaks: not of its field, its test, its length."""
_FOR: Final = frozenset("for für fürs pour du para del da do для".split())
_OF_LOCKED = late_pattern(
    rf" (?:for|to|of) (?:the |our |my )?(?:[\w-]+ )?(?:{'|'.join(sorted(LOCKED))})(?!\w)", re.IGNORECASE
)
"""Behind the name of a key: what it opens."""
_GOES_ON: Final = FUNCTION | AS | STILL
_LEADS: Final = COPULAS | TIED_COPULAS | STILL | INTO
_LINE_ENDS: Final = ("\n", "\r", "\t")
_DIGITS_OF_TOKEN: Final = 3
_STRONG: Final = ("password", "pin")
"""Kinds whose value needs no digit, and nothing that leads up to it."""
_SURELY: Final = (*_STRONG, "account")
"""Kinds that name a credential, whatever the sentence is about."""
_ABOUT_SOFTWARE = late_pattern(
    r"(?<!\w)(?:fail\w*|crash\w*|broken?|bugs?|hash\w*|columns?|tables?|functions?|methods?|class(?:es)?|variables?"
    r"|endpoints?|version|releases?|upgrad\w+|migrat\w+|branch\w*|tickets?|librar\w+|packages?|models?|regex\w*"
    r"|polic\w+|renam\w+|render\w*|components?|pars\w+|handle\w*|implement\w*|called|names?|named|compar\w+"
    r"|algorithms?|modules?|rows?|index\w*|validat\w+|stor(?:ed|ing)|check(?:s|ed|ing)?|feld|spalte|klasse"
    r"|funktion|champ|campo|primary|foreign|primaria|example(?!\.)|labels?|placeholders?|buttons?|titles?|messages?"
    r"|limit|len(?:gth)?|usage|count|errors?|returns?|flow|middleware)(?!\w)",
    re.IGNORECASE,
)
"""Words of sentences about a program."""
_IN_CODE = late_pattern(r"[{}]|\w\(|\w\[|[=!]=|&&|\|\||\w=|::|\w\.\w+\(|;\s*(?:\n|\Z)|[\"']\s?:|</|\A\s*[-+]\s?\w+:")
_PAIR = late_pattern(
    r"(?:user\w*|login|account|wifi|wi-fi|wlan|ssid|network|benutzer\w*|utilisateur|identifiant|usuario|usuário|логин"
    r"|用户名)(?: (?:is|ist|est|es|é))?[ :=]+"
    r"(?!and |or |und |et |y |e |with )[\w.@+-]{2,40}[ ,/]+(?:and |und |et |y |e )?(?:the )?\Z",
    re.IGNORECASE,
)
"""Before the name of a password: whose it is."""


class _Place(NamedTuple):
    """Where a text names a credential. Its value stands between `first` and `last`, or before `next_last`."""

    kind: str
    start: int
    end: int
    first: int
    last: int
    next_last: int


class _Name(NamedTuple):
    """What the name of a credential says.

    weight: 2 where it surely is one, 1 where it may be. is_pair: a user's name stands before it.
    """

    weight: int
    is_pair: bool


def told_near(match: re.Match[str], least: int = ENOUGH) -> tuple[int, int] | None:
    """Return the span of the value of the credential that a match names, None where no value is told.

    Of several values the one with the most evidence, behind the name rather than before it.
    """
    text, place = match.string, _place_of(match)
    values = list(_values(text, place))
    if not values and place.kind != "password":
        return None
    name = _name_of(text, place)
    if name is None:
        return None
    best, span = least - 1, None
    for start, end, looks in values:
        evidence = _evidence(text, place, name, (start, end), looks)
        if evidence > best and evidence - _doubts(text, place, start, end) > best:
            best, span = evidence, (start, end)
    return span or (_phrase(text, place) if place.kind == "password" and name.weight > 1 else None)


def _place_of(match: re.Match[str]) -> _Place:
    text, (start, end) = match.string, match.span()
    first, limit = max(0, start - REACH), min(len(text), end + REACH)
    if closed := _FIELD_END.search(text, end, limit):
        limit = closed.start()
    for earlier in _FIELD_END.finditer(text, first, start):
        first = earlier.end()
    for earlier in _SENTENCE_END.finditer(text, first, start):
        first = earlier.end()
    last = next_last = limit
    if stop := _SENTENCE_END.search(text, end, limit):
        last = stop.start()
        if following := _SENTENCE_END.search(text, stop.end(), limit):
            next_last = following.start()
    kind = _kind_of(match)
    if kind == "token" and (_qualifier(text, start) in LOCKED or _OF_LOCKED.match(text, end)):
        kind = "password"
    return _Place(kind, start, end, first, last, next_last)


def _qualifier(text: str, start: int) -> str:
    """Return the word that says what a key or token is for: that before its name."""
    before = text[max(0, start - 60) : start].rstrip(" -").lower()
    return re.split("[ -]", before)[-1].removesuffix("'s").removesuffix("’s")


def _kind_of(match: re.Match[str]) -> str:
    said = match[0].lower()
    if said == "pass" and match.string[match.end() : match.end() + 1] == ":":
        return "password"
    return _KINDS.get(said, "password")  # a letter may have a twin that has no such small letter


def _name_of(text: str, place: _Place) -> _Name | None:
    """Return what the name says, None where it names something else: the key of a map, a token of a language."""
    kind = place.kind
    following = _FIRST_WORD.match(text, place.end, place.end + 40)
    after = following[1].lower() if following else ""
    is_head = (
        not after or not {after, *re.split("['’]", after)[:1]}.isdisjoint(_HEADS) or not text[place.start].isascii()
    )
    if kind not in _SURELY and (not is_head or text[place.end : place.end + 1] in _LINE_ENDS):
        return None
    if kind == "token":
        qualifier = _qualifier(text, place.start)
        if qualifier in (NO_TOKENS if text[place.start : place.end].lower() == "token" else NO_KEYS):
            return None
        is_sure = qualifier in KEY_OF or after in _FOR
    else:
        is_sure = (
            kind in _SURELY
            and text[place.start : place.end].lower() != "pass"
            and (is_head or text[place.end : place.end + 1] in ",.;:)")
        )
    is_pair = _PAIR.search(text[max(0, place.start - 60) : place.start]) is not None
    is_sure = (
        is_sure or is_pair or any(_kind_of(other) != kind for other in _NAMED.finditer(text, place.first, place.last))
    )
    if not is_sure and text[place.start : place.end].lower() == "key":
        return None
    return _Name(1 + is_sure, is_pair)


def _values(text: str, place: _Place) -> Iterator[tuple[int, int, int]]:
    """Yield the spans of what may be the value, and how it looks: behind the name first, then the nearest before it."""
    found = list(_VALUE.finditer(text, place.end, place.next_last))
    if place.kind in (*_STRONG, "way"):
        found += reversed(list(_VALUE.finditer(text, place.first, place.start)))
    for word in found:
        start, value = word.start(), word[0].rstrip(".:?*_")
        if value[:-1].isalpha():
            value = value.rstrip("!@")
        start += len(value) - len(value := value.lstrip("*_"))
        if place.kind == "account" and (cut := max(value.rfind("/"), value.rfind(":"))) > 0:
            start, value = start + cut + 1, value[cut + 1 :]
        if (looks := _looks_there(text, place, start, value)) != NOTHING:
            yield start, start + len(value), looks


def _looks_there(text: str, place: _Place, start: int, value: str) -> int:
    if value.isalpha():  # a word: most are looked at no further
        if place.kind != "password" or value.lower() in _HEADS or not _may_be_outright(text, place, start):
            return NOTHING
    elif MARKER_BEGINNING[1:-1] in value:
        return NOTHING
    elif is_pin(value):
        return CHOSEN if place.kind == "pin" else ODD if place.kind == "password" else NOTHING
    elif place.kind != "password" and not any("0" <= c <= "9" for c in value):
        return NOTHING
    looks = looks_of(value)
    if place.kind == "password":
        return looks
    least = 1 if _qualifier(text, place.start) in KEY_OF else _DIGITS_OF_TOKEN
    is_token = len(value) >= 8 and (looks == SURE or sum("0" <= c <= "9" for c in value) >= least)
    return looks if looks >= CHOSEN and (place.kind != "token" or is_token) else NOTHING


def _may_be_outright(text: str, place: _Place, start: int) -> bool:
    """Whether what stands before a word allows it to be a value: a quote, a sign, a copula, the name itself."""
    if text[start - 1 : start] in _QUOTED:
        return True
    if start < place.start:
        return False
    said = text[place.end : start].rstrip(_BEFORE_VALUE)
    last = said.lower().rpartition(" ")[2]
    return not said or said.endswith((*_MARKS, "ly")) or last in _LEADS


def _evidence(text: str, place: _Place, name: _Name, span: tuple[int, int], looks: int) -> int:
    """Return the sum of the evidence that a value is what the place names; 0 where nothing leads up to it."""
    start, end = span
    is_behind = start >= place.end
    is_quoted = text[max(0, start - 2) : start].rstrip("\xa0 ") == "«" or (
        text[start - 1 : start] in _QUOTED and text[end : end + 1] in _QUOTED
    )
    right = text[end : place.next_last if is_behind else place.start]
    is_next = is_behind and not text[place.end : start].strip(_BEFORE_VALUE)
    lead = _lead(text, place, start)
    if not is_behind:
        lead = max(lead, _lead_back(right))
    starts = not is_behind and lead > 0 and not text[place.first : start].strip(_BEFORE_VALUE)
    ends = starts or _ends_clause(right)
    if right.lstrip(" ").startswith("/") or lead < _least_lead(place, name, looks, ends=ends):
        return 0
    if looks <= ODD and not _said_outright(text, place, name, span, lead, is_quoted=is_quoted):
        return 0
    if (text[start:end].isdigit() and not ends and not is_next) or (place.kind == "token" and name.weight + looks < 4):
        return 0
    if start >= place.last and lead < 2 and not (ends and not text[place.last : start].strip(" \t\n.!?;" + _QUOTES)):
        return 0
    weight = 2 if is_next and place.kind == "password" else name.weight
    is_paired = name.is_pair or (is_next and looks == WORD)
    return looks + weight + max(lead, 0) + ends + is_quoted + is_paired


def _least_lead(place: _Place, name: _Name, looks: int, *, ends: bool) -> int:
    """Return how much must lead up to a value: nothing where the name and the looks leave no doubt."""
    if place.kind in _STRONG:
        return -1 if looks == SURE else 0 if name.weight > 1 else 1
    return 0 if place.kind == "token" and name.weight > 1 and looks == SURE and ends else 1


def _said_outright(text: str, place: _Place, name: _Name, span: tuple[int, int], lead: int, *, is_quoted: bool) -> bool:
    """Whether what looks like a word is a value by what the sentence says: "password for … is …", in quotes."""
    start, end = span
    if lead < 1 or not (is_quoted or _CLAUSE_END.match(text, end)):
        return False
    if start >= place.last:
        return lead == 2 and (is_quoted or text[place.end : start].strip() == "?" or ":" in text[place.last : start])
    if start < place.start:
        return is_quoted and (
            lead == 2 or text[place.first : start].rstrip(_BEFORE_VALUE).rpartition(" ")[2].lower() not in AND
        )
    between = _ASIDE.sub("", text[place.end : start])
    if not between.strip(_BEFORE_VALUE):
        is_name = text[place.start].islower() and text[start].isupper()  # "password Reset" stands in headings only
        return is_quoted or name.is_pair or is_name
    is_plain = "," not in between and "=" not in between and len(between.split()) <= 7
    is_told = lead == 2 or (is_quoted and not between.isascii())
    return (name.weight > 1 or name.is_pair) and is_told and (is_quoted or is_plain)


def _lead(text: str, place: _Place, start: int) -> int:
    """Return how much the words before a value, which begins at `start`, lead up to it; -1: they lead elsewhere."""
    said, of_name = text[place.first : start], text[place.end : start]
    bare = said.rstrip(_BEFORE_VALUE)
    if bare.endswith("=="):
        return -1
    if bare.endswith(_MARKS) or (place.kind not in (*_STRONG, "token") and bare.endswith("/")):
        return 2
    if of_name and STILL.issuperset(of_name.strip(_BEFORE_VALUE + "?").lower().split()):
        return 2 if "?" in of_name else 1  # right behind the name
    if said.rstrip(" \t" + _QUOTES).endswith((",", "?", ".", ";", "\n", "(", "，", "、", "。")):
        return 1 if of_name else 0
    words = bare.lower()[-60:].split()
    while len(words) > 1 and (words[-1] in STILL or words[-1].endswith("ly")):
        words.pop()
    last = words[-1] if words else ""
    if last in COPULAS or last in TIED_COPULAS or of_name.strip() in TIED_COPULAS:
        return 2
    if (
        last in INTO
        and place.kind in _STRONG
        and any(word.startswith(CHANGED) for word in text[place.first : place.last].lower().split())
    ):
        return 2
    if last in USED or last in AND or (of_name and last.endswith(",")):
        return 1
    if of_name and not of_name.isascii():
        return 1  # some languages have no copula
    return -1 if last in FUNCTION and len(of_name.split()) < 2 else 0


def _lead_back(right: str) -> int:
    """Return how much the words between a value and the name behind it say that it is one."""
    rest = right.lstrip(_QUOTES + " \t").lower()
    if rest.startswith(("<-", "←", "—", "- ", "->", "是", "作为")):
        return 2
    first = rest.split(" ", 1)[0]
    return 2 if first in COPULAS or first in AS else 1 if right.startswith(",") else 0


def _ends_clause(right: str) -> bool:
    rest = right.lstrip(_QUOTES)
    near = rest.lstrip()[:1]
    if not near or rest[0] in ".,;:!?)]}<|&\n\0\x1b" or (rest[0] == " " and near in "-—(<") or near > "\u2fff":
        return True
    word = _FIRST_WORD.match(rest)
    return word is not None and word[1].lower() in _GOES_ON


def _doubts(text: str, place: _Place, start: int, end: int) -> int:
    """Return what speaks against a value: talk about software, code."""
    last = max(place.last, min(end, place.next_last))
    behind = "" if start >= place.end and _ends_clause(text[end:last]) else text[end:last]
    line = text[max(place.first, *(text.rfind(sign, place.first, place.start) + 1 for sign in '\n"')) : start]
    is_of_software = _ABOUT_SOFTWARE.search(text, place.first, start) or _ABOUT_SOFTWARE.search(behind)
    is_code = _IN_CODE.search(line) or _IN_CODE.search(text, end, last)
    return 2 * (is_of_software is not None) + 2 * (is_code is not None)


def _phrase(text: str, place: _Place) -> tuple[int, int] | None:
    """Return the span of several words that a sentence tells as a passphrase or password."""
    for phrase in _PHRASE.finditer(text, place.end, place.next_last):
        words = phrase[1].split()
        is_row = reads_as_phrase(phrase[1], least=3)
        is_mixed = 2 <= len(words) <= 5 and any(c.isdigit() for c in phrase[1])
        if (is_row or is_mixed) and _lead(text, place, phrase.start()) >= 2 - is_row:
            return None if _doubts(text, place, *phrase.span(1)) else phrase.span(1)
    for phrase in _PHRASE.finditer(text, place.first, place.start):
        if reads_as_phrase(phrase[1], least=2) and _lead_back(text[phrase.end() : place.start]) == 2:
            return phrase.span(1)
    for word in _FIRST_WORD.finditer(text, place.end, place.next_last):
        row = _BARE_PHRASE.match(text, word.start(1))
        if row and _lead(text, place, row.start()) == 2 and reads_as_phrase(row[0]):
            return row.span()
    return None


def _literals(words: Iterable[str], endings: tuple[str, ...]) -> tuple[bytes, ...]:
    """Return what to look for in bytes: of what is no ASCII also the first as the escape that JSON may write."""
    spelled = sorted(
        {form for word in words for form in (word, word.capitalize(), *((word.upper(),) if len(word) < 4 else ()))}
    )
    others: list[str] = []
    for word in spelled:
        if not word.isascii():
            at = next(i for i, c in enumerate(word) if not c.isascii())
            others += [word, *([word[:at] + "\\"] if at else (f"\\u{ord(word[0]):{form}}" for form in ("04x", "04X")))]
    plain = [word for word in spelled if word.isascii()]
    return (
        *literals(*(ended(plain, endings) if endings else plain)),
        *(word.encode() for word in dict.fromkeys(others)),
    )


_ENDINGS: Final = (" ", ":", ",")
_RAW_NAME = (
    r"(?>(?<![_.$/@])[A-Za-z -]{2,16}?(?![A-Za-z0-9_(=\[/]|-[A-Za-z0-9]|\\+\"|`|:[^\s*\"'`\\%&\x1b\[^])"
    r"|[A-Za-z]{0,8}(?:[\x80-\xff]|\\+u[0-9A-Fa-f]{4}))"
)
_RAW_STRONG = raw_pattern(_RAW_NAME)
_RAW_DIGIT = r"(?:[^\s0-9\"'`,;()<>\[\]|\\:][0-9]|[0-9][^\s0-9\"'`,;()<>\[\]|\\:.]|[^\s\"\\]:[0-9]|[0-9]\.[^\s\"\\])"
"""A digit in a word, in bytes."""
_RAW_HEADS = "|".join(sorted(word for word in _HEADS if word.isascii() and word.isalpha()))
_RAW_WEAK = raw_pattern(
    rf"{_RAW_NAME}(?!\\+[nrt])(?! (?!(?i:{_RAW_HEADS})(?![A-Za-z]))[A-Za-z]+(?:[\s.,;:!?)]|\\+[nrt]))"
    rf"(?=(?:[\x00-!#-\x7f]|\"(?!\s?[,:}}\]])){{0,{REACH + 40}}}?(?:{_RAW_DIGIT}|{ENCODED_RAW}|[\x80-\xff]))"
)


def _told(kind: str, words: Iterable[str], endings: tuple[str, ...], raw: LatePattern[bytes]) -> Detector:
    return Detector(
        kind=kind,
        literals=_literals(words, endings),
        pattern=cast("LatePattern[str]", _NAMED),
        raw=raw,
        judge=told_near,
    )


_SHORT: Final = frozenset(("pw", "pwd", "mdp", "pin"))
_LONG: Final = tuple(word for kind in (*_SURELY, "way") for word in _WORDS[kind] if word not in _SHORT)
SENTENCES: Final = (
    _told("password", _LONG, (), _RAW_STRONG),
    _told("password", _SHORT, (*_ENDINGS, ".", ")", "?", "-"), _RAW_STRONG),
    _told("password", _WORDS["thing"], _ENDINGS, _RAW_WEAK),
    _told("secret", _WORDS["token"], _ENDINGS, _RAW_WEAK),
)  # fmt: skip


_PIECES: Final = (
    "pass", "pw", "mdp", "token", "secret", "key", "pin", "cred", "log", "sign", "auth", "code", "kennwort", "daten",
    "contrase", "senha", "wachtwoord", "jeton", "clave", "chave", "lock", "crypt", "get into", "wi", "wlan", "vpn",
    "sudo", "connecte", "entr",
)  # fmt: skip
"""One of these is in every name that is written in ASCII."""


def tells_credential(text: str) -> bool:
    """Return whether words contain a credential's value, or did before redaction."""
    if names_marker(text):
        return True
    if text.isascii() and not any(map(text.lower().__contains__, _PIECES)):
        return False  # as of most words, in a tenth of the time
    return any(told_near(match, ENOUGH_TO_DOUBT) is not None for match in _NAMED.finditer(text))
