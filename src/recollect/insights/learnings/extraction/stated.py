"""Extracts what tools, files and final messages state: versions, test names, remaining work."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from recollect.insights.commands import Simple
from recollect.insights.language.left_open import DEFER, LEFT, PUT_OFF, SAYS_LEFT, put_off_in
from recollect.insights.language.substance import makes_sense
from recollect.insights.learnings.action_words import asks_same, worded
from recollect.insights.learnings.extraction.attempts import Attempts
from recollect.insights.learnings.extraction.candidates import Draft, Place, evidence_of
from recollect.insights.learnings.extraction.places import below
from recollect.insights.learnings.extraction.spoken import left_open, priority_of
from recollect.insights.learnings.identity import bounded
from recollect.insights.session_events import SessionEvents
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.own import without_own_blocks
from recollect.model.payloads import AssistantMessage, FileEdit, ToolCall, ToolResult, UserMessage
from recollect.model.text import paths_in

_NUMBER: Final = late_pattern(r"\bv?\d+\.\d+(?:\.\d+)*(?:[-+.][0-9A-Za-z.]{1,24})?\b")
_ASKS: Final = frozenset(("--version", "-V", "-version", "version", "-v"))
_ASKED_BY_V: Final = frozenset("node npm pnpm yarn bun ruby php go deno".split())
"""Programs of which `-v` prints the version; of others it means verbose."""
_LINE: Final = 120
_NUMBERED: Final = late_pattern(r"^ {0,8}\d{1,6}(?:→|\t|\| ?|: )", re.MULTILINE)
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
_ENGINES: Final = late_pattern(r'"(?:engines|volta|devEngines)"\s*:\s*\{[^{}]{0,400}\}')
_FOREIGN: Final = "node_modules vendor site-packages .venv venv third_party testdata fixtures target".split()
_MOST_OF_A_FILE: Final = 6


def versions(attempts: Attempts) -> Iterator[Draft]:
    """Yield the versions that tools printed on request, and those in manifests that were read."""
    yield from _printed(attempts)
    yield from _stated(attempts)


def _printed(attempts: Attempts) -> Iterator[Draft]:
    for shell in attempts.shells:
        command, commands = shell.one.exact, shell.one.commands
        if "ersion" not in command and " -v" not in command and " -V" not in command:
            continue
        asking = [simple for simple in commands if _asks(simple)]
        if not asking or shell.one.ending not in ("ok", "unsaid"):
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
            evidence = [evidence_of(shell.result, "tool", line), evidence_of(shell.call, "assistant", command)]
            yield Draft("fact", text, Place("repo"), "assistant", evidence, {"printed by the tool": 0.7}, quoted=quote)


def _asks(simple: Simple) -> bool:
    words = simple.words
    if (
        len(words) != 2
        or words[1] not in _ASKS
        or simple.joint == "|"
        or not re.fullmatch(r"[\w.+-]{1,30}", simple.program)
    ):
        return False
    return words[1] != "-v" or simple.program in _ASKED_BY_V


def _stated(attempts: Attempts) -> Iterator[Draft]:
    wanted: dict[str, str] = {}
    for event in attempts.session.of(ToolCall, ToolResult):
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


_FORMS: Final = (
    (late_pattern(r"test_\w+\.py"), "test_*.py"),
    (late_pattern(r"\w+_test\.(?P<ext>py|go|rb|dart|ts|exs)"), "*_test.{ext}"),
    (late_pattern(r"[\w.-]+\.(?P<kind>test|spec|e2e)\.(?P<ext>[cm]?[jt]sx?)"), "*.{kind}.{ext}"),
    (late_pattern(r"\w+_spec\.rb"), "*_spec.rb"),
    (late_pattern(r"\w+Tests?\.(?P<ext>java|kt|cs|swift|php)"), "*Test.{ext}"),
)
_FEWEST: Final = 3
"""Files of one form from which it counts as the way of this repository."""


def names_of_tests(attempts: Attempts) -> Iterator[Draft]:
    """Yield the form of the names of test files, where at least three different ones were edited and no other form."""
    seen: dict[str, dict[str, Event]] = defaultdict(dict)
    for event in attempts.session.of(FileEdit):
        payload = event.payload
        if (
            isinstance(payload, FileEdit)
            and payload.operation in ("create", "modify")
            and "est" in payload.path + "spec"
        ):
            path = below(payload.path, attempts.root)
            form = _form(path.rpartition("/")[2]) if path else ""
            if path and form:
                seen[form].setdefault(path, event)
    by_extension: dict[str, list[str]] = defaultdict(list)
    for form in seen:
        by_extension[form.rpartition(".")[2]].append(form)
    for forms in by_extension.values():
        if len(forms) == 1 and len(seen[forms[0]]) >= _FEWEST:
            files = seen[forms[0]]
            evidence = [evidence_of(event, "assistant", path) for path, event in list(files.items())[:5]]
            features = {"files named so": min(0.65, 0.35 + 0.05 * len(files))}
            yield Draft(
                "pattern", f"Test files are called `{forms[0]}`.", Place("repo"), "assistant", evidence, features
            )


def _form(name: str) -> str:
    for pattern, form in _FORMS:
        match = pattern.fullmatch(name)
        if match is not None:
            return form.format(**match.groupdict())
    return ""


_MOST: Final = 6
_TAIL: Final = 6_000
"""Characters at the end of the last message that are read."""
_ALIKE: Final = 6
"""Letters in which a word and another form of it agree: "migration", "migrate"."""
_LEAST: Final = 4
"""Letters of a word's stem that tells what is spoken of: "of" and "old" are in much."""
_HEADING: Final = late_pattern(
    rf"^[\s#*_>-]{{0,8}}{LEFT}\s*(?:\([^()\n]{{0,40}}\))?\s*[*_]{{0,3}}\s*[:：]?\s*[*_]{{0,3}}\s*$", re.IGNORECASE
)
_ITEM: Final = late_pattern(r"^\s{0,6}(?:[-*+•]|\d{1,2}[.)])\s+(?:\[ \]\s*)?(?P<said>\S.*)$")
_DONE_ITEM: Final = late_pattern(r"^\s{0,6}(?:[-*+•]|\d{1,2}[.)])\s+(?:\[[xX]\]|✅|✔|☑)")
_NOTHING: Final = late_pattern(
    r"\W*(?:none|nothing|n/a|nichts|keine?|all done|no\b|-)\W*$|.{0,20}\bnothing (?:left|remaining)", re.IGNORECASE
)
_GO_AHEAD: Final = late_pattern(
    r"\W*(?:yes|yep|yeah|sure|ok|okay|go|continue|please|do|proceed|ja|jo|klar|gerne|mach|weiter|oui|vas-y|sí|si|dale|sim|da"
    r"|да|давай|好|继续|はい|お願い)\b.{0,60}\Z",
    re.IGNORECASE | re.DOTALL,
)
"""An answer that has the assistant do what it listed."""


