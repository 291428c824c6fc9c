"""What stands around the two lists: how the run ended, what it cost, what it was told to do with which model.

Evidence: recorded trajectories of 0.7 to 1.0; sweagent/types.py, "AgentInfo".
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.kit.access import mapping, number, text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.sweagent.messages import give_waiting
from recollect.agents.sweagent.state import SweAgentReading
from recollect.model.payloads import Lifecycle, SessionEnd, SessionStart, TokenUsage
from recollect.model.text import flatten

_TOP = frozenset(("environment", "trajectory", "history", "info", "replay_config"))
_INFO = frozenset(
    (
        "submission", "exit_status", "model_stats", "edited_files30", "edited_files50", "edited_files70", "review",
        "summarizer", "swe_agent_hash", "swe_agent_version", "swe_rex_version", "swe_rex_hash",
    )
)  # fmt: skip
_STATS = frozenset(("instance_cost", "total_cost", "tokens_sent", "tokens_received", "api_calls"))
_VIEWS = ("edited_files70", "edited_files50", "edited_files30")


def read_around(reading: SweAgentReading) -> None:
    """Give the members beside the lists. They may come in two records, before and after the lists."""
    value = reading.value
    config = _config(value.get("replay_config"))
    info = reading.mapping(value, "info")
    if "info" in value or "replay_config" in value:
        give_waiting(reading)
    environment = reading.text(value, "environment")
    version = text(info.get("swe_agent_version"))
    if environment or not reading.state.is_started:
        reading.set(is_started=True)
        reading.add(SessionStart(originator=environment, tool_version=version), native_id="start")
    _configured(reading, config, version if not environment else "")
    _info(reading, info, text(mapping(mapping(config.get("agent")).get("model")).get("name")))
    reading.extra(value, _TOP, "trajectory", native_id="around")


def _config(written: Any) -> dict[str, Any]:
    if isinstance(written, str):
        try:
            return mapping(msgspec.json.decode(written))
        except (ValueError, RecursionError):
            return {}
    return mapping(written)


def _configured(reading: SweAgentReading, config: dict[str, Any], version: str) -> None:
    """Give model, repository and task of the configuration. Its rest holds prompts that the history has, and keys."""
    model = text(mapping(mapping(config.get("agent")).get("model")).get("name"))
    environment = mapping(config.get("env"))
    repo = mapping(environment.get("repo"))
    remote, commit = text(repo.get("github_url")), text(repo.get("base_commit"))
    if model or remote or version:
        facts = SessionStart(model=model, git_remote=remote, git_commit=commit, tool_version=version)
        reading.add(facts, native_id="facts")
    problem = mapping(config.get("problem_statement"))
    detail = {
        "task": text(problem.get("id")),
        "url": text(problem.get("github_url")),
        "repo": text(repo.get("repo_name")) or text(repo.get("path")),
        "image": text(mapping(environment.get("deployment")).get("image")),
    }
    told = {k: v for k, v in detail.items() if v}
    if told:
        reading.add(Lifecycle("task", detail=told), native_id="task")


def _info(reading: SweAgentReading, info: dict[str, Any], model: str) -> None:
    submission = flatten(info.get("submission"))
    if submission:
        reading.add(Lifecycle("submission", text=submission), native_id="submission")
    view = next((text(info.get(name)) for name in _VIEWS if text(info.get(name))), "")
    if view:
        reading.kept("edited_files", view, native_id="edited_files")
    for name in ("review", "summarizer"):
        if info.get(name):
            reading.kept(name, without_opaque(info[name]), native_id=name)
    stats = reading.mapping(info, "model_stats")
    if stats:
        _spend(reading, stats, model)
    status = flatten(info.get("exit_status"))
    if status:
        reading.add(SessionEnd(status), native_id="end")
    reading.extra(info, _INFO, "info", native_id="info")


def _spend(reading: SweAgentReading, stats: dict[str, Any], model: str) -> None:
    """Give the totals of the run. The file is written again after each step: the newest ones take the place."""
    sent, received = reading.count(stats, "tokens_sent"), reading.count(stats, "tokens_received")
    cost = number(stats.get("instance_cost"))
    if sent or received or cost:
        key = f"{reading.state.session}:total"
        reading.add(TokenUsage(model, sent, received, cost_usd=cost, dedupe_key=key), "assistant", native_id="usage")
    calls = reading.count(stats, "api_calls")
    if calls:
        reading.add(Lifecycle("api_calls", detail={"count": calls}), native_id="api_calls")
    reading.extra(stats, _STATS, "model_stats", native_id="stats")
