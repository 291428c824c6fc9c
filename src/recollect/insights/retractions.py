"""Finds sentences in which a person takes back or changes something that was said before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recollect.insights.language.projection import lower, project
from recollect.insights.language.sentences import sentences
from recollect.insights.learnings.extraction.spoken import is_scripted, is_stated
from recollect.insights.revisions import may_revise, points_back, revision_in
from recollect.insights.stream import SessionEvents, evidence_of
from recollect.model.insights.signals import Retraction
from recollect.model.payloads import UserMessage
from recollect.privacy.sentences import tells_credential

_LONGEST_MESSAGE: Final = 1_500
"""A longer message describes a task, or is pasted."""
_LONGEST: Final = 260
_MOST: Final = 4
"""Sentences of a message, at most."""


def retractions_said(session: SessionEvents) -> Iterator[Retraction]:
    """Yield what people say that may end what was said before. Whether it does, only relating sessions tells."""
    for event in session.of(UserMessage):
        payload = event.payload
        if not isinstance(payload, UserMessage) or payload.origin not in ("human", "queued") or event.is_sidechain:
            continue
        text = payload.text
        if len(text) > _LONGEST_MESSAGE or not may_revise(text) or is_scripted(text):
            continue
        found = 0
        for start, end in sentences(lower(project(text, of_human=True))):
            said = text[start:end]
            revision = revision_in(said) if end - start <= _LONGEST and found < _MOST else None
            if revision is None or not (revision.said.words or revision.turned_down or points_back(said)):
                continue
            is_permission = "allowed" in revision.changes  # in some languages it begins as a question does
            if (is_stated(said) or is_permission) and not tells_credential(said):
                found += 1
                yield Retraction.at(event, evidence_of(event, "statement", start, end), statement=said.strip())
