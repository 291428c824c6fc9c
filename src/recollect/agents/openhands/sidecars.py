"""The rewritten state of a conversation: where it works, how it stands, what every response cost.

Evidence: format notes: OpenHands, "base_state.json"; a recorded state of 1.11.5; openhands/sdk/llm/utils/metrics.py.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, number, text
from recollect.agents.kit.instants import instant
from recollect.agents.openhands.state import OpenHandsReading
from recollect.model.payloads import Lifecycle, SessionEnd, SessionStart, TokenUsage
from recollect.model.text import flatten

_STATE = frozenset(
    (
        "id", "agent", "workspace", "persistence_dir", "max_iterations", "stuck_detection", "execution_status",
        "confirmation_policy", "security_analyzer", "activated_knowledge_skills", "blocked_actions", "blocked_messages",
        "stats", "secret_registry", "agent_state", "hook_config", "tags", "title", "last_user_message_id",
    )
)  # fmt: skip
_METADATA = frozenset(
    (
        "conversation_id", "title", "selected_repository", "selected_branch", "git_provider", "created_at",
        "last_updated_at", "llm_model", "trigger", "accumulated_cost", "prompt_tokens", "completion_tokens",
        "total_tokens", "user_id", "github_user_id", "pr_number", "sandbox_id",
    )
)  # fmt: skip
_STATUSES = frozenset(
    ("idle", "running", "paused", "waiting_for_confirmation", "finished", "error", "stuck", "deleting")
)
_COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def read_state(reading: OpenHandsReading) -> None:
    """Give what the state says. Of the agent's settings only names are taken: they hold keys."""
    value = reading.value
    agent = reading.mapping(value, "agent")
    workspace = reading.mapping(value, "workspace")
    model = text(mapping(agent.get("llm")).get("model"))
    cwd = text(workspace.get("working_dir"))
    reading.add(SessionStart(cwd=cwd, model=model, originator=text(workspace.get("kind"))), native_id="start")
    status = reading.text(value, "execution_status")
    reading.odd_value("base_state.execution_status", status, _STATUSES)
    if status:
        reading.add(Lifecycle("status", text=status), native_id="status")
    settings = {
        "agent": text(agent.get("kind")),
        "tools": [text(mapping(tool).get("name")) for tool in items(agent.get("tools"))],
        "condenser": text(mapping(agent.get("condenser")).get("kind")),
        "confirmation": text(mapping(value.get("confirmation_policy")).get("kind")),
        "skills": value.get("activated_knowledge_skills"),
        "blocked": value.get("blocked_actions"),
    }
    kept = {k: v for k, v in settings.items() if v}
    if kept:
        reading.add(Lifecycle("configuration", detail=kept), native_id="configuration")
    for name, metrics in mapping(mapping(value.get("stats")).get("usage_to_metrics")).items():
        _metrics(reading, name, mapping(metrics))
    title = text(value.get("title"))
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    if status == "finished":
        reading.add(SessionEnd("finished"), native_id="end")
    reading.extra(value, _STATE, "base_state", native_id="state")


def _metrics(reading: OpenHandsReading, name: str, metrics: dict[str, Any]) -> None:
    """Give the usage of each response of one purpose ("agent", "condenser"); where only totals are kept, those.

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
    prompt, completion, read, written, reasoning = (reading.count(usage, name) for name in _COUNTS)
    if not any((prompt, completion, read, written)):
        return
    payload = TokenUsage(
        model,
        max(0, prompt - read - written),
        completion,
        read,
        written,
        reasoning_tokens=min(reasoning, completion),
        cost_usd=cost,
        dedupe_key=key,
    )
    reading.add(payload, "assistant", native_id=f"usage:{key}")


def read_metadata(reading: OpenHandsReading) -> None:
    """Give what the old generation's `metadata.json` says: title, model, repository."""
    value = reading.value
    reading.date(value.get("created_at"), "created_at")
    start = SessionStart(
        git_remote=text(value.get("selected_repository")),
        git_branch=text(value.get("selected_branch")),
        model=text(value.get("llm_model")),
        originator=text(value.get("trigger")),
    )
    reading.add(start, native_id="start")
    title = reading.text(value, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    reading.extra(value, _METADATA, "metadata", native_id="metadata")


def read_tasks(reading: OpenHandsReading) -> None:
    """Give the list of tasks that the agent keeps."""
    value = reading.record.value
    reading.add(Lifecycle("todo", text=flatten(value)), native_id=f"tasks:{reading.index}")
