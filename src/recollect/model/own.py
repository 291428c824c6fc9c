"""What is Recollect's own in a transcript: its tools, its quoted blocks, its internal sessions.

None of it is a memory: what was recalled would be remembered again, and again. One place knows the marks; whoever
writes a block and whoever leaves it out read them here.
"""

from __future__ import annotations

import re
from typing import Any

SERVER = "recollect"
"""The name under which every agent registers our MCP server; it stands in the names of its tools."""
BLOCK_TAG = "recollect-memory"
"""The element that every block of recalled text stands in, wherever it is given to an agent."""
INTERNAL_ORIGINATOR = "recollect"
"""The `originator` of a session that a program of ours began: what a hook reports that saw `wire.INTERNAL_VARIABLE`."""
RECALLING_VERBS = (
    "search|sessions|show|timeline|decisions|blame|context|digest|learnings|actions|diary|facts|retro|stats|usage"
    "|export|reveal"
)
"""The verbs of the command line that print what is in the memory. `sync` or `doctor` print nothing of it."""

# Texts, compiled by `re` when they are first used: a hook has no time for patterns that it does not meet.
_OWN_TOOL = rf"(?:mcp__|mcp_|mcp\.|functions\.)?(?:plugin_{SERVER}_)?(?:{SERVER})(?:__|_|\.|-|/|:).+"
# Where a block stands in JSON inside JSON, the encoder of some agents (Go's) has escaped its angle brackets.
_OPEN, _CLOSE = r"(?:<|\\u003c|&lt;)", r"(?:>|\\u003e|&gt;)"
_BLOCK = rf"{_OPEN}{BLOCK_TAG}\b(?:(?!{_CLOSE}).){{0,200}}{_CLOSE}.*?(?:{_OPEN}/{BLOCK_TAG}\s*{_CLOSE}|\Z)"
_SHELL = "shell"
_COMMAND_KEYS = ("command", "cmd", "commands", "script", "input", "CommandLine", "command_line", "code")
_SERVER_KEYS = ("server_name", "serverName", "server", "mcp_server", "mcpServer", "ServerName")
"""Where the arguments of a tool that runs any server's tool (`use_mcp_tool`) name the server."""
_OWN_COMMAND = (
    # At the start of a command: after the start of a line or a separator, variables that are set, and a runner.
    r"(?:^|[;&|\n(`{])\s*(?:(?:sudo|env|time|exec|command|nohup|nice|uvx|uv run|pipx run)\s+)*(?:\w+=\S*\s+)*"
    rf"(?:(?:\S*[/\\])?{SERVER}(?:\.exe)?|(?:\S*/)?python[\d.]*\s+-m\s+{SERVER})\s+(?:--?\S+\s+)*"
    rf"(?:{RECALLING_VERBS})(?![\w-])"
)


def is_own_tool(name: str) -> bool:
    """Tell whether a tool as an agent names it is one of ours: `mcp__recollect__search`, `recollect_open`,
    `mcp__plugin_recollect_recollect__search`. A bare `search` is anybody's."""
    return re.fullmatch(_OWN_TOOL, name.strip(), re.IGNORECASE) is not None


def is_own_call(name: str, canonical: str, arguments: Any) -> bool:
    """Tell whether a tool call asks the memory: a tool of ours by its name, one of our server by the arguments, or a
    shell command of which a part is `recollect` with a verb of `RECALLING_VERBS`.

    canonical: see `model.tools.canonical_tool`. arguments: decoded JSON of any form.
    """
    if SERVER in name.lower() and is_own_tool(name):
        return True
    if not isinstance(arguments, dict):
        return canonical == _SHELL and isinstance(arguments, str) and is_own_command(arguments)
    if any(arguments.get(key) == SERVER for key in _SERVER_KEYS):
        return True
    return canonical == _SHELL and any(is_own_command(_joined(arguments.get(key))) for key in _COMMAND_KEYS)


def is_own_command(command: str) -> bool:
    """Tell whether a shell command prints what is in the memory, in whole or in part."""
    return SERVER in command and re.search(_OWN_COMMAND, command) is not None


def without_own_blocks(text: str) -> str:
    """Return a text without the blocks of recalled text in it; one that is not closed goes to the end."""
    return re.sub(_BLOCK, "", text, flags=re.IGNORECASE | re.DOTALL) if BLOCK_TAG in text else text


def _joined(command: Any) -> str:
    """Return a command as one text: of a list for `execve`, the script of a shell alone."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list):
        return ""
    words = [word for word in command if isinstance(word, str)]
    is_script = len(words) > 2 and words[1].startswith("-") and words[1].endswith("c")
    return words[-1] if is_script else " ".join(words)
