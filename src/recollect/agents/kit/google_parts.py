"""Parses content in Google's "Part" form, which Gemini CLI, Qwen Code and relatives write.

A content is text, a part, or a list of both; a part is text, a thought, a call, a response or media. Also here: the
form in which these agents show a shell command's result, an applied edit, and their token counts.
Tolerant: every function takes any decoded JSON. Opaque bytes (base64, signatures) never become text.
Evidence: format notes: Gemini CLI, "JSONL grammar"; Qwen Code, "Record"; transcripts of Gemini CLI 0.16 to 0.40.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.values import items, mapping, text, whole, word_set
from recollect.model.payloads import FileEdit, Json, Part, TokenUsage
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_CODE = {"executableCode": ("code", "language"), "codeExecutionResult": ("output", "outcome")}
_SHELL_STARTS = ("Command: ", "Output: ", "Directory: ")
_SHELL_ENDS = {
    "Error": "error",
    "Exit Code": "exit_code",
    "Signal": "signal",
    "Background PIDs": "background_pids",
    "Process Group PGID": "process_group",
}
_NOTHING = ("(none)", "(empty)", "")
_MAX_DISPLAY_LINES = 100_000
_EDIT_DISPLAY = word_set("""
    fileDiff fileName filePath originalContent newContent diffStat isNewFile truncatedForSession fileDiffLength
    originalContentLength newContentLength fileDiffTruncated originalContentTruncated newContentTruncated
""")


class Pieces(NamedTuple):
    """What a content says, sorted by kind; each list keeps the order in which it was written."""

    texts: list[str]
    thoughts: list[str]
    calls: list[dict[str, Any]]
    responses: list[dict[str, Any]]
    media: list[Part]
    others: list[Any]
    """Parts of no kind that this version knows."""
    is_readable: bool
    """False where a part says that it holds bytes and they can't be decoded."""

    @property
    def said(self) -> str:
        """All texts together."""
        return "\n".join(self.texts)


class ShellResult(NamedTuple):
    """A shell command's result without the lines that the agent puts around its output."""

    output: str
    exit_code: int | None
    facts: dict[str, str]


class Counts(NamedTuple):
    """Token counts of one response as Google's API gives them: `prompt` includes `cached`."""

    prompt: int
    candidates: int
    cached: int = 0
    thoughts: int = 0
    tool: int = 0
    total: int = 0


