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

Change = Literal["unsaid", "moved", "ended", "spared", "allowed", "lasting", "renewed"]

_CHANGING: Final = (
    r"\b(?:"
    r"(?P<unsaid>"
    r"(?<!n['’]t )(?<!not )(?<!never )(?:scrap|scratch|strike|forget|ignore|disregard|drop|lift|cancel) (?:about\b"
    r"|(?:it|this|that)(?= ?[,.;:!–-]|\Z| (?:and|i|we|about)\b)|what (?:i|we)\b|everything i\b|the (?:old\b|[\w-]+ )?"
    r"(?=(?:[\w-]+ )?(?:rule|limit|ban|policy|convention|requirement|idea|plan)\b))"
    r"|never ?mind(?! if| that| about)\b|(?:vergiss|vergesst) (?:das|was|die|den|es)\b|oublie[zs]?\b"
    r"|laisse[zs]? tomber\b|olv[ií]d\w*|esque(?:ce|ça)\b|deixa pra lá\b|забудь|let['’]?s not(?= ?[,.!;]|\Z)"
    r"|(?:on reflection|decided against|(?<!not a )bad idea|too strict|had enough of|(?:fed up|done) with|tired of)\b"
    r"|(?:was|were) (?:overkill|nonsense|silly|a mistake|mistakes)\b|(?:isn['’]t|aren['’]t|not) worth\b"
    r"|(?:anders überlegt|umentschieden|schlechte idee|blöde idee|nehme? .{0,20}zurück)\b"
    r"|(?:réflexion faite|tout compte fait|mauvaise idée|en fait non|pensándolo bien|mejor no|mala idea|me equivoqué)\b"
    r"|(?:i|we) (?:was|were|got it|had it) wrong\b|my mistake\b|changed? (?:my|our) minds?\b|change of plans?\b"
    r"|reconsider(?:ed)?\b|rethought\b|(?:on second thoughts?|take (?:it|that) back|(?:not )?after all)\b"
    r"|doch (?:nicht|lieber|wieder)\b|hab\w* (?:mich )?.{0,20}geirrt\b|finalement\b|changé d['’]avis\b"
    r"|cambi(?:é|amos) de (?:idea|opinión)\b|mud(?:ei|amos) de ideia\b|передумал"
    r"|(?:correction|korrektur|corrección)(?= ?[:,]))"
    r"|(?P<moved>(?:outdated|obsolete|out of date)\b"
    r"|(?:is|are|was|were) (?:now )?(?:dead|history|retired|decommissioned|shut down|lifted|revoked|abolished"
    r"|over(?= ?[,.;]|\Z))"
    r"|(?:abgeschaltet|abgeschafft|aufgehoben|gestrichen|supprimée?s?|abandonnée?s?)\b"
    r"|(?:ist|sind) (?:jetzt |nun )?(?:geschichte|vorbei|passé|raus|tot)\b|flieg\w* (?:\w+ )?raus\b"
    r"|(?:we|i)(?:['’]ve| have)? (?:moved|migrated)(?= [^,.;:]{2,30} to\b)"
    r"|(?:am|are|is|['’]re|['’]m) back (?:to|on|with)\b|zurück zu[rm]?\b|revenus? à\b|volv\w+ a\b"
    r"|(?:moved|switched|migrated|changed) (?:over )?(?:to|away|from)\b"
    r"|(?:replaced|swapped(?: out)?) [^,.;:]{2,30} (?:with|by|for)\b"
    r"|(?:go|going|gone|went) back to (?!the [^,.;]{0,30}\b"
    r"(?:task|issue|bug|branch|ticket|question|commit|version|state|point)\b)"
    r"|(?:move|moving|migrate|migrating|switch|switching) (?:[^,.;:]{2,40} )?(?:off|away from)(?= \w)"
    r"|(?:was|were|got|been) (?:replaced|superseded|deprecated)\b|no longer exists?\b"
    r"|(?:ersetzt|abgelöst|umgestellt|gewechselt|remplacée?s?|reemplazad[oa]s?|reemplazamos|passée?s? à|pasamos a)\b"
    r"|(?:hat|haben) sich erledigt\b|umgestiegen\b|(?:überholt|veraltet|hinfällig)\b)"
    r"|(?P<spared>(?:do not|don['’]t|need not|needn['’]t|no) (?:need|have) to\b|no need (?:to|for)\b|needn['’]t\b"
    r"|(?:not|isn['’]t|aren['’]t) (?:necessary|needed|required)\b|(?:stop(?:ped)?|quit)(?= \w+ing\b)"
    r"|not (?:every|all|each) [\w ]{2,30}?(?:needs?|has to|have to|must|requires?)\b"
    r"|(?:don['’]t|do not) bother\b|no point in\b"
    r"|(?:don['’]t|do not|doesn['’]t) (?:care|matter)(?! how)\b|not (?:mandatory|compulsory|a must)\b|up to you\b"
    r"|(?:can|may) (?:be (?:skipped|omitted|dropped|left out|ignored)|(?:now )?(?:stop|skip|omit|leave out|forget))\b"
    r"|(?:may|can|darf|dürfen|können) (?:(?:now|again|be|get|wieder|jetzt|auch) )*"
    r"(?:longer|shorter|bigger|larger|more|less|länger|kürzer|größer|mehr|weniger)\b"
    r"|(?:egal|weglassen|entfällt|entfallen|fällt weg|facultati\w+|opcional(?:es)?|da igual|basta con)\b"
    r"|muss nicht (?:mehr )?sein\b|nicht (?:mehr )?(?:so )?wichtig\b|tu peux (?:arrêter|cesser|laisser)\b"
    r"|puedes dejar\b|(?:is|are) (?:enough|sufficient)\b|reich(?:t|en)\b|genüg\w+\b|suffi(?:t|sent)\b"
    r"|(?:unnecessary|superfluous|optional|überflüssig|unnötig)\b|(?:hör|hört) auf\b|arrête[zr]? d['’e]"
    r"|inutiles?\b|innecesari[oa]s?\b|(?:musst|müssen|brauchst|braucht) (?=.{0,60}\bnicht\b)"
    r"|(?:nicht|kein\w*) (?:mehr )?(?:nötig|notwendig)\b|(?:pas|plus) (?:besoin|nécessaire|la peine)\b"
    r"|no hace falta\b|no es necesario\b|não (?:precisa|é preciso)\b|не (?:нужно|надо|обязательно)\b)"
    r"|(?P<ended>(?:no longer|no more (?!than\b)|any ?more|any longer|enough (?:with|of))\b"
    r"|(?:we|i)(?:['’]ve| have)? (?:dropped|retired|abandoned|gave up|got rid of|said goodbye to|ditched"
    r"|dumped|scrapped|killed|removed)\b"
    r"|(?:nicht|kein\w*) mehr\b|ne .{1,30}\bplus\b|ya no\b|no \w+ más\b|deja\w* de\b|não .{0,30}\bmais\b"
    r"|больше не\b|(?<!\w )plus d(?:e\b|['’]))"
    r"|(?P<allowed>"
    r"(?:it['’]s|it is|that['’]s|is|are) (?:now |actually |perfectly |totally )?(?:fine|ok|okay|allowed|al?l ?right)\b"
    r"|may (?:stay|remain)\b|back on the table\b|(?:can|may) (?:now |again )?be\b|no (?:objections?|problem)\b"
    r"|(?:kein problem|nichts (?:mehr )?dagegen|von mir aus|darf|dürfen|pas (?:de|un) problème|autorisée?s?)\b"
    r"|(?:no pasa nada|no me importa|está bien)\b|(?:don['’]t|do not) mind\b"
    r"|(?:welcome|acceptable|erwünscht|willkommen|gestattet|bienvenue?s?|bienvenid[oa]s?)\b"
    r"|(?:allowed|permitted|erlaubt|permise?s?|permitid[oa]s?)\b"
    r"|(?:you|we|agents)(?:['’]re| are)? (?:can|may|allowed to)\b|feel free to\b"
    r"|(?:du|ihr|wir) (?:darfst|dürft|dürfen|kannst|könnt|können)\b"
    r"|(?:darfst|dürft|dürfen|kannst|könnt|können) (?:du|ihr|wir)\b"
    r"|(?:ist|sind) (?:jetzt |wieder |doch )?(?:ok|okay|in ordnung)\b|(?:tu peux|vous pouvez|on peut)\b"
    r"|(?:puedes|podemos|se puede)\b|(?:você pode|podemos|pode)\b|(?:можно|разрешено|можешь)\b)"
    r"|(?P<lasting>(?:from (?:now|here) on|starting (?:now|today)|instead(?! of)|these days|nowadays)\b"
    r"|(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|künftig|stattdessen)\b|(?:désormais|dorénavant)\b"
    r"|(?:a partir de ahora|de ahora en adelante)\b|daqui (?:para|pra) frente\b|отныне\b)"
    r"|(?P<renewed>(?:now|again|by now|jetzt|wieder|maintenant|ahora|agora|теперь|снова)\b)"
    r")|(?=[^\x00-\x7f])(?:"
    r"(?P<unsaid_>算了|忘掉|やっぱり)"
    r"|(?P<spared_>不用|不需要|不必|必要はな|しなくて(?:も)?いい)"
    r"|(?P<ended_>不再|もう.{1,12}ない)"
    r"|(?P<allowed_>可以|允许|てもいい|てもよい)"
    r"|(?P<lasting_>从现在|以后|今後|これから)"
    r"|(?P<renewed_>现在|改用|今は)"
    r")"
)
_CHANGES: Final = late_pattern(_CHANGING, re.IGNORECASE)
_LOW_CHANGES: Final = late_pattern(_CHANGING)
"""The same of a text in lower case, in a quarter of the time."""
_TURNED_DOWN: Final = late_pattern(
    r"\b(?:not|no|kein\w*) (?P<kept>[^,.;:]{2,30}?) (?:any ?more|any longer|mehr)\b"
    r"|\bno longer (?:use |do |want |need )?(?P<longer>[^,.;:]{2,30})"
    r"|\bstop \w+ing (?P<stopped>[^,.;:]{2,30})"
    r"|\b(?:moved|switched|migrated) (?:over )?(?:away )?from (?P<left>[^,.;:]{2,30}?)(?= to\b|[,.;:]|\Z)"
    r"|\b(?:replaced|swapped(?: out)?) (?P<swapped>[^,.;:]{2,30}?) (?:with|by|for)\b"
    r"|(?P<gone>[^,.;:]{2,30}) (?:is|are|was|were|ist|sind|hat sich|haben sich) (?:now )?"
    r"(?:outdated|obsolete|gone|dead|history|retired|decommissioned|shut down|geschichte|vorbei|passé|raus|tot"
    r"|abgeschaltet|abgeschafft|veraltet|überholt|erledigt)\b"
    r"|\bvon (?P<zuruck>[^,.;:]{2,30}?) (?:wieder )?(?:zurück )?zu\b",
    re.IGNORECASE,
)
_ACT: Final = late_pattern(
    r"\b(?:can|may(?! (?:stay|remain))|(?:fine|ok|okay|allowed|al?l ?right|free) to|darfst|dürft|dürfen|kannst"
    r"|könnt|können|peux|pouvez|peut|puedes?|podemos|pode)\b",
    re.IGNORECASE,
)
_OF_ONE: Final = late_pattern(
    r"\b(?:the|this|that|der|die|das|dieser?) [^,.;:]{2,40} (?:is|are|looks?|ist|sind) "
    r"(?:fine|ok|okay|good|al?l ?right)\b(?! to\b)",
    re.IGNORECASE,
)
"""Says of one thing, not of all of a kind, that it is as it should be."""
_TELLS_OF_ONE: Final = late_pattern(
    r"\W*(?:the|this|that|der|die|das|dieser?|le|la|el|ce|cette|este|esta)\b.* "
    r"(?:is|isn['’]t|was|wasn['’]t|ist|war|est|está)\b",
    re.IGNORECASE,
)
_WHERE: Final = late_pattern(
    r"(?<!bleiben )(?<!bleibe )\b(?:for|in|on|within|inside|für|im|in|bei|dans|pour|para|в|для)\s+"
    r"(?:the |our |this |these |that |all |every |each |der |die |das |den |dem |les? |la |los |las |el )?"
    r"(?P<place>[\w./-]+)",
    re.IGNORECASE,
)
_ONCE: Final = late_pattern(
    r"\b(?:this time|just (?:this )?once|for (?:this|that) (?:pr|commit|one|task|branch|session)|(?:this|that) one"
    r"|the (?:first|second|third|last|other|existing|current|wrong|right) \w+|die (?:letzte|erste|zweite|falsche) \w+"
    r"|d(?:er|as) (?:letzte|erste|zweite|falsche) \w+|only (?:there|here|in|for)|for now"
    r"|for the moment|(?<!from )today|except|unless|one-off|exceptionally"
    r"|temporarily|right now|at the moment)\b"
    r"|\b(?:diesmal|dieses mal|nur (?:hier|dort|heute)|ausnahmsweise|vorerst|außer)\b"
    r"|\b(?:cette fois|seulement|sauf|pour l['’]instant)\b|\b(?:esta vez|solo aquí|por ahora|salvo)\b"
    r"|\b(?:desta vez|só aqui|por enquanto|exceto)\b|\b(?:в этот раз|только здесь|пока что|кроме)\b"
    r"|这次|這次|这一次|暂时|今回",
    re.IGNORECASE,
)
_COMPLAINS: Final = late_pattern(
    r"\?\s*$|\b(?:update|upgrade|refresh|renew|aktualisiere?|bring) (?:it|them|sie|ihn|es)\b"
    r"|\b(?:broken|fail(?:s|ed|ing)|crash\w*|forgot|why|kaputt|warum|pourquoi|почему)\b"
    r"|(?:\A|[,;:.!]|\band|\bund|\by|\bet)\s*(?:please |bitte |just )?"
    r"(?:fix|check (?:it|that|why)|have a look|look (?:at|into)|schau|guck|corrige|arregla|arréglalo|regarde|mira)\b"
    r"|\bno longer (?!appl|count|hold|exist|need|matter)\w+s\b"
    r"|\b(?:doesn['’]t|does not) (?!appl|count|hold|exist|need|matter|have)\w+ (?:any ?more|any longer)\b"
    r"|\b(?:no longer|any ?more|any longer|not|n['’]t|nicht mehr|plus|ya no)\b[^,.;:]{0,20}\b"
    r"(?:valid|available|appears?|shows?|works?|working|runs?|passe\w*|builds?|loads?|läuft"
    r"|laufen(?! (?:zu )?lassen)|funktionier\w*|fonctionne\w*|funciona\w*)\b",
    re.IGNORECASE,
)
_REFUSES: Final = late_pattern(
    r"\b(?:not|dont|\w+n['’]t|never|no|avoid|stop|skip|drop|ditch|nie|niemals|nicht|kein\w*|jamais|pas|nunca|jamás|não"
    r"|нельзя|никогда|не)\b|不|别|別|勿|禁止|ない",
    re.IGNORECASE,
)
_ONLY: Final = late_pattern(
    r"\b(?:only|nothing but|nur|ausschliesslich|seulement|uniquement|solo|solamente)\b", re.IGNORECASE
)
_WITHOUT: Final = late_pattern(r"\b(?:without|sans|ohne|sin|sem|без)\b", re.IGNORECASE)
_STANDS: Final = late_pattern(
    r"\b(?:always|every\w*|each|all|any|must|only|from now on|by default|we (?:always )?use|i want|remember"
    r"|immer|jede\w*|alle\w*"
    r"|before you|whenever|grundsatzlich|ab jetzt|ab sofort|toujours|chaque|tou[ts]\w*|siempre|cada|tod[oa]s?|sempre"
    r"|всегда|кажд\w+|все\w*)\b"
    r"|\b(?:wir (?:benutzen|nutzen|verwenden)|on utilise|usamos)\b"
    r"|\A\W*(?:please |bitte )?(?:use|(?:i )?prefer|nimm|nutze?|verwende|benutze|utilise|usa)\b"
    r"|总是|總是|一律|每|都|必ず|いつも|常に|すべて",
    re.IGNORECASE,
)
"""Says that something holds for all times, or for all of its kind. Read without accents."""
_CIRCUMSTANCE: Final = late_pattern(
    r"\b(?:before|after|when(?:ever)?|if|once|until|bevor|nachdem|wenn|sobald|avant|apres|quand|antes|despues|cuando)\b"
    r"[^,.;:]*",
    re.IGNORECASE,
)
"""When something is to be done. Read without accents."""
_RULE: Final = late_pattern(
    r"\b(?:applies|holds|counts|forbidden|banned|ban|rule|gilt|verboten|regel)\b", re.IGNORECASE
)
_POINTS_BACK: Final = late_pattern(
    r"\b(?:scrap|scratch|forget|undo|revert) (?:that|it|this)(?= ?[,.!;:–-]|\Z)|\blet['’]?s not(?= ?[,.!;]|\Z)"
    r"|\b(?:vergiss|vergesst) (?:das|es)(?= ?[,.!;]|\Z)|\b(?:nein|nee), doch nicht\b|\boublie[zs]? (?:ça|cela)\b"
    r"|\bolv[ií]da(?:lo| eso)\b",
    re.IGNORECASE,
)
_CLAUSE: Final = late_pattern(r"[,;:!?。，；：、—–]|\.(?=\s|\Z)|\s-\s")
_TOKEN: Final = late_pattern(
    r"[A-Z]{2,}(?=s\b)|[A-Za-z]\d+[a-z]*|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_A-Za-z]+|[^\W\d_]+"
)
_WORD: Final = late_pattern(r"[^\W_]+(?:_[^\W_]+)*")
_ENDING: Final = late_pattern(
    r"(.{3,}?)(?:ings?|ed|ungen|ung|ations?|ers?|es|en|em|s|e|ados?|adas?|ees?|ez|ar|as|os|a|o)", re.DOTALL
)
_HERE: Final = frozenset(
    "here this repository repo project codebase code future general hier everything everywhere everyone anything"
    " nothing all every each don isn aren doesn didn wasn weren hasn haven won let thought need needed required"
    " necessary said told asked skip drop ditch gone"
    " nehm nehmen nimm bleib bleiben mir dir erst bevor vorher einfach los doch wieder niemals immer sind"
    " verwende verwenden benutze benutzen nutze nutzen utilise utiliser usa usar usamos actually first prefer"
    " hagas hacer haz hago brauche brauchen braucht am dies diese diesem diesen dieser dieses".split()
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
            "edit touch change modify alter andern andere bearbeiten anfassen modifier modifie toucher touche tocar"
            " toques toca modificar modifica",
            "message msg nachricht nachrichten mensaje mensajes mensagem mensagens", "environment env", "directory dir",
            "ask check confirm consult frag frage fragen ruckfrage nachfragen",
            "answer antworte antworten antwort reply replies respond response reponds reponse responde respuesta"
            " resposta",
            "comment kommentar kommentare kommentaren commentaire commentaires comentario comentarios",
        ),
    )
    for one in names
}  # fmt: skip
"""Words of one meaning, short, long and in several languages: who writes German may go on in English."""
_COUNT: Final = "count"
_VERSION: Final = "version"
_VERSIONS: Final = late_pattern(r"(?<![\w.])\d+(?:\.\d+)+")
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
        "quotes": ("single simple simples einfache", "double doubles doppelte dobles"),
        "variety": ("american amerikanisch", "british uk britisch"),
        _COUNT: (
            "2 two zwei deux dos", "3 three drei trois tres", "4 four vier quatre cuatro", "8 eight acht huit ocho",
        ),
    }.items()
    for names in map(str.split, groups)
    for one in names
}  # fmt: skip
"""Values of which one thing has one only, with their kind: to name another one changes it."""
_LEAST_SHARED: Final = 2
_SOME_SHARED: Final = 1.5
_NEARLY_ALL: Final = 0.6
_LEAST_OF_CLAUSE: Final = 0.3
_LEAST_OF_ALL: Final = 0.25
_MOST_OF_IT: Final = 0.5


