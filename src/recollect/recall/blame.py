"""Finds the recorded edit that wrote a line: evidence from the edits, or an explicit "no proof".

Works over a Protocol: edits of a path, newest first, with whole payloads. It compares text; it never guesses from time
or from nearness. The later edit wins where a line was taken out and put in again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple, Protocol

import msgspec

from recollect.insights.commands import command_of
from recollect.insights.edit_lines import NOTHING_KNOWN, Lines, lines_of
from recollect.insights.episodes.shell_edits import edits_of_script
from recollect.insights.session_events import SessionEvents
from recollect.insights.subjects import ends_with_path
from recollect.model.events import Event
from recollect.model.insights.nodes import Polarity, Status
from recollect.model.payloads import FileEdit, ToolCall

MAX_EDITS = 2_000
"""Edits of one file that are looked at; an answer says when there were more."""
MAX_RENAMES = 8
_PLAIN_CHARS = 3
"""A line with fewer letters and digits ("}", "fi", "") is too common to tell an edit by."""

How = Literal["added", "rewritten", "last_edit"]
"""added: the edit put this line in; rewritten: it wrote the whole file with this line in it, and what was there before
is not recorded; last_edit: no line was asked for."""


class RecordedEdit(NamedTuple):
    """A stored edit: the whole event of a file edit, or of a shell call that edits files.

    folder: the working directory, "" if unknown; a relative path of the event is relative to it.
    """

    event: Event
    folder: str = ""


class BoundDecision(msgspec.Struct, frozen=True):
    """A decision that the edit's episode is bound to."""

    id: str
    statement: str
    polarity: Polarity
    confidence: float
    """Of the binding."""
    chosen: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    """The options; a statement such as "yes" names none."""
    status: Status = "derived"
    """Of the decision: `ranked` where only learned weights tell it."""


class EditHistory(Protocol):
    """What blame asks of whoever keeps the edits."""

    def edits(self, file_name: str) -> Iterable[RecordedEdit]:
        """Yield successful edits of every path whose last component is `file_name`, newest first (by time, then by
        canonical order; without times last). Edits of more paths do no harm, and checkpoints are none."""
        ...

    def decisions(self, event: Event) -> Sequence[BoundDecision]:
        """Return the decisions that led to the episode that this edit is in, the most certain first."""
        ...


class BlamedEdit(msgspec.Struct, frozen=True):
    """An edit that put a line there, with the session and turn it belongs to. ts: UTC microseconds."""

    session_uid: str
    event_id: str
    part: int
    seq: int
    turn_index: int
    ts: int | None
    path: str
    operation: str
    how: How
    decisions: tuple[BoundDecision, ...] = ()
    is_undone: bool = False
    """A rewind left the edit behind; the line was not taken back with it."""


class Blame(msgspec.Struct, frozen=True):
    """The answer. found None: no proof, and `reason` says why. looked_at: edits of the file that were looked at."""

    path: str
    line: str | None
    found: BlamedEdit | None
    reason: str
    looked_at: int
    without_content: int
    """Of them, those of which the content is not recorded."""


class _Seen:
    """An edit of the file: the file's name at that time, the operation, and the lines."""

    def __init__(self, event: Event, path: str, operation: str, lines: Lines) -> None:
        self.event = event
        self.path = path
        self.operation = operation
        self.lines = lines

    @cached_property
    def added(self) -> Mapping[str, Sequence[int]]:
        """The position of each added line among them."""
        places: dict[str, list[int]] = {}
        for place, line in enumerate(self.lines[0] or ()):
            places.setdefault(line.rstrip(), []).append(place)
        return places

    @cached_property
    def removed(self) -> frozenset[str]:
        """The removed lines."""
        return frozenset(line.rstrip() for line in self.lines[1] or ())


def blame(path: str, line: str | None, history: EditHistory, *, around: Sequence[str] = ()) -> Blame:
    """Return which edit wrote a line of a file, or that nothing proves it.

    path: relative to the repository, or absolute; an edit's path counts if it ends with it at a component border. line:
    its text, compared without trailing white space; None: the last edit of the file. around: neighbouring lines, which
    tell places of a common line apart. Whether a rewind also restored the files is unknown, so an edit that a rewind
    undid counts only if no other edit explains the line.
    """
    edits = _Edits(path, history)
    found = _blamed(path, line, history, edits.kept(), around)
    return found if found.found is not None or not edits.has_undone else _blamed(path, line, history, edits, around)


