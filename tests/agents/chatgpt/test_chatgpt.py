"""The traps of a ChatGPT export, one each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.chatgpt.parse import KNOWN, ChatGPTAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Instructions,
    Lifecycle,
    Part,
    Rewind,
    SessionStart,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Drift, Parsed, Record, SourceInfo
from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_json

ADAPTER = ChatGPTAdapter()
INFO = SourceInfo("chatgpt", "conversations", "conversations.json", "c1", "c1")
Message = dict[str, Any]


def message(role: str, content: Any, **fields: Any) -> Message:
    author = {"role": role, "name": fields.pop("name", None), "metadata": fields.pop("author", {})}
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    return {"author": author, "content": content, "metadata": {}, "recipient": "all", "create_time": None, **fields}


def conversation(*said: tuple[str, str, Message], current: str = "", **fields: Any) -> dict[str, Any]:
    """Return a conversation of (key, parent, message); the last message is where it is, unless said otherwise."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    for key, parent, body in said:
        mapping[key] = {"id": key, "message": {"id": key, **body}, "parent": parent, "children": []}
        mapping.get(parent, {}).get("children", []).append(key)
    current = current or (said[-1][0] if said else "root")
    return {"title": "", "create_time": 1785574800.5, "mapping": mapping, "current_node": current, **fields}


def parsed(content: Any) -> Parsed[Any]:
    record = Record({"document": "c1", "content": content}, b"", 0, "conversation")
    return ADAPTER.parse(record, ADAPTER.begin(INFO))


def drafts(*said: tuple[str, str, Message], **fields: Any) -> list[Draft]:
    """Return what messages gave, without the beginning of the session."""
    return [d for d in parsed(conversation(*said, **fields)).events if d.native_id != "start"]


def one(role: str, content: Any, **fields: Any) -> list[Any]:
    return [d.payload for d in drafts(("m", "root", message(role, content, **fields)))]


def test_the_line_that_led_to_the_current_node_is_the_conversation_and_others_are_branches_before_it():
    events = drafts(
        ("q", "root", message("user", "Which?")),
        ("a1", "q", message("assistant", "This.")),
        ("a2", "q", message("assistant", "That.")),
        ("q2", "a1", message("user", "Go on.")),
        current="q2",
    )
    assert [(d.native_id, d.is_sidechain) for d in events] == [
        ("q", False), ("a2", True), ("rewind:a2", False), ("a1", False), ("q2", False),
    ]  # fmt: skip
    assert events[2].payload == Rewind(to_event="q")
    assert [d.parent_id for d in events] == [None, "q", None, "q", "a1"]


def test_an_edited_prompt_leaves_its_turns_behind():
    events = drafts(
        ("q", "root", message("user", "Wrong.")),
        ("a", "q", message("assistant", "Oops.")),
        ("q2", "a", message("user", "Still wrong.")),
        ("new", "root", message("user", "Right.")),
    )
    assert [d.payload for d in events if isinstance(d.payload, Rewind)] == [Rewind("start", 2)]


def test_nodes_that_hang_on_nothing_or_on_each_other_are_not_lost():
    events = drafts(
        ("x", "y", message("user", "x")),
        ("y", "x", message("user", "y")),
        ("o", "gone", message("user", "orphan")),
        ("m", "root", message("user", "main")),
    )
    said = [d.payload.text for d in events if isinstance(d.payload, UserMessage)]
    assert sorted(said) == ["main", "orphan", "x", "y"]
    assert [d.native_id for d in events if not d.is_sidechain and isinstance(d.payload, UserMessage)] == ["m"]


def test_without_a_current_node_the_newest_child_of_each_goes_on():
    events = drafts(
        ("q", "root", message("user", "Which?")),
        ("a1", "q", message("assistant", "This.")),
        ("a2", "q", message("assistant", "That.")),
        current="missing",
    )
    assert [(d.native_id, d.is_sidechain) for d in events if not isinstance(d.payload, Rewind)] == [
        ("q", False), ("a1", True), ("a2", False),
    ]  # fmt: skip


def test_a_long_conversation_is_read_without_recursion():
    said = [(f"m{n}", f"m{n - 1}" if n else "root", message("user", str(n))) for n in range(5000)]
    events = drafts(*said)
    assert [d.native_id for d in events] == [f"m{n}" for n in range(5000)]


def test_a_message_to_a_recipient_is_a_call_and_the_tools_message_its_result():
    call = message("assistant", {"content_type": "code", "language": "unknown", "text": "1+1"}, recipient="python")
    run = {"status": "success", "start_time": 10.0, "end_time": 10.25}
    result = message(
        "tool", {"content_type": "execution_output", "text": "2"}, name="python", metadata={"aggregate_result": run}
    )
    events = drafts(("q", "root", message("user", "Add.")), ("c", "q", call), ("r", "c", result))
    assert events[1].payload == ToolCall("c", "python", "shell", {"code": "1+1"}, "c")
    assert events[2].payload == ToolResult(
        "c", "python", True, text="2", structured={"status": "success"}, duration_ms=250
    )
    assert [d.native_id for d in events[1:]] == ["call:c", "result:r"]


