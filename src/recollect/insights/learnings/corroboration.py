"""Combines all sightings of a learning: one text, all evidence, one confidence.

Pure, and the same in whatever order the sessions were read.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.insights.learnings.identity import confidence_of
from recollect.model.learnings.learnings import Learning, LearningEvidence, Priority
from recollect.store.learnings import BY_CLOSING, Sighting

DAY_US = 86_400_000_000
SEEN_AGAIN = "seen again"
"""The feature that several sessions add."""
EACH_TIME = 0.06
MOST_SEEN_AGAIN = 0.24
CONFIRMED = "confirmed"
"""The feature that a person's confirmation adds: it makes the learning as sure as any can be."""
MOST_EVIDENCE = 64
"""Of more, the oldest and the newest half are kept."""
_PRIORITIES: tuple[Priority, ...] = ("", "high", "urgent")
_STATUSES = ("hypothesis", "ranked", "derived", "observed")


def combined(sightings: Sequence[Sighting], *, action_days: int) -> Learning | None:
    """Return what sightings of one id come to, without state and batch; None for none that says something.

    The words are those of the earliest one. It is as sure as the surest of them, and a little more for every further
    session; forks that hold the same event count once. Something said in general holds for every agent. An action
    expires `action_days` after it was spoken of last, unless it says when.
    """
    said = sorted((s for s in sightings if s.origin != BY_CLOSING), key=_order)
    if not said:
        return None
    first = said[0].learning
    surest = min(said, key=lambda s: (-s.learning.confidence, _order(s))).learning
    evidence = _evidence_of(said)
    features = dict(surest.features)
    again = times_seen(said) - 1
    if again > 0:
        features[SEEN_AGAIN] = round(min(MOST_SEEN_AGAIN, EACH_TIME * again), 3)
    learnings = [s.learning for s in said]
    agents = {one.agent for one in learnings}
    last = max((e.ts for e in evidence if e.ts is not None), default=max(one.recorded_at for one in learnings))
    return msgspec.structs.replace(
        first,
        agent=agents.pop() if len(agents) == 1 else "",
        status=max((one.status for one in learnings), key=_STATUSES.index),
        features=features,
        confidence=confidence_of(features),
        extractor=surest.extractor,
        valid_from=min((one.valid_from for one in learnings if one.valid_from is not None), default=None),
        valid_to=_latest([one.valid_to for one in learnings]),
        recorded_at=min(one.recorded_at for one in learnings),
        priority=max((one.priority for one in learnings), key=_PRIORITIES.index),
        expires_at=_expiry(learnings, last, action_days),
        evidence=evidence,
    )


def times_seen(sightings: Sequence[Sighting]) -> int:
    """Return in how many sessions a learning was seen that don't only repeat each other's events, as forks do."""
    sessions: dict[str, set[tuple[str, int]]] = {}
    for sighting in sightings:
        known = sessions.setdefault(sighting.session_uid, set())
        known.update((e.event_id, e.part) for e in sighting.learning.evidence)
    seen: set[tuple[str, int]] = set()
    times = 0
    for _, events in sorted(sessions.items()):
        times += not events or bool(events - seen)
        seen |= events
    return times


def said_by_user(learning: Learning) -> int:
    """Return in how many different messages the user said it, forks of them counted once."""
    return len({(e.event_id, e.part) for e in learning.evidence if e.author == "user"})


def _order(sighting: Sighting) -> tuple[int, str, str]:
    times = [e.ts for e in sighting.learning.evidence if e.ts is not None]
    return min(times, default=sighting.learning.recorded_at), sighting.session_uid, sighting.origin


def _evidence_of(sightings: Sequence[Sighting]) -> tuple[LearningEvidence, ...]:
    found = {
        (e.session_uid, e.event_id, e.part): e for sighting in sightings for e in sighting.learning.evidence
    }  # fmt: skip
    ordered = sorted(
        found.values(), key=lambda e: (e.ts if e.ts is not None else 1 << 62, e.session_uid, e.seq, e.part, e.event_id)
    )
    half = MOST_EVIDENCE // 2
    return tuple(ordered) if len(ordered) <= MOST_EVIDENCE else (*ordered[:half], *ordered[-half:])


def _latest(ends: Sequence[int | None]) -> int | None:
    """Return the last end; None, which is open, is later than any."""
    known = [end for end in ends if end is not None]
    return max(known) if len(known) == len(ends) else None


def _expiry(learnings: Sequence[Learning], last: int, action_days: int) -> int | None:
    if learnings[0].kind != "action":
        return None
    stated = [one.expires_at for one in learnings if one.expires_at is not None]
    return max(stated) if stated else last + action_days * DAY_US
