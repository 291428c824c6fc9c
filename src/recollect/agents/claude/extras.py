"""Fields that this version does not know: counted as drift, and what a conversation's record says in them is kept.

The lists hold every field of the format notes and of the transcripts they were checked against; what of them carries
words is read in `messages`, `results`, `bookkeeping` and `sidecars`, the rest is bookkeeping of the agent. Of records
around the conversation only the names of unknown fields are noted; nearly all of them give their whole text anyway. The
desktop application's file about a session is not checked: only what `sidecars` names is ever taken of it.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.claude.state import Reading
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.drift import note_fields
from recollect.model.payloads import Unknown
from recollect.model.text import flatten

_RECORD = frozenset(
    (
        "agentId agentName apiErrorStatus apiRefusalCategory apiRefusalExplanation attachment attributionAgent "
        "attributionMcpServer attributionMcpTool attributionPlugin attributionSkill cause classifierMetaLines "
        "compactMetadata content cwd direction durationMs effort entrypoint error errorDetails fallbackModel gitBranch "
        "hasOutput hookAdditionalContext hookCount hookErrors hookInfos imagePasteIds interruptedByShutdown "
        "interruptedMessageId isAbortedMidStream isApiErrorMessage isCompactSummary isMeta isSidechain "
        "isVisibleInTranscriptOnly level logicalParentUuid maxRetries mcpMeta message messageCount "
        "microcompactMetadata origin originalModel parentUuid pendingBackgroundAgentCount permissionMode planContent "
        "preventedContinuation project promptId promptSource refusedUserMessageUuid relocatedCwd requestId "
        "retractedMessageUuids retryAttempt retryInMs scope sessionId sessionKind session_id slug source "
        "sourceToolAssistantUUID sourceToolUseID stopReason subtype supersedesUuids teamName thinkingMetadata "
        "timestamp todos toolDenialKind toolEndsTurn toolUseID toolUseResult trigger turnCompanion type userType "
        "uuid version"
    ).split()
)
_MESSAGE = frozenset(
    (
        "container content context_management diagnostics id model role stop_details stop_reason stop_sequence type "
        "usage"
    ).split()
)
_BLOCKS = {
    "text": frozenset(("text", "type")),
    "thinking": frozenset(("signature", "thinking", "type")),
    "tool_use": frozenset(("caller", "id", "input", "name", "type")),
    "tool_result": frozenset(("content", "is_error", "text", "tool_use_id", "type")),
}


_PLAIN = frozenset(
    "type uuid parentUuid timestamp sessionId session_id cwd gitBranch version userType isSidechain".split()
)
"""What any record may carry beside its own."""
_OWN = {
    kind: _PLAIN | frozenset(fields.split())
    for kind, fields in {
        "progress": "data parentToolUseID toolUseID slug agentId entrypoint sessionKind",
        "file-history-snapshot": "messageId snapshot isSnapshotUpdate trackedFileBackups",
        "file-history-delta": "messageId snapshot isSnapshotUpdate trackedFileBackups",
        "summary": "summary leafUuid",
        "queue-operation": "operation content",
        "ai-title": "aiTitle",
        "custom-title": "customTitle",
        "agent-name": "agentName",
        "agent-setting": "agentSetting",
        "tag": "tag",
        "last-prompt": "lastPrompt leafUuid",
        "mode": "mode",
        "permission-mode": "permissionMode",
        "pr-link": "prNumber prUrl prRepository",
        "relocated": "relocatedCwd",
        "worktree-state": "worktreeName worktreeSession",
        "teleported-from": "remoteSessionId branch messageCount",
        "frame-link": "path frameUrl title",
        "cost-state": "modelUsage",
        "bridge-session": "bridgeSessionId lastSequenceNum ownerAccountUuid ownerOrganizationUuid",
        "atis-latch": "atis",
        "history": "display pastedContents project",
        "todos": "id content status activeForm priority",
        "tasks": "id subject description activeForm status owner blocks blockedBy metadata",
        "title": "title customTitle",
        "subagent_meta": "agentType worktreePath description spawnDepth",
    }.items()
}
"""Of records that carry no message, by type; of sidecars, by the role of their source."""


def note_own_fields(reading: Reading, kind: str) -> None:
    """Note the unknown fields of a record that carries no message. kind: its type, or its source's role."""
    known = _OWN.get(kind)
    if known is not None:
        note_fields(reading.drift, reading.record, known, kind)


def note_message_fields(reading: Reading, kind: str) -> list[dict[str, Any]]:
    """Note and return what a record of the conversation, its message and its blocks hold beyond the known fields."""
    record, drift = reading.record, reading.drift
    found = [note_fields(drift, record, _RECORD, kind)]
    message = record.get("message")
    if isinstance(message, dict):
        found.append(note_fields(drift, message, _MESSAGE, f"{kind}.message"))
        content = message.get("content")
        if isinstance(content, list):
            found += [_of_block(reading, block) for block in content]
    return [fields for fields in found if fields]


def give_fields(reading: Reading, fields: list[dict[str, Any]]) -> None:
    """Give unknown fields as one event beside the record's own."""
    reading.add_aside(Unknown("fields", flatten(without_opaque(fields))))


def _of_block(reading: Reading, block: Any) -> dict[str, Any] | None:
    kind = block.get("type") if isinstance(block, dict) else None
    known = _BLOCKS.get(kind) if isinstance(kind, str) else None
    return note_fields(reading.drift, block, known, str(kind)) if known is not None else None
