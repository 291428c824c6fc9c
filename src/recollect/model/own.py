"""Recognises Recollect's own traces in transcripts: its tools, quoted blocks, internal sessions.

None of it is a memory: what was recalled would be remembered again, and again. One place knows the marks; whoever
writes a block and whoever leaves it out read them here.
"""

from __future__ import annotations

import re
from typing import Any

from recollect.verbs import RECALLING

SERVER = "recollect"
"""The name under which every agent registers our MCP server; it stands in the names of its tools."""
BLOCK_TAG = "recollect-memory"
"""The element that every block of recalled text stands in, wherever it is given to an agent."""
INTERNAL_ORIGINATOR = "recollect"
"""The `originator` of a session that a program of ours began: what a hook reports that saw `wire.INTERNAL_VARIABLE`."""

# Texts, compiled by `re` when they are first used: a hook has no time for patterns that it does not meet.
_OWN_TOOL = rf"(?:mcp__|mcp_|mcp\.|functions\.)?(?:plugin_{SERVER}_)?(?:{SERVER})(?:__|_|\.|-|/|:).+"
# Where a block stands in JSON inside JSON, the encoder of some agents (Go's) has escaped its angle brackets.
_OPEN, _CLOSE = r"(?:<|\\u003c|&lt;)", r"(?:>|\\u003e|&gt;)"
_BLOCK = rf"{_OPEN}{BLOCK_TAG}\b(?:(?!{_CLOSE}).){{0,200}}{_CLOSE}.*?(?:{_OPEN}/{BLOCK_TAG}\s*{_CLOSE}|\Z)"
_WORD = r"(?:\"[^\"]*\"|'[^']*'|\S)+"
_SHELL = "shell"
_COMMAND_KEYS = ("command", "cmd", "commands", "script", "input", "CommandLine", "command_line", "code")
SERVER_KEYS = ("server_name", "serverName", "server", "mcp_server", "mcpServer", "ServerName")
"""Where the arguments of a tool that runs any server's tool (`use_mcp_tool`) name the server."""
_RUNNERS = frozenset(
    "sudo doas env time exec command nohup nice timeout stdbuf xargs watch bash sh zsh fish dash cmd powershell pwsh "
    "uv uvx pipx poetry hatch pdm rye mise run tool py if then else elif while until do ! {".split()
)
"""What may stand before a command, besides Python: programs that run it, and words of the shell."""


def is_own_tool(name: str) -> bool:
    """Return whether a tool as an agent names it is one of ours: `mcp__recollect__search`, `recollect_open`,
    `mcp__plugin_recollect_recollect__search`. A bare `search` is anybody's."""
    return re.fullmatch(_OWN_TOOL, name.strip(), re.IGNORECASE) is not None


def is_own_call(name: str, canonical: str, arguments: Any) -> bool:
    """Return whether a tool call asks the memory: a tool of ours by its name, one of our server by the arguments, or a
    shell command of which a part is `recollect` with a verb that recalls.

    canonical: see `model.tools.canonical_tool`. arguments: decoded JSON of any form.
    """
    if SERVER in name.lower() and is_own_tool(name):
        return True
    if not isinstance(arguments, dict):
        return canonical == _SHELL and isinstance(arguments, str) and is_own_command(arguments)
    if any(arguments.get(key) == SERVER for key in SERVER_KEYS):
        return True
    return canonical == _SHELL and any(is_own_command(_joined(arguments.get(key))) for key in _COMMAND_KEYS)


def is_own_command(command: str) -> bool:
    """Return whether a shell command prints what is in the memory, in whole or in part.

    Each simple command is looked at: `recollect` and a verb that recalls, perhaps behind variables that are set and
    programs that run it (`uv run`, `python -m`, `bash -c`). Quotes are followed as far as that takes.
    """
    if SERVER not in command:
        return False
    parts = re.split(r"[;&|\n(`]", command.replace("\\\n", " "))
    return any(_recalls(re.findall(_WORD, part)) for part in parts if SERVER in part)


def _recalls(words: list[str]) -> bool:
    is_run = is_value = False  # behind a program that runs another; behind an option that may have a value
    for at, word in enumerate(words):
        bare = word.strip("\"'")
        is_quoted = word[:1] in ("'", '"') and word[:1] != word[-1:]
        if (is_value or not is_quoted) and _is_program(bare) and _verb(words[at + 1 :]) in RECALLING:
            return True
        name = bare.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
        if is_value and " " in bare:
            return is_own_command(bare)
        if is_value and words[at - 1] == "-m":  # another module of Python: what follows are its arguments
            return False
        if name in _RUNNERS or name.startswith("python"):
            is_run, is_value = True, False
        elif is_run and (word.startswith("-") or word.lower() == "/c"):
            is_value = "=" not in word
        elif is_value or re.match(r"\w+=", word) or (is_run and word[0].isdigit()):
            is_value = False
        else:
            return False
    return False


def _is_program(word: str) -> bool:
    name = word.replace("\\", "/").rpartition("/")[2].removeprefix("-m")
    return name == SERVER or name.startswith(f"{SERVER}.")


def _verb(words: list[str]) -> str:
    """Return the first word that is no option."""
    word = next((word for word in words if not word.startswith("-")), "")
    return "".join(re.findall(r"^[\w-]+", word))


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
