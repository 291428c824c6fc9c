"""Cursor: parses a record into events. Pure; never raises on content.

The editor is read by `composer`; the command line and transcripts are read here and share `messages`.
What becomes one session and what is told twice is in README.md beside this file.
"""

import re
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import msgspec

from recollect.agents.cursor.composer import read_ide_row
from recollect.agents.cursor.messages import give_call, give_prompt, give_result, model_of, read_message
from recollect.agents.cursor.state import (
    MAX_MESSAGES,
    CursorState,
    Human,
    Root,
    Step,
    decoded,
    digest,
    give_cwd,
    hex_object,
    named,
    root_of,
    short,
)
from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd, remember
from recollect.agents.kit.values import Json, decoded_json, text
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten

CLI_META = "cli_meta"
CLI_STORE = "cli_store"
HISTORY = "history"
IDE = "ide"
SUBAGENT = "subagent"
TRANSCRIPT = "transcript"
TRANSCRIPT_TEXT = "transcript_text"

# Whose a source is, and the name of its session, which is the same in all three stores.
#
# Evidence: format notes: Cursor, "Identity / dedupe".

_STORES = (CLI_STORE, CLI_META)
_ENVELOPE = frozenset(("role", "message", "timestamp", "model", "metadata"))
_CUT = (b'{"role":"user","message":{"content":', b'{"role":"assistant","message":{"content":')
_TEXT = b"<user_query>"


def _is_message(line: bytes, *, is_cut: bool) -> bool:
    try:
        record = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return is_cut and line.replace(b" ", b"")[: len(_CUT[1])].startswith(_CUT)
    if not isinstance(record, dict) or record.get("role") not in ("user", "assistant"):
        return False
    message = record.get("message")
    return record.keys() <= _ENVELOPE and isinstance(message, dict) and message.keys() == {"content"}


def parent_of(info: SourceInfo) -> str:
    """Return the session whose subagent wrote a transcript: the folder around `subagents`."""
    folders = info.path.split("/")
    if info.role != SUBAGENT or len(folders) < 3 or folders[-2] != "subagents":
        return ""
    return "" if folders[-3] == info.session else folders[-3]


# The command line agent's store: message blobs and lists of them, and one row about the session.
#
# Blobs are named by their content and never change. A turn writes its messages and then a new list of all messages:
# what an earlier list had and the newest has not was left behind. Evidence: format notes: Cursor, store C.

_ID_CHARS = 16
_KNOWN = known_fields("cursor")
_ROLES = frozenset(("system", "user", "assistant", "tool"))


def read_blob(step: Step) -> None:
    """Emit a message, or what the newest list of messages left behind. Other protobuf says nothing."""
    name = text(step.value.get("id"))[:_ID_CHARS]
    data = decoded(step.value.get("data"))
    step.ts, step.ts_quality = None, "missing"
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if isinstance(data, bytes):
        root = root_of(data)
        if root is not None:
            _read_root(step, root)
    elif isinstance(data, dict) and isinstance(data.get("role"), str):
        role = data["role"]
        if role not in _ROLES:
            step.unknown(role, data, native_id=f"blob:{name or digest(data)}")
            return
        step.native_id = name or digest(data)
        content: Json = data.get("content")
        read_message(step, role, content, data, model=model_of(data, content))
        step.extra(data, _KNOWN["record"], "message", native_id=f"blob:{step.native_id}")
        step.set(messages=remember(step.now("messages"), step.native_id, MAX_MESSAGES))
    elif data is not None:
        step.unknown("blob", data, native_id=f"blob:{name or digest(data)}")


def _read_root(step: Step, root: Root) -> None:
    """Compare a list of messages with the one before: a missing end is a rewind, a missing middle a compaction."""
    listed = tuple(child[:_ID_CHARS] for child in root.children)[-MAX_MESSAGES:]
    known = set(step.now("messages"))
    if known.isdisjoint(listed):
        return
    if root.workspace:
        give_cwd(step, root.workspace)
    before: tuple[str, ...] = step.state.root
    is_told = step.state.is_summed_up
    step.set(root=listed, is_summed_up=False)
    if not before or listed[: len(before)] == before:
        return
    same = next((i for i, (old, new) in enumerate(zip(before, listed, strict=False)) if old != new), None)
    start = min(len(before), len(listed)) if same is None else same
    left, new = before[start:], listed[start:]
    humans: dict[str, Human] = {h.id: h for h in step.now("humans")}
    dropped = [humans[i] for i in left if i in humans and i not in new]
    if not dropped:
        return
    if set(left) & set(new) or (new and not any(i in humans for i in new)):
        if not is_told:  # else the message that sums them up says it
            go_on = next((humans[i].event for i in new if i in humans), "")
            step.add(kinds.Compaction(continues_at=go_on), native_id=f"compaction:{digest(list(listed))}")
        return
    back_to = next((humans[i].event for i in reversed(before[:start]) if i in humans), "")
    step.add(kinds.Rewind(dropped[0].before, len(dropped)), native_id=f"rewind:{digest([back_to, dropped[0].event])}")


