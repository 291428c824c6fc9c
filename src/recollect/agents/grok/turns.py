"""The parser's state, chunked messages, and turn updates: usage, end, rewinds, subagents.

Evidence: format notes: Grok Build, section 3 (xAI kinds, usage), traps 2, 6 and 7.
"""

from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import MAX_NAME_CHARS, BaseState
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.content import base64_part
from recollect.agents.kit.names import Marks, content_sha256, count_name, short, spaceless
from recollect.agents.kit.values import mapping, text, whole, word_set
from recollect.model import payloads as kinds
from recollect.model.events import TsQuality
from recollect.model.text import flatten

# Who wrote a text in the user's role: what the harness put around a prompt is taken off it.
#
# Evidence: format notes: Grok Build, section 4 (`<user_query>` and the tags beside it, `synthetic_reason`).

_TAGS = ("user_info", "git_status", "system-reminder", "agent_skills", "mcp_servers")
_QUERY, _END_OF_QUERY = "<user_query>", "</user_query>"
_MAX_BLOCKS = 32

HUMAN_REASONS: dict[str, kinds.Origin] = {"interjection": "queued"}
"""Synthetic reasons behind which a person stands: typed while the agent worked."""
REASONS = word_set("""
    compaction_meta system_reminder project_instructions auto_continue auto_recovery interjection agent_message
    task_completed subagent_completed notification_drain goal_summary goal_classifier_nudge scheduler_fired
    stop_hook_feedback working_directory_switch environment_context unknown
""")


def split_prompt(text: str) -> tuple[str, list[str]]:
    """Return what the person wrote, and the blocks of the harness before and after it. Tags inside stay."""
    if "<" not in text:
        return text, []
    asides: list[str] = []
    rest = text
    for _ in range(_MAX_BLOCKS):
        shorter = _without_block(rest, asides)
        if shorter is None:
            break
        rest = shorter
    bare = rest.strip()
    if bare.startswith(_QUERY) and bare.endswith(_END_OF_QUERY):
        rest = bare[len(_QUERY) : -len(_END_OF_QUERY)].strip("\n")
    return rest if asides or rest is not text else text, asides


def _without_block(text: str, asides: list[str]) -> str | None:
    """Return the text without its first or last block, which goes to `asides`; None where it has neither."""
    bare = text.strip()
    for tag in _TAGS:
        start, end = f"<{tag}>", f"</{tag}>"
        if bare.startswith(start) and (at := bare.find(end)) >= 0:
            asides.append(bare[: at + len(end)])
            return bare[at + len(end) :].lstrip("\n")
        if bare.endswith(end) and (at := bare.rfind(start)) >= 0:
            asides.append(bare[at:])
            return bare[:at].rstrip("\n")
    return None


# What the parser of Grok Build remembers between records, and its limits.

MAX_SPEECH_CHARS = 48_000
"""A message that grows beyond this continues as a message of its own."""
MAX_PARTS = 16
MAX_OPEN = 32
MAX_OUTPUT_CHARS = 2048
"""Of a running tool's output; what is longer is given at once and not put together with the end."""
MAX_PROMPTS = 512
START = "start"
"""Stands for the prompt in the names of what is said before the first one."""


