"""Gemini CLI: parses a record into events. Pure; never raises on content."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from recollect.agents.facts import known_fields
from recollect.agents.kit import google_chat
from recollect.agents.kit.adapter import MAX_NAME_CHARS, KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.names import content_sha256, short_name
from recollect.agents.kit.values import decoded_json, head_objects, items, mapping, text
from recollect.model.payloads import Compaction, Lifecycle, Rewind, UserMessage
from recollect.model.records import SourceInfo

# Parses a recording: its header, its patches (`$set`, `$rewindTo`) and its messages.
#
# A line with an id is a message, written again as a whole when more of it is known. `$set.messages` is a checkpoint:
# the agent continues with these messages only. Most of them were given before and are not given again, as a
# checkpoint may hold them with masked outputs; the others were written by the harness (a summary, the results that
# the model saw). Evidence: format notes: Gemini CLI, "JSONL grammar", "Append / rewrite".

# What is carried from record to record of a Gemini CLI source, and its limits.

MAX_LIVE = 2048
"""Messages that the agent still has, the newest at the end; enough for a rewind of any session a person reads."""
MAX_KNOWN = 4096
"""Messages and calls that were given; a checkpoint repeats them."""
_HUMAN, _OTHER = "u", "-"


class GeminiState(google_chat.ChatState, frozen=True):
    """The fold of a recording, as far as it is needed to read the next line."""

    project: str = ""
    """The identifier of the project: the folder's name below `tmp`."""
    parent: str = ""
    """Of a subagent: the session that started it."""
    project_hash: str = ""
    cwd: str = ""
    model: str = ""
    title: str = ""
    live: tuple[str, ...] = ()
    """Ids of the messages that the agent still has, each with a mark in front: is it a person's turn."""
    befores: tuple[tuple[str, str], ...] = ()
    """The live messages with the event that stood before each when it was given."""
    known: tuple[str, ...] = ()
    """Short hashes of what was given: message ids, and call ids behind `call:`."""


def mark(message_id: str, *, is_human: bool) -> str:
    """Return how a message stands in `live`."""
    return (_HUMAN if is_human else _OTHER) + short_name(message_id)


def is_known(reading: Reading[GeminiState], name: str) -> bool:
    """Say whether a message (its id) or a call (`call:<id>`) was given before."""
    known: tuple[str, ...] = reading.now("known")
    return content_sha256(name) in known


def remember_name(reading: Reading[GeminiState], name: str) -> None:
    """Remember that a message or call was given."""
    known: tuple[str, ...] = reading.now("known")
    short = content_sha256(name)
    if short not in known:
        reading.set(known=(*known, short)[-MAX_KNOWN:])


def rewind_to(reading: Reading[GeminiState], live: tuple[str, ...], at: int) -> Rewind:
    """Return the rewind that leaves behind the live messages from a place on."""
    befores: tuple[tuple[str, str], ...] = reading.now("befores")
    name = live[at][1:] if at < len(live) else ""
    before = next((before for message, before in befores if message == name), "")
    return Rewind(before or (live[at - 1][1:] if at else ""), turns_in(live[at:]))


def position(live: tuple[str, ...], message_id: str) -> int:
    """Return where a message stands among the live ones, -1 if it doesn't."""
    name = short_name(message_id)
    return next((i for i in range(len(live) - 1, -1, -1) if live[i][1:] == name), -1)


def turns_in(entries: tuple[str, ...]) -> int:
    """Return how many of some live messages are a person's turns."""
    return sum(entry[0] == _HUMAN for entry in entries)


# The folder a session worked in: Gemini CLI writes only its SHA-256, and into side files which folder has which name.
#
# A path that stands in the session is checked against the hash, it and every folder above it: a match is a proof.
# Evidence: format notes: Gemini CLI, "Where".

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PATH = re.compile(r"(?:[A-Za-z]:\\|/)[^\s\"'`<>|*?;,()\[\]{}]+")
_PATH_KEYS = ("file_path", "absolute_path", "path", "dir_path", "directory", "cwd")
_MAX_PATHS = 24
_MAX_DEPTH = 24
_MAX_CHARS = 4096
_SCANNED_CHARS = 2000
"""Paths stand at the start of what a tool says."""


def sha256_of(folder: str) -> str:
    """Return how Gemini CLI names a project by its folder."""
    return hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest()


