"""Parses hook payloads that `ingest.spooled_events` stored into events. Pure.

A record is `{"drop", "agent", "host", "session", "at_us", "again"?, "payload"}`: what a hook was given, and when. Names
are made of the agent's own ids where it has some (`call:<id>`, `prompt:<id>:<text>`), so that a payload that came twice
names the same event; else of the drop. A change here needs a higher `DERIVATION`.
"""

from typing import Any, Literal

import msgspec

from recollect.agents.kit.adapter import KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.content import content_text, without_opaque
from recollect.agents.kit.names import NamingState, content_sha256, numbered, short_name
from recollect.agents.kit.values import Json, decoded_json, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.capabilities import AgentFacts, HookFacts
from recollect.model.ids import OWN_CALL_ID
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# How agents spell their hooks' payloads: names of events, names of fields. Data, and how it is read.
#
# Claude Code's spelling (snake_case fields, PascalCase events) is the common one; Codex, Qwen, Kimi, VS Code and our
# own plugin for opencode have it. Others: Gemini CLI (BeforeTool …), Cursor (afterShellExecution …), Grok Build and
# Copilot CLI (camelCase fields), Windsurf (fields in `tool_info`), CodeWhale (`event`, `text`), goose (`event`,
# `message`, `working_dir`), Hermes (`post_tool_call` …, fields in `extra`; its `on_session_end` comes after every
# turn). Sources: the agents' pages on hooks, named in their files; Windsurf: "Cascade hooks"; goose and
# Hermes: their `install`.

EventKind = Literal[
    "start", "end", "prompt", "call", "result", "failure", "reply", "subagent", "compaction", "compacted", "notice"
]
_EVENTS: dict[EventKind, tuple[str, ...]] = {
    "start": ("sessionstart", "onsessionstart"),
    "end": ("sessionend",),
    "prompt": (
        "userpromptsubmit", "userpromptsubmitted", "beforesubmitprompt", "beforeagent", "messagesubmit",
        "preuserprompt",
    ),
    "call": (
        "pretooluse", "beforetool", "toolcallbefore", "beforeshellexecution", "beforemcpexecution", "premcptooluse",
        "preruncommand", "prewritecode", "prereadcode",
    ),
    "result": (
        "posttooluse", "aftertool", "toolcallafter", "aftershellexecution", "aftermcpexecution", "postmcptooluse",
        "postruncommand", "postwritecode", "postreadcode", "posttoolcall",
    ),
    "failure": ("posttoolusefailure",),
    "reply": (
        "stop", "afteragent", "agentstop", "turnend", "afteragentresponse", "postcascaderesponse", "onsessionend",
    ),
    "subagent": ("subagentstart", "subagentstop", "subagentspawn", "subagentcomplete"),
    "compaction": ("precompact", "precompress"),
    "compacted": ("postcompact",),
    "notice": (
        "notification", "permissionrequest", "permissionresult", "permissiondenied", "stopfailure", "interrupt",
        "erroroccurred", "onerror", "modechange", "setup", "posttoolbatch", "userpromptqueued", "turnstarted",
        "taskstarted", "taskcreated", "taskcompleted", "sessionheartbeat", "cwdchanged", "instructionsloaded",
        "afteragentthought", "afterfileedit", "beforereadfile", "postsetupworktree",
        "postcascaderesponsewithtranscript", "todocreated", "todocompleted", "userpromptexpansion",
    ),
}  # fmt: skip
_KIND_OF = {name: kind for kind, names in _EVENTS.items() for name in names}
_ACTIONS = {
    "aftershellexecution": "shell", "beforeshellexecution": "shell", "postruncommand": "run_command",
    "preruncommand": "run_command", "postwritecode": "write_code", "prewritecode": "write_code",
    "postreadcode": "read_code", "prereadcode": "read_code",
}  # fmt: skip
"""The tool that an event is about, where it names none."""

