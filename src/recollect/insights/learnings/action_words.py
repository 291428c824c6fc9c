"""Normalises what an action asks for, so that two wordings of one thing meet. Pure.

Unsure, two actions stay two, and an action stays open: one line too many costs less than one that is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from recollect.insights.learnings.identity import normalised
from recollect.late import late_pattern

LEAST_WORDS: Final = 2
"""An action of fewer words that count is the same as no other, and is closed by nothing that somebody says."""
_TOKEN: Final = late_pattern(r"[\w@#+]+(?:[./:-]+[\w@#+]+)*|[✅✓✔☑]")
_CASED: Final = late_pattern(r"`[^`]*`|[\w@.-]+/[\w@./-]+|[\w-]+\.[a-zA-Z]\w*|\b[a-z]+[A-Z]\w*|\b[A-Z]\b")
"""Names in which case counts: code, paths, files, `mixedCase`, single letters."""
_FILLERS: Final = frozenset(
    "the a an this that these those it its and also then please pls plz later soon next time now today tomorrow week"
    " session i i'm i've ive ve m s we we've you us me my our your should must need needs have has had to-do todo todos"
    " fixme remember remind urgent urgently asap important immediately away critical blocker blocking high priority"
    " prio let's still just is are was were be been finally der die das den dem des ein eine einen"
    " es und auch dann bitte"
    " noch später bald morgen heute wir ich du muss müssen soll sollen sollte sollten dringend wichtig sofort unbedingt"
    " umgehend kritisch erinnere mich daran mal ist sind wurde wurden werden habe hab haben wird".split()
)
_DONE: Final = frozenset("done erledigt fertig abgeschlossen ✅ ✓ ☑ ✔".split())
_ENDED: Final = frozenset(
    "finished completed fixed resolved implemented added removed updated merged released shipped deployed umgesetzt"
    " behoben hinzugefügt entfernt aktualisiert".split()
)
"""Verbs that say of anything that it is done."""
_OF_ANYTHING: Final = frozenset(
    "finish complet fix resolv implement add remov updat umsetz beheb hinzufüg entfern aktualisier".split()
)
"""Stems of those that by themselves don't tell of what."""
_DETERMINERS: Final = frozenset(
    "the a an this that these those any all each every der die das den dem ein eine".split()
)
_AGREEING: Final = frozenset("already ok okay yes ja yep great successfully schon gerade bereits jetzt x".split())
_JOINING: Final = frozenset(
    "for of in on at to from into with by as für von auf aus zu mit im am zum zur in an per up".split()
)
_LINKING: Final = ("for", "of", "für")
"""Words that make nothing else of the words around them."""
_DIRECTED: Final = frozenset(
    "from to into onto before after over than instead without not no von nach vor statt ohne in nicht kein".split()
)
"""Words that make another thing of the same words in another order."""
_IRREGULAR: Final = {
    "wrote": "write", "written": "write", "sent": "send", "made": "make", "built": "build", "ran": "run",
    "told": "tell", "bought": "buy", "got": "get", "took": "take", "taken": "take", "gave": "give", "given": "give",
    "threw": "throw", "thrown": "throw", "chose": "choose", "chosen": "choose", "kept": "keep", "rewrote": "rewrite",
    "rewritten": "rewrite", "rebuilt": "rebuild", "reran": "rerun", "paid": "pay", "found": "find",
    "brought": "bring", "geschrieben": "schreiben", "umbenannt": "umbenennen", "entschieden": "entscheiden",
    "verschoben": "verschieben", "geschlossen": "schließen", "zurückgenommen": "zurücknehmen",
}  # fmt: skip
_FRONTS: Final = "ab an auf aus bei durch ein frei her hin hinzu mit nach um vor weg weiter zu zurück zusammen"
_PARTICIPLE: Final = late_pattern(rf"(?P<front>{'|'.join(_FRONTS.split())})?ge(?P<stem>[^\W\d_]{{3,}})t")
_WITH_ZU: Final = late_pattern(rf"(?P<front>{'|'.join(_FRONTS.split())})zu(?P<stem>[^\W\d_]{{3,}}en)")
_WITHOUT_GE: Final = late_pattern(r"(?:(?:be|er|ent|ver|zer|über|unter)[^\W\d_]{3,}t|[^\W\d_]{3,}iert)")
_ENDING: Final = late_pattern(r"(?P<stem>.{3,}?)(?P<ending>ying|ied|ies|ing|ed|es|en|e|s|(?<=e[lr])n)")
_DOUBLED: Final = late_pattern(r"(?<=..)([bdgmnprt])\1$")
_LONGEST: Final = 60
"""Words of a text that are compared, at most."""


class Worded(NamedTuple):
    """A text for comparison: the stems of its significant words, in order. past: those in a form for done work.

    says_done: whether it says that something is done, in any words.
    """

    stems: tuple[str, ...]
    past: frozenset[str]
    says_done: bool


