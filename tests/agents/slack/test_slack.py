"""The traps of a Slack export, one each."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.slack.parse import SlackAdapter
from recollect.model.events import Draft
from recollect.model.payloads import Lifecycle, Part, Unknown, UserMessage
from recollect.model.records import Drift, Parsed, Record, SourceInfo
from recollect.model.rows import encode_file
from recollect.testing.conformance import check_adapter, read
from recollect.testing.strategies import any_json

ADAPTER = SlackAdapter()
INFO = SourceInfo("slack", "channel", ".", "T012AB3CD/general", "general")


def message(text: str = "Hello.", **fields: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U0AAA1", "text": text, "ts": "1785574800.000100", **fields}


def parsed(*messages: Any) -> Parsed[Any]:
    return ADAPTER.parse(Record(list(messages), b"", 0, "day"), ADAPTER.begin(INFO))


def drafts(*messages: Any) -> list[Draft]:
    return [d for d in parsed(*messages).events if d.native_id not in ("start", "title")]


def payloads(*messages: Any) -> list[Any]:
    return [d.payload for d in drafts(*messages)]


def test_a_message_of_a_person_is_human_with_the_id_of_who_wrote_it():
    (said,) = drafts(message())
    assert said.payload == UserMessage("<@U0AAA1>: Hello.")
    assert (said.ts, said.ts_quality, said.native_id) == (1785574800_000100, "exact", "1785574800.000100")


def test_names_and_pictures_of_people_are_in_no_event():
    profile = {"real_name": "Example Person", "image_72": "https://a.example/72", "name": "example"}
    attached = {"author_name": "Example Person", "fallback": "[1 Aug] said", "text": "Quoted."}
    events = drafts(message(user_profile=profile, attachments=[attached], room={"name": "huddle"}))
    assert "Example Person" not in str(msgspec.to_builtins([d.payload for d in events]))


def test_what_an_app_posted_is_injected_and_so_is_what_it_attached():
    posted = message("", subtype="bot_message", bot_id="B0CCC3", user=None, username="ci")
    posted["attachments"] = [
        {"title": "Build 12", "text": "1 failed", "fields": [{"title": "Branch", "value": "main"}]}
    ]
    assert payloads(posted) == [UserMessage("Build 12\n1 failed\nBranch: main", "injected")]
    assert payloads(message("Deployed.", bot_id="B0CCC3")) == [UserMessage("<@U0AAA1>: Deployed.", "injected")]
    assert payloads(message("Reminder.", user="USLACKBOT")) == [UserMessage("<@USLACKBOT>: Reminder.", "injected")]


def test_an_answer_in_a_thread_names_the_message_that_began_it():
    first = message(thread_ts="1785574800.000100", reply_count=1)
    answer = message("Me.", ts="1785574900.000200", thread_ts="1785574800.000100", subtype="thread_broadcast")
    assert [d.parent_id for d in drafts(first, answer)] == [None, "1785574800.000100"]


@pytest.mark.parametrize("subtype", ["channel_join", "channel_topic", "pinned_item", "huddle_thread_x", "group_leave"])
def test_what_happens_to_a_channel_is_no_human_turn_unless_it_is_unknown(subtype: str):
    events = parsed(message("did it", subtype=subtype))
    is_known = not events.drift
    assert isinstance(events.events[2].payload, Lifecycle if is_known else UserMessage)
    assert is_known == (subtype != "huddle_thread_x")


def test_an_edit_log_keeps_the_old_and_the_new_words():
    changed = {
        "type": "message", "subtype": "message_changed", "ts": "1785574801.000000",
        "message": {"user": "U0AAA1", "text": "New."}, "original": {"user": "U0AAA1", "text": "Old."},
    }  # fmt: skip
    (told,) = payloads(changed)
    assert told == Lifecycle("message_changed", text="message: <@U0AAA1>: New.\noriginal: <@U0AAA1>: Old.")


def test_the_private_address_of_a_file_with_its_token_is_not_given():
    file = {
        "id": "F1", "name": "a.log", "mimetype": "text/plain", "size": 5,
        "url_private": "https://files.example/a.log?t=xoxe-0000-synthetic",
        "permalink": "https://example.example/files/a.log?t=xoxe-0000-synthetic",
    }  # fmt: skip
    (said,) = payloads(message("", files=[file]))
    public = "https://example.example/files/a.log"
    assert said.parts == (Part("file", media_type="text/plain", bytes=5, path="a.log", url=public),)


def test_reactions_and_edits_are_kept_by_id():
    detail = {"reactions": [{"name": "eyes", "users": ["U0BBB2"], "count": 1}], "edited": {"user": "U0AAA1", "ts": "1"}}
    assert payloads(message(**detail))[1] == Lifecycle("about", detail=detail)


def test_words_that_are_only_in_blocks_are_read():
    block = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
        {"type": "text", "text": "See "}, {"type": "user", "user_id": "U0BBB2"}, {"type": "link", "url": "https://a.example"},
    ]}]}  # fmt: skip
    assert payloads(message("", blocks=[block])) == [UserMessage("<@U0AAA1>: See <@U0BBB2> https://a.example")]


def test_a_channel_begins_once_over_all_its_days():
    days = [Record([message(ts=f"178557480{n}.000000")], b"", n, "day") for n in range(3)]
    names = [d.native_id for drafts in read(ADAPTER, INFO, days, stops=True).events for d in drafts]
    assert names == ["start", "title", "1785574800.000000", "1785574801.000000", "1785574802.000000"]


def test_channels_of_two_workspaces_are_two_sessions():
    def head(team: str) -> bytes:
        return encode_file("day", "general/2026-08-01.json", json.dumps([message(team=team)]).encode())

    assert ADAPTER.identify(INFO, head("T111AAA")) == "T111AAA/general"
    assert ADAPTER.identify(INFO, head("T222BBB")) == "T222BBB/general"
    assert ADAPTER.identify(INFO, b"") == "general"


def test_unknown_types_and_fields_are_kept_and_counted_and_a_message_without_a_time_too():
    result = parsed({"type": "from_the_future", "ts": "1785574800.1"}, message(ts=None, novelty="x"), "text")
    kept = [d.payload.type for d in result.events if isinstance(d.payload, Unknown)]
    assert kept == ["message/from_the_future", "fields", "message"]
    assert set(result.drift) == {Drift("type", "message/from_the_future"), Drift("field", "message.novelty")}
    assert [d.code for d in result.defects] == ["bad_timestamp", "wrong_type"]


@pytest.mark.parametrize(
    "day", [[message()], [message("x" * 100_000)], [{"type": "message", "ts": "1785574800.1", "subtype": "tombstone"}]]
)
def test_a_day_of_a_channel_is_told_by_its_first_message_even_if_the_head_cuts_it(day: Any):
    assert ADAPTER.recognise("general/2026-08-01.json", json.dumps(day).encode()[: 64 * 1024]) == "channel"


@pytest.mark.parametrize(
    "other",
    [
        [{"id": "U0AAA1", "name": "example", "profile": {"real_name": "Example Person"}}],
        [{"id": "C0AAA1", "name": "general", "members": ["U0AAA1"], "topic": {"value": ""}}],
        [{"type": "message", "ts": "2026-08-01T09:00:00Z", "user": "x"}],
        [{"type": "user", "ts": "1785574800.1", "user": "x"}],
        {"type": "message", "ts": "1785574800.1", "user": "x"},
        [],
    ],
)
def test_lists_of_users_and_channels_are_no_days(other: Any):
    assert ADAPTER.recognise("users.json", json.dumps(other).encode()) is None


FIELDS = st.dictionaries(
    st.sampled_from("type subtype ts user text thread_ts files attachments blocks reactions bot_id message".split()),
    any_json() | st.sampled_from(("message", "bot_message", "channel_join", "1785574800.1")),
)


@given(days=st.lists(st.lists(FIELDS, max_size=4), max_size=3))
def test_any_messages_keep_the_contract(days: list[Any]):
    assert check_adapter(ADAPTER, INFO, days) == []
