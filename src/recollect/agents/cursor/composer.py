"""Parses a composer row: the session's facts, the order of its messages and, in old stores, the messages.

It sorts behind the rows of its messages. Evidence: format notes: Cursor, store A.
"""

import re
from typing import Any

from recollect.agents.cursor.messages import body_of, call_key, canonical, edits_of, give_edits
from recollect.agents.cursor.state import (
    MAX_HUMANS,
    Human,
    Step,
    decoded,
    digest,
    json_object,
    pruned,
    rich_text,
    short,
    take_images,
)
from recollect.agents.facts import known_fields
from recollect.agents.kit.content import base64_part, is_opaque
from recollect.agents.kit.values import Json, items, mapping, number, path_of_address, text, whole
from recollect.model import payloads as kinds
from recollect.model.text import flatten

# Messages of the editor: one row a bubble. A bubble of the assistant is one step: words, a thought or a tool.
#
# Rows change in place while the agent works, so every event is named by its bubble or its call and comes again whole.
# Evidence: format notes: Cursor, store A.

USER, ASSISTANT = 1, 2
_RUNNING = frozenset(("", "loading", "pending", "running", "streaming", "generating"))
_ENDED = frozenset(("completed", "success", "done", "error", "failed", "cancelled", "canceled", "rejected", "aborted"))
_WELL = frozenset(("completed", "success", "done"))

_KNOWN = known_fields("cursor")


def bubble_name(bubble: dict[str, Any], key: str) -> str:
    """Return the id of a bubble: of its key, else its own, else one made of what it says."""
    listed = key.split(":", 2)
    name = listed[2] if len(listed) == 3 else ""
    return short(name or text(bubble.get("bubbleId")) or f"h-{digest(bubble)}")


def read_bubble(step: Step, bubble: dict[str, Any], name: str) -> None:
    """Emit what a bubble says: thought, words, tool, tokens, and what stands beside them."""
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
    # Emit the tokens of a step where they are counted at all; most bubbles say 0.
    counts = step.mapping(bubble, "tokenCount")
    spent = step.counts(counts, ("inputTokens", "outputTokens"))
    step.spend(_model(bubble), spent, f"{step.state.session}:{name}", "assistant", native_id=f"{name}/usage")
    for field in ("conversationSummary", "cachedConversationSummary"):
        give_compaction(step, json_object(bubble.get(field)), f"{name}/compaction")
    _read_alongside(step, bubble, name)
    step.extra(bubble, _KNOWN["read"] | _KNOWN["alongside"], "bubble", native_id=name)


def _read_user(step: Step, bubble: dict[str, Any], name: str) -> None:
    said = step.text(bubble, "text") or rich_text(bubble.get("richText"))
    parts = tuple(_image(step, image) for image in step.items(bubble, "images"))
    if not said and not parts:
        return
    step.add(kinds.UserMessage(said, parts=parts))
    humans: tuple[Human, ...] = step.now("humans")
    at = step.ts if step.ts_quality == "exact" else None
    step.set(humans=(*humans, Human(name, name, at, step.state.newest))[-MAX_HUMANS:])


def _image(step: Step, image: Json) -> kinds.Part:
    facts = mapping(image)
    data = facts.get("data", image)
    path = path_of_address(text(facts.get("path")))
    if not is_opaque("data", data):
        return kinds.Part("image", path=path)
    return step.readable(base64_part("image", text(facts.get("mimeType")), data, path=path), "images.data")


def _read_assistant(step: Step, bubble: dict[str, Any], name: str) -> None:
    thinking = bubble.get("thinking")
    thought = thinking if isinstance(thinking, str) else text(mapping(thinking).get("text"))
    if not thought:
        blocks = (mapping(b) for b in step.items(bubble, "allThinkingBlocks"))
        thought = "\n".join(filter(None, (text(b.get("thinking")) or text(b.get("text")) for b in blocks)))
    is_signed = bool(mapping(thinking).get("signature"))
    if thought or is_signed:
        step.add(kinds.Thinking(thought, is_encrypted=not thought), native_id=f"{name}/thinking")
    said = step.text(bubble, "text")
    step.say(kinds.AssistantMessage(said, model=_model(bubble)))
    tool = step.mapping(bubble, "toolFormerData")
    if tool:
        _read_tool(step, tool, name)
    if bubble.get("errorDetails"):
        error = bubble["errorDetails"]
        step.add(kinds.Lifecycle("api_error", text=flatten(json_object(error) or error)), native_id=f"{name}/error")
    duration = whole(bubble.get("turnDurationMs"))
    if duration:
        step.add(kinds.Lifecycle("turn_ended", detail={"duration_ms": duration}), native_id=f"{name}/turn_ended")


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
    step.add(kinds.ToolCall(call_id, called, canonical(called), asked), native_id=f"call:{key}")
    ok = _read_result(step, tool, call_id=call_id, name=called)
    if ok:
        raw = tool.get("rawArgs")
        source: Json = raw if isinstance(asked, str) else {**parameters, **arguments}
        give_edits(step, edits_of(key, called, source), result=json_object(tool.get("result")), call_id=call_id)
    step.extra(tool, _KNOWN["tool"], "bubble.toolFormerData", native_id=name)


