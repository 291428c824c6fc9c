"""A session's facts, and its figures: cost, tools, errors, first and last words; and the sum of two parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter

import msgspec

from recollect.insights.outcome import outcome_of
from recollect.insights.session_events import SessionEvents
from recollect.insights.stages import Gated
from recollect.insights.task_refs import TaskPattern, task_ref_of
from recollect.model.events import Event
from recollect.model.ids import session_uid
from recollect.model.insights.digests import Cost, Digest, ErrorSnippet
from recollect.model.insights.signals import SIGNAL_KINDS, ErrorSeen, Retry, Signal, kind_of_signal
from recollect.model.own import SERVER_KEYS, without_own_blocks
from recollect.model.payloads import TURN_ORIGINS, AssistantMessage, TokenUsage, ToolCall, UserMessage
from recollect.model.sessions import Session, SessionPatch, repo_name
from recollect.model.tools import canonical_tool


def added(base: Digest, later: Digest) -> Digest:
    """Return one digest of both parts. base: the part whose events are gone; later: the events since.

    Counts add up; the first prompt and the task are the base's, every other single value the later one's if it has any.
    Times, the wall clock and the turns of the later one cover the whole session already.
    """
    signals = Counter(base.signals) + Counter(later.signals)
    has_outcome = later.outcome != "unknown"
    return msgspec.structs.replace(
        later,
        model=later.model or base.model,
        outcome=later.outcome if has_outcome else base.outcome,
        outcome_reasons=later.outcome_reasons if has_outcome else base.outcome_reasons,
        cost=_costs_together(base.cost, later.cost),
        tool_histogram=_most_frequent(Counter(base.tool_histogram) + Counter(later.tool_histogram)),
        event_count=base.event_count + later.event_count,
        kind_counts=dict(sorted((Counter(base.kind_counts) + Counter(later.kind_counts)).items())),
        markers=dict(sorted((Counter(base.markers) + Counter(later.markers)).items())),
        signals={kind: signals[kind] for kind in SIGNAL_KINDS if signals[kind]},
        first_prompt=base.first_prompt or later.first_prompt,
        last_assistant=later.last_assistant or base.last_assistant,
        error_snippets=_snippets((*base.error_snippets, *later.error_snippets)),
        task_ref=base.task_ref or later.task_ref,
        tool_kinds={**base.tool_kinds, **later.tool_kinds},
    )


def _costs_together(base: Cost, later: Cost) -> Cost:
    return Cost(
        input_tokens=base.input_tokens + later.input_tokens,
        output_tokens=base.output_tokens + later.output_tokens,
        cache_tokens=base.cache_tokens + later.cache_tokens,
        wall_clock_s=max(base.wall_clock_s, later.wall_clock_s),
        turns=max(base.turns, later.turns),
        retries=base.retries + later.retries,
        active_s=round(base.active_s + later.active_s, 3),
    )


def _snippets(snippets: Iterable[ErrorSnippet]) -> tuple[ErrorSnippet, ...]:
    """Return the kinds of errors, at most ten: the most frequent first, of equally frequent ones the first seen."""
    first: dict[str, ErrorSnippet] = {}
    counts: Counter[str] = Counter()
    for snippet in snippets:
        first.setdefault(snippet.fingerprint, snippet)
        counts[snippet.fingerprint] += snippet.count
    chosen = sorted(first, key=lambda fingerprint: -counts[fingerprint])[:MAX_SNIPPETS]
    return tuple(msgspec.structs.replace(first[f], count=counts[f]) for f in chosen)


TEXT_CHARS = 600
MAX_SNIPPETS = 10
MAX_TOOLS = 200
GAP_US = 600 * 1_000_000
"""A longer gap between two events is time in which nobody worked."""
MAX_TOKENS = 1 << 40
"""What an agent writes beyond this is nonsense; it is cut off, as in the store."""
_US_PER_S = 1_000_000
_TOOL_KEYS = ("tool_name", "toolName", "tool", "ToolName")
"""Where the arguments of a tool that runs any server's tool name the tool."""


def digest_of(
    stream: SessionEvents,
    session: Session,
    signals: Sequence[Signal],
    gated: Sequence[Gated],
    *,
    patterns: Sequence[TaskPattern] | None = None,
) -> Digest:
    """Return the digest of a session. patterns: see `task_refs`; None: those that ship.

    Counts and costs are of all events given; what it says of the work is of those that were not undone, as `signals`
    and `gated` are. Times and turns are the session's, else those of its events: a turn is one also where its prompt is
    forgotten.
    """
    kept = stream.kept
    verdict = outcome_of(kept, signals)
    calls = [event.payload for event in stream.of(ToolCall) if isinstance(event.payload, ToolCall)]
    histogram = _most_frequent(Counter(_tool_name(call) or "(unnamed)" for call in calls))
    started_at, ended_at = session.started_at, session.ended_at
    if started_at is None or ended_at is None:
        times = [event.ts for event in stream.events if event.ts is not None]
        started_at = started_at if started_at is not None else min(times, default=None)
        ended_at = ended_at if ended_at is not None else max(times, default=None)
    return Digest(
        session_uid=session.session_uid or stream.uid,
        flavor=session.agent,
        repo=session.repo,
        domain=session.domain,
        model=_main_model(stream) or (session.models[-1] if session.models else ""),
        started_at=started_at,
        ended_at=ended_at,
        outcome=verdict.outcome,
        outcome_reasons=verdict.reasons,
        cost=_cost(stream, session.turn_count, started_at, ended_at, sum(isinstance(s, Retry) for s in signals)),
        tool_histogram=histogram,
        event_count=len(stream.events),
        kind_counts=dict(sorted(Counter(map(attrgetter("kind"), stream.events)).items())),
        markers=dict(sorted(Counter(marker.rule for found in gated for marker in found.markers).items())),
        signals=_by_kind(signals),
        first_prompt=_first_prompt(kept),
        last_assistant=_last_reply(kept),
        error_snippets=snippets_of(signals),
        task_ref=task_ref_of(kept, session, patterns),
        tool_kinds={
            call.name: call.canonical
            for call in calls
            if call.name in histogram and call.canonical and call.canonical != canonical_tool(call.name)
        },
    )


