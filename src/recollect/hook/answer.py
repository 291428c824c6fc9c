"""Reads an event's payload in every agent's spelling. Used to ask for context, never to store.

What is stored is read by `recollect.agents.kit.hooks`, from the payload as it came.
"""

from __future__ import annotations

import json
import os
import time

from recollect import wire
from recollect.hook.answer_formats import MAX_CHARS, answer_with, empty_answer, is_valid, takes_context

_SESSION = ("session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id", "thread-id", "sessionID")
_CWD = ("cwd", "workspaceRoot", "workspace", "workspace_root", "directory")
_EVENT = ("hook_event_name", "hookEventName", "event", "agent_action_name", "hookName")
_SOURCE = ("source", "trigger")
_PROMPT = ("submitted_prompt", "prompt", "user_prompt", "userPrompt", "text")
_TOOL = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "callID")


class Request:
    """What a payload says. session: the agent's own id. event: as the agent names it. source: how a session starts
    (startup, resume, clear, compact). All are "" where the payload does not say."""

    __slots__ = ("cwd", "event", "prompt", "session", "source", "tool")

    def __init__(self, values: dict[str, object]) -> None:
        self.session = _first(values, _SESSION)
        self.cwd = _first(values, _CWD) or _first_of_list(values.get("workspace_roots"))
        self.event = _first(values, _EVENT)
        self.source = _first(values, _SOURCE)
        self.prompt = _first(values, _PROMPT)
        self.tool = _first(values, _TOOL)


def request(payload: bytes) -> Request:
    """Return the content of a payload; nothing if it is no JSON object. Never raises on content."""
    try:
        values = json.loads(payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        values = {}
    return Request(values if isinstance(values, dict) else {})


def _first(values: dict[str, object], names: tuple[str, ...]) -> str:
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list):  # Kimi and others give a prompt as a list of parts
            text = "\n".join(t for part in value if isinstance(part, dict) and isinstance(t := part.get("text"), str))
            if text:
                return text
    return ""


def _first_of_list(value: object) -> str:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], str) else ""


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_TAKING_IN = {"flush": wire.KIND_FLUSH, "end": wire.KIND_ENDED}
"""Events after which what was said is ingested, and what they are to the daemon."""
_RESERVE_S = 0.1
"""What is left of the time for giving the answer after a child was stopped."""
_CONNECT_S = 0.05
"""A daemon that lives takes a connection at once."""
_ANSWER_S = 0.5
"""The budget of an answer is 0.15 s; a daemon that takes longer is busy, and the event continues without."""
_MAX_ANSWER_BYTES = 256 * 1024


class HookCall:
    """One event that has an answer. home: the memory's home. program: the command that starts Recollect.

    is_alone: this process is the hook's alone, so that a child may be set up before it starts.
    """

    __slots__ = ("agent", "event", "home", "is_alone", "payload", "program")

    def __init__(
        self, agent: str, event: str, payload: bytes, *, home: str, program: Sequence[str], is_alone: bool = True
    ) -> None:
        self.agent = agent
        self.event = event
        self.payload = payload
        self.home = home
        self.program = tuple(program)
        self.is_alone = is_alone


def answer(call: HookCall, *, seconds: float) -> bytes:
    """Return the answer to an event within so many seconds."""
    began = time.monotonic()
    said = request(call.payload)
    # A session that begins again after a compaction is told by its source; one hook for both is enough.
    event = "compact" if call.event == "start" and said.source == "compact" else call.event
    is_asking = takes_context(call.agent, event)
    if is_asking and event == "start":
        ready = _take_ready(call, said, began)
        if ready is not None:
            return answer_with(call.agent, event, ready)
    if is_asking or event in _TAKING_IN:
        text = _ask_daemon(call, event, said)
        if text is not None:
            return answer_with(call.agent, event, text)
    if event in _TAKING_IN:
        _start_sync(call)
    if not is_asking:
        return empty_answer(call.agent, event)
    rest = seconds - (time.monotonic() - began) - _RESERVE_S
    made = _run_context(call, event, rest)
    return made if is_valid(call.agent, event, made) else empty_answer(call.agent, event)


def _take_ready(call: HookCall, said: Request, began: float) -> str | None:
    """Return the prepared text for this session's start, and log it; None without one."""
    from recollect.hook.prepared_block import log_firing, ready_block

    given = ready_block(
        call.home, _environment(call.home), agent=call.agent, session=said.session, cwd=said.cwd, max_chars=MAX_CHARS
    )
    if given is None:
        return None
    log_firing(call.home, call.agent, given, took_us=round((time.monotonic() - began) * 1e6))
    return given.text


def _ask_daemon(call: HookCall, event: str, said: Request) -> str | None:
    if not os.path.exists(wire.socket_path(call.home)):
        return None
    question = {
        "kind": _TAKING_IN.get(event, wire.KIND_CONTEXT), "agent": call.agent, "event": event, "session": said.session,
        "cwd": said.cwd, "source": said.source, "prompt": said.prompt,
    }  # fmt: skip
    return wire.ask(call.home, question, connect_s=_CONNECT_S, answer_s=_ANSWER_S, max_bytes=_MAX_ANSWER_BYTES)


def _run_context(call: HookCall, event: str, seconds: float) -> bytes:
    """Run `recollect context` and return what it printed; nothing when it fails."""
    from recollect.hook.run_program import output_of

    command = [*call.program, "context", "--hook", call.agent, "--event", event]
    return output_of(command, call.payload, _environment(call.home), seconds=seconds, is_alone=call.is_alone)


def _start_sync(call: HookCall) -> None:
    """Start `recollect sync` apart from this process. One that finds another at work ends by itself."""
    from recollect.hook.run_program import start_apart
    from recollect.paths import BACKGROUND_VARIABLE

    if os.environ.get(BACKGROUND_VARIABLE) != "0":
        start_apart([*call.program, "sync", "--json"], _environment(call.home), is_alone=call.is_alone)


def _environment(home: str) -> dict[str, str]:
    """Return the child's environment: it must open the memory whose spool this hook fills."""
    from recollect.paths import HOME_VARIABLE, home_text

    values = dict(os.environ)
    if os.path.abspath(home_text()) != os.path.abspath(home):
        values[HOME_VARIABLE] = home
    return values
