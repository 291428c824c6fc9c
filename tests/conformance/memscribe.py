"""Memscribe's conformance pairs: its expected events and ours, brought into one plain form and compared.

Third-party test data, see `shared/corpus/memscribe/README.md`; what is compared and why is in
`shared/reference/decision-capture.md`, section 6.2. An event becomes a line that says what both sides can say of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

from recollect.errors import SourceRefused
from recollect.ingest.parse import parse_file
from recollect.model.events import Event
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Rewind,
    SessionEnd,
    SessionStart,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.text import flatten

UNREAD = "no adapter reads this form"
COUNTED = ("user", "assistant", "call", "result", "edit", "rewind", "compaction")
_EPOCH = 0


class Case(NamedTuple):
    """One of their inputs with what they expect of it."""

    name: str
    source: Path
    expected: Path


class Told(NamedTuple):
    """What one event says: the comparable line, its time in microseconds (None: not known), where its record begins."""

    line: str
    ts: int | None
    offset_bytes: int
    session: str


def cases(shared: Path) -> list[Case]:
    """Return every pair, by `tool/version/case`."""
    folder = shared / "corpus/memscribe"
    found = []
    for expected in sorted((folder / "fixtures-expected").glob("*/*/*.events.json")):
        name = expected.relative_to(folder / "fixtures-expected").as_posix().removesuffix(".events.json")
        found.append(Case(name, folder / "fixtures" / f"{name}.jsonl", expected))
    return found


# Theirs


def theirs(case: Case) -> list[Told]:
    """Return what they expect. Left out: usage, and the empty turns that they make of results of tools."""
    out: list[Told] = []
    for event in json.loads(case.expected.read_text("utf-8")):
        ts = _micros(event["timestamp"])
        place = event["provenance"]["byte_offset"]
        out += [Told(line, ts, place, event["session_id"]) for line in _their_lines(event["kind"])]
    return out


def _their_lines(kind: dict[str, Any]) -> Iterator[str]:
    match kind["event"]:
        case "session_start":
            git = kind["git"] or {}
            yield _start(kind["cwd"], git.get("branch"), git.get("sha"), kind["tool_version"])
        case "user_turn":
            if kind["text"]:
                yield f"user: {kind['text']}"
        case "assistant_turn":
            if kind["thinking"]:
                yield f"thinking: {kind['thinking']}"
            if kind["text"]:
                yield f"assistant: {kind['text']}"
        case "tool_call":
            yield f"call: {kind['call_id']} {kind['name']} {_plain(kind['args'])}"
        case "tool_result":
            yield f"result: {kind['call_id']} {_went(kind['ok'])} {_words(kind['output'])}"
        case "file_edit":
            diff = kind["diff"]
            yield f"edit: {kind['call_id'] or ''} {diff['path']} {_change(diff['old'], diff['new'], diff['unified'])}"
        case "compaction":
            yield "compaction"
        case "rewind":
            yield f"rewind: {kind['to_event']}"
        case "session_end":
            yield "end"
        case "unknown":
            yield f"unknown: {kind['raw_type']}"


# Ours


def ours(case: Case) -> list[Told] | str:
    """Return what we read, as it stands in the file; why not, where nobody's adapter takes it."""
    try:
        events = list(parse_file(case.source))
    except SourceRefused:
        return UNREAD
    events.sort(key=lambda e: e.location.record_index)
    return [told for event in events for told in _our_lines(event)]


def _our_lines(event: Event) -> Iterator[Told]:
    line = _our_line(event)
    if line:
        session = event.session_uid.partition(":")[2]
        yield Told(line, event.ts, event.location.offset_bytes, session)


def _our_line(event: Event) -> str:
    p = event.payload
    match p:
        case SessionStart():
            return _start(p.cwd, p.git_branch, p.git_commit, p.tool_version)
        case UserMessage():
            return f"user: {p.text}" if p.text else ""
        case AssistantMessage():
            return f"assistant: {p.text}" if p.text else ""
        case Thinking():
            return f"thinking: {p.text}" if p.text else ""
        case ToolCall():
            return f"call: {p.call_id} {p.name} {_plain(p.arguments)}"
        case ToolResult():
            return f"result: {p.call_id} {_went(p.ok)} {_words(p.structured if p.structured is not None else p.text)}"
        case FileEdit():
            return f"edit: {p.call_id} {p.path} {_change(p.before, p.after, p.diff)}"
        case Compaction():
            return "compaction"
        case Rewind():
            return f"rewind: {p.to_event}"
        case SessionEnd():
            return "end"
        case Unknown():
            return f"unknown: {p.type}"
    return ""


# Both


def _start(*facts: str | None) -> str:
    return "start: " + " ".join(fact or "-" for fact in facts)


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _words(value: Any) -> str:
    return " ".join(sorted(flatten(value).split()))


def _went(ok: bool | None) -> str:
    return {True: "ok", False: "failed", None: "?"}[ok]


def _change(before: str | None, after: str | None, diff: str | None) -> str:
    """Return the lines that a change takes away and brings, however it is written."""
    if before or after:
        gone, came = (before or "").splitlines(), (after or "").splitlines()
    else:
        lines = (diff or "").splitlines()
        gone = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
        came = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    both = Counter(gone) & Counter(came)
    return json.dumps([list((Counter(side) - both).elements()) for side in (gone, came)], ensure_ascii=False)


def _micros(stamp: str) -> int | None:
    micros = round(datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() * 1_000_000)
    return None if micros == _EPOCH else micros


def differences(case: Case) -> list[str]:
    """Return how we differ from them: a line each, `- ` for what only they say, `+ ` for what only we say."""
    mine = ours(case)
    if isinstance(mine, str):
        return [mine]
    yours = theirs(case)
    out: list[str] = []
    matcher = SequenceMatcher(None, [t.line for t in yours], [t.line for t in mine], autojunk=False)
    for what, a, b, c, d in matcher.get_opcodes():
        if what == "equal":
            out += _about_pairs(yours[a:b], mine[c:d])
        else:
            out += [f"- {t.line}" for t in yours[a:b]] + [f"+ {t.line}" for t in mine[c:d]]
    return out


def _about_pairs(yours: Sequence[Told], mine: Sequence[Told]) -> Iterable[str]:
    for one, two in zip(yours, mine, strict=True):
        if one.ts != two.ts:
            yield f"time of {one.line}: theirs {one.ts}, ours {two.ts}"
        if one.session != two.session:
            yield f"session of {one.line}: theirs {one.session}, ours {two.session}"
        if one.offset_bytes != two.offset_bytes:
            yield f"place of {one.line}: theirs {one.offset_bytes}, ours {two.offset_bytes}"


def shape(told: Sequence[Told]) -> dict[str, int]:
    """Return how many there are of each kind that the nine scenarios count, how many results failed, and sessions."""
    kinds = Counter(t.line.partition(":")[0] for t in told)
    counts = {kind: kinds[kind] for kind in COUNTED}
    counts["failed"] = sum(t.line.startswith("result:") and t.line.split(" ")[2] == "failed" for t in told)
    return {**counts, "sessions": len({t.session for t in told})}


def shape_differences(case: Case) -> list[str]:
    """Return in which counts we differ from them."""
    mine = ours(case)
    if isinstance(mine, str):
        return [mine]
    one, two = shape(theirs(case)), shape(mine)
    return [f"{kind}: theirs {one[kind]}, ours {two[kind]}" for kind in one if one[kind] != two[kind]]
