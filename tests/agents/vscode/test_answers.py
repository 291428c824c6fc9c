"""Traps of answers: texts in pieces, calls told twice, edits told twice."""

from __future__ import annotations

from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.agents.vscode.chats import (
    begun,
    changed,
    drafts,
    gave,
    line,
    log,
    newest,
    of,
    request,
    rounds,
    said,
    shown,
    uri,
)

CALL = "toolu_1__vscode-1785574800001"
GROUP = {
    "kind": "textEditGroup",
    "uri": uri("/w/a.py"),
    "edits": [[{"text": "NEW = 1", "range": {"startLineNumber": 3, "endLineNumber": 3}}], []],
    "done": True,
}
REPLACE = {"filePath": "/w/a.py", "oldString": "OLD = 1", "newString": "NEW = 1"}


def result(**metadata):
    return {"timings": {"totalElapsed": 5000}, "metadata": metadata}


def test_inline_references_are_set_into_the_text():
    pieces = (said("See "), {"kind": "inlineReference", "inlineReference": uri("/w/a.py")}, said(" first."))
    assert [m.text for m in of(log(begun(request("r", *pieces))), AssistantMessage)] == ["See `a.py` first."]


def test_a_reference_to_a_symbol_is_set_in_by_its_name():
    place = {"name": "main", "location": {"uri": uri("/w/a.py"), "range": {}}}
    pieces = (said("Call "), {"kind": "inlineReference", "inlineReference": place})
    assert [m.text for m in of(log(begun(request("r", *pieces))), AssistantMessage)] == ["Call `main`"]


def test_the_fences_around_an_edit_say_nothing():
    pieces = (said("\n```\n"), {"kind": "undoStop", "id": "1"}, GROUP, said("\n```\n"), said("Done."))
    assert [m.text for m in of(log(begun(request("r", *pieces))), AssistantMessage)] == ["Done."]


def test_a_call_is_given_once_although_answer_and_metadata_name_it_differently():
    meta = result(
        toolCallRounds=rounds((CALL, "read_file", {"filePath": "/w/a.py"})), toolCallResults={CALL: gave("OLD = 1")}
    )
    found = log(begun(request("r", shown("uuid-1", "copilot_readFile"), result=meta)))
    (call,), (back,) = of(found, ToolCall), of(found, ToolResult)
    assert (call.call_id, call.name, call.canonical, call.arguments) == (
        "uuid-1", "read_file", "read", {"filePath": "/w/a.py"}
    )  # fmt: skip
    assert (back.call_id, back.ok, back.text) == ("uuid-1", True, "OLD = 1")


def test_calls_are_joined_by_id_where_the_ids_agree():
    meta = result(toolCallRounds=rounds(("b__vscode-1", "read_file", {"n": 2}), ("a__vscode-1", "read_file", {"n": 1})))
    found = log(begun(request("r", shown("a", "copilot_readFile"), shown("b", "copilot_readFile"), result=meta)))
    assert {c.call_id: c.arguments for c in of(found, ToolCall)} == {"a": {"n": 1}, "b": {"n": 2}}


def test_a_call_that_the_answer_does_not_show_stands_before_the_next_that_it_does():
    meta = result(toolCallRounds=rounds(("x", "think", {}), (CALL, "read_file", {})), toolCallResults={"x": gave("ok")})
    found = log(begun(request("r", shown("uuid-1", "copilot_readFile"), said("Done."), result=meta)))
    assert [c.name for c in of(found, ToolCall)] == ["think", "read_file"]


def test_results_without_rounds_are_joined_by_order():
    item = shown("", "")
    del item["toolCallId"], item["toolId"]
    found = log(begun(request("r", item, result=result(toolCallResults={"k": gave("a listing")}))))
    assert [(r.call_id, r.text) for r in of(found, ToolResult)] == [("r/0", "a listing")]


def test_a_tool_that_serves_another_is_no_call():
    found = log(begun(request("r", shown("1", "vscode_editFile_internal"))))
    assert not of(found, ToolCall)
    assert [e.text for e in of(found, Lifecycle) if e.name == "internal_tool"] == ["vscode_editFile_internal"]


