"""What agents were given, and when: the log of blocks, each with what its lines cite as it is now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from recollect.recall.context.usage import Use, use_of
from recollect.recall.quotes import clean
from recollect.store.context_log import ContextLogEntry
from recollect.store.recent_reader import RecentReader

TEXT_CHARS = 160


class ShownLine(msgspec.Struct, frozen=True):
    """A citation of a block. text: what it cites, as it is now, on a line; "" where that is gone."""

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
