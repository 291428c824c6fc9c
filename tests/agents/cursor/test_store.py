"""The command line agent's store: blobs named by their content, lists of them, and the row about the session."""

from __future__ import annotations

import base64
import json

from recollect.model.payloads import Rewind
from tests.agents.cursor.rows import (
    AT_MS,
    AT_US,
    COMPOSER,
    Story,
    assistant_blob,
    bubble,
    ide,
    line,
    list_blob,
    message_blob,
    said,
    store,
    tool,
    transcript,
    user_blob,
)


def call(call_id: str, name: str, **arguments: str) -> dict[str, object]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, "args": arguments}


def result_blob(call_id: str, name: str, result: str, **high: object) -> dict[str, object]:
    block = {"type": "tool-result", "toolCallId": call_id, "toolName": name, "result": result}
    options = {"cursor": {"highLevelToolCallResult": high}} if high else {}
    return message_blob({"role": "tool", "id": call_id, "content": [block], "providerOptions": options})


def test_messages_come_with_their_blobs_and_without_times() -> None:
    story = Story(store(), [user_blob("Hi."), assistant_blob({"type": "reasoning", "text": "Hm."}, said("Hello."))])
    assert story.one("user_message").text == "Hi."
    assert story.one("thinking").text == "Hm."
    assert story.one("assistant_message").text == "Hello."
    assert {draft.ts_quality for draft in story.drafts} == {"missing"}
    assert story.drift == []


def test_a_blob_that_comes_as_bytes_is_read_as_well() -> None:
    raw = base64.b64encode(b'{"role": "user", "content": "Hi."}').decode()
    assert Story(store(), [{"id": "00", "data": {"$blob": raw}}]).one("user_message").text == "Hi."


def test_the_machine_is_no_question_and_names_the_folder() -> None:
    info = "<user_info>\nOS Version: linux\nWorkspace Path: /w/demo\n</user_info>"
    story = Story(store(), [message_blob({"role": "user", "content": info})])
    assert story.one("user_message").origin == "injected"
    assert story.lifecycle("cwd").cwd == "/w/demo"


def test_a_system_prompt_is_an_instruction() -> None:
    story = Story(store(), [message_blob({"role": "system", "content": "Be careful."})])
    assert story.one("instructions").text == "Be careful."


def test_a_thought_that_is_withheld_is_encrypted_and_no_text() -> None:
    block = {"type": "redacted-reasoning", "data": "b3BhcXVl" * 12}
    story = Story(store(), [assistant_blob(block)])
    assert story.one("thinking").is_encrypted
    assert "b3BhcXVl" not in repr(story.drafts)


def test_the_model_is_that_of_the_thought() -> None:
    options = {"cursor": {"modelName": "model-x"}}
    story = Story(
        store(), [assistant_blob({"type": "reasoning", "text": "Hm.", "providerOptions": options}, said("Yes."))]
    )
    assert story.one("assistant_message").model == "model-x"


def test_a_failed_command_marked_only_in_metadata_is_a_failure() -> None:
    failed = result_blob("t1", "Shell", "1 failed", output={"success": {"exitCode": 1, "executionTime": 12}})
    story = Story(store(), [assistant_blob(call("t1", "Shell", command="pytest -q")), failed])
    result = story.one("tool_result")
    assert (result.ok, result.exit_code, result.duration_ms, result.text) == (False, 1, 12, "1 failed")


def test_an_exit_code_in_the_text_is_one() -> None:
    failed = result_blob("t1", "Shell", "Exit code: 2\n\nCommand output:\n\nno", isError=False)
    assert Story(store(), [failed]).one("tool_result").ok is False


def test_an_error_of_the_metadata_is_a_failure_and_its_message_the_text() -> None:
    failed = result_blob("t1", "Shell", "", isError=True, rawErrorMessages=["timed out"])
    result = Story(store(), [failed]).one("tool_result")
    assert (result.ok, result.text) == (False, "timed out")


def test_an_edit_is_told_when_its_result_came_and_only_if_it_went_well() -> None:
    asked = assistant_blob(call("t1", "StrReplace", path="a.py", old_string="OLD = 1", new_string="NEW = 1"))
    assert Story(store(), [asked]).of("file_edit") == []
    done = Story(store(), [asked, result_blob("t1", "StrReplace", "Updated.", isError=False)])
    edit = done.one("file_edit")
    assert (edit.path, edit.before, edit.after, edit.call_id) == ("a.py", "OLD = 1", "NEW = 1", "t1")
    assert Story(store(), [asked, result_blob("t1", "StrReplace", "No.", isError=True)]).of("file_edit") == []


