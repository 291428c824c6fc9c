"""OpenHands: parses a record into events. `events` parses files of one event."""

import json
import re
from typing import Any

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.calls import canonical_editor
from recollect.agents.kit.content import arguments_of, without_opaque
from recollect.agents.kit.names import content_sha256, numbered
from recollect.agents.kit.values import instant, items, mapping, number, text, word_set
from recollect.agents.openhands.events import (
    OpenHandsReading,
    OpenHandsState,
    content_of,
    read_event,
    result_of,
    thoughts_of,
)
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten

# Logs of single requests: the whole context as it was sent, and the response.
#
# Every log repeats the one before and adds to it. All logs of a conversation are one session, named by its beginning,
# and a message has the same name in each, so that a repetition is no new event. Evidence: format notes: OpenHands;
# recorded logs of 1.0.0.

_MESSAGES = re.compile(r'\s*\{\s*"messages"\s*:\s*\[\s*')
_KNOWN = known_fields("openhands")
_FIRST = 2
_EXIT_CODE = re.compile(r"ommand (?:completed|finished) with exit code (-?\d{1,9})")
_TAIL_CHARS = 500
_decode = json.JSONDecoder(strict=False).raw_decode


def session_of(head: bytes) -> str:
    """Return the name of the conversation that a log belongs to, by its first two messages; "" if they are cut."""
    said = head.decode("utf-8", "replace")
    begin = _MESSAGES.match(said)
    if begin is None:
        return ""
    found: list[Any] = []
    at = begin.end()
    try:
        while len(found) < _FIRST and said[at : at + 1] == "{":
            message, at = _decode(said, at)
            found.append(message)
            at += len(said[at:]) - len(said[at:].lstrip(" \t\r\n,"))
    except (ValueError, RecursionError):
        return ""
    return f"llm-{content_sha256(found)}" if found else ""


def read_log(reading: OpenHandsReading) -> None:
    if reading.at == "messages":
        _message(reading, reading.value)
    elif not reading.state.is_started or "response" in reading.value:
        reading.set(is_started=True)
        _response(reading)


def _message(reading: OpenHandsReading, message: dict[str, Any]) -> None:
    role = text(message.get("role"))
    said, parts = content_of(reading, message.get("content"))
    if role == "tool":
        call_id = text(message.get("tool_call_id"))
        code = _EXIT_CODE.search(said[-_TAIL_CHARS:])
        ok = code[1] == "0" if code else None
        result = kinds.ToolResult(
            call_id, text(message.get("name")), ok, int(code[1]) if code else None, said, parts=parts
        )
        reading.add(result, native_id=numbered(reading, f"result:{call_id}"))
    elif role == "assistant":
        thought, is_sealed = thoughts_of(message)
        if thought or is_sealed:
            name = numbered(reading, f"thought:{content_sha256(thought)}")
            reading.add(kinds.Thinking(thought, is_encrypted=is_sealed), native_id=name)
        if said or parts:
            reply = kinds.AssistantMessage(said, parts=parts)
            reading.add(reply, native_id=numbered(reading, f"said:{content_sha256(said)}"))
        for call in reading.items(message, "tool_calls"):
            _call(reading, mapping(call))
    elif role == "user":
        reading.add(
            kinds.UserMessage(said, "human", parts), native_id=numbered(reading, f"user:{content_sha256(said)}")
        )
    elif role in ("system", "developer"):
        reading.add(kinds.Instructions(said, role), native_id=f"system:{content_sha256(said)}")
    else:
        reading.unknown(f"message/{role}", without_opaque(message or reading.record.value))
    reading.extra(message, _KNOWN["message"], "llm_log.message")


def _call(reading: OpenHandsReading, call: dict[str, Any]) -> None:
    function = mapping(call.get("function"))
    call_id, name = text(call.get("id")), text(function.get("name"))
    arguments = arguments_of(reading, function.get("arguments"))
    payload = kinds.ToolCall(call_id, name, canonical_editor(name, arguments), arguments)
    reading.add(payload, native_id=numbered(reading, f"call:{call_id}"))


