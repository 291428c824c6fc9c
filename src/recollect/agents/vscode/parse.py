"""VS Code Copilot Chat: parses a record into events. Pure; never raises on content.

A session is a document, read whole or by the changes of its mutation log; `answer` reads what a request got. The
extension's own transcripts are the event stream of `kit.copilot_events`.
"""

import re
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import MAX_NAME_CHARS, KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.content import without_opaque
from recollect.agents.kit.copilot_events import read_event, starts_stream
from recollect.agents.kit.copilot_session import storable
from recollect.agents.kit.exports import conversation_of, first_element, session_of
from recollect.agents.kit.names import content_name
from recollect.agents.kit.values import decoded_json, group_in, items, mapping, text, whole
from recollect.agents.vscode.answer import calls_of, forget, give_told, read_answer, read_piece
from recollect.agents.vscode.requests import (
    MAX_ORDER,
    OpenRequest,
    VSCodeState,
    model_of,
    path_of_uri,
    read_question,
    rendered,
)
from recollect.model import payloads as kinds
from recollect.model.payloads import Json, Lifecycle
from recollect.model.records import Changed, SourceInfo

# What is known of a request when its answer is complete: tokens, errors, the prompt as it was sent, summaries.

_KNOWN = known_fields("vscode")
_CANCELED, _FAILED = 2, 3
"""`modelState.value` of a request that the user stopped, and of one that failed."""


def read_result(reading: Reading[VSCodeState], asked: OpenRequest, result: dict[str, Any]) -> None:
    """Emit a result that a log tells of after the pieces of the answer: the calls once more, now in full."""
    metadata = reading.mapping(result, "metadata")
    asked.model = model_of({"result": result}) if not asked.model else asked.model
    for call in calls_of(asked, metadata):
        asked.at_answer(reading)
        give_told(reading, call)
    _read_rest(reading, asked, result, metadata)


def _read_rest(
    reading: Reading[VSCodeState], asked: OpenRequest, result: dict[str, Any], metadata: dict[str, Any]
) -> None:
    if not result:
        return
    request = asked.request
    asked.at_answer(reading)
    # Emit the prompt as the model got it, and what is sent once per session.
    sent, parts, is_readable = rendered(metadata.get("renderedUserMessage"))
    if not is_readable:
        reading.wrong("renderedUserMessage", "bad_base64")
    reading.say(kinds.UserMessage(sent, "injected", parts), native_id=f"{asked.request}/context")
    context = rendered(metadata.get("renderedGlobalContext"))[0]
    reading.say(kinds.Instructions(context, "renderedGlobalContext"), native_id=f"{asked.request}/global")
    folder = path_of_uri(text(metadata.get("cacheKey")))
    if folder.startswith("/") and not reading.now("cwd"):
        reading.add(kinds.Lifecycle("cwd", cwd=folder), native_id=f"{asked.request}/cwd/key")
    for n, found in enumerate(items(metadata.get("toolCallRounds"))):
        _read_round(reading, asked, n, mapping(found))
    for n, found in enumerate(_summaries(metadata)):
        name = f"{request}/compaction" if n == 0 else f"{request}/compaction/{n}"
        said = found if isinstance(found, str) else text(mapping(found).get("text"))
        at = text(mapping(found).get("toolCallRoundId"))
        reading.add(kinds.Compaction("summary", said, continues_at=at), native_id=name)
    asked.at_answer(reading, whole(mapping(result.get("timings")).get("totalElapsed")))
    # Emit the tokens of a request: the prompt of its last call, cached tokens not told apart. The same numbers may
    # stand in `metadata` and in `usage`.
    usage = reading.mapping(result, "usage")
    put, got = reading.count(metadata, "promptTokens"), reading.count(metadata, "outputTokens")
    if not put and not got:
        put, got = reading.count(usage, "promptTokens"), reading.count(usage, "completionTokens")
    reading.spend(asked.model, (put, got), asked.request, "assistant", native_id=f"{asked.request}/usage")
    reading.note("prompt_shares", detail=usage.get("promptTokenDetails"), native_id=f"{asked.request}/usage/shares")
    _read_error(reading, asked, result)
    other = text(metadata.get("sessionId"))
    if other and storable(other) != reading.now("alias") and other != reading.state.session:
        reading.set(alias=storable(other))
        reading.add(kinds.Lifecycle("same_as", detail={"session": other}), native_id=f"same-as/{other}")
    reading.extra(result, _KNOWN["result"], "result", native_id=request)
    reading.extra(metadata, _KNOWN["metadata"], "result.metadata", native_id=request)


