"""Messages of the stream: chunks put together, who said them, and what a rewind leaves behind."""

from __future__ import annotations

import pytest

from recollect.model.payloads import AssistantMessage, Lifecycle, Rewind, Thinking, UserMessage
from tests.agents.grok.lines import CHAT, SESSION, START, STREAM, chunk, drafts, payloads, update, visible


def texts(values, kind=AssistantMessage):
    return [p.text for p in payloads(values, kind)]


def test_chunks_that_follow_each_other_are_one_message():
    assert texts([chunk("agent", "There are "), chunk("agent", "two.")]) == ["There are two."]


def test_a_half_written_message_is_there_before_its_end():
    found = drafts([chunk("user", "Go on.", promptIndex=0), chunk("agent", "Work")])
    assert found[-1].payload == AssistantMessage("Work")


def test_every_version_of_a_growing_message_has_its_name_and_replaces_the_one_before():
    found = [d for d in drafts([chunk("agent", t) for t in "abc"]) if isinstance(d.payload, AssistantMessage)]
    assert len({d.native_id for d in found}) == 1
    assert [d.replaces for d in found] == [None, (found[0].native_id, 0), (found[0].native_id, 0)]


def test_what_is_given_of_a_message_in_a_thousand_chunks_stays_within_a_few_times_the_message():
    values = [chunk("agent", "word " * 8) for _ in range(1000)] + [update("turn_completed", prompt_id="p")]
    given = [d.payload.text for d in drafts(values) if isinstance(d.payload, AssistantMessage)]
    assert given[-1] == "word " * 8000
    assert sum(map(len, given)) < 12 * 40_000


def test_a_message_beyond_the_limit_goes_on_as_another_and_loses_nothing():
    values = [chunk("agent", "x" * 30_000) for _ in range(5)]
    assert sum(map(len, texts(values))) == 150_000


@pytest.mark.parametrize("kind", ["available_commands_update", "plan", "hook_execution", "session_recap"])
def test_records_around_the_conversation_do_not_cut_a_message(kind):
    assert texts([chunk("agent", "One "), update(kind), chunk("agent", "piece.")]) == ["One piece."]


def test_a_thought_ends_the_message_before_it():
    values = [chunk("agent", "A"), chunk("thought", "hm"), chunk("agent", "B")]
    assert texts(values) == ["A", "B"]
    assert texts(values, Thinking) == ["hm"]


def test_another_prompt_id_begins_another_message():
    values = [chunk("agent", "A", meta={"promptId": "p1"}), chunk("agent", "B", meta={"promptId": "p2"})]
    assert texts(values) == ["A", "B"]


def test_two_prompts_in_a_row_are_two_messages_by_their_index():
    values = [chunk("user", "One", promptIndex=0), chunk("user", "Two", promptIndex=1)]
    assert texts(values, UserMessage) == ["One", "Two"]


def test_a_chunk_of_the_host_is_not_the_persons():
    (message,) = payloads([chunk("user", "wake up", hostTurn=True)], UserMessage)
    assert message.origin == "injected"


def test_a_prompt_typed_while_the_agent_worked_is_queued():
    values = [chunk("user", "Go.", promptIndex=0), chunk("agent", "Working"), chunk("user", "Faster!", promptIndex=0)]
    assert [m.origin for m in payloads(values, UserMessage)] == ["human", "queued"]


def test_a_shell_command_of_the_person_is_a_command():
    line = update("user_message_chunk", content={"type": "text", "text": "ls", "_meta": {"bashCommand": "ls"}})
    assert payloads([line], UserMessage) == [UserMessage("!ls", "command")]


@pytest.mark.parametrize("tag", ["user_info", "git_status", "system-reminder", "agent_skills", "mcp_servers"])
def test_what_the_harness_put_around_a_prompt_is_taken_off(tag):
    said = f"<{tag}>\nfacts\n</{tag}>\n<user_query>\nWhy?\n</user_query>"
    messages = payloads([chunk("user", said)], UserMessage)
    assert [(m.text, m.origin) for m in messages] == [(f"<{tag}>\nfacts\n</{tag}>", "injected"), ("Why?", "human")]


