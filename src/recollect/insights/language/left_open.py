"""Tells whether a sentence leaves work open: it says both that something is unfinished, or is for later, and that
somebody has to do it.

Either alone says nothing: software "still" does things and "has to" do others.
"""

from __future__ import annotations

import re
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

LEFT: Final = (
    r"(?:left to do|still to do|still left(?: to do)?|still (?:open|pending|missing|outstanding)"
    r"|what(?:'?s| is) (?:still )?left(?: to do)?"
    r"|remaining (?:work|tasks?|steps?|items?|todos?)"
    r"|not (?:yet )?(?:done|finished|implemented|addressed)(?: yet)?|not done|outstanding(?: work| items| tasks)?"
    r"|what(?:'?s| is) (?:still )?(?:open|missing)|what remains(?: to do| to be done)?|remaining|still to be done"
    r"|left (?:to be done|undone)|(?:left )?for (?:later|tomorrow|next time)"
    r"|open (?:items|points|tasks|todos)|pending(?: items| work| tasks)?"
    r"|(?:what|things?) (?:i|we) (?:did not|didn['’]t|have not|haven['’]t|could not|couldn['’]t) (?:get to|do|finish)"
    r"|(?:one |two |a few )?(?:loose|open) ends?|next steps?|not covered(?: yet)?"
    r"|was (?:ich|wir) nicht geschafft habe\w*"
    r"|deferred|follow-?ups?(?: work| items| tasks)?|to[- ]?dos?(?: next| for later| left)?|noch (?:zu tun|offen)"
    r"|offen(?:e punkte)?|was noch fehlt|verbleibende? (?:aufgaben|schritte|punkte)"
    r"|steht noch aus|ausstehend|übrig)"
)
"""Introduces what is left to do."""
SAYS_LEFT: Final = late_pattern(
    rf"(?:^[\s*_>-]{{0,6}}|^.{{0,400}}?[.!] ){LEFT}(?: (?:on|from|at) (?:my|our) \w{{2,8}})?"
    r"\s*[*_]{0,3}\s*[:：]\s*[*_]{0,3}\s*(?P<said>\S.{6,260})$",
    re.IGNORECASE,
)
"""A line that says so: "Left for tomorrow: the queue"."""

DUTIES: Final = (
    "need", "have to", "has to", "must", "should", "to be", "todo", " list", "still ", "t forget", " wait", " yet",
    "leave ", "park ", "postpone ", "defer ", "save ", "i'll ", "i will ", "we'll ", "we will ", " open", " left",
    " missing", " pending", "round to",
    "muss", "müss", "sollte", "noch", " zu ", "en wir ", "vergess", "vergiss", "daran", "lassen wir",
    "verschieben wir", "vertagen wir", " warten", "offen ", "ausstehend ",
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
    return is_open and _SUPPOSED.search(low) is None


def is_for_later(low: str) -> bool:
    """Return whether a sentence in lower case says that something is unfinished or for later."""
    return any(one.spoken("unfinished").search(low) for one in _heard(low))


def _heard(low: str) -> list[Words]:
    return [words_of(code) for code in languages(low)] or [words_of("en")]
