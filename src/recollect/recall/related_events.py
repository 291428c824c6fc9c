"""Events that are shown beside a hit, a decision or a learning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from recollect.model.learnings.learnings import Learning

RELATED_LABELS = {
    "asked": "serves the prompt",
    "call": "the call",
    "result": "the result",
    "answer": "the turn ended with",
    "reply": "the person then said",
    "next": "then",
    "later": "later in this session",
    "said": "said later about this",
}
"""How the labels of what belongs to something are told."""


class RelatedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event that belongs to a hit, a decision or a learning; cite it as `session_uid#seq`.

    label: "asked", the prompt that a hit serves; "call", the call of a result; "result", the result of a call;
    "answer", the reply that closed the turn; "reply", what the person said next to an agent's message; "next", an event
    right after it; "later", the last reply in its session about the question; "said", what a person said later about
    the same thing. session_uid: "", the session of what it belongs to. ts: of "said", UTC microseconds.
    """

    label: str
    seq: int
    text: str
    session_uid: str = ""
    ts: int | None = None

    @property
    def citation(self) -> str:
        """Where it stands, for one that names its session."""
        return f"{self.session_uid}#{self.seq}"


class EarlierStatement(NamedTuple):
    """What a decision or learning says, to look for what was said later about it.

    names: options and paths in it. ts: UTC microseconds. citation: its event, "" for none.
    """

    text: str
    names: tuple[str, ...]
    ts: int | None
    citation: str


def is_displaced(observed: str, said: str) -> bool:
    """Return whether a person's words stand in for the command that an observed learning tells in backticks.

    They name it whole, are against its tool, or want another tool of its kind ("we switched to pnpm" for `npm test`).
    """
    command = observed.partition("`")[2].partition("`")[0].casefold().split()
    words = f" {' '.join(re.findall(_WORD, said.casefold()))} "
    if not command:
        return False
    return (len(command) > 1 and f" {' '.join(command)} " in words) or is_ruled_out(command, said)


def is_ruled_out(command: Sequence[str], said: str) -> bool:
    """Return whether a person's words are against a command's tool, or want another of its kind. In lower case."""
    from recollect.insights.language.tools import TOOLS, displaces

    if not displaces(said, command):
        return False
    from recollect.index.text.mentions import ordinary_words

    return not TOOLS.isdisjoint(command) or command[0] not in ordinary_words()


_WORD = r"[\w@+/-]+(?:[.:][\w@+/-]+)*"


class LearningView(Learning, frozen=True):
    """A learning as an answer tells it.

    later: what a person said later about the same thing that a person said, or in place of an observed command.
    """

    later: tuple[RelatedEvent, ...] = ()
