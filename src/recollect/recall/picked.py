"""Which of the ranked candidates are shown: the text tells what the index cannot, and copies are shown once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recollect.index.candidates import Candidate, Wanted, needs_text
from recollect.index.ranking import Ranked
from recollect.index.units import Unit
from recollect.recall.copies import sameness
from recollect.store.rows import HitText, SessionKey

MAX_MISSES = 40
"""So many in a row that don't have it end the search for more."""


@dataclass(frozen=True)
class Verified:
    ranked: Ranked
    text: HitText


class Picked:
    """What is shown of the ranked, while it is chosen."""

    def __init__(self, limit: int, looks_at_all: bool) -> None:
        self.limit = limit
        self.looks_at_all = looks_at_all
        """Whether every unverified event is compared with its text, for the sake of the total."""
        self.shown: list[Verified] = []
        self.looked_at = 0
        """Unverified events compared with their text; `passed` of them match."""
        self.passed = 0
        self.hidden = 0
        self._sessions: list[SessionKey] = []
        """Of what is shown."""
        self._seen: dict[object, int] = {}
        """Where something is shown, by what makes another event the same."""
        self._misses = 0

    @property
    def goes_on(self) -> bool:
        return self.looks_at_all or (len(self.shown) < self.limit and self._misses < MAX_MISSES)

    @property
    def has_room(self) -> bool:
        return len(self.shown) < self.limit

    def take(self, item: Ranked, text: HitText, wanted: Wanted, session: SessionKey) -> None:
        if is_open(wanted, item.candidate):
            self.looked_at += 1
            if not _passes(wanted, item.candidate, text):
                self._misses += 1
                return
            self._misses = 0
            self.passed += 1
        if text.is_hidden:
            self.hidden += 1
            return
        same = sameness(text, session)
        place = next((self._seen[mark] for mark in same if mark in self._seen), None)
        if place is not None:
            shown = self.shown[place].text
            is_original = self._sessions[place].origin_uid != "" and session.origin_uid == ""
            if (shown.is_undone, is_original) > (text.is_undone, False):
                self.shown[place] = Verified(item._replace(score=self.shown[place].ranked.score), text)
                self._sessions[place] = session
        elif self.has_room:
            self._seen |= dict.fromkeys(same, len(self.shown))
            self.shown.append(Verified(item, text))
            self._sessions.append(session)


def strict(wanted: Wanted) -> tuple[Unit, ...]:
    return (*(unit for group in wanted.must for unit in group), *wanted.must_not)


def has_checks(wanted: Wanted) -> bool:
    """True where the index alone cannot tell: phrases in tool output, patterns over several words."""
    return any(needs_text(unit, "tool_output") for unit in strict(wanted))


def is_open(wanted: Wanted, candidate: Candidate) -> bool:
    """Whether only the text can tell that this event is as asked."""
    return any(needs_text(unit, candidate.voice) for unit in strict(wanted))


def _passes(wanted: Wanted, candidate: Candidate, text: HitText) -> bool:
    """Tell from the text what the index could not."""
    units = wanted.all_units

    def has(unit: Unit) -> bool:
        if needs_text(unit, candidate.voice):
            return _is_in(unit, text)
        return unit in units and bool(candidate.exact >> units.index(unit) & 1)

    if not all(any(has(unit) for unit in group) for group in wanted.must):
        return False
    return not any(needs_text(unit, candidate.voice) and _is_in(unit, text) for unit in wanted.must_not)


def _is_in(unit: Unit, text: HitText) -> bool:
    if unit.clause.pattern is not None:
        return unit.clause.pattern.is_in(text.text)
    if not unit.sequence:
        return True
    return sequence_pattern(unit).search(text.text) is not None


def sequence_pattern(unit: Unit) -> re.Pattern[str]:
    # Between the terms may be anything that is neither letter nor digit, or nothing (camelCase).
    return re.compile(r"[\W_]*".join(re.escape(term) for term in unit.sequence), re.IGNORECASE)
