"""Message rows: who speaks, with which model, and how it ended. What was said is in the parts that follow."""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.naming import MAX_PATH_CHARS, short
from recollect.agents.opencode.embedded import modern_of
from recollect.agents.opencode.parts import read_part_of
from recollect.agents.opencode.state import Reading, has_mark, mark_of, note
from recollect.agents.opencode.usage import give_pending, usage_of
from recollect.model.payloads import Instructions, Lifecycle
from recollect.model.text import flatten

ROW = frozenset(("id", "session_id", "time_created", "time_updated", "data", "agent_id"))
_KNOWN = frozenset(
    (
        "id", "sessionID", "role", "time", "agent", "model", "modelID", "providerID", "system", "tools", "format",
        "summary", "variant", "fallbackModels", "parentID", "mode", "path", "cost", "tokens", "finish", "error",
        "structured", "parts", "metadata",
    )
)  # fmt: skip
_TIME = frozenset(("created", "completed", "updated"))
_SUMMARY = frozenset(("title", "body", "diffs"))
_DIFF = frozenset(("file", "path", "before", "after", "patch", "diff", "additions", "deletions", "status"))
_ERRORS = frozenset(
    (
        "ProviderAuthError", "UnknownError", "MessageOutputLengthError", "MessageAbortedError",
        "StructuredOutputError", "ContextOverflowError", "APIError",
    )
)  # fmt: skip
_MAIN_AGENT = "main"


def read_message(reading: Reading) -> None:
    """Give what a message row says; its parts come after it, or, in the oldest files, inside."""
    give_pending(reading)
    row = reading.value
    if "data" in row:
        data = row["data"]
        reading.extra(row, ROW, "message_row", native_id=text(row.get("id")))
    else:
        data = row
    if not isinstance(data, dict):
        reading.wrong("data")
        reading.kept("message", native_id=text(row.get("id")))
        return
    embedded = modern_of(data)
    data, parts = embedded if embedded is not None else (data, items(data.get("parts")))
    name = text(row.get("id")) or text(data.get("id"))
    _begin(reading, row, data, name)
    if reading.now("is_repeat"):
        return
    speaker = reading.text(data, "role")
    if speaker == "user":
        _read_user(reading, data, name)
    elif speaker == "assistant":
        _read_assistant(reading, data, name)
    else:
        reading.unknown(f"message/{speaker}", data, native_id=name)
    reading.extra(data, _KNOWN, "message", native_id=name)
    for ordinal, part in enumerate(parts):
        if isinstance(part, dict):
            read_part_of(reading, part, text(part.get("id")) or f"{name}/part/{ordinal}")
        else:
            reading.wrong("parts")
            reading.kept("part", part, native_id=f"{name}/part/{ordinal}")
    if parts:
        give_pending(reading)


def _begin(reading: Reading, row: dict[str, Any], data: dict[str, Any], name: str) -> None:
    times = reading.mapping(data, "time")
    reading.extra(times, _TIME, "message.time", native_id=name)
    written = times.get("created")
    reading.date(row.get("time_created") if written is None else written, "time.created")
    created = reading.ts if reading.ts_quality == "exact" else None
    speaker = short(text(data.get("role")))
    agent_id = text(row.get("agent_id"))
    reading.is_sidechain = bool(agent_id) and agent_id != _MAIN_AGENT
    reading.native_id = name or None
    marks = (mark_of("id", name), mark_of("at", speaker, created))
    projected: bytes = reading.now("projected")
    is_repeat = bool(projected) and created is not None and any(has_mark(projected, mark) for mark in marks)
    if created is not None:
        note(reading, "rows", *marks)
    reading.set(
        message=short(name),
        speaker=speaker,
        model=short(_model_of(data)),
        finish=short(text(data.get("finish"))),
        created=created,
        is_summary=data.get("summary") is True,
        is_side=reading.is_sidechain,
        is_repeat=is_repeat,
        has_spoken=False,
        was_blank=False,
        edited=(),
    )


def _model_of(data: dict[str, Any]) -> str:
    model = data.get("model")
    if isinstance(model, str):
        return model
    return text(data.get("modelID")) or text(mapping(model).get("modelID")) or text(mapping(model).get("id"))


