"""Agents that the configuration describes: what each record becomes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.agents.formats.flat import adapter_of
from recollect.config import FormatConfig
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Instructions,
    Lifecycle,
    SessionStart,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Drift, Record, SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_json, any_values
from tests.examples import tried

TOOLS = {"tool_name": "tool.name", "tool_arguments": "tool.input", "tool_call": "tool.id", "tool_ok": "ok"}
INFO = SourceInfo("mine", "messages", "logs/one.jsonl", session="one")


def drafts(records: list[Any], **described: Any) -> list[Draft]:
    adapter = adapter_of("mine", described)
    given = [r if isinstance(r, Record) else records_of([r])[0] for r in records]
    return [draft for events in read(adapter, INFO, given, stops=True).events for draft in events]


def payloads(*records: Any, **described: Any) -> list[Any]:
    return [draft.payload for draft in drafts(list(records), **described)]


def drift(record: Any, **described: Any) -> tuple[Drift, ...]:
    adapter = adapter_of("mine", described)
    return adapter.parse(records_of([record])[0], adapter.begin(INFO)).drift


def test_the_usual_lines_need_no_path() -> None:
    said = drafts(
        [
            {"role": "user", "content": "Hello.", "timestamp": "2026-08-01T09:00:00Z"},
            {"role": "Assistant", "content": [{"type": "text", "text": "Hi."}], "timestamp": 1785574801, "model": "m"},
            {"role": "system", "content": "Be kind."},
            {"role": "tool", "content": "3 passed"},
        ]
    )
    assert [(d.payload, d.ts_quality) for d in said] == [
        (UserMessage("Hello."), "exact"),
        (SessionStart(model="m"), "exact"),
        (AssistantMessage("Hi.", model="m"), "exact"),
        (Instructions("Be kind.", source="system"), "inferred"),
        (ToolResult(text="3 passed"), "inferred"),
    ]


def test_paths_lead_into_objects_and_roles_have_any_names() -> None:
    record = {"message": {"by": "ME", "body": {"says": "Hello."}}}
    paths = {"role": "message.by", "text": "message.body.says", "user_roles": ["me"]}
    assert payloads(record, **paths) == [UserMessage("Hello.")]
    assert drift(record, **paths) == ()


def test_a_field_that_no_path_names_is_kept_and_counted() -> None:
    record = {"role": "user", "content": "Hello.", "meta": {"mood": "good"}, "id": "m1"}
    assert payloads(record) == [UserMessage("Hello."), Unknown("fields", "mood: good")]
    assert drift(record) == (Drift("field", "record.meta"),)


def test_what_stands_beside_a_named_member_is_kept_by_its_whole_path() -> None:
    record = {"message": {"role": "user", "novelty": "x"}, "content": "Hello."}
    assert drift(record, role="message.role") == (Drift("field", "record.message.novelty"),)


def test_what_is_skipped_gives_nothing() -> None:
    record = {"role": "user", "content": "Hello.", "meta": {"mood": "good", "seq": 1}}
    assert payloads(record, skip=["meta.mood", "meta.seq"]) == [UserMessage("Hello.")]


def test_a_mapped_field_of_a_wrong_type_is_kept() -> None:
    assert payloads({"role": "user", "content": "Hello.", "cwd": 7})[-1] == Unknown("fields", "cwd: 7")
    ended = {"role": "tool", "content": "x", "ok": "perhaps"}
    assert payloads(ended, tool_ok="ok") == [ToolResult(text="x"), Unknown("fields", "ok: perhaps")]


def test_a_role_that_nobody_has_is_unknown_with_all_its_text() -> None:
    record = {"role": "narrator", "content": "Meanwhile."}
    assert payloads(record) == [Unknown("narrator", "role: narrator\ncontent: Meanwhile.")]
    assert drift(record) == (Drift("type", "narrator"),)
    assert payloads({"content": "Meanwhile."}) == [Unknown("record", "content: Meanwhile.")]


@pytest.mark.parametrize("value", [None, 1, "text", [1, "two"]])
def test_a_record_that_is_no_object_is_unknown(value: Any) -> None:
    (payload,) = payloads(value)
    assert isinstance(payload, Unknown)


def test_the_folder_and_the_model_are_told_when_they_change() -> None:
    first = {"role": "user", "content": "a", "cwd": "/w"}
    then = {"role": "assistant", "content": "b", "cwd": "/w/sub", "model": "m"}
    around = [p for p in payloads(first, first, then, then) if not isinstance(p, UserMessage | AssistantMessage)]
    assert around == [SessionStart(cwd="/w"), Lifecycle("cwd", cwd="/w/sub"), Lifecycle("model", model="m")]


def test_a_call_and_its_result_are_joined_and_a_done_edit_is_an_edit() -> None:
    arguments = json.dumps({"path": "a.py", "old": "OLD = 1", "new": "NEW = 1"})
    found = payloads(
        {"role": "assistant", "content": "", "tool": {"name": "edit", "id": "c1", "input": arguments}},
        {"role": "tool", "content": "done", "tool": {"id": "c1"}, "ok": 0},
        **TOOLS,
    )
    assert found == [
        ToolCall("c1", "edit", "edit", {"path": "a.py", "old": "OLD = 1", "new": "NEW = 1"}),
        ToolResult("c1", "edit", True, 0, "done"),
        FileEdit("a.py", "modify", "OLD = 1", "NEW = 1", call_id="c1"),
    ]


@pytest.mark.parametrize(("written", "ok", "code"), [(False, False, None), (True, True, None), (2, False, 2)])
def test_a_failed_call_is_a_failure_and_no_edit(written: Any, ok: bool, code: int | None) -> None:
    call = {"role": "assistant", "tool": {"name": "edit", "id": "c1", "input": {"path": "a", "old": "b", "new": "c"}}}
    found = payloads(call, {"role": "tool", "content": "no", "tool": {"id": "c1"}, "ok": written}, **TOOLS)
    assert found[1] == ToolResult("c1", "edit", ok, code, "no")
    assert any(isinstance(p, FileEdit) for p in found) is ok


def test_call_and_result_may_stand_in_one_record() -> None:
    record = {"role": "step", "tool": {"name": "bash", "input": {"command": "ls"}}, "output": "a.py", "id": "7"}
    call, result = payloads(record, id="id", tool_result="output", **TOOLS)
    assert (call.call_id, call.canonical, result.call_id, result.text) == ("7", "shell", "7", "a.py")


def test_thinking_is_told_apart_and_an_empty_answer_beside_it_is_none() -> None:
    record = {"role": "assistant", "content": "", "reasoning": "The loop is quadratic."}
    assert payloads(record, thinking="reasoning") == [Thinking("The loop is quadratic.")]


def test_sessions_that_share_a_file_are_sessions_of_their_own() -> None:
    lines = [{"role": "user", "content": "x", "chat": name, "cwd": f"/{name}"} for name in ("one", "two", "one", "two")]
    found = drafts(lines, session="chat")
    assert [(d.session, d.native_id) for d in found] == [
        (None, "start"), (None, None), ("two", "start"), ("two", None), (None, None), ("two", None),
    ]  # fmt: skip


def test_the_session_is_named_by_the_first_record_that_names_it() -> None:
    adapter = adapter_of("mine", {"session": "meta.chat"})
    head = b'{"x": 1}\nnot json\n{"meta": {"chat": "c-1"}}\n{"meta": {"chat": "c-2"}}\n{"cut'
    info = SourceInfo("mine", "messages", "logs/file.jsonl")
    assert adapter.identify(info, head) == "c-1"
    assert adapter.identify(info, b'{"x": 1}\n') == "file"
    document = adapter_of("mine", {"container": "snapshot", "split": ["m"], "session": "meta.chat"})
    assert document.identify(info, b'{"meta": {"chat": "c-1"}, "m": [{"cut') == "c-1"


def test_an_id_names_each_thing_and_a_longer_version_of_it() -> None:
    record = {"role": "assistant", "content": "Hal", "key": 5, "why": "because", "mood": "x"}
    named = {"id": "key", "thinking": "why"}
    first = [d.native_id for d in drafts([record], **named)]
    assert first == ["5/thinking", "5", "5/record/fields"]
    assert [d.native_id for d in drafts([{**record, "content": "Half"}], **named)] == first


def test_messages_of_a_rewritten_file_are_named_by_what_they_say() -> None:
    ab, c = [{"role": "user", "content": text} for text in "ab"], {"role": "user", "content": "c"}
    described = {"container": "snapshot"}
    names = [d.native_id for d in drafts([*ab, ab[0], c], **described)]
    assert [d.native_id for d in drafts([c, *ab], **described)] == [names[3], names[0], names[1]]
    assert names[2] == f"{names[0]}/2"


def test_what_stands_around_a_split_array_tells_the_session_and_is_kept() -> None:
    described = {"container": "snapshot", "split": ["messages"]}
    around = Record({"cwd": "/w", "title": "Tea"}, b"", 0)
    message = Record({"role": "user", "content": "Hello."}, b"", 1, "messages")
    assert payloads(around, message, **described) == [
        SessionStart(cwd="/w"),
        Unknown("fields", "title: Tea"),
        UserMessage("Hello."),
    ]


TEXT = """# Chat of today
User: Which files are here?
  And where?