def test_a_rendered_tree_is_read_as_text():
    leaf = {"type": 2, "text": "two", "lineBreakBefore": True}
    node = {"type": 1, "children": [{"type": 2, "text": "one"}, {"type": 1, "children": [leaf]}]}
    meta = result(
        toolCallRounds=rounds((CALL, "read_file", {})), toolCallResults={CALL: {"content": [{"value": {"node": node}}]}}
    )
    found = log(begun(request("r", shown("u", "copilot_readFile"), result=meta)))
    assert [r.text for r in of(found, ToolResult)] == ["one\ntwo"]


def test_a_failed_command_is_told_by_its_exit_code():
    state = {"kind": "terminal", "commandLine": {"original": "pytest"}, "terminalCommandState": {"exitCode": 2}}
    (back,) = of(log(begun(request("r", shown("u", "run_in_terminal", toolSpecificData=state)))), ToolResult)
    assert (back.ok, back.exit_code) == (False, 2)


def test_a_failed_command_is_told_by_its_words():
    meta = result(
        toolCallRounds=rounds((CALL, "run_in_terminal", {"command": "pytest"})),
        toolCallResults={CALL: gave("1 failed\n\nCommand exited with code 1")},
    )
    (back,) = of(log(begun(request("r", shown("u", "run_in_terminal"), result=meta))), ToolResult)
    assert (back.ok, back.exit_code) == (False, 1)


def test_a_refused_call_failed_in_both_forms_of_the_answer():
    for refusal in (False, {"type": 0}, {"type": 5}):
        found = log(begun(request("r", shown("u", "copilot_readFile", isConfirmed=refusal, isComplete=False))))
        assert [r.ok for r in of(found, ToolResult)] == [False]


def test_a_call_that_is_not_complete_has_no_result():
    assert not of(log(begun(request("r", shown("u", "copilot_readFile", isComplete=False)))), ToolResult)


def test_places_that_a_search_shows_are_kept():
    found = log(begun(request("r", shown("u", "copilot_findTextInFiles", resultDetails=[{"uri": uri("/w/a.py")}]))))
    assert [r.structured for r in of(found, ToolResult)] == [["/w/a.py"]]


def test_an_edit_told_by_group_and_call_is_one_edit():
    meta = result(toolCallRounds=rounds((CALL, "replace_string_in_file", REPLACE)), toolCallResults={CALL: gave("ok")})
    (edit,) = of(log(begun(request("r", shown("u", "copilot_replaceString"), GROUP, result=meta))), FileEdit)
    assert (edit.path, edit.before, edit.after, edit.call_id) == ("/w/a.py", "OLD = 1", "NEW = 1", "u")


def test_a_group_without_a_call_says_what_was_written():
    (edit,) = of(log(begun(request("r", GROUP))), FileEdit)
    assert (edit.path, edit.diff) == ("/w/a.py", "@@ -3,1 +3,1 @@\n+NEW = 1")


def test_an_edit_without_a_group_is_told_by_its_call():
    meta = result(toolCallRounds=rounds((CALL, "replace_string_in_file", REPLACE)), toolCallResults={CALL: gave("ok")})
    assert [e.before for e in of(log(begun(request("r", result=meta))), FileEdit)] == ["OLD = 1"]


def test_a_log_that_tells_of_a_call_piece_by_piece_ends_with_the_same_events_as_the_whole():
    meta = result(
        toolCallRounds=rounds((CALL, "replace_string_in_file", REPLACE)), toolCallResults={CALL: gave("changed")}
    )
    pieces = [said("I'll "), shown("u", "copilot_replaceString"), GROUP, said("Done.")]
    whole = request("r", *pieces, result=meta)
    steps = [
        begun(),
        line(changed("requests", 0, to=request("r"))),
        *(line(changed("requests", 0, "response", n, to=piece)) for n, piece in enumerate(pieces)),
        line(changed("requests", 0, "result", to=meta)),
    ]
    by_steps, at_once = newest(log(*steps)), newest(log(begun(whole)))
    assert {k: v for k, v in by_steps.items() if v != at_once.get(k)} == {}
    assert by_steps.keys() == at_once.keys()


