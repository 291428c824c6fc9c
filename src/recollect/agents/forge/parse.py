"""Forge: parses a row, which is a whole conversation, into events. Pure; never raises on content."""

import re
from collections import Counter
from typing import Any, ClassVar, NamedTuple

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import BaseState, KitAdapter, Reading
from recollect.agents.kit.calls import Waiting, edits_of, file_edits
from recollect.agents.kit.content import base64_part, data_url_part
from recollect.agents.kit.names import content_name, short_name
from recollect.agents.kit.values import Json, items, mapping, text
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Tools of Forge: their canonical names, what an edit's arguments ask for, and what a result holds.

_CANONICAL = {
    "fs_create": "edit", "fs_patch": "edit", "fs_read": "read", "fs_remove": "edit", "fs_search": "search",
    "fs_undo": "edit", "fs_write": "edit", "multi_patch": "edit", "net_fetch": "fetch", "patch": "edit",
    "process_shell": "shell", "remove": "edit", "sem_search": "search", "todo_read": "todo", "todo_write": "todo",
    "undo": "edit",
}  # fmt: skip
_OLD_PREFIX = "forge_tool_"
_EXIT_CODE = re.compile(r'<shell_output[^>]*\bexit_code="(-?\d{1,9})"|<exit_code>(-?\d{1,9})</exit_code>')
_STREAM = re.compile(r"<(stdout|stderr)\b[^>]*><!\[CDATA\[(.*?)\]\]></\1>", re.DOTALL)
_TAGS = re.compile(r"\s*<shell_output\b[^>]*>\s*|\s*</shell_output>\s*|<(?:stdout|stderr)\b[^>]*/>")
_WINDOW_CHARS = 4096
_NO_TEXT = ("remove", "undo", "fs_remove", "fs_undo")
_MAX_DEPTH = 8


class Output(NamedTuple):
    """The values of a tool's output."""

    texts: list[str]
    parts: list[kinds.Part]
    children: list[str]
    """Conversations of the agents that the tool started."""
    rest: list[Json]


def canonical(name: str) -> str:
    """Return the canonical name of a tool in any of Forge's generations of names."""
    short = name.removeprefix(_OLD_PREFIX)
    return _CANONICAL.get(short) or canonical_tool(short)


def call_of(call_id: str, name: str, arguments: Json) -> Waiting:
    """Return a call with the edits that it asks for."""
    short = name.removeprefix(_OLD_PREFIX)
    given = mapping(arguments)
    if canonical(name) != "edit" or short in _NO_TEXT:
        return Waiting(call_id, name)
    if "search" in given and "new_string" not in given:
        given = {**given, "new_string": given.get("content")}
    return Waiting(call_id, name, edits_of(given))


def removed_by(name: str, arguments: Json) -> str:
    """Return the path that a call deletes, or ""."""
    given = mapping(arguments)
    is_removal = name.removeprefix(_OLD_PREFIX) in ("remove", "fs_remove")
    return (text(given.get("path")) or text(given.get("file_path"))) if is_removal else ""


def printed_by(said: str) -> str:
    """Return what a shell printed, out of the tags around it; a result that holds more than that stays as it is."""
    if not said.startswith("<shell_output"):
        return said
    rest = _TAGS.sub("", _STREAM.sub("", said)).strip()
    return said if rest else "\n".join(body for _, body in _STREAM.findall(said) if body)


def output_of(values: Json) -> Output:
    """Read the values of an output: `{text: …}`, `{aI: {value, conversation_id}}`, images, and older variants."""
    output = Output([], [], [], [])
    for value in items(values):
        _read_value(value, output, 0)
    return output


def _read_value(value: Json, output: Output, depth: int) -> None:
    if value in ("empty", None) or depth >= _MAX_DEPTH:
        return
    if not isinstance(value, dict) or len(value) != 1:
        output.rest.append(value)
        return
    kind, inner = next(iter(value.items()))
    if kind in ("text", "markdown") and isinstance(inner, str):
        output.texts.append(inner)
    elif kind.lower() == "ai" and isinstance(inner, dict):
        output.texts.append(text(inner.get("value")))
        output.children.append(text(inner.get("conversation_id")))
    elif kind == "image" and isinstance(inner, dict):
        output.parts.append(data_url_part("image", text(inner.get("url")))[0])
    elif kind == "document" and isinstance(inner, dict):
        output.parts.append(document_part(inner))
    elif kind == "fileDiff" and isinstance(inner, dict):
        output.texts.append(f"[file diff: {text(inner.get('path'))}]")
        output.rest.append(inner)
    elif kind == "pair" and isinstance(inner, list) and inner:
        _read_value(inner[0], output, depth + 1)
    else:
        output.rest.append(value)


def document_part(document: dict[str, Any]) -> kinds.Part:
    """Return an attached document by its hash."""
    name, media_type = text(document.get("filename")), text(document.get("mime_type"))
    return base64_part("document", media_type, document.get("data"), path=name)[0]


