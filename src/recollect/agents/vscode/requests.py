"""Parses a request: the user's question, values, tool names and the context for its answer."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.content import base64_part, data_url_part, without_opaque
from recollect.agents.kit.copilot_session import CopilotState, storable
from recollect.agents.kit.values import instant, items, mapping, text
from recollect.model.payloads import Json, Lifecycle, Origin, Part, UserMessage
from recollect.model.text import flatten

# Values as VS Code serialises them: URIs, Markdown strings, rendered prompts, and what tools gave back.

_MAX_NODES = 100_000


def path_of(uri: Json) -> str:
    """Return the path of a URI, written as text or as an object; what is no file keeps its scheme."""
    if isinstance(uri, str):
        return path_of_uri(uri)
    found = mapping(uri)
    if "uri" in found:
        return path_of(found["uri"])
    path = text(found.get("fsPath")) or text(found.get("path"))
    scheme = text(found.get("scheme"))
    if path and scheme not in ("", "file", "vscode-remote", "vscode-userdata"):
        return f"{scheme}:{path}"
    return path or path_of_uri(text(found.get("external")))


def path_of_uri(uri: str) -> str:
    """Return the path of a `file:` or `vscode-remote:` URI, or the text itself."""
    scheme, colon, rest = uri.partition("://")
    if not colon or scheme not in ("file", "vscode-remote"):
        return uri
    path = unquote(rest[rest.find("/") :] if "/" in rest else rest)
    return path[1:] if len(path) > 2 and path[2] == ":" else path


def markdown(value: Json) -> str:
    """Return the text of a Markdown string: text, or an object with `value`."""
    if isinstance(value, str):
        return value
    found = mapping(value)
    said = found.get("value", found.get("content"))
    return said if isinstance(said, str) else ""


def reference(item: dict[str, Any]) -> str:
    """Return the words of an inline reference, to be set into the text where it stands."""
    found = item.get("inlineReference")
    name = text(item.get("name")) or text(mapping(found).get("name"))
    if not name:
        place = mapping(found).get("location", found)
        name = path_of(place).replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return f"`{name}`" if name else ""


def rendered(value: Json) -> tuple[str, tuple[Part, ...], bool]:
    """Return what a list of prompt or result pieces says: text, images, and whether all of them could be read.

    A piece is `{text}`, `{value}` with text or a rendered tree `{node}`, or an image.
    """
    texts: list[str] = []
    parts: list[Part] = []
    is_readable = True
    for piece in items(value):
        one = mapping(piece)
        said = one.get("text", one.get("value"))
        url = text(mapping(one.get("imageUrl")).get("url"))
        data = one.get("data")
        if isinstance(piece, str):
            texts.append(piece)
        elif isinstance(said, str):
            texts.append(said)
        elif isinstance(mapping(said).get("node"), dict):
            texts.append(_tree(mapping(said)["node"]))
        elif url:
            part, is_fine = data_url_part("image", url)
            parts.append(part)
            is_readable = is_readable and is_fine
        elif data is not None:
            encoded = mapping(data).get("$base64", mapping(data).get("data", data))
            part, is_fine = base64_part("data", text(one.get("mimeType")), encoded)
            parts.append(part)
            is_readable = is_readable and is_fine
        elif "cacheType" not in one:
            texts.append(flatten(without_opaque(said if said is not None else piece)))
    return "\n".join(t for t in texts if t), tuple(parts), is_readable


def _tree(node: Json) -> str:
    """Return the text of a rendered tree: pieces in order, each on a new line where it says so."""
    out: list[str] = []
    stack: list[Json] = [node]
    ends_line = True
    for _ in range(_MAX_NODES):
        if not stack:
            break
        one = mapping(stack.pop())
        said = one.get("text")
        if isinstance(said, str):
            if one.get("lineBreakBefore") is True and not ends_line:
                out.append("\n")
            out.append(said)
            ends_line = said.endswith("\n") if said else ends_line
        stack.extend(reversed(items(one.get("children"))))
    return "".join(out).strip("\n")


# The names of VS Code's tools: the interface knows them by another one than the model.

_NAMES = {
    "copilot_searchCodebase": "semantic_search",
    "copilot_searchWorkspaceSymbols": "search_workspace_symbols",
    "copilot_listCodeUsages": "list_code_usages",
    "copilot_getVSCodeAPI": "get_vscode_api",
    "copilot_runTests1": "run_tests",
    "copilot_findFiles": "file_search",
    "copilot_findTextInFiles": "grep_search",
    "copilot_listDirectory": "list_dir",
    "copilot_getNotebookSummary": "copilot_getNotebookSummary",
    "copilot_insertEdit": "insert_edit_into_file",
    "copilot_replaceString": "replace_string_in_file",
    "copilot_multiReplaceString": "multi_replace_string_in_file",
    "copilot_editNotebook": "edit_notebook_file",
    "copilot_readNotebookCellOutput": "read_notebook_cell_output",
    "copilot_fetchWebPage": "fetch_webpage",
    "copilot_findTestFiles": "test_search",
    "copilot_getSearchResults": "get_search_view_results",
    "copilot_openSimpleBrowser": "open_simple_browser",
    "copilot_runVscodeCommand": "run_vscode_command",
    "vscode_fetchWebPage_internal": "fetch_webpage",
}
"""Where the interface's name is not the model's in camel case."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PREFIX = "copilot_"