def usage_of(stream: SessionEvents) -> list[TokenUsage]:
    """Return the token usage of each response once: the sighting with the most output tokens, then the most input, of
    equal ones the first. Sightings that are not additive are left out."""
    fullest: dict[str, TokenUsage] = {}
    for number, event in enumerate(stream.of(TokenUsage)):
        payload = event.payload
        if isinstance(payload, TokenUsage):
            key = payload.dedupe_key or f"\0{number}"
            known = fullest.get(key)
            if known is None or _fullness(payload) > _fullness(known):
                fullest[key] = payload
    return [usage for usage in fullest.values() if usage.is_additive]


def _fullness(usage: TokenUsage) -> tuple[int, int]:
    return usage.output_tokens, usage.input_tokens + usage.cache_read_tokens


def snippets_of(signals: Sequence[Signal]) -> tuple[ErrorSnippet, ...]:
    """Return the kinds of errors that signals tell, see `_snippets`."""
    return _snippets(ErrorSnippet(s.fingerprint, s.sample, 1, s.tool) for s in signals if isinstance(s, ErrorSeen))


def _cost(stream: SessionEvents, turn_count: int, started_at: int | None, ended_at: int | None, retries: int) -> Cost:
    used = stream.once(usage_of)
    wall_clock_us = max(0, ended_at - started_at) if started_at is not None and ended_at is not None else 0
    return Cost(
        input_tokens=sum(_tokens(u.input_tokens) for u in used),
        output_tokens=sum(_tokens(u.output_tokens) for u in used),
        cache_tokens=sum(
            _tokens(u.cache_read_tokens) + _tokens(u.cache_write_5m_tokens) + _tokens(u.cache_write_1h_tokens)
            for u in used
        ),
        wall_clock_s=round(wall_clock_us / _US_PER_S, 3),
        turns=turn_count or turns_in(stream.of(UserMessage)),
        retries=retries,
        active_s=round(_active_us(stream) / _US_PER_S, 3),
    )


def _active_us(stream: SessionEvents) -> int:
    times = sorted(event.ts for event in stream.events if event.ts is not None)
    gaps = (later - earlier for earlier, later in pairwise(times))
    return sum(gap for gap in gaps if gap <= GAP_US)


def _tokens(count: int) -> int:
    return count if 0 <= count <= MAX_TOKENS else max(0, min(count, MAX_TOKENS))


def _main_model(stream: SessionEvents) -> str:
    """Return the model that took the most tokens, else the one with the most replies; "" for none."""
    spent: Counter[str] = Counter()
    replies: Counter[str] = Counter()
    for usage in stream.once(usage_of):
        if usage.model:
            spent[usage.model] += max(1, _tokens(usage.output_tokens) + _tokens(_input_of(usage)))
    if not spent:
        for event in stream.of(AssistantMessage):
            if isinstance(event.payload, AssistantMessage) and event.payload.model:
                replies[event.payload.model] += 1
    return next((model for counts in (spent, replies) for model, _ in counts.most_common(1)), "")


def _input_of(usage: TokenUsage) -> int:
    cached = usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    return usage.input_tokens + cached


def _tool_name(call: ToolCall) -> str:
    """Return a tool as its agent names it; a server's tool that is run through a tool for all of them by its own."""
    given = call.arguments
    if call.canonical != "mcp" or not isinstance(given, dict):
        return call.name
    server, tool = (
        next((named for key in keys if isinstance(named := given.get(key), str) and named), "")
        for keys in (SERVER_KEYS, _TOOL_KEYS)
    )
    return f"mcp__{server}__{tool}" if server and tool else call.name


def _most_frequent(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_TOOLS])


def _by_kind(signals: Sequence[Signal]) -> dict[str, int]:
    counts = Counter(kind_of_signal(signal) for signal in signals)
    return {kind: counts[kind] for kind in SIGNAL_KINDS if counts[kind]}


def _first_prompt(stream: SessionEvents) -> str:
    for event in stream.of(UserMessage):
        payload = event.payload
        if isinstance(payload, UserMessage) and payload.origin in ("human", "queued"):
            said = without_own_blocks(payload.text).strip()
            if said:
                return _cut(said)
    return ""


def _last_reply(stream: SessionEvents) -> str:
    """Return the last words of the main line, else of a side chain."""
    of_side = ""
    for event in reversed(stream.of(AssistantMessage)):
        said = event.payload.text.strip() if isinstance(event.payload, AssistantMessage) else ""
        if said and not event.is_sidechain:
            return _cut(said)
        of_side = of_side or said
    return _cut(of_side)


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARS else text[: TEXT_CHARS - 1].rstrip() + "…"


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