def _response(reading: OpenHandsReading) -> None:
    value = reading.value
    reading.date(value.get("timestamp"))
    response = reading.mapping(value, "response")
    reading.extra(value, _KNOWN["response"], "llm_log", native_id=f"request:{content_sha256(response)}")
    if not response:
        return
    reading.start(model=text(response.get("model")))
    for choice in reading.items(response, "choices"):
        _message(reading, mapping(mapping(choice).get("message")))
    usage = mapping(response.get("usage"))
    details = mapping(usage.get("prompt_tokens_details"))
    written = reading.count(usage, "cache_creation_input_tokens")
    read = reading.count(usage, "cache_read_input_tokens") or reading.count(details, "cached_tokens")
    prompt, completion = reading.count(usage, "prompt_tokens"), reading.count(usage, "completion_tokens")
    key = text(response.get("id")) or f"{reading.state.session}:{value.get('timestamp')}"
    if any((prompt, completion)):
        spent = kinds.TokenUsage(
            text(response.get("model")),
            max(0, prompt - read - written),
            completion,
            read,
            written,
            reasoning_tokens=reading.count(mapping(usage.get("completion_tokens_details")), "reasoning_tokens"),
            cost_usd=number(value.get("cost")),
            dedupe_key=key,
        )
        reading.add(spent, "assistant", native_id=f"usage:{key}")
    tags = mapping(mapping(mapping(value.get("kwargs")).get("extra_body")).get("metadata")).get("tags")
    detail = {"latency_sec": value.get("latency_sec"), "tags": tags, "response": text(response.get("id"))}
    reading.note("llm_request", detail={k: v for k, v in detail.items() if v}, native_id=f"request:{key}")


# The events of the first generation: an action or an observation per file, numbered.
#
# Evidence: format notes: OpenHands, "V0" (general knowledge there, unverified).

_CALLS = word_set("""
    run run_ipython read write edit browse browse_interactive delegate think call_tool_mcp task_tracking finish reject
""")
_RESULTS = word_set("""
    run run_ipython read write edit browse delegate think mcp error user_rejected task_tracking file_edit
""")
_QUIET = word_set("""
    null agent_state_changed change_agent_state recall agent_think success condense condensation_request
    loop_detection_recovery
""")
_TOTALS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")


def read_old_event(reading: OpenHandsReading) -> None:
    """Emit the events of one action or observation."""
    value = reading.value
    number_ = value.get("id")
    reading.native_id = f"e{number_}" if isinstance(number_, int | str) and number_ != "" else None
    reading.parent_id = f"e{value['cause']}" if isinstance(value.get("cause"), int) else None
    reading.date(value.get("timestamp"))
    action, observation = text(value.get("action")), text(value.get("observation"))
    if action:
        _action(reading, action)
    elif observation:
        _observation(reading, observation)
    else:
        reading.unknown("event", without_opaque(value))
    _usage(reading)
    reading.extra(value, _KNOWN["parse_event"], "old_event")


def _action(reading: OpenHandsReading, action: str) -> None:
    value = reading.value
    arguments = reading.mapping(value, "args")
    said, parts = content_of(reading, arguments.get("content"))
    is_human = value.get("source") == "user"
    if action == "message" and is_human:
        urls, images = (
            content_of(reading, {"image_urls": arguments["image_urls"]}) if arguments.get("image_urls") else ("", ())
        )
        reading.add(kinds.UserMessage(said or urls, "human", (*parts, *images)))
    elif action == "message":
        reading.add(kinds.AssistantMessage(said, parts=parts))
    elif action == "system":
        reading.add(kinds.Instructions(said, "system"))
    elif action == "condensation":
        reading.add(kinds.Compaction(summary=text(arguments.get("summary"))))
    elif action in _CALLS:
        _read_old_call(reading, action, arguments, is_human=is_human)
    elif action in _QUIET:
        reading.add(kinds.Lifecycle(action, text=flatten(without_opaque(arguments))))
    else:
        reading.unknown(f"action/{action}", without_opaque(arguments))


