"""What the sessions of a home come to, for the law that it does not matter which steps of a file were seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from recollect.insights.preparation import analyse
from recollect.model.insights.nodes import Decision
from recollect.model.learnings.learnings import LearningState
from recollect.store.insight_feed import SessionFeed
from recollect.store.insights import InsightReader, NodeFilter
from recollect.store.learnings import LearningFilter, LearningReader
from recollect.store.reader import open_reader
from recollect.store.rows import EventFilter

_TOLD = frozenset(
    ("user_message", "assistant_message", "thinking", "tool_call", "tool_result", "file_edit", "compaction", "rewind")
)
"""Kinds that stand where they happened; others are told of a session as a whole."""
_HOLDING: tuple[LearningState, ...] = ("active", "confirmed", "done", "undone", "superseded")
"""States of learnings that do not depend on what an earlier state of a session seemed to say."""


def meaning_of(home: Path) -> dict[str, dict[str, Any]]:
    """Return the conversation in canonical order with its turns, the digest without times, and the decisions; of the
    whole home the sessions, and the decisions and learnings that were kept."""
    found: dict[str, dict[str, Any]] = {}
    feed = SessionFeed(home, None, None)
    reader = open_reader(home, None, None)
    try:
        for stored in reader.sessions(EventFilter(), limit=1000)[0]:
            of_session = feed.read(stored.session_uid)
            assert of_session is not None
            analysis = analyse(of_session.events, session=of_session.session, load=of_session.load)
            digest = msgspec.to_builtins(analysis.digest)
            found[stored.session_uid] = {
                "conversation": [
                    (e.event_id, e.part, e.turn_index, e.role, e.payload) for e in of_session.events if e.kind in _TOLD
                ],
                "digest": {k: digest[k] for k in ("first_prompt", "last_assistant", "outcome", "tool_histogram")},
                "title": stored.title,
                "turn count": stored.turn_count,
                "decisions": [(n.id, n.status) for n in analysis.nodes if isinstance(n, Decision)],
            }
        everything = {"sessions": sorted(found), "decisions": _decisions(home), "learnings": _learnings(home)}
        found["the whole memory"] = everything
    finally:
        feed.close()
        reader.close()
    return found


def _decisions(home: Path) -> list[tuple[object, ...]]:
    """Return the decisions that are kept, as the last analysis left them."""
    distilled = InsightReader(home)
    try:
        return sorted((kept.node.id, kept.node.status) for kept in distilled.nodes(NodeFilter(kinds=("decision",))))
    finally:
        distilled.close()


def _learnings(home: Path) -> list[tuple[object, ...]]:
    """Return what holds of what was learned, with what it rests on."""
    learned = LearningReader(home)
    try:
        return sorted(
            (one.kind, one.text, one.state, one.scope, one.repo, sorted((e.event_id, e.part) for e in one.evidence))
            for one in learned.learnings(LearningFilter(states=_HOLDING, limit=1000))
        )
    finally:
        learned.close()
