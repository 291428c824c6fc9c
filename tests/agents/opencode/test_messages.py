"""Who said what: prompts, what the harness put beside them, answers, thoughts, compactions, tokens."""

from __future__ import annotations

import base64
import hashlib

from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    Thinking,
    TokenUsage,
    Unknown,
    UserMessage,
)
from tests.agents.opencode.rows import SECOND_US, T0, TOKENS, assistant, drafts, parsed, part, payloads, user


def test_a_prompt_bears_the_id_of_its_message_and_an_answer_that_of_its_part() -> None:
    rows = (user(), part("text", text="Hello"), assistant(), part("text", "prt_2", "msg_2", 1, text="Hi"))
    given = [(d.native_id, type(d.payload), d.role) for d in drafts(*rows)]
    assert given == [("msg_1", UserMessage, "user"), ("prt_2", AssistantMessage, "assistant")]


def test_synthetic_text_is_the_harness_and_no_turn() -> None:
    said = payloads(UserMessage, user(), part("text", text="Read"), part("text", "prt_2", text="Note", synthetic=True))
    assert [(m.text, m.origin) for m in said] == [("Read", "human"), ("Note", "injected")]


def test_text_that_never_goes_to_the_model_is_no_prompt() -> None:
    assert payloads(UserMessage, user(), part("text", text="Notice", ignored=True))[0].origin == "injected"


def test_a_synthetic_text_of_the_assistant_is_not_what_the_model_said() -> None:
    rows = (assistant(), part("text", message="msg_2", text="Go on.", synthetic=True))
    assert payloads(AssistantMessage, *rows) == []
    assert [p.text for p in payloads(Lifecycle, *rows)] == ["Go on."]


def test_files_of_a_prompt_start_no_second_turn_and_their_bytes_never_become_text() -> None:
    data = b"\x89PNG not really"
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    rows = (user(), part("text", text="See"), part("file", "prt_2", mime="image/png", filename="a.png", url=url))
    first, second = payloads(UserMessage, *rows)
    assert (first.origin, second.origin, second.text) == ("human", "injected", "")
    assert second.parts[0].sha256 == hashlib.sha256(data).hexdigest()
    assert second.parts[0].url == ""


def test_a_prompt_of_an_image_alone_is_a_turn() -> None:
    rows = (user(), part("text", text=""), part("file", "prt_2", mime="image/png", url="file:///w/a.png"))
    assert [(m.origin, m.parts[0].url) for m in payloads(UserMessage, *rows)] == [("human", "file:///w/a.png")]


def test_a_file_without_base64_has_a_hash_too() -> None:
    part_row = part("file", mime="text/plain", url="data:text/plain,a%20b")
    assert payloads(UserMessage, user(), part_row)[0].parts[0].sha256 == hashlib.sha256(b"a b").hexdigest()


def test_bytes_that_are_no_base64_are_a_defect() -> None:
    assert "bad_base64" in parsed(user(), part("file", mime="image/png", url="data:image/png;base64,a")).defects


def test_encrypted_reasoning_is_marked_and_its_bytes_are_no_text() -> None:
    hidden = {"openai": {"reasoningEncryptedContent": "FAKE" * 30}}
    rows = (assistant(), part("reasoning", message="msg_2", text="", time={"start": T0}, metadata=hidden))
    (thought,) = payloads(Thinking, *rows)
    assert thought.is_encrypted
    assert payloads(Unknown, *rows) == []


def test_a_system_prompt_is_instructions() -> None:
    assert payloads(Instructions, user(system="Be brief."), part("text", text="Hi"))[0].text == "Be brief."


def test_a_compaction_is_one_event_of_its_request_and_its_summary() -> None:
    rows = (
        user(),
        part("compaction", auto=True, tail_start_id="msg_0"),
        assistant(summary=True, mode="compaction"),
        part("text", "prt_2", "msg_2", 1, text="They greeted."),
    )
    assert payloads(Compaction, *rows) == [Compaction("auto", "They greeted.", continues_at="msg_0")]
    assert payloads(AssistantMessage, *rows) == []


def test_an_overflow_is_told_from_a_compaction_that_was_asked_for() -> None:
    rows = (user(), part("compaction", auto=True, overflow=True), assistant(summary=True))
    assert payloads(Compaction, *rows, part("text", "prt_2", "msg_2", text="S"))[0].trigger == "overflow"


def test_an_abort_is_an_interruption_after_what_was_said() -> None:
    error = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
    row = assistant(error=error, time={"created": T0 + 1000, "completed": T0 + 9000})
    given = drafts(row, part("text", message="msg_2", text="Half", time={"start": T0 + 2000}))
    assert [(d.payload.name, d.ts) for d in given if isinstance(d.payload, Lifecycle)] == [
        ("interrupted", (T0 + 9000) * 1000)
    ]
    assert [d.ts for d in given if isinstance(d.payload, AssistantMessage)] == [(T0 + 2000) * 1000]


def test_other_errors_are_errors_of_the_provider() -> None:
    error = {"name": "APIError", "data": {"message": "Overloaded", "statusCode": 529, "isRetryable": True}}
    (told,) = payloads(Lifecycle, assistant(error=error))
    assert (told.name, told.text) == ("api_error", "Overloaded")


