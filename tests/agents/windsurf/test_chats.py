"""The older chat of a workspace: one value with all conversations."""

from __future__ import annotations

from tests.agents.windsurf.records import Story, row

TAB = {
    "tabId": "tab-1",
    "chatTitle": "Files",
    "bubbles": [{"type": "user", "text": "Hi."}, {"type": "ai", "rawText": "Hello."}, {"type": 2, "initText": "Bye."}],
}


def test_every_tab_is_a_session_with_a_title() -> None:
    story = Story("workspace", [row({"tabs": [TAB, {**TAB, "tabId": "tab-2"}]})])
    assert [draft.session for draft in story.drafts_of("session_start")] == ["tab-1", "tab-2"]
    assert {e.title for e in story.of("lifecycle")} == {"Files"}
    assert [m.text for m in story.of("assistant_message")] == ["Hello.", "Bye."] * 2
    assert {draft.ts_quality for draft in story.drafts} == {"missing"}
    assert story.drift == []


def test_a_bubble_keeps_its_name_when_the_tab_grows_or_is_cut() -> None:
    cut = {**TAB, "bubbles": TAB["bubbles"][1:]}
    before, after = (Story("workspace", [row({"tabs": [tab]})]) for tab in (TAB, cut))
    assert after.ids("assistant_message") == before.ids("assistant_message")


def test_a_chat_of_requests_is_read_with_its_times() -> None:
    chat = {
        "sessionId": "chat-1",
        "requests": [
            {
                "requestId": "r1", "message": {"text": "Hi."}, "response": [{"value": "Hel"}, {"value": "lo."}],
                "timestamp": 1_785_574_800_000,
            },
            {"requestId": "r2", "message": "And?", "response": [{"kind": "from_the_future", "x": 1}]},
        ],
    }  # fmt: skip
    story = Story("workspace", [row(chat, "cascade.sessionData")])
    assert [m.text for m in story.of("user_message")] == ["Hi.", "And?"]
    assert story.one("assistant_message").text == "Hello."
    assert story.drafts_of("user_message")[0].ts_quality == "exact"
    assert {draft.session for draft in story.drafts} == {"chat-1"}
    assert story.drift == ["from_the_future"]


def test_a_chat_without_a_name_is_called_after_its_first_words() -> None:
    bare = {"bubbles": TAB["bubbles"]}
    first, second = (Story("workspace", [row([bare])]).drafts_of("session_start")[0].session for _ in range(2))
    assert first == second
    assert str(first).startswith("chat-")


def test_an_unused_chat_gives_nothing_and_an_unknown_one_is_kept() -> None:
    assert Story("workspace", [row({"tabs": []}), row(None)]).drafts == []
    story = Story("workspace", [row({"shape": "new"})])
    assert "new" in story.one("unknown").text
    assert story.drift == ["aiChat.chatdata"]


def test_a_bubble_of_an_unknown_type_is_kept_in_its_session() -> None:
    story = Story("workspace", [row({"tabs": [{"tabId": "t", "bubbles": [{"type": "narrator", "text": "Once."}]}]})])
    assert [draft.session for draft in story.drafts_of("unknown")] == ["t"]
    assert story.drift == ["bubble:narrator"]
