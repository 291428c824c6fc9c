"""Zed: parses a row into the events of its whole thread. Pure; never raises on content.

A thread is rewritten with every change, so that every event has an id that stays when the thread grows: users' messages
have ids of their own, everything else is named after the message it follows.
"""

import re
from typing import Any, ClassVar

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import BaseState, KitAdapter, Reading
from recollect.agents.kit.calls import edits_of
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import content_name
from recollect.agents.kit.values import Json, instant, items, mapping, text
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Tool calls of a thread, their results, and the edits that these state.

_KNOWN = known_fields("zed")
_EXIT = re.compile(r"(?:failed|exited) with (?:exit )?code:? (-?\d{1,9})\b")
_EXIT_WINDOW_CHARS = 400
"""The terminal tool says how a command failed before its output."""
_CANCELED = "Tool canceled by user"
_EDITS = frozenset(("edit_file", "create_file", "write_file", "streaming_edit_file", "save_file"))
_EDIT_OUTPUT = frozenset(("input_path", "original_path", "new_text", "old_text", "diff", "edit_agent_output"))


def calls_in(content: list[Any]) -> dict[str, dict[str, Any]]:
    """Return the calls among the segments of a message, by id."""
    uses = [mapping(mapping(segment).get("ToolUse")) for segment in content]
    return {text(use.get("id")): use for use in uses if use}


def read_call(reading: Reading[BaseState], use: dict[str, Any], at: str) -> None:
    """Emit a tool call. at: its name if it has no id."""
    call_id, name = reading.text(use, "id"), reading.text(use, "name")
    arguments = use.get("input")
    if arguments is None and text(use.get("raw_input")):
        arguments = use["raw_input"]
    payload = kinds.ToolCall(call_id, name, canonical_tool(name), arguments)
    reading.add(payload, native_id=f"call:{call_id}" if call_id else at)
    reading.extra(use, _KNOWN["call"], "ToolUse", native_id=f"call:{call_id}" if call_id else at)


def read_results(reading: Reading[BaseState], found: Json, calls: dict[str, dict[str, Any]], at: str) -> None:
    """Emit the results of a message: a map by call, a list, or a list of bare ids, which says nothing."""
    if isinstance(found, dict):
        results = [(key, value) for key, value in found.items()]
    else:
        results = [(text(mapping(one).get("tool_use_id")), one) for one in items(found)]
    for n, (key, value) in enumerate(results):
        if isinstance(value, dict):
            call_id = text(value.get("tool_use_id")) or key
            _read_result(reading, value, calls.get(call_id, {}), call_id, f"{at}/result/{n}")
        elif not isinstance(value, str):
            reading.wrong("tool_results")
            reading.kept("tool_result", value, native_id=f"{at}/result/{n}")


def _read_result(
    reading: Reading[BaseState], value: dict[str, Any], use: dict[str, Any], call_id: str, at: str
) -> None:
    name = text(value.get("tool_name")) or text(use.get("name"))
    body, parts = _content(reading, value.get("content"))
    output = value.get("output")
    exit_code = _exit_code(body) if canonical_tool(name) == "shell" else None
    is_error = value.get("is_error")
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("is_error")
    ok = is_error is not True and exit_code in (None, 0)
    payload = kinds.ToolResult(call_id, name, ok, exit_code, body, _structured(name, output, body), parts=parts)
    reading.add(payload, native_id=f"result:{call_id}" if call_id else at)
    if is_error is True and body.startswith(_CANCELED):
        reading.add(kinds.Lifecycle("interrupted", text=body, call_id=call_id), native_id=f"interrupted:{call_id}")
    if ok:
        for n, edit in enumerate(_edits(name, mapping(use.get("input")), mapping(output))):
            made = msgspec.structs.replace(edit, call_id=call_id)
            reading.add(made, native_id=f"edit:{call_id}:{n}" if call_id else f"{at}/edit/{n}")
    reading.extra(value, _KNOWN["result"], "tool_result", native_id=f"result:{call_id}" if call_id else at)


