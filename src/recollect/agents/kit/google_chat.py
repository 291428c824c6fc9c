"""Parses messages as Gemini CLI and the first Qwen Code record them.

A message has an id, and is written again as a whole, under that id, when more of it is known. So everything that it
gives has one stable name: the text `<id>`, its thoughts `<id>/thinking/<n>`, its tokens `<id>/usage`, a call
`call:<call id>`, its result `result:<call id>`, its edit `edit:<call id>`.
Evidence: format notes: Gemini CLI, "JSONL grammar"; transcripts of 0.16 to 0.40.
"""

from typing import Any, Literal, NamedTuple, TypeVar

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import BaseState, Reading
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import Marks, content_sha256, count_name, short_name
from recollect.agents.kit.values import Json, items, mapping, text, whole, word_set
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Parses content in Google's "Part" form, which Gemini CLI, Qwen Code and relatives write.
#
# A content is text, a part, or a list of both; a part is text, a thought, a call, a response or media. Also here: the
# form in which these agents show a shell command's result, an applied edit, and their token counts.
# Tolerant: every function takes any decoded JSON. Opaque bytes (base64, signatures) never become text.
# Evidence: format notes: Gemini CLI, "JSONL grammar"; Qwen Code, "Record"; transcripts of Gemini CLI 0.16 to 0.40.

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
    media: list[kinds.Part]
    others: list[Any]
    """Parts of no kind that this version knows."""
    is_readable: bool
    """False where a part says that it holds bytes and they can't be decoded."""

    @property
    def said(self) -> str:
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
    media: list[kinds.Part] = []
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