def _read_result(step: Step, tool: dict[str, Any], *, call_id: str, name: str) -> bool:
    """Emit a tool's result once its status says that it ended; return whether it went well."""
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
        kinds.ToolResult(call_id, name, ok, body.exit_code, said, structured, parts=body.parts),
        native_id=f"result:{call_key(call_id)}",
    )
    return ok is True


def decoded_text(value: Json) -> str:
    """Return a text as it is, anything else as the text in it."""
    return value if isinstance(value, str) else flatten(value)


def give_compaction(step: Step, summary: dict[str, Any], name: str) -> None:
    """Emit a compaction: the summary that stands for the messages up to a bubble, and the bubble that follows them."""
    said = text(summary.get("summary"))
    continues_at = text(summary.get("clientShouldStartSendingFromInclusiveBubbleId"))
    until = text(summary.get("truncationLastBubbleIdInclusive"))
    if said or until:
        # The composer repeats the summary of its newest bubble: the bubble at which it ends names both.
        step.add(
            kinds.Compaction(summary=said, continues_at=continues_at),
            native_id=f"compaction:{short(until)}" if until else name,
        )


def _read_alongside(step: Step, bubble: dict[str, Any], name: str) -> None:
    """Emit what was attached to a message or suggested with it, without the code that its text shows too."""
    if bubble.keys() <= _KNOWN["read"]:
        return
    said = text(bubble.get("text"))
    found = {k: bubble[k] for k in bubble if k in _KNOWN["alongside"]}
    blocks = found.get("codeBlocks")
    if blocks:
        found["codeBlocks"] = [b for b in items(blocks) if text(mapping(b).get("content")).strip() not in said]
    rest = pruned(take_images(found, []))
    if rest is not None:
        step.add(kinds.Unknown("attached", flatten(rest)), native_id=f"{name}/attached")


_STATUSES = frozenset(("none", "generating", "completed", "aborted", "error", "cancelled", "idle"))
_STOPPED = frozenset(("aborted", "cancelled"))
_SECRET = re.compile(r"key$|token$|secret", re.IGNORECASE)


def read_composer(step: Step, composer: dict[str, Any]) -> None:
    """Emit the facts of a session. An empty shell (no messages, no name) gives nothing."""
    inline = _inline(composer)
    headers = step.items(composer, "fullConversationHeadersOnly")
    if not headers and not inline and not composer.get("name") and not step.now("humans"):
        return
    created = composer.get("createdAt")
    _date(step, created, "createdAt")
    step.add(_start(step, composer), native_id="start")
    for bubble in inline:
        read_bubble(step, bubble, bubble_name(bubble, ""))
    _date(step, created, "createdAt")
    title, subtitle = step.text(composer, "name"), step.text(composer, "subtitle")
    if title or subtitle:
        step.add(kinds.Lifecycle("title", text=subtitle, title=title), native_id="title")
    mode = step.text(composer, "unifiedMode") or step.text(composer, "forceMode")
    step.note("mode", mode, native_id="mode")
    listed = [*step.items(composer, "subagentComposerIds"), *step.items(composer, "subComposerIds")]
    for name in dict.fromkeys(n for n in listed if isinstance(n, str) and n):
        step.add(kinds.Lifecycle("subagent", text=name), native_id=f"subagent:{short(name)}")
    # Emit the files as they were before the session changed them, where the row holds them whole.
    for address, kept in step.mapping(composer, "originalFileStates").items():
        content = mapping(kept).get("content")
        if isinstance(content, str):
            path = path_of_address(address)
            step.add(kinds.FileEdit(path, "checkpoint", before=content), native_id=f"checkpoint:{digest(path)}")
    updated = composer.get("lastUpdatedAt")
    _date(step, created if updated is None else updated, "lastUpdatedAt")
    step.native_id = "composer"
    latest = mapping(composer.get("latestConversationSummary"))
    summary = latest.get("summary")
    give_compaction(step, mapping(summary) or latest, "composer/compaction")
    _read_totals(step, composer)
    _read_status(step, composer, headers or inline)
    # Emit the tasks, what is attached to the whole session, and what was typed and not sent.
    todos = pruned(step.items(composer, "todos"))
    if todos:
        step.add(kinds.Lifecycle("todo", text=flatten(todos), detail=todos), native_id="todos")
    attached = pruned(take_images(composer.get("context"), []))
    if attached is not None:
        step.add(kinds.Unknown("attached", flatten(attached)), native_id="composer/attached")
    draft = step.text(composer, "text") or rich_text(composer.get("richText"))
    if draft:
        step.add(kinds.Unknown("draft", draft), native_id="composer/draft")
    step.extra(
        {k: v for k, v in composer.items() if not _SECRET.search(k)},
        _KNOWN["fields_of_one"] | _KNOWN["of_the_editor"],
        "composer",
    )
    _read_rewinds(step, [text(mapping(h).get("bubbleId")) for h in headers])


