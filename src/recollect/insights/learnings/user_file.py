"""Writes the marked region of `user.md` with the user's preferences. Pure.

Everything outside of the marks stays byte for byte. Between them stand our lines, one for each preference, and after
them whatever else somebody wrote there. A line of ours that somebody took out says that it does not hold; a line that
was changed is taken out, and the person's own from then on. Where the marks are gone, nothing is written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from recollect.insights.learnings.corroboration import said_by_user
from recollect.late import late_pattern
from recollect.model.learnings.learnings import Learning
from recollect.visible import safe_line

BEGIN = "<!-- recollect: preferences. Take a line out and it holds no more; lines of your own stay. -->"
END = "<!-- recollect: end -->"
NOTHING = "<!-- recollect: none yet. What you say in two messages, or confirm, comes here. -->"
"""Stands in a region without preferences, and tells one that is new from one that somebody emptied."""
MOST_LINES = 40
LEAST_TIMES = 2
"""In so many different messages the user must have said what they have not confirmed."""
MANY = 3
"""So many lines are rarely taken out one by one to what stood there before."""
KEPT_STATES = 16
"""Earlier states of a region that are known again when a file is restored."""
_BEGIN = late_pattern(r"^[ \t]*<!-- recollect: preferences\b[^\n]*?-->[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_END = late_pattern(r"^[ \t]*<!-- recollect: end -->", re.MULTILINE)
_LINE_ENDS = late_pattern(r"\r\n|\n|\r")


class Written(msgspec.Struct, frozen=True):
    """What was written into a file the last time. lines: each of ours, with the id of its learning. states: hashes of
    this region and of those before it, the newest last."""

    path: str = ""
    lines: dict[str, str] = {}
    states: tuple[str, ...] = ()


class Region(NamedTuple):
    """The text between the marks. start, end: of that text. newline: as in the file."""

    start: int
    end: int
    lines: tuple[str, ...]
    newline: str


def preferences_for(learnings: Iterable[Learning]) -> list[Learning]:
    """Return what the file is to say: preferences of the user themselves that they confirmed, or said twice.

    In the order in which they became known, so that lines stay where they are; of too many the surest. Said by anybody
    but the user counts for nothing, however often.
    """
    known = [
        one
        for one in learnings
        if one.kind == "preference"
        and one.scope == "user"
        and (one.state == "confirmed" or (one.state == "active" and said_by_user(one) >= LEAST_TIMES))
    ]
    surest = sorted(known, key=lambda one: (one.state != "confirmed", -one.confidence, one.id))[:MOST_LINES]
    return sorted(surest, key=lambda one: (one.recorded_at, one.id))


def line_of(learning: Learning) -> str:
    """Return the line of a preference: no text of it can end the region or begin another line."""
    text = safe_line(learning.text).replace("<!--", "<! --").replace("-->", "-- >")
    return f"- {text}"


def find_region(text: str) -> Region | None:
    """Return the marked region; None if there is none, or not certainly one."""
    begin = _BEGIN.search(text)
    if begin is None or _BEGIN.search(text, begin.end()) is not None:
        return None
    end = _END.search(text, begin.end())
    if end is None:
        return None
    newline = _LINE_ENDS.search(begin.group())
    inside = text[begin.end() : end.start()]
    lines = tuple(line for line in _LINE_ENDS.split(inside) if line.strip())
    return Region(begin.end(), end.start(), lines, newline.group() if newline is not None else "\n")


def render(text: str, lines: Sequence[str], *, own: Sequence[str] = ()) -> str:
    """Return a text with these lines of ours in its region, and `own` ones after them; with a region at its end where
    it has none."""
    region = find_region(text)
    if region is None:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return render(f"{text}{gap}{BEGIN}\n{END}\n", lines, own=own)
    inside = [*(lines or (NOTHING,)), *own]
    return text[: region.start] + "".join(line + region.newline for line in inside) + text[region.end :]


def removed_by_hand(region: Region, written: Written) -> list[str]:
    """Return the ids of learnings whose lines somebody removed from the region.

    None if the region is new; or if many are missing and the rest is what we once wrote: then an older copy of the file
    was restored, and the missing lines mean nothing.
    """
    there = set(region.lines)
    gone = sorted({learning_id for line, learning_id in written.lines.items() if line not in there})
    is_restored = len(gone) >= MANY and state_of(region.lines) in written.states
    return [] if NOTHING in there or is_restored else gone


def own_lines(region: Region, written: Mapping[str, str], ours: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of the region that somebody else wrote, each once."""
    known = {*written, *ours, NOTHING}
    return tuple(dict.fromkeys(line for line in region.lines if line.strip() not in known and line not in known))


def state_of(lines: Sequence[str]) -> str:
    """Return a short hash of a region's text."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:16]
