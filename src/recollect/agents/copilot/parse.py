"""Copilot CLI: parses a record into events. Pure; never raises on content.

The stream of session events is read by `kit.copilot_events`, which VS Code shares; here are the files around it.
"""

import re
from collections.abc import Callable
from typing import Any

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.content import chat_content
from recollect.agents.kit.copilot_events import arguments_of, edits_of_call, read_event, starts_stream
from recollect.agents.kit.copilot_session import Call, CopilotState, call_named, storable, with_call
from recollect.agents.kit.names import Marks, name_of
from recollect.agents.kit.values import decoded_json, group_in, items, mapping, text
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.tools import canonical_tool

CHECKPOINT = "checkpoint"
EVENTS = "events"
HISTORY = "history"
PLAN = "plan"
WORKSPACE = "workspace"

# The oldest layout: one document per session with the messages of the chat API and a timeline of what was shown.
#
# Evidence: readers of `history-session-state`; not in the format notes, and no sample of a real one was seen. Messages
# have no ids and no times: they are named by what they say.

_KNOWN = known_fields("copilot")
_ROLES = frozenset(("user", "assistant", "tool", "system", "developer"))


class HistoryState(CopilotState, frozen=True, gc=False, omit_defaults=True):
    """The state of a Copilot CLI source; `marks` number equal messages."""

    marks: Marks = ()


def read_history(reading: Reading[HistoryState]) -> None:
    """Emit the events of one element of an old document, or of the members around its arrays."""
    if not isinstance(reading.record.value, dict):
        read_odd(reading)
    elif reading.at == "chatMessages":
        _message(reading, reading.value)
    elif reading.at == "timeline":
        # Emit an entry of the timeline: it repeats the messages as the terminal showed them, with their times.
        reading.date(reading.value.get("timestamp"))
        kind = text(reading.value.get("type"))
        said = text(reading.value.get("text"))
        rest = {k: v for k, v in reading.value.items() if k not in ("type", "text", "id", "timestamp")}
        identity = text(reading.value.get("id"))
        name = f"timeline:{identity}" if identity else name_of(reading, "timeline", reading.value)
        reading.add(
            kinds.Lifecycle(f"timeline_{kind}" if kind else "timeline", text=said, detail=rest or None), native_id=name
        )
    else:
        if "startTime" in reading.value or "sessionId" in reading.value:
            reading.date(reading.value.get("startTime"), "startTime")
            if not reading.now("is_started"):
                reading.set(is_started=True)
                reading.start(originator="copilot-agent")
        reading.native_id = "document"
        reading.extra(reading.value, _KNOWN["document"], "document")
        for message in items(reading.value.get("chatMessages")):
            _message(reading, mapping(message))


def _message(reading: Reading[HistoryState], value: dict[str, Any]) -> None:
    role = text(value.get("role"))
    said, parts, is_readable = chat_content(value.get("content"))
    if not is_readable:
        reading.wrong("content", "bad_base64")
    name = reading.native_id = name_of(reading, role if role in _ROLES else "message", value)
    if role == "user":
        reading.add(kinds.UserMessage(said, parts=parts))
    elif role == "tool":
        _result(reading, value, said)
    elif role in ("system", "developer"):
        reading.add(kinds.Instructions(said, f"{role} message"))
    elif role == "assistant":
        if said or parts or not items(value.get("tool_calls")):
            reading.add(kinds.AssistantMessage(said, parts=parts))
        for i, call in enumerate(items(value.get("tool_calls"))):
            _call(reading, mapping(call), f"{name}/{i}")
    else:
        reading.unknown(f"message/{role}", value)
    reading.extra(value, _KNOWN["message"], "message")


def _call(reading: Reading[HistoryState], call: dict[str, Any], name: str) -> None:
    function = mapping(call.get("function"))
    call_id, tool = text(call.get("id")), text(function.get("name"))
    arguments = arguments_of(function.get("arguments"))
    reading.add(
        kinds.ToolCall(call_id, tool, canonical_tool(tool), arguments), native_id=f"call:{call_id}" if call_id else name
    )
    waiting = Call(call_id, storable(tool), edits=edits_of_call(tool, arguments, call_id))
    reading.set(calls=with_call(reading.now("calls"), waiting))


def _result(reading: Reading[HistoryState], value: dict[str, Any], said: str) -> None:
    """Emit a result. The API's tool messages don't say how it went, so that edits are taken as made."""
    call_id = text(value.get("tool_call_id"))
    call = call_named(reading.now("calls"), call_id)
    name = call.name if call is not None else text(value.get("name"))
    reading.add(
        kinds.ToolResult(call_id, name, text=said), native_id=f"result:{call_id}" if call_id else reading.native_id
    )
    for i, edit in enumerate(call.edits if call is not None else ()):
        reading.add(edit, native_id=f"edit:{call_id}:{i}")