def find_folder(reading: Reading[GeminiState], paths: Iterator[str]) -> str:
    """Return the folder whose hash the session states, if one of these paths is in it."""
    wanted: str = reading.now("project_hash")
    if not _SHA256.fullmatch(wanted):
        return ""
    tried: set[str] = set()
    for _, path in zip(range(_MAX_PATHS), paths, strict=False):
        for folder in _upwards(path[:_MAX_CHARS]):
            if folder in tried:
                break
            tried.add(folder)
            if sha256_of(folder) == wanted:
                return folder
    return ""


def see_folder(reading: Reading[GeminiState], message: dict[str, Any]) -> None:
    """Emit the session's folder once a message proves it."""
    if reading.now("cwd") or not reading.now("project_hash"):
        return
    folder = find_folder(reading, paths_in(message))
    if folder:
        reading.set(cwd=folder)
        reading.add(Lifecycle("cwd", cwd=folder), native_id="cwd")


def paths_in(message: dict[str, Any]) -> Iterator[str]:
    """Yield the absolute paths that a message speaks of: those in calls first, then those in texts."""
    calls = [mapping(call) for call in items(message.get("toolCalls"))]
    for call in calls:
        arguments = mapping(call.get("args"))
        yield from (v for key in _PATH_KEYS if (v := text(arguments.get(key))))
        shown = mapping(call.get("resultDisplay"))
        yield from (v for v in (text(shown.get("filePath")),) if v)
    for said in (message.get("content"), *(call.get("result") for call in calls)):
        if said:
            yield from _PATH.findall(google_chat.content_text(said)[:_SCANNED_CHARS])


def _upwards(path: str) -> Iterator[str]:
    separator = "\\" if path[1:3] == ":\\" else "/"
    folder = path.rstrip("/\\.:") or path
    for _ in range(_MAX_DEPTH):
        yield folder
        above = folder.rpartition(separator)[0]
        if not above or above == folder:
            break
        if above.endswith(":"):
            yield above + separator
            break
        folder = above
    if separator == "/":
        yield "/"


def read_project_root(reading: Reading[GeminiState], value: str) -> None:
    """Emit the folder that `.project_root` names."""
    _add_project(reading, value.strip(), reading.state.project, session=None)


def read_projects(reading: Reading[GeminiState]) -> None:
    """Emit the folders that `projects.json` names, each in the session of its project."""
    value = reading.value
    for folder, name in reading.mapping(value, "projects").items():
        if isinstance(name, str) and name:
            # The session that stands for a project, for what belongs to no session.
            _add_project(reading, folder, name, session=f"project/{name}")
        else:
            reading.wrong("projects")
    reading.native_id = "projects"
    reading.extra(value, frozenset(("projects",)), "projects")


def _add_project(reading: Reading[GeminiState], folder: str, name: str, *, session: str | None) -> None:
    detail = {"identifier": name, "project_hash": sha256_of(folder)}
    reading.add(Lifecycle("project", text=folder, detail=detail, cwd=folder), native_id="project", session=session)


_SNAPSHOT_MARK = "<state_snapshot>"
_KNOWN = known_fields("gemini")
_KINDS = frozenset(("main", "subagent", "chat"))
_MAX_PATH_CHARS = 4096


def read_record(reading: Reading[GeminiState]) -> None:
    value = reading.value
    if isinstance(value.get("$rewindTo"), str):
        # Emit a rewind: the message and all after it are gone; with an id that is not known, all of them.
        target = value["$rewindTo"]
        live: tuple[str, ...] = reading.now("live")
        at = max(position(live, target), 0)
        reading.add(rewind_to(reading, live, at))
        reading.set(live=live[:at])
        reading.extra(value, frozenset(("$rewindTo",)), "rewind")
    elif isinstance(value.get("$set"), dict):
        changes = value["$set"]
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
        reading.extra(value, frozenset(("$set",)), "set")
    elif isinstance(value.get("id"), str):
        read_one_message(reading, value)
    elif "sessionId" in value or "projectHash" in value:
        read_header(reading, value)
    else:
        kind = value.get("type")
        reading.unknown(kind if isinstance(kind, str) and kind else next(iter(value), "record"))