def media_part(part: dict[str, Any]) -> tuple[kinds.Part, bool]:
    """Return an `inlineData` or `fileData` part by its hash or its place, and whether its bytes could be read."""
    inline, file = mapping(part.get("inlineData")), mapping(part.get("fileData"))
    media_type = text(inline.get("mimeType")) or text(file.get("mimeType"))
    kind = media_type.partition("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "file"
    name = text(inline.get("displayName")) or text(file.get("displayName"))
    if inline:
        return base64_part(kind, media_type, inline.get("data"), path=name)
    return kinds.Part(type=kind, media_type=media_type, path=name, url=text(file.get("fileUri"))), True


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


def response_media(response: dict[str, Any]) -> list[kinds.Part]:
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


def edit_of(name: str, arguments: Json, display: Json, call_id: str) -> kinds.FileEdit | None:
    """Return the edit that a successful call made: as shown by the agent, else as its arguments ask for it."""
    asked = mapping(arguments)
    path = next((v for k in ("file_path", "absolute_path", "path") if isinstance(v := asked.get(k), str) and v), "")
    if isinstance(display, dict) and is_edit_display(display):
        return _shown_edit(display, path, call_id)
    if canonical_tool(name) != "edit" or not path:
        return None
    if isinstance(asked.get("content"), str):
        return kinds.FileEdit(path, after=asked["content"], call_id=call_id)
    before, after = asked.get("old_string"), asked.get("new_string")
    if not isinstance(before, str) and not isinstance(after, str):
        return None
    if not before:
        return kinds.FileEdit(path, "create", after=text(after), call_id=call_id)
    return kinds.FileEdit(path, "modify", text(before), text(after), call_id=call_id)


def _shown_edit(display: dict[str, Any], asked_path: str, call_id: str) -> kinds.FileEdit:
    name = text(display.get("fileName"))
    path = text(display.get("filePath")) or (asked_path if not name or asked_path.endswith(name) else name)
    is_new = display.get("isNewFile") is True or ("originalContent" in display and display["originalContent"] is None)
    operation: Literal["create", "modify"] = "create" if is_new else "modify"
    diff = text(display.get("fileDiff"))
    if diff and display.get("fileDiffTruncated") is not True:
        return kinds.FileEdit(path, operation, diff=diff, call_id=call_id)
    before, after = display.get("originalContent"), display.get("newContent")
    return kinds.FileEdit(
        path,
        operation,
        before if isinstance(before, str) else None,
        after if isinstance(after, str) else None,
        call_id=call_id,
    )


def usage_of(counts: Counts, model: str, dedupe_key: str, *, thoughts_are_apart: bool) -> kinds.TokenUsage | None:
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
    return kinds.TokenUsage(
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


S = TypeVar("S", bound=BaseState)

MODEL_TYPES = ("gemini", "qwen", "model")
NOTICE_TYPES = ("info", "error", "warning")
_KNOWN = known_fields("gemini")
_COUNTS = ("input", "output", "cached", "thoughts", "tool", "total")
_TOKEN_FIELDS = frozenset(_COUNTS)
_STATUSES = frozenset(("validating", "scheduled", "executing", "awaiting_approval", "success", "error", "cancelled"))
_ENDED = ("success", "error", "cancelled")
_INJECTED = (
    "<session_context>", "<state_snapshot>", "<hook_context>", "<system-reminder>", "<task-notification>",
    "This is the Gemini CLI. We are setting up the context", "This is the Qwen Code. We are setting up the context",
    "System: Please continue",
    "You have exceeded the maximum number of turns.", "I ran the following shell command:",
)  # fmt: skip
_FILES_BEGIN = "--- Content from referenced files ---"
_CANCELLED = "Request cancelled."
_API_ERROR = "[API Error"


class ChatState(BaseState, frozen=True):
    """The state of a parser that also reads conversations saved without ids: how often each content came."""

    counted: Marks = ()


N = TypeVar("N", bound=ChatState)


def read_message(reading: Reading[S], message: dict[str, Any], *, is_synthetic: bool = False) -> None:
    """Emit the events of one message. is_synthetic: the harness wrote it, so its user text is no person's."""
    message_id = reading.text(message, "id")
    reading.native_id = short_name(message_id) if message_id else None
    reading.date(message.get("timestamp"))
    kind = reading.text(message, "type")
    if kind == "user":
        _read_user(reading, message, is_synthetic=is_synthetic)
    elif kind in MODEL_TYPES:
        _read_reply(reading, message)
    elif kind in NOTICE_TYPES:
        said = _content(reading, message).said
        if said.strip() == _CANCELLED:
            name = "interrupted"
        elif kind == "error" and said.startswith(_API_ERROR):
            name = "api_error"
        else:
            name = kind
        reading.add(kinds.Lifecycle(name, text=said))
    else:
        reading.unknown(kind or "message", message)
        return
    reading.extra(message, _KNOWN["message"], "message")


def origin_of(said: str) -> kinds.Origin:
    """Say who wrote a text in the user's role, by the forms that the harness uses."""
    if said.lstrip().startswith(_INJECTED):
        return "injected"
    return "command" if _is_command(said) else "human"


def split_references(texts: list[str]) -> tuple[list[str], list[str]]:
    """Return a prompt's own texts, and those of the files it refers to, which the harness adds behind a marker."""
    for i, said in enumerate(texts):
        at = said.find(_FILES_BEGIN)
        if at >= 0 and (at == 0 or said[at - 1] == "\n"):
            own = [*texts[:i], said[:at].rstrip("\n")] if at else texts[:i]
            return own, [said[at:], *texts[i + 1 :]]
    return texts, []


def read_call(reading: Reading[S], call: dict[str, Any], message_id: str) -> str:
    """Emit a call in a content's `functionCall`; return its id."""
    call_id = text(call.get("id"))
    name = text(call.get("name"))
    native_id = f"call:{short_name(call_id)}" if call_id else reading.below(f"call/{content_sha256(call)}")
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), call.get("args"), message_id), native_id=native_id)
    return call_id


def read_response(reading: Reading[S], response: dict[str, Any]) -> None:
    """Emit a result in a content's `functionResponse`, without other sources."""
    call_id = text(response.get("id"))
    name = text(response.get("name"))
    said = response_text(response)
    shell = unwrap_shell(name, said)
    result = kinds.ToolResult(
        call_id,
        name,
        not response_failed(response) and not (shell and shell.exit_code),
        shell.exit_code if shell else None,
        shell.output if shell else said,
        (shell.facts or None) if shell else None,
        parts=tuple(response_media(response)),
    )
    native_id = f"result:{short_name(call_id)}" if call_id else reading.below(f"result/{content_sha256(response)}")
    reading.add(result, native_id=native_id)


