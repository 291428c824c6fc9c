"""Parses tool calls, results and their edits. A call and its result share one changing row.

A command that failed is still `completed`: its exit code is in the metadata. A call that the agent could not read is
one of the tool `invalid`, which succeeds. What the metadata repeat of the output, the call or an edit is left out.
"""

import hashlib
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import BaseState
from recollect.agents.kit.adapter import Reading as KitReading
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import MAX_PATH_CHARS, short
from recollect.agents.kit.values import items, mapping, text, whole
from recollect.model.payloads import Compaction, FileEdit, Json, Lifecycle, Part, TokenUsage, ToolCall, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# What is carried from record to record, and how one turn is known again in another generation of the tables.

_MARK_BYTES = 6
_MAX_MARKS_BYTES = 40_000 * _MARK_BYTES
_MAX_EDITS = 64
_MAX_BEFORES = 1024
_MOMENT_US = 5_000_000


class OpencodeState(BaseState, frozen=True):
    """What the parser remembers.

    The fields from `message` to `edited` are about the message whose parts come now. pending: its tokens, given only
    if it has no steps. was_blank: a part for the person's text came, empty. compacting: why the context is being made
    shorter, and where its kept end begins. rows, projected: marks of what the two generations of tables said. befores:
    the newest messages and parts, with the event that stood before each.
    """

    message: str = ""
    speaker: str = ""
    model: str = ""
    finish: str = ""
    created: int | None = None
    is_summary: bool = False
    is_side: bool = False
    is_repeat: bool = False
    has_spoken: bool = False
    was_blank: bool = False
    pending: TokenUsage | None = None
    edited: tuple[str, ...] = ()
    compacting: tuple[str, str] = ("", "")
    cwd: str = ""
    agent: str = ""
    last_model: str = ""
    snapshot: str = ""
    rows: bytes = b""
    projected: bytes = b""
    befores: tuple[tuple[str, str], ...] = ()


Reading: TypeAlias = KitReading[OpencodeState]


def mark_of(*names: object) -> bytes:
    """Return the mark of something said: a short hash of what names it."""
    text = "\0".join(str(name) for name in names)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_MARK_BYTES).digest()


