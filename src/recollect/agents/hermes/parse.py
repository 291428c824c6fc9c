"""Hermes Agent: parses a row, document member or line into events. Pure; never raises on content."""

import re
from collections.abc import Callable
from typing import Any

from recollect.agents.facts import known_fields
from recollect.agents.hermes.messages import HermesState, Reading, identity_of, name_of, read_message
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.names import content_name, content_sha256, numbered
from recollect.agents.kit.values import Json, decoded_json, group_in, instant, mapping, number, text
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# What older versions and batch runs wrote: a session as one JSON document, as lines, or a line per trajectory.
#
# Their messages have no ids and no times: a name is made of the content and of how often it came, the time is that of
# the session.

_KNOWN = known_fields("hermes")
_OFFSET = re.compile(r"[Zz]$|[+-]\d\d:?\d\d$")
_THINK = re.compile(r"<think>(.*?)</think>\s*", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>\s*", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>(.*?)</tool_response>\s*", re.DOTALL)


def take_local_time(reading: Reading, written: object) -> None:
    """Take a time; one without an offset is that of a clock somewhere and is only inferred."""
    if isinstance(written, str) and not _OFFSET.search(written):
        at = instant(written)
        if at is None and written:
            reading.wrong("timestamp", "bad_timestamp")
        reading.infer(at)
    else:
        reading.date(written)


def read_document(reading: Reading) -> None:
    """Emit the members of a session document: those around the messages, or one message."""
    if reading.at == "messages":
        read_file_message(reading, reading.value)
        return
    value = reading.value
    if "role" in value and "messages" not in value and "session_id" not in value:
        read_file_message(reading, value)
        return
    if value.get("session_start"):
        take_local_time(reading, value.get("session_start"))
    model = reading.text(value, "model")
    cwd = reading.text(value, "cwd") or text(mapping(value.get("model_config")).get("cwd"))
    if not reading.now("is_started"):
        reading.set(is_started=True)
        reading.start(cwd=cwd, model=model, originator=reading.text(value, "platform"))
    elif cwd:
        reading.add(kinds.Lifecycle("cwd", cwd=cwd), native_id="cwd")
    reading.entitle(reading.text(value, "title"))
    prompt = reading.text(value, "system_prompt")
    reading.say(kinds.Instructions(prompt, "system_prompt"), native_id="system-prompt")
    reading.note("tag", detail=value.get("conversation_tags"), native_id="tags")
    for message in reading.items(value, "messages"):
        if isinstance(message, dict):
            read_file_message(reading, message)
        else:
            reading.unknown("message", message)
    reading.extra(value, _KNOWN["header"], "session", native_id="start")


def read_line(reading: Reading) -> None:
    """Emit one line of an older session: its facts, or a message."""
    value = reading.value
    if value.get("role") != "session_meta":
        take_local_time(reading, value.get("timestamp"))
        read_file_message(reading, value)
        return
    take_local_time(reading, value.get("timestamp"))
    if not reading.now("is_started"):
        reading.set(is_started=True)
        model, platform = reading.text(value, "model"), reading.text(value, "platform")
        reading.start(cwd=text(value.get("cwd")), model=model, originator=platform)
    elif value.get("model"):
        reading.add(kinds.Lifecycle("model", model=reading.text(value, "model")), native_id=f"model/{reading.index}")
    prompt = reading.text(value, "system_prompt")
    reading.say(kinds.Instructions(prompt, "system_prompt"), native_id="system-prompt")
    reading.extra(value, _KNOWN["line"], "session_meta", native_id=f"meta/{reading.index}")


def read_file_message(reading: Reading, message: dict[str, Any]) -> None:
    """Emit one message without an id of its own. An empty `session_meta` closes some documents and says nothing."""
    if message.get("role") == "session_meta":
        if len(message) > 1:
            reading.kept("session_meta", message, native_id=content_name(message))
        return
    name = numbered(reading, content_name(identity_of(message)))
    read_message(reading, message, name)


