"""The traps of a Claude.ai export, one each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.claudeai.parse import ClaudeAIAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Lifecycle,
    Part,
    Rewind,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Drift, Parsed, Record, SourceInfo
from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_json

ADAPTER = ClaudeAIAdapter()
INFO = SourceInfo("claudeai", "conversations", "conversations.json", "c1", "c1")
NOBODY = "00000000-0000-4000-8000-000000000000"


def message(name: str, sender: str, *blocks: Any, **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    at = f"2026-08-01T09:00:{fields.pop('second', 0):02d}.000000Z"
    return {"uuid": name, "sender": sender, "text": "", "content": content, "created_at": at, **fields}


def parsed(*messages: Any, **fields: Any) -> Parsed[Any]:
    content = {"uuid": "c1", "name": "", "created_at": "2026-08-01T08:59:00Z", "chat_messages": messages, **fields}
    content["chat_messages"] = list(messages)
    record = Record({"document": "c1", "content": content}, b"", 0, "conversation")
    return ADAPTER.parse(record, ADAPTER.begin(INFO))


def drafts(*messages: Any, **fields: Any) -> list[Draft]:
    return [d for d in parsed(*messages, **fields).events if d.native_id != "start"]


def payloads(*blocks: Any, sender: str = "assistant", **fields: Any) -> list[Any]:
    return [d.payload for d in drafts(message("m", sender, *blocks, **fields))]


def use(name: str, asked: Any, call_id: str | None = "t1", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": asked, **fields}


def gave(name: str, content: Any, call_id: str | None = "t1", *, is_error: Any = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "name": name, "content": content, "is_error": is_error}


def test_blocks_count_and_the_text_beside_them_repeats_them():
    told = payloads("Said.", text="Said.\n```\nThis block is not supported on your current device yet.\n```\n")
    assert told == [AssistantMessage("Said.", message_id="m")]


def test_an_old_message_without_blocks_is_its_text():
    assert payloads(text="Said.") == [AssistantMessage("Said.", message_id="m")]
    assert payloads(sender="human", text="Asked.") == [UserMessage("Asked.")]


def test_blocks_of_a_kind_are_named_by_their_number_so_that_others_rename_none():
    thought = {"type": "thinking", "thinking": "Hm."}
    names = [d.native_id for d in drafts(message("m", "assistant", "One.", thought, "Two."))]
    assert names == ["m", "m/thinking", "m/2"]


def test_the_newest_message_says_which_branch_the_conversation_is_on():
    events = drafts(
        message("q", "human", "First.", parent_message_uuid=NOBODY),
        message("a", "assistant", "Oops.", second=1, parent_message_uuid="q"),
        message("b", "assistant", "One.", second=2, parent_message_uuid="q"),
        message("q2", "human", "Second.", second=3, parent_message_uuid="b"),
    )
    assert [(d.native_id, d.parent_id, d.is_sidechain) for d in events] == [
        ("q", None, False), ("a", "q", True), ("rewind:a", None, False), ("b", "q", False), ("q2", "b", False),
    ]  # fmt: skip
    assert events[2].payload == Rewind(to_event="q")


def test_a_leaf_that_is_named_counts_more_than_the_newest():
    events = drafts(
        message("q", "human", "First.", parent_message_uuid=NOBODY),
        message("r", "human", "Edited.", second=5, parent_message_uuid=NOBODY),
        current_leaf_message_uuid="q",
    )
    assert [(d.native_id, d.is_sidechain) for d in events] == [("r", True), ("rewind:r", False), ("q", False)]


def test_exports_without_parents_are_read_in_their_order():
    events = drafts(message("q", "human", "First."), message("a", "assistant", "One."), message("r", "human", "Two."))
    assert [(d.native_id, d.parent_id, d.is_sidechain) for d in events] == [
        ("q", None, False), ("a", "q", False), ("r", "a", False),
    ]  # fmt: skip


def test_a_failed_command_marked_only_in_its_output_is_a_failure():
    words = json.dumps({"returncode": 2, "stdout": "", "stderr": "no"})
    call, result = payloads(use("bash_tool", {"command": "x"}), gave("bash_tool", [{"type": "text", "text": words}]))
    assert call == ToolCall("t1", "bash_tool", "shell", {"command": "x"}, "m")
    assert (result.ok, result.exit_code) == (False, 2)


def test_what_a_page_says_of_a_return_code_is_no_exit_code():
    _, result = payloads(use("web_fetch", {}), gave("web_fetch", 'It says "returncode": 1.'))
    assert (result.ok, result.exit_code) == (True, None)


def test_results_without_an_id_answer_the_first_open_call_of_their_tool():
    told = payloads(use("repl", {"code": "1"}, None), use("repl", {"code": "2"}, None), gave("repl", "1", None))
    assert [p.call_id for p in told] == ["m/call", "m/call/2", "m/call"]


def test_edits_are_told_when_they_succeeded():
    asked = {"path": "a.py", "old_str": "OLD = 1", "new_str": "NEW = 1"}
    _, edit, _ = payloads(use("str_replace", asked), gave("str_replace", "done"))
    assert edit == FileEdit("a.py", "modify", "OLD = 1", "NEW = 1", call_id="t1")
    told = payloads(use("str_replace", asked), gave("str_replace", "no match", is_error=True))
    assert [type(p) for p in told] == [ToolCall, ToolResult]
    _, made, _ = payloads(use("create_file", {"path": "b.py", "file_text": "x"}), gave("create_file", "done"))
    assert made == FileEdit("b.py", "create", after="x", call_id="t1")


@pytest.mark.parametrize(
    ("asked", "edit"),
    [
        (
            {"command": "create", "title": "Card", "content": "# A"},
            FileEdit("Card", "create", after="# A", call_id="t1"),
        ),
        ({"command": "rewrite", "id": "card", "content": "# B"}, FileEdit("card", "modify", after="# B", call_id="t1")),
        (
            {"command": "update", "id": "card", "old_str": "A", "new_str": "B"},
            FileEdit("card", "modify", "A", "B", call_id="t1"),
        ),
    ],
)
def test_artifacts_are_files(asked: Any, edit: FileEdit):
    assert payloads(use("artifacts", asked), gave("artifacts", "OK"))[1] == edit


def test_the_text_of_an_attached_file_is_none_of_the_users_words():
    attached = {"file_name": "a.txt", "file_size": 3, "file_type": "text/plain", "extracted_content": "abc"}
    files = [{"file_name": "a.txt"}, {"file_name": "b.png", "file_uuid": "f"}]
    part = Part("attachment", media_type="text/plain", bytes=3, path="a.txt")
    assert payloads("Read.", sender="human", attachments=[attached], files=files) == [
        UserMessage("Read.", parts=(part, Part("file", path="b.png", url="f"))),
        UserMessage("abc", "injected", (part,)),
    ]


def test_what_the_page_puts_into_a_prompt_is_injected():
    block = {"type": "injected_prompt_block", "prompt": "Today is Saturday.", "injection_source": "date"}
    assert payloads("Hi.", block, sender="human") == [
        UserMessage("Hi."), UserMessage("Today is Saturday.", "injected"),
    ]  # fmt: skip


def test_hidden_thinking_is_its_summary_or_only_a_mark_and_its_signature_is_no_text():
    summary = {"type": "thinking", "thinking": "", "summaries": [{"summary": "Planned."}], "thinking_hidden": True}
    sealed = {"type": "thinking", "thinking": "", "summaries": [], "signature": "c3ludGhldGlj"}
    assert payloads(summary, sealed) == [Thinking("Planned.", "m"), Thinking("", "m", is_encrypted=True)]


def test_pages_that_a_search_found_are_readable_and_pictures_are_parts():
    page = {"type": "knowledge", "title": "A", "url": "https://a.example", "text": "T", "metadata": {}}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    file = {"type": "local_resource", "file_path": "/out/a.html", "mime_type": "text/html", "uuid": "u"}
    _, result = payloads(use("web_search", {}), gave("web_search", [page, picture, file]))
    assert result.text.startswith("A\nhttps://a.example\nT\n")
    assert [(p.type, p.path, p.bytes) for p in result.parts] == [("image", "", 3), ("file", "/out/a.html", 0)]


def test_citations_are_kept():
    cited = {"type": "text", "text": "So.", "citations": [{"details": {"url": "https://a.example"}}]}
    assert payloads(cited)[1] == Lifecycle("references", detail=[{"details": {"url": "https://a.example"}}])


def test_a_stopped_answer_says_so():
    assert payloads("Work", stop_reason="user_canceled")[1].name == "interrupted"


def test_a_tool_of_a_connected_server_is_mcp():
    (call,) = payloads(use("query", {}, mcp_server_url="https://mcp.example/mcp"))
    assert call.canonical == "mcp"


def test_the_title_and_the_summary_are_given():
    told = [d.payload for d in drafts(name="Maps", summary="A river.", project_uuid="p")]
    assert told == [
        Lifecycle("title", title="Maps"),
        Lifecycle("summary", text="A river."),
        Lifecycle("conversation", detail={"project_uuid": "p"}),
    ]


def test_unknown_blocks_senders_and_fields_are_kept_and_counted():
    result = parsed(
        message("a", "assistant", {"type": "hologram", "body": "Shimmer"}, {"type": "text", "text": "x", "mood": "m"}),
        message("b", "robot", "x"),
        message("c", "human", "x", novelty="n"),
        "no message",
        horoscope="leo",
    )
    assert set(result.drift) == {
        Drift("type", "block/hologram"), Drift("field", "block_text.mood"), Drift("type", "message/robot"),
        Drift("value", "message.sender=robot"), Drift("field", "message.novelty"),
        Drift("field", "conversation.horoscope"),
    }  # fmt: skip
    kept = "\n".join(d.payload.text for d in result.events if isinstance(d.payload, Unknown))
    assert all(word in kept for word in ("Shimmer", "leo", "no message"))


CONVERSATION = {"uuid": "c", "name": "n", "summary": "", "chat_messages": [message("m", "human", "x" * 100_000)]}


@pytest.mark.parametrize(
    "head",
    [
        json.dumps([CONVERSATION]).encode()[: 64 * 1024],
        json.dumps([CONVERSATION], indent=1).encode()[: 64 * 1024],
        json.dumps([{"uuid": "c", "name": "", "chat_messages": []}]).encode(),
        json.dumps(CONVERSATION).encode()[: 64 * 1024],
    ],
)
def test_an_export_is_told_by_its_first_conversation_even_if_the_head_cuts_it(head: bytes):
    assert ADAPTER.recognise("x.json", head) == "conversations"


@pytest.mark.parametrize(
    "other",
    [
        [{"uuid": "u", "full_name": "Example Person", "email_address": "somebody@example.org"}],
        [{"uuid": "p", "name": "Project", "docs": [{"uuid": "d", "content": "chat_messages"}], "prompt_template": ""}],
        [{"conversations_memory": 'Likes "chat_messages"', "account_uuid": "u"}],
        {"chat_messages": []},
        [],
    ],
)
def test_users_projects_and_memories_are_no_conversations(other: Any):
    assert ADAPTER.recognise("conversations.json", json.dumps(other).encode()) is None


BLOCK = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.sampled_from("text thinking tool_use tool_result image document flag injected_prompt_block odd".split()),
    st.dictionaries(
        st.sampled_from("text thinking id tool_use_id name input content is_error source citations summaries".split()),
        any_json(),
    ),
)
MESSAGE = st.builds(
    lambda fields, sender, blocks: {**fields, "sender": sender, "content": blocks},
    st.dictionaries(
        st.sampled_from("uuid text created_at parent_message_uuid attachments files stop_reason".split()), any_json()
    ),
    st.sampled_from(("human", "assistant")) | any_json(),
    st.lists(BLOCK, max_size=4) | any_json(),
)


@given(messages=st.lists(MESSAGE | any_json(), max_size=5), fields=st.dictionaries(st.text(), any_json(), max_size=3))
def test_any_messages_keep_the_contract(messages: list[Any], fields: dict[str, Any]):
    value = {"document": "c1", "content": {**fields, "uuid": "c1", "chat_messages": messages}}
    assert check_adapter(ADAPTER, INFO, [value]) == []
