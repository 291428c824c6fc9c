"""The steps of a shell script and the files that each writes.

Reads what `insights.commands` leaves out: the bodies of here-documents and every redirection. Expands nothing. Linear,
over at most 64 KiB of a script and 2,000 steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from recollect.late import late_pattern
from recollect.model.payloads import ToolCall

MAX_CHARS = 64 * 1024
MAX_STEPS = 2_000
_FOLDER_KEYS = ("workdir", "cwd", "dir_path", "working_directory", "directory")
_TOKEN = late_pattern(
    r"""(?P<blank>(?:[ \t\r]|\\\n)++)
      | (?P<comment>(?<![^\s;|&()])\#[^\n]*+)
      | (?P<operator>[0-9]?+[<>][<>&|-]?+[<-]?+|&>>?+|[;|&()\n]++)
      | (?P<word>(?:[^\s;|&<>()'"\\]++|\\.|'[^']*+'|"(?:[^"\\]++|\\.)*+")++)""",
    re.X | re.S,
)
_QUOTED = late_pattern(r"""'(?P<single>[^']*+)'|"(?P<double>(?:[^"\\]++|\\.)*+)"|\\(?P<escaped>.)""", re.S)
_ESCAPED = late_pattern(r"\\([\\\"$`])")
_HERE = late_pattern(r"<<-?+[ \t]*+(['\"]?+)([A-Za-z_][A-Za-z0-9_]*+)\1")
_ASSIGNMENT = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*+\+?=")
_DRIVE = late_pattern(r"[A-Za-z]:\\[^'\"]*+$")
_LEADS_IN = frozenset("sudo command time nohup env exec then do else { ! if while".split())


class Redirection(NamedTuple):
    """Output that goes to a file; is_append: `>>`."""

    path: str
    is_append: bool


class Step(NamedTuple):
    """A simple command of a script: its words without quotes, the files that its output goes to, and its here-document
    ("" for none)."""

    words: tuple[str, ...]
    outputs: tuple[Redirection, ...]
    document: str


def folder_of(call: ToolCall) -> str:
    """Return the working directory that a shell call names, "" where it names none."""
    given: Any = call.arguments
    if not isinstance(given, dict):
        return ""
    return next((given[key] for key in _FOLDER_KEYS if isinstance(given.get(key), str) and given[key]), "")


def steps_of(script: str) -> Iterator[Step]:
    """Yield the steps of a script in order; what cannot be read (an open quote) ends it."""
    text, documents = _without_documents(script[:MAX_CHARS])
    taken = iter(documents)
    words: list[str] = []
    outputs: list[Redirection] = []
    document = ""
    redirects: str | None = None
    count = 0
    for kind, token in _tokens(text):
        if kind == "word":
            if redirects is None:
                words.append(token)
            elif ">" in redirects and not redirects.endswith("&"):
                outputs.append(Redirection(token, ">>" in redirects))
            redirects = None
        elif kind == "here":
            document = next(taken, "")
        elif "<" in token or ">" in token:
            redirects = token
        else:
            if words or outputs:
                yield Step(_led_in(words), tuple(outputs), document)
                count += 1
            if count >= MAX_STEPS:
                return
            words, outputs, document, redirects = [], [], "", None
    if words or outputs:
        yield Step(_led_in(words), tuple(outputs), document)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        here = _HERE.match(text, at)
        if here:
            yield "here", here[2]
            at = here.end()
            continue
        found = _TOKEN.match(text, at)
        if found is None or found.end() == at:
            return
        kind = found.lastgroup or ""
        if kind == "word":
            yield kind, _unquoted(found[0])
        elif kind == "operator":
            yield kind, found[0]
        at = found.end()


def _unquoted(word: str) -> str:
    """Return a word without its quotes and escapes; a path with a drive letter keeps its backslashes."""
    if _DRIVE.match(word) or not ("'" in word or '"' in word or "\\" in word):
        return word
    return _QUOTED.sub(_inside, word)


def _inside(piece: re.Match[str]) -> str:
    if piece["single"] is not None:
        return piece["single"]
    if piece["double"] is not None:
        return _ESCAPED.sub(r"\1", piece["double"])
    return "" if piece["escaped"] == "\n" else piece["escaped"]


def _without_documents(script: str) -> tuple[str, list[str]]:
    """Return the script without the bodies of its here-documents, and the bodies in order."""
    if "<<" not in script:
        return script, []
    kept: list[str] = []
    documents: list[str] = []
    waiting: list[str] = []
    body: list[str] = []
    for line in script.split("\n"):
        if waiting:
            if line.strip() == waiting[0]:
                waiting.pop(0)
                documents.append("\n".join(body))
                body = []
            else:
                body.append(line)
            continue
        kept.append(line)
        waiting = [found[2] for found in _HERE.finditer(line) if line[found.start() - 1 : found.start()] != "<"]
    if waiting:
        documents.append("\n".join(body))
    return "\n".join(kept), documents


def _led_in(words: list[str]) -> tuple[str, ...]:
    """Return a command without what precedes its name: assignments, `sudo`, `then` …"""
    at = 0
    while at < len(words) and (words[at] in _LEADS_IN or _ASSIGNMENT.match(words[at])):
        at += 1
    return tuple(words[at:])
