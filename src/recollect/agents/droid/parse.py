"""Factory Droid: parses a record into events. Pure; never raises on content.

Messages and saved output are read by `messages`; traps are in README.md.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from recollect.agents.droid.messages import DroidState, Reading, read_message, read_stream, stream_session
from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.content import without_opaque
from recollect.agents.kit.names import MAX_PATH_CHARS, short
from recollect.agents.kit.values import decoded_json, instant, mapping, text
from recollect.model.payloads import Compaction, Lifecycle, SessionStart
from recollect.model.records import SourceInfo
from recollect.model.text import flatten

SETTINGS = "settings"
STREAM = "stream"
TRANSCRIPT = "transcript"

# The records of a transcript: the header, messages, and what stands between them.
#
# Evidence: format notes: other agents, Factory Droid; captured sessions.

_KNOWN = known_fields("droid")
_UNTITLED = "New Session"
_ENDED = ("completed", "")
_FAILED = ("error", "failed")


def read_record(reading: Reading) -> None:
    value = reading.value
    kind = reading.text(value, "type")
    reading.native_id = short(reading.text(value, "id")) or None
    reading.parent_id = short(reading.text(value, "parentId")) or None
    reading.date(value.get("timestamp"))
    read = _READERS.get(kind)
    if read is None:
        reading.unknown(kind or "record")
    else:
        read(reading)


def _read_start(reading: Reading) -> None:
    """Emit the session's start and its title; the title is the first prompt until the agent has found a better one."""
    value = reading.value
    facts = mapping(value.get("session")) or value
    cwd, version = reading.text(facts, "cwd"), facts.get("version")
    start = SessionStart(
        cwd=cwd,
        # A whole number is the format's, text is the program's.
        tool_version=version if isinstance(version, str) else "",
        forked_from=text(facts.get("parent")),
        parent_session=text(facts.get("callingSessionId")),
        agent_name=text(facts.get("decompSessionType")),
    )
    reading.add(start, native_id="start")
    titles = (text(facts.get("sessionTitle")), text(facts.get("title")))
    reading.entitle(next((t for t in titles if t and t != _UNTITLED), ""))
    last = text(facts.get("lastCwd"))
    if last and last != cwd:
        reading.add(Lifecycle("cwd", cwd=last), native_id="cwd")
    reading.set(is_started=True, cwd=short(last or cwd, MAX_PATH_CHARS))
    reading.extra(value, _KNOWN["start"], "session_start", native_id="start")


def _read_compaction(reading: Reading) -> None:
    value = reading.value
    summary = mapping(value.get("summary"))
    said = reading.text(value, "summaryText") or "\n".join(
        filter(None, (text(summary.get(k)) for k in ("title", "body")))
    )
    anchor = text(mapping(value.get("anchorMessage")).get("id"))
    reading.add(
        Compaction(
            text(value.get("summaryKind")),
            said,
            tokens_after=reading.whole(value, "summaryTokens"),
            continues_at=anchor,
        )
    )
    info = value.get("systemInfo")
    if info:
        reading.kept("compaction_state.systemInfo", without_opaque(info), native_id=reading.below("system"))
    reading.extra(value, _KNOWN["compaction"], "compaction_state")


def _read_todos(reading: Reading) -> None:
    value = reading.value
    todos = value.get("todos")
    said = mapping(todos).get("todos")
    reading.add(Lifecycle("todo", text=said if isinstance(said, str) else flatten(todos)))
    reading.extra(value, _KNOWN["todo"], "todo_state")


def _read_outcome(reading: Reading) -> None:
    """Emit the end of a turn, which has neither id nor time. What is neither done nor an error was interrupted."""
    value = reading.value
    reason = reading.text(value, "reason")
    name = "turn_ended" if reason in _ENDED else "turn_aborted" if reason in _FAILED else "interrupted"
    detail = {k: value[k] for k in ("reason", "resultKind") if value.get(k)}
    turn = short(reading.text(value, "turnId"))
    reading.add(Lifecycle(name, text=reason, detail=detail or None), native_id=f"turn:{turn}" if turn else None)
    reading.extra(value, _KNOWN["outcome"], "agent_turn_outcome", native_id=f"turn:{turn}" if turn else None)