def test_a_text_that_grows_keeps_its_id():
    found = log(
        begun(request("r", said("One"))),
        line(changed("requests", 0, "response", 0, to=said("One, two"))),
        line(changed("requests", 0, "response", 1, to=said(" and three."))),
    )
    texts = [(d.native_id, d.payload.text) for d in drafts(found) if isinstance(d.payload, AssistantMessage)]
    assert texts == [("r/said/0", "One"), ("r/said/0", "One, two"), ("r/said/0", "One, two and three.")]


def test_a_text_that_was_cut_goes_on_in_its_new_form():
    found = log(
        begun(request("r", said("One"), said(" wrong"))),
        line(changed("requests", 0, "response", 1, to=said(" wrong"), gone=True),
             changed("requests", 0, "response", 1, to=said(" right"))),
    )  # fmt: skip
    assert [m.text for m in of(found, AssistantMessage)] == ["One right"]


def test_a_very_long_text_does_not_grow_the_state():
    found = log(
        begun(request("r", said("x" * 100_000))), line(changed("requests", 0, "response", 1, to=said(" and more")))
    )
    assert [len(m.text) for m in of(found, AssistantMessage)] == [100_000, 9]


def test_thinking_of_the_answer_is_not_given_again_from_the_rounds():
    rounds_ = [{**rounds((CALL, "read_file", {}))[0], "thinking": {"id": "t", "text": "Hm."}}]
    item = {"kind": "thinking", "value": "Hm.", "id": "t"}
    shown_too = log(begun(request("r", item, result=result(toolCallRounds=rounds_))))
    only_there = log(begun(request("r", result=result(toolCallRounds=rounds_))))
    assert [len(of(f, Thinking)) for f in (shown_too, only_there)] == [1, 1]


def test_tokens_that_stand_twice_count_once():
    told = {**result(promptTokens=10, outputTokens=2), "usage": {"promptTokens": 10, "completionTokens": 2}}
    (usage,) = of(log(begun(request("r", result=told))), TokenUsage)
    assert (usage.input_tokens, usage.output_tokens, usage.dedupe_key) == (10, 2, "r")


def test_tokens_of_a_newer_build_are_in_the_usage_alone():
    told = {**result(), "usage": {"promptTokens": 9723, "completionTokens": 33}}
    assert [(u.input_tokens, u.output_tokens) for u in of(log(begun(request("r", result=told))), TokenUsage)] == [
        (9723, 33)
    ]


def test_the_prompt_as_sent_is_injected():
    told = result(renderedUserMessage=[{"type": 1, "text": "<context>x</context>"}, {"type": 3, "cacheType": "e"}])
    messages = of(log(begun(request("r", result=told))), UserMessage)
    assert [(m.text, m.origin) for m in messages] == [("Do it.", "human"), ("<context>x</context>", "injected")]


def test_a_summary_is_a_compaction():
    told = result(summary={"toolCallRoundId": "round-1", "text": "So far."})
    (one,) = of(log(begun(request("r", result=told))), Compaction)
    assert (one.summary, one.continues_at) == ("So far.", "round-1")


def test_a_stopped_request_was_interrupted_in_both_forms():
    for mark in ({"isCanceled": True}, {"modelState": {"value": 2}}):
        found = log(begun(request("r", **mark)))
        assert [e.name for e in of(found, Lifecycle)] == ["interrupted"]


def test_an_error_is_told():
    told = {"errorDetails": {"message": "Rate limited", "code": "rateLimited"}}
    notes = [e for e in of(log(begun(request("r", result=told))), Lifecycle) if e.name == "api_error"]
    assert [(n.text, n.detail) for n in notes] == [("Rate limited", {"code": "rateLimited"})]