def read_saved_turn(reading: Reading[N], turn: dict[str, Any]) -> None:
    """Emit one turn of a conversation saved by name: `{role, parts}`, without id or time.

    It is named by its content, because the file is rewritten each time.
    """
    if not reading.now("is_started"):
        reading.set(is_started=True)
        reading.start(originator="saved conversation")
    role = reading.text(turn, "role")
    content = {"role": role, "parts": turn.get("parts")}
    name, counted = count_name(reading.now("counted"), content_sha256(content))
    reading.set(counted=counted)
    kind = {"user": "user", "model": "gemini"}.get(role, role or "turn")
    read_message(reading, {"id": f"h-{name}", "type": kind, "content": turn.get("parts")})
    reading.extra(turn, _KNOWN["turn"], "turn")


def read_logged_prompt(reading: Reading[S]) -> None:
    """Emit a prompt of `logs.json`, in the session that it names."""
    value = reading.value
    reading.date(value.get("timestamp"))
    said = reading.text(value, "message")
    named = reading.text(value, "sessionId")
    reading.native_id = f"log:{content_sha256([value.get('messageId'), value.get('timestamp'), said])}"
    kind = reading.text(value, "type")
    if kind == "user":
        reading.add(kinds.UserMessage(said, origin_of(said)), session=named or None)
    else:
        reading.unknown(kind or "prompt")
    reading.extra(value, _KNOWN["log"], "prompt")


def _read_user(reading: Reading[S], message: dict[str, Any], *, is_synthetic: bool) -> None:
    pieces = _content(reading, message)
    shown = read_content(message.get("displayContent")).said
    own, referenced = split_references(pieces.texts)
    said = "\n".join(own)
    if shown and shown != said:
        referenced = [said, *referenced] if shown not in said else [said.replace(shown, "", 1).strip(), *referenced]
        said = shown
    origin: kinds.Origin = "injected" if is_synthetic else origin_of(said)
    for response in pieces.responses:
        read_response(reading, response)
    if said or pieces.media or not (pieces.responses or pieces.others or referenced):
        reading.add(kinds.UserMessage(said, origin, tuple(pieces.media)))
    added = "\n".join(t for t in referenced if t)
    if added:
        native_id = reading.below("context")
        reading.add(kinds.UserMessage(added, "injected"), native_id=native_id)
    for call in pieces.calls:
        read_call(reading, call, "")
    read_others(reading, pieces)


def _read_reply(reading: Reading[S], message: dict[str, Any]) -> None:
    message_id = text(message.get("id"))
    model = reading.text(message, "model")
    written = message.get("timestamp")
    _read_thoughts(reading, reading.items(message, "thoughts"), message_id)
    reading.date(written)
    pieces = _content(reading, message)
    for i, thought in enumerate(pieces.thoughts, 1):
        reading.add(kinds.Thinking(thought, message_id), native_id=reading.below(f"thinking/content/{i}"))
    if pieces.said or pieces.media:
        reading.add(kinds.AssistantMessage(pieces.said, model, "", message_id, tuple(pieces.media)))
    calls = [c for c in reading.items(message, "toolCalls") if isinstance(c, dict)]
    if len(calls) < len(items(message.get("toolCalls"))):
        reading.wrong("toolCalls")
    listed = {call["id"] for call in calls if isinstance(call.get("id"), str)}
    for call in pieces.calls:
        if text(call.get("id")) not in listed:
            read_call(reading, call, message_id)
    for call in calls:
        _read_recorded_call(reading, call, message_id)
        reading.date(written)
    for response in pieces.responses:
        if text(response.get("id")) not in listed:
            read_response(reading, response)
    read_others(reading, pieces)
    tokens = reading.mapping(message, "tokens")
    if tokens:
        # Emit the tokens of a message: the input includes the cached ones, thoughts are counted beside the output.
        key = f"{reading.state.session}:{message_id}" if message_id else ""
        counts = Counts(
            *(reading.count(tokens, name) for name in ("input", "output", "cached", "thoughts", "tool", "total"))
        )
        usage = usage_of(counts, model, key, thoughts_are_apart=True)
        if usage is not None:
            reading.add(usage, "assistant", native_id=reading.below("usage"))
        reading.extra(tokens, _TOKEN_FIELDS, "tokens")


