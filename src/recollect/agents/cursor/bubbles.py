"""Messages of the editor: one row a bubble. A bubble of the assistant is one step: words, a thought or a tool.

Rows change in place while the agent works, so every event is named by its bubble or its call and comes again whole.
Evidence: format notes: Cursor, store A.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.cursor.decode import decoded, digest, json_object, pruned, rich_text, take_images
from recollect.agents.cursor.state import MAX_HUMANS, Human, Step, short
from recollect.agents.cursor.tools import body_of, call_key, canonical, edits_of, give_edits
from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.addresses import path_of_address
from recollect.agents.kit.content.anthropic import base64_part, is_opaque
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Json,
    Lifecycle,
    Part,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.text import flatten

USER, ASSISTANT = 1, 2
_RUNNING = frozenset(("", "loading", "pending", "running", "streaming", "generating"))
_ENDED = frozenset(("completed", "success", "done", "error", "failed", "cancelled", "canceled", "rejected", "aborted"))
_WELL = frozenset(("completed", "success", "done"))

_READ = frozenset(
    (
        "_v", "type", "bubbleId", "text", "richText", "createdAt", "timingInfo", "thinking", "allThinkingBlocks",
        "thinkingDurationMs", "thinkingStyle", "turnDurationMs", "requestId", "checkpointId", "afterCheckpointId",
        "capabilityType", "capabilityStatuses", "capabilities", "tokenCount", "modelInfo", "toolFormerData", "images",
        "conversationSummary", "cachedConversationSummary", "errorDetails", "serverBubbleId", "usageUuid",
        "isAgentic", "unifiedMode", "supportedTools", "isRefunded", "useWeb", "isQuickSearchQuery", "isPlanExecution",
        "existedSubsequentTerminalCommand", "existedPreviousTerminalCommand", "editToolSupportsSearchAndReplace",
        "enableYoloMode", "isNudge", "skipRendering", "isThought", "tokenDetailsUpUntilHere", "tokenCountUpUntilHere",
        "contextWindowStatusAtCreation", "intermediateChunks", "isCapabilityIteration", "isChat",
        "workspaceProjectDir", "workspaceUris", "mcpDescriptors", "supportsMultiFileLinterErrors", "symbolLinks",
        "fileLinks", "conversationState", "isSimpleLoopingMessage", "toolCallBinary", "originalModelUserMessage",
    )
)  # fmt: skip
"""Fields that are read, or say only how the editor works."""
_ALONGSIDE = frozenset(
    (
        "codeBlocks", "attachedCodeChunks", "attachedFileCodeChunksMetadataOnly", "attachedFileCodeChunksUris",
        "attachedFolders", "attachedFoldersNew", "attachedFoldersListDirResults", "relevantFiles", "context",
        "contextPieces", "webCitations", "webReferences", "aiWebSearchResults", "docsReferences",
        "documentationSelections", "externalLinks", "humanChanges", "attachedHumanChanges", "consoleLogs",
        "multiFileLinterErrors", "lints", "approximateLintErrors", "todos", "suggestedCodeBlocks",
        "assistantSuggestedDiffs", "diffHistories", "fileDiffTrajectories", "diffsSinceLastApply",
        "diffsForCompressingFiles", "gitDiffs", "commits", "pullRequests", "gitStatusRaw", "interpreterResults",
        "toolResults", "notepads", "uiElementPicked", "recentlyViewedFiles", "recentLocationsHistory",
        "deletedFiles", "editTrailContexts", "userResponsesToSuggestedCodeBlocks", "knowledgeItems", "cursorRules",
        "cursorCommands", "cursorCommandsExplicitlySet", "pastChats", "projectLayouts", "summarizedComposers",
        "currentFileLocationData", "ideEditorsState", "subagentReturnCall",
    )
)  # fmt: skip
"""Fields that hold what was attached, found or suggested; searchable beside the message."""
_TOOL_FIELDS = frozenset(
    (
        "tool", "toolIndex", "modelCallId", "toolCallId", "name", "status", "rawArgs", "params", "result", "error",
        "additionalData", "userDecision", "toolCallBinary", "attachments",
    )
)  # fmt: skip


def bubble_name(bubble: dict[str, Any], key: str) -> str:
    """Return the id of a bubble: of its key, else its own, else one made of what it says."""
    listed = key.split(":", 2)
    name = listed[2] if len(listed) == 3 else ""
    return short(name or text(bubble.get("bubbleId")) or f"h-{digest(bubble)}")


def read_bubble(step: Step, bubble: dict[str, Any], name: str) -> None:
    """Give what a bubble says: thought, words, tool, tokens, and what stands beside them."""
    kind = bubble.get("type")
    created = bubble.get("createdAt")
    if created is None or created == "":
        timing = step.mapping(bubble, "timingInfo")
        created = next((timing[k] for k in ("clientStartTime", "clientRpcSendTime") if whole(timing.get(k))), None)
    if created is None or created == "":
        step.ts, step.ts_quality = None, "missing"
    else:
        step.date(created, "createdAt")
    step.native_id = name
    if kind == USER:
        _read_user(step, bubble, name)
    elif kind == ASSISTANT:
        _read_assistant(step, bubble, name)
    else:
        step.unknown(f"bubble:{kind}" if isinstance(kind, int | str) else "bubble", pruned(take_images(bubble, [])))
        return
    _read_usage(step, bubble, name)
    _read_summary(step, bubble, name)
    _read_alongside(step, bubble, name)
    step.extra(bubble, _READ | _ALONGSIDE, "bubble", native_id=name)


def _read_user(step: Step, bubble: dict[str, Any], name: str) -> None:
    said = step.text(bubble, "text") or rich_text(bubble.get("richText"))
    parts = tuple(_image(step, image) for image in step.items(bubble, "images"))
    if not said and not parts:
        return
    step.add(UserMessage(said, parts=parts), "user")
    humans: tuple[Human, ...] = step.now("humans")
    at = step.ts if step.ts_quality == "exact" else None
    step.set(humans=(*humans, Human(name, name, at, step.state.newest))[-MAX_HUMANS:])


def _image(step: Step, image: Json) -> Part:
    facts = mapping(image)
    data = facts.get("data", image)
    path = path_of_address(text(facts.get("path")))
    if not is_opaque("data", data):
        return Part("image", path=path)
    part, is_readable = base64_part("image", text(facts.get("mimeType")), data, path=path)
    if not is_readable:
        step.wrong("images.data", "bad_base64")
    return part


def _read_assistant(step: Step, bubble: dict[str, Any], name: str) -> None:
    thinking = bubble.get("thinking")
    thought = thinking if isinstance(thinking, str) else text(mapping(thinking).get("text"))
    if not thought:
        blocks = (mapping(b) for b in step.items(bubble, "allThinkingBlocks"))
        thought = "\n".join(filter(None, (text(b.get("thinking")) or text(b.get("text")) for b in blocks)))
    is_signed = bool(mapping(thinking).get("signature"))
    if thought or is_signed:
        step.add(Thinking(thought, is_encrypted=not thought), "assistant", native_id=f"{name}/thinking")
    said = step.text(bubble, "text")
    if said:
        step.add(AssistantMessage(said, model=_model(bubble)), "assistant")
    tool = step.mapping(bubble, "toolFormerData")
    if tool:
        _read_tool(step, tool, name)
    if bubble.get("errorDetails"):
        error = bubble["errorDetails"]
        step.add(Lifecycle("api_error", text=flatten(json_object(error) or error)), native_id=f"{name}/error")
    duration = whole(bubble.get("turnDurationMs"))
    if duration:
        step.add(Lifecycle("turn_ended", detail={"duration_ms": duration}), native_id=f"{name}/turn_ended")


def _model(bubble: dict[str, Any]) -> str:
    """Return the model; "default" names none."""
    model = text(mapping(bubble.get("modelInfo")).get("modelName"))
    return "" if model == "default" else model


def _read_tool(step: Step, tool: dict[str, Any], name: str) -> None:
    call_id = step.text(tool, "toolCallId") or name
    key = call_key(call_id)
    called = step.text(tool, "name")
    if not called and not tool.get("toolCallId"):
        # Steps of the editor itself (a checkpoint, say) have data and no tool.
        rest = pruned({k: v for k, v in tool.items() if k != "toolCallBinary"})
        if rest is not None:
            step.kept("toolFormerData", rest, native_id=f"{name}/tool")
        return
    arguments = json_object(tool.get("rawArgs")) or json_object(tool.get("params"))
    parameters = json_object(tool.get("params"))
    if not arguments and isinstance(tool.get("rawArgs"), str) and tool["rawArgs"] not in ("", "{}"):
        step.wrong("toolFormerData.rawArgs", "bad_arguments")
        asked: Json = tool["rawArgs"]
    else:
        asked = take_images(arguments, [])
    step.add(ToolCall(call_id, called, canonical(called), asked), "assistant", native_id=f"call:{key}")
    ok = _read_result(step, tool, call_id=call_id, name=called)
    if ok:
        raw = tool.get("rawArgs")
        source: Json = raw if isinstance(asked, str) else {**parameters, **arguments}
        give_edits(step, edits_of(key, called, source), result=json_object(tool.get("result")), call_id=call_id)
    step.extra(tool, _TOOL_FIELDS, "bubble.toolFormerData", native_id=name)


def _read_result(step: Step, tool: dict[str, Any], *, call_id: str, name: str) -> bool:
    """Give a tool's result once its status says that it ended; return whether it went well."""
    status = step.text(tool, "status").lower()
    step.odd_value("toolFormerData.status", status, _RUNNING | _ENDED)
    has_result = tool.get("result") not in (None, "")
    if status in _RUNNING and not (status == "" and has_result):
        return False
    body = body_of(tool.get("result"))
    error = json_object(tool.get("error"))
    message = (
        text(error.get("modelVisibleErrorMessage"))
        or text(error.get("clientVisibleErrorMessage"))
        or flatten(error or decoded_text(tool.get("error")))
    )
    facts = json_object(tool.get("result"))
    is_refused = facts.get("rejected") is True or step.text(tool, "userDecision") in ("rejected", "reject")
    beside = text(mapping(decoded(tool.get("additionalData"))).get("status"))
    ok: bool | None = status in _WELL if status in _ENDED else None
    if is_refused or message or body.exit_code or beside == "error":
        ok = False
    structured = body.structured
    if ok is False and status and status not in _WELL and status not in ("error", "failed"):
        structured = {**mapping(structured), "status": status}
    elif is_refused:
        structured = {**mapping(structured), "status": "rejected"}
    said = "\n".join(t for t in (body.text, message if message not in body.text else "") if t)
    step.add(
        ToolResult(call_id, name, ok, body.exit_code, said, structured, parts=body.parts),
        "tool",
        native_id=f"result:{call_key(call_id)}",
    )
    return ok is True


