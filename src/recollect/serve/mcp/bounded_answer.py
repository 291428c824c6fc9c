"""Fits an answer into its bytes: scope, a line per result, and how to continue."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recollect.errors import UsageError
from recollect.memory import CONTINUED, RELATED_LABELS, clean, quoted
from recollect.model.events import Event
from recollect.model.payloads import AssistantMessage, Compaction, UserMessage
from recollect.model.sessions import Session
from recollect.model.text import flatten, searchable
from recollect.model.time import minute_of
from recollect.model.undone import UNDONE
from recollect.serve.mcp.answer_size import Paged
from recollect.serve.mcp.tools import Confining, SearchArguments
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.memory import Cited, Conversation, Hit, Memory

_NOTE_BYTES = 240
_NOTES_SHARE = 3
_HEADING_SHARE = 4
"""Of an answer's bytes, what its notes and its heading take at most: one part of so many."""
_CURSOR_BYTES = 90
"""What a cursor and the words around it take at most."""
_ROOM_FOR_CURSOR = 160
_MIN_PASSAGE = 40
_MIN_LINE = 180
"""A line that is cut to less than this says too little to be shown."""
NAME_BYTES = 60
_ONE_WORD = re.compile(r"[\w.:/\\@+~-]+")


class Page(NamedTuple):
    """The content of one answer. lines: the first of the given ones, the last one cut to fill the rest."""

    text: str
    lines: tuple[str, ...]

    @property
    def shown(self) -> int:
        """How many of the lines that were given."""
        return len(self.lines)


class PageFrame(NamedTuple):
    """What surrounds the lines. heading: what they are, one line. notes: further remarks, one line each."""

    heading: str
    notes: tuple[str, ...] = ()


def passage(text: str, limit: int) -> str:
    """Return a text on one line, cleaned, of at most `limit` bytes of UTF-8."""
    line = " ".join(clean(text[: limit * 4]).split())
    return cut(line, limit) if len(text) <= limit * 4 else cut(line + " …", limit)


def with_lines(text: str, limit: int) -> str:
    """Return a text cleaned, with its lines, of at most `limit` bytes of UTF-8: code, lists and tables stay readable.

    What tells nothing is left out: blank lines, common indentation, blanks that align columns.
    """
    lines = (re.sub(r"(?<=\S) {2,}", " ", line.rstrip()) for line in clean(text[: limit * 4]).expandtabs(4).split("\n"))
    first, _, rest = "\n".join(line for line in lines if line).strip().partition("\n")
    return cut(f"{first}\n{textwrap.dedent(rest)}".strip() + (" …" if len(text) > limit * 4 else ""), limit)


def name(text: str, limit: int = NAME_BYTES) -> str:
    """Return a name out of a transcript (of a model, a branch …) for a line of ours: quoted unless it is one word."""
    shown = passage(text, limit)
    return shown if _ONE_WORD.fullmatch(shown) else '"' + shown.replace('"', "”") + '"' if shown else ""


