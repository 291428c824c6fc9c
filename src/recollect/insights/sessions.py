"""A session's facts, from its events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from recollect.model.events import Event
from recollect.model.ids import session_uid
from recollect.model.payloads import TURN_ORIGINS, AssistantMessage, UserMessage
from recollect.model.sessions import Session, SessionPatch, repo_name


def session_of(events: Sequence[Event], *, domains: Mapping[str, str] | None = None) -> Session:
    """Return the session that events of one session tell of; an empty one for no events.

    domains: domain by repository, as the configuration has them. What only the store knows (sources, watermarks, the
    root of a tree of sessions whose parents are other sessions) is left at its default; `root_session` is the parent,
    or the session itself.
    """
    uid = events[0].session_uid if events else ""
    agent = uid.partition(":")[0]
    patch = SessionPatch()
    for event in events:
        patch.take(event.payload, event.ts)
        if type(event.payload) is AssistantMessage and event.payload.model:
            patch.saw_model(event.payload.model)
    parent, forked_from, resumed_from = (
        session_uid(agent, native) if native and agent else ""
        for native in (patch.parent_session, patch.forked_from, patch.resumed_from)
    )
    parent = "" if parent == uid else parent
    repo = repo_name(patch.repo_root, patch.git_remote, patch.cwd_first or patch.cwd)
    return Session(
        session_uid=uid,
        agent=agent,
        title=patch.title or patch.first_human,
        title_status="agent" if patch.title else "derived" if patch.first_human else "",
        repo=repo,
        repo_root=patch.repo_root,
        domain=(domains or {}).get(repo) or (domains or {}).get(repo.lower(), ""),
        cwd=patch.cwd or patch.cwd_first,
        git_branch=patch.git_branch,
        git_commit=patch.git_commit,
        git_remote=patch.git_remote,
        models=tuple(patch.models),
        tool_version=patch.tool_version,
        originator=patch.originator,
        started_at=patch.started_at,
        ended_at=patch.ended_at,
        parent_session=parent,
        forked_from=forked_from,
        resumed_from=resumed_from,
        root_session=parent or uid,
        agent_name=patch.agent_name,
        event_count=len(events),
        turn_count=turns_in(events),
        kind_counts=dict(sorted(Counter(event.kind for event in events).items())),
    )


def turns_in(events: Sequence[Event]) -> int:
    """Return how many turns people started."""
    return sum(type(e.payload) is UserMessage and e.payload.origin in TURN_ORIGINS for e in events)