def structured_of(output: Output) -> Json:
    """Return what of an output is neither text nor image, and where the agents it started spoke."""
    found: dict[str, Any] = {}
    children = [c for c in output.children if c]
    if children:
        found["conversations"] = children
    if output.rest:
        found["values"] = output.rest
    return found or None


def words_of(value: Json) -> str:
    """Return text as it is, and the text of anything else."""
    return value if isinstance(value, str) else "" if value is None else flatten(value)


# The messages of a Forge conversation. They have no ids and no times; a name is made of what a message says.
#
# Evidence: the agent's published record types ("context.messages").

_KNOWN = known_fields("forge")
_SUMMARY = "Use the following summary frames as the authoritative reference"
"""Opening of the message that stands for what a compaction dropped."""
_PROMPT = re.compile(r"<(task|feedback)>\s*(.*?)\s*</\1>", re.DOTALL)


class Conversation:
    """The messages of one row while they are read: a row holds the whole conversation."""

    def __init__(self, reading: Reading[BaseState]) -> None:
        self._reading = reading
        self._names: Counter[str] = Counter()
        self._calls: dict[str, tuple[Waiting, str, str]] = {}
        """Calls by their id, with the path that they delete and the agent that they start."""

    def read(self, entry: Json) -> None:
        """Emit the events of one entry: `{message: {text: …}, usage}`, in old rows without the wrapping."""
        name = self._name(entry)
        message = mapping(entry).get("message", entry)
        kind, body = next(iter(message.items())) if isinstance(message, dict) and message else ("", None)
        read = {"text": self._text, "tool": self._tool, "image": self._media, "document": self._media}.get(kind)
        if read is None or not isinstance(body, dict):
            self._reading.unknown(f"message.{kind}" if kind else "message", entry, native_id=name)
            return
        read(body, name)
        self._usage(mapping(entry), text(body.get("model")), name)
        self._reading.extra(entry, _KNOWN["entry"], "entry", native_id=name)

    def _name(self, entry: Json) -> str:
        """Return the entry's name; its usage and other things that come later change nothing."""
        message = mapping(entry).get("message", entry)
        body = mapping(next(iter(message.values()), None)) if isinstance(message, dict) else {}
        calls = [mapping(c).get("call_id") for c in items(body.get("tool_calls"))]
        said = [body.get(k) for k in ("role", "content", "raw_content", "call_id", "output", "url", "filename")]
        gist = content_name([*said, calls] if any(x is not None for x in said) else message)
        self._names[gist] += 1
        return gist if self._names[gist] == 1 else f"{gist}/{self._names[gist]}"

    def _text(self, body: dict[str, Any], name: str) -> None:
        reading = self._reading
        role = body.get("role")
        said = words_of(body.get("content"))
        if role in ("System", "system"):
            reading.add(kinds.Instructions(said, "system"), native_id=name)
        elif role in ("User", "user"):
            self._user(body, said, name)
        elif role in ("Assistant", "assistant"):
            self._assistant(body, said, name)
        else:
            reading.unknown(f"role.{role}" if isinstance(role, str) else "role", body, native_id=name)
        reading.extra(body, _KNOWN["text"], "text", native_id=name)

    def _user(self, body: dict[str, Any], said: str, name: str) -> None:
        reading = self._reading
        if said.startswith(_SUMMARY):
            reading.add(kinds.Compaction(summary=said, continues_at=name), native_id=name)
            return
        raw = body.get("raw_content")
        event = mapping(raw)
        command = mapping(event.get("Command", event.get("command")))
        if command:
            words = [f"/{text(command.get('name')).lstrip('/')}", *map(words_of, items(command.get("parameters")))]
            typed = " ".join(w for w in words if w)
            reading.add(kinds.UserMessage(typed, "command"), native_id=name)
            return
        typed = text(event.get("Text", event.get("text"))) or (raw if isinstance(raw, str) else "")
        found = _PROMPT.search(said)
        if body.get("droppable") is True:
            reading.add(kinds.UserMessage(said, "injected"), native_id=name)
        else:
            reading.add(kinds.UserMessage(typed or (found[2] if found else said)), native_id=name)

    def _assistant(self, body: dict[str, Any], said: str, name: str) -> None:
        reading = self._reading
        thoughts: list[str] = []
        is_encrypted = False
        for detail in items(body.get("reasoning_details")):
            thought = text(mapping(detail).get("text"))
            is_encrypted = is_encrypted or bool(mapping(detail).get("data") or mapping(detail).get("signature"))
            if thought and thought not in thoughts:
                thoughts.append(thought)
        if thoughts or is_encrypted:
            self._reading.add(
                kinds.Thinking("\n\n".join(thoughts), is_encrypted=not thoughts), native_id=f"{name}/thinking"
            )
        calls = reading.items(body, "tool_calls")
        if said or not calls:
            reading.add(kinds.AssistantMessage(said, text(body.get("model"))), native_id=name)
        for number, call in enumerate(calls, 1):
            if isinstance(call, dict):
                call_id, tool = text(call.get("call_id")), text(call.get("name"))
                arguments = call.get("arguments")
                native_id = f"{name}/call:{short_name(call_id)}" if call_id else f"{name}/call/{number}"
                self._reading.add(kinds.ToolCall(call_id, tool, canonical(tool), arguments), native_id=native_id)
                self._reading.extra(call, _KNOWN["call"], "tool_call", native_id=native_id)
                if call_id:
                    agent = text(mapping(arguments).get("agent_id"))
                    self._calls[call_id] = call_of(call_id, tool, arguments), removed_by(tool, arguments), agent
            else:
                reading.unknown("tool_call", call, native_id=f"{name}/call/{number}")

    def _tool(self, body: dict[str, Any], name: str) -> None:
        reading = self._reading
        call_id = text(body.get("call_id"))
        written = reading.mapping(body, "output")
        output = output_of(written.get("values"))
        said = "\n".join(t for t in output.texts if t)
        # The exit code that a shell's result states in its first tag.
        found = _EXIT_CODE.search(said, 0, _WINDOW_CHARS)
        exit_code = int(found[1] or found[2]) if found else None
        ok = written.get("is_error") is not True and exit_code in (None, 0) if "is_error" in written else None
        result = kinds.ToolResult(
            call_id,
            text(body.get("name")),
            ok,
            exit_code,
            printed_by(said),
            structured_of(output),
            parts=tuple(output.parts),
        )
        reading.add(result, native_id=name)
        reading.extra(body, _KNOWN["result"], "tool", native_id=name)
        call, removed, agent = self._calls.pop(call_id, (Waiting(call_id, ""), "", ""))
        for child in output.children:
            if child:
                reading.start(parent_session=reading.state.session, agent_name=agent, native_id="parent", session=child)
        if ok is not False:
            edits = [kinds.FileEdit(removed, "delete", call_id=call_id)] if removed else file_edits(call)
            for number, edit in enumerate(edits, 1):
                reading.add(edit, native_id=f"{name}/edit/{number}")

    def _media(self, body: dict[str, Any], name: str) -> None:
        """Emit an attached image or document: a user's message without words."""
        part: kinds.Part
        if "url" in body:
            part = self._reading.readable(data_url_part("image", text(body.get("url"))), "image.url")
        else:
            part = document_part(body)
        self._reading.add(kinds.UserMessage("", "injected", (part,)), native_id=name)

    def _usage(self, entry: dict[str, Any], model: str, name: str) -> None:
        reading = self._reading
        usage = reading.mapping(entry, "usage")
        if not usage:
            return
        prompt, is_counted = self._count(usage, "prompt_tokens")
        output, is_output_counted = self._count(usage, "completion_tokens")
        cached, _ = self._count(usage, "cached_tokens")
        reading.add(
            kinds.TokenUsage(
                model=model,
                input_tokens=max(0, prompt - cached),
                output_tokens=output,
                cache_read_tokens=cached,
                cost_usd=reading.money(usage, "cost"),
                dedupe_key=f"forge:{reading.state.session}:{name}",
                is_additive=is_counted and is_output_counted,
            ),
            native_id=f"{name}/usage",
        )
        reading.extra(usage, _KNOWN["usage"], "usage", native_id=f"{name}/usage")

    def _count(self, usage: dict[str, Any], field: str) -> tuple[int, bool]:
        """Return a count and whether the provider counted: `{actual: 5}`, `{approx: 5}` or a number."""
        written = usage.get(field)
        if not isinstance(written, dict):
            return self._reading.count(usage, field), written is not None
        for key, value in written.items():
            if key.lower() in ("actual", "approx"):
                return self._reading.count({field: value}, field), key.lower() == "actual"
        self._reading.wrong(field)
        return 0, False


def read_conversation(reading: Reading[BaseState]) -> None:
    """Emit the session's facts, then its messages in order."""
    row = reading.value
    metrics = mapping(row.get("metrics"))
    reading.date(row.get("created_at") or metrics.get("started_at"), "created_at")
    context = reading.mapping(row, "context")
    messages = reading.items(context, "messages")
    conversation = Conversation(reading)
    reading.start()
    reading.entitle(reading.text(row, "title"))
    reading.infer(reading.ts)
    for entry in messages:
        conversation.read(entry)
    facts = {k: metrics[k] for k in ("files_changed", "files_accessed") if metrics.get(k)}
    reading.note("files", detail=facts, native_id="files")
    todos = row.get("todos") or metrics.get("todos")
    reading.note("todo", detail=todos, native_id="todos")
    reading.extra(row, _KNOWN["row"], "conversations", native_id="start")
    reading.extra(context, _KNOWN["context"], "context", native_id="context")
    reading.extra(metrics, _KNOWN["metrics"], "metrics", native_id="files")


class ForgeAdapter(KitAdapter[BaseState], slug="forge"):
    readers: ClassVar = {"": read_conversation}
