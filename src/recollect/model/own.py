"""What is Recollect's own in a transcript: its tools, its quoted blocks, its internal sessions.

None of it is a memory: what was recalled would be remembered again, and again. One place knows the marks; whoever
writes a block and whoever leaves it out read them here.
"""

from __future__ import annotations

import re

SERVER = "recollect"
"""The name under which every agent registers our MCP server; it stands in the names of its tools."""
BLOCK_TAG = "recollect-memory"
"""The element that every block of recalled text stands in, wherever it is given to an agent."""
INTERNAL_VARIABLE = "RECOLLECT_INTERNAL"
"""Set to 1 in the environment of a program that Recollect itself runs: its sessions are not memories."""

_OWN_TOOL = re.compile(
    rf"(?:mcp__|mcp_|mcp\.|functions\.)?(?:plugin_{SERVER}_)?(?:{SERVER})(?:__|_|\.|-|/|:).+", re.IGNORECASE
)
_BLOCK = re.compile(rf"<{BLOCK_TAG}\b[^>]*>.*?(?:</{BLOCK_TAG}\s*>|\Z)", re.IGNORECASE | re.DOTALL)


def is_own_tool(name: str) -> bool:
    """Tell whether a tool as an agent names it is one of ours: `mcp__recollect__search`, `recollect_open`,
    `mcp__plugin_recollect_recollect__search`. A bare `search` is anybody's."""
    return _OWN_TOOL.fullmatch(name.strip()) is not None


def without_own_blocks(text: str) -> str:
    """Return a text without the blocks of recalled text in it; one that is not closed goes to the end."""
    return _BLOCK.sub("", text) if f"<{BLOCK_TAG}" in text.lower() else text
