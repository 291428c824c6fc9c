"""The two lists of a trajectory: the steps, and the history of messages that the model saw.

Both hold the same actions and results; the history has the roles and the ids of calls, the trajectory how long a step
took, and the last step where the history ends before it. A step waits until the history repeats it, and is given from
there; what never comes is given at the end.
Evidence: recorded trajectories of 0.7 to 1.0; sweagent/types.py.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.kit.access import mapping, number, text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.content.openai import arguments_of
from recollect.agents.sweagent.state import (
    MAX_GIVEN,
    MAX_PENDING_CHARS,
    Acting,
    Step,
    SweAgentReading,
    named,
    step_name,
)
from recollect.agents.sweagent.tools import (
    MAX_ARGUMENT_CHARS,
    add_result,
    canonical_of,
    tool_of,
)
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Lifecycle,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten

_STEP = frozenset(
    (
        "action", "observation", "response", "state", "thought", "execution_time", "query", "extra_info", "messages",
    )
)  # fmt: skip
_ITEM = frozenset(
    (
        "role", "content", "agent", "message_type", "is_demo", "thought", "action", "tool_calls", "tool_call_ids",
        "tags", "cache_control", "thinking_blocks",
    )
)  # fmt: skip
_CALL = frozenset(("id", "type", "function", "index"))
_MESSAGE_TYPES = frozenset(("system_prompt", "demonstration", "observation", "action", "thought", "user"))
_LONGEST_S = 10_000_000.0
_MAX_ACTION_CHARS = 4000


def read_step(reading: SweAgentReading) -> None:
    """Take a step of the trajectory; give the oldest ones where too many wait."""
    value = reading.value
    state = _state(value.get("state"))
    seconds = number(value.get("execution_time"))
    thought, action = reading.text(value, "thought"), reading.text(value, "action")
    step = Step(
        step_name(reading, thought, action, of_history=False),
        thought or text(value.get("response")),
        action,
        flatten(value.get("observation")),
        round(seconds * 1000) if seconds is not None and 0 <= seconds < _LONGEST_S else None,
        text(state.get("working_dir")),
        text(state.get("open_file")).removeprefix("n/a"),
    )
    waiting = (*reading.state.steps, step)
    size = sum(one.size for one in waiting)
    while waiting and size > MAX_PENDING_CHARS:
        size -= waiting[0].size
        _give_step(reading, waiting[0])
        waiting = waiting[1:]
    if not _is_storable(step):
        _give_step(reading, step)
        waiting = waiting[:-1]
    reading.set(steps=waiting)
    extra = value.get("extra_info")
    if extra:
        reading.kept("extra_info", without_opaque(extra), native_id=f"{step.name}/extra")
    reading.extra(value, _STEP, "step", native_id=step.name)


def _state(written: Any) -> dict[str, Any]:
    """Return where the shell stood after a step; old versions wrote it as text."""
    if isinstance(written, str):
        try:
            return mapping(msgspec.json.decode(written))
        except (ValueError, RecursionError):
            return {}
    return mapping(written)


def give_waiting(reading: SweAgentReading) -> None:
    """Give the steps that the history did not repeat, and of the last one it may lack only the result."""
    acting = reading.now("acting")
    for step in reading.now("steps"):
        if step.name == acting.name:
            add_result(reading, acting, step.observation)
        else:
            _give_step(reading, step)
    reading.set(steps=(), acting=Acting())


def _is_storable(step: Step) -> bool:
    try:
        msgspec.msgpack.encode(step)
    except UnicodeEncodeError:
        return False
    return True


def _give_step(reading: SweAgentReading, step: Step) -> None:
    if step.thought:
        reading.add(AssistantMessage(step.thought), "assistant", native_id=step.name)
    tool, canonical = tool_of(step.action)
    if step.action:
        call = ToolCall(step.name, tool, canonical, {"command": step.action})
        reading.add(call, "assistant", native_id=f"{step.name}/call")
        acting = Acting(step.name, step.name, tool, "", step.duration_ms, step.path)
        add_result(reading, acting, step.observation)
    elif step.observation:
        reading.add(Lifecycle("observation", text=step.observation), native_id=f"{step.name}/result")
    reading.set(given=(*reading.now("given"), step.name)[-MAX_GIVEN:])


def read_item(reading: SweAgentReading) -> None:
    """Give the events of one message of the history."""
    value = reading.value
    role = text(value.get("role"))
    said = _words(value.get("content"))
    reading.odd_value("history.message_type", value.get("message_type"), _MESSAGE_TYPES)
    if value.get("is_demo") is True or value.get("message_type") == "demonstration":
        reading.add(Instructions(said, "demonstration"), native_id=named(reading, "demo", said))
    elif role == "system":
        reading.add(Instructions(said, "system"), native_id=named(reading, "system", said))
    elif role == "assistant":
        _assistant(reading, said)
    elif role in ("user", "tool"):
        _answer(reading, role, said)
    else:
        reading.unknown(f"history/{role}", without_opaque(value))
    reading.extra(value, _ITEM, "history", native_id=named(reading, "item", said) if value.keys() - _ITEM else None)


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        blocks = [block.get("text") if isinstance(block, dict) else block for block in content]
        return "\n".join(flatten(text(b) or without_opaque(c)) for b, c in zip(blocks, content, strict=True))
    return flatten(content)


def _answer(reading: SweAgentReading, role: str, said: str) -> None:
    """Give what came back: the result of the last action; before any action, the task; else a word of the harness.

    Without function calls, results stand in the user's role.
    """
    value, acting = reading.value, reading.state.acting
    ids = [text(one) for one in reading.items(value, "tool_call_ids")]
    if acting.name:
        waiting = tuple(one for one in reading.state.steps if one.name != acting.name)
        reading.set(acting=Acting(), steps=waiting)
        if not acting.is_given:
            add_result(reading, acting, said)
    elif role == "tool":
        call_id = ids[0] if ids else ""
        reading.add(ToolResult(call_id, text=said), "tool", native_id=named(reading, "result", f"{call_id}\n{said}"))
    elif not reading.state.has_task:
        reading.set(has_task=True)
        reading.add(UserMessage(said), "user", native_id=named(reading, "user", said))
    else:
        reading.add(UserMessage(said, "injected"), "user", native_id=named(reading, "user", said))


def _assistant(reading: SweAgentReading, said: str) -> None:
    value = reading.value
    thought, action = text(value.get("thought")), text(value.get("action"))
    name = step_name(reading, thought, action, of_history=True)
    steps = reading.state.steps
    step = next((one for one in steps if one.name == name), None)
    # The action before has no result in the history: it waits no longer.
    waiting = tuple(one for one in steps if one.name != reading.state.acting.name)
    reading.set(steps=waiting)
    if step is not None and step.cwd and step.cwd != reading.state.cwd:
        reading.set(cwd=step.cwd)
        reading.add(Lifecycle("cwd", cwd=step.cwd), native_id=f"{name}/cwd")
    is_given = name in reading.state.given
    if step is not None and step.thought.strip() not in f"{said}\n{thought}":
        reading.kept("thought", step.thought, native_id=f"{name}/other")
    if not is_given:
        _think(reading, name)
        # The answer as written holds the action too, in a block of its own.
        spoken = thought if thought.strip() and thought.strip() in said else said or thought
        if spoken.strip() and not _is_action(spoken, action):
            reading.add(AssistantMessage(spoken), "assistant", native_id=name)
    _calls(reading, name, action, step, is_given=is_given)


def _is_action(said: str, action: str) -> bool:
    """Say whether an answer is nothing but its action, in a block of code."""
    return bool(action.strip()) and not said.replace(action.strip(), "", 1).strip("` \t\r\n")


def _think(reading: SweAgentReading, name: str) -> None:
    for i, block in enumerate(reading.items(reading.value, "thinking_blocks")):
        thought = text(mapping(block).get("thinking"))
        payload = Thinking(thought, is_encrypted=not thought)
        reading.add(payload, "assistant", native_id=f"{name}/thinking:{i}")


def _calls(reading: SweAgentReading, name: str, action: str, step: Step | None, *, is_given: bool) -> None:
    """Give the calls of an answer: functions, else the line of shell that it asked for."""
    acting = Acting()
    calls = [mapping(call) for call in reading.items(reading.value, "tool_calls")]
    for i, call in enumerate(calls):
        function = mapping(call.get("function"))
        tool, arguments = text(function.get("name")), arguments_of(reading, function.get("arguments"))
        call_id = text(call.get("id"))
        if not is_given:
            payload = ToolCall(call_id, tool, canonical_of(tool, arguments), arguments)
            reading.add(payload, "assistant", native_id=f"{name}/call" + (f":{i}" if i else ""))
        written = function.get("arguments")
        acting = _acting(name, call_id, tool, text(written), step)
        reading.extra(call, _CALL, "tool_call", native_id=name)
    if not action.strip() and not calls and step is not None:
        reading.set(steps=tuple(one for one in reading.now("steps") if one is not step))
    if not calls and action.strip():
        tool, canonical = tool_of(action)
        if not is_given:
            payload = ToolCall(name, tool, canonical, {"command": action})
            reading.add(payload, "assistant", native_id=f"{name}/call")
        acting = _acting(name, name, tool, "", step)
    if is_given and acting.name:
        acting = msgspec.structs.replace(acting, is_given=True)
    reading.set(acting=acting)


def _acting(name: str, call_id: str, tool: str, arguments: str, step: Step | None) -> Acting:
    found = Acting(
        name,
        call_id[:_MAX_ACTION_CHARS],
        tool[:_MAX_ACTION_CHARS],
        arguments if len(arguments) <= MAX_ARGUMENT_CHARS else "",
        step.duration_ms if step else None,
        step.path if step else "",
    )
    try:
        msgspec.msgpack.encode(found)
    except UnicodeEncodeError:
        return Acting(name)
    return found