def _read_thoughts(reading: Reading[S], thoughts: list[Any], message_id: str) -> None:
    for i, thought in enumerate(thoughts, 1):
        native_id = reading.below(f"thinking/{i}")
        if not isinstance(thought, dict):
            reading.wrong("thoughts")
            reading.kept("thought", thought, native_id=native_id)
            continue
        reading.date(thought.get("timestamp"), "thoughts.timestamp")
        subject, description = reading.text(thought, "subject"), reading.text(thought, "description")
        body = f"{subject}\n{description}" if subject and description else subject or description
        reading.add(kinds.Thinking(body, message_id), native_id=native_id)
        reading.extra(thought, _KNOWN["thought"], "thought", native_id=native_id)


def _read_recorded_call(reading: Reading[S], call: dict[str, Any], message_id: str) -> None:
    """Emit a call of `toolCalls`, and its result and edit once it has ended."""
    call_id, name = reading.text(call, "id"), reading.text(call, "name")
    short = short_name(call_id) if call_id else f"{reading.native_id}/{content_sha256([name, call.get('args')])}"
    native_id = f"call:{short}"
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), call.get("args"), message_id), native_id=native_id)
    agent = reading.text(call, "agentId")
    if agent:
        detail = {"agent_id": agent}
        reading.add(
            kinds.Lifecycle("subagent", text=agent, detail=detail, call_id=call_id), native_id=f"subagent:{short}"
        )
    status = reading.text(call, "status")
    reading.odd_value("toolCall.status", status, _STATUSES)
    has_ended = status in _ENDED or (not status and call.get("result") is not None)
    if has_ended:
        reading.date(call.get("timestamp"), "toolCalls.timestamp")
        ok = _read_result(reading, call, name, native_id=f"result:{short}")
        edit = edit_of(name, call.get("args"), call.get("resultDisplay"), call_id) if ok else None
        if edit is not None:
            reading.add(edit, native_id=f"edit:{short}")
    reading.extra(call, _KNOWN["call"], "toolCall", native_id=native_id)


def _read_result(reading: Reading[S], call: dict[str, Any], name: str, *, native_id: str) -> bool:
    """Emit what a call gave back, to the model and beyond that to the user. Return whether it succeeded."""
    pieces = read_content(call.get("result"))
    said = "\n".join(t for t in (*map(response_text, pieces.responses), *pieces.texts) if t)
    shown, beyond = display_of(call.get("resultDisplay"), said)
    shell = unwrap_shell(name, said)
    structured: Json = beyond
    if shell is not None:
        said = shell.output
        structured = {**shell.facts, **({} if beyond is None else {"display": beyond})} or None
    elif not said:
        said, structured = shown or flatten(pieces.others), None if shown else beyond
    exit_code = shell.exit_code if shell is not None else None
    status = text(call.get("status"))
    ok = not exit_code and (status == "success" if status else not any(map(response_failed, pieces.responses)))
    media: list[kinds.Part] = [*pieces.media, *(m for r in pieces.responses for m in response_media(r))]
    call_id = text(call.get("id"))
    reading.add(
        kinds.ToolResult(call_id, name, ok, exit_code, said, structured, parts=tuple(media)), native_id=native_id
    )
    return ok


def _content(reading: Reading[S], message: dict[str, Any]) -> Pieces:
    content = message.get("content")
    if content is None:
        content = message.get("parts")
    pieces = read_content(content)
    if not pieces.is_readable:
        reading.wrong("content.inlineData", "bad_base64")
    return pieces


def read_others(reading: Reading[S], pieces: Pieces) -> None:
    """Emit the parts of a content that are not known."""
    for i, other in enumerate(pieces.others, 1):
        kind = next((k for k in mapping(other) if k not in ("thought", "thoughtSignature")), "part")
        reading.unknown(kind, other, native_id=reading.below(f"part/{i}"))


def _is_command(said: str) -> bool:
    """A slash command or a help question is one line; a path or a comment that begins alike is a prompt."""
    first = said.strip()
    word = first.split(" ", 1)[0]
    return first.startswith("/") and "\n" not in first and "/" not in word[1:] and not word.startswith(("//", "/*"))
