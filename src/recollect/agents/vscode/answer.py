"""The pieces of an answer. Markdown and the references set into it are one text; the rest are events of their own.

A mutation log tells of one piece at a time, and again when it has grown: the text that a piece belongs to is remembered
and given as a new version under the same id, which is the place where it begins.
"""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.copilot.state import storable
from recollect.agents.kit.reading import Reading
from recollect.agents.vscode.asked import Asked
from recollect.agents.vscode.calls import (
    Call,
    calls_of,
    claimed,
    give_group,
    give_shown,
    give_told,
    group_of,
    invocation_of,
)
from recollect.agents.vscode.state import MAX_RUN_BYTES, MAX_RUNS, Run, VSCodeState
from recollect.agents.vscode.tools import is_internal
from recollect.agents.vscode.values import markdown, path_of, reference
from recollect.model.payloads import AssistantMessage, Lifecycle, Thinking
from recollect.model.text import flatten

_TEXTS = frozenset(("", "markdownContent", "markdownVuln", "inlineReference"))
_SILENT = frozenset(("undoStop", "codeblockUri", "prepareToolInvocation", "mcpServersStarting",
                     "clearToPreviousToolInvocation"))  # fmt: skip
"""Marks of the interface, which say nothing and interrupt no text."""
_GROUPS = frozenset(("textEditGroup", "notebookEditGroup"))
_CALL = "toolInvocationSerialized"
_ASIDES = {
    "progressMessage": "progress",
    "progressTask": "progress",
    "progressTaskSerialized": "progress",
    "warning": "warning",
    "confirmation": "permission",
    "elicitation": "permission",
    "elicitationSerialized": "permission",
    "command": "command_offered",
    "extensions": "extensions",
    "treeData": "tree",
    "multiDiffData": "diff_shown",
    "pullRequest": "pr_link",
    "hook": "hook",
    "questionCarousel": "question",
    "workspaceEdit": "workspace_edit",
    "disabledClaudeHooks": "hook",
    "references": "references",
    "reference": "references",
    "markdownVulnerability": "warning",
}
"""Pieces that become a `lifecycle` event, and its name."""
_MARKDOWN = frozenset((
    "kind", "value", "content", "supportThemeIcons", "supportHtml", "supportAlertSyntax", "isTrusted", "baseUri",
    "uris", "vulnerabilities", "inlineReference", "name", "resolveId",
))  # fmt: skip
_THINKING = frozenset(("kind", "value", "id", "metadata", "generatedTitle"))
_FENCE = re.compile(r"\s*`{3,}\s*")


def scan(asked: Asked, response: list[Any]) -> None:
    """Note the calls, the edits and the thinking of a whole answer before it is read."""
    asked.invocations.clear()
    asked.groups.clear()
    asked.has_thinking = False
    for place, found in enumerate(response):
        _note(asked, place, mapping(found))


def _note(asked: Asked, place: int, item: dict[str, Any]) -> None:
    kind = text(item.get("kind"))
    if kind == _CALL and not is_internal(text(item.get("toolId"))):
        asked.invocations = [i for i in asked.invocations if i.place != place]
        asked.invocations.append(invocation_of(asked, place, item))
    elif kind in _GROUPS:
        asked.groups = [g for g in asked.groups if g.place != place]
        asked.groups.append(group_of(asked, place, item))
    elif kind == "thinking" and _thought(item):
        asked.has_thinking = True


def forget(reading: Reading[VSCodeState], asked: Asked, place: int) -> None:
    """Forget what stood at a place of the answer and after it."""
    asked.invocations = [i for i in asked.invocations if i.place < place]
    asked.groups = [g for g in asked.groups if g.place < place]
    kept = []
    for run in reading.now("runs"):
        if run.request == asked.request and run.start + len(run.texts) > place:
            if run.start < place:
                kept.append(Run(run.request, run.start, run.texts[: place - run.start]))
        else:
            kept.append(run)
    reading.set(runs=tuple(kept))


def read_answer(reading: Reading[VSCodeState], asked: Asked, response: list[Any], metadata: dict[str, Any]) -> None:
    """Give a whole answer, with the calls as the metadata tells them, in the order in which they are shown."""
    scan(asked, response)
    calls = calls_of(asked, metadata)
    shown_in_full = claimed(asked, calls)
    waiting = list(calls)
    start, texts = 0, list[str]()
    for place, found in enumerate(response):
        item = mapping(found)
        kind = _kind(reading, item, found)
        if kind in _TEXTS or kind in _SILENT:
            start = start if texts else place
            texts.append(_words(item, kind))
            _see_text(reading, asked, place, item, kind)
            continue
        _say(reading, asked, start, texts)
        texts = []
        if kind == _CALL:
            _read_call(reading, asked, place, item, waiting)
        elif kind not in _GROUPS:
            _read_other(reading, asked, place, found, kind)
        elif place not in shown_in_full:
            give_group(reading, asked, group_of(asked, place, item), item)
    _say(reading, asked, start, texts)
    if texts:
        _remember(reading, Run(asked.request, start, tuple(texts)))
    for call in waiting:
        asked.at_answer(reading)
        give_told(reading, call)


def _read_call(
    reading: Reading[VSCodeState], asked: Asked, place: int, item: dict[str, Any], waiting: list[Call]
) -> None:
    """Give a call where it is shown, and before it those of the metadata that are not shown at all."""
    asked.at_answer(reading)
    if is_internal(text(item.get("toolId"))):
        name = f"{asked.request}/part/{place}"
        reading.add(Lifecycle("internal_tool", text=text(item.get("toolId"))), native_id=name)
        return
    shown = invocation_of(asked, place, item)
    found = next((c for c in waiting if c.invocation is not None and c.invocation.place == place), None)
    if found is not None:
        while waiting[0] is not found and waiting[0].invocation is None:
            give_told(reading, waiting.pop(0))
        waiting.remove(found)
    give_shown(reading, asked, shown, item, found)