**Assistant:** Two:
```yaml
user: root
```
## User

Thanks.
"""


def test_a_text_is_cut_where_somebody_begins_to_speak() -> None:
    assert payloads(TEXT, container="text") == [
        Unknown("text", "# Chat of today"),
        UserMessage("Which files are here?\n  And where?"),
        AssistantMessage("Two:\n```yaml\nuser: root\n```"),
        UserMessage("Thanks."),
    ]


def test_a_text_without_speakers_is_kept() -> None:
    assert payloads("Dear diary,", container="text") == [Unknown("text", "Dear diary,")]


def test_turns_of_a_text_keep_their_names_when_something_comes_before_them() -> None:
    names = [d.native_id for d in drafts(["User: a\nAI: b\nUser: a"], container="text")]
    assert [d.native_id for d in drafts(["User: new\nUser: a\nAI: b"], container="text")][1:] == names[:2]
    assert len(set(names)) == 3


def test_another_meaning_is_another_parser_version_and_another_name_is_not() -> None:
    version = adapter_of("mine", {}).facts.parser_version
    assert adapter_of("mine", {"name": "Mine", "patterns": ["a/*.jsonl"]}).facts.parser_version == version
    assert adapter_of("mine", {"text": "body"}).facts.parser_version != version
    assert 0 < version < 2**31


@pytest.mark.parametrize(
    ("slug", "described", "said"),
    [
        ("My Tool", {}, "lower-case letters"),
        ("mine", {"patterns": []}, "names no file"),
        ("mine", {"patterns": ["/etc/*"]}, "below `roots`"),
        ("mine", {"patterns": ["../*.jsonl"]}, "below `roots`"),
        ("mine", {"exclude": ["~/x"]}, "below `roots`"),
        ("mine", {"split": ["messages"]}, "`snapshot` only"),
        ("mine", {"container": "sqlite"}, "`table`"),
        ("mine", {"table": "messages"}, "`table`"),
        ("mine", {"role": ""}, "`role`"),
        ("mine", {"user_roles": ["AI"]}, "'ai' can be of one speaker only"),
        ("mine", {"container": "yaml"}, "cannot be used"),
        ("mine", {"rol": "x"}, "cannot be used"),
    ],
)
def test_a_description_that_cannot_be_used_is_refused_with_a_sentence(slug: str, described: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        adapter_of(slug, described)
    assert "\n" not in str(caught.value)


def test_a_whole_configuration_is_a_description() -> None:
    assert adapter_of("mine", msgspec.to_builtins(FormatConfig())).facts.is_configured


MANY: tuple[dict[str, Any], ...] = (
    {},
    {"container": "snapshot", "split": ["messages"], "session": "id"},
    {"container": "text"},
    {"container": "sqlite", "table": "t", "session": "role", "json": ["content"]},
    {
        "id": "uuid", "session": "sessionId", "role": "type", "text": "message.content", "thinking": "payload",
        "tool_name": "message.name", "tool_call": "uuid", "tool_arguments": "message", "tool_result": "payload",
        "tool_ok": "content", "cwd": "message.cwd", "model": "message.model",
    },
)  # fmt: skip


MESSAGES = st.fixed_dictionaries({"role": st.just("user")}, optional={"content": any_json()})


@pytest.mark.parametrize("described", MANY, ids=str)
@given(values=any_values() | st.lists(MESSAGES))
@settings(max_examples=tried(40))
def test_any_content_keeps_the_contract(described: dict[str, Any], values: list[Any]) -> None:
    assert check_adapter(adapter_of("mine", described), INFO, values) == []