def _content(reading: Reading[BaseState], content: Json) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return the text and the images of a result: one piece or several, tagged, typed or plain."""
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for piece in content if isinstance(content, list) else [content]:
        one = mapping(piece)
        said = one.get("Text", one.get("text"))
        image = one.get("Image", one.get("image"))
        if isinstance(piece, str):
            texts.append(piece)
        elif isinstance(said, str):
            texts.append(said)
        elif image is not None:
            source = image if isinstance(image, str) else mapping(image).get("source")
            parts.append(reading.readable(base64_part("image", "image/png", source), "tool_result.Image"))
        elif piece is not None:
            texts.append(flatten(without_opaque(piece)))
    return "\n".join(t for t in texts if t), tuple(parts)


def _exit_code(body: str) -> int | None:
    """Return how a command ended; a failure is written into the text, with `is_error: false`."""
    found = _EXIT.search(body[:_EXIT_WINDOW_CHARS]) or _EXIT.search(body[-_EXIT_WINDOW_CHARS:])
    return int(found[1]) if found else None


def _structured(name: str, output: Json, body: str) -> Json:
    """Return what a result states beyond its text and its edits."""
    if isinstance(output, dict):
        known = _EDIT_OUTPUT if name in _EDITS else frozenset[str]()
        output = {k: v for k, v in output.items() if k not in known and not (isinstance(v, str) and v in body)}
    if output in (None, "", [], {}) or (isinstance(output, str) and output in body):
        return None
    return without_opaque(output)


def _edits(name: str, given: dict[str, Any], output: dict[str, Any]) -> tuple[kinds.FileEdit, ...]:
    """Return the edits of a call that went well. The output states both texts of the file; its diff says it shorter."""
    if name == "delete_path":
        return (kinds.FileEdit(text(given.get("path")), "delete"),)
    if name == "move_path":
        moved = text(given.get("destination_path"))
        return (kinds.FileEdit(text(given.get("source_path")), "rename", new_path=moved),)
    if name == "copy_path":
        return (kinds.FileEdit(text(given.get("destination_path")), "create"),)
    if name not in _EDITS:
        return ()
    path = text(given.get("path")) or text(output.get("input_path")) or text(output.get("original_path"))
    before, after = output.get("old_text"), output.get("new_text")
    is_new = given.get("mode") == "create" or name == "create_file" or (before == "" and isinstance(after, str))
    diff = text(output.get("diff"))
    if diff and not is_new:
        return (kinds.FileEdit(path, diff=diff),)
    if isinstance(after, str):
        old = before if isinstance(before, str) and not is_new else None
        return (kinds.FileEdit(path, "create" if is_new else "modify", old, after),)
    return edits_of(given, "create" if is_new else "modify")


# The messages of a thread: since 0.3.0 tagged by who speaks, before that with roles and segments.

_MAX_NAME_CHARS = 200


class Thread:
    """Where the reading of a thread stands. `anchor` is the newest message of the user: others are named after it."""

    __slots__ = ("anchor", "calls", "newest", "ordinal", "seen", "usage")

    def __init__(self, usage: dict[str, Any]) -> None:
        self.anchor = "start"
        self.newest = ""
        self.ordinal = 0
        self.seen: dict[str, int] = {}
        self.usage = usage
        self.calls: dict[str, dict[str, Any]] = {}

    def begin_turn(self, identity: Any, content: Any) -> str:
        """Return the name of a message of the user, and name what follows after it."""
        if isinstance(identity, int) and not isinstance(identity, bool):
            identity = f"m{identity}"
        named = isinstance(identity, str) and 0 < len(identity) <= _MAX_NAME_CHARS
        name = identity if named else content_name(identity, content)
        count = self.seen[name] = self.seen.get(name, 0) + 1
        self.newest = name
        self.anchor = name if count == 1 else f"{name}/{count}"
        self.ordinal = 0
        return self.anchor

    def next_name(self) -> str:
        """Return the name of the next message that has none: `<message of the user>/<n>`."""
        self.ordinal += 1
        return f"{self.anchor}/{self.ordinal}"


def read_message(reading: Reading[BaseState], thread: Thread, found: Any) -> None:
    if found == "Resume":
        reading.add(kinds.Lifecycle("resumed"), native_id=f"{thread.next_name()}/resume")
        return
    value = mapping(found)
    tag = next(iter(value), "")
    body = value.get(tag)
    if len(value) == 1 and tag == "User" and isinstance(body, dict):
        _read_user(reading, thread, body)
    elif len(value) == 1 and tag == "Agent" and isinstance(body, dict):
        _read_agent(reading, thread, body)
    elif "role" in value:
        _read_old(reading, thread, value)
    else:
        kind = tag if len(value) == 1 else found if isinstance(found, str) else "message"
        reading.unknown(f"message/{kind}", without_opaque(found), native_id=f"{thread.next_name()}/message")


def _read_user(reading: Reading[BaseState], thread: Thread, body: dict[str, Any]) -> None:
    """Emit what the user said. Mentions are context: a part of the message, and their text as injected."""
    content = body.get("content")
    name = thread.begin_turn(body.get("id"), content)
    texts: list[str] = []
    parts: list[kinds.Part] = []
    asides: list[tuple[str, str]] = []
    for n, segment in enumerate(_segments(content)):
        one = mapping(segment)
        tag = next(iter(one), "")
        inner = one.get(tag)
        if isinstance(segment, str):
            texts.append(segment)
        elif tag == "Text":
            texts.append(inner if isinstance(inner, str) else flatten(inner))
        elif tag == "Mention":
            part, said = _mention(mapping(inner))
            parts.append(part)
            if said:
                asides.append((f"{name}/mention/{n}", said))
        elif tag == "Image":
            parts.append(_image(reading, inner))
        else:
            reading.unknown(f"user/{tag or type(segment).__name__}", without_opaque(segment), native_id=f"{name}/{n}")
    reading.add(kinds.UserMessage("\n".join(t for t in texts if t), parts=tuple(parts)), native_id=name)
    for aside, said in asides:
        reading.add(kinds.UserMessage(said, "injected"), native_id=aside)
    reading.extra(body, _KNOWN["user"], "User", native_id=name)
    read_request_usage(reading, name, mapping(thread.usage.get(name)))


def _segments(content: Any) -> list[Any]:
    return [content] if isinstance(content, str | dict) else items(content)


def _mention(body: dict[str, Any]) -> tuple[kinds.Part, str]:
    """Return what was mentioned: `uri` is tagged by its kind, or a text."""
    uri = body.get("uri")
    said = text(body.get("content"))
    if isinstance(uri, str):
        return kinds.Part("mention", url=uri), said
    kind = next(iter(mapping(uri)), "mention")
    place = mapping(mapping(uri).get(kind))
    path = next((text(place[k]) for k in ("abs_path", "path", "name", "id") if text(place.get(k))), "")
    return kinds.Part(kind.lower(), path=path, url=text(place.get("url"))), said


def _image(reading: Reading[BaseState], found: Any) -> kinds.Part:
    source = found if isinstance(found, str) else mapping(found).get("source")
    return reading.readable(base64_part("image", "image/png", source), "Image.source")


_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def read_request_usage(reading: Reading[BaseState], name: str, usage: dict[str, Any]) -> None:
    """Emit what one request took; the thread's total has it already."""
    if any(usage.values()):
        put, got, read, written = reading.counts(usage, _COUNTS)
        key = f"request:{reading.state.session}/{name}"
        counted = kinds.TokenUsage("", put, got, read, written, dedupe_key=key, is_additive=False)
        reading.add(counted, "assistant", native_id=f"{name}/usage")