def read_header(reading: Reading[GeminiState], value: dict[str, Any]) -> None:
    """Emit the session's start and what else its metadata say. A snapshot's header comes in two halves."""
    reading.date(value.get("startTime"), "startTime")
    project_hash = reading.text(value, "projectHash")[:MAX_NAME_CHARS]
    if project_hash and project_hash.isprintable():
        reading.set(project_hash=project_hash)
    half = "trailer" if reading.now("is_started") else "header"
    if not reading.now("is_started") and ("sessionId" in value or "startTime" in value):
        state = reading.state
        folder = find_folder(reading, (d for d in items(value.get("directories")) if isinstance(d, str)))
        if not folder:
            first = next((m for m in items(value.get("messages")) if isinstance(m, dict)), {})
            folder = find_folder(reading, paths_in(first))
        folder = folder[:_MAX_PATH_CHARS]
        reading.set(is_started=True, cwd=folder)
        named = text(value.get("sessionId"))
        reading.start(cwd=folder, originator=text(value.get("activeExtensionName")), parent_session=state.parent)
        detail = {"identifier": state.project, "project_hash": project_hash}
        if named and named != state.session:
            detail["session_id"] = named
        if any(detail.values()):
            reading.add(Lifecycle("project", detail={k: v for k, v in detail.items() if v}), native_id="project")
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
    """Emit a message; remember that it was given, and what its calls are called."""
    message_id = message["id"]
    before, stood = len(reading.events), reading.newest()
    google_chat.read_message(reading, message, is_synthetic=is_synthetic)
    if not message_id:
        return
    is_human = any(
        isinstance(e.payload, UserMessage) and e.payload.origin != "injected" for e in reading.events[before:]
    )
    # Remember that the agent has a message, and the event before it; written again, it stays where it was.
    live: tuple[str, ...] = reading.now("live")
    name = short_name(message_id)
    if not any(entry[1:] == name for entry in reversed(live)):
        reading.set(live=(*live, mark(message_id, is_human=is_human))[-MAX_LIVE:])
        reading.set(befores=(*reading.now("befores"), (name, stood))[-MAX_LIVE:])
    remember_name(reading, message_id)
    for call in (*items(message.get("toolCalls")), *google_chat.read_content(message.get("content")).calls):
        call_id = text(mapping(call).get("id"))
        if call_id:
            remember_name(reading, f"call:{call_id}")
    see_folder(reading, message)
    # Emit a change of the model, from its second on: the first is the session's own.
    if text(message.get("type")) in google_chat.MODEL_TYPES:
        reading.see(is_first_told=False, model=text(message.get("model")))


def read_snapshot_record(reading: Reading[GeminiState]) -> None:
    """Emit one message of a whole-file recording, or the members around its messages."""
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
        google_chat.read_message(reading, message)
    else:
        reading.wrong("messages")
        reading.kept("message", message)


def _read_title(reading: Reading[GeminiState], value: dict[str, Any], *, native_id: str | None) -> None:
    """Emit the session's title, which is a summary that the agent makes of it."""
    title = reading.text(value, "summary")
    if title and title[:MAX_NAME_CHARS] != reading.now("title"):
        reading.set(title=title[:MAX_NAME_CHARS] if title.isprintable() else "")
        reading.add(Lifecycle("title", text=title, title=title), native_id=native_id)


def _read_rest(reading: Reading[GeminiState], value: dict[str, Any], *, native_id: str | None) -> None:
    """Emit the folders that were added to the workspace, the notes, and fields that are not known."""
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
    reading.extra(value, _KNOWN["header"], "header", native_id=native_id)


def _read_checkpoint(reading: Reading[GeminiState], messages: list[Any]) -> None:
    """Emit what a checkpoint says that was not said before, and what it replaces.

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
    """Emit a message that only the checkpoint has, without the calls and results that were given before."""
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
    said = google_chat.read_content(message.get("content")).said
    return said if _SNAPSHOT_MARK in said[:MAX_NAME_CHARS] else ""


# Whose a source is, and which session it belongs to.
#
# A file's name holds only eight characters of the session's id, so the id is taken from the first line.
# Evidence: format notes: Gemini CLI, "Where", trap 6.

_SESSION_ID = re.compile(rb'(?<!\\)"sessionId"\s*:\s*"((?:[^"\\]|\\.){1,200})"')
_HASH = re.compile(rb'(?<!\\)"projectHash"\s*:\s*"')
_MESSAGES = re.compile(rb'(?<!\\)"messages"\s*:\s*\[')
_PROMPT = re.compile(rb'\s*\[\s*\{\s*"sessionId"\s*:\s*"[^"]*"\s*,\s*"messageId"\s*:\s*\d+\s*,\s*"timestamp"')
_SAVED = re.compile(rb'\s*(?:\{\s*"history"\s*:\s*)?\[\s*\{\s*(?:"role"\s*:\s*"(?:user|model)"|"parts"\s*:\s*\[)')
_FORK = re.compile(rb'(?<!\\)"type"\s*:\s*"qwen"')
"""Qwen Code's replies in a document that is otherwise the same (format notes: Qwen Code, "legacy")."""
_MAX_LINES = 50