def note(reading: Reading, field: str, *marks: bytes) -> None:
    """Remember marks in `rows` or `projected`; beyond 40,000 the older half is forgotten."""
    known: bytes = reading.now(field) + b"".join(marks)
    reading.set(**{field: known if len(known) <= _MAX_MARKS_BYTES else known[-_MAX_MARKS_BYTES // 2 :]})


def has_mark(known: bytes, mark: bytes) -> bool:
    at = known.find(mark)
    while at >= 0 and at % _MARK_BYTES:
        at = known.find(mark, at + 1)
    return at >= 0


def said_marks(speaker: str, text: str, ts: int | None) -> tuple[bytes, ...]:
    """Return the marks of a text around its time: that of its five seconds first, then those of its neighbours."""
    moment = (ts or 0) // _MOMENT_US
    return tuple(mark_of("said", speaker, moment + shift, text) for shift in (0, -1, 1))


def note_place(reading: Reading) -> None:
    """Remember the event before a message or a part, which an undo may name as the first that it hides."""
    name = reading.value.get("id")
    if isinstance(name, str) and name:
        befores: tuple[tuple[str, str], ...] = reading.now("befores")
        reading.set(befores=(*befores, (short(name), reading.state.newest))[-_MAX_BEFORES:])


def before_of(reading: Reading, name: str) -> str:
    """Return the event that stood before a message or a part, "" where it is not remembered."""
    befores: tuple[tuple[str, str], ...] = reading.now("befores")
    return next((before for known, before in befores if known == short(name)), "")


# Files and images beside a prompt or a result. Their bytes never become text.

_KNOWN = known_fields("opencode")


def file_part(reading: Reading, data: dict[str, Any]) -> Part:
    """Return a file of either generation: `{mime, filename, url, source}` or `{mime, name, uri, source}`."""
    media_type = text(data.get("mime"))
    url = text(data.get("url")) or text(data.get("uri"))
    source = data.get("source")
    place = text(mapping(source).get("path")) or text(data.get("path"))
    path = place or text(data.get("filename")) or text(data.get("name"))
    if isinstance(source, dict):
        reading.extra(source, _KNOWN["source"], "file.source")
    kind = "image" if media_type.startswith("image/") else "file"
    if not url.startswith("data:"):
        return Part(type=kind, media_type=media_type, path=path, url=url)
    head, _, body = url.partition(",")
    if not head.endswith(";base64"):
        return _plain_part(kind, media_type, body, path)
    return reading.readable(base64_part(kind, media_type, body, path=path), "file.url")


def _plain_part(kind: str, media_type: str, body: str, path: str) -> Part:
    data = unquote_to_bytes(body.encode("utf-8", "surrogatepass"))
    return Part(type=kind, sha256=hashlib.sha256(data).hexdigest(), media_type=media_type, bytes=len(data), path=path)


# Tokens of one model call, and which of their sightings counts.
#
# A message states the tokens of its last call; each `step-finish` part those of its own. The parts count. A message
# whose first part begins no step has none: then its own tokens do. Evidence: format notes: opencode, "usage" and
# "double token sources".


def usage_of(reading: Reading, holder: dict[str, Any], model: str, created: int | None, name: str) -> TokenUsage | None:
    """Return the usage that `tokens` and `cost` of a holder state, None where it is nothing (a call under way).

    The key is made of the call's time and numbers, not of an id: a fork copies messages under new ids, and the same
    call stands in the tables of two generations.
    """
    tokens = reading.mapping(holder, "tokens")
    cache = reading.mapping(tokens, "cache")
    fresh, answer, thought = (reading.count(tokens, field) for field in ("input", "output", "reasoning"))
    read, written = reading.count(cache, "read"), reading.count(cache, "write")
    reading.extra(tokens, _KNOWN["tokens"], "tokens", native_id=name)
    reading.extra(cache, _KNOWN["cache"], "tokens.cache", native_id=name)
    cost = reading.money(holder, "cost")
    if not (fresh or answer or thought or read or written or cost):
        return None
    moment = name if created is None else created
    numbers = ":".join(str(n) for n in (fresh, answer, thought, read, written))
    is_part = reading.whole(tokens, "total") == fresh + answer + read + written
    return TokenUsage(
        model=model,
        input_tokens=fresh,
        output_tokens=answer if is_part else answer + thought,
        cache_read_tokens=read,
        cache_write_5m_tokens=written,
        reasoning_tokens=thought,
        cost_usd=cost,
        dedupe_key=f"opencode:{moment}:{numbers}",
    )


def give_pending(reading: Reading) -> None:
    """Emit the tokens of the last message, which turned out to have no steps."""
    pending: TokenUsage | None = reading.now("pending")
    if pending is not None:
        reading.set(pending=None)
        is_sidechain, reading.is_sidechain = reading.is_sidechain, reading.now("is_side")
        reading.add(pending, "assistant", native_id=f"{reading.now('message')}/usage")
        reading.is_sidechain = is_sidechain


_STATUSES = frozenset(("pending", "streaming", "running", "completed", "error"))
_DONE = frozenset(("completed", "success", "error"))
"""`success` is the word of some old files."""
_EDIT_FACTS = frozenset(("diff", "filediff", "results", "files", "filepath"))
_CHILD = ("sessionId", "sessionID")
_INVALID = "invalid"
_EDITORS = frozenset(("edit", "write", "multiedit", "patch", "apply_patch"))
_OPERATIONS: dict[str, Literal["create", "modify", "delete", "rename"]] = {
    "add": "create", "added": "create", "create": "create", "delete": "delete", "deleted": "delete", "move": "rename",
}  # fmt: skip


class Call(NamedTuple):
    """A call in the terms that both generations share."""

    call_id: str
    name: str
    status: str
    arguments: Json
    output: str
    error: str
    facts: dict[str, Any]
    files: tuple[Part, ...]
    start: Any = None
    end: Any = None
    pruned: Any = None


def read_tool(reading: Reading, data: dict[str, Any], name: str) -> None:
    """Emit a tool part: the call as soon as it is there, the result once it is settled."""
    state = reading.mapping(data, "state")
    times = reading.mapping(state, "time")
    facts = dict(reading.mapping(state, "metadata"))
    title = text(state.get("title"))
    if title:
        facts.setdefault("title", title)
    beside = reading.mapping(data, "metadata")
    facts.update({k: v for k, v in beside.items() if not isinstance(v, dict | list) and k not in facts})
    arguments = state.get("input")
    status = reading.text(state, "status")
    if not arguments and state.get("raw"):
        arguments = state["raw"]
    output = state.get("output")
    call = Call(
        call_id=reading.text(data, "callID") or name,
        name=reading.text(data, "tool"),
        status=status,
        arguments=arguments,
        output=output if isinstance(output, str) else flatten(output) if output is not None else "",
        error=reading.text(state, "error"),
        facts=facts,
        files=tuple(file_part(reading, f) for f in reading.items(state, "attachments") if isinstance(f, dict)),
        start=times.get("start"),
        end=times.get("end"),
        pruned=times.get("compacted"),
    )
    note(reading, "rows", mark_of("call", call.call_id))
    give_call(reading, call)
    reading.extra(state, _KNOWN["tools_state"], "part.tool.state")
    reading.extra(times, _KNOWN["tools_time"], "part.tool.state.time")


def give_call(reading: Reading, call: Call) -> None:
    """Emit a call and, if it is settled, its result, what it edited and whom it asked."""
    reading.odd_value("tool.state.status", call.status, _STATUSES | _DONE)
    if call.start is not None:
        reading.date(call.start, "time.start")
    asked = mapping(call.arguments).get("tool")
    wanted = asked if call.name == _INVALID and isinstance(asked, str) else call.name
    message = reading.now("message")
    reading.add(
        ToolCall(call.call_id, call.name, canonical_tool(wanted), call.arguments, message),
        native_id=f"call:{call.call_id}",
    )
    child = next((v for k in _CHILD if isinstance(v := call.facts.get(k), str) and v), "")
    if child:
        agent = text(mapping(call.arguments).get("subagent_type")) or text(mapping(call.arguments).get("agent"))
        reading.add(
            Lifecycle("subagent", detail={"session": child, "agent": agent}, call_id=call.call_id),
            native_id=f"subagent:{call.call_id}",
        )
    if call.status not in _DONE:
        return
    if call.end is not None:
        reading.date(call.end, "time.end")
    result = _result_of(call)
    reading.add(result, native_id=f"result:{call.call_id}")
    if result.ok:
        edits: dict[str, FileEdit] = {}
        if call.name in _EDITORS:
            for edit in _edits_of(call):
                known = edits.get(edit.path)
                edits[edit.path] = edit if known is None else _joined(known, edit)
        for path, edit in edits.items():
            reading.add(edit, native_id=f"edit:{call.call_id}:{path}")
            # Remember that a tool of this message changed a file, so that the step's patch doesn't name it again.
            reading.set(edited=(*reading.now("edited"), short(path, MAX_PATH_CHARS))[-_MAX_EDITS:])
    if call.pruned:
        before = reading.last_ts
        reading.date(call.pruned, "time.compacted")
        reading.add(Compaction(trigger="prune"), native_id=f"pruned:{call.call_id}")
        reading.last_ts = before


def _result_of(call: Call) -> ToolResult:
    facts = call.facts
    exit_code = whole(facts.get("exit"))
    # A command that was killed has an exit code of null: the field is there.
    has_failed = call.status == "error" or call.name == _INVALID or ("exit" in facts and exit_code != 0)
    start, end = whole(call.start), whole(call.end)
    return ToolResult(
        call_id=call.call_id,
        name=call.name,
        ok=not has_failed,
        exit_code=exit_code,
        text=_result_text(call),
        structured=_beyond(call),
        duration_ms=end - start if start is not None and end is not None and end >= start else None,
        parts=call.files,
    )


def _result_text(call: Call) -> str:
    if call.status != "error":
        return call.output
    partial = text(call.facts.get("output")) or call.output
    return f"{partial}\n{call.error}" if partial and call.error else partial or call.error


def _beyond(call: Call) -> Json:
    """Return the metadata without what stands elsewhere; None when nothing is left."""
    said = frozenset(v for v in mapping(call.arguments).values() if isinstance(v, str))
    skipped = _EDIT_FACTS if call.name in _EDITORS else frozenset[str]()
    rest = {}
    for key, value in call.facts.items():
        if key in skipped or key in _CHILD or key == "exit" or value in (None, "", [], {}):
            continue
        if isinstance(value, str) and (value in said or value.strip() in call.output or value == call.error):
            continue
        rest[key] = value
    return without_opaque(rest) or None


def _edits_of(call: Call) -> list[FileEdit]:
    """Return the edits that the metadata state, else what the arguments say."""
    facts = call.facts
    found = []
    for file in items(facts.get("files")):
        edit = _edit_of_file(mapping(file), call.call_id)
        if edit.path:
            found.append(edit)
    results = [r for r in items(facts.get("results")) if isinstance(r, dict)]
    if not found:
        for each in results or [facts]:
            stated = _edit_of_diff(each, call)
            if stated is not None:
                found.append(stated)
    if found:
        return found
    asked = _edit_of_arguments(call)
    return [asked] if asked.path else []


def _edit_of_file(file: dict[str, Any], call_id: str) -> FileEdit:
    path = next((p for k in ("filePath", "file", "path", "relativePath") if (p := text(file.get(k)))), "")
    operation = _OPERATIONS.get(text(file.get("type")) or text(file.get("status")), "modify")
    before, after = file.get("before"), file.get("after")
    is_whole = isinstance(before, str) and isinstance(after, str)
    return FileEdit(
        path,
        operation,
        before if is_whole and operation != "create" else None,
        after if is_whole and operation != "delete" else None,
        "" if is_whole else text(file.get("diff")) or text(file.get("patch")),
        text(file.get("movePath")),
        call_id,
    )


def _edit_of_diff(facts: dict[str, Any], call: Call) -> FileEdit | None:
    whole_file = mapping(facts.get("filediff"))
    path = text(whole_file.get("file")) or _path_of(call) or text(facts.get("filepath"))
    is_new = facts.get("exists") is False
    operation: Literal["create", "modify"] = "create" if is_new else "modify"
    before, after = whole_file.get("before"), whole_file.get("after")
    if path and isinstance(before, str) and isinstance(after, str):
        is_new = is_new or (call.name == "write" and not before)
        return FileEdit(path, "create" if is_new else "modify", None if is_new else before, after, call_id=call.call_id)
    diff = text(facts.get("diff")) or text(whole_file.get("patch"))
    return FileEdit(path, operation, diff=diff, call_id=call.call_id) if path and diff else None


def _edit_of_arguments(call: Call) -> FileEdit:
    """Return an edit of a call whose metadata say nothing (old files): the text that was to be replaced, or all."""
    asked = mapping(call.arguments)
    old, new, content = asked.get("oldString"), asked.get("newString"), asked.get("content")
    after = new if isinstance(new, str) else content
    is_new = call.facts.get("exists") is False
    diff = text(asked.get("patchText")) or text(asked.get("patch"))
    path = _path_of(call) or text(call.facts.get("filepath"))
    pairs = [mapping(e) for e in items(asked.get("edits"))]
    if pairs and not diff:
        diff = "\n".join(_hunk(text(p.get("oldString")), text(p.get("newString"))) for p in pairs)
    return FileEdit(
        path or ("(patch)" if diff else ""),
        "create" if is_new else "modify",
        old if isinstance(old, str) else None,
        after if isinstance(after, str) else None,
        diff,
        call_id=call.call_id,
    )


def _path_of(call: Call) -> str:
    asked = mapping(call.arguments)
    return text(asked.get("filePath")) or text(asked.get("path")) or text(asked.get("file_path"))


def _hunk(old: str, new: str) -> str:
    lines = ["@@", *(f"-{line}" for line in old.split("\n") if old), *(f"+{line}" for line in new.split("\n") if new)]
    return "\n".join(lines)


def _joined(first: FileEdit, second: FileEdit) -> FileEdit:
    """Return two edits of one file by one call (multiedit) as one."""
    if first.after is not None and second.after is not None:
        return FileEdit(first.path, first.operation, first.before, second.after, call_id=first.call_id)
    diff = "\n".join(filter(None, (first.diff, second.diff)))
    return FileEdit(first.path, first.operation, first.before, second.after, diff, call_id=first.call_id)
