"""Versions, as tools print them and as manifests state them: quoted facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.insights.learnings.extraction.attempts import Attempts
from recollect.insights.learnings.extraction.candidates import Draft, Place, evidence_of
from recollect.insights.learnings.extraction.observed import Observed, SimpleCommand
from recollect.insights.learnings.extraction.places import below
from recollect.insights.learnings.identity import bounded
from recollect.model.events import Event
from recollect.model.payloads import ToolCall, ToolResult
from recollect.model.text import paths_in

_NUMBER: Final = re.compile(r"\bv?\d+\.\d+(?:\.\d+)*(?:[-+.][0-9A-Za-z.]{1,24})?\b")
_ASKS: Final = frozenset(("--version", "-V", "-version", "version", "-v"))
_ASKED_BY_V: Final = frozenset("node npm pnpm yarn bun ruby php go deno".split())
"""Programs of which `-v` prints the version; of others it means verbose."""
_LINE: Final = 120
_NUMBERED: Final = re.compile(r"^ {0,8}\d{1,6}(?:→|\t|\| ?|: )", re.MULTILINE)
"""Line numbers with which agents show files to the model."""
_MANIFESTS: Final[dict[str, tuple[str, ...]]] = {
    "package.json": (r'"(?:node|npm|pnpm|yarn|bun)"\s*:\s*"[^"\n]{1,40}"', r'"packageManager"\s*:\s*"[^"\n]{1,60}"'),
    "pyproject.toml": (r'^(?:requires-python|python)\s*=\s*"[^"\n]{1,40}"',),
    "Cargo.toml": (r'^rust-version\s*=\s*"[^"\n]{1,20}"', r'^edition\s*=\s*"\d{4}"'),
    "go.mod": (r"^go \d+\.\d+(?:\.\d+)?$",),
    "rust-toolchain.toml": (r'^channel\s*=\s*"[^"\n]{1,30}"',),
    ".nvmrc": (r"\A\s*v?[\w./*-]{1,20}\s*\Z",),
    ".node-version": (r"\A\s*v?[\w./-]{1,20}\s*\Z",),
    ".python-version": (r"\A\s*[\w./-]{1,20}\s*\Z",),
    ".ruby-version": (r"\A\s*[\w./-]{1,20}\s*\Z",),
    ".tool-versions": (r"^[a-z][\w-]{1,30} \d[\w.-]{0,20}$",),
    "mise.toml": (r"^(?:go|node|python|ruby|java|rust|deno|bun|golangci-lint)\s*=\s*\"[^\"\n]{1,20}\"",),
    ".mise.toml": (r"^(?:go|node|python|ruby|java|rust|deno|bun|golangci-lint)\s*=\s*\"[^\"\n]{1,20}\"",),
}
"""Files that state versions, by name, and the lines that do."""
_ENGINES: Final = re.compile(r'"(?:engines|volta|devEngines)"\s*:\s*\{[^{}]{0,400}\}')
_FOREIGN: Final = (
    "node_modules",
    "vendor",
    "site-packages",
    ".venv",
    "venv",
    "third_party",
    "testdata",
    "fixtures",
    "target",
)
_MOST_OF_A_FILE: Final = 6


def versions(observed: Observed, attempts: Attempts) -> Iterator[Draft]:
    """Yield the versions that tools printed when asked for them, and those that manifests state that were read."""
    yield from _printed(attempts)
    yield from _stated(observed, attempts)


def _printed(attempts: Attempts) -> Iterator[Draft]:
    for shell in attempts.shells:
        if "ersion" not in shell.command and " -v" not in shell.command and " -V" not in shell.command:
            continue
        commands = attempts.parsed(shell)
        asking = [simple for simple in commands if _asks(simple)]
        result = shell.result.payload
        if not asking or not isinstance(result, ToolResult) or result.ok is False or result.exit_code:
            continue
        if any(not _asks(simple) and simple.program not in ("cd", "true") for simple in commands):
            continue
        lines = [line.strip() for line in attempts.output(shell.result).splitlines() if line.strip()]
        telling = [line for line in lines if _NUMBER.search(line)]
        if len(asking) == 1 and telling:
            telling = telling[:1]
        if len(telling) != len(asking) or (len(asking) > 1 and len(lines) != len(asking)):
            continue
        for simple, line in zip(asking, telling, strict=True):
            quote = bounded(line.replace("`", "'").replace('"', "'"), _LINE)
            text = f'`{simple.program} {simple.words[1]}` printed "{quote}".'
            evidence = [evidence_of(shell.result, "tool", line), evidence_of(shell.call, "assistant", shell.command)]
            yield Draft("fact", text, Place("repo"), "assistant", evidence, {"printed by the tool": 0.7}, quoted=quote)


def _asks(simple: SimpleCommand) -> bool:
    words = simple.words
    if (
        len(words) != 2
        or words[1] not in _ASKS
        or simple.joint == "|"
        or not re.fullmatch(r"[\w.+-]{1,30}", simple.program)
    ):
        return False
    return words[1] != "-v" or simple.program in _ASKED_BY_V


def _stated(observed: Observed, attempts: Attempts) -> Iterator[Draft]:
    wanted: dict[str, str] = {}
    for event in observed.events:
        payload = event.payload
        if isinstance(payload, ToolCall) and payload.canonical == "read" and payload.call_id:
            paths = paths_in(payload.arguments)
            if paths and _name(paths[0]) in _MANIFESTS:
                path = below(paths[0], attempts.root)
                if path and not set(path.split("/")[:-1]).intersection(_FOREIGN):
                    wanted[payload.call_id] = path
        elif isinstance(payload, ToolResult) and wanted and payload.call_id in wanted and payload.ok is not False:
            yield from _lines_of(wanted.pop(payload.call_id), event, attempts.output(event))


def _lines_of(path: str, event: Event, output: str) -> Iterator[Draft]:
    text = _NUMBERED.sub("", output)
    name = _name(path)
    if name == "package.json":
        engines = _ENGINES.search(text)
        manager = re.search(_MANIFESTS[name][1], text)
        stated = re.findall(_MANIFESTS[name][0], engines[0]) if engines else []
        stated += [manager[0]] if manager else []
    else:
        stated = [found.strip() for pattern in _MANIFESTS[name] for found in re.findall(pattern, text, re.MULTILINE)]
    for line in stated[:_MOST_OF_A_FILE]:
        quote = " ".join(line.split())
        evidence = [evidence_of(event, "tool", quote)]
        words = f"`{path}` says: {quote}"
        yield Draft("fact", words, Place("path", path), "tool", evidence, {"stated in a manifest": 0.65}, quoted=quote)


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
