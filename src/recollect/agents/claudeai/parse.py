"""Claude.ai: parses a conversation into events. Pure; never raises on content."""

from typing import Any, NamedTuple

import msgspec

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit.adapter import BaseState, Reading, read_odd
from recollect.agents.kit.calls import edits_asked
from recollect.agents.kit.content import base64_part, media_part, without_opaque
from recollect.agents.kit.exports import ExportAdapter, Tree, conversation_of, first_element, read_tree, stamp
from recollect.agents.kit.names import content_sha256
from recollect.agents.kit.values import decoded_json, items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# What tools were asked and gave back: shells in a sandbox, files in it, artifacts, and pages.

_ARTIFACTS = "artifacts"
_CREATE = frozenset(("create_file", "create"))
_MEDIA = frozenset(("image", "document"))
_NAMES = ("returncode", "exit_code")


class PendingCall(NamedTuple):
    """A call that waits for its result."""

    call_id: str
    name: str
    arguments: dict[str, Any]


def result_text(content: Any) -> str:
    """Return the words of a result: texts as they are, pages with title and address, files by their path."""
    if isinstance(content, str):
        return content
    lines: list[str] = []
    for block in items(content):
        one = mapping(block)
        kind = text(one.get("type"))
        if kind == "text":
            lines.append(text(one.get("text")))
        elif kind == "knowledge":
            lines += [text(one.get("title")), text(one.get("url")), text(one.get("text"))]
        elif kind not in _MEDIA:
            body = {k: v for k, v in one.items() if k not in ("type", "uuid")} if one else block
            lines.append(flatten(without_opaque(body)))
    return "\n".join(line for line in lines if line)


def parts_of_result(content: Any) -> tuple[kinds.Part, ...]:
    """Return the pictures, documents and files that a result holds."""
    parts: list[kinds.Part] = []
    for one in map(mapping, items(content)):
        kind = text(one.get("type"))
        if kind in _MEDIA and isinstance(one.get("source"), dict):
            parts.append(media_part(one)[0])
        elif kind in _MEDIA:
            mime = text(one.get("mime_type")) or text(one.get("mimeType"))
            part = base64_part(kind, mime, one.get("data"))[0] if "data" in one else kinds.Part(kind, media_type=mime)
            parts.append(
                part if part.path else kinds.Part(kind, part.sha256, mime, part.bytes, text(one.get("file_uuid")))
            )
        elif kind == "local_resource":
            parts.append(kinds.Part("file", media_type=text(one.get("mime_type")), path=text(one.get("file_path"))))
    return tuple(parts)


def exit_code_of(words: str) -> int | None:
    """Return how a command ended: its result is a JSON text with `returncode`, and is no error for the page."""
    if not words.startswith("{") or not any(f'"{name}"' in words for name in _NAMES):
        return None
    found = mapping(decoded_json(words))
    return next((whole(found[name]) for name in _NAMES if name in found), None)


def edits_of(call: PendingCall) -> list[kinds.FileEdit]:
    """Return the edits of a call that succeeded: of a file in the sandbox, or of an artifact under its title or id."""
    asked = call.arguments
    if call.name == _ARTIFACTS:
        path = text(asked.get("title")) or text(asked.get("id"))
        if text(asked.get("command")) == "update":
            return [kinds.FileEdit(path, "modify", _text(asked, "old_str"), _text(asked, "new_str"))]
        content = _text(asked, "content")
        if content is None:
            return []
        return [kinds.FileEdit(path, "create" if text(asked.get("command")) == "create" else "modify", after=content)]
    found = edits_asked(call.name, asked)
    if call.name in _CREATE:
        return [msgspec.structs.replace(edit, operation="create") for edit in found]
    return list(found)


def _text(asked: dict[str, Any], name: str) -> str | None:
    value = asked.get(name)
    return value if isinstance(value, str) else None


# The messages of a conversation: blocks of text, thinking and tools, and the files beside them.

_KNOWN = known_fields("claudeai")
_SENDERS = frozenset(("human", "assistant"))
_STOPPED = frozenset(("user_canceled", "user_cancelled"))
_BLOCK = frozenset(("type", "start_timestamp", "stop_timestamp", "flags", "alternative_display_type", "uuid"))
_BLOCKS = {kind: _BLOCK | fields for kind, fields in known_by_type("claudeai", "block").items()}
_MAX_WAITING = 4096


