"""A chat session as a document: its members, its requests, and what a line of the mutation log changed of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.copilot.state import storable
from recollect.agents.kit.naming import content_name
from recollect.agents.kit.reading import MAX_NAME_CHARS, Reading
from recollect.agents.vscode.answer import forget, read_answer, read_piece
from recollect.agents.vscode.asked import Asked, read_question
from recollect.agents.vscode.result import read_end, read_full, read_result, read_undone
from recollect.agents.vscode.state import MAX_ORDER, VSCodeState
from recollect.agents.vscode.values import path_of_uri
from recollect.model.payloads import Lifecycle, Rewind, SessionStart
from recollect.model.records import Changed

_DOCUMENT = frozenset((
    "version", "requesterUsername", "requesterAvatarIconUri", "responderUsername", "responderAvatarIconUri",
    "initialLocation", "inputState", "sessionId", "creationDate", "isImported", "lastMessageDate", "customTitle",
    "computedTitle", "hasPendingEdits", "isNew", "repoData", "pendingRequests", "requests", "welcomeMessage",
))  # fmt: skip
_REQUEST = frozenset((
    "requestId", "message", "variableData", "response", "responseId", "agent", "slashCommand", "modelId", "timestamp",
    "isCanceled", "isHidden", "result", "followups", "contentReferences", "codeCitations", "editedFileEvents",
    "shouldBeRemovedOnSend", "responseMarkdownInfo", "modelState", "timeSpentWaiting", "confirmation", "modeInfo",
    "usedContext", "vote", "voteDownReason", "locationData", "attachedContext", "elapsedMs", "completionTokens",
    "isCompleteAddedRequest", "workingSet", "userSelectedModelId",
))  # fmt: skip
_ASIDES = {
    "followups": "followups",
    "contentReferences": "references",
    "codeCitations": "citations",
    "usedContext": "context_used",
    "editedFileEvents": "edits_reviewed",
    "vote": "vote",
    "voteDownReason": "vote",
    "confirmation": "permission",
    "modeInfo": "mode",
}
"""Members of a request that become a `lifecycle` event, and its name."""
_UNDONE = ("shouldBeRemovedOnSend", "isHidden")


def read_document(reading: Reading[VSCodeState], document: dict[str, Any]) -> None:
    """Give a whole session."""
    read_members(reading, document)
    reading.set(order=())
    for index, request in enumerate(items(document.get("requests"))):
        read_request(reading, index, request)


def read_members(reading: Reading[VSCodeState], value: dict[str, Any]) -> None:
    """Give what the members around the requests say. Drafts of the next message are no part of the session."""
    if ("creationDate" in value or "sessionId" in value) and not reading.now("is_started"):
        reading.set(is_started=True)
        reading.date(value.get("creationDate"), "creationDate")
        originator = text(value.get("responderUsername")) or "GitHub Copilot"
        reading.add(SessionStart(originator=originator), native_id="start")
    title = value.get("customTitle")
    if isinstance(title, str) and title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    repository = mapping(value.get("repoData"))
    if repository:
        _read_repository(reading, repository)
    for name in ("pendingRequests", "welcomeMessage"):
        if value.get(name):
            detail = without_opaque(value[name])
            reading.add(Lifecycle("pending" if name[0] == "p" else "welcome", detail=detail), native_id=name)
    reading.extra(value, _DOCUMENT, "session", native_id="document")


def _read_repository(reading: Reading[VSCodeState], found: dict[str, Any]) -> None:
    branch, remote = text(found.get("localBranch")), text(found.get("remoteUrl"))
    commit, folder = text(found.get("localHeadCommit")), text(found.get("workspacePath"))
    start = SessionStart(
        cwd=path_of_uri(folder), git_branch=branch, git_commit=commit, git_remote=remote, originator="repository"
    )
    reading.add(start, native_id="start/repository")


def read_request(reading: Reading[VSCodeState], index: int, found: Any) -> None:
    """Give a request with its answer."""
    if not isinstance(found, dict):
        if found is not None:
            reading.wrong("requests")
            reading.kept("request", found, native_id=f"requests/{index}")
        return
    asked = _asked(reading, index, found)
    asked.take_facts(reading, found)
    read_question(reading, asked, found)
    read_full(reading, asked, found)
    read_end(reading, asked, found)
    for name in _ASIDES:
        _read_aside(reading, asked, name, found.get(name))
    if any(found.get(name) for name in _UNDONE):
        read_undone(reading, asked, _before(reading, asked.request), mark=True)
    reading.extra(found, _REQUEST, "request", native_id=asked.request)
    asked.keep(reading)


def _asked(reading: Reading[VSCodeState], index: int, value: dict[str, Any]) -> Asked:
    """Return a request at the beginning of its reading, and note where it stands."""
    named = text(value.get("requestId"))
    if not named:
        named = content_name(value.get("timestamp"), text(mapping(value.get("message")).get("text")))
    elif len(named) > MAX_NAME_CHARS or storable(named) != named:
        named = content_name(named)
    _place(reading, index, named)
    return Asked(named)


def _place(reading: Reading[VSCodeState], index: int, request: str) -> None:
    order: tuple[str, ...] = reading.now("order")
    befores: tuple[tuple[str, str], ...] = reading.now("befores")
    if all(name != request for name, _ in befores):
        reading.set(befores=(*befores, (request, reading.newest()))[-MAX_ORDER:])
    if index < MAX_ORDER:
        padded = (*order, *("" for _ in range(index - len(order))))
        reading.set(order=(*padded[:index], request, *padded[index + 1 :]))


def _before(reading: Reading[VSCodeState], request: str) -> str:
    """Return the event that stood before a request when it was first seen, "" where it is not remembered."""
    return next((before for name, before in reading.now("befores") if name == request), "")


def _read_aside(reading: Reading[VSCodeState], asked: Asked, name: str, value: Any) -> None:
    if value not in (None, "", [], {}):
        asked.at_answer(reading)
        note = Lifecycle(_ASIDES[name], detail=without_opaque(value))
        reading.add(note, native_id=f"{asked.request}/{name}")


def read_changes(reading: Reading[VSCodeState], changes: tuple[Changed, ...]) -> None:
    """Give what a line of the mutation log changed. What it took away comes first, so that a text that was cut and
    goes on is read in its new form."""
    _read_removed(reading, changes)
    members: dict[str, Any] = {}
    for change in changes:
        path = change.path
        if not path:
            if isinstance(change.value, dict):
                read_document(reading, change.value)
            else:
                reading.kept("document", change.value, native_id="document")
        elif path[0] != "requests":
            if not change.is_gone and isinstance(path[0], str):
                members[path[0]] = change.value if len(path) == 1 else {}
        elif not change.is_gone or len(path) == 3:
            _read_changed_request(reading, path[1:], None if change.is_gone else change.value)
    if members:
        read_members(reading, {k: v for k, v in members.items() if k != "inputState"})


def _read_removed(reading: Reading[VSCodeState], changes: tuple[Changed, ...]) -> None:
    """Give the rewind of requests that were removed; forget the pieces of answers that were."""
    back = {text(mapping(c.value).get("requestId")) for c in changes if not c.is_gone and len(c.path) == 2}
    removed: list[tuple[int, str]] = []
    for change in changes:
        path = change.path
        if not change.is_gone or not path or path[0] != "requests" or len(path) < 2:
            continue
        if len(path) == 2 and isinstance(path[1], int):
            named = text(mapping(change.value).get("requestId")) or f"requests/{path[1]}"
            if named not in back:
                removed.append((path[1], storable(named)))
        elif len(path) == 4 and path[2] == "response" and isinstance(path[1], int) and isinstance(path[3], int):
            asked = Asked.known(reading, _named(reading, path[1]))
            forget(reading, asked, path[3])
            asked.keep(reading)
    if removed:
        first = min(index for index, _ in removed)
        undone: tuple[str, ...] = reading.now("undone")
        dropped = [name for _, name in removed if name not in undone]
        if dropped:
            rewind = Rewind(_before(reading, _named(reading, first)), len(dropped))
            reading.add(rewind, native_id=f"removed/{dropped[0]}")
        names = {name for _, name in removed}
        reading.set(order=reading.now("order")[:first], undone=tuple(r for r in undone if r not in names))


def _named(reading: Reading[VSCodeState], index: int) -> str:
    order: tuple[str, ...] = reading.now("order")
    return (order[index] if index < len(order) else "") or f"requests/{index}"


def _read_changed_request(reading: Reading[VSCodeState], path: tuple[str | int, ...], value: Any) -> None:
    """Give what changed of the requests. path: below `requests`."""
    if not path:
        reading.set(order=())
        for place, request in enumerate(items(value)):
            read_request(reading, place, request)
        return
    index = path[0]
    if not isinstance(index, int):
        reading.kept("requests", value, native_id=f"requests/{index}")
    elif len(path) == 1:
        read_request(reading, index, value)
    else:
        asked = Asked.known(reading, _named(reading, index))
        if path[1] == "response" and len(path) > 2 and isinstance(path[2], int):
            read_piece(reading, asked, path[2], value)
        elif isinstance(path[1], str):
            _read_member(reading, asked, index, path[1:], value)
        asked.keep(reading)


def _read_member(
    reading: Reading[VSCodeState], asked: Asked, index: int, path: tuple[str | int, ...], value: Any
) -> None:
    """Give a member of a request that changed by itself."""
    name = str(path[0])
    reader = _MEMBERS.get(name)
    if name in _UNDONE:
        read_undone(reading, asked, _before(reading, asked.request), value)
    elif value is None:
        return
    elif name == "message":
        message = value if len(path) == 1 else {"text": value} if path[1] == "text" else None
        if message is not None:
            read_question(reading, asked, {"message": message})
    elif reader is not None:
        reader(reading, asked, value)
    elif name in _ASIDES:
        _read_aside(reading, asked, name, value)
    elif name not in _REQUEST:
        reading.extra({name: value}, _REQUEST, "request", native_id=asked.request)


def _read_model(reading: Reading[VSCodeState], asked: Asked, value: Any) -> None:
    asked.take_facts(reading, {"modelId": value})


def _read_time(reading: Reading[VSCodeState], asked: Asked, value: Any) -> None:
    asked.take_facts(reading, {"timestamp": value})


def _read_agent(reading: Reading[VSCodeState], asked: Asked, value: Any) -> None:
    asked.take_facts(reading, {"agent": value})


def _read_response(reading: Reading[VSCodeState], asked: Asked, value: Any) -> None:
    read_answer(reading, asked, items(value), {})


def _read_result_member(reading: Reading[VSCodeState], asked: Asked, value: Any) -> None:
    read_result(reading, asked, mapping(value))


def _read_model_state(reading: Reading[VSCodeState], asked: Asked, value: Any) -> None:
    read_end(reading, asked, {"modelState": value})


def _read_canceled(reading: Reading[VSCodeState], asked: Asked, value: Any) -> None:
    read_end(reading, asked, {"isCanceled": value})


_MEMBERS: dict[str, Callable[[Reading[VSCodeState], Asked, Any], None]] = {
    "modelId": _read_model,
    "timestamp": _read_time,
    "agent": _read_agent,
    "response": _read_response,
    "result": _read_result_member,
    "modelState": _read_model_state,
    "isCanceled": _read_canceled,
}


def in_session(reading: Reading[VSCodeState], since: int, session: str) -> None:
    """Give the events from one on to another session than the source's."""
    for n in range(since, len(reading.events)):
        reading.events[n] = msgspec.structs.replace(reading.events[n], session=session)
