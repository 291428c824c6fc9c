"""What a person asked for, and decided otherwise later: where learnings and decisions meet."""

from __future__ import annotations

import re
from collections.abc import Iterable

from recollect.insights.decisions.relations.stances import places_in, stance_of
from recollect.insights.subjects import words_in
from recollect.model.insights.nodes import Decision
from recollect.model.learnings.learnings import Learning

_ASKING = ("preference", "correction")
_REFUSING = re.compile(
    r"\W*(?:please |bitte )?(?:never|do not|don['’]?t|no|avoid|stop|nie|niemals|kein\w*)\b", re.IGNORECASE
)


def overruled(learnings: Iterable[Learning], decisions: Iterable[Decision]) -> set[str]:
    """Return the ids of what a person asked for, and decided otherwise later, for the same purpose or place.

    "Never use threads in the importer" and "let's use threads in the importer after all"; "we use requests for the
    HTTP client" and "replace requests with httpx for the HTTP client".
    """
    settled = (d for d in decisions if d.speaker == "human" and d.ts is not None and d.status != "ranked")
    stances = [stance for decision in settled if (stance := stance_of(decision)).places]
    found: set[str] = set()
    for learning in learnings if stances else ():
        said = max((e.ts for e in learning.evidence if e.ts is not None), default=None)
        if said is None or (learning.kind not in _ASKING and learning.status != "ranked"):
            continue
        words, places = set(words_in(learning.text)), places_in(learning.text)
        is_ban = _REFUSING.match(learning.text) is not None
        for stance in stances:
            names = stance.for_ if is_ban else stance.against
            others = frozenset[str]() if is_ban else stance.for_
            if (
                said < (stance.decision.ts or 0)
                and not places.isdisjoint(stance.places)
                and any(words.issuperset(name.split()) for name in names)
                and not any(words.issuperset(name.split()) for name in others)
            ):
                found.add(learning.id)
    return found