def _read_old_call(reading: OpenHandsReading, action: str, arguments: dict[str, Any], *, is_human: bool) -> None:
    thought = text(arguments.get("thought"))
    call_id, name = _call_of(reading, action, reading.value.get("id"))
    if action == "think":
        reading.add(kinds.Thinking(thought), native_id=reading.below("thinking"))
    elif thought:
        reading.add(kinds.AssistantMessage(thought))
    rest = {k: v for k, v in arguments.items() if k != "thought" and v not in (None, "", [], {})}
    if is_human and action == "run":
        reading.add(kinds.UserMessage(f"!{text(arguments.get('command'))}", "command"))
    call = kinds.ToolCall(
        call_id, name, "shell" if action == "run" else canonical_editor(name, arguments), without_opaque(rest)
    )
    reading.add(call, native_id=reading.below("call"))
    if action in ("finish", "reject"):
        answer = text(arguments.get("final_thought")) or text(mapping(arguments.get("outputs")).get("content"))
        reading.say(kinds.AssistantMessage(answer, stop_reason=action), native_id=reading.below("answer"))
        reading.add(kinds.SessionEnd("finished" if action == "finish" else action), native_id="end")


def _call_of(reading: OpenHandsReading, name: str, own: Any) -> tuple[str, str]:
    """Return the id and the tool of a call: the model's, else the number of the action that caused it."""
    told = mapping(reading.value.get("tool_call_metadata"))
    return text(told.get("tool_call_id")) or f"e{own}", text(told.get("function_name")) or name


def _observation(reading: OpenHandsReading, observation: str) -> None:
    value = reading.value
    extras = reading.mapping(value, "extras")
    call_id, name = _call_of(reading, observation, value.get("cause"))
    if observation == "agent_state_changed":
        state = text(extras.get("agent_state"))
        reading.add(
            kinds.Lifecycle("status", text=state, detail={"reason": extras["reason"]} if extras.get("reason") else None)
        )
        if state == "finished":
            reading.add(kinds.SessionEnd("finished"), native_id="end")
    elif observation in _RESULTS:
        told = {**extras, "content": value.get("content")}
        if observation in ("error", "user_rejected") or value.get("success") is False:
            told["is_error"] = True
        result, edit = result_of(reading, told, call_id=call_id, name=name)
        reading.add(result)
        if edit is not None:
            reading.add(edit, native_id=reading.below("edit"))
    elif observation == "recall":
        origin: kinds.Origin = "injected"
        reading.add(kinds.UserMessage(flatten(without_opaque(extras)), origin))
    elif observation in _QUIET:
        reading.add(kinds.Lifecycle(observation, text=flatten(without_opaque(value.get("content")))))
    else:
        reading.unknown(f"observation/{observation}", without_opaque({**extras, "content": value.get("content")}))


def _usage(reading: OpenHandsReading) -> None:
    """Emit what was spent since the last event that says so: its counts are running totals."""
    metrics = reading.mapping(reading.value, "llm_metrics")
    total = mapping(metrics.get("accumulated_token_usage"))
    if not total:
        return
    counts = tuple(reading.count(total, name) for name in _TOTALS)
    before = reading.state.spent or (0, 0, 0, 0)
    cost = number(metrics.get("accumulated_cost")) or 0.0
    # Totals that shrank began again: after a restart of the server.
    is_restarted = any(now < then for now, then in zip(counts, before, strict=True))
    base = (0, 0, 0, 0) if is_restarted else before
    prompt, completion, read, written = (now - then for now, then in zip(counts, base, strict=True))
    reading.set(spent=counts, cost=cost)
    spent = (max(0, prompt - read - written), completion, read, written)
    cost_usd = round(max(0.0, cost - (0.0 if is_restarted else reading.state.cost)), 9)
    key, name = f"{reading.state.session}:{reading.native_id}", reading.below("usage")
    reading.spend(text(total.get("model")), spent, key, "assistant", native_id=name, cost_usd=cost_usd)


# The rewritten state of a conversation: where it works, how it stands, what every response cost.
#
# Evidence: format notes: OpenHands, "base_state.json"; a recorded state of 1.11.5; openhands/sdk/llm/utils/metrics.py.

