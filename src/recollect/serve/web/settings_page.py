"""The configuration, in the groups of its keys; and what setup would write for each agent."""

from __future__ import annotations

import shlex
from itertools import groupby
from typing import Any, cast

from starlette.requests import Request

from recollect.errors import UsageError
from recollect.memory import Memory, Mode
from recollect.serve.web.periods import choices

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