def test_a_change_of_model_or_agent_is_told_once() -> None:
    rows = (user(agent="build"), assistant(), user("msg_3", 2, agent="plan"), assistant("msg_4", 3, modelID="n"))
    assert [(p.name, p.text or p.model) for p in payloads(Lifecycle, *rows)] == [("mode", "plan"), ("model", "n")]


def test_the_folder_of_the_global_project_is_not_its_root() -> None:
    (told,) = payloads(Lifecycle, assistant(path={"cwd": "/w", "root": "/"}))
    assert (told.name, told.cwd, told.detail) == ("cwd", "/w", None)


def test_the_tokens_of_steps_count_and_those_of_their_message_do_not() -> None:
    rows = (
        assistant(tokens=TOKENS, cost=0.02),
        part("step-start", "prt_1", "msg_2"),
        part("step-finish", "prt_2", "msg_2", reason="tool-calls", cost=0.01, tokens={**TOKENS, "output": 3}),
        part("step-finish", "prt_3", "msg_2", reason="stop", cost=0.01, tokens=TOKENS),
    )
    usage = payloads(TokenUsage, *rows)
    assert [u.output_tokens for u in usage] == [3, 5]
    assert len({u.dedupe_key for u in usage}) == 2


def test_tokens_of_a_message_without_steps_count() -> None:
    rows = (assistant(tokens=TOKENS, cost=0.02), part("text", message="msg_2", text="Hi"))
    (usage,) = payloads(TokenUsage, *rows)
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cost_usd) == (10, 5, 100, 0.02)


def test_tokens_of_a_message_without_parts_count_when_the_next_one_comes() -> None:
    given = drafts(assistant(tokens=TOKENS), user("msg_3", 2))
    assert [d.native_id for d in given if isinstance(d.payload, TokenUsage)] == ["msg_2/usage"]


def test_a_step_that_comes_late_counts_under_the_key_of_its_message() -> None:
    rows = (
        assistant(tokens=TOKENS),
        part("text", "prt_1", "msg_2", text="Hi"),
        part("step-finish", "prt_2", "msg_2", reason="stop", tokens=TOKENS),
    )
    assert len({u.dedupe_key for u in payloads(TokenUsage, *rows)}) == 1


def test_a_fork_counts_no_call_again() -> None:
    step = ("step-finish", "prt_1", "msg_2")
    one = payloads(TokenUsage, assistant(), part(*step, tokens=TOKENS, cost=0.01))
    copy = payloads(TokenUsage, assistant("msg_9"), part("step-finish", "prt_9", "msg_9", tokens=TOKENS, cost=0.01))
    assert one[0].dedupe_key == copy[0].dedupe_key


def test_reasoning_is_part_of_the_output_whichever_way_it_is_written() -> None:
    thought = {**TOKENS, "reasoning": 3}
    rows = [part("step-finish", "p", "msg_2", tokens={**thought, **total}) for total in ({}, {"total": 122})]
    assert [payloads(TokenUsage, assistant(), row)[0].output_tokens for row in rows] == [8, 5]


def test_a_patch_names_the_files_that_no_tool_reported() -> None:
    edit = {"tool": "write", "callID": "c", "state": {"status": "completed", "input": {"filePath": "/w/a.py"}}}
    edit["state"] |= {"output": "", "metadata": {"diff": "@@"}}
    rows = (assistant(), part("tool", "prt_1", "msg_2", **edit), part("patch", "prt_2", "msg_2", hash="f" * 40))
    rows[2][1]["data"]["files"] = ["/w/a.py", "/w/b.py"]
    assert [e.path for e in payloads(FileEdit, *rows)] == ["/w/a.py", "/w/b.py"]


def test_a_part_whose_message_is_gone_says_nothing_in_anybodys_name() -> None:
    rows = (user(), part("text", message="msg_gone", text="Who?"))
    assert payloads(UserMessage, *rows) == []
    assert [u.text for u in payloads(Unknown, *rows)] == ["Who?"]


def test_retries_snapshots_subtasks_and_mentions_are_kept() -> None:
    rows = (
        assistant(),
        part("retry", "prt_1", "msg_2", attempt=1, error={"name": "APIError", "data": {"message": "Busy"}}),
        part("step-start", "prt_2", "msg_2", snapshot="abc"),
        part("step-start", "prt_3", "msg_2", snapshot="abc"),
        part("subtask", "prt_4", "msg_2", prompt="Find", description="Look", agent="general"),
        part("agent", "prt_5", "msg_2", name="general"),
        part("snapshot", "prt_6", "msg_2", snapshot="def"),
    )
    assert [(p.name, p.text) for p in payloads(Lifecycle, *rows)] == [
        ("retry", "Busy"),
        ("checkpoint", ""),
        ("task", "Look"),
    ]
    assert [u.type for u in payloads(Unknown, *rows)] == ["agent", "snapshot"]


def test_messages_of_another_agent_in_the_session_are_beside_the_conversation() -> None:
    row = assistant()
    row[1]["agent_id"] = "explorer-1"
    assert [d.is_sidechain for d in drafts(row, part("text", message="msg_2", text="Seen"))] == [True]


def test_parts_have_their_own_times() -> None:
    (draft,) = drafts(user(), part("text", at=3, text="Hi"))
    assert (draft.ts, draft.ts_quality) == (T0 * 1000 + 3 * SECOND_US, "exact")