def test_an_edit_too_large_to_remember_is_told_by_its_path() -> None:
    asked = assistant_blob(call("t1", "Write", path="a.py", contents="x" * 300_000))
    edit = Story(store(), [asked, result_blob("t1", "Write", "ok", isError=False)]).one("file_edit")
    assert (edit.path, edit.after) == ("a.py", None)


def test_a_list_of_messages_names_the_workspace() -> None:
    blob = user_blob("Hi.")
    story = Story(store(), [blob, list_blob(blob, workspace="file:///w/my%20demo")])
    assert story.lifecycle("cwd").cwd == "/w/my demo"


def test_a_list_without_the_end_of_the_one_before_is_a_rewind() -> None:
    first, one, wrong, oops = (
        user_blob("First."),
        assistant_blob(said("One.")),
        user_blob("Wrong.", "r2"),
        assistant_blob(said("Oops.")),
    )
    second = user_blob("Second.", "r3")
    story = Story(
        store(), [first, one, wrong, oops, list_blob(first, one, wrong, oops), second, list_blob(first, one, second)]
    )
    assert story.one("rewind") == Rewind(story.ids("assistant_message")[0] or "", 1)


def test_a_list_without_the_middle_of_the_one_before_is_a_compaction() -> None:
    first, one, second = user_blob("First."), assistant_blob(said("One.")), user_blob("Second.", "r2")
    summary = message_blob({"role": "user", "content": "So far.", "providerOptions": {"cursor": {"isSummary": True}}})
    story = Story(store(), [first, one, second, list_blob(first, one, second), summary, list_blob(summary, second)])
    assert story.one("compaction").summary == "So far."
    assert story.of("rewind") == []


def test_a_compaction_without_a_summary_says_where_the_session_goes_on() -> None:
    first, one, second = user_blob("First."), assistant_blob(said("One.")), user_blob("Second.", "r2")
    story = Story(store(), [first, one, second, list_blob(first, one, second), list_blob(second)])
    assert story.one("compaction").continues_at == story.ids("user_message")[1]


def test_a_list_that_goes_on_is_nothing_special() -> None:
    first, one = user_blob("First."), assistant_blob(said("One."))
    story = Story(store(), [first, list_blob(first), one, list_blob(first, one)])
    assert story.of("rewind") + story.of("compaction") == []


def test_protobuf_of_other_kinds_says_nothing() -> None:
    raw = base64.b64encode(b"\x0a\x05hello\x12\x02hi").decode()
    assert Story(store(), [{"id": "00", "data": {"$blob": raw}}]).drafts == []


def test_the_row_about_the_session_is_hex_of_json() -> None:
    meta = {
        "agentId": COMPOSER, "latestRootBlobId": "00", "name": "Demo", "mode": "default", "createdAt": AT_MS,
        "lastUsedModel": "model-x", "blobEncryptionKey": "synthetic-secret",
    }  # fmt: skip
    story = Story(store("cli_meta"), [{"key": "0", "value": json.dumps(meta).encode().hex()}])
    start = story.draft("session_start")
    assert (start.ts, start.native_id, start.payload.model) == (AT_US, "start", "model-x")  # type: ignore[union-attr]  # a SessionStart
    assert story.lifecycle("title").title == "Demo"
    assert story.lifecycle("model").model == "model-x"
    assert "synthetic-secret" not in repr(story.drafts)
    assert Story(store("cli_meta"), [{"key": "0", "value": "zz"}]).read.defects == ("not_json",)


def test_a_transcript_repeats_the_stores_words_under_their_names() -> None:
    blobs = Story(
        store(), [user_blob("Hi."), assistant_blob(said("Hello.")), assistant_blob(said("Hello."), said("Bye."))]
    )
    lines = Story(
        transcript(),
        [
            line("user", said("<user_query>\nHi.\n</user_query>")),
            line("assistant", said("Hello.\n\n[REDACTED]")),
            line("assistant", said("Hello.")),
            line("assistant", said("Bye.")),
        ],
    )
    assert lines.ids("user_message") == blobs.ids("user_message")
    assert lines.ids("assistant_message") == blobs.ids("assistant_message")


def test_a_call_with_the_same_id_has_one_name_in_all_stores() -> None:
    editor = Story(ide(), [bubble("u1", 1, "Hi."), tool("a1", "read_file", call_id="t1", status="completed")])
    cli = Story(store(), [assistant_blob(call("t1", "Read", path="a.py")), result_blob("t1", "Read", "x")])
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py"}}
    lines = Story(transcript(), [line("assistant", use)])
    assert editor.ids("tool_call") == cli.ids("tool_call") == lines.ids("tool_call") == ["call:t1"]
    assert editor.ids("tool_result") == cli.ids("tool_result") == ["result:t1"]