def model_name(tool_id: str) -> str:
    """Return the name by which the model calls a tool that the interface names so."""
    known = _NAMES.get(tool_id)
    if known is not None:
        return known
    if tool_id.startswith(_PREFIX):
        return _CAMEL.sub("_", tool_id.removeprefix(_PREFIX)).lower()
    return tool_id


def is_internal(tool_id: str) -> bool:
    """Say whether a tool serves another one and is never called by the model."""
    return tool_id.endswith("_internal") and tool_id not in _NAMES


# What is carried from record to record of a chat session, and its limits.

MAX_ORDER = 1024
MAX_SEEN = 4
MAX_INVOCATIONS = 96
MAX_GROUPS = 96
MAX_RUNS = 4
MAX_RUN_BYTES = 48 * 1024


class Invocation(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A tool call as the answer shows it, which its request's metadata will tell in full.

    place: its index in the answer. name: the tool's name as the model knows it.
    """

    place: int
    call_id: str
    name: str
    ok: bool | None = None
    exit_code: int | None = None
    duration_ms: int | None = None


class Group(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Edits of one file as the answer shows them: their place in it, the file, and the last call before them."""

    place: int
    path: str
    call_id: str = ""


class Seen(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What is known of a request while its answer is still written."""

    request: str = ""
    ts: int | None = None
    model: str = ""
    invocations: tuple[Invocation, ...] = ()
    groups: tuple[Group, ...] = ()
    has_thinking: bool = False


class Run(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Pieces of an answer that follow each other and read as one text, from one place in the answer on."""

    request: str
    start: int
    texts: tuple[str, ...]


class VSCodeState(CopilotState, frozen=True, gc=False, omit_defaults=True):
    """The state of a chat session. The fields of `CopilotState` serve the extension's transcripts, `model` both."""

    version: str = ""
    alias: str = ""
    """The id under which the extension's own transcript has this session."""
    order: tuple[str, ...] = ()
    """The ids of the requests, by their place in the document."""
    seen: tuple[Seen, ...] = ()
    runs: tuple[Run, ...] = ()
    undone: tuple[str, ...] = ()
    """Requests that were undone but still stand in the document."""
    befores: tuple[tuple[str, str], ...] = ()
    """The requests with the event that stood before each when it was first seen."""


_KNOWN = known_fields("vscode")
_MAX_PARTS = 256


class OpenRequest:
    """What is known of one request: loaded from the state, changed while reading, stored again."""

    __slots__ = ("groups", "has_thinking", "invocations", "model", "request", "ts")

    def __init__(self, request: str) -> None:
        self.request = request
        self.ts: int | None = None
        self.model = ""
        self.invocations: list[Invocation] = []
        self.groups: list[Group] = []
        self.has_thinking = False

    @classmethod
    def known(cls, reading: Reading[VSCodeState], request: str) -> OpenRequest:
        """Return what the state knows of a request."""
        asked = cls(request)
        seen = next((s for s in reading.now("seen") if s.request == request), None)
        if seen is not None:
            asked.ts, asked.model, asked.has_thinking = seen.ts, seen.model, seen.has_thinking
            asked.invocations, asked.groups = list(seen.invocations), list(seen.groups)
        return asked

    def keep(self, reading: Reading[VSCodeState]) -> None:
        """Store it among the newest requests."""
        seen = Seen(
            self.request,
            self.ts,
            self.model,
            tuple(self.invocations[-MAX_INVOCATIONS:]),
            tuple(self.groups[-MAX_GROUPS:]),
            self.has_thinking,
        )
        others = tuple(s for s in reading.now("seen") if s.request != self.request)
        reading.set(seen=(*others, seen)[-MAX_SEEN:])

    def take_facts(self, reading: Reading[VSCodeState], value: dict[str, Any]) -> None:
        """Take the time and the model of a request, and give what changed since the one before."""
        written = value.get("timestamp")
        if written is not None:
            self.ts = instant(written)
            if self.ts is None:
                reading.wrong("timestamp", "bad_timestamp")
        model = model_of(value)
        if model:
            self.model = storable(model)
            if self.model != reading.now("model"):
                reading.set(model=self.model)
                self.at_answer(reading)
                reading.add(Lifecycle("model", model=model), native_id=f"{self.request}/model")
        version = text(mapping(value.get("agent")).get("extensionVersion"))
        if version and version != reading.now("version"):
            reading.set(version=storable(version))
            reading.start(tool_version=version, originator="GitHub Copilot Chat", native_id=f"start/{version}")

    def at_question(self, reading: Reading[VSCodeState]) -> None:
        """Take the request's own time for the next events."""
        if self.ts is not None:
            reading.ts = reading.last_ts = self.ts
            reading.ts_quality = "exact"

    def at_answer(self, reading: Reading[VSCodeState], after_ms: int | None = None) -> None:
        """Take the request's time for what has none of its own; after_ms: how long the answer took."""
        if self.ts is not None:
            reading.infer(self.ts + (after_ms or 0) * 1000)


def model_of(value: dict[str, Any]) -> str:
    """Return the model of a request: the one it was resolved to, else the one chosen, else the one shown."""
    result = mapping(value.get("result"))
    resolved = text(mapping(result.get("metadata")).get("resolvedModel"))
    chosen = text(value.get("modelId")).rpartition("/")[2]
    if resolved:
        return resolved
    if chosen and chosen != "auto":
        return chosen
    return text(result.get("details")).partition(" • ")[0].strip()


def read_question(reading: Reading[VSCodeState], asked: OpenRequest, value: dict[str, Any]) -> None:
    """Emit what the user asked, with the files, images and selections that belong to it."""
    message = value.get("message")
    asked.at_question(reading)
    if isinstance(message, str):
        said = message
    else:
        found = reading.mapping(value, "message")
        said = reading.text(found, "text") or _joined(found)
        reading.extra(found, _KNOWN["message"], "message", native_id=asked.request)
    if message is None and "response" not in value and "result" in value:
        return
    origin: Origin = "command" if mapping(value.get("slashCommand")) else "human"
    reading.add(UserMessage(said, origin, _variables(reading, value)), native_id=asked.request)


def _joined(message: dict[str, Any]) -> str:
    return "".join(text(mapping(part).get("text")) for part in items(message.get("parts")))


def _variables(reading: Reading[VSCodeState], value: dict[str, Any]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for found in items(mapping(value.get("variableData")).get("variables"))[:_MAX_PARTS]:
        one = mapping(found)
        kind = text(one.get("kind")) or ("directory" if one.get("isDirectory") is True else "file")
        held = one.get("value")
        encoded = mapping(held).get("$base64")
        media_type = text(one.get("mimeType"))
        name = text(one.get("name")) or text(one.get("id"))
        if kind == "image" and encoded is not None:
            parts.append(reading.readable(base64_part(kind, media_type, encoded, path=name), "variables.value"))
        else:
            path = path_of(held) if isinstance(held, dict) else ""
            parts.append(Part(kind, media_type=media_type, path=path or name))
    return tuple(parts)