EVENT = ("hook_event_name", "hookEventName", "agent_action_name", "event")
SESSION = ("session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id", "sessionID")
CWD = ("cwd", "workspaceRoot", "workspace", "worktree_path", "working_dir")
MODEL = ("model", "model_name")
SOURCE = ("source", "trigger")
PROMPT_ID = ("prompt_id", "promptId", "message_id", "turn_id", "turnId", "generation_id", "execution_id")
PROMPT = ("submitted_prompt", "prompt", "user_prompt", "userPrompt", "text", "message")
REPLY = ("last_assistant_message", "lastAssistantMessage", "prompt_response", "response", "text")
CALL_ID = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "callID")
TOOL = ("tool_name", "toolName", "mcp_tool_name", "tool")
ARGUMENTS = ("tool_input", "toolInput", "tool_args", "toolArgs", "mcp_tool_arguments")
RESPONSE = (
    "tool_response", "toolResponse", "tool_output", "toolOutput", "toolResult", "result_json", "mcp_result", "output",
    "result",
)  # fmt: skip
_TEXTS = ("llmContent", "textResultForLlm", "content", "output", "stdout", "result", "text", "returnDisplay", "error")
_PLAIN = frozenset((
    *EVENT, *SESSION, *CWD, *MODEL, *PROMPT_ID, *CALL_ID, *TOOL, *RESPONSE, "timestamp", "transcript_path",
    "permission_mode", "workspace_roots", "matcher_context", "profile", "extra", "duration", "duration_ms",
    "cursor_version", "user_email", "hook_name", "error",
))  # fmt: skip
"""Fields around an action; the others are its arguments, where it has no field for them."""


def payload_of(value: Json) -> dict[str, Any]:
    """Return a payload with the fields that some agents nest in `tool_info` or `extra` beside the others."""
    payload = mapping(value)
    for nested in ("tool_info", "extra"):
        inner = payload.get(nested)
        payload = {**payload, **inner} if isinstance(inner, dict) else payload
    return payload


def event_of(payload: dict[str, Any]) -> str:
    """Return the event's name as the agent writes it, "" where it has none."""
    return first_text(payload, EVENT)


def kind_of(payload: dict[str, Any]) -> EventKind | None:
    """Return what a payload tells, None for an event that is not known."""
    return _KIND_OF.get(_folded(event_of(payload)))