class ComparedRule(NamedTuple):
    """What a statement says, in comparable form.

    words: its stems with their weights, in order. main: those that do not only tell when. banned: those of clauses that
    refuse something. is_only: it allows one thing only. is_standing: it says that it holds for all times or all of
    something. values: those of `_VALUES` that it names, in order.
    """

    words: Mapping[str, float]
    main: frozenset[str]
    banned: tuple[str, ...]
    is_ban: bool
    is_only: bool
    is_standing: bool
    values: tuple[tuple[str, str], ...]

    @property
    def weight(self) -> float:
        return sum(self.words.values())


class NamedPlace(NamedTuple):
    """Where a clause says that it counts, and the other words of the clause."""

    words: frozenset[str]
    rest: frozenset[str]


class ChangingClause(NamedTuple):
    """A clause that tells of a change: its words. is_of_one: it tells how one thing is, not how things are done."""

    words: frozenset[str]
    is_of_one: bool


class Revision(NamedTuple):
    """A statement that takes back or changes an earlier one, in comparable form.

    changes: how. changing: the clauses that say so. refused: the words of those that refuse something; refused_now: of
    those of them that tell of the change too. is_for_rule: it speaks of a rule or ban itself. names_act: it allows to
    do something, not just a thing. places: where it counts. turned_down: the words of each thing that it names as given
    up.
    """

    said: ComparedRule
    changes: frozenset[str]
    changing: tuple[ChangingClause, ...]
    refused: frozenset[str]
    refused_now: frozenset[str]
    is_for_rule: bool
    names_act: bool
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
        if not self.turned_down and shared.isdisjoint(earlier.main):
            return False
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
        is_same = is_same or (weight >= max(1, _LEAST_OF_ALL * earlier.weight) and self._is_all_about(earlier))
        is_same = is_same or (weight >= _SOME_SHARED and weight >= _MOST_OF_IT * self.said.weight)
        part = _NEARLY_ALL
        if weight >= _SOME_SHARED or earlier.is_ban or self._replaced(earlier):
            part = _LEAST_OF_CLAUSE
        elif earlier.is_only:
            part = _MOST_OF_IT
        return is_same and self._is_where_it_changes(words, part) and self._goes_against(earlier, shared)

    def _is_all_about(self, earlier: ComparedRule) -> bool:
        """Return whether a clause that tells of the change names nothing that the earlier one does not: "stop
        squashing". Of what does not stand for all times, only if it is unsaid."""
        is_ended = "unsaid" in self.changes or earlier.is_standing
        return is_ended and any(clause.words and clause.words <= earlier.words.keys() for clause in self.changing)

    @staticmethod
    def _turns_down(names: Set[str], earlier: ComparedRule) -> bool:
        """Return whether something that is given up is much of what the earlier one is about."""
        weight = sum(earlier.words.get(name, 0) for name in names)
        return names <= earlier.words.keys() and weight >= _LEAST_OF_CLAUSE * earlier.weight

    def _is_where_it_changes(self, words: Set[str], part: float) -> bool:
        """Return whether a clause that tells of the change is about these words: a part of its own are among them."""
        return any(
            len(clause.words & words) >= (1 if clause.is_of_one else part) * len(clause.words)
            for clause in self.changing
            if clause.words & words
        )

    def _goes_against(self, earlier: ComparedRule, shared: set[str]) -> bool:
        if "unsaid" in self.changes or self._replaced(earlier) or ("moved" in self.changes and not earlier.is_ban):
            return True
        is_refused = not shared.isdisjoint(self.refused)
        if earlier.is_only and "allowed" in self.changes:
            return not is_refused and shared != earlier.words.keys()
        if earlier.is_ban or not shared.isdisjoint(earlier.banned):
            if self.is_for_rule and not self.changes.isdisjoint(("ended", "moved")):
                return True
            if "allowed" not in self.changes and not self.changes.isdisjoint(("spared", "ended")):
                return False
            weight = sum(earlier.words[word] for word in shared)
            is_allowed = "allowed" in self.changes
            act = next(iter(earlier.banned or earlier.words), "")
            is_refused = act in self.refused
            if (self.names_act or not is_allowed) and not any(act in clause.words for clause in self.changing):
                return False  # to run the files is another thing than to format them
            is_new_way = "lasting" in self.changes and weight >= _NEARLY_ALL * earlier.weight
            return not is_refused and (is_allowed or is_new_way)
        if not self.changes.isdisjoint(("spared", "ended")):
            return True
        if (
            "lasting" in self.changes
            and len(shared) >= _LEAST_SHARED
            and self.said.words.keys() <= earlier.words.keys()
        ):
            return True  # of the same things, something else
        return not shared.isdisjoint(self.refused_now) and not self.changes.isdisjoint(("lasting", "renewed"))

    def _replaced(self, earlier: ComparedRule) -> list[str]:
        """Return the values that the earlier one names and for which this one names another of their kind first."""
        has = dict(reversed(self.said.values))
        had = {kind for kind, value in dict(reversed(earlier.values)).items() if has.get(kind) == value}
        had |= {_COUNT} if len(self.said.words.keys() & earlier.words.keys()) < _LEAST_SHARED else set()
        return [value for kind, value in earlier.values if kind in has and kind not in had]


