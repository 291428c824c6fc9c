"""What was learned, noted or documented, to be read: one part in full, or all of them page by page."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import UnknownName
from recollect.memory import EntryView, Hit, Memory, clean
from recollect.model.learnings.entries import parts_of_citation
from recollect.serve.mcp.answering.cursors import Cursors, Position, mark_of, stale
from recollect.serve.mcp.answering.lines import citation, when
from recollect.serve.mcp.answering.pages import Frame, beginning, name, passage, size, whole, with_cursor
from recollect.serve.mcp.arguments import OpenArguments, SessionArguments
from recollect.units import plural

LEARNED_HEADING = "Learned and noted:"
_LINE_BYTES = 240
_NEIGHBOUR_BYTES = 160
_ROOM_FOR_CURSOR = 160


def learned_lines(hits: Sequence[Hit]) -> list[str]:
    """Return the short block of what was learned and noted beside the events; nothing without any."""
    lines = []
    for hit in hits:
        head = (citation(hit.session_uid, hit.seq), hit.kind, hit.state, hit.status, when(hit.ts))
        lines.append(f"{' · '.join(part for part in head if part)}\n{passage(hit.snippet, _LINE_BYTES)}")
    return [LEARNED_HEADING, *lines] if lines else []


class EntryDesk:
    """Answers `open` and `get_session` for entries. notes: what else an answer must say."""

    def __init__(self, memory: Memory, cursors: Cursors, notes: tuple[str, ...]) -> None:
        self._memory = memory
        self._cursors = cursors
        self._notes = notes

    def open(self, asked: OpenArguments) -> str:
        """Return one part in full, in pages where it is long, between what stands around it."""
        uid, part = parts_of_citation(asked.id.strip())
        start = self._cursors.read("open", asked)
        view = self._memory.recall.entry(uid)
        texts = {one.part: clean(one.text) for one in view.parts}
        at = part or 0
        if at not in texts:
            raise UnknownName("part", passage(asked.id, 200), hint=f"it has {view.part_count}, from #0 on")
        mark = mark_of(texts[at])
        if start.offset and (start.mark != mark or start.offset >= len(texts[at])):
            raise stale()
        near = [n for n in texts if n != at and abs(n - at) <= asked.around] if not start.offset else []
        parts = f", one of {view.part_count} parts" if view.part_count > 1 else ""
        heading = f"{view.uid}#{at} from character {start.offset + 1} of {len(texts[at])}{parts}."
        lines = {n: f"{_head(view, n)}\n{passage(texts[n], _NEIGHBOUR_BYTES)}" for n in near}
        frame = Frame(heading, self._notes)
        while lines and sum(map(size, lines.values())) + size(texts[at]) > asked.max_bytes * 3 // 4:
            del lines[max(lines, key=lambda n: (abs(n - at), n))]  # neighbours give way to the part itself
        head = _head(view, at)
        room = asked.max_bytes - size(whole([*lines.values(), head], frame, max_bytes=asked.max_bytes))
        shown = beginning(texts[at][start.offset :], max(200, room - _ROOM_FOR_CURSOR))
        lines[at] = f"{head}\n{shown}"
        page = whole([lines[n] for n in sorted(lines)], frame, max_bytes=asked.max_bytes)
        end = start.offset + len(shown)
        if end >= len(texts[at]):
            return page
        return with_cursor(page, self._cursors.write("open", asked, Position(end, mark)), "The rest of it")

    def read(self, asked: SessionArguments) -> str:
        """Return an entry with as many of its parts as fit, in order; a cursor goes on within a part or behind it."""
        uid, _part = parts_of_citation(asked.session.strip())
        start = self._cursors.read("get_session", asked)
        view = self._memory.recall.entry(uid)
        texts = [f"{_head(view, part.part)}\n{clean(part.text)}" for part in view.parts]
        text = "\n\n".join(texts)
        mark = mark_of(text)
        if start.offset and (start.mark != mark or start.offset >= len(text)):
            raise stale()
        parts = plural(view.part_count, "part")
        heading = f"{view.kind} {name(view.title, 160)}, {parts}, from character {start.offset + 1}."
        frame = Frame(heading, self._notes)
        room = asked.max_bytes - size(whole([], frame, max_bytes=asked.max_bytes)) - _ROOM_FOR_CURSOR
        shown = beginning(text[start.offset :], max(200, room))
        page = whole([shown], frame, max_bytes=asked.max_bytes)
        end = start.offset + len(shown)
        if end >= len(text):
            return page
        return with_cursor(page, self._cursors.write("get_session", asked, Position(end, mark)), "The rest of it")


def _head(view: EntryView, part: int) -> str:
    heading = next((one.heading for one in view.parts if one.part == part), "")
    source = f"from {view.session_uid}" if view.session_uid else ""
    facts = (
        citation(view.uid, part), when(view.ts), view.kind, view.state, view.status, name(view.repo),
        name(heading, 160), source,
    )  # fmt: skip
    return " · ".join(fact for fact in facts if fact)
