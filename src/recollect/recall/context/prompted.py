"""What the memory surely has about a prompt, said before the agent begins. Off by default: precision first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.model.time import day_of
from recollect.recall.answers import Hit, SearchAnswer
from recollect.recall.context.sources import Asked, Candidate, Found

MAX_LINES = 3
MIN_WORDS = 4
"""A prompt of fewer telling words (`continue`, `yes, do that`) is about the conversation, not about the past."""
MAX_WORDS = 32
SNIPPET_CHARS = 220
_WORD = re.compile(r"[^\W_][\w./#@-]*[^\W_]|[^\W_]")
_SHORT = 4
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_EMPTY_WORDS = frozenset(
    "this that with from have what when where which would could should please make like just then than them they there "
    "these those your into some does done also and the for are you can how why not now yes okay sure thanks thank "
    "continue proceed again next again good great fine looks look help".split()
)


def question_of(prompt: str) -> str:
    """Return the words of a prompt to search for, "" where it is too short or trivial. Its signs are no operators."""
    words = [word for word in _WORD.findall(_CODE.sub(" ", prompt)) if word.lower() not in _EMPTY_WORDS]
    telling = {word.lower() for word in words if len(word) >= _SHORT or not word.isascii()}
    return " ".join(words[:MAX_WORDS]) if len(telling) >= MIN_WORDS else ""


class Prompted:
    """The hits of a search for the prompt's words, where they are sure."""

    name = "prompt"
    heading = "Said or done here before, perhaps about this:"

    def __init__(self, answer: SearchAnswer) -> None:
        self._answer = answer

    def candidates(self, asked: Asked) -> Found:
        """Return at most three hits of other sessions; none where the search is not sure that they are about it."""
        if self._answer.abstained or self._answer.match_level not in ("exact", "stemmed"):
            return Found(())
        chosen = _chosen(self._answer.hits, asked.session)
        return Found([_line(hit, 1 - place / 10) for place, hit in enumerate(chosen)])


def _chosen(hits: Sequence[Hit], session: str) -> list[Hit]:
    """Return the best hit of each of the first sessions, what people and models said before what tools put out."""
    found: dict[str, Hit] = {}
    for hit in hits:
        is_other = session not in (hit.session_uid, hit.root_session_uid) and not hit.is_undone
        if is_other and hit.match_level in ("exact", "stemmed") and hit.kind != "instructions":
            found.setdefault(hit.root_session_uid, hit)
    return list(found.values())[:MAX_LINES]


def _line(hit: Hit, worth: float) -> Candidate:
    day = day_of(hit.ts) if hit.ts is not None else "undated"
    snippet = " ".join((hit.snippet or hit.summary).split())
    snippet = snippet if len(snippet) <= SNIPPET_CHARS else snippet[: SNIPPET_CHARS - 1].rstrip() + "…"
    text = f"{day} {hit.agent}, {hit.kind.replace('_', ' ')}: “{snippet}”"
    return Candidate(text, f"{hit.session_uid}#{hit.seq}", hit.ts, worth)