class Talk:
    """A conversation while it is read: its messages, what each gave, and the calls that wait for their result."""

    __slots__ = ("calls", "given", "messages")

    def __init__(self, messages: dict[str, dict[str, Any]]) -> None:
        self.messages = messages
        self.given: dict[str, str] = {}
        self.calls: list[PendingCall] = []

    def ask(self, call: PendingCall) -> None:
        """Remember a call."""
        self.calls.append(call)
        if len(self.calls) > _MAX_WAITING:
            del self.calls[0]

    def take(self, call_id: str, name: str) -> PendingCall | None:
        """Return the call that a result answers: of its id, else, for results without one, the first of its tool."""
        for n, call in enumerate(self.calls):
            if call.call_id == call_id if call_id else name in ("", call.name):
                del self.calls[n]
                return call
        return None


def read_message(reading: Reading[BaseState], name: str, talk: Talk) -> None:
    message = talk.messages[name]
    stamp(reading, message.get("created_at"), "created_at")
    sender = text(message.get("sender"))
    blocks = reading.items(message, "content")
    if sender == "human":
        _read_human(reading, name, message, blocks)
    elif sender == "assistant":
        _Answer(reading, name, talk).read(message, blocks)
    else:
        reading.unknown(f"message/{sender or 'sender'}", without_opaque(message), native_id=name)
    if text(message.get("stop_reason")) in _STOPPED:
        reading.add(kinds.Lifecycle("interrupted", text="the user stopped the answer"), native_id=f"{name}/interrupted")
    reading.odd_value("message.sender", sender, _SENDERS)
    reading.extra(message, _KNOWN["message"], "message", native_id=name)


def _read_human(reading: Reading[BaseState], name: str, message: dict[str, Any], blocks: list[Any]) -> None:
    """Emit a prompt as one event, with its files; the text of a file is none of the user's words."""
    said: list[str] = []
    parts: list[kinds.Part] = []
    begun = len(reading.events)
    for n, block in enumerate(blocks, 1):
        one = mapping(block)
        kind = text(one.get("type"))
        if kind in ("text", "voice_note"):
            said.append(text(one.get("text")))
        elif kind in ("image", "document"):
            parts.append(_media(one))
        else:
            _read_other(reading, f"{name}/{n}", block)
        _read_extra(reading, f"{name}/{n}", one)
    after = reading.events[begun:]
    del reading.events[begun:]
    words = "\n".join(line for line in said if line) or text(message.get("text"))
    asides = _files(reading, name, message, parts)
    reading.say(kinds.UserMessage(words, parts=tuple(parts)), native_id=name)
    for number, (part, extracted) in enumerate(asides, 1):
        reading.add(kinds.UserMessage(extracted, "injected", (part,)), native_id=f"{name}/attachment/{number}")
    reading.events += after


def _files(
    reading: Reading[BaseState], name: str, message: dict[str, Any], parts: list[kinds.Part]
) -> list[tuple[kinds.Part, str]]:
    """Add the files of a message to its parts, each once, and return those whose text was extracted."""
    asides: list[tuple[kinds.Part, str]] = []
    names: set[str] = set()
    for one in map(mapping, reading.items(message, "attachments")):
        part = kinds.Part(
            type="attachment",
            media_type=text(one.get("file_type")),
            bytes=max(0, whole(one.get("file_size")) or 0),
            path=text(one.get("file_name")),
        )
        names.add(part.path)
        parts.append(part)
        extracted = text(one.get("extracted_content"))
        if extracted:
            asides.append((part, extracted))
        reading.extra(one, _KNOWN["attachment"], "attachment", native_id=name)
    for field in ("files", "files_v2"):
        for one in map(mapping, reading.items(message, field)):
            path = text(one.get("file_name"))
            if path not in names:  # an attachment is listed among the files again
                names.add(path)
                size = max(0, whole(one.get("size_bytes")) or 0)
                parts.append(kinds.Part("file", bytes=size, path=path, url=text(one.get("file_uuid"))))
            reading.extra(one, _KNOWN["file"], "file", native_id=name)
    for source in items(message.get("sync_sources")):
        reading.kept("sync_source", source, native_id=f"{name}/sync")
    return asides