def read_content(content: Json) -> Pieces:
    """Return what a content says: text, a part, or a list of both."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    responses: list[dict[str, Any]] = []
    media: list[Part] = []
    others: list[Any] = []
    is_readable = True
    for part in content if isinstance(content, list) else (content,):
        if isinstance(part, str):
            texts += (part,) if part else ()
        elif not isinstance(part, dict):
            others += (part,) if part is not None else ()
        elif isinstance(part.get("functionCall"), dict):
            calls.append(part["functionCall"])
        elif isinstance(part.get("functionResponse"), dict):
            responses.append(part["functionResponse"])
        elif isinstance(part.get("text"), str):
            kind = thoughts if part.get("thought") is True else texts
            kind += (part["text"],) if part["text"] else ()
        elif isinstance(part.get("inlineData"), dict) or isinstance(part.get("fileData"), dict):
            found, is_whole = media_part(part)
            media.append(found)
            is_readable = is_readable and is_whole
        elif code := _code_of(part):
            texts.append(code)
        elif part.keys() - {"thoughtSignature", "thought"}:
            others.append(part)
    return Pieces(texts, thoughts, calls, responses, media, others, is_readable)


def media_part(part: dict[str, Any]) -> tuple[Part, bool]:
    """Return an `inlineData` or `fileData` part by its hash or its place, and whether its bytes could be read."""
    inline, file = mapping(part.get("inlineData")), mapping(part.get("fileData"))
    media_type = text(inline.get("mimeType")) or text(file.get("mimeType"))
    kind = media_type.partition("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "file"
    name = text(inline.get("displayName")) or text(file.get("displayName"))
    if inline:
        return base64_part(kind, media_type, inline.get("data"), path=name)
    return Part(type=kind, media_type=media_type, path=name, url=text(file.get("fileUri"))), True


def content_text(content: Json) -> str:
    """Return all readable text of a content: text, thoughts, tool arguments and results."""
    pieces = read_content(content)
    asked = [f"{text(c.get('name'))}\n{flatten(c.get('args'))}" for c in pieces.calls]
    given = [response_text(r) for r in pieces.responses]
    rest = [flatten(without_opaque(o)) for o in pieces.others]
    return "\n".join(t for t in (*pieces.thoughts, *pieces.texts, *asked, *given, *rest) if t)


def response_text(response: dict[str, Any]) -> str:
    """Return what a `functionResponse` says: its output, its error, or all of its text."""
    body = response.get("response")
    if not isinstance(body, dict):
        return body if isinstance(body, str) else flatten(without_opaque(body)) if body is not None else ""
    for key in ("output", "error"):
        value = body.get(key)
        if isinstance(value, str) and value:
            return value
    return flatten(without_opaque(body))


def response_failed(response: dict[str, Any]) -> bool:
    """Say whether a `functionResponse` is an error."""
    body = mapping(response.get("response"))
    return bool(body.get("error")) and not body.get("output")


def response_media(response: dict[str, Any]) -> list[Part]:
    """Return the media that a `functionResponse` holds in parts of its own."""
    return read_content(items(response.get("parts"))).media


def unwrap_shell(name: str, said: str) -> ShellResult | None:
    """Return a shell tool's result without its wrapping ("Output: …", "Exit Code: 1" …), None if it has none.

    The lines after the output are read from the end, as the output itself may hold any text.
    """
    if canonical_tool(name) != "shell" or not said.startswith(_SHELL_STARTS):
        return None
    start = 0 if said.startswith("Output: ") else said.find("\nOutput: ") + 1
    if not said.startswith("Output: ", start):
        return None
    facts: dict[str, str] = {}
    body = said[start + len("Output: ") :]
    directory = next((line for line in said[:start].split("\n") if line.startswith("Directory: ")), "")
    if directory:
        facts["directory"] = directory.removeprefix("Directory: ")
    while True:
        head, _, line = body.rpartition("\n")
        key, colon, value = line.partition(": ")
        if not colon or key not in _SHELL_ENDS or _SHELL_ENDS[key] in facts:
            break
        facts[_SHELL_ENDS[key]] = value
        body = head
    exit_code = whole(facts.pop("exit_code", ""))
    kept = {k: v for k, v in facts.items() if v not in _NOTHING and not (k == "signal" and v == "0")}
    return ShellResult("" if body in _NOTHING else body, exit_code, kept)


def display_of(display: Json, said: str) -> tuple[str, Json]:
    """Return what an agent showed of a tool's result: (its text where it is nothing but text, what is beyond it).

    Beyond is what neither `said` nor a file edit holds; None where there is nothing.
    """
    if isinstance(display, str):
        return display, None if not display or display in said else display
    if isinstance(display, list):
        shown = _terminal_text(display)
        if shown is not None:
            return shown, None if not shown or shown in said else shown
    if isinstance(display, dict):
        left_out = _EDIT_DISPLAY if is_edit_display(display) else frozenset[str]()
        rest = {k: without_opaque(v) for k, v in display.items() if k not in left_out and v not in (None, "", [], {})}
        return "", rest or None
    return "", without_opaque(display) if display not in (None, "", [], {}) else None


def is_edit_display(display: Json) -> bool:
    """Say whether what an agent showed is an edit of a file."""
    return isinstance(display, dict) and isinstance(display.get("fileDiff"), str) and "fileName" in display


def edit_of(name: str, arguments: Json, display: Json, call_id: str) -> FileEdit | None:
    """Return the edit that a successful call made: as shown by the agent, else as its arguments ask for it."""
    asked = mapping(arguments)
    path = next((v for k in ("file_path", "absolute_path", "path") if isinstance(v := asked.get(k), str) and v), "")
    if isinstance(display, dict) and is_edit_display(display):
        return _shown_edit(display, path, call_id)
    if canonical_tool(name) != "edit" or not path:
        return None
    if isinstance(asked.get("content"), str):
        return FileEdit(path, after=asked["content"], call_id=call_id)
    before, after = asked.get("old_string"), asked.get("new_string")
    if not isinstance(before, str) and not isinstance(after, str):
        return None
    if not before:
        return FileEdit(path, "create", after=text(after), call_id=call_id)
    return FileEdit(path, "modify", text(before), text(after), call_id=call_id)


def _shown_edit(display: dict[str, Any], asked_path: str, call_id: str) -> FileEdit:
    name = text(display.get("fileName"))
    path = text(display.get("filePath")) or (asked_path if not name or asked_path.endswith(name) else name)
    is_new = display.get("isNewFile") is True or ("originalContent" in display and display["originalContent"] is None)
    operation: Literal["create", "modify"] = "create" if is_new else "modify"
    diff = text(display.get("fileDiff"))
    if diff and display.get("fileDiffTruncated") is not True:
        return FileEdit(path, operation, diff=diff, call_id=call_id)
    before, after = display.get("originalContent"), display.get("newContent")
    return FileEdit(
        path,
        operation,
        before if isinstance(before, str) else None,
        after if isinstance(after, str) else None,
        call_id=call_id,
    )


def usage_of(counts: Counts, model: str, dedupe_key: str, *, thoughts_are_apart: bool) -> TokenUsage | None:
    """Return the usage of one response, None where every count is zero.

    Google counts thoughts and the prompts of tools beside the prompt and the candidates; a model behind an
    OpenAI-like endpoint counts them inside. The total tells which; without one, `thoughts_are_apart` does.
    """
    if not any(counts):
        return None
    thoughts = counts.thoughts if thoughts_are_apart else 0
    tool = counts.tool if thoughts_are_apart else 0
    if counts.total:
        rest = counts.total - counts.prompt - counts.candidates
        thoughts = counts.thoughts if rest >= counts.thoughts else 0
        tool = counts.tool if rest - thoughts >= counts.tool else 0
    return TokenUsage(
        model=model,
        input_tokens=max(counts.prompt - counts.cached, 0) + tool,
        output_tokens=counts.candidates + thoughts,
        cache_read_tokens=counts.cached,
        reasoning_tokens=min(counts.thoughts, counts.candidates + thoughts),
        dedupe_key=dedupe_key,
    )


def _code_of(part: dict[str, Any]) -> str:
    """Return the code that a model ran at its provider, or its output."""
    for key, names in _CODE.items():
        code = part.get(key)
        if isinstance(code, dict):
            return "\n".join(text(code.get(name)) for name in names if code.get(name))
    return ""


def _terminal_text(lines: list[Any]) -> str | None:
    """Return a terminal's screen, kept as lines of styled pieces, as text; None if it is something else."""
    shown: list[str] = []
    for line in lines[:_MAX_DISPLAY_LINES]:
        if not isinstance(line, list) or not all(isinstance(p, dict) and isinstance(p.get("text"), str) for p in line):
            return None
        shown.append("".join(p["text"] for p in line).rstrip())
    return "\n".join(shown).strip("\n")