def blame_lines(path: str, lines: Sequence[str], history: EditHistory) -> list[Blame]:
    """Return which recorded edit put each line of a file there, as `blame` tells it of one. The edits are read once."""
    edits = _Edits(path, history)
    kept, every = _ReadOnce(edits.kept()), _ReadOnce(iter(edits))
    told = []
    for number, line in enumerate(lines):
        around = (*lines[max(0, number - 1) : number], *lines[number + 1 : number + 2])
        found = _blamed(path, line, history, kept, around)
        if found.found is None and edits.has_undone:
            found = _blamed(path, line, history, every, around)
        told.append(found)
    return told


def recorded_edits(path: str, history: EditHistory, *, limit: int) -> list[Blame]:
    """Return the newest edits of a file that no rewind left behind, newest first."""
    found = enumerate(islice(_Edits(path, history).kept(), limit), 1)
    return [_proof(path, None, seen, "last_edit", history, (number, 0)) for number, seen in found]


class _ReadOnce:
    """Edits that are read when somebody comes to them first, and kept for who comes next."""

    def __init__(self, edits: Iterator[_Seen]) -> None:
        self._left = edits
        self._read: list[_Seen] = []

    def __iter__(self) -> Iterator[_Seen]:
        place = 0
        while True:
            if place == len(self._read):
                following = next(self._left, None)
                if following is None:
                    return
                self._read.append(following)
            yield self._read[place]
            place += 1


def _blamed(path: str, line: str | None, history: EditHistory, edits: Iterable[_Seen], around: Sequence[str]) -> Blame:
    if line is None:
        return _last_edit(path, history, edits)
    wanted = _Wanted(line, around)
    looked_at = without_content = 0
    rewritten: _Seen | None = None
    why_not = ""
    for seen in edits:
        looked_at += 1
        without_content += seen.lines == NOTHING_KNOWN
        verdict = wanted.verdict(seen)
        if verdict == "added":
            return _proof(path, line, seen, "added", history, (looked_at, without_content))
        if verdict == "rewritten":
            rewritten = seen  # an older edit may have brought the line; the oldest such text is told
        elif verdict:
            why_not = verdict
            break
    counts = (looked_at, without_content)
    if rewritten is not None:
        return _proof(path, line, rewritten, "rewritten", history, counts)
    return _no_proof(path, line, why_not or _why(wanted.is_common, counts), counts)


class _Wanted:
    """The line that is looked for."""

    def __init__(self, line: str, around: Sequence[str]) -> None:
        self._line = line.rstrip()
        self._beside = {text.rstrip() for text in around if _is_telling(text)}
        self.is_common = not _is_telling(self._line)

    def verdict(self, seen: _Seen) -> str:
        """Return "added", "rewritten", why no older edit can be the one, or "" where an older one may."""
        added, removed = seen.lines
        places = seen.added.get(self._line, ())
        if places and (not self.is_common or self._has_beside(places, added or ())):
            return "rewritten" if removed is None else "added"
        if self.is_common or places:
            return ""
        if seen.operation == "delete":
            return "a recorded edit deleted this file, and none recorded since wrote this line"
        if seen.operation == "create" and added is not None:
            return "a recorded edit rewrote this file without this line, and no edit recorded since added it"
        return "a later recorded edit removed this line" if self._line in seen.removed else ""

    def _has_beside(self, places: Sequence[int], lines: Sequence[str]) -> bool:
        """Return whether a neighbour of the line is beside it in the same edit."""
        near = {lines[i].rstrip() for place in places for i in (place - 1, place + 1) if 0 <= i < len(lines)}
        return bool(near & self._beside)


def _last_edit(path: str, history: EditHistory, edits: Iterable[_Seen]) -> Blame:
    seen = next(iter(edits), None)
    if seen is None:
        return _no_proof(path, None, _why(False, (0, 0)), (0, 0))
    return _proof(path, None, seen, "last_edit", history, (1, int(seen.lines == NOTHING_KNOWN)))


def _why(is_common: bool, counts: tuple[int, int]) -> str:
    looked_at, without_content = counts
    if not looked_at:
        return "no recorded edit of this file"
    more = f" (only the newest {MAX_EDITS:,} were looked at)" if looked_at >= MAX_EDITS else ""
    if is_common:
        return f"the line is too common to tell which of {looked_at} recorded edits brought it{more}"
    unknown = f"; of {without_content} of them the content is not recorded" if without_content else ""
    return f"none of {looked_at} recorded edits of this file added this line{unknown}{more}"


