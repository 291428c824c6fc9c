"""Lines that stand for a session."""

from __future__ import annotations

from recollect.model.sessions import Session
from recollect.serve.mcp.bounded_answer import session_facts


def test_of_an_evicted_session_the_events_are_those_that_it_had() -> None:
    session = Session("claude:one", "claude", event_count=1234)
    assert "· 1,234 events" in session_facts(session)
    evicted = Session("claude:one", "claude", event_count=1234, evicted_at=1_785_574_800_000_000)
    assert "· had 1,234 events" in session_facts(evicted)


def test_what_there_is_one_of_is_singular() -> None:
    session = Session("claude:one", "claude", event_count=1, turn_count=1, defect_count=1)
    assert "· 1 turn · 1 event · 1 unreadable record\n" in session_facts(session)