def read_trajectory(reading: Reading) -> None:
    """Emit one line of a batch run, which is a session of its own: `conversations` of {from, value}."""
    value = reading.value
    turns = value.get("conversations")
    if not isinstance(turns, list):
        reading.unknown("trajectory", value)
        return
    take_local_time(reading, value.get("timestamp"))
    session = f"{reading.state.session}/{value['prompt_index']}-" if _is_number(value) else f"{reading.state.session}/"
    into = _Trajectory(reading, f"{session}{content_sha256(value)}")
    into.add(kinds.SessionStart(model=reading.text(value, "model"), originator="batch"), "start")
    for position, turn in enumerate(turns, 1):
        into.turn(turn, f"t{position}")
    facts = {k: v for k, v in value.items() if k not in ("conversations", "timestamp", "model") and v is not None}
    if facts:
        into.add(kinds.Lifecycle("trajectory", detail=facts), "facts")
    reading.drift += [d for d in _unknown_fields(reading, value) if d]


def _unknown_fields(reading: Reading, value: dict[str, Any]) -> list[Any]:
    """Return the drift of the unknown fields of a trajectory; their content stands in its facts."""
    before = len(reading.drift)
    events = len(reading.events)
    reading.extra(value, _KNOWN["trajectory"], "trajectory")
    found = reading.drift[before:]
    del reading.drift[before:]
    del reading.events[events:]
    return found


def _is_number(value: dict[str, Any]) -> bool:
    return type(value.get("prompt_index")) is int


class _Trajectory:
    """The session that one line of a batch run is."""

    def __init__(self, reading: Reading, session: str) -> None:
        self._reading = reading
        self._session = session

    def add(self, payload: kinds.Payload, native_id: str) -> None:
        self._reading.add(payload, native_id=native_id, session=self._session)

    def turn(self, turn: Json, name: str) -> None:
        if not isinstance(turn, dict):
            self._reading.wrong("conversations")
            return
        said = turn.get("value")
        words = said if isinstance(said, str) else flatten(said)
        match turn.get("from"):
            case "system":
                self.add(kinds.Instructions(words, "system"), name)
            case "human":
                self.add(kinds.UserMessage(words), name)
            case "gpt":
                self._reply(words, name)
            case "tool":
                responses = _RESPONSE.findall(words) or [words]
                for position, written in enumerate(responses, 1):
                    answer = mapping(_decoded(written))
                    content = answer.get("content") if answer else written.strip()
                    structured = None if content is None or isinstance(content, str) else content
                    result = kinds.ToolResult(
                        text(answer.get("tool_call_id")),
                        text(answer.get("name")),
                        text=content if isinstance(content, str) else "",
                        structured=structured,
                    )
                    self.add(result, f"{name}/result/{position}")
            case other:
                self._reading.odd_value("trajectory.from", other, frozenset())
                self.add(kinds.Lifecycle("turn", text=words, detail={"from": other}), name)

    def _reply(self, words: str, name: str) -> None:
        for position, thought in enumerate(_THINK.findall(words), 1):
            if thought.strip():
                self.add(kinds.Thinking(thought.strip()), f"{name}/thinking/{position}")
        words = _THINK.sub("", words)
        rest = _CALL.sub("", words).strip()
        calls = _CALL.findall(words)
        if rest or not calls:
            self.add(kinds.AssistantMessage(rest), name)
        for position, written in enumerate(calls, 1):
            call = mapping(_decoded(written))
            tool = text(call.get("name"))
            arguments = call.get("arguments") if call else written.strip()
            self.add(
                kinds.ToolCall(text(call.get("id")), tool, canonical_tool(tool), arguments), f"{name}/call/{position}"
            )


def _decoded(written: str) -> Json:
    return decoded_json(written.strip())


# The rows around the messages: a session's facts and lineage, its usage per model, and its system prompt.
#
# Evidence: format notes: Hermes Agent, "state.db" and "lineage kinds"; the agent's published schema.

