"""Fields of known records that this version does not know: one `unknown` event beside the record's own.

The lists hold every field of the format notes and of the transcripts they were checked against; what of them carries
words is read in `messages`, `results` and `bookkeeping`, the rest is bookkeeping of the agent.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.claude.state import Reading
from recollect.agents.kit.anthropic import without_opaque
from recollect.agents.kit.extras import unknown_fields
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


def read_unknown_fields(reading: Reading) -> None:
    """Give what the record, its message and its blocks hold beyond the known fields."""
    record = reading.record
    found = [unknown_fields(record, _RECORD)]
    message = record.get("message")
    if isinstance(message, dict):
        found.append(unknown_fields(message, _MESSAGE))
        content = message.get("content")
        if isinstance(content, list):
            found += [_of_block(block) for block in content]
    extra = [fields for fields in found if fields]
    if extra:
        reading.add_aside(Unknown("fields", flatten(without_opaque(extra))))


def _of_block(block: Any) -> dict[str, Any] | None:
    known = _BLOCKS.get(block.get("type", "")) if isinstance(block, dict) and _is_name(block) else None
    return unknown_fields(block, known) if known is not None else None


def _is_name(block: dict[str, Any]) -> bool:
    return isinstance(block.get("type", ""), str)
