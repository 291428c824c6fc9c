"""The only list of agents that `recollect setup` can set up; each is loaded when it is asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from recollect.agents.installing.contract import Install

_INSTALLS: tuple[str, ...] = (
    "claude",
    "codex",
    "gemini",
    "qwen",
    "kimi",
    "cursor",
    "opencode",
    "codewhale",
    "grok",
    "vscode",
    "copilot",
    "windsurf",
    "zed",
    "goose",
    "hermes",
    "pi",
)
"""Folders below `recollect.agents` whose `install` has an `INSTALL`, in the order in which they are shown."""


@cache
def installs() -> dict[str, Install]:
    """Return every install by slug. The caller must not change it."""
    found: dict[str, Install] = {}
    for folder in _INSTALLS:
        install: Install = import_module(f"recollect.agents.{folder}.install").INSTALL
        found[install.slug] = install
    return found