def cut(text: str, limit: int) -> str:
    """Return a text cut to a number of bytes of UTF-8, with an ellipsis where something was cut off."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    return clean(raw[: max(0, limit - 3)].decode("utf-8", "ignore").rstrip() + "…")


def fit(lines: Sequence[str], frame: PageFrame, *, max_bytes: int) -> Page:
    """Return the longest page of the first lines that fits, never without one: a line that is too long is cut.

    Bytes are of UTF-8. Leaves room for the words about the cursor.
    """
    room = max_bytes - _CURSOR_BYTES - size(whole((), frame, max_bytes=max_bytes))
    shown: list[str] = []
    for line in lines:
        needed = size(line) + 1 + line.count("\n") * len(CONTINUED)
        if needed > room:
            if not shown or room >= _MIN_LINE:  # the last one fills what is left
                shown.append(clean(beginning(line, max(_MIN_PASSAGE, room - 1 - size("…"))).rstrip() + "…"))
            break
        room -= needed
        shown.append(line)
    return Page(whole(shown, frame, max_bytes=max_bytes), tuple(shown))


def whole(lines: Sequence[str], frame: PageFrame, *, max_bytes: int) -> str:
    """Return a page with all of the lines. max_bytes: limits what surrounds them, see `Frame`."""
    room = max_bytes // _NOTES_SHARE
    notes: list[str] = []
    for note in dict.fromkeys(passage(note, _NOTE_BYTES) for note in frame.notes if note):
        room -= size(note) + 3
        if room < 0:
            break
        notes.append(f"({note})")
    return quoted([*lines, *notes], note=passage(frame.heading, max_bytes // _HEADING_SHARE))


def size(text: str) -> int:
    """Return bytes of UTF-8."""
    return len(text.encode("utf-8", "replace"))


def beginning(text: str, room: int) -> str:
    """Return as much of a text as takes `room` bytes when it is quoted, each further line with its mark."""
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[:middle]) + len(CONTINUED) * text.count("\n", 0, middle) <= room:
            low = middle
        else:
            high = middle - 1
    return text[: max(1, low)]


_TITLE_BYTES = 160
_SNIPPET_BYTES = 330
_PASSAGE_BYTES = 3000
"""Of a passage of 1,000 characters, whatever its script."""
_RELATED_BYTES = 900
"""Of 300 characters, whatever their script."""
_TALK_BYTES = 500
_SUMMARY_BYTES = 240
_UNDONE = f"{UNDONE} by a rewind"
LEFT_OUT = ("token_usage",)
"""Kinds that are never shown: figures between any two events."""


def when(us: int | None) -> str:
    """Return a time in UTC to the minute: `2026-08-01 09:03Z`."""
    return "undated" if us is None else f"{minute_of(us)}Z"


def citation(uid: str, seq: int) -> str:
    """Return `session_uid#seq`."""
    return f"{uid}#{seq}"


def hit_line(hit: Hit, *, first: Hit | None = None) -> str:
    """Return a search's hit: what it is, its passage, and what belongs to it.

    first: the first one of its session in this answer, if that is another; what both have in common is said there. How
    a turn ended is not told: in the few words that there is room for, it answered none of 532 questions.
    """
    is_first = first is None
    more = f"{hit.more_in_session} more" if hit.more_in_session and is_first else ""
    what = f"{hit.kind} {name(hit.tool)}" if hit.tool else hit.kind
    known = " ".join(part for part in (_UNDONE if hit.is_undone else "", hit.state, hit.status) if part)
    # The agent stands in the citation.
    repo = name(hit.repo) if is_first else ""
    how = "by meaning" if hit.match_level == "semantic" else ""
    cite = citation(hit.session_uid if is_first else "", hit.seq)
    time = when(hit.ts)
    is_same_day = first is not None and when(first.ts)[:10] == time[:10]
    head = (cite, time[11:] if is_same_day else time, repo, what, known, how, more)
    related = (
        f"\n{RELATED_LABELS[part.label]} #{part.seq}: {passage(part.text, _RELATED_BYTES)}"
        for part in (*hit.related, *hit.later)
        if part.label != "answer"
    )
    text = (hit.passage or hit.summary).removeprefix(f"{hit.tool}\n")
    return f"{_joined(head)}\n{with_lines(text, _PASSAGE_BYTES)}{''.join(related)}"


def conversation_line(found: Conversation, session: Session | None) -> str:
    """Return a session that answers, with its title and its best event."""
    best = found.best
    head = (
        citation(best.session_uid, best.seq),
        *_facts(best.agent, session),
        f"{plural(found.hits, 'hit')}, best {best.kind}",
        _UNDONE if best.is_undone else "",
    )
    title = f"\n{passage(best.title, _TITLE_BYTES)}" if best.title else ""
    return f"{_joined(head)}{title}\n{passage(best.snippet or best.summary, _SNIPPET_BYTES)}"


def session_line(session: Session) -> str:
    """Return a session of a list."""
    head = (citation(session.session_uid, 0), *_facts(session.agent, session))
    return f"{_joined(head)}\n{passage(session.title or '(no title)', _TITLE_BYTES)}"


def session_facts(session: Session) -> str:
    """Return everything that is known of one session but its content."""
    forks = (("forked from", session.forked_from), ("resumed from", session.resumed_from))
    lineage = (("part of", session.parent_session), *forks)
    head = (
        citation(session.session_uid, 0),
        *_facts(session.agent, session),
        f"{'had ' if session.evicted_at is not None else ''}{plural(session.event_count, 'event')}",
        f"in {name(session.cwd, _TITLE_BYTES)}" if session.cwd else "",
        *(f"{how} {other}" for how, other in lineage if other),
        plural(session.defect_count, "unreadable record") if session.defect_count else "",
    )
    return f"{_joined(head)}\n{passage(session.title or '(no title)', _TITLE_BYTES)}"


def cited_line(uid: str, cited: Cited, what: str, *, limit: int = _SUMMARY_BYTES) -> str:
    """Return a text of a session and its kind."""
    return f"{_joined((citation(uid, cited.seq), when(cited.ts), what))}\n{with_lines(cited.text, limit)}"


def event_line(event: Event) -> str:
    """Return an event of a session: its words, else its one-line summary."""
    payload = event.payload
    said = isinstance(payload, UserMessage | AssistantMessage) and payload.text and _is_said(payload)
    text = searchable(payload)[1] if said or isinstance(payload, Compaction) else event.summary
    shown = with_lines(text, _TALK_BYTES) if said else passage(text, _SUMMARY_BYTES)
    return f"{event_head(event)}\n{shown or '(no text)'}"


def event_head(event: Event) -> str:
    """Return the line above an event's text."""
    payload = event.payload
    injected = "injected by the harness" if isinstance(payload, UserMessage) and not _is_said(payload) else ""
    model = name(payload.model) if isinstance(payload, AssistantMessage) else ""
    turn = f"turn {event.turn_index}" if event.turn_index else ""
    aside = "sidechain" if event.is_sidechain else ""
    undone = _UNDONE if event.is_undone else ""
    head = (citation(event.session_uid, event.seq), when(event.ts), event.kind, undone, injected, model, turn, aside)
    return _joined(head)