def project_of(info: SourceInfo) -> str:
    """Return the identifier of a source's project: the folder below `tmp`."""
    steps = info.path.split("/")
    return steps[steps.index("tmp") + 1] if "tmp" in steps[:-2] else ""


def parent_of(info: SourceInfo) -> str:
    """Return the session whose folder a subagent's file lies in."""
    steps = info.path.split("/")
    return steps[-2] if info.role == "subagent" and len(steps) > 2 and steps[-3] == "chats" else ""


class GeminiAdapter(KitAdapter[GeminiState], slug="gemini"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a file told by its content, None for what Gemini CLI didn't write."""
        role: str | None = None
        if _FORK.search(head):
            return None
        for value in head_objects(head, _MAX_LINES):
            if "projectHash" in value and isinstance(value.get("sessionId"), str) and "startTime" in value:
                if "messages" in value:
                    return "chat_json"
                return "subagent" if value.get("kind") == "subagent" else "chat"
            if isinstance(value.get("$rewindTo"), str) or isinstance(value.get("$set"), dict):
                return "chat"
            if value.get("type") == "gemini" and isinstance(value.get("id"), str) and "timestamp" in value:
                role = "chat"
        if role is not None:
            return role
        if head.lstrip()[:1] == b"{" and _HASH.search(head) and _SESSION_ID.search(head) and _MESSAGES.search(head):
            return "chat_json"
        if _PROMPT.match(head):
            return "prompts"
        if path.rsplit("/", 1)[-1].startswith("checkpoint-") and _SAVED.match(head):
            return "saved"
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Return the native id of the session a source belongs to."""
        if info.role == "project":
            return f"project/{project_of(info) or 'unknown'}"
        if info.role in ("projects", "prompts"):
            return f"{info.role}/{project_of(info)}" if project_of(info) else info.role
        if info.role == "saved":
            folder = project_of(info)
            return "/".join(n for n in ("saved", folder, info.stem.removeprefix("checkpoint-")) if n)
        first = head[: at.start()] if (at := _MESSAGES.search(head)) else head
        found = _SESSION_ID.search(first if info.role == "chat_json" else head.lstrip().partition(b"\n")[0])
        if found is None and info.role == "chat_json":
            found = _SESSION_ID.search(head)
        named = text(decoded_json(b'"' + found[1] + b'"')).strip() if found else ""
        return named or info.stem or first_line_name(head)

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"project": project_of(info)[:MAX_NAME_CHARS], "parent": parent_of(info)[:MAX_NAME_CHARS]}

    def read(self, reading: Reading[GeminiState]) -> None:
        value, role = reading.record.value, reading.state.role
        if role == "project" and isinstance(value, str):
            read_project_root(reading, value)
        elif role == "chat_json" and (isinstance(value, dict) or reading.at == "messages"):
            read_snapshot_record(reading)
        elif not isinstance(value, dict):
            read_odd(reading)
        elif role == "prompts":
            google_chat.read_logged_prompt(reading)
        elif role == "saved":
            # Emit a conversation saved by `/chat save`: a list of turns, later inside an object.
            if "history" not in value:
                google_chat.read_saved_turn(reading, value)
                return
            for turn in reading.items(value, "history"):
                if isinstance(turn, dict):
                    google_chat.read_saved_turn(reading, turn)
                else:
                    reading.wrong("history")
            reading.native_id = "saved"
            reading.extra(value, frozenset(("history", "authType", "messageIds")), "saved")
        elif role == "projects":
            read_projects(reading)
        else:
            read_record(reading)