SESSION_FIELDS = known_fields("hermes")["session"]
_KEY_OF_USAGE = ("model", "billing_provider", "billing_base_url", "billing_mode", "task")
_SUBAGENT_SOURCES = ("tool", "subagent")
_MAX_PROMPT_CHARS = 200_000
"""At four bytes a character well below the state's limit."""
_EARLIEST_S = 946_684_800.0
_LATEST_S = 4_102_444_800.0
"""2000 and 2100: a damaged page holds doubles like 5e+246."""


def take_time(reading: Reading, written: object, field: str) -> None:
    """Take a time in seconds; a number outside this century is a defect, and the last time stands."""
    seconds = number(written)
    if seconds is not None and not _EARLIEST_S <= seconds <= _LATEST_S:
        reading.wrong(field, "bad_timestamp")
    else:
        reading.date(written, field)


def read_session(reading: Reading) -> None:
    """Emit what the row of `sessions` says: start and lineage, title, system prompt, usage, end."""
    row = reading.value
    parent = reading.text(row, "parent_session_id")
    config = mapping(row.get("model_config"))
    kind = _kind_of_child(config, parent, text(row.get("source")))
    take_time(reading, row.get("started_at"), "started_at")
    reading.start(
        **reading.told(
            row, cwd="cwd", repo_root="git_repo_root", git_branch="git_branch", model="model", originator="source"
        ),
        resumed_from=parent if kind == "continuation" else "",
        forked_from=parent if kind == "branch" else "",
        parent_session=parent if kind == "delegate" else "",
    )
    if kind == "reset":
        reading.add(kinds.Lifecycle("reset", detail={"previous_session": parent}), native_id="reset")
    reading.entitle(reading.text(row, "title"))
    prompt = reading.text(row, "system_prompt")
    reading.say(kinds.Instructions(prompt, "system_prompt"), native_id="system-prompt")
    rewinds = reading.count(row, "rewind_count")
    if rewinds:
        reading.add(kinds.Lifecycle("rewinds", detail={"rewind_count": rewinds}), native_id="rewinds")
    # Emit the session's own counters; they count only where no row per model says the same.
    usage = _usage(reading, row, f"hermes:{reading.state.session}", is_additive=not reading.now("usage_rows"))
    if usage.input_tokens or usage.output_tokens or usage.cache_read_tokens or usage.cache_write_5m_tokens:
        reading.add(usage, native_id="usage")
    reading.extra(row, SESSION_FIELDS, "sessions", native_id="start")
    reason = reading.text(row, "end_reason")
    if row.get("ended_at") is None and not reason:
        return
    take_time(reading, row.get("ended_at"), "ended_at")
    if reason == "compression":
        reading.add(kinds.Compaction(reason), native_id="compaction")
    reading.add(kinds.SessionEnd(reason), native_id="end")


def _kind_of_child(config: dict[str, Any], parent: str, source: str) -> str:
    """Tell how a session comes from its parent. A marker that names another session was inherited with the config."""
    if not parent:
        return ""
    for marker, kind in (("_branched_from", "branch"), ("_reset_from", "reset"), ("_delegate_from", "delegate")):
        if config.get(marker) == parent:
            return kind
    return "delegate" if source in _SUBAGENT_SOURCES else "continuation"


def read_model_usage(reading: Reading) -> None:
    """Emit one row of `session_model_usage`: what a session spent on one model and task so far.

    The row grows; its event keeps its name, so that the newest version is the one that counts.
    """
    row = reading.value
    take_time(reading, row.get("last_seen"), "last_seen")
    key = content_sha256([row.get(k) for k in _KEY_OF_USAGE])
    usage = _usage(reading, row, f"hermes:{reading.state.session}:{key}", is_additive=True)
    reading.set(usage_rows=min(reading.now("usage_rows") + 1, 1 << 31))
    reading.add(usage, native_id=f"usage:{key}")
    reading.extra(row, _KNOWN["usage"], "session_model_usage", native_id=f"usage:{key}")


