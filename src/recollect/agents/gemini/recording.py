"""A recording's own records: its header, its patches (`$set`, `$rewindTo`) and its messages.

A line with an id is a message, written again as a whole when more of it is known. `$set.messages` is a checkpoint: the
agent goes on with these messages only. Most of them were given before and are not given again, as a checkpoint may
hold them with masked outputs; the others were written by the harness (a summary, the results that the model saw).
Evidence: format notes: Gemini CLI, "JSONL grammar", "Append / rewrite".
"""

from __future__ import annotations

from typing import Any

from recollect.agents.gemini.folders import find_folder, paths_in, see_folder
from recollect.agents.gemini.state import (
    MAX_LIVE,
    GeminiState,
    is_known,
    mark,
    position,
    remember_live,
    remember_name,
    rewind_to,
    turns_in,
)
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.google.chat import MODEL_TYPES, read_message
from recollect.agents.kit.content.google.parts import read_content
from recollect.agents.kit.naming import short_name
from recollect.agents.kit.reading import MAX_NAME_CHARS, Reading
from recollect.model.payloads import Compaction, Lifecycle, SessionStart, UserMessage

_SNAPSHOT_MARK = "<state_snapshot>"
_HEADER = frozenset(
    (
        "sessionId", "projectHash", "startTime", "lastUpdated", "kind", "directories", "summary", "memoryScratchpad",
        "messages", "activeExtensionName",
    )
)  # fmt: skip
_KINDS = frozenset(("main", "subagent", "chat"))
_MAX_PATH_CHARS = 4096


def read_record(reading: Reading[GeminiState]) -> None:
    """Give the events of one line of a recording."""
    value = reading.value
    if isinstance(value.get("$rewindTo"), str):
        _read_rewind(reading, value["$rewindTo"])
        reading.extra(value, frozenset(("$rewindTo",)), "rewind")
    elif isinstance(value.get("$set"), dict):
        _read_changes(reading, value["$set"])
        reading.extra(value, frozenset(("$set",)), "set")
    elif isinstance(value.get("id"), str):
        read_one_message(reading, value)
    elif "sessionId" in value or "projectHash" in value:
        read_header(reading, value)
    else:
        kind = value.get("type")
        reading.unknown(kind if isinstance(kind, str) and kind else next(iter(value), "record"))


def read_header(reading: Reading[GeminiState], value: dict[str, Any]) -> None:
    """Give the session's start and what else its metadata say. A snapshot's header comes in two halves."""
    reading.date(value.get("startTime"), "startTime")
    project_hash = reading.text(value, "projectHash")[:MAX_NAME_CHARS]
    if project_hash and project_hash.isprintable():
        reading.set(project_hash=project_hash)
    half = "trailer" if reading.now("is_started") else "header"
    if not reading.now("is_started") and ("sessionId" in value or "startTime" in value):
        _read_start(reading, value, project_hash)
    _read_title(reading, value, native_id="title")
    _read_rest(reading, value, native_id=half)
    reading.odd_value("header.kind", value.get("kind"), _KINDS)
    messages = value.get("messages")
    if messages is not None and reading.state.role != "chat_json":
        _read_checkpoint(reading, reading.items(value, "messages"))
    elif isinstance(messages, list):
        for message in messages:
            _read_element(reading, message)


def read_one_message(reading: Reading[GeminiState], message: dict[str, Any], *, is_synthetic: bool = False) -> None:
    """Give a message; remember that it was given, and what its calls are called."""
    message_id = message["id"]
    before, stood = len(reading.events), reading.newest()
    read_message(reading, message, is_synthetic=is_synthetic)
    if not message_id:
        return
    is_human = any(
        isinstance(e.payload, UserMessage) and e.payload.origin != "injected" for e in reading.events[before:]
    )
    remember_live(reading, message_id, stood, is_human=is_human)
    remember_name(reading, message_id)
    for call in (*items(message.get("toolCalls")), *read_content(message.get("content")).calls):
        call_id = text(mapping(call).get("id"))
        if call_id:
            remember_name(reading, f"call:{call_id}")
    see_folder(reading, message)
    _see_model(reading, message)


