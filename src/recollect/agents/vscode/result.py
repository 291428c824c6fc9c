"""What is known of a request when its answer is complete: tokens, errors, the prompt as it was sent, summaries."""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.copilot.state import storable
from recollect.agents.kit.reading import Reading
from recollect.agents.vscode.answer import read_answer
from recollect.agents.vscode.asked import Asked, model_of
from recollect.agents.vscode.calls import calls_of, give_told
from recollect.agents.vscode.state import VSCodeState
from recollect.agents.vscode.values import path_of_uri, rendered
from recollect.model.payloads import (
    Compaction,
    Instructions,
    Lifecycle,
    Rewind,
    Thinking,
    TokenUsage,
    UserMessage,
)

_RESULT = frozenset(("timings", "metadata", "details", "usage", "errorDetails", "nextQuestion"))
_METADATA = frozenset((
    "promptTokens", "outputTokens", "resolvedModel", "toolCallRounds", "toolCallResults", "renderedUserMessage",
    "renderedGlobalContext", "codeBlocks", "messages", "modelMessageId", "responseId", "sessionId", "agentId",
    "cacheKey", "globalContextCacheKey", "summary", "summaries", "command", "maxToolCallsExceeded",
))  # fmt: skip
_ROUND = frozenset((
    "id", "response", "toolCalls", "toolInputRetry", "summary", "thinking", "statefulMarker", "compaction",
    "timestamp", "hookContext", "phase", "phaseModelId", "modelId",
))  # fmt: skip
_CANCELED, _FAILED = 2, 3
"""`modelState.value` of a request that the user stopped, and of one that failed."""
_CALL = frozenset(("id", "name", "arguments"))


def read_full(reading: Reading[VSCodeState], asked: Asked, value: dict[str, Any]) -> None:
    """Give the answer and the result of a request that is at hand as a whole."""
    result = reading.mapping(value, "result")
    metadata = reading.mapping(result, "metadata")
    read_answer(reading, asked, items(value.get("response")), metadata)
    _read_rest(reading, asked, result, metadata)


def read_result(reading: Reading[VSCodeState], asked: Asked, result: dict[str, Any]) -> None:
    """Give a result that a log tells of after the pieces of the answer: the calls once more, now in full."""
    metadata = reading.mapping(result, "metadata")
    asked.model = model_of({"result": result}) if not asked.model else asked.model
    for call in calls_of(asked, metadata):
        asked.at_answer(reading)
        give_told(reading, call)
    _read_rest(reading, asked, result, metadata)


def _read_rest(reading: Reading[VSCodeState], asked: Asked, result: dict[str, Any], metadata: dict[str, Any]) -> None:
    if not result:
        return
    request = asked.request
    asked.at_answer(reading)
    _read_prompt(reading, asked, metadata)
    for n, found in enumerate(items(metadata.get("toolCallRounds"))):
        _read_round(reading, asked, n, mapping(found))
    for n, found in enumerate(_summaries(metadata)):
        name = f"{request}/compaction" if n == 0 else f"{request}/compaction/{n}"
        said = found if isinstance(found, str) else text(mapping(found).get("text"))
        at = text(mapping(found).get("toolCallRoundId"))
        reading.add(Compaction("summary", said, continues_at=at), native_id=name)
    asked.at_answer(reading, whole(mapping(result.get("timings")).get("totalElapsed")))
    _read_usage(reading, asked, result, metadata)
    _read_error(reading, asked, result)
    other = text(metadata.get("sessionId"))
    if other and storable(other) != reading.now("alias") and other != reading.state.session:
        reading.set(alias=storable(other))
        reading.add(Lifecycle("same_as", detail={"session": other}), native_id=f"same-as/{other}")
    reading.extra(result, _RESULT, "result", native_id=request)
    reading.extra(metadata, _METADATA, "result.metadata", native_id=request)


def _summaries(metadata: dict[str, Any]) -> list[Any]:
    one = metadata.get("summary")
    return [v for v in ([one] if one else []) + items(metadata.get("summaries")) if isinstance(v, str | dict) and v]


