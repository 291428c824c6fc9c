"""What a session contributes at each level."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from recollect.ingest.home import OpenHome
from recollect.model.events import Event
from recollect.model.learnings.learnings import GIVEN_STATES, Learning
from recollect.model.payloads import ToolCall, ToolResult
from recollect.model.team_messages import (
    MAX_TEXT_CHARS,
    Level,
    SharedDecision,
    SharedEvent,
    SharedLearning,
    SharedSession,
    SharedUsage,
)
from recollect.model.text import searchable
from recollect.sharing.meaning import SharedMeaning
from recollect.store.insights import KeptDecision
from recollect.store.learnings import LearningFilter, LearningReader
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter

_MAX_PATHS, _MAX_PATH_CHARS = 100, 4096
_MAX_NAME_CHARS = 200


class LocalSession(NamedTuple):
    """A local session that is shared. uid: as others see it; stored_uid: as it is stored. changed_at: UTC
    microseconds."""

    number: int
    uid: str
    stored_uid: str
    level: Level
    changed_at: int
    decisions: tuple[SharedDecision, ...] = ()

    @property
    def stamp(self) -> int:
        """A number that is another one when the session was ingested or analysed again, or what it decided changed."""
        said = repr(
            (self.changed_at, [(one.node_id, [link.older for link in one.links]) for one in self.decisions])
        ).encode()
        return int.from_bytes(blake2b(said, digest_size=7).digest())


def shared_session(home: OpenHome, reader: Reader, one: LocalSession) -> SharedSession | None:
    """Return what is said of a session at its level; None where it has gone meanwhile."""
    session = reader.session(one.stored_uid)
    if session is None:
        return None
    where = EventFilter(sessions=(one.stored_uid,))
    usage = reader.usage(by="model", where=where, after=None, before=None, zone=UTC)
    figures = SharedSession(
        session_uid=one.uid,
        level=one.level,
        stamp=one.stamp,
        agent=session.agent[:_MAX_NAME_CHARS],
        repo=session.repo[:_MAX_NAME_CHARS],
        outcome=session.outcome,
        started_at=session.started_at,
        ended_at=session.ended_at,
        event_count=session.event_count,
        turn_count=session.turn_count,
        usage=tuple(
            SharedUsage(
                row.key[:_MAX_NAME_CHARS],
                row.totals.input_tokens,
                row.totals.output_tokens,
                row.totals.cache_read_tokens + row.totals.cache_write_5m_tokens + row.totals.cache_write_1h_tokens,
                row.totals.responses,
                row.totals.cost_usd,
                row.totals.cache_write_5m_tokens,
                row.totals.cache_write_1h_tokens,
                row.totals.reasoning_tokens,
            )
            for row in usage.rows
        ),
    )
    if one.level == "figures":
        return figures
    digest = home.distilled().digest(one.stored_uid)
    return msgspec.structs.replace(
        figures,
        title=session.title[:MAX_TEXT_CHARS],
        branch=session.git_branch[:1000],
        digest=None if digest is None else msgspec.to_builtins(digest),
        decisions=one.decisions,
    )


def shared_decision(kept: KeptDecision) -> SharedDecision:
    """Return a decision with its links to older ones; those of newer decisions are sent with these."""
    own = (one.link for one in kept.links if one.revoked_at is None and one.link.newer == kept.decision.id)
    return SharedDecision(kept.decision.id, msgspec.to_builtins(kept.decision), tuple(own))


def shared_learnings(
    reader: LearningReader, repos: Mapping[str, bool], sessions: Collection[str]
) -> list[SharedLearning]:
    """Return what was learned of repositories and holds, with its quotes of these sessions. What rests on other
    sessions alone stays here.

    repos: by name, whether it means one repository alone. sessions: as they are stored."""
    found = reader.learnings(LearningFilter(repos=tuple(repos), states=GIVEN_STATES)) if repos else []
    shared = []
    for learning in found:
        evidence = tuple(one for one in learning.evidence if one.session_uid in sessions)
        if evidence or (not learning.evidence and repos[learning.repo]):  # a person said it, of this repository
            shared.append(_shared_learning(msgspec.structs.replace(learning, evidence=evidence)))
    return shared


def _shared_learning(learning: Learning) -> SharedLearning:
    body = msgspec.json.encode(learning)
    stamp = int.from_bytes(blake2b(body, digest_size=7).digest())
    return SharedLearning(learning.id, stamp, learning.repo, learning.kind, msgspec.json.decode(body))


def shared_events(events: Iterable[Event], meaning: SharedMeaning) -> Iterator[SharedEvent]:
    """Yield events as they are sent. What one response used is a figure of one person, and is not."""
    for event in events:
        if event.kind == "token_usage":
            continue
        _class, text, paths = searchable(event.payload)
        payload = event.payload
        yield SharedEvent(
            event_id=event.event_id,
            part=event.part,
            seq=event.seq,
            kind=event.kind,
            role=event.role,
            ts=event.ts,
            turn_index=event.turn_index,
            tool=payload.name[:_MAX_NAME_CHARS] if isinstance(payload, ToolCall | ToolResult) else "",
            summary=event.summary,
            text=text[:MAX_TEXT_CHARS],
            paths=tuple(path[:_MAX_PATH_CHARS] for path in paths[:_MAX_PATHS]),
            is_undone=event.is_undone,
            vectors=meaning.of_event(payload),
        )