def read_snapshot_record(reading: Reading[GeminiState]) -> None:
    """Give one message of a whole-file recording, or the members around its messages."""
    value = reading.record.value
    if reading.at == "messages":
        _read_element(reading, value)
    elif isinstance(value, dict):
        read_header(reading, value)
    else:
        _read_element(reading, value)


def _read_element(reading: Reading[GeminiState], message: Any) -> None:
    if isinstance(message, dict) and isinstance(message.get("id"), str):
        read_one_message(reading, message)
    elif isinstance(message, dict):
        read_message(reading, message)
    else:
        reading.wrong("messages")
        reading.kept("message", message)


def _read_start(reading: Reading[GeminiState], value: dict[str, Any], project_hash: str) -> None:
    state = reading.state
    folder = find_folder(reading, (d for d in items(value.get("directories")) if isinstance(d, str)))
    if not folder:
        first = next((m for m in items(value.get("messages")) if isinstance(m, dict)), {})
        folder = find_folder(reading, paths_in(first))
    folder = folder[:_MAX_PATH_CHARS]
    reading.set(is_started=True, cwd=folder)
    named = text(value.get("sessionId"))
    reading.add(
        SessionStart(cwd=folder, originator=text(value.get("activeExtensionName")), parent_session=state.parent),
        native_id="start",
    )
    detail = {"identifier": state.project, "project_hash": project_hash}
    if named and named != state.session:
        detail["session_id"] = named
    if any(detail.values()):
        reading.add(Lifecycle("project", detail={k: v for k, v in detail.items() if v}), native_id="project")


def _read_changes(reading: Reading[GeminiState], changes: dict[str, Any]) -> None:
    reading.date(changes.get("lastUpdated"), "lastUpdated")
    named = reading.text(changes, "sessionId")
    if named and named != reading.state.session:
        reading.add(Lifecycle("resumed", detail={"session_id": named}))
    project_hash = reading.text(changes, "projectHash")[:MAX_NAME_CHARS]
    if project_hash and project_hash.isprintable():
        reading.set(project_hash=project_hash)
    _read_title(reading, changes, native_id=None)
    _read_rest(reading, changes, native_id=None)
    if "messages" in changes:
        _read_checkpoint(reading, reading.items(changes, "messages"))


def _read_title(reading: Reading[GeminiState], value: dict[str, Any], *, native_id: str | None) -> None:
    """Give the session's title, which is a summary that the agent makes of it."""
    title = reading.text(value, "summary")
    if title and title[:MAX_NAME_CHARS] != reading.now("title"):
        reading.set(title=title[:MAX_NAME_CHARS] if title.isprintable() else "")
        reading.add(Lifecycle("title", text=title, title=title), native_id=native_id)


def _read_rest(reading: Reading[GeminiState], value: dict[str, Any], *, native_id: str | None) -> None:
    """Give the folders that were added to the workspace, the notes, and fields that are not known."""
    directories = [d for d in reading.items(value, "directories") if isinstance(d, str)]
    if directories:
        reading.add(
            Lifecycle("directories", text="\n".join(directories), detail={"directories": directories}),
            native_id=f"{native_id}/directories" if native_id else None,
        )
        if not reading.now("cwd"):
            folder = find_folder(reading, iter(directories))[:_MAX_PATH_CHARS]
            if folder:
                reading.set(cwd=folder)
                reading.add(Lifecycle("cwd", cwd=folder), native_id="cwd")
    notes = value.get("memoryScratchpad")
    if notes:
        reading.kept("memoryScratchpad", notes, native_id=f"{native_id}/notes" if native_id else None)
    reading.extra(value, _HEADER, "header", native_id=native_id)


