"""What records in the manner of Claude Code can give: facts, apart from the parser so that they load at once."""

from __future__ import annotations

KINDS = (
    "session_start",
    "user_message",
    "assistant_message",
    "thinking",
    "tool_call",
    "tool_result",
    "file_edit",
    "token_usage",
    "compaction",
    "lifecycle",
    "unknown",
)