def _read_settings(reading: Reading) -> None:
    """Emit a change of settings, and of the model with it."""
    rest: dict[str, Any] = {k: v for k, v in reading.value.items() if k not in ("type", "id", "timestamp", "parentId")}
    reading.add(Lifecycle("settings", detail=without_opaque(rest) or None, model=text(rest.get("model"))))


_READERS: dict[str, Callable[[Reading], None]] = {
    "session_start": _read_start,
    "message": read_message,
    "compaction_state": _read_compaction,
    "todo_state": _read_todos,
    "agent_turn_outcome": _read_outcome,
    "session_settings": _read_settings,
}


# The settings file beside a transcript: the session's running total of tokens, rewritten as it grows.
#
# `inclusiveTokenUsage` holds the subagents' too, which have their own files; `lastCallTokenUsage` is part of the total.
# `inputTokens` is without cached tokens: captured totals have far fewer of the former than of the latter.

_TOTALS = frozenset(("tokenUsage", "inclusiveTokenUsage", "lastCallTokenUsage", "childInclusiveTokenUsageBySessionId"))


def is_settings(value: Any) -> bool:
    """Say whether a document is a settings file of Droid."""
    facts = mapping(value)
    return "inputTokens" in mapping(facts.get("tokenUsage")) and bool(
        facts.keys() & {"assistantActiveTimeMs", "autonomyMode", "providerLock"}
    )


def read_settings(reading: Reading) -> None:
    """Emit the session's settings and its tokens. The only time in it is that of the first request."""
    value = reading.value
    reading.infer(instant(value.get("providerLockTimestamp")))
    model = reading.text(value, "model")
    rest = {k: v for k, v in value.items() if k in _KNOWN["parse_record"] and k not in _TOTALS and v not in (None, "")}
    if rest:
        reading.add(Lifecycle("settings", detail=without_opaque(rest), model=model), native_id="settings")
    usage = reading.mapping(value, "tokenUsage")
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens", "thinkingTokens")
    *counts, thought = reading.counts(usage, names)
    key = f"droid:{reading.state.session}"
    reading.spend(model, counts, key, native_id="usage", reasoning_tokens=min(thought, counts[1]))
    reading.extra(usage, _KNOWN["usage"], "settings.tokenUsage", native_id="usage")
    reading.extra(value, _KNOWN["parse_record"], "settings", native_id="settings")


_MAX_LINES = 20
_SUFFIX = ".settings"


class DroidAdapter(KitAdapter[DroidState], slug="droid"):
    readers: ClassVar = {SETTINGS: read_settings, STREAM: read_stream, "": read_record}

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. The messages alone could be another agent's; the header is Droid's."""
        values = _values(head)
        for value in values:
            if value.get("type") == "session_start" and _header_id(value):
                return TRANSCRIPT
        if any(stream_session(value) for value in values):
            return STREAM
        return SETTINGS if path.endswith(".settings.json") and is_settings(decoded_json(head)) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the file's stem in the agent's own layout, else what the content says."""
        stem = info.stem.removesuffix(_SUFFIX)
        if info.role == SETTINGS or info.path.startswith("sessions/"):
            return stem or first_line_name(head)
        found = _header_id if info.role == TRANSCRIPT else stream_session
        return next((name for value in _values(head) if (name := found(value))), stem) or first_line_name(head)


def _header_id(value: dict[str, Any]) -> str:
    """Return the id that a header gives; the first versions kept it one level deeper."""
    if value.get("type") != "session_start":
        return ""
    return text(value.get("id")) or text(mapping(value.get("session")).get("id"))


def _values(head: bytes) -> list[dict[str, Any]]:
    return [mapping(decoded_json(line)) for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]]