class _Answer:
    """One message of the model, block by block. Blocks of a kind are numbered, so that others don't rename them."""

    def __init__(self, reading: Reading[BaseState], name: str, talk: Talk) -> None:
        self._reading = reading
        self._name = name
        self._talk = talk
        self._counts: dict[str, int] = {}

    def _named(self, suffix: str) -> str:
        number = self._counts[suffix] = self._counts.get(suffix, 0) + 1
        name = f"{self._name}/{suffix}" if suffix else self._name
        return name if number == 1 else f"{name}/{number}"

    def read(self, message: dict[str, Any], blocks: list[Any]) -> None:
        """Give every block. `text` repeats them, with a placeholder for each tool; it counts only where it is alone."""
        reading = self._reading
        written = message.get("created_at")
        for block in blocks:
            one = mapping(block)
            # A block tells when it began; the message's own time is when it was stored.
            began = one.get("start_timestamp")
            stamp(reading, began if isinstance(began, str) and began else written, "start_timestamp")
            self._block(block, one)
        stamp(reading, written, "created_at")
        alone = text(message.get("text"))
        if not blocks and alone:
            reading.add(self._said(alone), native_id=self._named(""))
        parts: list[kinds.Part] = []
        for part, extracted in _files(reading, self._name, message, parts):
            reading.add(kinds.UserMessage(extracted, "injected", (part,)), native_id=self._named("attachment"))
        if parts:
            reading.add(self._said("", tuple(parts)), native_id=self._named("files"))

    def _said(self, words: str, parts: tuple[kinds.Part, ...] = ()) -> kinds.AssistantMessage:
        stop = text(self._talk.messages[self._name].get("stop_reason"))
        return kinds.AssistantMessage(words, stop_reason=stop, message_id=self._name, parts=parts)

    def _block(self, block: Any, one: dict[str, Any]) -> None:
        reading = self._reading
        kind = text(one.get("type"))
        name = self._name
        if kind in ("text", "connector_text", "voice_note"):
            words = text(one.get("text")) or text(one.get("connector_text"))
            if words:
                name = self._named("")
                reading.add(self._said(words), native_id=name)
            if one.get("citations"):
                detail = without_opaque(one["citations"])
                reading.add(kinds.Lifecycle("references", detail=detail), native_id=self._named("references"))
        elif kind == "thinking":
            name = self._named("thinking")
            thought = text(one.get("thinking")) or _summaries(one)
            is_hidden = not thought and bool(one.get("signature") or one.get("thinking_hidden"))
            reading.say(kinds.Thinking(thought, self._name, is_hidden), native_id=name)
        elif kind == "tool_use":
            tool = text(one.get("name"))
            call_id = text(one.get("id")) or self._named("call")
            asked = one.get("input")
            self._talk.ask(PendingCall(call_id, tool, mapping(asked)))
            canonical = canonical_tool(tool)
            if canonical == "other" and text(one.get("mcp_server_url")):
                canonical = "mcp"
            self._reading.add(kinds.ToolCall(call_id, tool, canonical, asked, self._name), native_id=f"call:{call_id}")
            name = f"call:{call_id}"
        elif kind == "tool_result":
            name = self._result(one)
        elif kind in ("image", "document"):
            name = self._named("media")
            reading.add(self._said("", (_media(one),)), native_id=name)
        else:
            name = self._named("block")
            _read_other(reading, name, block)
        _read_extra(reading, name, one)

    def _result(self, one: dict[str, Any]) -> str:
        reading = self._reading
        tool = text(one.get("name"))
        call = self._talk.take(text(one.get("tool_use_id")), tool)
        call_id = text(one.get("tool_use_id")) or (call.call_id if call else self._named("result"))
        words = result_text(one.get("content"))
        code = exit_code_of(words)
        is_error = one.get("is_error")
        ok = not is_error and not code if isinstance(is_error, bool) else None
        if call is not None and ok is not False:
            for n, edit in enumerate(edits_of(call), 1):
                reading.add(_with_call(edit, call_id), native_id=f"edit:{call_id}:{n}")
        result = kinds.ToolResult(
            call_id=call_id,
            name=tool or (call.name if call else ""),
            ok=ok,
            exit_code=code,
            text=words,
            structured=without_opaque(one.get("structured_content")) or None,
            parts=parts_of_result(one.get("content")),
        )
        reading.add(result, native_id=f"result:{call_id}")
        return f"result:{call_id}"


def _with_call(edit: kinds.FileEdit, call_id: str) -> kinds.FileEdit:
    return kinds.FileEdit(edit.path, edit.operation, edit.before, edit.after, call_id=call_id)


def _summaries(one: dict[str, Any]) -> str:
    return "\n".join(filter(None, (text(mapping(s).get("summary")) for s in items(one.get("summaries")))))


