"""The memory: checks, ingest, storage, secrets (never shown), the configuration, and what setup would write."""

from __future__ import annotations

import shlex
from itertools import groupby
from typing import Any, cast

from starlette.requests import Request

from recollect.errors import UsageError
from recollect.memory import Memory, Mode
from recollect.serve.web.spans import choices

LATEST = 40
ENTRIES = 60
EVICTED = 100


def checks_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page of the checks, which are run when it is there; with `?whole` at once."""
    content = checks_content(memory, request)[1] if "whole" in request.query_params else {"report": None}
    return "checks.html", content


def checks_content(memory: Memory, _request: Request) -> tuple[str, dict[str, Any]]:
    """Run every check of `recollect doctor` now."""
    report = memory.maintenance.doctor()
    order = {"fail": 0, "warn": 1, "ok": 2}
    return "_checks.html", {"report": report, "checks": sorted(report.checks, key=lambda check: order[check.state])}


def ingest_page(memory: Memory, _request: Request) -> tuple[str, dict[str, Any]]:
    """Return what was ingested last, what agents there are, what no parser knows, and what was done."""
    agents = memory.agents.list()
    return "ingest.html", {
        "sources": memory.maintenance.latest_sources(limit=LATEST),
        "agents": [agent for agent in agents if agent.sources or (agent.enabled and agent.roots)],
        "absent": sum(not agent.sources and not agent.roots for agent in agents),
        "drift": memory.agents.drift(),
        "defects": memory.stats().defects,
        "log": memory.maintenance.log(limit=ENTRIES),
    }


def storage_page(memory: Memory, _request: Request) -> tuple[str, dict[str, Any]]:
    """Return what the memory takes, and what retention would remove now."""
    retention = memory.maintenance.retention
    report, preview = retention.storage_and_preview()
    tiers = report.tiers
    return "storage.html", {
        "report": report,
        "tiers": (
            ("exact copies of what agents wrote", tiers.archive_bytes),
            ("texts of events", tiers.text_bytes),
            ("digests, decisions, learnings", tiers.distilled_bytes + tiers.skeleton_bytes),
            ("rows of sessions and events", tiers.rows_bytes),
            ("search index", tiers.index_bytes),
            ("vectors", tiers.vectors_bytes),
            ("unused space", tiers.free_bytes),
        ),
        "preview": preview,
        "evicted": preview.sessions[:EVICTED],
        "pins": retention.pins(),
        "settings": memory.config.retention,
    }


def secrets_page(memory: Memory, _request: Request) -> tuple[str, dict[str, Any]]:
    """Return how many secrets were found, by kind; who was shown what; and what is excluded and forgotten."""
    return "secrets.html", {
        "found": sorted(memory.stats().redactions.items(), key=lambda item: (-item[1], item[0])),
        "log": memory.maintenance.reveal.log(limit=ENTRIES),
        "excluded": memory.maintenance.excluded(),
        "forgotten": memory.maintenance.forgetting.listed().groups,
    }


MODES = {"pull": "search tools", "push": "context at its events", "both": "both"}
"""By the word of `recollect setup --mode`."""
REMOVE = "remove"
_LINES = {"+": "add", "-": "del", "@": "hunk"}


def settings_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?q=&set=`."""
    asked = request.query_params
    words, is_set = asked.get("q", "").strip(), "set" in asked
    view = memory.maintenance.settings()
    entries = [
        one
        for one in view.entries
        if all(word in f"{one.key} {one.text}".casefold() for word in words.casefold().split())
        and (not is_set or one.origin == "file")
    ]
    entries.sort(key=lambda one: one.key.startswith("agents."))  # there are many of these
    sections = groupby(entries, key=lambda one: one.key.rpartition(".")[0])
    return "settings.html", {
        "view": view,
        "sections": [(name, list(some)) for name, some in sections],
        "query": words,
        "is_set": is_set,
    }


def agents_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the agents of this machine, for `?mode=`; what setup would write is asked for one by one."""
    mode = _mode(request)
    installed, recorded = memory.setup.installed(), memory.setup.recorded()
    return "agents.html", {
        "agents": tuple(dict.fromkeys((*installed, *recorded))),
        "recorded": recorded,
        "mode": mode,
        "modes": choices("/settings/agents", {"mode": mode}, "mode", [*MODES.items(), (REMOVE, "take it out")]),
    }


def plan_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return what setting up one agent would do, `?agent=&mode=`, and the command that does it."""
    from recollect.memory import without_secrets

    mode = _mode(request)
    (slug,) = memory.setup.slugs((request.query_params.get("agent", ""),))
    planned = memory.setup.prepare(slug, None if mode == REMOVE else cast("Mode", mode)).planned
    option = ["--remove"] if mode == REMOVE else [] if mode == "both" else ["--mode", mode]
    privacy = memory.config.privacy
    steps = [
        (step, [(_LINES.get(line[:1], ""), without_secrets(line, privacy)) for line in step.diff])
        for step in planned.steps
    ]
    return "_plan.html", {
        "planned": planned,
        "steps": steps,
        "command": shlex.join(["recollect", "setup", slug, *option]),
    }


def _mode(request: Request) -> str:
    mode = request.query_params.get("mode", "") or "both"
    if mode not in (*MODES, REMOVE):
        raise UsageError(f"{mode!r} is not a set-up mode", hint=f"mode is one of {', '.join(MODES)}, {REMOVE}")
    return mode
