"""The row of a composer: what the editor knows of a session, the order of its messages, and in old stores these too.

It sorts behind the rows of its messages. Evidence: format notes: Cursor, store A.
"""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.cursor.bubbles import bubble_name, give_compaction, read_bubble
from recollect.agents.cursor.decode import digest, json_object, pruned, rich_text, take_images
from recollect.agents.cursor.state import Human, Step, short
from recollect.agents.kit.access import items, mapping, number, text, whole
from recollect.agents.kit.addresses import path_of_address
from recollect.model.payloads import (
    FileEdit,
    Lifecycle,
    Rewind,
    SessionStart,
    TokenUsage,
    Unknown,
)
from recollect.model.text import flatten

_STATUSES = frozenset(("none", "generating", "completed", "aborted", "error", "cancelled", "idle"))
_STOPPED = frozenset(("aborted", "cancelled"))
_SECRET = re.compile(r"key$|token$|secret", re.IGNORECASE)
_READ = frozenset(
    (
        "_v", "composerId", "name", "subtitle", "createdAt", "lastUpdatedAt", "lastOpenedAt", "status", "unifiedMode",
        "forceMode", "agentBackend", "fullConversationHeadersOnly", "conversation", "conversationMap",
        "workspaceIdentifier", "totalLinesAdded", "totalLinesRemoved", "addedFiles", "removedFiles",
        "filesChangedCount", "contextUsagePercent", "contextTokensUsed", "contextTokenLimit", "promptTokenBreakdown",
        "modelConfig", "usageData", "subagentInfo", "subagentComposerIds", "subComposerIds", "createdOnBranch",
        "activeBranch", "latestConversationSummary", "originalFileStates", "text", "richText", "todos", "context",
        "newlyCreatedFiles", "newlyCreatedFolders", "codeBlockData", "branches",
        "allAttachedFileCodeChunksUris",
    )
)  # fmt: skip
_OF_THE_EDITOR = frozenset(
    (
        "hasLoaded", "isFileListExpanded", "isQueueExpanded", "hasUnreadMessages", "hasBlockingPendingActions",
        "browserChipManuallyDisabled", "browserChipManuallyEnabled", "gitHubPromptDismissed", "isCreatingWorktree",
        "isApplyingWorktree", "isUndoingWorktree", "isReadingLongFile", "isContinuationInProgress", "applied",
        "pendingCreateWorktree", "gitWorktree", "worktreeStartedReadOnly", "generatingBubbleIds",
        "currentBubbleId", "editingBubbleId", "capabilities", "capabilityContexts",
        "latestChatGenerationUUID", "chatGenerationUUID", "isArchived", "isDraft", "isAgentic", "isSpec", "isNAL",
        "isSpecSubagentDone", "isEphemeral", "isBestOfNSubcomposer", "isBestOfNParent", "bestOfNJudgeWinner",
        "planModeSuggestionUsed", "debugModeSuggestionUsed", "shouldShowNewUi", "isTodosExpanded", "tabs",
        "selectedTabIndex", "gitGraphFileSuggestions", "userResponsesToSuggestedCodeBlocks", "usedReferences",
        "codebaseSearchSettings", "isProject", "isWorktree", "stopHookLoopIteration", "isImplicitlyReverted",
        "hasChangedContext", "activeTabsShouldBeReactive", "allThinkingBlocks", "conversationCheckpointLastUpdatedAt",
        "speculativeSummarizationEncryptionKey", "blobEncryptionKey", "conversationState", "queueItems", "type",
        "firstTimeReviewMode", "trackedGitRepos", "isUnread", "subagentTypeName", "requestId", "checkpointId",
    )
)  # fmt: skip
"""Switches and counters of the interface, and keys to encrypted content, which must not become text."""


def read_composer(step: Step, composer: dict[str, Any]) -> None:
    """Give the facts of a session. An empty shell (no messages, no name) gives nothing."""
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
    _read_names(step, composer)
    _read_subagents(step, composer)
    _read_files(step, composer)
    updated = composer.get("lastUpdatedAt")
    _date(step, created if updated is None else updated, "lastUpdatedAt")
    step.native_id = "composer"
    latest = mapping(composer.get("latestConversationSummary"))
    summary = latest.get("summary")
    give_compaction(step, mapping(summary) or latest, "composer/compaction")
    _read_totals(step, composer)
    _read_status(step, composer, headers or inline)
    _read_rest(step, composer)
    step.extra({k: v for k, v in composer.items() if not _SECRET.search(k)}, _READ | _OF_THE_EDITOR, "composer")
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


