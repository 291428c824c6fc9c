"""Finds the sentences of a message that leave work open, in whatever words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from recollect.insights.language.left_open import leaves_open, may_leave_open, places_of_duty
from recollect.insights.language.projection import lower, project
from recollect.insights.language.sentences import sentences_at
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
    places = places_of_duty(prose)
    if not places or not may_leave_open(prose):
        return
    for start, end in sentences_at(prose, places):
        said = text[start:end]
        is_open = _LEAST <= end - start <= _LONGEST and leaves_open(prose[start:end])
        if not is_open or said.rstrip().endswith(":"):
            continue
        if is_stated(said) and makes_sense(said) and not tells_credential(said):
            yield OpenSentence(start, end)