def _summaries(metadata: dict[str, Any]) -> list[Any]:
    one = metadata.get("summary")
    return [v for v in ([one] if one else []) + items(metadata.get("summaries")) if isinstance(v, str | dict) and v]


def _read_round(reading: Reading[VSCodeState], asked: OpenRequest, n: int, one: dict[str, Any]) -> None:
    """Emit what a round says beyond its calls; its `response` is the answer's text again."""
    name = f"{asked.request}/round/{n}"
    thought = mapping(one.get("thinking")).get("text")
    if isinstance(thought, list):
        thought = "".join(t for t in thought if isinstance(t, str))
    if isinstance(thought, str) and thought and not asked.has_thinking:
        reading.add(kinds.Thinking(thought), native_id=f"{name}/thinking")
    summary = text(one.get("summary"))
    if summary:
        reading.add(
            kinds.Compaction("summary", summary, continues_at=text(one.get("id"))), native_id=f"{name}/compaction"
        )
    elif one.get("compaction"):
        reading.add(kinds.Compaction("server"), native_id=f"{name}/compaction")
    hook = text(one.get("hookContext"))
    reading.say(kinds.UserMessage(hook, "injected"), native_id=f"{name}/hook")
    reading.extra(one, _KNOWN["round"], "toolCallRound", native_id=name)
    for m, call in enumerate(items(one.get("toolCalls"))):
        reading.extra(mapping(call), _KNOWN["call"], "toolCall", native_id=f"{name}/call/{m}")


def _read_error(reading: Reading[VSCodeState], asked: OpenRequest, result: dict[str, Any]) -> None:
    error = reading.mapping(result, "errorDetails")
    if not error:
        return
    is_stop = error.get("code") == "canceled" or (
        not error.get("message") and error.get("responseIsIncomplete") is True
    )
    rest = {k: v for k, v in error.items() if k != "message" and v is not None}
    note = kinds.Lifecycle(
        "interrupted" if is_stop else "api_error", text=text(error.get("message")), detail=rest or None
    )
    reading.add(note, native_id=f"{asked.request}/error")


def read_end(reading: Reading[VSCodeState], asked: OpenRequest, value: dict[str, Any]) -> None:
    """Emit how a request ended, where it did not end well, and that it was undone."""
    asked.at_answer(reading)
    state = whole(mapping(value.get("modelState")).get("value"))
    if value.get("isCanceled") is True or state == _CANCELED:
        reading.add(kinds.Lifecycle("interrupted"), native_id=f"{asked.request}/canceled")
    elif state == _FAILED and not mapping(value.get("result")).get("errorDetails"):
        reading.add(kinds.Lifecycle("api_error"), native_id=f"{asked.request}/failed")


def read_undone(reading: Reading[VSCodeState], asked: OpenRequest, before: str, mark: Any) -> None:
    """Emit the rewind of a request that was undone and will be removed with the next one that is sent.

    An undo that is taken back stands in the place of the rewind: nothing was left behind.
    """
    asked.at_answer(reading)
    undone: tuple[str, ...] = reading.now("undone")
    if mark and asked.request not in undone:
        reading.set(undone=(*undone, asked.request)[-64:])
    if mark:
        reading.add(kinds.Rewind(before, 1), native_id=f"{asked.request}/undone")
    elif asked.request in undone:
        reading.set(undone=tuple(r for r in undone if r != asked.request))
        reading.add(kinds.Lifecycle("redone"), native_id=f"{asked.request}/undone")


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
    """Emit a whole session."""
    read_members(reading, document)
    reading.set(order=())
    for index, request in enumerate(items(document.get("requests"))):
        read_request(reading, index, request)


