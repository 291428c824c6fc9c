"""What the parsers of the Cline family share: state, split texts, old calls, tokens, images."""

import re
from typing import Any, NamedTuple

from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import NamingState
from recollect.agents.kit.values import items, mapping, word_set
from recollect.model.payloads import Json, Part, TokenUsage

# What the parser of the Cline family remembers from record to record.

MAX_ASKED = 16


class ClineState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """All that is bounded: names, calls, and a few words."""

    counts_cached_input: bool = False
    """Whether this agent's `tokensIn` may include the cached tokens."""
    parent: str = ""
    waiting: tuple[Waiting, ...] = ()
    asked: tuple[str, ...] = ()
    """Calls of the newest assistant message that was written in XML, in order: results there have no ids."""
    deleted_range: tuple[int, int] | None = None
    is_summarised: bool = False
    """The model's own summary was seen, and not yet the truncation that it causes."""
    is_wrapped: bool = False
    """The log marks human text with tags, so that text without them is the harness's."""
    model: str = ""
    cwd: str = ""


ClineReading = Reading[ClineState]


def see_model(reading: ClineReading, model: str) -> bool:
    """Remember the model in use; say whether it is another one than before."""
    is_new = bool(model) and len(model) <= 200 and model != reading.now("model")
    if is_new:
        reading.set(model=model)
    return is_new


def record_id(value: dict[str, Any]) -> str:
    """Return the message's own id, "" where this generation writes none."""
    found = value.get("id")
    return found if isinstance(found, str) and 0 < len(found) <= 4096 else ""


# Text in the user's role, taken apart: what a person wrote stands in tags, the rest is the harness's.
#
# Evidence: format notes: Cline / Roo / Kilo, "Records".

_TAG = re.compile(
    r"<(?:(task|feedback|user_message|answer|user_input)(?: [^<>\n]{0,200})?"
    r"|(environment_details|SYSTEM_NOTICE|mode_notice|explicit_instructions|hook_context)(?: [^<>\n]{0,200})?)>"
)
_CWD = re.compile(r"# Current (?:Working|Workspace) Directory \((.{1,4000}?)\)(?: Files)?$", re.M)
_ISO_TIME = re.compile(r"ISO 8601 UTC format: (\d{4}-\d\d-\d\dT[\d:.]{5,20}Z)")
_LOCAL_TIME = re.compile(
    r"# Current Time\n(\d{1,2})/(\d{1,2})/(\d{4}), (\d{1,2}):(\d\d):(\d\d)[ \u202f]?(AM|PM)? "
    r"\([^\n()]{1,80}, UTC([+-])(\d{1,2})(?::(\d\d))?\)"
)
_HARNESS = (
    "[TASK RESUMPTION]", "[ERROR]", "<environment_details>", "# task_progress", "# Task Progress", "# TODO LIST",
    "[NOTE]", "New message to respond to with ", "The user made the following updates", "Tool [", "[SYSTEM",
)  # fmt: skip
"""How texts begin that the harness writes without tags."""


class Said(NamedTuple):
    """A piece of a user message. is_tagged: it was in a tag that contains only human text."""

    text: str
    is_human: bool
    is_tagged: bool = False


def pieces(written: str) -> list[Said]:
    """Return the pieces of a text in order, without the tags around human text. Blank ones are left out."""
    found: list[Said] = []
    at = 0
    while tag := _TAG.search(written, at):
        human, notice = tag[1], tag[2]
        close = f"</{human or notice}>"
        end = written.find(close, tag.end())
        end = len(written) if end < 0 else end
        _append(found, written[at : tag.start()])
        if human:
            said = written[tag.end() : end].strip()
            found += [Said(said, True, True)] if said else []
        else:
            found.append(Said(written[tag.start() : end + len(close)].strip(), False))
        at = end + len(close)
    _append(found, written[at:])
    return found


def tagged(written: str) -> list[str]:
    """Return only the text in tags for human text: a person's words inside a tool's result."""
    return [piece.text for piece in pieces(written) if piece.is_tagged] if "<" in written else []