def _read_rewind(reading: Reading[GeminiState], target: str) -> None:
    """Give a rewind: the message and all after it are gone; with an id that is not known, all of them."""
    live: tuple[str, ...] = reading.now("live")
    at = max(position(live, target), 0)
    reading.add(rewind_to(reading, live, at))
    reading.set(live=live[:at])


def _read_checkpoint(reading: Reading[GeminiState], messages: list[Any]) -> None:
    """Give what a checkpoint says that was not said before, and what it replaces.

    One that keeps the first messages and drops the turns behind them is a rewind (the user restored it, or edited a
    prompt); any other is a compaction.
    """
    was_empty = not reading.now("known")
    found = [m for m in messages if isinstance(m, dict) and isinstance(m.get("id"), str)]
    fresh = [m for m in found if not is_known(reading, m["id"])]
    summary = "" if was_empty else next((s for m in fresh if (s := _summary_of(m))), "")
    was: tuple[str, ...] = reading.now("live")
    kept = _kept(was, [short_name(m["id"]) for m in found])
    if kept and not summary and turns_in(was[kept:]):
        reading.add(rewind_to(reading, was, kept))
    elif not was_empty:
        first = short_name(found[0]["id"]) if found and found[0]["id"] else ""
        reading.add(Compaction(summary=summary, continues_at=first))
    for message in fresh:
        if was_empty:
            read_one_message(reading, message)
        elif summary and _summary_of(message) == summary:
            remember_name(reading, message["id"])
        else:
            _read_synthetic(reading, message)
    for odd in (m for m in messages if not (isinstance(m, dict) and isinstance(m.get("id"), str))):
        reading.wrong("messages")
        reading.native_id = None
        reading.kept("message", odd)
    if not was_empty:
        turns = {entry[1:] for entry in was if turns_in((entry,))}
        live = [mark(m["id"], is_human=short_name(m["id"]) in turns) for m in found]
        reading.set(live=tuple(live[-MAX_LIVE:]))


def _kept(was: tuple[str, ...], names: list[str]) -> int:
    """Return how many messages a checkpoint keeps from the first on, 0 where it also has some of those behind."""
    same = next((i for i, (old, new) in enumerate(zip(was, names, strict=False)) if old[1:] != new), None)
    kept = min(len(was), len(names)) if same is None else same
    return 0 if {entry[1:] for entry in was[kept:]} & set(names[kept:]) else kept


def _read_synthetic(reading: Reading[GeminiState], message: dict[str, Any]) -> None:
    """Give a message that only the checkpoint has, without the calls and results that were given before."""
    content = message.get("content")
    if isinstance(content, list):
        content = [part for part in content if not _repeats(reading, part)]
        if not content and message["content"]:
            remember_name(reading, message["id"])
            return
    read_one_message(reading, {**message, "content": content}, is_synthetic=True)


def _repeats(reading: Reading[GeminiState], part: Any) -> bool:
    part = mapping(part)
    for key in ("functionCall", "functionResponse"):
        call_id = text(mapping(part.get(key)).get("id"))
        if call_id and is_known(reading, f"call:{call_id}"):
            return True
    return False


def _summary_of(message: dict[str, Any]) -> str:
    """Return the summary with which the agent replaces old turns, as the user's message that it is put into."""
    if message.get("type") != "user":
        return ""
    said = read_content(message.get("content")).said
    return said if _SNAPSHOT_MARK in said[:MAX_NAME_CHARS] else ""


def _see_model(reading: Reading[GeminiState], message: dict[str, Any]) -> None:
    """Give a change of the model, from its second on: the first is the session's own."""
    model = text(message.get("model"))[:MAX_NAME_CHARS]
    if not model or not model.isprintable() or text(message.get("type")) not in MODEL_TYPES:
        return
    before = reading.now("model")
    if before and before != model:
        native_id = f"{short_name(message['id'])}/model" if text(message.get("id")) else None
        reading.add(Lifecycle("model", model=model), native_id=native_id)
    reading.set(model=model)
