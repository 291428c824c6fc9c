"""The lines that an edit added and removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from recollect.insights.session_events import SessionEvents
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.payloads import FileEdit

SEARCH, DIVIDER, REPLACE = ("<<<<<<< SEARCH", "------- SEARCH"), "=======", (">>>>>>> REPLACE", "+++++++ REPLACE")
"""What stands before, in and behind a block that says what is searched for and what takes its place."""

_GONE = late_pattern(r"\[[0-9,]+ characters not available: [^\n]*\]\Z")
"""What stands for a text whose bytes can be read no more (`store.bodies.hydrate`): it says nothing of lines."""
_NUMBERED = late_pattern(r" *+[0-9]++(?: |$)")
"""Some agents show their edits to the model as lines with numbers and without hunk headers: `+12 text`."""


class Lines(NamedTuple):
    """Lines of an edit, each without its line end; None where nobody knows."""

    added: tuple[str, ...] | None
    removed: tuple[str, ...] | None


NOTHING_KNOWN = Lines(None, None)


def whole_edit(session: SessionEvents, event: Event) -> FileEdit:
    """Return the edit of an event with the texts that `lines_of` reads; asks for the whole event only without them."""
    payload = event.payload
    if isinstance(payload, FileEdit) and _lacks_text(payload):
        payload = session.whole(event).payload
    if not isinstance(payload, FileEdit):
        raise TypeError(f"a file edit is needed, not {event.kind}")
    return payload


def _lacks_text(edit: FileEdit) -> bool:
    """Say whether the text that counts may be one that was left out: light and whole edits take the same way."""
    if edit.before is not None and edit.after is not None:
        return not (edit.before and edit.after)
    if edit.operation == "create" and edit.after is not None:
        return not edit.after
    return not edit.diff


def lines_of(edit: FileEdit) -> Lines:
    """Return what an edit added and removed.

    Of a text before and after: the lines that one of them has more often (a line that only moved is in neither, and
    the work is linear). Else of its hunks or SEARCH/REPLACE blocks. Of a text after alone: all its lines are added;
    what it removed is unknown, unless the file is new.
    """
    before, after = (None if is_gone(text) else text for text in (edit.before, edit.after))
    if (before, after) != (edit.before, edit.after):
        return NOTHING_KNOWN
    if before is not None and after is not None:
        old, new = before.splitlines(), after.splitlines()
        return Lines(_beyond(new, Counter(old)), _beyond(old, Counter(new)))
    if edit.operation == "create" and after is not None:
        return Lines(tuple(after.splitlines()), ())
    if edit.diff:
        lines = edit.diff.splitlines()
        return _of_blocks(lines) if any(line.startswith(SEARCH) for line in lines) else _of_hunks(lines)
    if after is not None:
        return Lines(tuple(after.splitlines()), None)
    if edit.operation == "delete":
        return Lines((), tuple(before.splitlines()) if before is not None else None)
    return NOTHING_KNOWN


def is_gone(text: str | None) -> bool:
    """Return whether a text only replaces one that can no longer be read."""
    return bool(text) and _GONE.match(text or "") is not None


def _beyond(lines: Sequence[str], there: Counter[str]) -> tuple[str, ...]:
    found = []
    for line in lines:
        if there[line] > 0:
            there[line] -= 1
        else:
            found.append(line)
    return tuple(found)


def _of_hunks(lines: Sequence[str]) -> Lines:
    added, removed = [], []
    for i, line in enumerate(lines):
        is_header = line.startswith("--- ") and i + 1 < len(lines) and lines[i + 1].startswith("+++ ")
        if is_header or (line.startswith("+++ ") and i and lines[i - 1].startswith("--- ")):
            continue
        if line.startswith("+"):
            added.append(line[1:])
        elif line.startswith("-"):
            removed.append(line[1:])
    if any(line.startswith("@@") for line in lines) or not all(map(_NUMBERED.match, (*added, *removed))):
        return Lines(tuple(added), tuple(removed))
    return Lines(tuple(map(_without_number, added)), tuple(map(_without_number, removed)))


def _without_number(line: str) -> str:
    return _NUMBERED.sub("", line, count=1)


def _of_blocks(lines: Sequence[str]) -> Lines:
    added: list[str] = []
    removed: list[str] = []
    into: list[str] | None = None
    for line in lines:
        if line.startswith(SEARCH):
            into = removed
        elif line == DIVIDER and into is removed:
            into = added
        elif line.startswith(REPLACE):
            into = None
        elif into is not None:
            into.append(line)
    return Lines(tuple(added), tuple(removed))
