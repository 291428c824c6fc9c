"""Traps of sessions: where they lie, what changes them, and what was undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.containers.patchlog import PatchFold
from recollect.model.payloads import Lifecycle, Part, Rewind, SessionStart, ToolCall, UserMessage, kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_json
from tests.agents.vscode.chats import (
    ADAPTER,
    AT_MS,
    FOLDERS,
    SESSION,
    begun,
    changed,
    document,
    drafts,
    info,
    line,
    log,
    newest,
    of,
    request,
    said,
    shown,
    uri,
)
from tests.examples import tried

ROLES = tuple(place.role for place in ADAPTER.facts.places)
_KEYS = st.sampled_from(
    "kind v k requests requestId response result metadata toolCallRounds toolCallResults message text value modelId "
    "timestamp toolCalls id name arguments edits uri baseUri isConfirmed toolSpecificData sessionId type data".split()
)
_SHAPED = st.recursive(
    any_json() | st.sampled_from(["toolInvocationSerialized", "thinking", "textEditGroup", "\ud800", "x" * 300, 0, 2]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=20,
)


def test_a_request_has_its_time_and_its_answer_an_inferred_one():
    found = {d.native_id: (d.ts, d.ts_quality) for d in drafts(log(begun(request("r", said("Yes.")))))}
    assert found["r"] == (AT_MS * 1000, "exact")
    assert found["r/said/0"] == (AT_MS * 1000, "inferred")


def test_an_undone_request_is_a_rewind_once():
    removed = request("r2")
    found = log(
        begun(request("r1"), request("r2")),
        line(changed("requests", 1, "shouldBeRemovedOnSend", to={"requestId": "r2"})),
        line(changed("requests", 1, to=removed, gone=True), changed("requests", 1, to=request("r3"))),
    )
    assert [(r.to_event, r.turns_dropped) for r in of(found, Rewind)] == [("r1", 1)]


def test_requests_that_a_line_removed_are_a_rewind():
    found = log(
        begun(request("r1"), request("r2"), request("r3")),
        line(changed("requests", 1, to=request("r2"), gone=True), changed("requests", 2, to=request("r3"), gone=True)),
    )
    assert [(r.to_event, r.turns_dropped) for r in of(found, Rewind)] == [("r1", 2)]


def test_a_request_that_is_written_anew_is_not_removed():
    found = log(
        begun(request("r1")),
        line(
            changed("requests", 0, to=request("r1"), gone=True), changed("requests", 0, to=request("r1", said("Yes")))
        ),
    )
    assert not of(found, Rewind)


def test_an_undone_request_in_a_whole_document_is_a_rewind():
    found = log(begun(request("r1"), request("r2", shouldBeRemovedOnSend={"requestId": "r2"})))
    assert [(r.to_event, r.turns_dropped) for r in of(found, Rewind)] == [("r1", 1)]


def test_the_folder_is_that_of_the_links():
    base = {"value": "See.", "baseUri": {"path": "/w/demo/", "scheme": "file"}}
    assert [e.cwd for e in of(log(begun(request("r", base))), Lifecycle) if e.name == "cwd"] == ["/w/demo"]


def test_the_repository_of_a_session_is_told():
    repository = {"workspacePath": "/w", "remoteUrl": "g", "localBranch": "b", "localHeadCommit": "c"}
    found = log(line(changed(to=document(repoData=repository))))
    start = newest(found)["start/repository"]
    assert isinstance(start, SessionStart)
    assert (start.cwd, start.git_remote, start.git_branch, start.git_commit) == ("/w", "g", "b", "c")


@pytest.mark.parametrize(
    ("written", "folder"),
    [
        ({"folder": "file:///w/my%20demo"}, "/w/my demo"),
        ({"folder": "file:///c%3A/w"}, "c:/w"),
        ({"folder": "vscode-remote://ssh-remote%2Bbox/w/demo"}, "/w/demo"),
        ({"workspace": "file:///w/two.code-workspace"}, "/w/two.code-workspace"),
    ],
)
def test_a_workspace_file_names_the_folder(written, folder):
    found = read(ADAPTER, info("workspace"), records_of([written]))
    assert info("workspace").session == "workspace:abc"
    assert [e.cwd for e in of(found, Lifecycle)] == [folder]


def test_attached_files_and_images_are_parts():
    variables = [
        {"kind": "file", "value": uri("/w/a.py"), "name": "a.py"},
        {"kind": "file", "value": {"uri": uri("/w/b.py"), "range": {}}, "name": "file:b.py"},
        {"kind": "image", "value": {"$base64": "aGk="}, "mimeType": "image/png", "name": "shot"},
    ]
    (message,) = of(log(begun(request("r", variableData={"variables": variables}))), UserMessage)
    assert [p.path for p in message.parts] == ["/w/a.py", "/w/b.py", "shot"]
    assert message.parts[2].bytes == 2
    assert isinstance(message.parts[0], Part)


def test_a_message_of_an_old_build_is_text():
    found = log(begun({"requestId": "r", "message": "Hello", "response": []}))
    assert [m.text for m in of(found, UserMessage)] == ["Hello"]


def test_the_model_is_the_resolved_one_and_never_auto():
    picked = request("r1", modelId="copilot/gpt-4o")
    automatic = request("r2", modelId="copilot/auto", result={"details": "Claude Sonnet 4.5 • 0.9x"})
    resolved = request("r3", modelId="copilot/auto", result={"metadata": {"resolvedModel": "claude-x"}})
    found = log(begun(picked, automatic, resolved))
    assert [e.model for e in of(found, Lifecycle)] == ["gpt-4o", "Claude Sonnet 4.5", "claude-x"]


def test_drafts_are_no_part_of_the_session():
    found = log(begun(), line(changed("inputState", "inputText", to="unsent")))
    assert "unsent" not in repr(drafts(found))


def test_a_title_is_told():
    found = log(begun(), line(changed("customTitle", to="Files")))
    assert [e.title for e in of(found, Lifecycle)] == ["Files"]


def test_a_value_that_the_agent_cut_is_a_defect():
    written = {"kind": 1, "k": ["x"], "v": "[JustRide: value truncated for persistence]"}
    assert "truncated_by_agent" in log(Record(written, json.dumps(written).encode(), 0)).defects


def test_a_line_of_a_kind_that_nothing_knows_is_kept():
    found = log(Record({"kind": 9, "v": "new"}, b"", 0))
    assert [kind_of(d.payload) for d in drafts(found)] == ["unknown"]


def test_a_snapshot_gives_the_same_events_as_a_log():
    whole = document(request("r1", said("Yes."), shown("u", "copilot_readFile")), request("r2", said("No.")))
    requests = whole.pop("requests")
    parts = [Record(r, b"", n, "requests") for n, r in enumerate(requests)]
    found = read(ADAPTER, info("session"), [*parts, Record(whole, b"", len(parts))])
    assert newest(found) == newest(log(line(changed(to={**whole, "requests": requests}))))


def test_old_sessions_of_a_database_are_sessions_of_their_own():
    row = {"key": "interactive.sessions", "value": [{**document(request("r")), "sessionId": s} for s in ("one", "two")]}
    found = read(ADAPTER, info("state"), [Record(row, b"", 0, "ItemTable")])
    assert {d.session for d in drafts(found)} == {"one", "two"}
    assert [d.native_id for d in drafts(found) if d.session == "two"] == ["start", "r"]


def test_only_one_row_of_the_database_may_be_read():
    (table,) = next(p.tables for p in ADAPTER.facts.places if p.role == "state")
    assert (table.name, table.keys) == ("ItemTable", ("interactive.sessions",))


def test_a_session_keeps_its_source_when_it_moves():
    moved = SourceInfo("vscode", "log", f"globalStorage/emptyWindowChatSessions/{SESSION}.jsonl")
    assert ADAPTER.source_key(moved) == ADAPTER.source_key(info("log"))


def test_a_transcript_of_the_extension_is_an_event_stream():
    start = {"sessionId": SESSION, "producer": "copilot-agent", "vscodeVersion": "1.119.0"}
    events = [
        {"type": "session.start", "data": start, "id": "e1", "timestamp": "2026-08-01T09:00:00.000Z", "parentId": None},
        {"type": "assistant.message", "data": {"toolRequests": [{"toolCallId": "c", "name": "read_file"}]}, "id": "e2",
         "timestamp": "2026-08-01T09:00:01.000Z", "parentId": "e1"},
    ]  # fmt: skip
    assert ADAPTER.recognise("x", "\n".join(map(json.dumps, events)).encode()) == "transcript"
    assert [c.name for c in of(read(ADAPTER, info("transcript"), records_of(events)), ToolCall)] == ["read_file"]


@pytest.mark.parametrize("size", [None, 100])
def test_sessions_are_recognised_by_content_also_when_cut(size):
    whole = json.dumps({"version": 3, "responderUsername": "GitHub Copilot", "requests": [], "sessionId": SESSION})
    first = json.dumps({"kind": 0, "v": json.loads(whole)})
    assert ADAPTER.recognise("a", whole.encode()[:size]) == "session"
    assert ADAPTER.recognise("a", first.encode()[:size]) == "log"


def test_files_of_others_are_not_recognised():
    for head in (
        b'{"type":"user","uuid":"1"}',
        b"",
        b"[1]",
        b'{"kind":1,"k":[],"v":1}',
        b'{"sessionId":"x","requests":1}',
    ):
        assert ADAPTER.recognise("a", head) is None


def test_a_loose_session_is_named_by_its_own_id_and_not_by_a_request():
    loose = {"requests": [{"result": {"metadata": {"sessionId": "other"}}}], "sessionId": "mine"}
    assert ADAPTER.identify(SourceInfo("vscode", "session", "a.json"), json.dumps(loose).encode()) == "mine"


@settings(max_examples=tried(150))
@given(values=st.lists(_SHAPED, max_size=4), role=st.sampled_from(ROLES))
def test_any_content_keeps_the_contract(values: list[Any], role: str) -> None:
    assert check_adapter(ADAPTER, info(role), values) == []


@settings(max_examples=tried(100))
@given(
    path=st.lists(
        st.sampled_from(["requests", "response", "result", "message", "modelId", "customTitle", 0, 1]), max_size=4
    ),
    value=_SHAPED,
    gone=st.booleans(),
)
def test_any_change_keeps_the_contract(path: list[Any], value: Any, gone: bool) -> None:
    log(begun(request("r", said("Yes."))), line(changed(*path, to=value, gone=gone)), line(changed(*path, to=value)))


def test_a_hostile_session_does_not_grow_the_state():
    pieces = [shown("u" * 300 + str(n), "t" * 300) for n in range(300)] + [said("\U0001f600" * 9000)]
    requests = [request("\U0001f600" * 200 + str(n), *pieces, modelId="m" * 500) for n in range(6)]
    requests += [request("r" * 190 + str(n)) for n in range(2000)]
    values = [{"kind": 0, "v": document(*requests)}]
    assert check_adapter(ADAPTER, info("log"), values) == []


@pytest.mark.corpus
def test_recorded_sessions_have_no_unknown_records(shared: Path) -> None:
    folder = shared / "corpus" / "vscode-copilot"
    for path in sorted(folder.rglob("*_session*.json*")):
        raw = path.read_bytes()
        role = ADAPTER.recognise(path.name, raw[:65536])
        if role not in ("log", "transcript"):
            continue
        fold, found = PatchFold(), []
        state = ADAPTER.begin(SourceInfo("vscode", role, FOLDERS[role], session="s"))
        for n, written in enumerate(raw.splitlines()):
            value = json.loads(written)
            parsed = ADAPTER.parse(Record(value, written, n, "", fold.take(value) if role == "log" else ()), state)
            state = parsed.state
            found += [(path.name, d) for d in parsed.drift] + [(path.name, d) for d in parsed.defects]
        assert found == []
