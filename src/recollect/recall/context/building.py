"""Builds a block: asks the sources, keeps what is worth most within the budget, and writes it in a stable order."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.recall.context.compacted import EditedFiles, Plan, Requests, StillFailing
from recollect.recall.context.decided import DecidedHere
from recollect.recall.context.failures import FailuresHere, Fixed, Unfixed
from recollect.recall.context.sources import LINE_TOKENS, Asked, Candidate, ContextEvent, ContextSource
from recollect.recall.context.tokens import tokens_of
from recollect.recall.context.worked_on import WorkedOn
from recollect.recall.quoting import clean, quoted
from recollect.store.recent import Folder, RecentReader

LINE_CHARS = 700
"""One line, its citation left out, is cut here."""
_NOTE = "Each line ends with its source, which Recollect opens in full."


class ContextBlock(msgspec.Struct, frozen=True):
    """What an agent is given. Empty: there is nothing worth saying.

    text: the whole block, quoted; "" when empty. lines: its cited lines. left_out: what more there would have been.
    tokens: of the text, at most. citations, identifiers: what the lines cite and name, to tell later whether they were
    used. notes: what went wrong; a block never fails.
    """

    text: str = ""
    lines: tuple[str, ...] = ()
    left_out: int = 0
    tokens: int = 0
    citations: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    repo: str = ""
    notes: tuple[str, ...] = ()


class _Section(msgspec.Struct):
    heading: str
    lines: list[tuple[str, Candidate]]


def ordered(event: ContextEvent) -> tuple[ContextSource, ...]:
    """Return the sources of an event, in the order in which they stand in the block: what changes least comes first."""
    here = FailuresHere()
    if event == "compact":
        return (Requests(), EditedFiles(), StillFailing(), Plan())
    return (DecidedHere(), Fixed(here), Unfixed(here), WorkedOn())


def block_of(
    reader: RecentReader, folder: Folder | None, *, event: ContextEvent, session: str, budget: int
) -> ContextBlock:
    """Return what the sources of an event have to say, but a prompt's. Raises what the reader raises."""
    return build(Asked(reader, folder, session, room=room_of(budget)), ordered(event), budget=budget)


def build(asked: Asked, sources: Sequence[ContextSource], *, budget: int) -> ContextBlock:
    """Return the block of some sources, of at most `budget` tokens. The same store gives the same bytes.

    What does not fit is left out by worth, the least first; the order of what stays does not change.
    """
    sections: list[_Section] = []
    left_out = 0
    for source in sources:
        found = source.candidates(asked)
        left_out += found.left_out
        lines = [(_line(candidate), candidate) for candidate in found.candidates]
        if lines:
            sections.append(_Section(source.heading, lines))
    while sections:
        text = _text(sections, left_out)
        tokens = tokens_of(text)
        if tokens <= budget:
            chosen = [pair for section in sections for pair in section.lines]
            return ContextBlock(
                text,
                tuple(line for line, _ in chosen),
                left_out,
                tokens,
                tuple(dict.fromkeys(candidate.citation for _, candidate in chosen)),
                tuple(dict.fromkeys(name for _, candidate in chosen for name in candidate.identifiers)),
                asked.folder.names[0] if asked.folder is not None and asked.folder.names else "",
            )
        left_out += _drop(sections, tokens - budget)
    return ContextBlock(left_out=left_out)


def room_of(budget: int) -> int:
    """Return for how many lines a budget has room, about."""
    return max(1, budget // LINE_TOKENS)


def _line(candidate: Candidate) -> str:
    text = " ".join(clean(candidate.text, limit=LINE_CHARS).split())
    return f"- {text} [{candidate.citation}]"


def _text(sections: Sequence[_Section], left_out: int) -> str:
    lines: list[str] = []
    for section in sections:
        lines.append(section.heading)
        lines += [line for line, _ in section.lines]
    if left_out:
        lines.append(f"Left out: {left_out} more.")
    return quoted(lines, note=_NOTE)


def _drop(sections: list[_Section], excess: int) -> int:
    """Drop the lines of least worth until about so many tokens are gone; return how many lines that were."""
    dropped = 0
    while excess > 0 and sections:
        worths = [(c.worth, s, i) for s, section in enumerate(sections) for i, (_, c) in enumerate(section.lines)]
        _, at, place = min(worths)
        line, _ = sections[at].lines.pop(place)
        excess -= tokens_of(line)
        dropped += 1
        if not sections[at].lines:
            del sections[at]
    return dropped