def _start(step: Step, composer: dict[str, Any]) -> SessionStart:
    uri = mapping(mapping(composer.get("workspaceIdentifier")).get("uri"))
    info = step.mapping(composer, "subagentInfo")
    model = text(mapping(composer.get("modelConfig")).get("modelName"))
    parent = text(info.get("parentComposerId"))
    return SessionStart(
        cwd=text(uri.get("fsPath")) or text(uri.get("path")) or path_of_address(text(uri.get("external"))),
        git_branch=step.text(composer, "createdOnBranch"),
        model="" if model == "default" else model,
        originator=text(composer.get("agentBackend")),
        parent_session="" if parent == step.state.session else parent,
        agent_name=text(info.get("subagentTypeName")),
    )


def _read_names(step: Step, composer: dict[str, Any]) -> None:
    title, subtitle = step.text(composer, "name"), step.text(composer, "subtitle")
    if title or subtitle:
        step.add(Lifecycle("title", text=subtitle, title=title), native_id="title")
    mode = step.text(composer, "unifiedMode") or step.text(composer, "forceMode")
    if mode:
        step.add(Lifecycle("mode", text=mode), native_id="mode")


def _read_subagents(step: Step, composer: dict[str, Any]) -> None:
    listed = [*step.items(composer, "subagentComposerIds"), *step.items(composer, "subComposerIds")]
    for name in dict.fromkeys(n for n in listed if isinstance(n, str) and n):
        step.add(Lifecycle("subagent", text=name), native_id=f"subagent:{short(name)}")


def _read_files(step: Step, composer: dict[str, Any]) -> None:
    """Give the files as they were before the session changed them, where the row holds them whole."""
    for address, kept in step.mapping(composer, "originalFileStates").items():
        content = mapping(kept).get("content")
        if isinstance(content, str):
            path = path_of_address(address)
            step.add(FileEdit(path, "checkpoint", before=content), native_id=f"checkpoint:{digest(path)}")


def _read_totals(step: Step, composer: dict[str, Any]) -> None:
    """Give what the context held last, and the stated costs: totals that are never added to the tokens of steps."""
    session = step.state.session
    breakdown = step.mapping(composer, "promptTokenBreakdown")
    used = whole(breakdown.get("totalUsedTokens")) or whole(composer.get("contextTokensUsed")) or 0
    if used > 0:
        total = TokenUsage(input_tokens=used, dedupe_key=f"{session}:context", is_additive=False)
        step.add(total, native_id="context/usage")
    for model, cost in step.mapping(composer, "usageData").items():
        cents = number(mapping(cost).get("costInCents"))
        if cents:
            key = f"{session}:cost:{short(model)}"
            spent = TokenUsage(model, cost_usd=cents / 100, dedupe_key=key, is_additive=False)
            step.add(spent, native_id=f"cost:{short(model)}")


def _read_status(step: Step, composer: dict[str, Any], listed: list[Any]) -> None:
    status = step.text(composer, "status")
    step.odd_value("composer.status", status, _STATUSES)
    if status in _STOPPED:
        last = text(mapping(listed[-1] if listed else None).get("bubbleId"))
        step.add(Lifecycle("interrupted", text=status), native_id=f"interrupted:{short(last)}")


def _read_rewinds(step: Step, listed: list[str]) -> None:
    """Give a rewind where the person's messages are in the store and the composer lists them no more.

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
        rewind, name = Rewind(first.before, len(dropped)), f"rewind:{short(back_to)}"
        step.add(rewind, native_id=name, follows=goes_on.before or None)


def _read_rest(step: Step, composer: dict[str, Any]) -> None:
    """Give the tasks, what is attached to the whole session, and what was typed and not sent."""
    todos = pruned(step.items(composer, "todos"))
    if todos:
        step.add(Lifecycle("todo", text=flatten(todos), detail=todos), native_id="todos")
    attached = pruned(take_images(composer.get("context"), []))
    if attached is not None:
        step.add(Unknown("attached", flatten(attached)), native_id="composer/attached")
    draft = step.text(composer, "text") or rich_text(composer.get("richText"))
    if draft:
        step.add(Unknown("draft", draft), native_id="composer/draft")


def read_ide_row(step: Step) -> None:
    """Give a row of the editor's store; its key says what it is. A row without a value is an empty shell."""
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
