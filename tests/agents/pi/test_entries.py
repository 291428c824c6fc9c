"""pi: what its entries become, one trap of the format after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.kit.pi_entries import PiFamilyAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    Rewind,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Drift, Record, SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_json

ADAPTER = PiFamilyAdapter("pi")
INFO = SourceInfo("pi", "session", "sessions/--w--/2026-08-01T09-00-00-000Z_s1.jsonl", session="s1")
HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-08-01T09:00:00.000Z", "cwd": "/w"}
USAGE = {"input": 5, "output": 7, "cacheRead": 3, "cacheWrite": 2, "totalTokens": 17, "cost": {"total": 0.5}}
TYPES = (
    "session", "message", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom",
    "custom_message", "label", "session_info", "child_usage_attributed", "ephemeral", "from_the_future",
)  # fmt: skip
ROLES = ("user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "system", "compactionSummary")


def entry(name: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "id": name, "parentId": parent, "timestamp": "2026-08-01T09:00:01.000Z", **fields}


def message(name: str, parent: str | None, role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return entry(name, parent, message={"role": role, "content": content, "timestamp": 1785574801000, **fields})


def said(name: str, parent: str | None, text: str, **fields: Any) -> dict[str, Any]:
    return message(name, parent, "assistant", [{"type": "text", "text": text}], model="m", **fields)


def drafts(*values: Any, info: SourceInfo = INFO) -> list[Draft]:
    return [draft for events in read(ADAPTER, info, records_of([HEADER, *values])).events for draft in events]


def payloads(kind: type, *values: Any, info: SourceInfo = INFO) -> list[Any]:
    return [draft.payload for draft in drafts(*values, info=info) if isinstance(draft.payload, kind)]


def test_an_entry_below_an_older_one_is_a_rewind_that_says_how_many_turns_it_dropped() -> None:
    values = [
        message("a1", None, "user", "First."), said("a2", "a1", "One."), message("a3", "a2", "user", "Wrong turn."),
        said("a4", "a3", "Oops."), message("a5", "a2", "user", "Second."),
    ]  # fmt: skip
    assert payloads(Rewind, *values) == [Rewind("a2", 1)]


def test_a_return_to_an_abandoned_branch_is_a_rewind_too() -> None:
    values = [
        message("a1", None, "user", "First."), said("a2", "a1", "One."), message("a3", "a1", "user", "Other."),
        said("a4", "a2", "Back."),
    ]  # fmt: skip
    assert payloads(Rewind, *values) == [Rewind("a1", 0), Rewind("a3/rewind", 1)]


def test_labels_and_settings_that_hang_elsewhere_are_no_rewind() -> None:
    label = {"type": "label", "id": "a3", "parentId": "a1", "timestamp": "2026-08-01T09:00:02.000Z", "targetId": "a1"}
    values = [message("a1", None, "user", "First."), {**label, "id": "a0"}, said("a2", "a1", "One.")]
    assert payloads(Rewind, *values) == []


def test_a_parent_that_is_no_entry_says_nothing() -> None:
    values = [message("a1", "s1", "user", "First."), said("a2", "toolu_1", "One.")]
    assert payloads(Rewind, *values) == []


def test_a_branch_summary_and_its_jump_are_one_rewind() -> None:
    summary = {"type": "branch_summary", "fromId": "a2", "summary": "A wrong turn."}
    values = [message("a1", None, "user", "First."), said("a2", "a1", "One."), {**entry("a3", "a1"), **summary}]
    assert payloads(Rewind, *values) == [Rewind("a1", 0)]
    assert "A wrong turn." in [p.text for p in payloads(Lifecycle, *values)]


def test_input_tokens_are_without_cached_ones_and_cost_is_as_stated() -> None:
    found = payloads(TokenUsage, said("a1", None, "Hi.", usage=USAGE, responseId="r1"))
    assert found == [TokenUsage("m", 5, 7, 3, 2, cost_usd=0.5, dedupe_key="r1:m")]


def test_a_copied_response_has_the_same_key_in_a_fork() -> None:
    other = SourceInfo("pi", "session", "sessions/--w--/x_s2.jsonl", session="s2")
    first = payloads(TokenUsage, said("a1", None, "Hi.", usage=USAGE))
    second = payloads(TokenUsage, said("a1", None, "Hi.", usage=USAGE), info=other)
    assert first[0].dedupe_key == second[0].dedupe_key != ""


def test_an_aborted_response_that_counted_nothing_gives_no_usage() -> None:
    empty = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
    values = [said("a1", None, "Working", usage=empty, stopReason="aborted", errorMessage="Request was aborted.")]
    assert payloads(TokenUsage, *values) == []
    assert Lifecycle("interrupted", text="Request was aborted.") in payloads(Lifecycle, *values)


def test_usage_of_children_takes_the_place_of_the_messages_own() -> None:
    child = {
        "type": "child_usage_attributed",
        "id": "a2",
        "parentId": "a1",
        "targetId": "a1",
        "usage": {**USAGE, "output": 70},
    }
    found = [d for d in drafts(said("a1", None, "Hi.", usage=USAGE), child) if isinstance(d.payload, TokenUsage)]
    assert [d.native_id for d in found] == ["a1/usage", "a1/usage"]
    assert len({d.payload.dedupe_key for d in found if isinstance(d.payload, TokenUsage)}) == 1


def test_a_file_migrated_from_the_first_version_replaces_what_a_hash_named() -> None:
    old = {k: v for k, v in message("", None, "user", "First.").items() if k not in ("id", "parentId")}
    v1 = {**HEADER, "modelId": "m", "provider": "p"}
    del v1["version"]
    before = read(ADAPTER, INFO, records_of([v1, old])).events[1][0]
    after = read(ADAPTER, INFO, records_of([{**v1, "version": 3}, {**old, "id": "a1", "parentId": None}])).events[1][0]
    assert before.native_id is not None
    assert (after.native_id, after.replaces) == ("a1", (before.native_id, 0))


def test_a_command_of_the_person_is_prompt_call_and_result() -> None:
    bash = {"role": "bashExecution", "command": "false", "output": "no", "exitCode": 1, "cancelled": False}
    values = [entry("a1", None, message=bash)]
    assert payloads(UserMessage, *values) == [UserMessage("!false", "command")]
    assert [(p.canonical, p.arguments) for p in payloads(ToolCall, *values)] == [("shell", {"command": "false"})]
    assert [(p.ok, p.exit_code, p.text) for p in payloads(ToolResult, *values)] == [(False, 1, "no")]


def test_the_exit_code_of_a_failed_command_stands_at_the_end_of_its_text() -> None:
    text = "1 failed\n\n\nCommand exited with code 2"
    values = [message("a1", None, "toolResult", [{"type": "text", "text": text}], toolName="bash", isError=True)]
    assert [(p.ok, p.exit_code) for p in payloads(ToolResult, *values)] == [(False, 2)]


@pytest.mark.parametrize(("is_error", "count"), [(False, 1), (True, 0)])
def test_an_edit_is_told_from_its_result(is_error: bool, count: int) -> None:
    call = {
        "type": "toolCall",
        "id": "c1",
        "name": "edit",
        "arguments": {"path": "a.py", "oldText": "1", "newText": "2"},
    }
    result = {"toolCallId": "c1", "toolName": "edit", "isError": is_error, "details": {"diff": "-1 1\n+1 2"}}
    values = [message("a1", None, "assistant", [call]), message("a2", "a1", "toolResult", "done", **result)]
    assert payloads(FileEdit, *values) == [FileEdit("a.py", diff="-1 1\n+1 2", call_id="c1")] * count


def test_a_list_of_replacements_gives_an_edit_each() -> None:
    edits = [{"oldText": "1", "newText": "2"}, {"oldText": "3", "newText": "4"}]
    call = {"type": "toolCall", "id": "c1", "name": "edit", "arguments": {"path": "a.py", "edits": edits}}
    values = [
        message("a1", None, "assistant", [call]),
        message("a2", "a1", "toolResult", "done", toolCallId="c1", toolName="edit", isError=False),
    ]
    assert [(p.before, p.after) for p in payloads(FileEdit, *values)] == [("1", "2"), ("3", "4")]


def test_a_signature_never_becomes_text() -> None:
    block = {"type": "thinking", "thinking": "", "thinkingSignature": "c2lnbmF0dXJl"}
    assert payloads(Thinking, message("a1", None, "assistant", [block])) == [Thinking("", "", is_encrypted=True)]


def test_an_image_becomes_a_hash() -> None:
    image = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
    (found,) = payloads(UserMessage, message("a1", None, "user", [{"type": "text", "text": "See."}, image]))
    assert (found.text, found.parts[0].bytes, found.parts[0].media_type) == ("See.", 5, "image/png")


def test_text_of_extensions_is_injected_and_system_prompts_are_instructions() -> None:
    hook = {
        "type": "custom_message",
        "id": "a1",
        "parentId": None,
        "customType": "hook",
        "content": "x",
        "display": False,
    }
    assert payloads(UserMessage, hook) == [UserMessage("x", "injected")]
    assert payloads(Instructions, message("a1", None, "system", "You are pi.")) == [
        Instructions("You are pi.", "system")
    ]


def test_a_compaction_says_where_the_session_goes_on() -> None:
    value = {
        **entry("a1", None),
        "type": "compaction",
        "summary": "So far.",
        "firstKeptEntryId": "a0",
        "tokensBefore": 9,
    }
    assert payloads(Compaction, {**value, "fromHook": True}) == [Compaction("hook", "So far.", 9, None, "a0")]


def test_the_file_of_the_parent_names_the_session_a_fork_came_from() -> None:
    source = "/home/me/.pi/agent/sessions/--w--/2026-08-01T08-00-00-000Z_s0.jsonl"
    (start,) = (e for e in read(ADAPTER, INFO, records_of([{**HEADER, "parentSession": source}])).events[0])
    assert isinstance(start.payload, SessionStart)
    assert start.payload.forked_from == "s0"


@pytest.mark.parametrize(
    ("path", "session", "parent"),
    [
        ("sessions/--w--/2026-08-01T09-00-00-000Z_s1/0-explore.jsonl", "s9", "s1"),
        ("session-artifacts/s1/sub-1/x.jsonl", "s9", "s1"),
    ],
)
def test_a_subagent_belongs_to_the_session_whose_folder_it_lies_in(path: str, session: str, parent: str) -> None:
    info = SourceInfo("pi", "subagent", path)
    head = msgspec.json.encode({**HEADER, "id": session}) + b"\n"
    assert ADAPTER.identify(info, head) == session
    assert ADAPTER.begin(info).parent_session == parent


def test_a_subagent_with_the_id_of_its_parent_has_a_name_of_its_own() -> None:
    info = SourceInfo("pi", "subagent", "sessions/--w--/2026-08-01T09-00-00-000Z_s1/0-explore.jsonl")
    assert ADAPTER.identify(info, msgspec.json.encode(HEADER)) == "s1/0-explore"


def test_the_header_names_the_session_whatever_the_file_is_called() -> None:
    info = SourceInfo("pi", "session", "sessions/other.jsonl")
    assert ADAPTER.identify(info, msgspec.json.encode(HEADER) + b'\n{"type":"mess') == "s1"


def test_unknown_types_and_fields_are_kept_and_counted() -> None:
    value = {"type": "from_the_future", "id": "a1", "parentId": None, "text": "new"}
    state = ADAPTER.begin(INFO)
    parsed = ADAPTER.parse(Record({**HEADER, "novelty": "x"}, b"", 0), state)
    assert Drift("field", "session.novelty") in parsed.drift
    parsed = ADAPTER.parse(Record(value, b"", 1), parsed.state)
    assert Drift("type", "from_the_future") in parsed.drift
    assert parsed.events[0].payload == Unknown("from_the_future", "text: new")


def test_loose_files_are_told_from_those_of_openclaw_and_of_others() -> None:
    first = msgspec.json.encode(HEADER)
    own = first + b"\n" + msgspec.json.encode(message("a1", None, "user", "Hi.")) + b'\n{"type":"me'
    assert ADAPTER.recognise("x/s.jsonl", own) == "session"
    assert ADAPTER.recognise("openclaw/s.jsonl", own) is None
    assert ADAPTER.recognise("x/s.jsonl", first + b'\n{"type":"user/message","seq":1}\n') is None
    assert ADAPTER.recognise("x/s.jsonl", b'{"type":"user","uuid":"1","sessionId":"2"}\n') is None


@given(
    values=st.lists(
        st.builds(
            lambda kind, fields, inner: {**fields, "type": kind, "message": inner},
            st.sampled_from(TYPES),
            st.dictionaries(st.sampled_from(("id", "parentId", "timestamp", "usage", "targetId", "cwd")), any_json()),
            any_json()
            | st.fixed_dictionaries({"role": st.sampled_from(ROLES), "content": any_json(), "usage": any_json()}),
        )
        | any_json(),
        max_size=6,
    ),
    role=st.sampled_from(("session", "subagent")),
)
def test_any_content_keeps_the_contract(values: list[Any], role: str) -> None:
    assert check_adapter(ADAPTER, SourceInfo("pi", role, INFO.path, session="s1"), values) == []


@pytest.mark.corpus
def test_recorded_sessions_have_no_unknown_parts(shared: Path) -> None:
    for path in sorted((shared / "corpus" / "pi").rglob("*.jsonl")):
        values = [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
        state = ADAPTER.begin(INFO)
        for record in records_of(values):
            parsed = ADAPTER.parse(record, state)
            state = parsed.state
            assert (parsed.drift, parsed.defects) == ((), ()), f"{path.name} {record.index}"
        assert any(isinstance(d.payload, AssistantMessage) for d in drafts(*values))