def decoded_text(value: Json) -> str:
    """Return a text as it is, anything else as the text in it."""
    return value if isinstance(value, str) else flatten(value)


def _read_usage(step: Step, bubble: dict[str, Any], name: str) -> None:
    """Give the tokens of a step where they are counted at all; most bubbles say 0."""
    counts = step.mapping(bubble, "tokenCount")
    read, written = step.count(counts, "inputTokens"), step.count(counts, "outputTokens")
    if read or written:
        key = f"{step.state.session}:{name}"
        usage = TokenUsage(_model(bubble), read, written, dedupe_key=key)
        step.add(usage, "assistant", native_id=f"{name}/usage")


def _read_summary(step: Step, bubble: dict[str, Any], name: str) -> None:
    for field in ("conversationSummary", "cachedConversationSummary"):
        give_compaction(step, json_object(bubble.get(field)), f"{name}/compaction")


def give_compaction(step: Step, summary: dict[str, Any], name: str) -> None:
    """Give a compaction: the summary that stands for the messages up to a bubble, and the bubble that follows them."""
    said = text(summary.get("summary"))
    continues_at = text(summary.get("clientShouldStartSendingFromInclusiveBubbleId"))
    until = text(summary.get("truncationLastBubbleIdInclusive"))
    if said or until:
        # The composer repeats the summary of its newest bubble: the bubble at which it ends names both.
        step.add(
            Compaction(summary=said, continues_at=continues_at),
            native_id=f"compaction:{short(until)}" if until else name,
        )


def _read_alongside(step: Step, bubble: dict[str, Any], name: str) -> None:
    """Give what was attached to a message or suggested with it, without the code that its text shows too."""
    if bubble.keys() <= _READ:
        return
    said = text(bubble.get("text"))
    found = {k: bubble[k] for k in bubble if k in _ALONGSIDE}
    blocks = found.get("codeBlocks")
    if blocks:
        found["codeBlocks"] = [b for b in items(blocks) if text(mapping(b).get("content")).strip() not in said]
    rest = pruned(take_images(found, []))
    if rest is not None:
        step.add(Unknown("attached", flatten(rest)), native_id=f"{name}/attached")