def read_members(reading: Reading[VSCodeState], value: dict[str, Any]) -> None:
    """Emit what the members around the requests say. Drafts of the next message are no part of the session."""
    if ("creationDate" in value or "sessionId" in value) and not reading.now("is_started"):
        reading.set(is_started=True)
        reading.date(value.get("creationDate"), "creationDate")
        originator = text(value.get("responderUsername")) or "GitHub Copilot"
        reading.start(originator=originator)
    title = value.get("customTitle")
    if isinstance(title, str) and title:
        reading.add(kinds.Lifecycle("title", title=title), native_id="title")
    repository = mapping(value.get("repoData"))
    if repository:
        branch, remote = text(repository.get("localBranch")), text(repository.get("remoteUrl"))
        commit, folder = text(repository.get("localHeadCommit")), text(repository.get("workspacePath"))
        reading.start(
            cwd=path_of_uri(folder),
            git_branch=branch,
            git_commit=commit,
            git_remote=remote,
            originator="repository",
            native_id="start/repository",
        )
    for name in ("pendingRequests", "welcomeMessage"):
        if value.get(name):
            detail = without_opaque(value[name])
            reading.add(kinds.Lifecycle("pending" if name[0] == "p" else "welcome", detail=detail), native_id=name)
    reading.extra(value, _KNOWN["document"], "session", native_id="document")


def read_request(reading: Reading[VSCodeState], index: int, found: Any) -> None:
    """Emit a request with its answer."""
    if not isinstance(found, dict):
        if found is not None:
            reading.wrong("requests")
            reading.kept("request", found, native_id=f"requests/{index}")
        return
    # The request at the beginning of its reading; where it stands is noted.
    named = text(found.get("requestId"))
    if not named:
        named = content_name(found.get("timestamp"), text(mapping(found.get("message")).get("text")))
    elif len(named) > MAX_NAME_CHARS or storable(named) != named:
        named = content_name(named)
    _place(reading, index, named)
    asked = OpenRequest(named)
    asked.take_facts(reading, found)
    read_question(reading, asked, found)
    # Emit the answer and the result of a request that is at hand as a whole.
    result = reading.mapping(found, "result")
    metadata = reading.mapping(result, "metadata")
    read_answer(reading, asked, items(found.get("response")), metadata)
    _read_rest(reading, asked, result, metadata)
    read_end(reading, asked, found)
    for name in _ASIDES:
        _read_aside(reading, asked, name, found.get(name))
    if any(found.get(name) for name in _UNDONE):
        read_undone(reading, asked, _before(reading, asked.request), mark=True)
    reading.extra(found, _KNOWN["request"], "request", native_id=asked.request)
    asked.keep(reading)


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


def _read_aside(reading: Reading[VSCodeState], asked: OpenRequest, name: str, value: Any) -> None:
    if value not in (None, "", [], {}):
        asked.at_answer(reading)
        reading.add(kinds.Lifecycle(_ASIDES[name], detail=without_opaque(value)), native_id=f"{asked.request}/{name}")


def read_changes(reading: Reading[VSCodeState], changes: tuple[Changed, ...]) -> None:
    """Emit what a line of the mutation log changed. What it took away comes first, so that a text that was cut and
    continues is read in its new form."""
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
    """Emit the rewind of requests that were removed; forget the pieces of answers that were."""
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
            asked = OpenRequest.known(reading, _named(reading, path[1]))
            forget(reading, asked, path[3])
            asked.keep(reading)
    if removed:
        first = min(index for index, _ in removed)
        undone: tuple[str, ...] = reading.now("undone")
        dropped = [name for _, name in removed if name not in undone]
        if dropped:
            rewind = kinds.Rewind(_before(reading, _named(reading, first)), len(dropped))
            reading.add(rewind, native_id=f"removed/{dropped[0]}")
        names = {name for _, name in removed}
        reading.set(order=reading.now("order")[:first], undone=tuple(r for r in undone if r not in names))


