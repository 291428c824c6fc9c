"""Turns findings into learnings: cleans, bounds, names and weighs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from recollect.insights.learnings.identity import bounded, confidence_of, learning_id
from recollect.insights.learnings.safety import STEERING, judged, may_become
from recollect.model.events import Event
from recollect.model.insights.nodes import Status
from recollect.model.learnings.learnings import (
    EXTRACTOR,
    Author,
    Learning,
    LearningEvidence,
    LearningKind,
    Priority,
    Scope,
)
from recollect.model.sessions import Session
from recollect.privacy.password_sentences import tells_credential


class Extracted(NamedTuple):
    """Learnings with evidence, ids, features and confidence; without `recorded_at` and `batch`.

    Each id occurs once. Those of state "quarantined" have a feature "held back: REASON" of weight 0.
    """

    learnings: list[Learning]


HELD_BACK = "held back: "
"""Begins the name of a feature of weight 0 that says why a learning is quarantined."""
MOST_EVIDENCE = 12
"""Pieces of evidence that a session gives a learning, at most: the first ones."""


class Place(NamedTuple):
    """Where a learning holds. path: "/"-separated below the repository, for the scope path."""

    scope: Scope
    path: str = ""


class Draft(NamedTuple):
    """Something found, before it is cleaned and named."""

    kind: LearningKind
    text: str
    place: Place
    author: Author
    evidence: Sequence[LearningEvidence]
    features: Mapping[str, float]
    priority: Priority = ""
    status: Status = "derived"
    quoted: str = ""
    """What a tool printed and the text quotes: judged as a tool's words."""


def evidence_of(event: Event, author: Author, quote: str) -> LearningEvidence:
    """Return an event as evidence, with at most 300 characters of its text."""
    return LearningEvidence(event.session_uid, event.event_id, event.part, author, event.seq, event.ts, bounded(quote))


def learning_of(draft: Draft, session: Session) -> Learning | None:
    """Return a draft as a learning; None if nothing of its text is left, or its authors may not say so.

    What tells a credential is no evidence, as it would be quoted.
    """
    judgement = judged(draft.text, draft.author)
    if draft.quoted and not judgement.held_back:
        judgement = judgement._replace(held_back=judged(draft.quoted, "tool").held_back)
    evidence = [one for one in draft.evidence if not tells_credential(one.quote)]
    if not evidence or not judgement.text or not may_become(draft.kind, [one.author for one in evidence]):
        return None
    scope, path = draft.place
    repo = "" if scope == "user" else session.repo
    features = dict(draft.features)
    if judgement.held_back:
        features[HELD_BACK + judgement.held_back] = 0.0
    return Learning(
        id=learning_id(draft.kind, scope, repo, path, judgement.text),
        kind=draft.kind,
        text=judgement.text,
        scope=scope,
        repo=repo,
        path=path if scope == "path" else "",
        status=draft.status,
        state="quarantined" if judgement.held_back else "active",
        confidence=confidence_of(features),
        features=features,
        valid_from=min((one.ts for one in evidence if one.ts is not None), default=None),
        evidence=tuple(evidence[:MOST_EVIDENCE]),
        extractor=EXTRACTOR,
        priority=draft.priority if draft.kind == "action" else "",
    )


def merged(learnings: Iterable[Learning]) -> list[Learning]:
    """Return learnings with each id once, in order of first sight: evidence of all, the surer one's features.

    What steers and was said again in the session gains "said again"; a held back one stays so.
    """
    found: dict[str, Learning] = {}
    for one in learnings:
        before = found.get(one.id)
        found[one.id] = one if before is None else _joined(before, one)
    return list(found.values())


def _joined(before: Learning, again: Learning) -> Learning:
    seen = {(e.event_id, e.part, e.author) for e in before.evidence}
    more = [e for e in again.evidence if (e.event_id, e.part, e.author) not in seen]
    features = dict(max(before, again, key=lambda one: one.confidence).features)
    if more and before.kind in (*STEERING, "correction"):
        features["said again"] = 0.1
    features.update({name: 0.0 for name in (*before.features, *again.features) if name.startswith(HELD_BACK)})
    return msgspec.structs.replace(
        before,
        evidence=(*before.evidence, *more)[:MOST_EVIDENCE],
        features=features,
        confidence=confidence_of(features),
        state="quarantined" if "quarantined" in (before.state, again.state) else before.state,
        priority=before.priority or again.priority,
    )