def left_to_do(session: SessionEvents, asked: Sequence[str] = ()) -> list[Draft]:
    """Return the work that the assistant's closing messages leave open, as actions; at most twelve, the last ones.

    A message closes a turn if no tool is called next. What is spoken of again in the session, or answered with a
    go-ahead, is no longer left by it. asked: what the person's own words ask for, which isn't told twice.
    """
    talk = [event for event in session.of(UserMessage, AssistantMessage, ToolCall) if _is_talk(event)]
    asked = [re.sub(rf"\b{DEFER}\b", "", one, flags=re.IGNORECASE) for one in asked]
    drafts: list[Draft] = []
    for at, event in enumerate(talk):
        payload = event.payload
        if not isinstance(payload, AssistantMessage):
            continue
        following = talk[at + 1].payload if at + 1 < len(talk) else None
        if isinstance(following, ToolCall) or (isinstance(following, UserMessage) and _GO_AHEAD.match(following.text)):
            continue
        text = without_own_blocks(payload.text)[-_TAIL:]
        for said in _unique((*_items(text), *(text[one.start : one.end] for one in left_open(text)))):
            if not (_is_taken_up(said, talk[at + 1 :]) or any(asks_same(said, one) for one in asked)):
                evidence = [evidence_of(event, "assistant", said)]
                features = {"left to do at the end": 0.5}
                drafts.append(Draft("action", said, Place("repo"), "assistant", evidence, features, priority_of(said)))
    return drafts[-2 * _MOST :]


def _is_talk(event: Event) -> bool:
    payload = event.payload
    if event.is_sidechain:
        return False
    if isinstance(payload, UserMessage):
        return payload.origin != "injected"
    return isinstance(payload, ToolCall) or (isinstance(payload, AssistantMessage) and bool(payload.text.strip()))


def _unique(found: Iterable[str]) -> list[str]:
    """Return what was found without what an earlier one says a part of, or the whole."""
    kept: list[str] = []
    for said in found:
        if not any(said in other or other in said for other in kept):
            kept.append(said)
    return kept


def _is_taken_up(said: str, after: Sequence[Event]) -> bool:
    """Return whether what is said, or done, later has most words of what was left."""
    stems = [stem[:-1][:_ALIKE].lower() for stem in worded(said).stems if len(stem) >= _LEAST]
    for event in after:
        payload = event.payload
        text = str(payload.arguments) if isinstance(payload, ToolCall) else getattr(payload, "text", "")
        if isinstance(payload, UserMessage) and SAYS_LEFT.match(text):
            continue  # it is left still
        low = text[:_TAIL].lower()
        if 2 * sum(stem in low for stem in stems) > len(stems):
            return True
    return False


def _items(text: str) -> list[str]:
    found: list[str] = []
    is_listing = is_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            is_code, is_listing = not is_code, False
        elif is_code:
            continue
        elif _HEADING.match(line):
            is_listing = True
        elif (":" in line or "：" in line) and (inline := SAYS_LEFT.match(line)):
            is_listing = False
            found.append(inline["said"])
        elif put_off := list(put_off_in(line)):
            is_listing = False
            found += put_off
        elif is_listing and line.strip():
            item = _ITEM.match(line)
            if item is None or _DONE_ITEM.match(line):
                is_listing = item is not None or line.startswith((" ", "\t"))
            else:
                found.append(item["said"])
    plain = (PUT_OFF.sub("", re.sub(r"[*_`]{2,}", "", said).strip()).rstrip() for said in found)
    return [said for said in plain if len(said) > 7 and not _NOTHING.match(said) and makes_sense(said)][:_MOST]