def _named(reading: Reading[VSCodeState], index: int) -> str:
    order: tuple[str, ...] = reading.now("order")
    return (order[index] if index < len(order) else "") or f"requests/{index}"


def _read_changed_request(reading: Reading[VSCodeState], path: tuple[str | int, ...], value: Any) -> None:
    """Emit what changed of the requests. path: below `requests`."""
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
        asked = OpenRequest.known(reading, _named(reading, index))
        if path[1] == "response" and len(path) > 2 and isinstance(path[2], int):
            read_piece(reading, asked, path[2], value)
        elif isinstance(path[1], str):
            _read_member(reading, asked, index, path[1:], value)
        asked.keep(reading)


def _read_member(
    reading: Reading[VSCodeState], asked: OpenRequest, index: int, path: tuple[str | int, ...], value: Any
) -> None:
    """Emit a member of a request that changed by itself."""
    name = str(path[0])
    if name in _UNDONE:
        read_undone(reading, asked, _before(reading, asked.request), value)
    elif value is None:
        return
    elif name == "message":
        message = value if len(path) == 1 else {"text": value} if path[1] == "text" else None
        if message is not None:
            read_question(reading, asked, {"message": message})
    elif name in ("modelId", "timestamp", "agent"):
        asked.take_facts(reading, {name: value})
    elif name == "response":
        read_answer(reading, asked, items(value), {})
    elif name == "result":
        read_result(reading, asked, mapping(value))
    elif name in ("modelState", "isCanceled"):
        read_end(reading, asked, {name: value})
    elif name in _ASIDES:
        _read_aside(reading, asked, name, value)
    elif name not in _KNOWN["request"]:
        reading.extra({name: value}, _KNOWN["request"], "request", native_id=asked.request)


def in_session(reading: Reading[VSCodeState], since: int, session: str) -> None:
    """Emit the events from one on to another session than the source's."""
    for n in range(since, len(reading.events)):
        reading.events[n] = msgspec.structs.replace(reading.events[n], session=session)


LOG = "log"
SAVED = "saved"
SESSION = "session"
STATE = "state"
TRANSCRIPT = "transcript"
WORKSPACE = "workspace"

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_CUT_LOG = re.compile(rb'\s*\{\s*"kind"\s*:\s*0\s*,\s*"v"\s*:\s*\{')
_CUT_SESSION = re.compile(
    rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"(?:requesterUsername|responderUsername|creationDate|sessionId)"'
)
_CUT_STREAM = re.compile(rb'\s*\{\s*"type"\s*:\s*"session\.start"\s*,\s*"data"\s*:\s*\{')
_TRUNCATED = re.compile(rb"\[[^\[\]\"]{0,200}value truncated for persistence")
"""What a newer build writes in place of a very long text."""
_NOT_HERE = frozenset(("session.shutdown",))
"""The extension's transcripts have no end."""
_KINDS = (0, 1, 2, 3)