@lru_cache(maxsize=4096)
def worded(text: str) -> Worded:
    """Return the words of a text that tell what is to be done, or was. Priorities, politeness and articles don't."""
    words = _words(text)
    telling = _without_opening([word for word in words if word not in _FILLERS and word not in _AGREEING])
    return Worded(
        tuple(_stem(word) for word in telling if word not in _DONE),
        frozenset(
            _stem(word) for before, word in pairwise(("", *words)) if _is_past(word) and before not in _DETERMINERS
        ),
        any(word in _DONE or word in _ENDED for word in words) or text.lstrip(" -*").lower().startswith("[x]"),
    )


@lru_cache(maxsize=4096)
def action_key(text: str) -> tuple[str, ...]:
    """Return what two wordings of one action have in common: their words that count, in order; () for too few.

    A word more or less, or another order, may ask for something else.
    """
    words = _without_opening([word for word in _words(text) if word not in _FILLERS])
    key = tuple(_stem(word) for word in words if word not in _LINKING)
    return key if len(key) >= LEAST_WORDS else ()


def _without_opening(words: list[str]) -> list[str]:
    """Return words without those that lead up to the verb: "we need to", "remind me to"."""
    first = next((place for place, word in enumerate(words) if word not in _JOINING), len(words))
    return words[first:]


def is_told_done(action: Worded, said: Worded) -> bool:
    """Return whether words say that an action is done: all of its words in one stretch that says nothing else, and
    either a statement that it is done, or its verb in a form for done work.
    """
    if not (said.says_done or said.past & set(action.stems) - action.past):
        return False
    return names_action(action, said)


def names_action(action: Worded, said: Worded) -> bool:
    """Return whether words name just that action: all of its words, and among and after them none that names another
    thing of the kind ("the staging key").
    """
    wanted = [stem for stem in action.stems if stem not in _JOINING or stem in _DIRECTED]
    if sum(stem not in _JOINING for stem in wanted) < LEAST_WORDS:
        return False
    places = [place for place, stem in enumerate(said.stems) if stem in wanted]
    if not set(wanted) <= set(said.stems) or not places:
        return False
    among = said.stems[places[0] : places[-1] + 1]
    if any(stem not in wanted and stem not in _JOINING for stem in among):
        return False
    if _OTHERS.intersection(said.stems) - set(wanted):
        return False
    if _DIRECTED.intersection(wanted):
        return _is_in_order(wanted, among)
    return True


def asks_same(one: str, other: str) -> bool:
    """Return whether of two wordings from one talk one has all words of the other that tell what is to be done."""
    fewer, more = sorted((set(worded(text).stems) - _JOINING for text in (one, other)), key=len)
    return len(fewer) >= LEAST_WORDS and fewer <= more


def is_bare(said: Worded) -> str:
    """Return the one verb of words that say nothing but that something was done ("rotated."), "" for others."""
    verb = said.stems[0] if len(said.stems) == 1 and said.past == {said.stems[0]} else ""
    return "" if verb in _OF_ANYTHING else verb


_OTHERS: Final = frozenset(
    "stag staging stage prod product production dev develop test qa preview sandbox local old new second other another"
    " backup alt alte alter alten neu neue neuer neuen lokal ander first last".split()
)
"""Stems of words that tell one thing of a kind from another."""


def _is_in_order(wanted: Sequence[str], among: Sequence[str]) -> bool:
    """Whether the work was done in the requested direction. The verb may be anywhere."""
    rest = iter(among)
    return all(stem in rest for stem in wanted[1:])


def _words(text: str) -> list[str]:
    cased = {token for name in _CASED.findall(text) for token in _TOKEN.findall(name)}
    return [token if token in cased else normalised(token) for token in _TOKEN.findall(text.replace("'", " "))][
        :_LONGEST
    ]


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """Return a word without what its forms add: "rotated" and "rotating" are "rotat", as "rotate" is."""
    if infinitive := _WITH_ZU.fullmatch(word):
        word = infinitive["front"] + infinitive["stem"]
    word = _IRREGULAR.get(word, word)
    if not word.isalpha() or not word.islower():
        return word
    if participle := _PARTICIPLE.fullmatch(word):
        return _stem((participle["front"] or "") + participle["stem"] + "en")
    if _WITHOUT_GE.fullmatch(word):
        word = word[:-1]
    while len(word) > 3 and not word.endswith("ss") and (found := _ENDING.fullmatch(word)):
        ending = found["ending"]
        word = found["stem"] + ("y" if ending in ("ying", "ied", "ies") else "")
        if ending in ("ing", "ed"):
            word = _DOUBLED.sub(r"\1", word)
        if ending in ("ying", "ied", "ies"):
            break
    return word


def _is_past(word: str) -> bool:
    """Whether a word has a form for done work: "rotated", "wrote", "gelöscht", "rotiert"."""
    if word in _IRREGULAR or _PARTICIPLE.fullmatch(word) or _WITHOUT_GE.fullmatch(word):
        return True
    return word.isalpha() and len(word) > 4 and word.endswith("ed") and not word.endswith("eed")