# The text files beside an event stream: what the session is called and where it works, its plan, its checkpoints.

_MAX_LINES = 200


def read_workspace(reading: Reading[HistoryState], body: str) -> None:
    """Emit the session's title, folder and branch of `workspace.yaml`: flat `key: value` lines."""
    # The top-level scalars of a YAML mapping; block texts are joined by lines. Nothing else is written.
    told: dict[str, str] = {}
    key = ""
    for line in body.splitlines()[:_MAX_LINES]:
        if line[:1] in (" ", "\t") and key:
            told[key] = f"{told[key]}\n{line.strip()}".strip("\n")
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or line.startswith("#"):
            continue
        key = name.strip()
        value = value.strip()
        told[key] = "" if value in ("|", "|-", ">", ">-", "null", "~") else _unquoted(value)
    reading.date(told.get("updated_at") or told.get("created_at"), "updated_at")
    reading.entitle(told.get("name") or told.get("summary") or "", "workspace/title")
    rest = {k: v for k, v in told.items() if k not in ("cwd", "branch", "name") and v}
    cwd, branch = told.get("cwd") or "", told.get("branch") or ""
    reading.add(kinds.Lifecycle("workspace", detail=rest or None, cwd=cwd, branch=branch), native_id="workspace")
    if not told and body.strip():
        reading.wrong("workspace.yaml", "not_yaml")
        reading.kept("workspace.yaml", body, native_id="workspace/text")


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        inner = value[1:-1]
        return inner.replace("''", "'") if value[0] == "'" else inner.replace('\\"', '"').replace("\\\\", "\\")
    return value


def read_plan(reading: Reading[HistoryState], body: str) -> None:
    reading.add(kinds.Lifecycle("plan", text=body), native_id="plan")


def read_checkpoint(reading: Reading[HistoryState], body: str) -> None:
    """Emit what a compaction wrote down of the work so far."""
    name = reading.state.name
    reading.add(kinds.Lifecycle("checkpoint", text=body, detail={"file": name}), native_id=f"checkpoint/{name}")


TEXTS: dict[str, Callable[[Reading[HistoryState], str], None]] = {
    WORKSPACE: read_workspace,
    PLAN: read_plan,
    CHECKPOINT: read_checkpoint,
}


_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_CUT_START = re.compile(rb'\s*\{\s*"type"\s*:\s*"session\.start"\s*,\s*"data"\s*:\s*\{')
_CUT_HISTORY = re.compile(rb'\s*\{\s*"sessionId"\s*:\s*"[^"\\]+"\s*,\s*"startTime"\s*:')


class CopilotAdapter(KitAdapter[HistoryState], slug="copilot"):
    """Reads the session folders of Copilot CLI and the files of older builds."""

    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a source by its content: an event stream, or a document with chat messages.

        VS Code writes the same stream; only its first event names `vscodeVersion`.
        """
        line = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
        first = decoded_json(line)
        if starts_stream(first):
            return None if "vscodeVersion" in mapping(mapping(first).get("data")) else EVENTS
        if first is None and _CUT_START.match(line) and b'"copilot-agent"' in line and b'"vscodeVersion"' not in line:
            return EVENTS
        whole = mapping(decoded_json(head))
        if isinstance(whole.get("chatMessages"), list) and isinstance(whole.get("sessionId"), str):
            return HISTORY
        return HISTORY if _CUT_HISTORY.match(head) and b'"chatMessages"' in head else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Return the session's id: its folder, else what the first event names, else the file's name."""
        parts = info.path.split("/")
        if len(parts) > 2 and parts[-2] == "checkpoints" and parts[-3]:
            return parts[-3]
        if len(parts) > 1 and parts[-2] and (info.name == "events.jsonl" or info.role in TEXTS):
            return parts[-2]
        named = group_in(_SESSION, head if info.role == HISTORY else head.partition(b"\n")[0])
        if named:
            return named
        in_name = _UUID.search(info.stem)
        return in_name[0] if in_name is not None else info.stem or first_line_name(head)

    def read(self, reading: Reading[HistoryState]) -> None:
        role = reading.state.role
        read_text = TEXTS.get(role)
        if role == HISTORY:
            read_history(reading)
        elif read_text is None:
            read_event(reading)
        elif isinstance(reading.record.value, str):
            read_text(reading, reading.record.value)
        else:
            read_odd(reading)