class VSCodeAdapter(KitAdapter[VSCodeState], slug="vscode"):
    """Reads the chat sessions of VS Code and the hosts made of it."""

    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a source by its content; a session cut by the end of the head by its first members."""
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            return SAVED if _is_session(first_element(head)) else None
        line = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
        first = decoded_json(line)
        if starts_stream(first):
            return TRANSCRIPT if "vscodeVersion" in mapping(mapping(first).get("data")) else None
        if isinstance(first, dict) and first.get("kind") == 0 and _is_session(first.get("v")):
            return LOG
        if _is_session(first if first is not None else decoded_json(head)):
            return SESSION
        if first is not None:
            return None
        if _CUT_STREAM.match(line) and b'"vscodeVersion"' in line:
            return TRANSCRIPT
        if _CUT_LOG.match(line) and b'"requests"' in line:
            return LOG
        return SESSION if _CUT_SESSION.match(head) and b'"requests"' in head else None

    def source_key(self, info: SourceInfo) -> str:
        """Return `<role>/<session>`: sessions move between the empty window and a workspace."""
        if info.role == SAVED and info.document:
            return f"{info.role}/{info.document}"
        if info.role in (LOG, SESSION) and _UUID.fullmatch(info.stem):
            return f"{info.role}/{info.stem}"
        return super().source_key(info)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Return the session's id: the file's name, else what its first members say.

        A folder's `workspace.json` and a state database belong to no session: theirs is named after the folder.
        """
        if info.role == SAVED:
            return session_of(info) or first_line_name(head)
        if info.role in (STATE, WORKSPACE):
            return f"{info.role}:{info.folder or 'User'}"
        if _UUID.fullmatch(info.stem):
            return info.stem
        return _named_in(info.role, head) or info.stem or first_line_name(head)

    def read(self, reading: Reading[VSCodeState]) -> None:
        record, role = reading.record, reading.state.role
        if role == TRANSCRIPT:
            read_event(reading, _NOT_HERE)
            return
        if _TRUNCATED.search(record.raw):
            reading.wrong("record", "truncated_by_agent")
        if role == LOG:
            _read_line(reading)
        elif role == SAVED:
            saved = conversation_of(reading)
            if saved is None:
                read_odd(reading)
            else:
                read_document(reading, saved)
        elif role == SESSION and record.at == "requests":
            read_request(reading, len(reading.now("order")), record.value)
        elif not isinstance(record.value, dict):
            read_odd(reading)
        elif role == WORKSPACE:
            # Emit the folder that the sessions beside this file were held in.
            value = reading.value
            folder = text(value.get("folder")) or text(value.get("workspace")) or text(value.get("configuration"))
            if folder:
                reading.add(Lifecycle("cwd", cwd=path_of_uri(folder)), native_id="cwd")
            else:
                reading.kept("workspace", native_id="workspace")
        elif role == STATE:
            _read_state(reading)
        elif "requests" in reading.value:
            read_document(reading, reading.value)
        else:
            read_members(reading, reading.value)


def _read_line(reading: Reading[VSCodeState]) -> None:
    """Emit what a line of the log changed. A first line that is at hand only as written is a whole session."""
    record = reading.record
    if record.changed:
        read_changes(reading, record.changed)
        return
    if not isinstance(record.value, dict):
        read_odd(reading)
    elif record.value.get("kind") == 0 and "v" in record.value:
        read_changes(reading, (Changed((), record.value["v"]),))
    elif record.value.get("kind") not in _KINDS:
        reading.unknown(f"mutation/{text(record.value.get('kind')) or record.value.get('kind')}")


def _read_state(reading: Reading[VSCodeState]) -> None:
    """Emit the sessions of an old state database: one row with all of them."""
    sessions = reading.value.get("value")
    for n, found in enumerate(items(sessions)):
        since = len(reading.events)
        session = mapping(found)
        reading.set(is_started=False, order=(), seen=(), runs=(), undone=(), befores=())
        reading.set(model="", cwd="", version="", alias="")
        read_document(reading, session)
        if len(reading.events) == since:
            reading.kept("session", found, native_id=f"session/{n}")
        named = text(session.get("sessionId"))
        if named:
            in_session(reading, since, storable(named))
    if not isinstance(sessions, list):
        reading.kept(storable(text(reading.value.get("key"))) or "row", native_id="row")


def _is_session(value: Json) -> bool:
    found = mapping(value)
    return isinstance(found.get("requests"), list) and not found.keys().isdisjoint(
        ("sessionId", "creationDate", "responderUsername", "inputState")
    )


def _named_in(role: str, head: bytes) -> str:
    """Return the id that a session's first bytes give; metadata of requests has an id of the same name."""
    if role == TRANSCRIPT:
        return group_in(_SESSION, head.partition(b"\n")[0])
    line = head.partition(b"\n")[0] if role == LOG else head
    value: Any = decoded_json(line)
    session = text(mapping(mapping(value).get("v") if role == LOG else value).get("sessionId"))
    if session or value is not None:
        return storable(session)
    return group_in(_SESSION, line.partition(b'"requests"')[0])