def is_harness(written: str) -> bool:
    """Say whether a text without tags begins as the harness's texts do."""
    return written.lstrip().startswith(_HARNESS)


def cwd_in(written: str) -> str:
    """Return the working directory that environment details name, "" where they name none."""
    found = _CWD.search(written[:20_000])
    return found[1] if found else ""


def time_in(written: str) -> str | None:
    """Return the time that environment details name, as ISO 8601 with its offset; None where they name none."""
    iso = _ISO_TIME.search(written)
    if iso:
        return iso[1]
    local = _LOCAL_TIME.search(written)
    if local is None:
        return None
    month, day, year, hour, minute, second, half, sign, offset_hours, offset_minutes = local.groups()
    hours = int(hour) % 12 + (12 if half == "PM" else 0) if half else int(hour)
    offset = f"{sign}{int(offset_hours):02d}:{offset_minutes or '00'}"
    return f"{year}-{int(month):02d}-{int(day):02d}T{hours:02d}:{minute}:{second}{offset}"


def _append(found: list[Said], between: str) -> None:
    said = between.strip()
    if said:
        found.append(Said(said, not is_harness(said)))


# Tool calls of older versions: XML in the model's text, and results without ids in the next user message.

_TOOLS = word_set("""
    execute_command read_file write_to_file replace_in_file apply_diff insert_content search_and_replace search_files
    list_files list_code_definition_names browser_action use_mcp_tool access_mcp_resource ask_followup_question
    attempt_completion plan_mode_respond act_mode_respond new_task condense report_bug load_mcp_documentation web_fetch
    web_search summarize_task switch_mode fetch_instructions codebase_search update_todo_list generate_image
    run_slash_command edit_file delete_file new_rule use_subagents use_skill skill apply_patch
""")
_OPEN = re.compile(r"<([a-z_]{3,40})>")
_RESULT = re.compile(r"\[([a-z_]{3,40})((?: for |\b)[^\n]{0,4000}?)?\] Result:[ \t]*\n?")
_THINKING = re.compile(r"</?thinking>\s?")


class XmlCall(NamedTuple):
    """One call as it was written."""

    name: str
    arguments: dict[str, str]


def taken_apart(written: str) -> tuple[str, list[XmlCall]]:
    """Return what the model said without its calls and without the tags around its thinking, and the calls.

    What it thought stays in the text, as the UI log has it.
    """
    said: list[str] = []
    calls: list[XmlCall] = []
    at = start = 0
    while tag := _OPEN.search(written, at):
        at = tag.end()
        if tag[1] not in _TOOLS:
            continue
        close = f"</{tag[1]}>"
        end = written.find(close, at)
        body = written[at:] if end < 0 else written[at:end]
        said.append(written[start : tag.start()])
        calls.append(XmlCall(tag[1], _parameters(body)))
        at = start = len(written) if end < 0 else end + len(close)
    said.append(written[start:])
    return _THINKING.sub("", "".join(said)).strip(), calls


def result_head(written: str) -> tuple[str, str] | None:
    """Return (tool, the rest) of a text that begins a result: `[read_file for 'a.py'] Result:`."""
    found = _RESULT.match(written)
    return (found[1], written[found.end() :]) if found else None


def _parameters(body: str) -> dict[str, str]:
    """Return the parameters of a call. The last closing tag ends one: content may hold tags of its own."""
    found: dict[str, str] = {}
    at = 0
    while tag := _OPEN.search(body, at):
        close = f"</{tag[1]}>"
        is_long = tag[1] in ("content", "diff", "result", "arguments", "args")
        end = body.rfind(close, tag.end()) if is_long else body.find(close, tag.end())
        value = body[tag.end() :] if end < 0 else body[tag.end() : end]
        found[tag[1]] = value.strip("\n") if is_long else value.strip()
        at = len(body) if end < 0 else end + len(close)
    return found


# Tokens: one request of the UI log, or one message of the SDK, counts once; totals beside them are never added up.
#
# Evidence: format notes: Cline / Roo / Kilo, "Usage authority"; recorded sessions of the Cline SDK.

