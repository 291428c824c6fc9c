"""Finds the sentences of a message that leave work open, in whatever words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from recollect.insights.language.left_open import leaves_open, may_leave_open
from recollect.insights.language.projection import lower, project
from recollect.insights.language.sentences import sentences
from recollect.insights.language.substance import makes_sense
from recollect.insights.learnings.extraction.spoken import is_scripted, is_stated
from recollect.privacy.sentences import tells_credential

_LEAST: Final = 16
_LONGEST: Final = 260
_LONGEST_MESSAGE: Final = 6_000


class OpenSentence(NamedTuple):
    """A sentence that leaves something to do: characters of the text."""

    start: int
    end: int


def left_open(text: str, *, of_human: bool = False) -> Iterator[OpenSentence]:
    """Yield the sentences of a message that leave work open, in order."""
    if len(text) > _LONGEST_MESSAGE or (of_human and is_scripted(text)):
        return
    prose = lower(project(text, of_human=of_human))
    if not may_leave_open(prose):
        return
    spans = [span for span in sentences(prose) if _LEAST <= span[1] - span[0] <= _LONGEST]
    for start, end in spans:
        said = text[start:end]
        if leaves_open(prose[start:end]) and is_stated(said) and makes_sense(said) and not tells_credential(said):
            yield OpenSentence(start, end)
