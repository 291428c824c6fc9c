"""The typed results of questions to a team's server: those of a memory, with who shared it and how it is cited."""

from __future__ import annotations

from typing import Annotated

import msgspec

from recollect.model.sessions import Session
from recollect.model.team_messages import Level, SharedEvent
from recollect.recall.answers import SessionPage
from recollect.recall.decisions import DecisionQuestion, DecisionsAnswer, DecisionView


class TeamSession(Session, frozen=True):
    """A session that a team shares, as far as its level tells. citation: `team:PERSON/MACHINE/SESSION`."""

    person: str = ""
    machine: str = ""
    level: Level = "figures"
    citation: str = ""


class TeamSessionPage(SessionPage, frozen=True):
    """Sessions of a team, newest first. `total`: all that match."""

    sessions: tuple[TeamSession, ...]


class TeamSessionView(msgspec.Struct, frozen=True):
    """A page of a session that a team shares. `next_seq`: where to continue with `--from`; None at the end."""

    session: TeamSession
    events: tuple[SharedEvent, ...]
    next_seq: int | None
    notes: tuple[str, ...] = ()


class TeamDecisionsQuestion(msgspec.Struct, frozen=True):
    """Which decisions of a team. The question's session may be a citation."""

    question: DecisionQuestion
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50


class TeamDecisionView(DecisionView, frozen=True):
    """A decision that a team shares, and what became of it in what is shared. recorded_at: when the team's server first
    had its session. citation: of the event, as of `TeamHit`."""

    person: str = ""
    machine: str = ""
    session_uid: str = ""
    event_id: str = ""
    part: int = 0


class TeamDecisionsAnswer(DecisionsAnswer, frozen=True):
    """Decisions of a team, newest first."""

    decisions: tuple[TeamDecisionView, ...]