def _read_prompt(reading: Reading[VSCodeState], asked: Asked, metadata: dict[str, Any]) -> None:
    """Give the prompt as the model got it, and what is sent once per session."""
    sent, parts, is_readable = rendered(metadata.get("renderedUserMessage"))
    if not is_readable:
        reading.wrong("renderedUserMessage", "bad_base64")
    if sent or parts:
        reading.add(UserMessage(sent, "injected", parts), "user", native_id=f"{asked.request}/context")
    context = rendered(metadata.get("renderedGlobalContext"))[0]
    if context:
        payload = Instructions(context, "renderedGlobalContext")
        reading.add(payload, native_id=f"{asked.request}/global")
    folder = path_of_uri(text(metadata.get("cacheKey")))
    if folder.startswith("/") and not reading.now("cwd"):
        reading.add(Lifecycle("cwd", cwd=folder), native_id=f"{asked.request}/cwd/key")


def _read_round(reading: Reading[VSCodeState], asked: Asked, n: int, one: dict[str, Any]) -> None:
    """Give what a round says beyond its calls; its `response` is the answer's text again."""
    name = f"{asked.request}/round/{n}"
    thought = mapping(one.get("thinking")).get("text")
    if isinstance(thought, list):
        thought = "".join(t for t in thought if isinstance(t, str))
    if isinstance(thought, str) and thought and not asked.has_thinking:
        reading.add(Thinking(thought), "assistant", native_id=f"{name}/thinking")
    summary = text(one.get("summary"))
    if summary:
        payload = Compaction("summary", summary, continues_at=text(one.get("id")))
        reading.add(payload, native_id=f"{name}/compaction")
    elif one.get("compaction"):
        reading.add(Compaction("server"), native_id=f"{name}/compaction")
    hook = text(one.get("hookContext"))
    if hook:
        reading.add(UserMessage(hook, "injected"), "user", native_id=f"{name}/hook")
    reading.extra(one, _ROUND, "toolCallRound", native_id=name)
    for m, call in enumerate(items(one.get("toolCalls"))):
        reading.extra(mapping(call), _CALL, "toolCall", native_id=f"{name}/call/{m}")


def _read_usage(reading: Reading[VSCodeState], asked: Asked, result: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Give the tokens of a request: the prompt of its last call, cached tokens not told apart.

    The same numbers may stand in `metadata` and in `usage`.
    """
    usage = reading.mapping(result, "usage")
    sent, took = reading.count(metadata, "promptTokens"), reading.count(metadata, "outputTokens")
    if not sent and not took:
        sent, took = reading.count(usage, "promptTokens"), reading.count(usage, "completionTokens")
    if sent or took:
        payload = TokenUsage(asked.model, sent, took, dedupe_key=asked.request)
        reading.add(payload, "assistant", native_id=f"{asked.request}/usage")
    details = usage.get("promptTokenDetails")
    if details:
        shares = Lifecycle("prompt_shares", detail=details)
        reading.add(shares, native_id=f"{asked.request}/usage/shares")


def _read_error(reading: Reading[VSCodeState], asked: Asked, result: dict[str, Any]) -> None:
    error = reading.mapping(result, "errorDetails")
    if not error:
        return
    is_stop = error.get("code") == "canceled" or (
        not error.get("message") and error.get("responseIsIncomplete") is True
    )
    rest = {k: v for k, v in error.items() if k != "message" and v is not None}
    note = Lifecycle("interrupted" if is_stop else "api_error", text=text(error.get("message")), detail=rest or None)
    reading.add(note, native_id=f"{asked.request}/error")


def read_end(reading: Reading[VSCodeState], asked: Asked, value: dict[str, Any]) -> None:
    """Give how a request ended, where it did not end well, and that it was undone."""
    asked.at_answer(reading)
    state = whole(mapping(value.get("modelState")).get("value"))
    if value.get("isCanceled") is True or state == _CANCELED:
        reading.add(Lifecycle("interrupted"), native_id=f"{asked.request}/canceled")
    elif state == _FAILED and not mapping(value.get("result")).get("errorDetails"):
        reading.add(Lifecycle("api_error"), native_id=f"{asked.request}/failed")


def read_undone(reading: Reading[VSCodeState], asked: Asked, before: str, mark: Any) -> None:
    """Give the rewind of a request that was undone and will be removed with the next one that is sent.

    An undo that is taken back stands in the place of the rewind: nothing was left behind.
    """
    asked.at_answer(reading)
    undone: tuple[str, ...] = reading.now("undone")
    if mark and asked.request not in undone:
        reading.set(undone=(*undone, asked.request)[-64:])
    if mark:
        reading.add(Rewind(before, 1), native_id=f"{asked.request}/undone")
    elif asked.request in undone:
        reading.set(undone=tuple(r for r in undone if r != asked.request))
        reading.add(Lifecycle("redone"), native_id=f"{asked.request}/undone")