def read_piece(reading: Reading[VSCodeState], asked: Asked, place: int, found: Any) -> None:
    """Give one piece of an answer that a log tells of, or what it makes of the text that it belongs to."""
    item = mapping(found)
    kind = _kind(reading, item, found)
    _note(asked, place, item)
    if kind in _TEXTS or kind in _SILENT:
        _see_text(reading, asked, place, item, kind)
        run = _with_piece(reading, asked, place, _words(item, kind), is_silent=kind in _SILENT)
        if run is not None:
            _say(reading, asked, run.start, list(run.texts))
            _remember(reading, run)
        return
    _cut(reading, asked, place)
    if kind == _CALL:
        _read_call(reading, asked, place, item, [])
    elif kind in _GROUPS:
        asked.at_answer(reading)
        give_group(reading, asked, group_of(asked, place, item), item)
    else:
        _read_other(reading, asked, place, found, kind)


def _kind(reading: Reading[VSCodeState], item: dict[str, Any], found: Any) -> str:
    """Return the kind of a piece; Markdown has none. What is no piece at all has one that nothing knows."""
    kind = item.get("kind")
    if kind is None and ("value" in item or "content" in item):
        return ""
    if isinstance(found, str):
        return ""
    if not isinstance(kind, str) or not kind:
        reading.wrong("response.kind")
        return "piece"
    return kind


def _words(item: dict[str, Any], kind: str) -> str:
    """Return what a piece adds to the text around it; the fences around edits add nothing."""
    if kind in _SILENT:
        return ""
    if kind == "inlineReference":
        return reference(item)
    said = markdown(item) or markdown(item.get("content"))
    return "" if _FENCE.fullmatch(said) else said


def _see_text(reading: Reading[VSCodeState], asked: Asked, place: int, item: dict[str, Any], kind: str) -> None:
    """Take the folder that links are relative to: it is the one that the session works in."""
    if kind in _SILENT:
        return
    folder = path_of(item.get("baseUri")) if isinstance(item.get("baseUri"), dict) else ""
    folder = folder.rstrip("/") or folder
    if folder and storable(folder) != reading.now("cwd"):
        reading.set(cwd=storable(folder))
        asked.at_answer(reading)
        reading.add(Lifecycle("cwd", cwd=folder), native_id=f"{asked.request}/cwd/{place}")
    reading.extra(item, _MARKDOWN, "markdown", native_id=f"{asked.request}/part/{place}")


def _say(reading: Reading[VSCodeState], asked: Asked, start: int, texts: list[str]) -> None:
    said = "".join(texts)
    if said.strip():
        asked.at_answer(reading)
        payload = AssistantMessage(said, asked.model)
        reading.add(payload, "assistant", native_id=f"{asked.request}/said/{start}")


def _with_piece(reading: Reading[VSCodeState], asked: Asked, place: int, words: str, *, is_silent: bool) -> Run | None:
    """Return the text that a piece belongs to, with it; None for a mark that belongs to no text."""
    for run in reversed(reading.now("runs")):
        offset = place - run.start
        if run.request == asked.request and 0 <= offset <= len(run.texts):
            return Run(run.request, run.start, (*run.texts[:offset], words, *run.texts[offset + 1 :]))
    return None if is_silent else Run(asked.request, place, (words,))


def _cut(reading: Reading[VSCodeState], asked: Asked, place: int) -> None:
    """End the text that a piece of another kind now interrupts."""
    runs = [
        Run(r.request, r.start, r.texts[: place - r.start])
        if r.request == asked.request and r.start < place < r.start + len(r.texts)
        else r
        for r in reading.now("runs")
        if r.request != asked.request or r.start != place
    ]
    reading.set(runs=tuple(runs))


def _remember(reading: Reading[VSCodeState], run: Run) -> None:
    """Remember a text that may grow; of a very long one the next piece begins another."""
    others = tuple(r for r in reading.now("runs") if (r.request, r.start) != (run.request, run.start))
    try:
        size = sum(len(t.encode()) + 8 for t in run.texts)
    except UnicodeEncodeError:
        size = MAX_RUN_BYTES + 1
    kept = (*others, run) if size <= MAX_RUN_BYTES else others
    reading.set(runs=kept[-MAX_RUNS:])


def _thought(item: dict[str, Any]) -> str:
    value = item.get("value")
    if isinstance(value, list):
        return "".join(v for v in value if isinstance(v, str))
    return value if isinstance(value, str) else ""


def _read_other(reading: Reading[VSCodeState], asked: Asked, place: int, found: Any, kind: str) -> None:
    """Give thinking, an aside of the interface, or a piece that nothing knows."""
    item = mapping(found)
    name = f"{asked.request}/part/{place}"
    asked.at_answer(reading)
    if kind == "thinking":
        thought = _thought(item)
        if thought:
            reading.add(Thinking(thought), "assistant", native_id=f"{asked.request}/thinking/{place}")
        title = text(item.get("generatedTitle"))
        if title:
            reading.add(Lifecycle("thinking_title", text=title), native_id=f"{name}/title")
        reading.extra(item, _THINKING, "thinking", native_id=name)
    elif kind in _ASIDES:
        shown = markdown(item.get("content")) or markdown(item.get("title")) or markdown(item.get("message"))
        rest = without_opaque({k: v for k, v in item.items() if k not in ("kind", "content", "title")})
        reading.add(Lifecycle(_ASIDES[kind], text=shown, detail=rest or None), native_id=name)
    else:
        body = without_opaque(found)
        reading.unknown(f"response/{kind}", flatten(body) if isinstance(body, str) else body, native_id=name)