@lru_cache(maxsize=4096)
def statement_of(text: str) -> ComparedRule:
    """Return a statement in comparable form."""
    text = _folded(text[:READ_CHARS])
    first = next((clause for clause in _CLAUSE.split(text) if len(clause.split()) > 1), "")
    first = " ".join(first.split()[:5])
    numbers = [(_VERSION, version) for version in _VERSIONS.findall(text)]
    plain = _VERSIONS.sub(" ", text) if numbers else text
    named = [*numbers, *filter(None, (_value_of(word) for word in map(str.lower, _WORD.findall(plain))))]
    is_ban = _REFUSES.search(first) is not None
    banned = dict(_weighed(" ; ".join(clause for clause in _CLAUSE.split(text) if _REFUSES.search(clause))))
    words, main = dict(_weighed(text)), dict(_weighed(_CIRCUMSTANCE.sub(" ", text)))
    return ComparedRule(
        words,
        frozenset(main or words),
        tuple(banned),
        is_ban,
        _ONLY.search(first) is not None,
        is_ban or _STANDS.search(text) is not None,
        tuple(dict.fromkeys(named)),
    )


def may_revise(text: str) -> bool:
    """Return whether any sentence of a text can be a revision."""
    return _LOW_CHANGES.search(text.lower()) is not None or _names_two(text)


