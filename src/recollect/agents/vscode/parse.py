"""VS Code Copilot Chat: parses a record into events. Pure; never raises on content.

`document` reads sessions, whole or by their changes; `answer` what a request got; the extension's
own transcripts are the event stream of `kit.copilot_events`.
"""

import re
from typing import Any

from recollect.agents.kit.adapter import KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.copilot_events import read_event, starts_stream
from recollect.agents.kit.copilot_session import storable
from recollect.agents.kit.exports import conversation_of, first_element, session_of
from recollect.agents.kit.values import decoded_json, group_in, items, mapping, text
from recollect.agents.vscode.document import in_session, read_changes, read_document, read_members, read_request
from recollect.agents.vscode.requests import VSCodeState, path_of_uri
from recollect.model.payloads import Json, Lifecycle
from recollect.model.records import Changed, SourceInfo

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
