"""Tells where a person takes back or changes what was said before about the same thing. Pure.

How people put it has no end ("scrap that, I was wrong about where tests live", "no need to run the whole suite"),
and often the new word names none of the options of the old one. So two things are asked: that the new word says that
something changes, and that both share words of content. Where it names what is turned down ("not tabs any more"), that
one word is enough.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final, NamedTuple

from recollect.insights.subjects import words_in
from recollect.late import late_pattern

_CHANGES: Final = late_pattern(
    r"\b(?:scrap|scratch|strike|forget|ignore|disregard) (?:that|this|what (?:i|we)\b|everything i\b|the (?:rule|old))"
    r"|\b(?:i|we) (?:was|were|got it|had it) wrong\b|\bmy mistake\b|\bchanged? (?:my|our) minds?\b|\bchange of plans?\b"
    r"|\b(?:on second thoughts?|take (?:it|that) back|no longer|any ?more|any longer|outdated|obsolete|out of date)\b"
    r"|\b(?:do not|don['’]t|need not|needn['’]t|no) (?:need|have) to\b|\bno need (?:to|for)\b|\bneedn['’]t\b"
    r"|\b(?:it['’]s|it is|that['’]s|is|are) (?:now |actually |perfectly )?(?:fine|ok|okay|allowed|all ?right) to\b"
    r"|\b(?:you|we|agents) (?:can|may) (?:now|again)\b|\bstop \w+ing\b"
    r"|\b(?:moved|switched|migrated|changed) (?:over )?(?:to|away|from)\b|\bnot after all\b|\bafter all\b"
    r"|\b(?:nicht|kein\w*) mehr\b|\bvergiss (?:das|was|die|den)\b|\bhab\w* (?:mich )?.{0,20}geirrt\b|\bdoch nicht\b"
    r"|\b(?:überholt|veraltet|hinfällig)\b|\b(?:musst|müssen|brauchst|braucht) .{0,60}\bnicht\b|\bumgestiegen\b",
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
    r"\b(?:for|in|on|für|im|in|bei)\s+(?:the |our |this |these |all |der |die |das |den |dem )?(?P<place>[\w./-]+)",
    re.IGNORECASE,
)
_HERE: Final = frozenset("here this repository project codebase future general hier".split())
_LEAST_SHARED: Final = 2


class Revision(NamedTuple):
    """A statement that takes back or changes an earlier one, in comparable form.

    places: the words of each place that it is for. turned_down: those of each thing that it names as given up.
    """

    words: frozenset[str]
    places: tuple[frozenset[str], ...]
    turned_down: tuple[frozenset[str], ...]

    def is_of(self, words: Set[str]) -> bool:
        """Return whether it is about the earlier statement that has these `words_in`.

        Not where it is for a place that the earlier one does not name: "no tabs in Makefiles any more" leaves the rule.
        """
        if any(words.isdisjoint(place) for place in self.places):
            return False
        shared = len(self.words & words)
        enough = shared >= _LEAST_SHARED and 3 * shared >= min(len(self.words), len(words))
        return enough or any(names <= words for names in self.turned_down)


def revision_in(text: str) -> Revision | None:
    """Return a statement as a revision, None if it does not say that something changes."""
    if _CHANGES.search(text) is None:
        return None
    scopes = (found["place"] for found in _WHERE.finditer(text) if "/" not in found["place"])
    places = (frozenset(words_in(scope)) - _HERE for scope in scopes)
    named = (frozenset(words_in(found[found.lastgroup or 0])) for found in _TURNED_DOWN.finditer(text))
    return Revision(frozenset(words_in(text)), tuple(filter(None, places)), tuple(filter(None, named)))
