"""The Markdown of a chat history, taken apart: chats, and the blocks of a chat.

A line that starts with `#### ` was typed, one that starts with `> ` was printed by Aider, every other was said by the
model. Aider ends its own lines with two spaces; models write headings and quotations too, without them.
Evidence: format notes: Aider, "Grammar" and traps; aider/io.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

HEADER = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d)?)[ \t]*\r?$", re.MULTILINE)
_OWN_END = "  "
_PROMPT = "#### "
_FENCE = "```"
_STATUS = re.compile(
    r"> (?:Tokens: [\d.,]+k? (?:sent|tokens)|Applied edit to |Commit [0-9a-f]{7,40} |Creating empty file |"
    r"Aider v\d|Main model: |Models?: |\^C )"
)
"""Lines that Aider prints and nobody else writes; some versions end them without spaces."""

Kind = Literal["user", "printed", "said"]


class Chat(NamedTuple):
    """One chat: the time in its header ("" for what stands before the first header), and its text."""

    started: str
    body: str
    is_last: bool


class Block(NamedTuple):
    """Lines of one kind that stand together, without their marks."""

    kind: Kind
    text: str


def chats_of(history: str) -> list[Chat]:
    """Return the chats of a file in order. Text before the first header is a chat whose beginning was cut off."""
    headers = list(HEADER.finditer(history))
    first = headers[0].start() if headers else len(history)
    found = [Chat("", history[:first], not headers)] if history[:first].strip() else []
    for i, header in enumerate(headers):
        is_last = i + 1 == len(headers)
        end = len(history) if is_last else headers[i + 1].start()
        found.append(Chat(header[1], history[header.end() : end], is_last))
    return found


def blocks_of(body: str) -> Iterator[Block]:
    """Yield the blocks of a chat in order. An empty line ends a prompt: inside one, empty lines are marked too."""
    lines = body.replace("\r\n", "\n").split("\n")
    is_strict = any(line.startswith(_PROMPT) and line.endswith(_OWN_END) for line in lines)
    kind: Kind | None = None
    held: list[str] = []
    is_fenced = False
    for line in lines:
        found = _kind_of(line, kind, is_strict=is_strict, is_fenced=is_fenced)
        if found == "said":
            is_fenced ^= line.startswith(_FENCE)
        else:
            is_fenced = is_fenced and not line
        if found is None:
            if kind == "said":
                held.append(line)
            elif kind == "user":
                yield from _closed(kind, held)
                kind, held = None, []
            continue
        if found != kind:
            yield from _closed(kind, held)
            kind, held = found, []
        held.append(_unmarked(line, found))
    yield from _closed(kind, held)


def _kind_of(line: str, before: Kind | None, *, is_strict: bool, is_fenced: bool) -> Kind | None:
    """Return what a line is; None for an empty one, which belongs to what is said around it."""
    is_own = line.endswith(_OWN_END)
    if line.startswith("####") and (line.startswith(_PROMPT) or not line[4:].strip()):
        return "user" if is_own or not (is_strict or is_fenced) else "said"
    if line.startswith("> ") or line.rstrip() == ">":
        return "printed" if is_own or before != "said" or _STATUS.match(line) else "said"
    return "said" if line.strip() else None


def _unmarked(line: str, kind: Kind) -> str:
    if kind == "user":
        return line[len(_PROMPT) :].rstrip()
    return line[2:].rstrip() if kind == "printed" else line


def _closed(kind: Kind | None, lines: list[str]) -> Iterator[Block]:
    body = "\n".join(lines).strip("\n")
    if kind is not None and (body.strip() or kind == "user"):
        yield Block(kind, body)
