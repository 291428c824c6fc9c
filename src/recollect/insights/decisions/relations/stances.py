"""What a decision stands for: which options it takes, which it turns down, where it counts, and when it was taken."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from recollect.insights.subjects import is_distinctive, phrase, words_in
from recollect.model.insights.nodes import Decision

_PLACE: Final = re.compile(
    r"\b(?:for|in|of|on|as|für|im|in|bei|als)\s+(?:(?:the|our|this|all|a|an|der|die|das|den|dem|unsere?[nrm]?)\s+)?"
    r"([\w-]+(?:\s+[\w-]+){0,2}?)(?=[.,;:!?)]|\s+(?:and|or|to|so|because|since|instead|after|with|for|in|on|as|of|from"
    r"|over|und|oder|weil|damit|statt|nach|mit|für)\b|\s*$)",
    re.IGNORECASE,
)
"""What a decision is for, or where it counts: "the auth module" of "use scrypt for the auth module"."""
_CHANGE: Final = re.compile(
    r"^\W*(?:no|nope|nein|nee)\b|"
    r"\b(?:switch|instead|actually|on reflection|after all|(?:go|going|went) back|replace|move (?:over|from)|drop|"
    r"no longer|changed? my mind|stattdessen|doch (?:lieber )?|wechseln|umsteigen|ersetzen|zurück zu)\b",
    re.IGNORECASE,
)
"""Words of who changes what was decided before."""


class Stance(NamedTuple):
    """A decision in the form in which decisions are compared.

    for_, against: keys of options (`subjects.phrase`) that it takes and turns down; distinctive: those that are names.
    question: its content words as one key, "" where nobody asked one. places: keys of what it is for and where it
    counts. is_change: it says that it changes what was decided before.
    """

    decision: Decision
    for_: frozenset[str]
    against: frozenset[str]
    distinctive: frozenset[str]
    question: str
    places: frozenset[str]
    is_change: bool

    @property
    def authority(self) -> int:
        """A person's word counts more than the assistant's."""
        return 1 if self.decision.speaker == "human" else 0


def stance_of(decision: Decision) -> Stance:
    """Return what a decision stands for. Of a ban or a rejection every option is turned down."""
    is_against = decision.polarity in ("ban", "reject")
    taken = {} if is_against else _keys(decision.chosen)
    turned_down = _keys((*decision.rejected, *decision.chosen) if is_against else decision.rejected)
    return Stance(
        decision=decision,
        for_=frozenset(taken),
        against=frozenset(turned_down) - frozenset(taken),
        distinctive=frozenset(key for key, option in {**taken, **turned_down}.items() if is_distinctive(option)),
        question=" ".join(words_in(decision.question)),
        places=places_in(decision.statement),
        is_change=decision.polarity == "reverse" or _CHANGE.search(decision.statement) is not None,
    )


def places_in(text: str) -> frozenset[str]:
    """Return the keys of what words are for, and of where they count."""
    return frozenset(key for found in _PLACE.finditer(text) if (key := phrase(found[1])))


def _keys(options: Iterable[str]) -> dict[str, str]:
    return {key: option for option in options if (key := phrase(option))}


def is_before(one: Decision, other: Decision) -> bool | None:
    """Say whether one decision was taken before the other, None where that cannot be told.

    By their times; without them, or at the same time, by their places where both stand in one source.
    """
    if one.ts is not None and other.ts is not None and one.ts != other.ts:
        return one.ts < other.ts
    if one.session_uid == other.session_uid and one.location.source_id == other.location.source_id:
        places = [place_of(decision) for decision in (one, other)]
        if places[0] != places[1]:
            return places[0] < places[1]
    return None


def place_of(decision: Decision) -> tuple[int, int, int, int]:
    """Return where a decision stands in its source. Within one record (some sources are one) the order of its events
    is that of their numbers."""
    at = decision.location
    last = decision.evidence[-1] if decision.evidence else None
    return at.revision, at.record_index, last.seq if last else 0, last.start if last else 0