_STATUSES = word_set("idle running paused waiting_for_confirmation finished error stuck deleting")
_COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def read_state(reading: OpenHandsReading) -> None:
    """Emit what the state says. Of the agent's settings only names are taken: they hold keys."""
    value = reading.value
    agent = reading.mapping(value, "agent")
    workspace = reading.mapping(value, "workspace")
    model = text(mapping(agent.get("llm")).get("model"))
    cwd = text(workspace.get("working_dir"))
    reading.start(cwd=cwd, model=model, originator=text(workspace.get("kind")))
    status = reading.text(value, "execution_status")
    reading.odd_value("base_state.execution_status", status, _STATUSES)
    reading.note("status", status, native_id="status")
    settings = {
        "agent": text(agent.get("kind")),
        "tools": [text(mapping(tool).get("name")) for tool in items(agent.get("tools"))],
        "condenser": text(mapping(agent.get("condenser")).get("kind")),
        "confirmation": text(mapping(value.get("confirmation_policy")).get("kind")),
        "skills": value.get("activated_knowledge_skills"),
        "blocked": value.get("blocked_actions"),
    }
    reading.note("configuration", detail={k: v for k, v in settings.items() if v}, native_id="configuration")
    for name, metrics in mapping(mapping(value.get("stats")).get("usage_to_metrics")).items():
        _metrics(reading, name, mapping(metrics))
    reading.entitle(text(value.get("title")))
    if status == "finished":
        reading.add(kinds.SessionEnd("finished"), native_id="end")
    reading.extra(value, _KNOWN["state"], "base_state", native_id="state")


def _metrics(reading: OpenHandsReading, name: str, metrics: dict[str, Any]) -> None:
    """Emit the usage of each response of one purpose ("agent", "condenser"); where only totals are kept, those.

    Costs stand in a list beside the usages; they are taken where both are equally long.
    """
    usages, costs = items(metrics.get("token_usages")), items(metrics.get("costs"))
    model = text(metrics.get("model_name"))
    for i, usage in enumerate(usages):
        if not isinstance(usage, dict):
            reading.wrong("token_usages")
            continue
        cost = mapping(costs[i]) if len(costs) == len(usages) else {}
        at = instant(cost.get("timestamp"))
        if at is not None:
            reading.date(cost.get("timestamp"), "costs.timestamp")
        key = text(usage.get("response_id")) or f"{reading.state.session}:{name}:{i}"
        _spend(reading, usage, text(usage.get("model")) or model, key, cost=number(cost.get("cost")))
    total = mapping(metrics.get("accumulated_token_usage"))
    if total and not usages:
        # Running totals: every later one has the same name and takes the place of the one before.
        cost_so_far = number(metrics.get("accumulated_cost"))
        _spend(reading, total, model, f"{reading.state.session}:{name}", cost=cost_so_far)


def _spend(reading: OpenHandsReading, usage: dict[str, Any], model: str, key: str, *, cost: float | None) -> None:
    prompt, completion, read, written, thought = reading.counts(usage, _COUNTS)
    spent = (max(0, prompt - read - written), completion, read, written)
    more = {"reasoning_tokens": min(thought, completion), "cost_usd": cost}
    reading.spend(model, spent, key, "assistant", native_id=f"usage:{key}", **more)


def read_metadata(reading: OpenHandsReading) -> None:
    """Emit what the old generation's `metadata.json` says: title, model, repository."""
    value = reading.value
    reading.date(value.get("created_at"), "created_at")
    reading.start(
        **reading.told(
            value,
            git_remote="selected_repository",
            git_branch="selected_branch",
            model="llm_model",
            originator="trigger",
        )
    )
    reading.entitle(reading.text(value, "title"))
    reading.extra(value, _KNOWN["metadata"], "metadata", native_id="metadata")


_STATE_MARKS = (b'"usage_to_metrics"', b'"execution_status"', b'"workspace"')
_READERS = {
    "conversation": read_event,
    "old_conversation": read_old_event,
    "state": read_state,
    "old_state": read_metadata,
    "llm_log": read_log,
}


class OpenHandsAdapter(KitAdapter[OpenHandsState], slug="openhands"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: the state of a conversation, or the log of a request of the agent."""
        start = head.lstrip()
        if start.startswith(b"{") and all(mark in head for mark in _STATE_MARKS):
            return "state"
        if b"You are OpenHands" in head and session_of(head):
            return "llm_log"
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the conversation's folder."""
        if info.document:
            return info.document
        if info.role == "llm_log":
            return session_of(head) or info.stem or first_line_name(head)
        return info.folder or info.stem or first_line_name(head)

    def read(self, reading: OpenHandsReading) -> None:
        role = reading.state.role
        if role == "tasks":
            # Emit the list of tasks that the agent keeps.
            value = reading.record.value
            reading.add(kinds.Lifecycle("todo", text=flatten(value)), native_id=f"tasks:{reading.index}")
        elif not isinstance(reading.record.value, dict):
            read_odd(reading)
        else:
            _READERS.get(role, read_event)(reading)
