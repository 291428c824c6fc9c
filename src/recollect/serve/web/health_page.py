"""The memory: checks, ingest, storage, secrets (never shown)."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from recollect.memory import Memory

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