class Speech(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A message whose chunks still come.

    kind: user, host, agent or thought. given: how many characters of it were given, in how many versions, the last of
    them named `name`. prompt: the prompt id of its chunks. index: of the user's prompt.
    """

    kind: str
    text: str = ""
    parts: tuple[kinds.Part, ...] = ()
    origin: kinds.Origin = "human"
    prompt: str = ""
    index: int | None = None
    ts: int | None = None
    ts_quality: TsQuality = "missing"
    given: int = -1
    versions: int = 0
    name: str = ""


class Open(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A tool call that has not ended.

    known: hashes of its arguments. output: what it gave so far. has_diff: its edits come from the agent's own diff.
    """

    call: Waiting
    known: tuple[int, ...] = ()
    output: str = ""
    is_long: bool = False
    has_diff: bool = False


class Prompt(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A human prompt on the active branch: its index, and the event that stood before it."""

    index: int
    before: str = ""


class Shrink(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A compaction of which one half was written: its checkpoint, or its token counts."""

    name: str
    has_checkpoint: bool = False
    trigger: str = ""
    summary: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None


class GrokState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """Carried from record to record. cwd: told by the folder's name. last: the newest event of the conversation.

    mark: the human prompt that the conversation is at, in the names of its messages: its index, with a number behind it
    where the index is used again after a rewind; "" where it isn't known. top: the highest index so far. repeats: how
    often one was used again. asked, said, thought: messages given of the prompt.
    """

    cwd: str = ""
    model: str = ""
    seen: Marks = ()
    mark: str = START
    top: int = -1
    repeats: int = 0
    asked: int = 0
    said: int = 0
    thought: int = 0
    speech: Speech | None = None
    open: tuple[Open, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    shrink: Shrink | None = None
    trigger: str = ""
    last: str = ""


Reading = kit.Reading[GrokState]


# Messages that come in chunks: put together, and given as they grow.
#
# A chunk continues with the message before it while speaker, prompt and kind stay the same; records around the
# conversation (commands, plans, hooks) don't cut it. Every version replaces the one before: a half-written turn is
# searchable at once. Long messages are given when they grew by an eighth, and to their end when something else begins,
# so that what is written stays within a few times the message. Evidence: format notes: Grok Build, section 7.

_PREFIXES = {"user": "ask", "host": "ask", "agent": "say", "thought": "thought"}
_COUNTERS = {"user": "asked", "host": "asked", "agent": "said", "thought": "thought"}
_FREE_VERSIONS = 16
_GROWTH = 8
_MAX_LINK_CHARS = 500
_KNOWN = known_fields("grok")


def name_message(reading: Reading, kind: str) -> str:
    """Return the name of the next message: its prompt and its number there, as in the stream so in the history."""
    counter = _COUNTERS[kind]
    number = reading.now(counter) + 1
    reading.set(**{counter: number})
    mark = reading.now("mark")
    return f"ask:{mark}" if kind == "user" and number == 1 else f"{_PREFIXES[kind]}:{mark}.{number}"


def begin_prompt(reading: Reading, mark: str) -> None:
    """Count the messages from here on as those of another prompt."""
    reading.set(mark=mark, asked=0, said=0, thought=0)


def hear(reading: Reading, kind: str, update: dict[str, Any], meta: dict[str, Any]) -> None:
    """Take one chunk of a message."""
    content = update.get("content")
    block = content if isinstance(content, dict) else {"type": "text", "text": content}
    if not isinstance(content, dict | str):
        reading.wrong("content")
    reading.extra(block, _KNOWN["content"], "content")
    own = mapping(update.get("_meta"))
    command = text(mapping(block.get("_meta")).get("bashCommand")) or text(own.get("bashCommand"))
    if kind == "user" and (own.get("hostTurn") is True or meta.get("hostTurn") is True):
        kind = "host"
    said, part = read_content(reading, block)
    if command:
        said = f"!{command}" if command in said or not said else f"!{command}\n{said}"
    elif kind == "user":
        said, asides = split_prompt(said)
        for aside in asides:
            _give_aside(reading, aside)
        if not said.strip() and part is None and asides:
            return
    index = whole(own.get("promptIndex")) if "promptIndex" in own else whole(meta.get("promptIndex"))
    prompt = text(meta.get("promptId")) or text(own.get("promptId"))
    speech = reading.now("speech")
    if speech is None or not _goes_on(speech, kind, prompt, index) or command:
        settle(reading)
        is_command = bool(command)
        origin: kinds.Origin = "command" if is_command else "injected" if kind == "host" else "human"
        if kind == "user" and not _begin_turn(reading, index, is_command=is_command) and not is_command:
            origin = "queued"
        speech = Speech(
            kind,
            origin=origin,
            prompt=short(prompt),
            index=index,
            ts=reading.ts,
            ts_quality=reading.ts_quality,
            name=name_message(reading, kind),
        )
    parts = (*speech.parts, part) if part is not None and len(speech.parts) < MAX_PARTS else speech.parts
    speech = msgspec.structs.replace(
        speech, text=speech.text + said, parts=parts, prompt=speech.prompt or short(prompt)
    )
    if speech.versions < _FREE_VERSIONS or len(speech.text) - speech.given > speech.given // _GROWTH:
        speech = _give(reading, speech)
    is_full = len(speech.text) > MAX_SPEECH_CHARS or not _is_storable(speech.text)
    reading.set(speech=None if is_full or command else speech)


def settle(reading: Reading) -> None:
    """End the message whose chunks came: what of it was not given yet is given now."""
    speech: Speech | None = reading.now("speech")
    if speech is None:
        return
    if len(speech.text) > speech.given:
        _give(reading, speech)
    reading.set(speech=None)


def read_content(reading: Reading, block: dict[str, Any]) -> tuple[str, kinds.Part | None]:
    """Return the text of a content block of the protocol, and the part that it is if it is no text."""
    kind = text(block.get("type")) or "text"
    if kind == "text":
        said = block.get("text")
        return (said if isinstance(said, str) else flatten(said)), None
    if kind in ("image", "audio"):
        part, is_readable = base64_part(kind, short(text(block.get("mimeType"))), block.get("data"))
        uri = short(text(block.get("uri")), _MAX_LINK_CHARS)
        if not is_readable and not uri:
            reading.wrong("content.data", "bad_base64")
        return "", msgspec.structs.replace(part, url=uri) if uri else part
    if kind == "resource_link":
        return "", _link(kind, block)
    if kind == "resource":
        resource = reading.mapping(block, "resource")
        body = text(resource.get("text"))
        if body:
            _give_aside(reading, body)
        return "", _link(kind, resource)
    reading.unknown(f"content/{kind}", block)
    return "", None


def _link(kind: str, block: dict[str, Any]) -> kinds.Part:
    uri = short(text(block.get("uri")), _MAX_LINK_CHARS)
    path = uri.removeprefix("file://") if uri.startswith("file://") else short(text(block.get("name")), _MAX_LINK_CHARS)
    return kinds.Part(type=kind, media_type=short(text(block.get("mimeType"))), path=path, url=uri)


def _goes_on(speech: Speech, kind: str, prompt: str, index: int | None) -> bool:
    is_other_prompt = bool(prompt) and bool(speech.prompt) and short(prompt) != speech.prompt
    return speech.kind == kind and not is_other_prompt and (index is None or index == speech.index)


def _begin_turn(reading: Reading, index: int | None, *, is_command: bool) -> bool:
    """Remember a human prompt; False where it belongs to a turn that runs: typed while the agent worked, a command."""
    prompts: tuple[Prompt, ...] = reading.now("prompts")
    if index is None:
        if is_command:
            return False
        index = prompts[-1].index + 1 if prompts else 0
    if prompts and prompts[-1].index >= index:
        return False
    top: int = reading.now("top")
    if index > top:
        begin_prompt(reading, str(index))
    else:
        reading.set(repeats=reading.now("repeats") + 1)
        begin_prompt(reading, f"{index}r{reading.now('repeats')}")
    reading.set(top=max(top, index), prompts=(*prompts, Prompt(index, reading.now("last")))[-MAX_PROMPTS:])
    return True


def _give(reading: Reading, speech: Speech) -> Speech:
    """Emit the message as far as it is known, in the place of what was given of it before."""
    if not speech.text and not speech.parts:
        return speech
    payload: kinds.Payload
    if speech.kind in ("user", "host"):
        payload = kinds.UserMessage(speech.text, speech.origin, speech.parts)
    elif speech.kind == "thought":
        payload = kinds.Thinking(speech.text)
    else:
        payload = kinds.AssistantMessage(speech.text, reading.now("model"), parts=speech.parts)
    ts, quality = reading.ts, reading.ts_quality
    reading.ts, reading.ts_quality = speech.ts, speech.ts_quality
    # Also told by `replaces`: such an event holds text of records before its own.
    reading.add(payload, native_id=speech.name, replaces=(speech.name, 0) if speech.versions else None)
    reading.ts, reading.ts_quality = ts, quality
    reading.set(last=speech.name)
    return msgspec.structs.replace(speech, given=len(speech.text), versions=speech.versions + 1)


def _give_aside(reading: Reading, said: str) -> None:
    counted, seen = count_name(reading.now("seen"), content_sha256(reading.state.session, "aside", spaceless(said)))
    reading.set(seen=seen)
    reading.add(kinds.UserMessage(said, "injected"), native_id=f"aside:{counted}")


def _is_storable(said: str) -> bool:
    try:
        said.encode()
    except UnicodeEncodeError:
        return False
    return True


_TICKS_PER_USD = 1e10
_SAID = ("modelCalls", "apiDurationMs", "numTurns", "usageIsIncomplete")
STOP_REASONS = word_set("end_turn max_tokens max_turn_requests refusal cancelled interrupted error")
_ABORTED = frozenset(("cancelled", "interrupted"))


def read_turn_end(reading: Reading, update: dict[str, Any]) -> None:
    """Emit the usage and the end of a turn."""
    reading.extra(update, _KNOWN["turn"], "turn_completed")
    reason = reading.text(update, "stop_reason")
    reading.odd_value("turn_completed.stop_reason", reason, STOP_REASONS)
    usage = reading.mapping(update, "usage")
    prompt = reading.text(update, "prompt_id") or content_sha256(reading.ts, usage)
    if usage:
        _read_usage(reading, usage, prompt)
    detail = {"stop_reason": reason} if reason else {}
    detail |= {k: usage[k] for k in _SAID if usage.get(k) not in (None, 0, False)}
    result = update.get("agent_result")
    reading.add(
        kinds.Lifecycle(
            "interrupted" if reason in _ABORTED else "turn_ended",
            result if isinstance(result, str) else "",
            detail if isinstance(result, str | None) else {**detail, "agent_result": result},
        ),
        native_id=f"turn:{prompt}",
    )


def _read_usage(reading: Reading, usage: dict[str, Any], prompt: str) -> None:
    """Emit one sighting per model. With one model the totals are its own, and say more than its entry does."""
    reading.extra(usage, _KNOWN["usage"], "usage", native_id=f"turn:{prompt}")
    models = {k: v for k, v in reading.mapping(usage, "modelUsage").items() if isinstance(v, dict)}
    if len(models) <= 1:
        model = next(iter(models), "") or reading.now("model")
        _give_usage(reading, usage, prompt, model)
        return
    for model, own in models.items():
        reading.extra(own, _KNOWN["usage"], "usage.modelUsage", native_id=f"turn:{prompt}/{model}")
        _give_usage(reading, own, prompt, model)
    if not any("costUsdTicks" in own for own in models.values()) and "costUsdTicks" in usage:
        key = f"{prompt}:cost"
        reading.add(kinds.TokenUsage(cost_usd=_cost(usage), dedupe_key=key), native_id=f"usage:{key}")


def _give_usage(reading: Reading, usage: dict[str, Any], prompt: str, model: str) -> None:
    """Input counts are of the whole prompt, with what was read from and written to the cache."""
    cached = reading.count(usage, "cachedReadTokens")
    written = reading.count(usage, "cacheCreationTokens")
    key = f"{prompt}:{model}"
    reading.add(
        kinds.TokenUsage(
            model=model,
            input_tokens=max(0, reading.count(usage, "inputTokens") - cached - written),
            output_tokens=reading.count(usage, "outputTokens"),
            cache_read_tokens=cached,
            cache_write_5m_tokens=written,
            reasoning_tokens=reading.count(usage, "reasoningTokens"),
            cost_usd=_cost(usage),
            dedupe_key=key,
        ),
        native_id=f"usage:{key}",
    )


def _cost(usage: dict[str, Any]) -> float | None:
    """Return the stated cost; none where it is absent: unknown is not free."""
    ticks = whole(usage.get("costUsdTicks"))
    return ticks / _TICKS_PER_USD if ticks is not None and ticks >= 0 else None


def read_rewind(reading: Reading, update: dict[str, Any]) -> None:
    """Emit a rewind to before a prompt; the stream keeps what it leaves behind."""
    target = whole(update.get("target_prompt_index"))
    if target is None:
        reading.wrong("target_prompt_index")
        reading.kept("rewind_marker", update)
        return
    prompts: tuple[Prompt, ...] = reading.now("prompts")
    kept = tuple(p for p in prompts if p.index < target)
    dropped = prompts[len(kept) :]
    to_event = dropped[0].before if dropped else reading.now("last")
    reading.add(kinds.Rewind(to_event, len(dropped) or None))
    reading.set(prompts=kept, last=to_event)


def read_compaction_start(reading: Reading, update: dict[str, Any]) -> None:
    """Emit the start of a compaction, and remember its reason."""
    reading.set(shrink=None, trigger=short(text(update.get("reason"))))
    _give_kept(reading, "compaction_started", update)


def read_checkpoint(reading: Reading, update: dict[str, Any]) -> None:
    """Emit a compaction by its checkpoint, which says where; the token counts come in the record after it."""
    checkpoint = text(update.get("checkpoint_id"))
    shrink: Shrink | None = reading.now("shrink")
    if shrink is None or shrink.has_checkpoint:
        name = short(f"compaction:{checkpoint or content_sha256(update)}")
        shrink = Shrink(name, has_checkpoint=True, trigger=reading.now("trigger"))
    else:
        shrink = msgspec.structs.replace(shrink, has_checkpoint=True)
    _give_shrink(reading, shrink)
    _give_kept(reading, "checkpoint", update)


def read_compaction_end(reading: Reading, update: dict[str, Any]) -> None:
    """Emit a compaction's token counts: of the checkpoint just before, else a compaction of its own."""
    shrink: Shrink | None = reading.now("shrink")
    if shrink is None or shrink.tokens_after is not None:
        name = f"compaction:{content_sha256(reading.ts, update)}"
        shrink = Shrink(name, trigger=reading.now("trigger") or "auto")
    summary = text(update.get("summary_preview"))
    shrink = msgspec.structs.replace(
        shrink,
        trigger=shrink.trigger or "auto",
        summary=summary[:MAX_NAME_CHARS] if len(summary) <= MAX_NAME_CHARS and summary.isascii() else "",
        tokens_before=whole(update.get("tokens_before")),
        tokens_after=whole(update.get("tokens_after")),
    )
    _give_shrink(reading, shrink, summary)
    rest = {k: v for k, v in update.items() if k not in ("tokens_before", "tokens_after", "summary_preview")}
    if len(rest) > 1:
        _give_kept(reading, "compaction_ended", rest)


def _give_shrink(reading: Reading, shrink: Shrink, summary: str = "") -> None:
    reading.add(
        kinds.Compaction(
            shrink.trigger, summary or shrink.summary, shrink.tokens_before, shrink.tokens_after, reading.now("last")
        ),
        native_id=shrink.name,
    )
    reading.set(shrink=shrink)


def read_subagent_start(reading: Reading, update: dict[str, Any]) -> None:
    """Emit the start of a subagent here, and in its own session whose child it is."""
    child = reading.text(update, "child_session_id") or reading.text(update, "subagent_id")
    parent = reading.text(update, "parent_session_id") or reading.state.session
    reading.add(
        kinds.Lifecycle("subagent", reading.text(update, "description"), _rest(update, ("description",)), call_id=""),
        native_id=f"subagent:{child}" if child else None,
    )
    if child and child != parent:
        reading.start(
            **reading.told(update, model="model", agent_name="subagent_type"),
            parent_session=parent,
            native_id="start/spawn",
            session=child,
        )


def read_subagent_end(reading: Reading, update: dict[str, Any]) -> None:
    """Emit the end of a subagent with its output."""
    output = update.get("output")
    said = output if isinstance(output, str) else ""
    reading.add(kinds.Lifecycle("subagent", said, _rest(update, ("output",) if said else ())))


def _give_kept(reading: Reading, name: str, update: dict[str, Any]) -> None:
    reading.add(kinds.Lifecycle(name, detail=_rest(update)))


def _rest(update: dict[str, Any], left_out: tuple[str, ...] = ()) -> dict[str, Any] | None:
    rest = {k: v for k, v in update.items() if k not in ("sessionUpdate", *left_out) and v not in (None, "", [], {})}
    return rest or None