def _read_agent(reading: Reading[BaseState], thread: Thread, body: dict[str, Any]) -> None:
    """Emit what the model said, thought and asked for, and what came back to it."""
    name = thread.next_name()
    content = _segments(body.get("content"))
    thread.calls.update(calls_in(content))
    for n, segment in enumerate(content):
        one = mapping(segment)
        tag = next(iter(one), "")
        inner = one.get(tag)
        at = f"{name}/{n}"
        if isinstance(segment, str) or tag == "Text":
            said = segment if isinstance(segment, str) else inner if isinstance(inner, str) else flatten(inner)
            reading.say(kinds.AssistantMessage(said), native_id=at)
        elif tag == "Thinking":
            thought = inner if isinstance(inner, str) else text(mapping(inner).get("text"))
            is_signed = bool(mapping(inner).get("signature"))
            reading.add(kinds.Thinking(thought, is_encrypted=not thought and is_signed), native_id=f"{at}/thinking")
        elif tag == "RedactedThinking":
            reading.add(kinds.Thinking(is_encrypted=True), native_id=f"{at}/thinking")
        elif tag == "ToolUse":
            read_call(reading, mapping(inner), at)
        else:
            kind = tag or type(segment).__name__
            reading.unknown(f"agent/{kind}", without_opaque(segment), native_id=at)
    read_results(reading, body.get("tool_results"), thread.calls, name)
    reading.extra(body, _KNOWN["agent"], "Agent", native_id=name)