def first_text(payload: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the first text among fields; parts of text as one text."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and (joined := content_text(value)):
            return joined
    return ""


def cwd_of(payload: dict[str, Any]) -> str:
    """Return the folder that the agent works in."""
    roots = payload.get("workspace_roots")
    named = first_text(payload, CWD)
    return named or (text(roots[0]) if isinstance(roots, list) and roots else "")


def tool_of(payload: dict[str, Any]) -> str:
    """Return the tool's name, else what the event is about."""
    return first_text(payload, TOOL) or _ACTIONS.get(_folded(event_of(payload)), "")


def arguments_of(payload: dict[str, Any]) -> Json:
    """Return the arguments of an action, decoded where they are JSON in a text."""
    for name in ARGUMENTS:
        if name in payload:
            return _decoded(payload[name])
    return {name: value for name, value in payload.items() if name not in _PLAIN and name != "tool_info"}


def response_of(payload: dict[str, Any]) -> Json:
    """Return what a tool gave back, decoded where it is JSON in a text; None where the payload says nothing."""
    return next((_decoded(payload[name]) for name in RESPONSE if name in payload), None)


def response_text(response: Json) -> str:
    """Return the text of what a tool gave back."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return content_text(response)
    found = ""
    for name in _TEXTS:
        value = mapping(response).get(name)
        found = value if isinstance(value, str) else content_text(value) if isinstance(value, list) else ""
        if found:
            break
    errors = text(mapping(response).get("stderr"))
    return "\n".join(part for part in (found, errors) if part)


def _decoded(value: Json) -> Json:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    return decoded_json(value, value)


def _folded(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


_BEGINNINGS = frozenset(("", "startup", "new"))


class HookState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """compaction: the name of one that began and has not ended."""

    compaction: str = ""


Step = Reading[HookState]


class HookReader(KitAdapter[HookState]):
    def __init__(self, facts: AgentFacts, hooks: HookFacts) -> None:
        self.facts = facts
        self._hooks = hooks
        self._readers = {
            "start": self._start, "end": self._end, "prompt": self._prompt, "call": self._call, "result": self._result,
            "failure": self._result, "reply": self._reply, "subagent": self._subagent, "compaction": self._compaction,
            "compacted": self._compacted, "notice": self._notice,
        }  # fmt: skip

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the session that the records name."""
        return text(mapping(decoded_json(head.partition(b"\n")[0])).get("session")) or first_line_name(head)

    def read(self, step: Step) -> None:
        payload = payload_of(step.value.get("payload"))
        if not payload:
            read_odd(step)
            return
        drop = text(step.value.get("drop")) or content_sha256(step.value)
        at = whole(step.value.get("at_us"))
        step.infer(at)
        if payload.get("timestamp") not in (None, ""):
            step.date(payload["timestamp"])
        self._begin_session(step, payload)
        kind = kind_of(payload)
        if kind is None:
            step.unknown(event_of(payload) or "payload", payload, native_id=drop)
        else:
            self._readers[kind](step, payload, drop)
        self._place(step, payload)

    def _place(self, step: Step, payload: dict[str, Any]) -> None:
        """Put what a subagent did into its own session, where it has one."""
        agent = text(payload.get("agent_id"))
        if not agent or kind_of(payload) == "subagent":
            return
        if not self._hooks.subagent:
            step.events[:] = [msgspec.structs.replace(draft, is_sidechain=True) for draft in step.events]
            return
        session = self._hooks.subagent.format(session=step.state.session, agent=short_name(agent))
        step.events[:] = [
            draft if isinstance(draft.payload, kinds.SessionStart) else msgspec.structs.replace(draft, session=session)
            for draft in step.events
        ]

    @staticmethod
    def _begin_session(step: Step, payload: dict[str, Any]) -> None:
        if step.now("is_started"):
            return
        step.set(is_started=True)
        step.start(
            cwd=cwd_of(payload), model=first_text(payload, MODEL), parent_session=text(payload.get("parent_session_id"))
        )

    @staticmethod
    def _start(step: Step, payload: dict[str, Any], drop: str) -> None:
        source = first_text(payload, SOURCE)
        if source in _BEGINNINGS and step.index == 0:
            return  # that it began is said already
        detail = {"source": source} if source else None
        cwd, model = cwd_of(payload), first_text(payload, MODEL)
        begun = kinds.Lifecycle("hook", text=f"session start: {source}", detail=detail, cwd=cwd, model=model)
        step.add(begun, native_id=f"begin:{drop}")

    @staticmethod
    def _end(step: Step, payload: dict[str, Any], drop: str) -> None:
        step.add(kinds.SessionEnd(text(payload.get("reason"))), native_id=f"end:{drop}")

    def _prompt(self, step: Step, payload: dict[str, Any], drop: str) -> None:
        said = first_text(payload, PROMPT)
        named = first_text(payload, PROMPT_ID)
        name = f"prompt:{short_name(named)}:{content_sha256(said)}" if named else f"prompt:{drop}"
        is_persons = not self._hooks.has_other_prompts or bool(text(payload.get("submitted_prompt")))
        origin: kinds.Origin = "injected" if not is_persons else "command" if said.startswith("/") else "human"
        step.add(kinds.UserMessage(said, origin), native_id=name)

    def _call(self, step: Step, payload: dict[str, Any], drop: str) -> None:
        self._give_call(step, payload, is_after=False)

    def _result(self, step: Step, payload: dict[str, Any], drop: str) -> None:
        call_id, tool = self._give_call(step, payload, is_after=True)
        response = response_of(payload)
        error = payload.get("error") or mapping(response).get("error")
        code = whole(mapping(response).get("exit_code", mapping(response).get("exitCode", payload.get("exit_code"))))
        is_failed = bool(error) or bool(code) or mapping(response).get("resultType") in ("failure", "denied")
        said = response_text(without_opaque(response))
        if error and not said:
            said = error if isinstance(error, str) else flatten(error)
        ok = False if is_failed or kind_of(payload) == "failure" else True if response is not None else None
        took = whole(payload.get("duration_ms"))
        step.add(
            kinds.ToolResult(call_id, tool, ok, code, said, duration_ms=took), native_id=f"result:{short_name(call_id)}"
        )

    def _give_call(self, step: Step, payload: dict[str, Any], *, is_after: bool) -> tuple[str, str]:
        """Emit the call of a payload before or after it, under one name for both; return its id and tool."""
        tool = tool_of(payload)
        arguments = without_opaque(arguments_of(payload))
        given = first_text(payload, CALL_ID)
        if given and self._hooks.shares_call_ids:
            call_id = given
        else:
            # Without an id the n-th payload before and the n-th after the same action belong together. Payloads of
            # another day are in another file, which names them differently.
            content = given or content_sha256(tool, arguments)
            count = numbered(step, f"{'after' if is_after else 'before'}:{content}").partition("/")[2]
            call_id = f"{OWN_CALL_ID}{content_sha256(step.state.name)}:{short_name(content)}:{count or 1}"
        step.add(
            kinds.ToolCall(call_id, tool, canonical_tool(tool), arguments), native_id=f"call:{short_name(call_id)}"
        )
        return call_id, tool

    @staticmethod
    def _reply(step: Step, payload: dict[str, Any], drop: str) -> None:
        said = first_text(payload, REPLY)
        if said:
            reply = kinds.AssistantMessage(said, model=first_text(payload, MODEL))
            turn = first_text(payload, PROMPT_ID)
            name = f"reply:{short_name(turn)}:{content_sha256(said)}" if turn else f"reply:{drop}"
            step.add(reply, native_id=name)
        else:
            step.add(kinds.Lifecycle("turn_ended"), native_id=f"stop:{drop}")

    @staticmethod
    def _subagent(step: Step, payload: dict[str, Any], drop: str) -> None:
        fields = ("agent_id", "agent_type", "status")
        detail = {name: payload[name] for name in fields if isinstance(payload.get(name), str)}
        said = first_text(payload, ("last_assistant_message", "result_preview", "prompt_preview"))
        told = f"{event_of(payload)}: {said}" if said else event_of(payload)
        step.add(kinds.Lifecycle("subagent", text=told, detail=detail or None), native_id=f"subagent:{drop}")

    @staticmethod
    def _compaction(step: Step, payload: dict[str, Any], drop: str) -> None:
        name = f"compaction:{drop}"
        step.add(kinds.Compaction(trigger=text(payload.get("trigger"))), native_id=name)
        step.set(compaction=short_name(name))

    @staticmethod
    def _compacted(step: Step, payload: dict[str, Any], drop: str) -> None:
        """The end of a compaction is the same event as its beginning, now with the summary."""
        done = kinds.Compaction(
            trigger=text(payload.get("trigger")), summary=text(payload.get("compact_summary") or payload.get("summary"))
        )
        step.add(done, native_id=step.now("compaction") or f"compaction:{drop}")
        step.set(compaction="")

    @staticmethod
    def _notice(step: Step, payload: dict[str, Any], drop: str) -> None:
        told = first_text(payload, ("message", "title", "error", "reason", "text"))
        name = event_of(payload)
        step.add(kinds.Lifecycle("hook", text=f"{name}: {told}" if told else name), native_id=f"notice:{drop}")