def _proof(path: str, line: str | None, seen: _Seen, how: How, history: EditHistory, counts: tuple[int, int]) -> Blame:
    event = seen.event
    found = BlamedEdit(
        event.session_uid, event.event_id, event.part, event.seq, event.turn_index, event.ts, seen.path,
        seen.operation, how, () if event.is_undone else tuple(history.decisions(event)), event.is_undone,
    )  # fmt: skip
    reason = {
        "added": "this edit added the line, and no later recorded edit removed it",
        "rewritten": "this edit wrote the whole file with this line; what stood there before is not recorded",
        "last_edit": "the last recorded edit of this file",
    }[how]
    if event.is_undone:
        reason += "; a rewind left it behind, and no edit that was kept tells the line"
    return Blame(path, line, found, reason, *counts)


def _no_proof(path: str, line: str | None, reason: str, counts: tuple[int, int]) -> Blame:
    return Blame(path, line, None, f"no proof: {reason}", *counts)


class _Edits:
    """The edits of a file, newest first, at most `MAX_EDITS`; before a rename, those of its old name."""

    def __init__(self, path: str, history: EditHistory) -> None:
        self._path = path
        self._history = history
        self.has_undone = False
        """Whether an edit was met that a rewind left behind."""

    def __iter__(self) -> Iterator[_Seen]:
        return _edits_of(self._path, self._history.edits)

    def kept(self) -> Iterator[_Seen]:
        """Yield those that no rewind left behind."""
        return _edits_of(self._path, self._kept)

    def _kept(self, file_name: str) -> Iterator[RecordedEdit]:
        for recorded in self._history.edits(file_name):
            if recorded.event.is_undone:
                self.has_undone = True
            else:
                yield recorded


def _edits_of(path: str, edits: Callable[[str], Iterable[RecordedEdit]]) -> Iterator[_Seen]:
    wanted = path
    count = 0
    after: Event | None = None
    for _ in range(MAX_RENAMES):
        renamed = ""
        for recorded in _older_than(after, edits(_file_name(wanted))):
            for seen, new_path in _of_event(recorded):
                if seen.operation == "rename" and _is_file(new_path, recorded.folder, wanted):
                    renamed, after = whole_path(seen.path, recorded.folder), recorded.event
                elif not _is_file(seen.path, recorded.folder, wanted):
                    continue
                yield seen
                count += 1
                if count >= MAX_EDITS:
                    return
            if renamed:
                break
        if not renamed:
            return
        wanted = renamed


def _older_than(event: Event | None, edits: Iterable[RecordedEdit]) -> Iterator[RecordedEdit]:
    """Yield the edits behind one, in the order given; where that one is not among them, those that are not later."""
    if event is None:
        yield from edits
        return
    for recorded in edits:
        other = recorded.event
        if other.session_uid == event.session_uid:
            if other.seq < event.seq:
                yield recorded
        elif other.ts is None or event.ts is None or other.ts <= event.ts:
            yield recorded


def _of_event(recorded: RecordedEdit) -> Iterator[tuple[_Seen, str]]:
    """Yield the edits of an event, the last one first, each with its new path."""
    event, payload = recorded.event, recorded.event.payload
    if isinstance(payload, FileEdit):
        if payload.operation != "checkpoint":
            yield _Seen(event, payload.path, payload.operation, lines_of(payload)), payload.new_path
    elif isinstance(payload, ToolCall):
        for edit in reversed(edits_of_script(command_of(SessionEvents([event]), event), recorded.folder)):
            yield _Seen(event, edit.path, edit.operation, edit.lines), edit.new_path


def _is_file(path: str, folder: str, wanted: str) -> bool:
    whole = whole_path(path, folder)
    if ends_with_path(whole, wanted):
        return True
    return not _is_absolute(whole) and "/" in whole and ends_with_path(wanted, whole)


def whole_path(path: str, folder: str) -> str:
    """Return an edit's path, below the folder in which it was made if it is relative and the folder is known."""
    path = path.replace("\\", "/").removeprefix("./")
    return path if not folder or not path or _is_absolute(path) else f"{folder.rstrip('/')}/{path}"


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or path[1:3] in (":/", ":\\")


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _is_telling(line: str) -> bool:
    return sum(c.isalnum() for c in line[:400]) >= _PLAIN_CHARS