def _read_old(reading: Reading[BaseState], thread: Thread, value: dict[str, Any]) -> None:
    """Emit a message of a thread before 0.3.0: a role, segments, and the calls and results beside them."""
    role = text(value.get("role"))
    identity = value.get("id")
    if role == "user":
        name = thread.begin_turn(identity, [value.get("segments"), value.get("text")])
        said = "\n".join(t for kind, t in _old_segments(value) if kind != "redacted" and t)
        origin: kinds.Origin = "injected" if value.get("is_hidden") is True else "human"
        reading.add(kinds.UserMessage(said, origin), native_id=name)
        context = text(value.get("context"))
        reading.say(kinds.UserMessage(context, "injected"), native_id=f"{name}/context")
    elif role == "assistant":
        name = thread.next_name()
        thread.newest = f"m{identity}" if isinstance(identity, int) else text(identity)
        for n, (kind, said) in enumerate(_old_segments(value)):
            if kind == "text":
                reading.say(kinds.AssistantMessage(said), native_id=f"{name}/{n}")
            else:
                reading.add(kinds.Thinking(said, is_encrypted=kind == "redacted"), native_id=f"{name}/{n}/thinking")
        uses = [mapping(u) for u in items(value.get("tool_uses"))]
        for n, use in enumerate(uses):
            read_call(reading, use, f"{name}/call/{n}")
        thread.calls.update({text(u.get("id")): u for u in uses})
        read_results(reading, value.get("tool_results"), thread.calls, name)
    elif role == "system":
        name = thread.next_name()
        said = "\n".join(t for _, t in _old_segments(value) if t)
        reading.add(kinds.Instructions(said, "system message"), native_id=name)
    else:
        name = thread.next_name()
        reading.unknown(f"message/{role or 'role'}", without_opaque(value), native_id=name)
    reading.extra(value, _KNOWN["old"], "message", native_id=name)