def test_several_pages_answer_one_call_over_other_messages_in_between():
    search = message("assistant", '{"q": "x"}', recipient="web.run")
    think = message("assistant", {"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "C"}]})
    page = {"content_type": "tether_quote", "url": "https://a.example", "title": "A", "text": "T"}
    events = drafts(
        ("q", "root", message("user", "Search.")),
        ("c", "q", search),
        ("t", "c", think),
        ("r1", "t", message("tool", page, name="web.run")),
        ("r2", "r1", message("tool", page, name="web.run")),
    )
    assert [d.payload.call_id for d in events if isinstance(d.payload, ToolResult)] == ["c", "c"]
    assert events[1].payload == ToolCall("c", "web.run", "fetch", {"q": "x"}, "c")


def test_a_call_of_the_turn_before_is_not_answered():
    events = drafts(
        ("c", "root", message("assistant", "x", recipient="python")),
        ("q", "c", message("user", "Next.")),
        ("r", "q", message("tool", "late", name="python")),
    )
    assert events[-1].payload == ToolResult("", "python", text="late")


@pytest.mark.parametrize(
    ("content", "metadata"),
    [
        ("x", {"aggregate_result": {"status": "failed_with_in_kernel_exception"}}),
        ("x", {"aggregate_result": {"in_kernel_exception": {"name": "ValueError"}}}),
        ("x", {"status": "failed"}),
        ({"content_type": "system_error", "name": "TimeoutError", "text": "x"}, {}),
    ],
)
def test_a_failure_that_only_metadata_or_the_type_of_content_tells_is_a_failure(content: Any, metadata: Any):
    (result,) = one("tool", content, name="browser", metadata=metadata, status="finished_successfully")
    assert result.ok is False


def test_that_a_message_was_delivered_does_not_say_that_the_tool_succeeded():
    assert one("tool", "x", name="browser", status="finished_successfully") == [ToolResult(name="browser", text="x")]


def test_canvas_documents_are_edited_under_their_title():
    created = json.dumps({"name": "plan", "type": "document", "content": "# Plan"})
    updates = [{"pattern": ".*", "replacement": "all"}, {"pattern": "a", "replacement": "b"}]
    canvas = {"canvas": {"title": "Plan", "textdoc_id": "t", "version": 1}}
    events = drafts(
        ("c1", "root", message("assistant", created, recipient="canmore.create_textdoc")),
        ("r1", "c1", message("tool", "ok", name="canmore.create_textdoc", metadata=canvas)),
        ("c2", "r1", message("assistant", json.dumps({"updates": updates}), recipient="canmore.update_textdoc")),
        ("r2", "c2", message("tool", "ok", name="canmore.update_textdoc", metadata=canvas)),
    )
    assert [d.payload for d in events if isinstance(d.payload, FileEdit)] == [
        FileEdit("Plan", "create", after="# Plan", call_id="c1"),
        FileEdit("Plan", "modify", None, "all", call_id="c2"),
        FileEdit("Plan", "modify", "a", "b", call_id="c2"),
    ]


def test_a_failed_canvas_edit_is_none():
    failed = {"content_type": "system_error", "name": "Error", "text": "no match"}
    events = drafts(
        ("c", "root", message("assistant", '{"updates": [{"pattern": "a"}]}', recipient="canmore.update_textdoc")),
        ("r", "c", message("tool", failed, name="canmore.update_textdoc")),
    )
    assert not any(isinstance(d.payload, FileEdit) for d in events)


def test_what_a_tool_wrote_in_the_assistants_role_is_a_result():
    (result,) = one("assistant", "page", author={"real_author": "tool:web.run"})
    assert result == ToolResult(name="web.run", text="page")


def test_thoughts_are_thinking_and_their_chunks_are_not_repeated():
    thought = {"summary": "Planning", "content": "First this.", "chunks": ["First this."], "finished": True}
    (thinking,) = one("assistant", {"content_type": "thoughts", "thoughts": [thought], "source_analysis_msg_id": "x"})
    assert thinking == Thinking("Planning\nFirst this.", "m")
    assert one("assistant", {"content_type": "thoughts", "thoughts": []}) == []
    assert one("assistant", {"content_type": "thoughts", "thoughts": "old form"}) == [Thinking("old form", "m")]
    recap = {"content_type": "reasoning_recap", "content": "Thought for 5 seconds"}
    assert one("assistant", recap) == [Lifecycle("reasoning_recap", text="Thought for 5 seconds")]
    assert one("assistant", "hm", channel="analysis") == [Thinking("hm", "m")]


def test_custom_instructions_and_memory_are_no_turns():
    mine = {"content_type": "user_editable_context", "user_profile": "I map.", "user_instructions": "Be brief."}
    assert one("user", mine) == [Instructions("I map.\nBe brief.", "custom instructions")]
    theirs = {"content_type": "model_editable_context", "model_set_context": "1. Likes maps."}
    assert one("assistant", theirs) == [Instructions("1. Likes maps.", "memory")]
    about = {"is_user_system_message": True, "user_context_message_data": {"about_user_message": "I map."}}
    assert one("system", "", metadata=about) == [Instructions("I map.", "custom instructions")]
    assert one("system", "") == []


def test_a_hidden_message_in_the_users_role_is_injected():
    hidden = one("user", "context", metadata={"is_visually_hidden_from_conversation": True})
    assert hidden == [UserMessage("context", "injected")]


def test_voice_is_the_words_that_were_heard_and_the_recording():
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://1", "size_bytes": 5, "format": "wav"}
    parts = [
        {"content_type": "audio_transcription", "text": "How long?", "direction": "in"},
        {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": sound},
    ]
    assert one("user", {"content_type": "multimodal_text", "parts": parts}) == [
        UserMessage("How long?", parts=(Part("audio", media_type="wav", bytes=5, url="sediment://1"),))
    ]


def test_pictures_keep_their_address_and_what_they_were_made_from():
    picture = {
        "content_type": "image_asset_pointer", "asset_pointer": "file-service://1", "size_bytes": 9,
        "metadata": {"dalle": {"prompt": "a fox", "seed": 1}},
    }  # fmt: skip
    (result,) = one("tool", {"content_type": "multimodal_text", "parts": [picture]}, name="dalle.text2im")
    assert result.parts == (Part("image", bytes=9, url="file-service://1"),)
    assert result.structured == {"pictures": [{"prompt": "a fox", "seed": 1}]}


def test_uploaded_files_are_parts_of_the_prompt():
    files = {"attachments": [{"id": "file-1", "name": "a.csv", "size": 3, "mimeType": "text/csv"}]}
    assert one("user", "Read it.", metadata=files) == [
        UserMessage("Read it.", parts=(Part("file", media_type="text/csv", bytes=3, path="a.csv", url="file-1"),))
    ]


def test_sources_of_an_answer_are_named_once():
    page = {"type": "webpage", "title": "A", "url": "https://a.example", "snippet": "S", "start_idx": 1}
    metadata = {
        "content_references": [page, {"items": [page]}],
        "search_result_groups": [{"domain": "a.example", "entries": [page]}],
        "search_queries": [{"type": "search", "q": "maps"}],
    }
    _, references = one("assistant", "Said.", metadata=metadata)
    assert references.detail == [{"title": "A", "url": "https://a.example", "snippet": "S"}, {"q": "maps"}]


def test_a_conversation_branched_from_another_names_it():
    metadata = {"branching_from_conversation_id": "other"}
    events = parsed(conversation(("m", "root", message("user", "On.", metadata=metadata)))).events
    assert events[0].payload == SessionStart(originator="chatgpt", forked_from="other")


def test_flags_title_and_custom_gpt_are_given():
    events = parsed(conversation(title="Maps", gizmo_id="g-1", is_archived=True, default_model_slug="auto")).events
    assert [d.payload for d in events] == [
        SessionStart(originator="chatgpt"),
        Lifecycle("title", title="Maps"),
        Lifecycle("conversation", detail={"gizmo_id": "g-1", "is_archived": True}),
    ]


def test_a_message_without_a_time_is_dated_by_what_came_before_it():
    events = drafts(
        ("a", "root", message("user", "a", create_time=1785574900.25)),
        ("b", "a", message("assistant", "b")),
    )
    assert [(d.ts, d.ts_quality) for d in events] == [
        (1785574900_250000, "exact"), (1785574900_250000, "inferred"),
    ]  # fmt: skip


def test_an_interrupted_answer_says_so():
    _, stopped = one("assistant", "Work", metadata={"finish_details": {"type": "interrupted"}})
    assert stopped.name == "interrupted"


def test_unknown_content_parts_roles_and_fields_are_kept_and_counted():
    result = parsed(
        conversation(
            ("a", "root", message("assistant", {"content_type": "hologram", "text": "Shimmer"})),
            ("b", "a", message("critic", "Hm.")),
            ("c", "b", message("user", {"content_type": "multimodal_text", "parts": [{"content_type": "scent"}]})),
            ("d", "c", message("user", "x", metadata={"novelty": "n"}, mood="good")),
            horoscope="leo",
        )
    )
    kept = [d.payload.type for d in result.events if isinstance(d.payload, Unknown)]
    assert kept == ["fields", "content/hologram", "message/critic", "part/scent", "fields", "fields"]
    assert set(result.drift) == {
        Drift("type", "content/hologram"), Drift("type", "message/critic"), Drift("type", "part/scent"),
        Drift("field", "metadata.novelty"), Drift("field", "message.mood"), Drift("field", "conversation.horoscope"),
    }  # fmt: skip


def test_a_conversation_with_half_a_character_is_read_all_the_same():
    text = json.dumps(conversation(("m", "root", message("user", "cut \ud83d"))))
    result = parsed(text)
    assert [d.payload.text for d in result.events if isinstance(d.payload, UserMessage)] == ["cut \ufffd"]
    assert [d.code for d in result.defects] == ["bent_json"]


def test_a_second_conversation_of_the_same_id_belongs_to_the_same_session():
    again = SourceInfo("chatgpt", "conversations", "conversations.json", document="c1#2")
    assert ADAPTER.identify(again, b"") == "c1"
    assert ADAPTER.source_key(INFO) == "conversations/c1"


CONVERSATION = conversation(("m", "root", message("user", "x" * 100_000)))


@pytest.mark.parametrize(
    "head",
    [
        json.dumps([CONVERSATION]).encode()[: 64 * 1024],
        json.dumps([CONVERSATION], indent=2).encode()[: 64 * 1024],
        json.dumps({"conversations": [CONVERSATION]}).encode()[: 64 * 1024],
        json.dumps(CONVERSATION).encode()[: 64 * 1024],
        json.dumps([CONVERSATION], sort_keys=True).encode()[: 64 * 1024],
        b"\xef\xbb\xbf" + json.dumps([{"title": None, "conversation_id": "c", "mapping": {}}]).encode(),
    ],
)
def test_an_export_is_told_by_its_first_conversation_even_if_the_head_cuts_it(head: bytes):
    assert ADAPTER.recognise("whatever.json", head) == "conversations"


@pytest.mark.parametrize(
    "other",
    [
        [{"id": "s", "conversation_id": "c", "title": "Shared", "is_anonymous": True}],
        [{"message_id": "m", "conversation_id": "c", "rating": "thumbsUp", "content": "{}"}],
        {"id": "user-1", "email": "somebody@example.org", "chatgpt_plus_user": True},
        {"title": "A map", "mapping": {"a": 1}},
        [{"mapping": {"a": {"message": 1}}}],
        [],
        {"chats": []},
    ],
)
def test_other_files_of_an_export_are_no_conversations(other: Any):
    assert ADAPTER.recognise("conversations.json", json.dumps(other).encode()) is None


CONTENT = st.builds(
    lambda kind, fields: {**fields, "content_type": kind},
    st.sampled_from((*KNOWN, "odd")),
    st.dictionaries(st.sampled_from(("parts", "text", "thoughts", "result", "screenshot", "content")), any_json()),
)
FIELDS = st.dictionaries(
    st.sampled_from(("create_time", "metadata", "recipient", "channel", "status", "author")), any_json()
)
MESSAGE = st.builds(
    lambda role, content, fields: {"author": {"role": role, "name": "python"}, "content": content, **fields},
    st.sampled_from(("user", "assistant", "tool", "system")) | any_json(),
    CONTENT | any_json(),
    FIELDS,
)
NODES = st.dictionaries(
    st.sampled_from("abcd"),
    st.builds(
        lambda body, parent, children: {"message": body, "parent": parent, "children": children},
        MESSAGE | any_json(), st.sampled_from("abcdx") | any_json(), st.lists(st.sampled_from("abcd")) | any_json(),
    ),
)  # fmt: skip


@given(nodes=NODES, current=st.sampled_from("abcdx"))
def test_any_tree_of_messages_keeps_the_contract_and_every_node_is_visited(nodes: dict[str, Any], current: str):
    value = {"document": "c1", "content": {"mapping": nodes, "current_node": current, "title": "t"}}
    assert check_adapter(ADAPTER, INFO, [value]) == []


@given(head=st.binary() | st.builds(lambda v: json.dumps(v).encode(), any_json()))
def test_any_head_is_looked_at_without_raising(head: bytes):
    ADAPTER.recognise("x", b'"mapping"' + head)
    ADAPTER.recognise("x", b'[{"title":1,"mapping":' + head)


def test_answers_of_the_model_name_it():
    (said,) = one("assistant", "Said.", metadata={"model_slug": "gpt-5", "finish_details": {"type": "stop"}})
    assert said == AssistantMessage("Said.", "gpt-5", "stop", "m")
