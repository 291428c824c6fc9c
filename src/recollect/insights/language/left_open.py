"""Tells whether a sentence leaves work open: it says both that something is unfinished, or is for later, and that
somebody has to do it.

Either alone says nothing: software "still" does things and "has to" do others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ahocorasick_rs import AhoCorasick, Implementation

from recollect.insights.language.reader import languages, words_of
from recollect.insights.language.sentences import Words
from recollect.late import late_pattern

_SUPPOSED: Final = late_pattern(
    r"\b(?:if|would|could|wish|unless|whether|no longer|not (?:need|have) to|nothing|no (?:further|more)|(?:is|are) no"
    r"|might|don't (?:need|have) to|wenn|falls|würde\w*|nichts|nicht mehr|si|rien|nada|se|ничего|если)\b"
    r"|如果|もし|不需要|'d have to",
    re.IGNORECASE,
)
"""Words of what only might be, or need not be."""

WHEN: Final = (
    r"(?:later|tomorrow|(?:(?:on|until|till|by) )?(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|another (?:day|session|time)"
    r"|(?:the )?next (?:time|day|week|month|session|sprint|release|version|round|pr)"
    r"|(?:a|the|some) (?:separate )?follow-?up"
    r"|(?:a|the) (?:later|separate|future) (?:session|release|pr|commit|change)"
    r"|morgen|später|irgendwann|nachher|(?:am )?(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
    r"|(?:auf |beim )?nächste[nrsm]? (?:mal|woche|monat|sprint|release|version|sitzung|session))"
)
LEFT: Final = (
    r"(?:left to do|still to do|still left(?: to do)?|still (?:open|pending|missing|outstanding)"
    r"|what(?:'?s| is) (?:still )?left(?: to do)?"
    r"|remaining (?:work|tasks?|steps?|items?|todos?)"
    r"|not (?:yet )?(?:done|finished|implemented|addressed)(?: yet)?|outstanding(?: work| items| tasks)?"
    r"|what(?:'?s| is) (?:still )?(?:open|missing)|what remains(?: to do| to be done)?|remaining|(?:still )?to be done"
    r"|left (?:to be done|undone)|left-?overs?|backlog"
    r"|open (?:items|points|tasks|todos)|pending(?: items| work| tasks)?"
    r"|(?:what|things?) (?:i|we) (?:did not|didn['’]t|have not|haven['’]t|could not|couldn['’]t) (?:get to|do|finish)"
    r"|(?:one |two |a few )?(?:loose|open) ends?|(?P<next>next steps?)|not covered(?: yet)?"
    r"|was (?:ich|wir) nicht geschafft habe\w*"
    r"|deferred|follow[- ]?ups?(?: work| items| tasks)?|to[- ]?dos?(?: next| left)?|(?:bleibt )?noch (?:zu tun|offen)"
    r"|offen(?:e punkte)?|(?:was )?noch fehlt|bleibt noch|verbleibende? (?:aufgaben|schritte|punkte)"
    r"|steht noch aus|ausstehend|übrig|(?:\w+ ){0,2}(?:for|für) (?:later|tomorrow|next time|morgen|später))"
)
"""Introduces what is left to do."""
_LATER: Final = (
    rf"(?:{LEFT}|to[- ]?dos? [^:.]{{2,30}}|(?:[\w-]+ ){{0,2}}(?:for|für|bis) {WHEN}|not (?:now|today)"
    rf"|{WHEN}(?: still| noch)?)"
)
_NOTHING: Final = r"(?:none|nothing|n/a|nichts|keine?|all done|no|-)\b\W*$|\d+ ?(?:of|von|/)"
SAYS_LEFT: Final = late_pattern(
    rf"(?:^[\s*_>-]{{0,6}}|^.{{0,400}}?[.!] ){_LATER}(?: (?:on|from|at) (?:my|our) \w{{2,8}})?"
    rf"\s*[*_]{{0,3}}\s*(?:[:：]|[–—-](?= ))\s*[*_]{{0,3}}\s*(?!{_NOTHING})(?P<said>\S.{{6,260}})$",
    re.IGNORECASE,
)
"""A line that says so: "Left for tomorrow: the queue"."""

DEFER: Final = r"(?:leav|left|leave|park|postpon|defer|mov|push|put off|sav|verschieb|verschoben)\w*"
PUT_OFF: Final = late_pattern(
    rf"(?:[,;]| [-–—]) (?:(?:i|we|ich|wir|das|die|that|this|which)(?: one)?(?:['’]\w\w?| have| will| am| are| is)* )?"
    rf"(?:(?:{DEFER}|hab\w*|lass\w*)\b[^,;]{{0,40}}|(?:for|für|goes to) {WHEN}[.!]?)$",
    re.IGNORECASE,
)
"""Says after what is left to do that it was put off, and to when: no part of what is to be done."""
_DONE: Final = r"(?!see|find|found|notice|hear|had|been|decided)[a-z]{3,14}"
_OBJECT: Final = r"[^.!?;:]{8,200}?"
_WILL: Final = (
    r"(?:(?:['’](?:ll|d better)| will| can| should| must| ought to| (?:still )?(?:need|have|want) to)"
    r"(?: (?:need|have|want) to)?)"
)
_NO_WORK: Final = r"(?:be|are|were|see|know|talk|meet|have|go|let you)\b"
"""Verbs of a sentence about the days to come that leaves nothing to do: "I'll be back tomorrow"."""
_THEN: Final = (
    r"(?:[,;]| [–—-]) (?:(?:and|but|und|aber) )?"
    r"(?:(?:i|we|ich|wir)\b[^.!?;]{0,40}? (?:it|that|this|these|those|them|es|das|die)"
    r"|it|that|this|these|those|they|which|es|das|die|den|der|diese\w?)\b[^.!?;]{0,50}?"
    rf" {WHEN}"
)
"""A clause that says of what stands before it when it is to be done."""
_LEFT_FOR: Final = late_pattern(
    rf"(?:^|[.!?;:] |[,;] (?:(?:but|and) )?)(?:"
    rf"(?:i|we)(?:['’]\w\w?| have| will| am| are)? {DEFER} (?P<object>(?!my\b){_OBJECT}) (?:for|to|until|till) {WHEN}"
    rf"|(?:let['’]?s )?(?:leave|park|postpone|defer|put off) (?P<order>(?!it\b){_OBJECT}) (?:for|to|until|till) {WHEN}"
    rf"|(?P<subject>{_OBJECT})(?:[,;] (?:that|this|which))? (?:is|are|was|were) (?:left|{DEFER})"
    rf" (?:for|to|until|till) {WHEN}"
    rf"|(?P<waits>{_OBJECT}) (?:can|could|will have to) (?:still )?wait(?: (?:until|till) [^.!?;]{{2,60}})?"
    rf"|{WHEN},? (?:i|we|let['’]?s){_WILL}? (?P<then>(?!{_NO_WORK}){_OBJECT})"
    rf"|{WHEN} (?:sollten|müssen|müssten|wollen) wir (?:noch |dann |auch |aber )*(?P<dann>{_OBJECT})"
    rf"|(?:i|we){_WILL} (?:also |still |really )?(?P<ours>(?!{_NO_WORK})[^.!?;:]{{3,200}}?),? (?:in )?{WHEN}"
    rf"|(?P<it>(?:{_OBJECT}, )?(?:i|we) (?:do|fix|finish|tackle|handle) (?:it|that|this|them)) {WHEN}"
    rf"|(?P<yet>(?:i|we) (?:have not|haven['’]t|did not|didn['’]t) {_DONE} {_OBJECT}) yet"
    rf"|(?:i|we) (?:did not|didn['’]t|could not|couldn['’]t) get (?:around )?to (?P<missed>{_OBJECT})"
    rf"|(?P<undone>(?:i|we) (?:have not|haven['’]t|did not|didn['’]t) {_DONE} {_OBJECT}){_THEN}"
    rf"|what(?:['’]s| is)? (?:still )?(?:remains|left|missing|open|not done)(?: yet| to do)? (?:is|are)"
    rf" (?P<remains>{_OBJECT}){_THEN}"
    rf"|was (?:noch |jetzt noch )?(?:fehlt|bleibt|offen (?:ist|bleibt)|übrig (?:ist|bleibt)),? (?:ist|sind)"
    rf" (?P<rest>{_OBJECT}){_THEN}"
    rf"|(?P<offen>(?:(?:ich habe|wir haben) {_OBJECT}|{_OBJECT} (?:habe ich|haben wir)) (?:noch )?nicht \w+){_THEN}"
    rf"|zu(?:m|r| den) (?P<kam>{_OBJECT}) (?:bin ich|sind wir) (?:\w+ )?nicht (?:mehr )?gekommen"
    rf")(?=[ ]?(?:[.,;!)]|$))",
    re.IGNORECASE,
)
"""A sentence that puts something off."""
_OF_PUTTING_OFF: Final = (
    "later", "tomorrow", "day", "another", "next", "follow", "separate", "future", "morgen", "später", "nächste",
    "nachher", "irgendwann", "tag", "mittwoch", "wait", "yet", "get ",
)  # fmt: skip
"""One of these is in each such sentence: looking for them takes a hundredth of the time that the expression takes."""

DUTIES: Final = (
    "need", "have to", "has to", "must", "should", "to be", "todo", " list", "still ", "t forget", " wait", " yet",
    "leave ", "park ", "postpone ", "defer ", "save ", "i'll ", "i will ", "we'll ", "we will ", "we do ", "i do ",
    " open", " left", " missing", " pending", "round to",
    "muss", "müss", "sollte", "noch", " zu ", "en wir", "vergess", "vergiss", "daran", " warten", "offen ",
    "ausstehend ",
    "queda", "falta", "hay que", "habrá que", "tenemos que", "tengo que", "debemos", "tendremos que", "por hacer",
    "lo hacemos", "lo haremos", "lo vemos", "lo veremos", "lo dejamos",
    "il fau", "reste", "on de", "on do", "on ve", "on fera", "on s'", "à faire", "à re", "à corriger", "à terminer",
    "je dois", "nous devons", "n'oublie pas",
    "pendente", "temos que", "tenho que", "precisamos", "preciso", "por fazer", "resta",
    "нужно", "надо", "прид", "оста", "должны", "забудь",
    "需", "要做", "必须", "得把", "待办", "剩下",
    "必要", "しなければ", "しないと", "すること", "やること", "忘れずに", "残って",
)  # fmt: skip
"""One of these is in whatever says, in any of the languages, that somebody has to do something."""


@cache
def _duties() -> AhoCorasick:
    return AhoCorasick(DUTIES, implementation=Implementation.DFA)


def places_of_duty(low: str) -> list[int]:
    """Return where a text in lower case may say that somebody has to do something, ascending: most sentences do not."""
    return sorted(start for _, start, _ in _duties().find_matches_as_indexes(low, overlapping=True))


def may_leave_open(low: str) -> bool:
    """Return whether any sentence of a text in lower case can leave work open; of most texts this says no, soon."""
    return any(one.spoken("unfinished").search(low) for one in dict.fromkeys((words_of("en"), *_heard(low))))


def leaves_open(low: str) -> bool:
    """Return whether a sentence in lower case says in one of its likely languages that work is left, and is real."""
    # What is unfinished is looked for in a third of the time.
    is_open = any(one.spoken("unfinished").search(low) and one.spoken("duty").search(low) for one in _heard(low))
    return is_open and not is_supposed(low)


def is_supposed(low: str) -> bool:
    """Return whether a sentence in lower case tells what only might be, or need not be."""
    return _SUPPOSED.search(low) is not None


def put_off_in(line: str) -> Iterator[str]:
    """Yield what the sentences of a line put off: "I left the retries for later", "tomorrow we'll split the module"."""
    if any(map(line.lower().__contains__, _OF_PUTTING_OFF)):
        yield from (next(filter(None, match.groups())).strip() for match in _LEFT_FOR.finditer(line))


def is_for_later(low: str) -> bool:
    """Return whether a sentence in lower case says that something is unfinished or for later."""
    return any(one.spoken("unfinished").search(low) for one in _heard(low))


def _heard(low: str) -> list[Words]:
    return [words_of(code) for code in languages(low)] or [words_of("en")]