def _names_two(text: str) -> bool:
    """Return whether a text names two values of one kind ("spaces, not tabs")."""
    values = {_VALUES[word] for word in map(str.lower, _WORD.findall(text)) if word in _VALUES}
    return len({kind for kind, _ in values if kind != _COUNT}) < sum(kind != _COUNT for kind, _ in values)


def is_unsaid(text: str) -> bool:
    """Return whether a statement says no more than that something said before counts no longer: "never mind X"."""
    revision = revision_in(text)
    return revision is not None and "unsaid" in revision.changes


def is_for_once(text: str) -> bool:
    """Return whether a statement says that it counts for one thing or one time only."""
    return _ONCE.search(text[:READ_CHARS]) is not None


def points_back(text: str) -> bool:
    """Return whether a statement takes back what was said right before, without naming it: "scratch that"."""
    return _POINTS_BACK.search(text) is not None and not is_for_once(text)


@lru_cache(maxsize=4096)
def revision_in(text: str) -> Revision | None:
    """Return a statement as a revision, None if it does not say that something changes, or only for once."""
    text = text[:READ_CHARS]
    changes = frozenset((found.lastgroup or "").rstrip("_") for found in _LOW_CHANGES.finditer(text.lower()))
    if not (changes or _names_two(_folded(text))) or is_for_once(text) or _COMPLAINS.search(text):
        return None
    if changes == {"allowed"} and _OF_ONE.search(text):
        return None
    said = statement_of(text)
    refused: set[str] = set()
    refused_now: set[str] = set()
    changing: list[ChangingClause] = []
    places: list[NamedPlace] = []
    is_french = "fr" in languages(text.lower())
    for clause in _CLAUSE.split(text):
        plain = _CHANGES.sub(" ", clause)
        words = frozenset(dict(_weighed(_folded(plain))))
        is_refusal = _REFUSES.search(clause) is not None
        without = _WITHOUT.search(clause)
        if is_refusal:
            refused |= words
            refused_now |= words if plain != clause else frozenset()
        elif without is not None:
            refused |= dict(_weighed(_folded(clause[without.end() :]))).keys()
            refused_now |= refused if plain != clause else frozenset()
        if is_refusal or plain != clause or not changes or "unsaid" in changes:
            changing.append(ChangingClause(words, _TELLS_OF_ONE.match(clause) is not None))
        for found in _WHERE.finditer(plain) if is_refusal or plain != clause or not changes else ():
            place = frozenset(dict(_weighed(_folded(found["place"]))))
            is_place = "/" not in found["place"] and not (is_french and found[0][:2].lower() == "on")
            if place and is_place and found["place"].lower() not in _VALUES:
                places.append(NamedPlace(place, words - place))
    found_down = (dict(_weighed(_folded(found[found.lastgroup or 0]))) for found in _TURNED_DOWN.finditer(text))
    turned_down = tuple(frozenset(words) for words in found_down if words)
    if changes == {"renewed"} and not (refused or said.values or turned_down):
        return None
    plain = _folded(_CHANGES.sub(" ", text))
    return Revision(
        said._replace(words=dict(_weighed(plain))), changes, tuple(changing), frozenset(refused),
        frozenset(refused_now),
        _RULE.search(text) is not None, _ACT.search(text) is not None, tuple(places), turned_down,
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


def _value_of(word: str) -> tuple[str, str] | None:
    """Return the kind of value that a word in lower case is, and its name."""
    return (_COUNT, word) if word.isdigit() else _VALUES.get(word)


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(_folded(word) for code in SCRIPTS for word in words_of(code).stop_words)


def _folded(text: str) -> str:
    """Return a text without accents."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    """Return a word without what inflection adds, roughly, in any of the languages: "committing" → commit."""
    value = _value_of(word)
    word = value[1] if value is not None else _SAME.get(word, word)
    if not word.isascii():
        return word[:5]
    word = word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word
    found = _ENDING.fullmatch(word)
    word = found[1] if found else word
    return _SAME.get(word, word[:-1] if len(word) > 3 and word[-1] == word[-2] else word)
