"""How often agents got context, and whether it was useful. Computed on request.

A block was used when, later in the same session, one of three things happened: the agent asked the memory for a session
that the block cites (`opened`); the agent's words cite it (`cited`); the agent's words name an identifier of the block,
such as a file, that no person named in that session (`repeated`). The last may be by chance: it is an upper figure.
Of a session that is not stored, or gave no id, nothing is known (`unknown`), nor of a block that cites nothing: one of
the person's own files alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from recollect.model.own import is_own_tool
from recollect.model.payloads import AssistantMessage, ToolCall, UserMessage
from recollect.model.text import flatten
from recollect.recall.quotes import clean
from recollect.store.audit import ContextLogEntry, OwnCallCount
from recollect.store.context_reader import RecentReader

Use = Literal["opened", "cited", "repeated", "unused", "unknown"]
COMMAND_LINE = "recollect (command line)"
MIN_IDENTIFIER_CHARS = 5
_EVENTS = 2000
"""Events looked at in a session, the newest."""


class FiringCounts(msgspec.Struct):
    """What one agent was given at one event. spoke: blocks; silent: nothing to say; failed: of these, for an error.

    tokens, left_out: over all blocks. took_p50_ms, took_p95_ms: of the answers, nearest rank.
    """

    agent: str
    event: str
    spoke: int = 0
    silent: int = 0
    failed: int = 0
    tokens: int = 0
    left_out: int = 0
    used: int = 0
    """Blocks that were used in any of the three ways."""
    opened: int = 0
    cited: int = 0
    repeated: int = 0
    unused: int = 0
    unknown: int = 0
    took_p50_ms: float = 0.0
    took_p95_ms: float = 0.0


class AskedCounts(msgspec.Struct, frozen=True):
    """How often an agent asked the memory itself, by tool."""

    agent: str
    tool: str
    count: int


class RecallStats(msgspec.Struct, frozen=True):
    """What agents were given, and what they asked. since: the first block, UTC microseconds, None without any."""

    given: tuple[FiringCounts, ...]
    asked: tuple[AskedCounts, ...]
    since: int | None


def recall_stats(
    firings: Sequence[ContextLogEntry], calls: Sequence[OwnCallCount], reader: RecentReader | None
) -> RecallStats:
    """Return the counts of a log. reader: where the sessions are looked up; None: there are none."""
    counts: dict[tuple[str, str], FiringCounts] = {}
    took: dict[tuple[str, str], list[int]] = {}
    for firing in firings:
        key = (firing.agent, firing.event)
        count = counts.setdefault(key, FiringCounts(*key))
        took.setdefault(key, []).append(firing.took_us)
        count.failed += bool(firing.note)
        if not firing.tokens:
            count.silent += 1
            continue
        count.spoke += 1
        count.tokens += firing.tokens
        count.left_out += firing.left_out
        use = use_of(firing, reader) if reader is not None else "unknown"
        setattr(count, use, getattr(count, use) + 1)
        count.used += use in ("opened", "cited", "repeated")
    for key, count in counts.items():
        count.took_p50_ms, count.took_p95_ms = _rank(took[key], 50), _rank(took[key], 95)
    asked: dict[tuple[str, str], int] = {}
    for call in calls:
        tool = call.tool if is_own_tool(call.tool) else COMMAND_LINE
        asked[call.agent, tool] = asked.get((call.agent, tool), 0) + call.calls
    return RecallStats(
        tuple(counts[key] for key in sorted(counts)),
        tuple(AskedCounts(*key, count) for key, count in sorted(asked.items())),
        min((firing.at for firing in firings), default=None),
    )


def use_of(firing: ContextLogEntry, reader: RecentReader) -> Use:
    """Tell what became of a block in the session that it was given to."""
    kinds = ("user_message", "assistant_message", "tool_call")
    events = reader.events(firing.session, kinds, limit=_EVENTS) if firing.session and firing.citations else []
    if not events:
        return "unknown"
    uids = {citation.partition("#")[0] for citation in firing.citations}
    for event in reader.events(firing.session, ("tool_call",), limit=_EVENTS, is_own=True):
        if isinstance(event.payload, ToolCall) and (event.ts is None or event.ts >= firing.at):
            arguments = flatten(event.payload.arguments)
            if any(uid in arguments for uid in uids):
                return "opened"
    said = [e.payload.text for e in events if isinstance(e.payload, AssistantMessage) and (e.ts or 0) >= firing.at]
    if any(uid in text for text in said for uid in uids):
        return "cited"
    asked = [e.payload.text for e in events if isinstance(e.payload, UserMessage) and e.payload.origin != "injected"]
    names = [n for n in firing.identifiers if len(n) >= MIN_IDENTIFIER_CHARS and not any(n in text for text in asked)]
    if any(name in text for text in said for name in names):
        return "repeated"
    return "unused"


def _rank(took_us: Sequence[int], percent: int) -> float:
    """Return a percentile by nearest rank, in milliseconds."""
    ordered = sorted(took_us)
    return round(ordered[max(0, -(-len(ordered) * percent // 100) - 1)] / 1000, 1)


TEXT_CHARS = 160


class ShownLine(msgspec.Struct, frozen=True):
    """A citation of a block. text: the present text of its target on one line; "" if it no longer exists."""

    citation: str
    text: str


class ShownBlock(msgspec.Struct, frozen=True):
    """One block that an agent was given, or one time that there was nothing to say (`tokens` 0).

    at: UTC microseconds. session: its uid, "" where the agent did not say. used: whether it was of use, None for a
    block that says nothing. note: the code of the error for which nothing could be said.
    """

    at: int
    agent: str
    session: str
    event: str
    repo: str
    tokens: int
    left_out: int
    took_ms: float
    used: Use | None
    lines: tuple[ShownLine, ...] = ()
    note: str = ""


def shown_of(firings: Sequence[ContextLogEntry], reader: RecentReader | None) -> tuple[ShownBlock, ...]:
    """Return the blocks of a log, in its order. reader: where citations are looked up; None: there are none."""
    known: dict[str, str] = {}

    def told(citation: str) -> str:
        if citation not in known:
            text = reader.cited_text(citation) if reader is not None else ""
            known[citation] = " ".join(clean(text, limit=TEXT_CHARS).split())
        return known[citation]

    return tuple(_block(firing, reader, told) for firing in firings)


def _block(firing: ContextLogEntry, reader: RecentReader | None, told: Callable[[str], str]) -> ShownBlock:
    used: Use | None = None
    if firing.tokens:
        used = use_of(firing, reader) if reader is not None else "unknown"
    return ShownBlock(
        firing.at, firing.agent, firing.session, firing.event, firing.repo, firing.tokens, firing.left_out,
        round(firing.took_us / 1000, 1), used, tuple(ShownLine(c, told(c)) for c in firing.citations), firing.note,
    )  # fmt: skip
