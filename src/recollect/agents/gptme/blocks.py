"""Tool calls in the text of a message, in gptme's three spellings, and the thoughts before them.

Markdown: a fenced block whose info string begins with a tool's name (```` ```patch a.py ````). XML: `<tool-use>` around
an element of the tool's name. Function calls: `@tool(call id): {json}`.
Evidence: gptme, `codeblock.py`, `tools/base.py`.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec

TOOLS = frozenset((
    "shell", "ipython", "save", "append", "patch", "morph", "read", "browser", "tmux", "gh", "subagent", "rag",
    "vision", "screenshot", "computer", "todo", "todowrite", "chats", "complete", "choice", "form", "lesson", "restart",
    "mcp", "precommit", "autocommit", "patch_many", "elicit", "hashline_edit",
))  # fmt: skip
"""Languages that only a call has."""
ALSO_TOOLS = {"bash": "shell", "sh": "shell", "python": "ipython", "py": "ipython"}
"""Languages that examples have too; older versions ran such blocks."""
_FENCE = "```"
_JSON = json.JSONDecoder(strict=False)
"""Unlike msgspec's, it says where a value ends."""
_THOUGHT = re.compile(r"\s*<(think|thinking)>\n?(.*?)\n?</\1>\s*", re.DOTALL)
_SIGNATURE = re.compile(r"<!--\s*think-sig:.*?-->\s*", re.DOTALL)
_TOOL_USE = re.compile(
    r"<tool-use>\s*<(?P<name>[A-Za-z_][\w.-]*)(?P<args>[^<>]*)>(?P<body>.*?)</(?P=name)>\s*</tool-use>", re.DOTALL
)
_ARGS = re.compile(r"args=(?:\"([^\"]*)\"|'([^']*)')")
_FUNCTION = re.compile(r"^@(?P<name>\w+)\((?P<id>[\w\-:.]+)\):\s*(?=\{)", re.MULTILINE)
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_MAX_CALLS = 64
"""Of one message; more beginnings than that which never end are no calls, and looking for their ends takes long."""


class Call(NamedTuple):
    """A tool call in a text. is_certain: False where its language is an example's too."""

    tool: str
    args: str
    body: str
    call_id: str = ""
    arguments: Any = None
    is_certain: bool = True


class Pieces(NamedTuple):
    """A message's text without the calls that are certain, its thoughts, and its calls in order."""

    said: str
    thoughts: str
    calls: tuple[Call, ...]
    is_sealed: bool


def pieces_of(content: str) -> Pieces:
    """Return what a text says, thinks, and asks of tools."""
    unsigned = _SIGNATURE.sub("", content) if content.count("think-sig:") <= _MAX_CALLS else content
    is_sealed = len(unsigned) != len(content)
    thoughts: list[str] = []
    at = 0
    while (found := _THOUGHT.match(unsigned, at)) is not None:
        thoughts.append(found[2])
        at = found.end()
    unsigned = unsigned[at:]
    said, calls = _functions(unsigned)
    if not calls:
        said, calls = _elements(unsigned)
    if not calls:
        said, calls = _fenced(unsigned)
    return Pieces(said.strip(), "\n".join(filter(None, thoughts)), tuple(calls[:_MAX_CALLS]), is_sealed)


def _functions(content: str) -> tuple[str, list[Call]]:
    calls: list[Call] = []
    said: list[str] = []
    at = unfinished = 0
    for found in _FUNCTION.finditer(content):
        if found.start() < at or unfinished > _MAX_CALLS:
            continue
        end = _end_of_json(content, found.end())
        if end is None:
            unfinished += 1
            continue
        try:
            arguments = msgspec.json.decode(content[found.end() : end].encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        said.append(content[at : found.start()])
        calls.append(Call(found["name"], "", "", found["id"], arguments))
        at = end
    return "".join((*said, content[at:])), calls


def _end_of_json(content: str, start: int) -> int | None:
    try:
        return _JSON.raw_decode(content, start)[1]
    except (ValueError, RecursionError):
        return None


def _elements(content: str) -> tuple[str, list[Call]]:
    calls: list[Call] = []
    if content.count("<tool-use>") > _MAX_CALLS:
        return content, calls
    for found in _TOOL_USE.finditer(content):
        args = _ARGS.search(found["args"])
        body = found["body"].strip()
        for written, meant in _ENTITIES:
            body = body.replace(written, meant)
        calls.append(Call(found["name"], (args[1] or args[2] or "") if args else "", body))
    return (_TOOL_USE.sub("", content), calls) if calls else (content, calls)


def _fenced(content: str) -> tuple[str, list[Call]]:
    """Return the fenced blocks that are calls. A block without an end, as after an interruption, is none."""
    lines = content.split("\n")
    ends = _ends_of_blocks(lines)
    said: list[str] = []
    calls: list[Call] = []
    at = 0
    while at < len(lines):
        info, end = lines[at][3:].strip(), ends.get(at)
        if end is None:
            said.append(lines[at])
            at += 1
            continue
        call = _call(info, "\n".join(lines[at + 1 : end]))
        if call is not None:
            calls.append(call)
        if call is None or not call.is_certain:
            said += lines[at : end + 1]
        at = end + 1
    return "\n".join(said), calls


def _ends_of_blocks(lines: list[str]) -> dict[int, int]:
    """Return the line that closes each block. A fence with an info string opens one, also inside, a bare one closes."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, line in enumerate(lines):
        if not line.startswith(_FENCE):
            continue
        if line.strip() != _FENCE:
            opened.append(at)
        elif opened:
            ends[opened.pop()] = at
    return ends


def _call(info: str, body: str) -> Call | None:
    language, _, args = info.partition(" ")
    if language in TOOLS:
        return Call(language, args.strip(), body)
    other = ALSO_TOOLS.get(language)
    return Call(other, args.strip(), body, is_certain=False) if other is not None else None