def read_meta(step: Step) -> None:
    """Emit what the store knows of the session: its start, title, mode and newest model."""
    value = step.value.get("value")
    meta = hex_object(value)
    if not meta:
        step.wrong("value", "not_json")
        step.unknown("meta", value, native_id=f"meta:{digest(value)}")
        return
    created = meta.get("createdAt")
    step.date(created if not isinstance(created, str) or not created.isdigit() else int(created[:18]), "createdAt")
    model = step.text(meta, "lastUsedModel")
    step.start(model=model, originator="cursor-agent")
    title, mode = step.text(meta, "name"), step.text(meta, "mode")
    step.note("title", title=title, native_id="title")
    step.note("mode", mode, native_id="mode")
    step.note("model", model=model, native_id=f"model:{short(model)}")
    step.extra(meta, _KNOWN["meta"], "meta", native_id="meta")


# Transcripts below `projects/`: one message a line, or (older) all of them in one text. Both leave a lot out.
#
# Evidence: format notes: Cursor, store B.

_TRANSCRIPT_ROLES = frozenset(("user", "assistant", "tool", "system"))
_ENDS = frozenset(("success", "error", "aborted", "cancelled"))
_ABORTED = re.compile(r"abort|cancel|interrupt", re.IGNORECASE)
_TURN = re.compile(r"^(user|assistant):[ \t]*$", re.MULTILINE)
_MARK = re.compile(r"^\[(Thinking|Tool call|Tool result)\][ \t]*", re.MULTILINE)
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)\s*[=:]\s?(.*)")


def read_line(step: Step) -> None:
    """Emit a line of a transcript: a message, or the end of a turn."""
    if not isinstance(step.record.value, dict):
        read_odd(step)
        return
    record = step.value
    step.date(record.get("timestamp"))
    _start(step)
    role = record.get("role")
    if isinstance(role, str) and role in _TRANSCRIPT_ROLES:
        message = record.get("message")
        beside = message if isinstance(message, dict) else {}
        content = beside.get("content") if beside else message if message is not None else record.get("content")
        before = len(step.events)
        model = text(record.get("model")) or text(beside.get("model"))
        read_message(step, role, content, record, model="" if model == "default" else model)
        if len(step.events) == before and content not in (None, "", []):
            step.kept(role)
        step.extra(record, _KNOWN["transcript"], "message")
        step.extra(beside, _KNOWN["message"], "message.message")
    elif record.get("type") == "turn_ended":
        status, error = step.text(record, "status"), record.get("error")
        step.odd_value("turn_ended.status", status, _ENDS)
        said = error if isinstance(error, str) else flatten(error)
        if _ABORTED.search(said) or status in ("aborted", "cancelled"):
            step.add(kinds.Lifecycle("interrupted", text=said or status))
        elif status == "error" or said:
            step.add(kinds.Lifecycle("api_error", text=said or status))
        else:
            step.add(kinds.Lifecycle("turn_ended", text=status))
        step.extra(record, _KNOWN["ended"], "turn_ended")
    else:
        kind = record.get("type")
        step.unknown(kind if isinstance(kind, str) else text(role))


def _start(step: Step) -> None:
    """Emit the session's start; one of a subagent names its parent, whatever the better stores say."""
    if step.state.is_started:
        return
    step.set(is_started=True)
    parent = step.state.parent
    name = f"start:{parent}" if parent else "start"
    step.start(parent_session=parent, native_id=name)


def read_text(step: Step) -> None:
    """Give all messages of a transcript that is one text; lines that say `user:` or `assistant:` part them."""
    value = step.record.value
    if not isinstance(value, str):
        read_odd(step)
        return
    value = value.replace("\r\n", "\n")
    found = list(_TURN.finditer(value))
    if found:
        _start(step)
    lead = value[: found[0].start()] if found else value
    if lead.strip():
        step.kept("text", lead.strip(), native_id=named(step, "kept", lead))
    for this, following in zip_longest(found, found[1:]):
        body = value[this.end() : following.start() if following else None].strip("\n")
        if this[1] == "user":
            if body.strip():
                give_prompt(step, body.strip())
        else:
            _read_reply(step, body)