_REQUEST = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")
_METRICS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def request_usage(
    reading: ClineReading, spent: dict[str, Any], key: str, *, is_total: bool = False
) -> TokenUsage | None:
    """Return the usage of a request (or a task's total) in the extension's words; None where it states none yet."""
    if not any(isinstance(spent.get(name), int | float) for name in (*_REQUEST, "cost", "totalCost")):
        return None
    total, output, read, written = (reading.count(spent, name) for name in _REQUEST)
    cached = read + written
    if reading.state.counts_cached_input and cached <= total:
        total -= cached
    cost = reading.money(spent, "totalCost" if is_total else "cost")
    model = reading.text(spent, "modelId") or reading.now("model")
    return TokenUsage(
        model,
        total,
        output,
        read,
        written,
        cost_usd=cost,
        dedupe_key=key if is_total else f"{reading.state.session}:{key}",
        is_additive=not is_total,
    )


def message_usage(reading: ClineReading, value: dict[str, Any], message_id: str, model: str) -> TokenUsage | None:
    """Return the usage of an assistant message.

    The SDK's `inputTokens` hold the cached ones too, and only there do messages have ids; what the extension writes
    beside a message of its API log (`tokens`) repeats the UI log.
    """
    metrics = mapping(value.get("metrics"))
    nested = mapping(metrics.get("tokens"))
    if nested:
        return TokenUsage(
            model,
            reading.count(nested, "prompt"),
            reading.count(nested, "completion"),
            reading.count(nested, "cached"),
            cost_usd=reading.money(metrics, "cost"),
            is_additive=False,
        )
    if not any(isinstance(metrics.get(name), int | float) for name in _METRICS):
        return None
    is_authority = bool(message_id) and reading.state.role in ("sdk", "sdk_context")
    return sdk_usage(reading, metrics, model, f"message:{message_id}", is_additive=is_authority)


def sdk_usage(reading: ClineReading, spent: dict[str, Any], model: str, key: str, *, is_additive: bool) -> TokenUsage:
    """Return usage in the SDK's words, with the cached tokens taken off the input where they fit into it."""
    total, output, read, written = (reading.count(spent, name) for name in _METRICS)
    cached = read + written
    cost = reading.money(spent, "cost")
    return TokenUsage(
        model,
        total - cached if cached <= total else total,
        output,
        read,
        written,
        cost_usd=cost if cost is not None else reading.money(spent, "totalCost"),
        dedupe_key=key,
        is_additive=is_additive,
    )


_MAX_DEPTH = 8
_OPAQUE = frozenset(("screenshot", "imageData"))


def row_parts(reading: ClineReading, row: dict[str, Any]) -> tuple[Part, ...]:
    """Return the images (data URLs) and files (paths) of a row of the UI log."""
    parts: list[Part] = []
    for url in items(row.get("images")):
        part = data_url_part(url)
        if part is None:
            reading.wrong("images")
        else:
            parts.append(part)
    parts += [Part("file", path=path) for path in items(row.get("files")) if isinstance(path, str)]
    return tuple(parts)


def data_url_part(url: object) -> Part | None:
    """Return an image of a data URL or another URL; None for anything else."""
    if not isinstance(url, str):
        return None
    if not url.startswith("data:"):
        return Part("image", url=url) if len(url) <= 4096 else None
    media_type, _, data = url[5:].partition(";base64,")
    part, is_readable = base64_part("image", media_type[:100], data)
    return part if is_readable and data else None


def readable(value: Json, depth: int = 0) -> Json:
    """Return decoded JSON without screenshots and other encoded bytes."""
    if depth == 0:
        value = without_opaque(value)
    if depth >= _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {k: readable(v, depth + 1) for k, v in value.items() if k not in _OPAQUE and not _is_data(v)}
    if isinstance(value, list):
        return [readable(v, depth + 1) for v in value if not _is_data(v)]
    return value


def _is_data(value: object) -> bool:
    return isinstance(value, str) and value.startswith("data:image/")
