"""Tells where a person takes back or changes what was said before about the same thing. Pure.

How people put it has no end ("scrap that, I was wrong about where tests live", "no need to run the whole suite"),
and often the new word names none of the options of the old one. So both statements are compared: the new one must say
that something changes, must be about what the old one is about, and the change must go against the old one. To allow
something changes a ban, to spare something changes a duty. A word for one place or for once changes nothing elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Set
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from recollect.insights.language.pack import SCRIPTS
from recollect.insights.language.patterns import SPACELESS
from recollect.insights.language.reader import languages, words_of
from recollect.insights.subjects import READ_CHARS, says_nothing
from recollect.late import late_pattern

Change = Literal["taken_back", "ended", "spared", "allowed", "renewed"]

_CHANGES: Final = late_pattern(
    r"(?P<taken_back>"
    r"\b(?:scrap|scratch|strike|forget|ignore|disregard) (?:that|this|what (?:i|we)\b|everything i\b|the (?:rule|old))"
    r"|\b(?:i|we) (?:was|were|got it|had it) wrong\b|\bmy mistake\b|\bchanged? (?:my|our) minds?\b|\bchange of plans?\b"
    r"|\b(?:on second thoughts?|take (?:it|that) back|outdated|obsolete|out of date|(?:not )?after all)\b"
    r"|\b(?:moved|switched|migrated|changed) (?:over )?(?:to|away|from)\b|\b(?:go|going|went) back to\b"
    r"|\bvergiss (?:das|was|die|den)\b|\bhab\w* (?:mich )?.{0,20}geirrt\b|\bdoch nicht\b|\bumgestiegen\b"
    r"|\b(?:überholt|veraltet|hinfällig)\b|\boublie[zs]?\b|\bfinalement\b|\bchangé d['’]avis\b"
    r"|\bolv[ií]d\w*|\bcambi(?:é|amos) de (?:idea|opinión)\b|\besque(?:ce|ça)\b|\bmud(?:ei|amos) de ideia\b"
    r"|\bзабудь|\bпередумал|算了|忘掉|やっぱり)"
    r"|(?P<spared>\b(?:do not|don['’]t|need not|needn['’]t|no) (?:need|have) to\b|\bno need (?:to|for)\b|\bneedn['’]t\b"
    r"|\b(?:not|isn['’]t|aren['’]t) (?:necessary|needed|required)\b|\bstop(?= \w+ing\b)"
    r"|\b(?:musst|müssen|brauchst|braucht) (?=.{0,60}\bnicht\b)|\b(?:nicht|kein\w*) (?:mehr )?(?:nötig|notwendig)\b"
    r"|\b(?:pas|plus) (?:besoin|nécessaire|la peine)\b|\bno hace falta\b|\bno es necesario\b"
    r"|\bnão (?:precisa|é preciso)\b"
    r"|\bне (?:нужно|надо|обязательно)\b|不用|不需要|不必|必要はな|しなくて(?:も)?いい)"
    r"|(?P<ended>\b(?:no longer|any ?more|any longer|enough (?:with|of))\b"
    r"|\b(?:we|i)(?:['’]ve| have)? (?:dropped|retired|abandoned|gave up|got rid of|said goodbye to)\b"
    r"|\b(?:nicht|kein\w*) mehr\b|\bne .{1,30}\bplus\b|\bya no\b"
    r"|\bdeja\w* de\b|\bnão .{0,30}\bmais\b|\bбольше не\b|不再|もう.{1,12}ない)"
    r"|(?P<allowed>\b(?:it['’]s|it is|that['’]s|is|are) (?:now |actually |perfectly |totally )?"
    r"(?:fine|ok|okay|allowed|all ?right)\b|\b(?:you|we|agents)(?:['’]re| are)? (?:can|may|allowed to)\b"
    r"|\bfeel free to\b|\b(?:du|ihr|wir) (?:darfst|dürft|dürfen|kannst|könnt|können)\b"
    r"|\bist (?:jetzt )?(?:ok|okay|erlaubt)\b"
    r"|\b(?:tu peux|vous pouvez|on peut)\b|\b(?:puedes|podemos|se puede)\b|\b(?:você pode|podemos|pode)\b"
    r"|\b(?:можно|разрешено|можешь)\b|可以|允许|てもいい|てもよい)"
    r"|(?P<renewed>\b(?:from (?:now|here) on|starting (?:now|today)|instead(?! of)|now|nowadays"
    r"|these days|again|by now)\b"
    r"|\b(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|jetzt|künftig|stattdessen|wieder)\b"
    r"|\b(?:maintenant|désormais|dorénavant)\b|\b(?:ahora|a partir de ahora|de ahora en adelante)\b"
    r"|\b(?:agora|daqui (?:para|pra) frente)\b|\b(?:теперь|отныне|снова)\b|现在|从现在|以后|改用|今後|これから|今は)",
    re.IGNORECASE,
)
_TURNED_DOWN: Final = late_pattern(
    r"\b(?:not|no|kein\w*) (?P<kept>[^,.;:]{2,30}?) (?:any ?more|any longer|mehr)\b"
    r"|\bno longer (?:use |do |want |need )?(?P<longer>[^,.;:]{2,30})"
    r"|\bstop \w+ing (?P<stopped>[^,.;:]{2,30})"
    r"|\b(?:moved|switched|migrated) (?:over )?(?:away )?from (?P<left>[^,.;:]{2,30}?)(?= to\b|[,.;:]|\Z)"
    r"|(?P<gone>[^\s,.;:]{2,30}) (?:is|are) (?:now )?(?:outdated|obsolete|veraltet|überholt)\b",
    re.IGNORECASE,
)
_WHERE: Final = late_pattern(
    r"\b(?:for|in|on|within|inside|für|im|in|bei|dans|pour|para|в|для)\s+"
    r"(?:the |our |this |these |that |all |every |each |der |die |das |den |dem |les? |la |los |las |el )?"
    r"(?P<place>[\w./-]+)",
    re.IGNORECASE,
)
_ONCE: Final = late_pattern(
    r"\b(?:this time|just (?:this )?once|for (?:this|that) (?:pr|commit|one|task|branch|session)|(?:this|that) one"
    r"|only (?:there|here|in|for)|for now|for the moment|today|except|unless|one-off|exceptionally|temporarily)\b"
    r"|\b(?:diesmal|dieses mal|nur (?:hier|dort|heute)|ausnahmsweise|vorerst|außer)\b"
    r"|\b(?:cette fois|seulement|sauf|pour l['’]instant)\b|\b(?:esta vez|solo aquí|por ahora|salvo)\b"
    r"|\b(?:desta vez|só aqui|por enquanto|exceto)\b|\b(?:в этот раз|только здесь|пока что|кроме)\b"
    r"|这次|這次|这一次|暂时|今回",
    re.IGNORECASE,
)
_COMPLAINS: Final = late_pattern(
    r"\?\s*$|\b(?:fix|broken|fail(?:s|ed|ing)?|crash\w*|bugs?|errors?|forgot|why|kaputt|schau|corrige|arregla|почему)\b"
    r"|\b(?:no longer|any ?more|any longer|not|n['’]t)\b.{0,20}\b"
    r"(?:valid|available|works?|working|runs?|passe?s?|builds?)\b",
    re.IGNORECASE,
)
_REFUSES: Final = late_pattern(
    r"\b(?:not|don['’]?t|doesn['’]t|never|no|avoid|stop|without|nie|niemals|nicht|kein\w*|jamais|pas|nunca|jamás|não"
    r"|нельзя|никогда|не)\b|不|别|別|勿|禁止|ない",
    re.IGNORECASE,
)
_STANDS: Final = late_pattern(
    r"\b(?:always|every\w*|each|all|any|must|only|from now on|by default|we (?:always )?use|i want|remember"
    r"|immer|jede\w*|alle\w*"
    r"|grundsatzlich|ab jetzt|ab sofort|toujours|chaque|tou[ts]\w*|siempre|cada|tod[oa]s?|sempre"
    r"|всегда|кажд\w+|все\w*)\b"
    r"|总是|總是|一律|每|都|必ず|いつも|常に|すべて",
    re.IGNORECASE,
)
"""Says that something holds for all times, or for all of its kind. Read without accents."""
_RULE: Final = late_pattern(
    r"\b(?:applies|holds|counts|forbidden|banned|ban|rule|gilt|verboten|regel)\b", re.IGNORECASE
)
_CLAUSE: Final = re.compile(r"[,;:!?。，；：、—–]|\.(?=\s|\Z)|\s-\s")
_TOKEN: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_A-Za-z]+|[^\W\d_]+")
_WORD: Final = re.compile(r"[^\W_]+(?:_[^\W_]+)*")
_ENDING: Final = re.compile(
    r"(.{3,}?)(?:ings?|ed|ungen|ung|ations?|ers?|es|en|em|s|e|ados?|adas?|ees?|ez|ar|as|os|a|o)", re.DOTALL
)
_HERE: Final = frozenset(
    "here this repository repo project codebase code future general hier everything everywhere everyone anything"
    " nothing all every each don let thought".split()
)
_LIGHT: Final = frozenset("test run file function line write method version check change update".split())
"""Words that stand in much of what is said about code, and still tell what a rule is about."""
_SAME: Final[Mapping[str, str]] = {
    one: names[0]
    for names in map(
        str.split,
        (
            "database db datenbank basededonnees", "dependency dep deps abhangigkeit abhangigkeiten dependencia",
            "package packages pkg pkgs paket pakete paquet paquets paquete paquetes pacote pacotes",
            "documentation doc docs dokumentation documentacion documentacao", "configuration config konfiguration",
            "message msg nachricht nachrichten mensaje mensajes mensagem mensagens", "environment env", "directory dir",
            "answer antworte antworten antwort reply replies respond response reponds reponse responde respuesta"
            " resposta",
            "comment kommentar kommentare kommentaren commentaire commentaires comentario comentarios",
        ),
    )
    for one in names
}  # fmt: skip
"""Words of one meaning, short, long and in several languages: who writes German may go on in English."""
_VALUES: Final[Mapping[str, tuple[str, str]]] = {
    one: (kind, names[0])
    for kind, groups in {
        "language": (
            "english englisch anglais ingles английский английском", "german deutsch allemand aleman alemao немецкий",
            "french franzosisch francais frances", "spanish spanisch espagnol espanol espanhol",
            "portuguese portugiesisch portugais portugues", "russian russisch русский русском",
            "chinese chinesisch chinois chino chines", "japanese japanisch japonais japones", "italian italienisch",
        ),
        "case": ("camelcase", "snakecase snake_case", "pascalcase", "kebabcase kebab"),
        "indentation": ("tabs tab tabulations", "spaces leerzeichen espaces espacios"),
    }.items()
    for names in map(str.split, groups)
    for one in names
}  # fmt: skip
"""Values of which one thing has one only, with their kind: to name another one changes it."""
_LEAST_SHARED: Final = 2
_SOME_SHARED: Final = 1.5
_NEARLY_ALL: Final = 0.6
_LEAST_OF_CLAUSE: Final = 0.3
_MOST_OF_IT: Final = 0.5


class ComparedRule(NamedTuple):
    """What a statement says, in comparable form.

    words: its stems with their weights. is_standing: it says that it holds for all times or all of something. values:
    those of `_VALUES` that it names, in order.
    """

    words: Mapping[str, float]
    is_ban: bool
    is_standing: bool
    values: tuple[tuple[str, str], ...]

    @property
    def weight(self) -> float:
        return sum(self.words.values())


class NamedPlace(NamedTuple):
    """Where a clause says that it counts, and the other words of the clause."""

    words: frozenset[str]
    rest: frozenset[str]


class Revision(NamedTuple):
    """A statement that takes back or changes an earlier one, in comparable form.

    changes: how. changing: the words of each clause that says so. refused: those of clauses that refuse something.
    places: where it counts. turned_down: the words of each thing that it names as given up. is_for_rule: it speaks of
    a rule or ban itself.
    """

    said: ComparedRule
    changes: frozenset[str]
    changing: tuple[frozenset[str], ...]
    refused: frozenset[str]
    is_for_rule: bool
    places: tuple[NamedPlace, ...]
    turned_down: tuple[frozenset[str], ...]

    def is_of(self, earlier: ComparedRule) -> bool:
        """Return whether it is about the earlier statement and goes against it.

        Not where it is for a place that the earlier one does not name: "no tabs in Makefiles any more" leaves the rule.
        """
        words = earlier.words.keys()
        if words.isdisjoint(self.said.words) and not self.turned_down:
            return False
        if any(words.isdisjoint(place) and not (rest and words.isdisjoint(rest)) for place, rest in self.places):
            return False
        shared = self.said.words.keys() & words
        if (
            earlier.is_standing
            and not earlier.is_ban
            and any(self._turns_down(names, earlier) for names in self.turned_down)
        ):
            return True
        weight = sum(earlier.words[word] for word in shared)
        least = min(self.said.weight, earlier.weight)
        apart = sum(earlier.words.get(_stem(value), 0) for value in self._replaced(earlier))
        is_enough = weight >= (1 if earlier.is_standing else _SOME_SHARED)
        is_same = is_enough and weight >= _MOST_OF_IT * (earlier.weight - apart)
        is_same = is_same or (weight >= _LEAST_SHARED and 3 * weight >= least)
        is_same = is_same or (weight >= _SOME_SHARED and weight >= _MOST_OF_IT * self.said.weight)
        return is_same and self._is_where_it_changes(words) and self._goes_against(earlier, shared)

    @staticmethod
    def _turns_down(names: Set[str], earlier: ComparedRule) -> bool:
        """Return whether something that is given up is much of what the earlier one is about."""
        weight = sum(earlier.words.get(name, 0) for name in names)
        return names <= earlier.words.keys() and weight >= _LEAST_OF_CLAUSE * earlier.weight

    def _is_where_it_changes(self, words: Set[str]) -> bool:
        """Return whether a clause that tells of the change is about these words, and not about much else."""
        return any(len(clause & words) >= _LEAST_OF_CLAUSE * len(clause) for clause in self.changing if clause & words)

    def _goes_against(self, earlier: ComparedRule, shared: set[str]) -> bool:
        if "taken_back" in self.changes or self._replaced(earlier):
            return True
        is_refused = not shared.isdisjoint(self.refused)
        if earlier.is_ban:
            if not self.changes.isdisjoint(("spared", "ended")):
                return "ended" in self.changes and self.is_for_rule
            weight = sum(earlier.words[word] for word in shared)
            return not is_refused and ("allowed" in self.changes or weight >= _NEARLY_ALL * earlier.weight)
        return not self.changes.isdisjoint(("spared", "ended")) or ("renewed" in self.changes and is_refused)

    def _replaced(self, earlier: ComparedRule) -> list[str]:
        """Return the values that the earlier one names and for which this one names another of their kind first."""
        has = dict(reversed(self.said.values))
        had = {kind for kind, value in earlier.values if has.get(kind) == value}
        return [value for kind, value in earlier.values if kind in has and kind not in had]


@lru_cache(maxsize=4096)
def statement_of(text: str) -> ComparedRule:
    """Return a statement in comparable form."""
    text = _folded(text[:READ_CHARS])
    first = next((clause for clause in _CLAUSE.split(text) if len(clause.split()) > 1), "")
    first = " ".join(first.split()[:5])
    named = (_VALUES[word] for word in map(str.lower, _WORD.findall(text)) if word in _VALUES)
    is_ban = _REFUSES.search(first) is not None
    return ComparedRule(
        dict(_weighed(text)), is_ban, is_ban or _STANDS.search(text) is not None, tuple(dict.fromkeys(named))
    )


@lru_cache(maxsize=4096)
def revision_in(text: str) -> Revision | None:
    """Return a statement as a revision, None if it does not say that something changes, or only for once."""
    text = text[:READ_CHARS]
    changes = frozenset(found.lastgroup or "" for found in _CHANGES.finditer(text))
    said = statement_of(text)
    names_two = len({kind for kind, _ in said.values}) < len(said.values)
    if not (changes or names_two) or _ONCE.search(text) or _COMPLAINS.search(text):
        return None
    refused: set[str] = set()
    changing: list[frozenset[str]] = []
    places: list[NamedPlace] = []
    is_french = "fr" in languages(text.lower())
    for clause in _CLAUSE.split(text):
        plain = _CHANGES.sub(" ", clause)
        words = frozenset(dict(_weighed(_folded(plain))))
        is_refusal = _REFUSES.search(clause) is not None
        if is_refusal:
            refused |= words
        if is_refusal or plain != clause or not changes or "taken_back" in changes:
            changing.append(words)
        for found in _WHERE.finditer(plain):
            place = frozenset(dict(_weighed(_folded(found["place"]))))
            is_place = "/" not in found["place"] and not (is_french and found[0][:2].lower() == "on")
            if place and is_place and found["place"].lower() not in _VALUES:
                places.append(NamedPlace(place, words - place))
    named = (frozenset(dict(_weighed(_folded(found[found.lastgroup or 0])))) for found in _TURNED_DOWN.finditer(text))
    plain = _folded(_CHANGES.sub(" ", text))
    return Revision(
        said._replace(words=dict(_weighed(plain))), changes, tuple(changing), frozenset(refused),
        _RULE.search(text) is not None, tuple(places), tuple(filter(None, named)),
    )  # fmt: skip


def _weighed(text: str) -> Iterator[tuple[str, float]]:
    """Yield the stems of the words of content with their weights, of a text without accents."""
    for token in _TOKEN.findall(text):
        word = token.lower()
        is_light = word in _LIGHT or word.removesuffix("s") in _LIGHT
        if word in _HERE or (not is_light and (word in _stop_words() or says_nothing(word))):
            continue
        if word[0] >= SPACELESS:  # no blanks between words: pairs of signs stand for them
            yield from ((word[at : at + 2], 0.5) for at in range(max(1, len(word) - 1)))
        elif len(word) > 1:
            yield _stem(word), 0.5 if is_light else 1.0


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(_folded(word) for code in SCRIPTS for word in words_of(code).stop_words)


def _folded(text: str) -> str:
    """Return a text without accents."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    """Return a word without what inflection adds, roughly, in any of the languages: "committing" → commit."""
    word = _VALUES[word][1] if word in _VALUES else _SAME.get(word, word)
    if not word.isascii():
        return word[:5]
    word = word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word
    found = _ENDING.fullmatch(word)
    word = found[1] if found else word
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