def test_a_tag_inside_a_prompt_stays():
    said = "what does <user_info>x</user_info> mean here"
    assert texts([chunk("user", said)], UserMessage) == [said]


def test_an_image_is_a_part_and_its_bytes_are_no_text():
    line = update("user_message_chunk", content={"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="})
    (message,) = payloads([line], UserMessage)
    assert message.parts[0].bytes == 8
    assert "iVBOR" not in message.text


def test_the_agents_own_milliseconds_are_taken_before_whole_seconds():
    found = drafts([chunk("agent", "x", 3, meta={"agentTimestampMs": (START + 3) * 1000 + 250})])
    assert found[-1].ts == (START + 3) * 1_000_000 + 250_000
    assert found[-1].ts_quality == "exact"


def test_lines_of_one_second_keep_their_order():
    assert texts([chunk("user", "a", promptIndex=0), chunk("user", "b", promptIndex=1)], UserMessage) == ["a", "b"]


def test_bare_lines_of_old_builds_are_read():
    bare = {"sessionId": SESSION, "update": {"sessionUpdate": "agent_message_chunk", "content": {"text": "Hi"}}}
    assert texts([bare]) == ["Hi"]
    assert drafts([bare])[-1].ts_quality == "missing"


def test_a_rewind_goes_back_to_before_its_prompt_and_keeps_what_it_leaves():
    values = [
        chunk("user", "First.", promptIndex=0), chunk("agent", "One."),
        chunk("user", "Wrong turn.", promptIndex=1), chunk("agent", "Oops."),
        update("rewind_marker", target_prompt_index=1, created_at="2026-08-01T16:00:09Z"),
        chunk("user", "Second.", promptIndex=1), chunk("agent", "Two."),
    ]  # fmt: skip
    (rewind,) = payloads(values, Rewind)
    before = next(d.native_id for d in drafts(values) if d.payload == AssistantMessage("One."))
    assert rewind == Rewind(before or "", 1)
    assert texts(values) == ["One.", "Oops.", "Two."]
    assert texts(values, UserMessage) == ["First.", "Wrong turn.", "Second."]


def test_a_rewind_without_a_target_is_kept_as_it_is():
    found = drafts([update("rewind_marker")])
    assert not any(isinstance(d.payload, Rewind) for d in found)


def test_the_same_words_after_the_same_words_are_two_messages():
    values = [chunk("user", "go", promptIndex=0), chunk("agent", "Done."), chunk("user", "go", promptIndex=1),
              chunk("agent", "Done.")]  # fmt: skip
    assert len(visible(drafts(values))) == 5


def test_the_history_names_messages_and_calls_as_the_stream_does():
    stream = {d.native_id for d in drafts(STREAM)}
    for draft in drafts(CHAT, "chat"):
        if isinstance(draft.payload, AssistantMessage | Thinking) or str(draft.native_id).startswith(("call:c", "ask")):
            assert draft.native_id in stream


def test_a_forked_stream_has_the_names_of_its_parents():
    assert [d.native_id for d in drafts(STREAM[:5])] == [d.native_id for d in drafts(STREAM)][: len(drafts(STREAM[:5]))]


def test_a_model_named_beside_a_prompt_is_that_of_the_replies():
    (reply,) = payloads([chunk("user", "?", modelId="grok-4.6"), chunk("agent", "!")], AssistantMessage)
    assert reply.model == "grok-4.6"


def test_an_unknown_kind_is_kept_and_other_kinds_become_lifecycle_events():
    found = drafts(
        [update("from_the_future", payload="new words"), update("retry_state", type="retrying", reason="busy")]
    )
    assert "new words" in str(found[1].payload)
    assert found[2].payload == Lifecycle("retry", "busy", {"type": "retrying"})
