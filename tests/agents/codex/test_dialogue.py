"""Every turn is written twice, and not everything in the user's role was said by a person."""

from __future__ import annotations

import base64
import hashlib

import pytest

from recollect.model.payloads import AssistantMessage, Instructions, Lifecycle, Thinking, UserMessage
from tests.agents.codex.records import (
    THREAD,
    TURN_1,
    TURN_2,
    assistant_event,
    assistant_item,
    completed,
    context,
    event,
    item,
    meta,
    read,
    user_event,
    user_item,
)

PNG = b"\x89PNG not really"
PNG_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()


@pytest.mark.parametrize(
    "records", [(user_item("fix it"), user_event("fix it")), (user_event("fix it"), user_item("fix it"))]
)
def test_a_human_turn_written_twice_is_one_event_whatever_came_first(records):
    assert read(*records).payloads == [UserMessage(text="fix it")]


@pytest.mark.parametrize("one", [user_item("fix it"), user_event("fix it")])
def test_a_human_turn_written_once_is_kept(one):
    assert read(one).payloads == [UserMessage(text="fix it")]


def test_a_turn_that_repeats_the_words_of_the_last_one_is_another_turn():
    twice = [user_item("yes"), user_event("yes"), assistant_item("ok"), user_item("yes"), user_event("yes")]
    assert len(read(*twice).of(UserMessage)) == 2


def test_the_same_words_in_a_file_with_one_channel_are_two_turns():
    assert len(read(user_item("yes"), user_item("yes")).of(UserMessage)) == 2


def test_a_twin_is_found_across_the_line_that_opens_its_turn():
    reading = read(user_event("go"), event("task_started", turn_id=TURN_1), user_item("go"))
    assert len(reading.of(UserMessage)) == 1


def test_a_message_without_twin_does_not_swallow_one_of_a_much_later_turn():
    reading = read(
        user_item("yes"), context(TURN_1), user_item("more"), user_event("more"), context(TURN_2), user_event("yes")
    )
    assert [m.text for m in reading.of(UserMessage)] == ["yes", "more", "yes"]


@pytest.mark.parametrize(
    "records",
    [(assistant_event("done"), assistant_item("done")), (assistant_item("done"), assistant_event("done"))],
)
def test_an_answer_written_twice_is_one_event(records):
    assert read(*records).payloads == [AssistantMessage(text="done")]


def test_an_answer_in_two_texts_is_told_by_two_interface_events():
    reading = read(assistant_event("first"), assistant_event("second"), assistant_item("first", "second"))
    assert [m.text for m in reading.of(AssistantMessage)] == ["first", "second"]


def test_an_answer_names_the_model_of_its_turn():
    assert read(context(), assistant_item("done")).of(AssistantMessage)[0].model == "gpt-x"


def test_reasoning_written_twice_is_one_event_per_part():
    summary = [{"type": "summary_text", "text": "look"}, {"type": "summary_text", "text": "then act"}]
    reading = read(
        event("agent_reasoning", text="look"), item("reasoning", summary=summary, encrypted_content="gAAAAAB")
    )
    assert [t.text for t in reading.of(Thinking)] == ["look", "then act"]


def test_reasoning_with_ciphertext_only_is_marked_and_never_decoded():
    assert read(item("reasoning", summary=[], encrypted_content="gAAAAABx")).payloads == [Thinking(is_encrypted=True)]


def test_encrypted_content_that_is_prose_is_readable():
    reading = read(item("reasoning", summary=[], encrypted_content="plain words here"))
    assert reading.payloads == [Thinking(text="plain words here")]


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>",
        "<turn_aborted>\nstopped\n</turn_aborted>",
        "<subagent_notification>{}</subagent_notification>",
        "<recommended_plugins>\nx\n</recommended_plugins>",
        '<skill name="a">text</skill>',
    ],
)
def test_context_that_the_harness_puts_in_is_not_a_human_turn(text):
    assert read(user_item(text)).payloads == [UserMessage(text=text, origin="injected")]


@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions for /w/demo\n\nbe kind",
        "<user_instructions>\nbe kind\n</user_instructions>",
        "<permissions instructions>\nask first\n</permissions instructions>",
    ],
)
def test_loaded_instruction_files_are_instructions_once(text):
    reading = read(user_item(text), user_item(text))
    assert [i.text for i in reading.payloads] == [text]
    assert reading.of(Instructions)


def test_one_message_can_hold_instructions_context_and_words():
    reading = read(
        user_item("# AGENTS.md instructions for /w", "<environment_context>x</environment_context>", "hello")
    )
    assert reading.kinds == ["instructions", "user_message", "user_message"]
    assert reading.of(UserMessage)[1] == UserMessage(text="hello")


def test_a_developer_message_is_never_a_human_turn():
    reading = read(item("message", role="developer", content=[{"type": "input_text", "text": "rules"}]))
    assert reading.payloads == [Instructions(text="rules", source="developer")]


def test_an_unknown_tag_at_the_start_is_a_persons_words():
    assert read(user_item("<div>why?</div>")).payloads == [UserMessage(text="<div>why?</div>")]


def test_an_image_is_known_by_the_hash_of_its_bytes_and_leaves_no_base64():
    content = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": PNG_URL},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "what is this"},
    ]
    (message,) = read(item("message", role="user", content=content), user_event("what is this")).of(UserMessage)
    (part,) = message.parts
    assert (message.text, part.sha256, part.bytes) == ("what is this", hashlib.sha256(PNG).hexdigest(), len(PNG))
    assert part.media_type == "image/png"
    assert part.url == ""


def test_an_image_given_by_path_keeps_its_path():
    (message,) = read(event("user_message", message="see", local_images=["/w/a.png"])).of(UserMessage)
    assert message.parts[0].path == "/w/a.png"


def test_an_image_without_words_is_one_human_turn():
    content = [{"type": "input_image", "image_url": PNG_URL}]
    reading = read(item("message", role="user", content=content), event("user_message", message="", images=[PNG_URL]))
    assert len(reading.of(UserMessage)) == 1


def test_broken_base64_is_a_defect_and_still_an_image():
    reading = read(event("user_message", message="see", images=["data:image/png;base64,A"]))
    assert [d.code for d in reading.defects] == ["bad_image"]
    assert reading.of(UserMessage)[0].parts[0].type == "image"


def test_the_item_agent_message_is_mail_between_agents_and_no_answer():
    reading = read(
        item("agent_message", author="/root", recipient="/root/a", content=[{"type": "input_text", "text": "report"}])
    )
    (mail,) = reading.of(Lifecycle)
    assert (mail.name, mail.text, mail.detail["recipient"]) == ("subagent", "report", "/root/a")


def test_the_paginated_mode_gives_each_turn_once():
    reading = read(
        meta(THREAD, history_mode="paginated"),
        user_item("go"),
        completed("UserMessage", id="u", content=[{"type": "text", "text": "go"}]),
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        completed("Reasoning", id="r", summary_text=["hm"], raw_content=[]),
        assistant_item("done"),
        completed("AgentMessage", id="a", content=[{"type": "Text", "text": "done"}]),
    )
    assert reading.kinds == ["session_start", "user_message", "thinking", "assistant_message"]


def test_the_paginated_mode_gives_turns_that_only_it_has():
    reading = read(
        completed("UserMessage", content=[{"type": "text", "text": "go"}]),
        completed("HookPrompt", fragments=[{"text": "from a hook"}]),
        completed("Plan", text="1. look"),
    )
    assert reading.payloads == [
        UserMessage(text="go"),
        UserMessage(text="from a hook", origin="injected"),
        Lifecycle(name="plan", text="1. look"),
    ]