def _date(step: Step, written: Any, field: str) -> None:
    if written is None:
        step.ts, step.ts_quality = None, "missing"
    else:
        step.date(written, field)


def _inline(composer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that an old store keeps in the composer's row, in order."""
    listed = items(composer.get("conversation"))
    if not listed:
        by_name = mapping(composer.get("conversationMap"))
        names = [text(mapping(h).get("bubbleId")) for h in items(composer.get("fullConversationHeadersOnly"))]
        listed = [by_name[n] for n in names if n in by_name]
        listed += [b for n, b in by_name.items() if n not in names]
    return [b for b in listed if isinstance(b, dict)]


def _start(step: Step, composer: dict[str, Any]) -> kinds.SessionStart:
    uri = mapping(mapping(composer.get("workspaceIdentifier")).get("uri"))
    info = step.mapping(composer, "subagentInfo")
    model = text(mapping(composer.get("modelConfig")).get("modelName"))
    parent = text(info.get("parentComposerId"))
    return kinds.SessionStart(
        cwd=text(uri.get("fsPath")) or text(uri.get("path")) or path_of_address(text(uri.get("external"))),
        git_branch=step.text(composer, "createdOnBranch"),
        model="" if model == "default" else model,
        originator=text(composer.get("agentBackend")),
        parent_session="" if parent == step.state.session else parent,
        agent_name=text(info.get("subagentTypeName")),
    )


def _read_totals(step: Step, composer: dict[str, Any]) -> None:
    """Emit what the context held last, and the stated costs: totals that are never added to the tokens of steps."""
    session = step.state.session
    breakdown = step.mapping(composer, "promptTokenBreakdown")
    used = whole(breakdown.get("totalUsedTokens")) or whole(composer.get("contextTokensUsed")) or 0
    if used > 0:
        total = kinds.TokenUsage(input_tokens=used, dedupe_key=f"{session}:context", is_additive=False)
        step.add(total, native_id="context/usage")
    for model, cost in step.mapping(composer, "usageData").items():
        cents = number(mapping(cost).get("costInCents"))
        if cents:
            key = f"{session}:cost:{short(model)}"
            spent = kinds.TokenUsage(model, cost_usd=cents / 100, dedupe_key=key, is_additive=False)
            step.add(spent, native_id=f"cost:{short(model)}")


def _read_status(step: Step, composer: dict[str, Any], listed: list[Any]) -> None:
    status = step.text(composer, "status")
    step.odd_value("composer.status", status, _STATUSES)
    if status in _STOPPED:
        last = text(mapping(listed[-1] if listed else None).get("bubbleId"))
        step.add(kinds.Lifecycle("interrupted", text=status), native_id=f"interrupted:{short(last)}")


def _read_rewinds(step: Step, listed: list[str]) -> None:
    """Emit a rewind where the person's messages are in the store and the composer lists them no more.

    A message that is newer than all listed ones may only not be listed yet: it proves nothing.
    """
    place = {name: i for i, name in enumerate(listed)}
    humans: tuple[Human, ...] = step.now("humans")
    latest = {h.id: h for h in humans}
    kept = sorted((h.ts, place[h.id], h) for h in latest.values() if h.id in place and h.ts is not None)
    left: dict[str, list[tuple[int, Human, int, Human]]] = {}
    for human in latest.values():
        if human.id in place or human.ts is None:
            continue
        following = next(((at, i, h) for at, i, h in kept if at > human.ts), None)
        if following is not None:
            at, i, goes_on = following
            left.setdefault(listed[i - 1] if i else "", []).append((human.ts, human, at, goes_on))
    for back_to, dropped in left.items():
        _, first, at, goes_on = min(dropped, key=lambda d: d[0])
        step.infer(at)
        rewind, name = kinds.Rewind(first.before, len(dropped)), f"rewind:{short(back_to)}"
        step.add(rewind, native_id=name, follows=goes_on.before or None)


def read_ide_row(step: Step) -> None:
    """Emit a row of the editor's store; its key says what it is. A row without a value is an empty shell."""
    key, value = text(step.value.get("key")), step.value.get("value")
    if value is None:
        return
    found = json_object(value)
    if not found:
        step.wrong("value", "not_json")
        step.unknown(key.partition(":")[0] or "row", value if isinstance(value, str) else pruned(value))
    elif key.startswith("bubbleId:"):
        read_bubble(step, found, bubble_name(found, key))
    elif key.startswith("composerData:"):
        read_composer(step, found)
    else:
        step.unknown(key.partition(":")[0] or "row", pruned(found))
