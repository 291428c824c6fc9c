"""What a session gives at each level, in the words of the team's server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import NamedTuple

import msgspec

from recollect.ingest.home import OpenHome
from recollect.model.events import Event
from recollect.model.payloads import ToolCall, ToolResult
from recollect.model.team_messages import (
    MAX_TEXT_CHARS,
    Level,
    SharedDecision,
    SharedEvent,
    SharedSession,
    SharedUsage,
)
from recollect.model.text import searchable
from recollect.store.insights import NodeFilter
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter

_MAX_PATHS, _MAX_PATH_CHARS = 100, 4096
_MAX_NAME_CHARS = 200


class LocalSession(NamedTuple):
    """A local session that is shared. uid: as others see it; stored_uid: as it is stored."""

    number: int
    uid: str
    stored_uid: str
    level: Level
    stamp: int


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
            )
            for row in usage.rows
        ),
    )
    if one.level == "figures":
        return figures
    distilled = home.distilled()
    digest = distilled.digest(one.stored_uid)
    nodes = distilled.nodes(NodeFilter(kinds=("decision",), sessions=(one.stored_uid,)))
    return msgspec.structs.replace(
        figures,
        title=session.title[:MAX_TEXT_CHARS],
        branch=session.git_branch[:1000],
        digest=None if digest is None else msgspec.to_builtins(digest),
        decisions=tuple(SharedDecision(kept.node.id, msgspec.to_builtins(kept.node)) for kept in nodes),
    )


def shared_events(events: Iterable[Event]) -> Iterator[SharedEvent]:
    """Yield events as they are sent."""
    for event in events:
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
        )
