"""Messages in which an agent only says what it does next: they hold the words of a task and answer nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from recollect.index.ranking import Ranked
from recollect.store.ports import HitText

LOOKED_AT = 20
"""So many of the best are looked at. 10 to 100 give the same."""
NARRATION_SHARE = 0.7
"""Of its score that such a message keeps as the answer to a question; .5 to .7 give the same."""
MAX_CHARS = 250
"""A longer one says more than that."""

_NEXT = re.compile(
    r"\W*(?:(?:now|first|next|then|also|finally|and|so|good|great|perfect|excellent|ok|okay|alright|sure|certainly|yes"
    r"|right)\b[,.!:]*\s+){0,3}"
    r"(?:let me|let's|let us|i['’]ll|i will|i['’]m going to|i am going to|i need to|i should)\b",
    re.I,
)


def is_narration(kind: str, text: str) -> bool:
    """Tell whether an event only announces a step ("Now let me run the tests:")."""
    text = text.strip()
    if kind != "assistant_message" or len(text) > MAX_CHARS:
        return False
    return text.endswith(":") or _NEXT.match(text) is not None


def after_answers(ranked: Sequence[Ranked], texts: Mapping[int, HitText]) -> list[Ranked]:
    """Return the ranked with narration further down. texts: by key, of those that are looked at."""
    rest = ranked[LOOKED_AT:]
    least = rest[0].score if rest else 0.0
    told = [
        item._replace(score=max(item.score * NARRATION_SHARE, least))
        if (text := texts.get(item.candidate.key)) is not None and is_narration(text.kind, text.text)
        else item
        for item in ranked[:LOOKED_AT]
    ]
    return sorted(told, key=lambda item: -item.score) + list(rest)