def event_text(event: Event) -> str:
    """Return all that an event says, as text."""
    text = searchable(event.payload)[1].strip()
    if text and event.kind != "file_edit":
        return text
    return flatten(msgspec.to_builtins(event.payload)) or event.summary


def _is_said(payload: UserMessage | AssistantMessage) -> bool:
    return not isinstance(payload, UserMessage) or payload.origin != "injected"


def _facts(agent: str, session: Session | None) -> tuple[str, ...]:
    if session is None:
        return (agent,)
    repo = name(session.repo)
    branch = f"@{name(session.git_branch)}" if session.git_branch else ""
    sub = f"subagent {name(session.agent_name)}".strip() if session.parent_session else ""
    turns = plural(session.turn_count, "turn")
    who = f"{agent} {', '.join(name(model) for model in session.models[:3])}".strip()
    return (_span(session), who, f"{repo}{branch}", turns, sub)


def _span(session: Session) -> str:
    begin, end = when(session.started_at), when(session.ended_at)
    if begin == end:
        return begin
    return f"{begin} to {end[11:] if end[:10] == begin[:10] else end}"


def _joined(parts: tuple[str, ...]) -> str:
    return " · ".join(part for part in parts if part)


VERSION = 1
_HASH_BYTES = 6
_MAC_BYTES = 9
_WITHOUT_MEANING = ("cursor", "max_bytes", "limit")
"""Arguments that may differ from page to page."""


class CursorPosition(NamedTuple):
    """Where a page begins. offset: in the tool's own count. mark: of what comes before it, see `mark_of`."""

    offset: int
    mark: bytes = b""


START = CursorPosition(0)


def mark_of(*shown: str) -> bytes:
    """Return a mark that identifies what was shown."""
    return _hash("\0".join(shown))