def _old_segments(value: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the segments of an old message as (text, thinking or redacted; words)."""
    found: list[tuple[str, str]] = []
    whole = text(value.get("text"))
    if whole:
        found.append(("text", whole))
    for segment in items(value.get("segments")):
        one = mapping(segment)
        kind = text(one.get("type")).lower()
        if kind in ("redactedthinking", "redacted_thinking"):
            found.append(("redacted", ""))
        elif kind in ("text", "thinking"):
            found.append((kind, text(one.get("text"))))
        else:
            found.append(("text", flatten(without_opaque(segment))))
    return found


_SETTINGS = ("profile", "completion_mode", "speed", "thinking_enabled", "thinking_effort", "imported",
             "tool_use_limit_reached", "exceeded_window_error")  # fmt: skip
_TYPES = frozenset(("json", "zstd"))


def read_row(reading: Reading[BaseState]) -> None:
    """Emit the events of one row: the whole thread as it stands."""
    row = reading.value
    reading.odd_value("threads.data_type", row.get("data_type"), _TYPES)
    reading.extra(row, _KNOWN["row"], "threads", native_id="row")
    data = row.get("data")
    if not isinstance(data, dict):
        reading.wrong("data")
        reading.date(row.get("updated_at"), "updated_at")
        _read_title(reading, row, {})
        reading.kept("thread", data if isinstance(data, str) else None, native_id="thread")
        return
    _read_thread(reading, row, data)


def _read_thread(reading: Reading[BaseState], row: dict[str, Any], data: dict[str, Any]) -> None:
    messages = reading.items(data, "messages")
    last = instant(row.get("updated_at")) or instant(data.get("updated_at"))
    first = instant(row.get("created_at")) or last
    _read_start(reading, row, data, first)
    thread = Thread(mapping(data.get("request_token_usage")))
    by_place = items(data.get("request_token_usage"))
    summary, at = _summary(data)
    for n, found in enumerate(messages):
        reading.infer(_between(first, last, n, len(messages)))
        read_message(reading, thread, found)
        if n < len(by_place):  # before 0.3.0: of the message that stands there
            read_request_usage(reading, f"{thread.anchor}/{thread.ordinal}", mapping(by_place[n]))
        if summary and at and at == thread.newest:
            reading.add(kinds.Compaction("summary", summary), native_id="summary")
            summary = ""
    reading.infer(last)
    if summary:
        reading.add(kinds.Compaction("summary", summary), native_id="summary")
    reading.date(row.get("updated_at") or data.get("updated_at"), "updated_at")
    # Emit what the whole thread took. The counters only grow, also when messages are edited away.
    usage = reading.mapping(data, "cumulative_token_usage")
    key = f"thread:{reading.state.session}"
    reading.spend(_model(data), reading.counts(usage, _COUNTS), key, "assistant", native_id="usage")
    reading.extra(usage, _KNOWN["usage"], "cumulative_token_usage", native_id="usage")
    _read_title(reading, row, data)
    # Emit the thread's model and the settings that it has now; drafts and places on the screen are left out.
    model = _model(data)
    if model:
        provider = text(mapping(data.get("model")).get("provider"))
        detail = {"provider": provider} if provider else None
        reading.add(kinds.Lifecycle("model", model=model, detail=detail), native_id="model")
    told = {name: data[name] for name in _SETTINGS if data.get(name) not in (None, False, "", [], {})}
    depth = mapping(data.get("subagent_context")).get("depth")
    if depth is not None:
        told["subagent_depth"] = depth
    reading.note("settings", detail=told, native_id="settings")
    reading.extra(data, _KNOWN["thread"], "thread", native_id="thread")


def _between(first: int | None, last: int | None, n: int, count: int) -> int | None:
    """Return the time of a message, spread evenly: there is none for each."""
    if first is None or last is None or last < first:
        return last if last is not None else first
    return first + (last - first) * (n + 1) // (count + 1)


def _read_start(reading: Reading[BaseState], row: dict[str, Any], data: dict[str, Any], first: int | None) -> None:
    """Emit the thread's start: its folder, the repository as it stood, and whose subagent it is."""
    if row.get("created_at"):
        reading.date(row.get("created_at"), "created_at")
    else:
        reading.infer(first)
    snapshot = reading.mapping(data, "initial_project_snapshot")
    tree = mapping(next(iter(items(snapshot.get("worktree_snapshots"))), None))
    git = mapping(tree.get("git_state"))
    parent = text(row.get("parent_id")) or text(mapping(data.get("subagent_context")).get("parent_thread_id"))
    reading.start(
        **reading.told(git, git_branch="current_branch", git_commit="head_sha", git_remote="remote_url"),
        cwd=next(iter(_folders(row)), "") or text(tree.get("worktree_path")),
        originator="zed",
        parent_session=parent if parent != reading.state.session else "",
    )
    reading.note("project", detail=snapshot, native_id="project")


def _folders(row: dict[str, Any]) -> list[str]:
    """Return the folders of a thread in the user's order: lines of text, and the rank of each."""
    written = row.get("folder_paths")
    if isinstance(written, list):
        return [p for p in written if isinstance(p, str) and p]
    paths = [p for p in text(written).splitlines() if p]
    ranks = text(row.get("folder_paths_order")).split(",")
    if len(ranks) != len(paths) or not all(r.strip().isdecimal() and len(r) < 9 for r in ranks):
        return paths
    return [path for _, path in sorted(zip(map(int, ranks), paths, strict=True))]


def _summary(data: dict[str, Any]) -> tuple[str, str]:
    """Return a thread's summary, and the id of the message it was made after where an old thread says so."""
    found = data.get("detailed_summary") or data.get("detailed_summary_state")
    if isinstance(found, str):
        return ("" if found in ("NotGenerated", "Generating") else found), ""
    made = mapping(mapping(found).get("Generated"))
    at = made.get("message_id")
    return text(made.get("text")), f"m{at}" if isinstance(at, int) else text(at)


def _model(data: dict[str, Any]) -> str:
    found = data.get("model")
    return found if isinstance(found, str) else text(mapping(found).get("model"))


def _read_title(reading: Reading[BaseState], row: dict[str, Any], data: dict[str, Any]) -> None:
    reading.entitle(text(data.get("title")) or text(data.get("summary")) or text(row.get("summary")))


class ZedAdapter(KitAdapter[BaseState], slug="zed"):
    readers: ClassVar = {"": read_row}