def _read_user(reading: Reading, data: dict[str, Any], name: str) -> None:
    system = reading.text(data, "system")
    if system:
        reading.add(Instructions(system, source="system"), native_id=f"{name}/system")
    _see_agent(reading, data, name)
    summary = data.get("summary")
    if isinstance(summary, dict):
        _read_summary(reading, summary, name)
    options = {key: data[key] for key in ("tools", "format", "fallbackModels") if data.get(key)}
    if options:
        reading.add(Lifecycle("prompt_options", detail=options), native_id=f"{name}/options")


def _read_summary(reading: Reading, summary: dict[str, Any], name: str) -> None:
    """What the agent noted about the turn. The contents of the changed files are in the edits."""
    title, body = reading.text(summary, "title"), reading.text(summary, "body")
    changes = []
    for diff in reading.items(summary, "diffs"):
        if isinstance(diff, dict):
            changes.append({k: v for k, v in diff.items() if k not in ("before", "after", "patch", "diff")})
            reading.extra(diff, _DIFF, "message.summary.diffs", native_id=name)
    said = title if body in ("", title) else f"{title}\n{body}".strip()
    if said or changes:
        detail = {"changes": changes} if changes else None
        reading.add(Lifecycle("turn_summary", said, detail), native_id=f"{name}/summary")
    reading.extra(summary, _SUMMARY, "message.summary", native_id=name)


def _see_agent(reading: Reading, data: dict[str, Any], name: str) -> None:
    """Give a change of the agent ("build", "plan") that the person talks to."""
    agent = short(reading.text(data, "agent"))
    if agent and agent != reading.now("agent"):
        if reading.now("agent"):
            reading.add(Lifecycle("mode", agent), native_id=f"{name}/mode")
        reading.set(agent=agent)


def _read_assistant(reading: Reading, data: dict[str, Any], name: str) -> None:
    reading.parent_id = reading.text(data, "parentID") or None
    model: str = reading.now("model")
    if model and model != reading.now("last_model"):
        if reading.now("last_model"):
            reading.add(Lifecycle("model", model=model), native_id=f"{name}/model")
        reading.set(last_model=model)
    _see_place(reading, data.get("path"), name)
    system = data.get("system")
    if system:
        prompts = system if isinstance(system, str) else "\n".join(filter(None, map(text, items(system))))
        reading.add(Instructions(prompts, source="system"), native_id=f"{name}/system")
    if isinstance(data.get("summary"), dict):
        _read_summary(reading, data["summary"], name)
    if data.get("structured") is not None:
        reading.kept("structured", data["structured"], native_id=f"{name}/structured")
    error = data.get("error")
    if error:
        read_error(reading, error, name, mapping(data.get("time")).get("completed"))
    holder = {"tokens": data.get("tokens"), "cost": data.get("cost")}
    reading.set(pending=usage_of(reading, holder, model, reading.now("created"), reading.now("message")))


def _see_place(reading: Reading, path: Any, name: str) -> None:
    """Give the folder the model works in, when it is another than before."""
    place = mapping(path)
    cwd = path if isinstance(path, str) else text(place.get("cwd"))
    if cwd and short(cwd, MAX_PATH_CHARS) != reading.now("cwd"):
        root = text(place.get("root"))
        detail = {"root": root} if root not in ("", "/", cwd) else None
        reading.add(Lifecycle("cwd", detail=detail, cwd=cwd), native_id=f"{name}/cwd")
        reading.set(cwd=short(cwd, MAX_PATH_CHARS))
    reading.extra(place, frozenset(("cwd", "root")), "message.path", native_id=name)


def read_error(reading: Reading, error: Any, name: str, ended: Any = None) -> None:
    """Give how a response failed: the person stopped it, or the provider did. ended: when, which its parts precede."""
    data = mapping(mapping(error).get("data"))
    kind = text(mapping(error).get("name")) or text(mapping(error).get("type"))
    said = text(data.get("message")) or text(mapping(error).get("message")) or (error if isinstance(error, str) else "")
    is_abort = kind in ("MessageAbortedError", "aborted") or (not kind and "abort" in said.lower())
    detail = error if isinstance(error, dict) else None
    if "name" in mapping(error):
        reading.odd_value("message.error.name", kind, _ERRORS)
    before = (reading.ts, reading.ts_quality, reading.last_ts)
    if ended is not None:
        reading.date(ended, "time.completed")
    reading.add(
        Lifecycle("interrupted" if is_abort else "api_error", said or flatten(error), detail),
        native_id=f"{name}/error",
    )
    reading.ts, reading.ts_quality, reading.last_ts = before