def _read_reply(step: Step, body: str) -> None:
    marks = list(_MARK.finditer(body))
    _give_words(step, body[: marks[0].start()] if marks else body)
    calls: list[tuple[str, str]] = []
    for this, following in zip_longest(marks, marks[1:]):
        piece = body[this.end() : following.start() if following else None]
        head, _, rest = piece.partition("\n")
        if this[1] == "Thinking":
            # A thought ends at the first empty line; what follows is said.
            thought, _, words = piece.partition("\n\n")
            if thought.strip():
                step.add(kinds.Thinking(thought.strip()), native_id=named(step, "think", thought))
            _give_words(step, words)
            continue
        inner, words = _indented(rest) if this[1] == "Tool call" else (rest.strip(), "")
        tool = head.strip()
        if this[1] == "Tool call":
            calls.append((tool, give_call(step, tool, _arguments(inner), "")))
            _give_words(step, words)
        else:
            at = next((i for i, (name, _) in enumerate(calls) if name == tool), None)
            call_id = calls.pop(at)[1] if at is not None else ""
            give_result(step, kinds.ToolResult(call_id, tool, text=inner), {})


def _give_words(step: Step, said: str) -> None:
    said = said.strip()
    if said:
        step.add(kinds.AssistantMessage(said), native_id=named(step, "say", said))


def _indented(rest: str) -> tuple[str, str]:
    """Return the indented lines that follow a call, without what they have in common, and the text behind them."""
    lines = rest.split("\n")
    end = next((i for i, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    inner = lines[:end]
    margin = min((len(line) - len(line.lstrip()) for line in inner if line.strip()), default=0)
    return "\n".join(line[margin:] for line in inner).strip("\n"), "\n".join(lines[end:])


def _arguments(body: str) -> Json:
    """Return the arguments of a call, written as JSON or as `name=value` lines; a value may continue over lines."""
    if body.lstrip().startswith("{"):
        return decoded_json(body, body)
    found: dict[str, str] = {}
    last = ""
    for line in body.split("\n"):
        pair = _ARGUMENT.fullmatch(line)
        if pair is not None:
            last = pair[1]
            found[last] = pair[2]
        elif last:
            found[last] += f"\n{line}"
        elif line.strip():
            return body
    return {k: v.rstrip("\n") for k, v in found.items()}


def _read_prompt(step: Step) -> None:
    """Emit one prompt of the history, which says neither when nor where it was typed."""
    said = step.record.value
    if not isinstance(said, str):
        read_odd(step)
    elif said:
        step.add(kinds.UserMessage(said), native_id=named(step, "ask", said))


def _row(read: Callable[[Step], None]) -> Callable[[Step], None]:
    def read_row(step: Step) -> None:
        if isinstance(step.record.value, dict):
            read(step)
        else:
            read_odd(step)

    return read_row


_READERS: dict[str, Callable[[Step], None]] = {
    IDE: _row(read_ide_row),
    CLI_STORE: _row(read_blob),
    CLI_META: _row(read_meta),
    TRANSCRIPT: read_line,
    SUBAGENT: read_line,
    TRANSCRIPT_TEXT: read_text,
    HISTORY: _read_prompt,
}


class CursorAdapter(KitAdapter[CursorState], slug="cursor"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. Databases are known by their place only."""
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        first, ended, _ = start.partition(b"\n")
        if first.rstrip() == b"user:":
            return TRANSCRIPT_TEXT if start[len(first) :].lstrip().startswith((_TEXT, b"<timestamp>")) else None
        if not _is_message(first, is_cut=not ended):
            return None
        return SUBAGENT if "subagents" in path.replace("\\", "/").split("/")[:-1] else TRANSCRIPT

    def source_key(self, info: SourceInfo) -> str:
        """Return what names a source: of one database two places read different tables."""
        if info.role in _STORES:
            return f"{info.path}#{info.role}"
        return info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Return the composer's id, the folder of the command line's store, or the transcript's name: all one id."""
        folders = info.path.split("/")
        if info.document:
            return info.document
        if info.role in _STORES and len(folders) > 1:
            return folders[-2]
        if info.role == HISTORY:
            return "prompt-history"
        return info.stem or first_line_name(head)

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"parent": parent_of(info)}

    def read(self, reading: Step) -> None:
        read = _READERS.get(reading.state.role)
        if read is None:
            read_odd(reading)
        else:
            read(reading)
