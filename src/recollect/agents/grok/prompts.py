"""Who wrote a text in the user's role: what the harness put around a prompt is taken off it.

Evidence: format notes: Grok Build, section 4 (`<user_query>` and the tags beside it, `synthetic_reason`).
"""

from __future__ import annotations

from recollect.model.payloads import Origin

_TAGS = ("user_info", "git_status", "system-reminder", "agent_skills", "mcp_servers")
_QUERY, _END_OF_QUERY = "<user_query>", "</user_query>"
_MAX_BLOCKS = 32

HUMAN_REASONS: dict[str, Origin] = {"interjection": "queued"}
"""Synthetic reasons behind which a person stands: typed while the agent worked."""
REASONS = frozenset(
    (
        "compaction_meta", "system_reminder", "project_instructions", "auto_continue", "auto_recovery", "interjection",
        "agent_message", "task_completed", "subagent_completed", "notification_drain", "goal_summary",
        "goal_classifier_nudge", "scheduler_fired", "stop_hook_feedback", "working_directory_switch",
        "environment_context", "unknown",
    )
)  # fmt: skip


def split_prompt(text: str) -> tuple[str, list[str]]:
    """Return what the person wrote, and the blocks of the harness before and after it. Tags inside stay."""
    if "<" not in text:
        return text, []
    asides: list[str] = []
    rest = text
    for _ in range(_MAX_BLOCKS):
        shorter = _without_block(rest, asides)
        if shorter is None:
            break
        rest = shorter
    bare = rest.strip()
    if bare.startswith(_QUERY) and bare.endswith(_END_OF_QUERY):
        rest = bare[len(_QUERY) : -len(_END_OF_QUERY)].strip("\n")
    return rest if asides or rest is not text else text, asides


def _without_block(text: str, asides: list[str]) -> str | None:
    """Return the text without its first or last block, which goes to `asides`; None where it has neither."""
    bare = text.strip()
    for tag in _TAGS:
        start, end = f"<{tag}>", f"</{tag}>"
        if bare.startswith(start) and (at := bare.find(end)) >= 0:
            asides.append(bare[: at + len(end)])
            return bare[at + len(end) :].lstrip("\n")
        if bare.endswith(end) and (at := bare.rfind(start)) >= 0:
            asides.append(bare[at:])
            return bare[:at].rstrip("\n")
    return None