class Cursors:
    """Makes and reads the cursors of one memory. scope: the confinement of the arguments beyond their text."""

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.blake2b(key, digest_size=32, person=b"recollect.cursor").digest()

    def write(self, tool: str, arguments: Paged, position: CursorPosition, *, scope: str = "") -> str:
        """Return the cursor of the page that begins at a position."""
        body = bytes((VERSION,)) + position.offset.to_bytes(5, "big") + _asked(tool, arguments, scope) + position.mark
        return base64.urlsafe_b64encode(body + self._mac(body)).decode().rstrip("=")

    def read(self, tool: str, arguments: Paged, *, scope: str = "") -> CursorPosition:
        """Return where the requested page begins. Raises UsageError for an invalid cursor, or one of another answer."""
        if not arguments.cursor:
            return START
        try:
            whole = base64.b64decode(arguments.cursor + "=" * (-len(arguments.cursor) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise _invalid("is not one of ours") from error
        body, mac = whole[:-_MAC_BYTES], whole[-_MAC_BYTES:]
        if len(body) < 6 + _HASH_BYTES or not hmac.compare_digest(mac, self._mac(body)):
            raise _invalid("is not one of ours, or of a server that has ended")
        if body[0] != VERSION:
            raise _invalid("is of another version")
        if body[6 : 6 + _HASH_BYTES] != _asked(tool, arguments, scope):
            raise _invalid("belongs to a call with other arguments; repeat those")
        return CursorPosition(int.from_bytes(body[1:6], "big"), body[6 + _HASH_BYTES :])

    def _mac(self, body: bytes) -> bytes:
        return hashlib.blake2b(body, digest_size=_MAC_BYTES, key=self._key).digest()


def stale() -> UsageError:
    """Return the error of a cursor whose answer has changed meanwhile."""
    return _invalid("is stale: the memory has changed since")


def check_position(start: CursorPosition, shown: Sequence[str]) -> None:
    """Raise if what precedes a page has changed since its cursor was made."""
    if start.offset and (start.offset > len(shown) or mark_of(*shown[: start.offset]) != start.mark):
        raise stale()


def _asked(tool: str, arguments: Paged, scope: str) -> bytes:
    said = {n: v for n, v in msgspec.structs.asdict(arguments).items() if n not in _WITHOUT_MEANING}
    return _hash(tool + "\0" + scope + "\0" + msgspec.json.encode(said, order="sorted").decode())


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()


def _invalid(why: str) -> UsageError:
    return UsageError(f"the cursor {why}", hint="call again without cursor")


class Paging:
    """Writes answers page by page. notes: what else an answer must say, such as what is missing."""

    def __init__(self, memory: Memory, cursors: Cursors, notes: Sequence[str] = ()) -> None:
        self._memory = memory
        self._cursors = cursors
        self._notes = tuple(notes)

    def _list(
        self, tool: str, asked: Paged, start: CursorPosition, lines: Sequence[str], marks: Sequence[str], *,
        frame: PageFrame, scope: str = "",
    ) -> str:  # fmt: skip
        """Return as many lines as fit, which begin at `start`. marks: of all lines there are, in their order."""
        page = fit(lines, frame, max_bytes=asked.max_bytes)
        end = start.offset + page.shown
        go_on = CursorPosition(end, mark_of(*marks[:end])) if end < len(marks) else None
        return self._with_next(page.text, tool, asked, go_on, scope=scope)

    def _begin(self, tool: str, asked: Paged, text: str) -> CursorPosition:
        """Return where the page of a text begins. Raises UsageError where the text is another by now."""
        start = self._cursors.read(tool, asked)
        if start.offset and (start.mark != mark_of(text) or start.offset >= len(text)):
            raise stale()
        return start

    def _text(
        self, tool: str, asked: Paged, text: str, start: CursorPosition, frame: PageFrame, *, head: str = "",
        near: tuple[Sequence[str], Sequence[str]] = ((), ()), least: int | None = None,
    ) -> str:  # fmt: skip
        """Return as much of a text as fits below its head. near: its neighbours before and after it.

        These give way to it, the farthest first, so that it has `least` bytes.
        """
        before, after, heads = list(near[0]), list(near[1]), [head] if head else []
        least = min(asked.max_bytes // 2, size(text) + 200) if least is None else least
        while before + after and sum(size(x) + 8 for x in (*before, *heads, *after)) + least > asked.max_bytes * 3 // 4:
            if len(before) >= len(after):
                del before[0]
            else:
                del after[-1]
        around = whole([*before, *heads, *after], frame, max_bytes=asked.max_bytes)
        shown = beginning(text[start.offset :], max(200, asked.max_bytes - size(around) - _ROOM_FOR_CURSOR))
        page = whole([*before, "\n".join([*heads, shown]), *after], frame, max_bytes=asked.max_bytes)
        end = start.offset + len(shown)
        go_on = CursorPosition(end, mark_of(text)) if end < len(text) else None
        return self._with_next(page, tool, asked, go_on, what="The rest of it")

    def _with_next(
        self, text: str, tool: str, asked: Paged, position: CursorPosition | None, *, scope: str = "",
        what: str = "More",
    ) -> str:  # fmt: skip
        """Return a page that says how to continue, outside of what is quoted."""
        if position is None:
            return text
        return (
            f'{text}\n{what}: repeat this call with cursor "{self._cursors.write(tool, asked, position, scope=scope)}"'
        )


_UNQUOTABLE = ('"', ",")
_NAMED = ("agent", "repo", "kind", "tool", "session", "collection")


class Caller(NamedTuple):
    """Who asks. folders: where it works, () where that is not known. agent: as its client calls itself, which may be no
    agent's name."""

    folders: tuple[str, ...] = ()
    agent: str = ""


class Confines(NamedTuple):
    """A scope as filters of the query language, and in words ("" for everything).

    is_default: the caller named neither and is told how to widen the scope.
    """

    filters: str = ""
    words: str = ""
    is_default: bool = False


def confines_of(memory: Memory, arguments: Confining, caller: Caller) -> Confines:
    """Return what a call is confined to. Raises UnknownName for any name in its arguments."""
    named = (filter_of(field, value) for field in _NAMED if (value := getattr(arguments, field, "")))
    memory.recall.check_names(" ".join(named), folders=caller.folders)
    if arguments.repo:
        return Confines(filter_of("repo", arguments.repo), f"repositories like {name(arguments.repo)}")
    is_of_collection = isinstance(arguments, SearchArguments) and bool(arguments.collection)
    if arguments.scope == "all" or is_of_collection or _names_place(memory, arguments):
        return Confines()
    return repository_of(memory, caller)


def repository_of(memory: Memory, caller: Caller) -> Confines:
    """Return what confines a call to the repository that the caller works in; nothing where that is not known."""
    names = [repo for folder in caller.folders for repo in memory.recall.repositories(folder)]
    names = [repo for repo in dict.fromkeys(names) if not any(sign in repo for sign in _UNQUOTABLE)]
    if not names:
        return Confines()
    exactly = ",".join(f"={repo}" for repo in names)
    return Confines(f'repo:"{exactly}"', f"repository {name(names[0])}", is_default=True)


def filters_of(memory: Memory, arguments: Confining, confines: Confines) -> str:
    """Return all filters of a call in the query language. Raises UsageError for a date that is none."""
    for field in ("after", "before"):
        if getattr(arguments, field):
            memory.recall.check_date(getattr(arguments, field), name=field)
    named = ["agent", "after", "before"]
    if isinstance(arguments, SearchArguments):
        named += ["kind", "tool", "session", "collection"]
    filters = [filter_of(field, getattr(arguments, field)) for field in named if getattr(arguments, field)]
    return " ".join(part for part in (confines.filters, *filters) if part)


def words_of(query: str) -> str:
    """Return a query to append to filters. Text of several lines is pasted output: its signs are not syntax."""
    if "\n" not in query.strip():
        return query
    words = (word.strip("\"'`()[]{}<>,;:!?=*|+-") for word in query.split())
    return " ".join(word.replace(":", ": ") for word in words if word)


def _names_place(memory: Memory, arguments: Confining) -> bool:
    """Return whether a query has its own filter `repo:` or `collection:`, which says where to search."""
    query = getattr(arguments, "query", "")
    if not any(f"{field}:" in query.lower() for field in ("repo", "collection")):
        return False
    where = memory.recall.confined(words_of(query)).where
    return bool(where.repos) or any(one.startswith("document:") for one in where.sessions)


def filter_of(field: str, value: str) -> str:
    """Return a filter of the query language."""
    value = " ".join(value.replace('"', " ").split())
    return f'{field}:"{value}"'