def _usage(reading: Reading, row: dict[str, Any], key: str, *, is_additive: bool) -> kinds.TokenUsage:
    return kinds.TokenUsage(
        model=reading.text(row, "model"),
        input_tokens=reading.count(row, "input_tokens"),
        output_tokens=reading.count(row, "output_tokens"),
        cache_read_tokens=reading.count(row, "cache_read_tokens"),
        cache_write_5m_tokens=reading.count(row, "cache_write_tokens"),
        reasoning_tokens=reading.count(row, "reasoning_tokens"),
        cost_usd=reading.money(row, "actual_cost_usd") or reading.money(row, "estimated_cost_usd") or None,
        dedupe_key=key,
        is_additive=is_additive,
    )


def read_prompt(reading: Reading) -> None:
    """Remember a shared system prompt: the rows of the sessions that were given it come next."""
    row = reading.value
    prompt = reading.text(row, "prompt")
    kept = prompt[:_MAX_PROMPT_CHARS].encode("utf-8", "replace").decode()
    if len(kept) < len(prompt):
        reading.wrong("prompt", "too_large")
    name = reading.text(row, "hash")
    reading.set(prompt=kept, prompt_hash=name[:_MAX_NAME_CHARS].encode("utf-8", "replace").decode())


def read_prompted_session(reading: Reading) -> None:
    """Emit a session the shared prompt that its row names."""
    row = reading.value
    session = reading.text(row, "id")
    name = reading.text(row, "system_prompt_hash")
    if session and name and name == reading.now("prompt_hash"):
        reading.add(
            kinds.Instructions(reading.now("prompt"), "system_prompt"), native_id="system-prompt", session=session
        )


_MAX_NAME_CHARS = 200


_MANY_TURNS = 1_000_000
_SESSION_ID = re.compile(rb'"session_id"\s*:\s*"([^"\\]{1,200})"')
_OF_THE_DOCUMENT = (b'"session_start"', b'"platform"', b'"messages"')


class HermesAdapter(KitAdapter[HermesState], slug="hermes"):
    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the document, the id in a session file, else the file's name."""
        if info.document:
            return info.document
        if info.role == "file":
            name = group_in(_SESSION_ID, head) or info.stem.removeprefix("session_")
            return name or first_line_name(head)
        return info.stem or first_line_name(head)

    def read(self, reading: Reading) -> None:
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
            return
        read = _READERS.get((reading.state.role, reading.at)) or _READERS.get((reading.state.role, ""))
        if read is None:
            reading.unknown(reading.at or "record")
            return
        before = len(reading.events)
        read(reading)
        is_quiet = len(reading.events) == before and not reading.defects
        if is_quiet and reading.state.role in ("messages", "session", "trajectories"):
            reading.unknown(reading.at or "record")


def _read_row(reading: Reading) -> None:
    """Emit a row of `messages`, and what its flags say of the conversation."""
    row = reading.value
    take_time(reading, row.get("timestamp"), "timestamp")
    name = name_of(row)
    is_active = row.get("active") not in (0, False)
    is_compacted = row.get("compacted") in (1, True)
    if is_compacted:
        reading.set(has_compacted=True)
    if is_active or is_compacted:
        # Emit the rewind that ends at this message: the messages before it were taken back.
        first = reading.now("rewound")
        if first:
            reading.add(
                kinds.Rewind(reading.now("kept"), reading.now("rewound_turns") or None), native_id=f"{first}/rewind"
            )
            reading.set(rewound="", rewound_turns=0)
    is_turn = read_message(reading, row, name)
    if is_active or is_compacted:
        return
    if not reading.now("rewound"):
        reading.set(rewound=name, kept=reading.state.newest)
        reading.add(kinds.Lifecycle("rewound", detail={"from": name}), native_id=f"{name}/rewound")
    reading.set(rewound_turns=min(reading.now("rewound_turns") + is_turn, _MANY_TURNS))


_READERS: dict[tuple[str, str], Callable[[Reading], None]] = {
    ("messages", ""): _read_row,
    ("session", ""): read_session,
    ("session", "session_model_usage"): read_model_usage,
    ("prompts", ""): read_prompted_session,
    ("prompts", "system_prompts"): read_prompt,
    ("file", ""): read_document,
    ("lines", ""): read_line,
    ("trajectories", ""): read_trajectory,
}
"""What reads the records of a role, by the table or member where it matters."""