def _media(one: dict[str, Any]) -> kinds.Part:
    part, _, _ = media_part(one)
    return (
        part
        if part.path
        else kinds.Part(part.type, part.sha256, part.media_type, part.bytes, text(one.get("file_uuid")))
    )


def _read_other(reading: Reading[BaseState], name: str, block: Any) -> None:
    """Emit a block that is nobody's words: what was put in beside them, a limit, a mark, or one that is not known."""
    one = mapping(block)
    kind = text(one.get("type"))
    if kind == "injected_prompt_block":
        prompt = text(one.get("prompt"))
        reading.say(kinds.UserMessage(prompt, "injected"), native_id=name)
    elif kind in ("token_budget", "flag"):
        detail = {k: v for k, v in one.items() if k not in _BLOCK and v is not None}
        reading.add(kinds.Lifecycle(kind, detail=detail or None), native_id=name)
    elif one:
        reading.unknown(f"block/{kind or 'type'}", without_opaque(block), native_id=name)
    else:
        reading.wrong("content")
        reading.kept("block", flatten(block), native_id=name)


def _read_extra(reading: Reading[BaseState], name: str, one: dict[str, Any]) -> None:
    known = _BLOCKS.get(text(one.get("type")))
    if known is not None:
        reading.extra(one, known, f"block_{one['type']}", native_id=name)


_ABOUT = ("is_starred", "is_temporary", "platform", "project_uuid", "project")


class ClaudeAIAdapter(ExportAdapter, slug="claudeai"):
    """The adapter of Claude.ai's data export."""

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a conversation is the only thing of an export that has `chat_messages`."""
        if b'"chat_messages"' not in head:
            return None
        found = first_element(head) or {}
        messages = found.get("chat_messages")
        if not isinstance(messages, list) or "uuid" not in found:
            return None
        first = messages[0] if messages else {"sender": ""}
        return "conversations" if isinstance(first, dict) and first.keys() & {"sender", "uuid", "text"} else None

    def read(self, reading: Reading[BaseState]) -> None:
        conversation = conversation_of(reading)
        if conversation is None:
            read_odd(reading)
            return
        # Emit what is said of the conversation as a whole; its title and summary may change with every export.
        stamp(reading, conversation.get("created_at"), "created_at")
        reading.start(model=reading.text(conversation, "model"), originator="claude.ai")
        reading.entitle(reading.text(conversation, "name"))
        summary = reading.text(conversation, "summary")
        reading.note("summary", summary, native_id="summary")
        about = {name: conversation[name] for name in _ABOUT if conversation.get(name)}
        reading.note("conversation", detail=about, native_id="conversation")
        reading.extra(conversation, _KNOWN["conversation"], "conversation", native_id="start")
        messages = _named(reading, reading.items(conversation, "chat_messages"))
        tree = Tree(_parents(messages), {}, _current(conversation, messages))
        talk = Talk(messages)

        def above(key: str) -> str | None:
            climb = tree.ancestry(key)
            next(climb, None)
            return talk.given.get(next(climb, ""))

        read_tree(reading, tree, talk.given, above, lambda key: read_message(reading, key, talk))


def _named(reading: Reading[BaseState], found: list[Any]) -> dict[str, dict[str, Any]]:
    """Return the messages by name: their own, else one made of what they say. Equal names are numbered."""
    named: dict[str, dict[str, Any]] = {}
    for value in found:
        message = mapping(value)
        if not message:
            reading.wrong("chat_messages")
            reading.kept("chat_messages", value, native_id=f"odd-{content_sha256(value)}")
            continue
        name = text(message.get("uuid")) or f"h-{content_sha256(message)}"
        number = 1
        unique = name
        while unique in named:
            number += 1
            unique = f"{name}/{number}"
        named[unique] = message
    return named


def _parents(messages: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the message before each: the one it names, or where exports have none yet, the one that stands there."""
    parents: dict[str, str] = {}
    before = ""
    for name, message in messages.items():
        parent = message.get("parent_message_uuid")
        parents[name] = parent if isinstance(parent, str) and parent else before
        before = name
    return parents


def _current(conversation: dict[str, Any], messages: dict[str, dict[str, Any]]) -> str:
    """Return the message where the conversation is now: as it says, else the newest one."""
    said = text(conversation.get("current_leaf_message_uuid"))
    if said in messages:
        return said
    # Of equally new ones the last: the time of a message that has none reads as the oldest.
    return max(reversed(messages), key=lambda name: text(messages[name].get("created_at")), default="")
