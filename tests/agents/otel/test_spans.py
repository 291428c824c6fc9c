"""Spans and logs: whose session, what counts, what failed, what is a secret, and every form in which they come."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.otel.wire import is_secret, time_of
from recollect.model.payloads import (
    FileEdit,
    Lifecycle,
    SessionEnd,
    SessionStart,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Drift, SourceInfo
from tests.agents.otel.exports import (
    ADAPTER,
    CHAT,
    START_S,
    TRACE,
    answer,
    attributes,
    chat,
    defects,
    drafts,
    drift,
    log,
    logged,
    parsed,
    payloads,
    request,
    span,
    tool,
    user,
)

USAGE = {"gen_ai.usage.input_tokens": 1000, "gen_ai.usage.output_tokens": 20}


def counted(*values: Any) -> list[TokenUsage]:
    return [p for p in payloads(TokenUsage, *values) if p.is_additive]


def test_only_calls_of_a_model_count_their_tokens():
    above = [
        span(n, {"gen_ai.operation.name": name, "gen_ai.conversation.id": "c1", **USAGE})
        for n, name in enumerate(("invoke_agent", "invoke_workflow", "create_agent", "execute_tool"), 10)
    ]
    leaves = [
        span(n, {**CHAT, "gen_ai.operation.name": name, **USAGE})
        for n, name in enumerate(("chat", "generate_content", "text_completion", "embeddings"), 20)
    ]
    export = request(*above, *leaves)
    assert len(payloads(TokenUsage, export)) == 8
    assert {u.dedupe_key for u in counted(export)} == {f"{TRACE}:{n:016x}" for n in range(20, 24)}


def test_cached_tokens_are_no_input_and_reasoning_is_output():
    cached = {"gen_ai.usage.cache_read.input_tokens": 700, "gen_ai.usage.cache_creation.input_tokens": 100}
    (usage,) = counted(request(chat(1, says={**USAGE, **cached, "gen_ai.usage.reasoning.output_tokens": 5})))
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_5m_tokens) == (200, 700, 100)
    assert (usage.output_tokens, usage.reasoning_tokens) == (20, 5)


def test_a_sender_whose_input_leaves_cached_tokens_out_is_believed():
    (usage,) = counted(request(chat(1, says={**USAGE, "gen_ai.usage.cache_read.input_tokens": 5000})))
    assert (usage.input_tokens, usage.cache_read_tokens) == (1000, 5000)


def test_tokens_under_their_old_names_count():
    says = {"gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": "3", "gen_ai.system": "openai"}
    (usage,) = counted(request(span(1, {"gen_ai.request.model": "m", "session.id": "c1", **says})))
    assert (usage.model, usage.input_tokens, usage.output_tokens) == ("m", 7, 3)


def test_a_response_counts_once_though_a_framework_wraps_the_client():
    says = {**USAGE, "gen_ai.response.id": "resp_1"}
    usages = counted(request(chat(1, says=says), chat(2, says=says)))
    assert {u.dedupe_key for u in usages} == {"resp_1"}


def test_the_session_is_the_conversation_else_the_session_else_the_trace():
    named = span(
        1, {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "conversation", "session.id": "session"}
    )
    by_session = span(2, {"gen_ai.operation.name": "chat", "session.id": "session"}, traceId="2" * 32)
    by_trace = span(3, {"gen_ai.operation.name": "chat"}, traceId="3" * 32)
    for export, name in ((named, "conversation"), (by_session, "session"), (by_trace, "3" * 32)):
        assert {d.session for d in drafts(request(export))} == {name}


def test_a_span_without_a_name_belongs_to_the_conversation_of_its_trace():
    unnamed = span(2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"})
    assert {d.session for d in drafts(request(unnamed, chat(1)))} == {"c1"}
    assert {d.session for d in drafts(request(chat(1)), request(unnamed))} == {"c1"}


def test_a_resource_may_name_the_session():
    export = request(span(1, {"gen_ai.operation.name": "chat"}), resource={"session.id": "from-resource"})
    assert {d.session for d in drafts(export)} == {"from-resource"}


def test_spans_of_other_software_make_no_sessions():
    plain = span(1, {"http.request.method": "GET", "url.path": "/health"}, name="GET /health", traceId="9" * 32)
    (kept,) = drafts(request(plain))
    assert kept.session is None
    assert "/health" in kept.payload.text


def test_a_child_conversation_names_its_parent():
    export = request(span(1, {**CHAT, "gen_ai.conversation.id": "child", "gen_ai.conversation.parent_id": "c1"}))
    assert [p.parent_session for p in payloads(SessionStart, export)] == ["c1"]


def test_a_session_starts_once_with_what_its_resource_says():
    facts = {"service.name": "demo", "service.version": "1.2", "process.working_directory": "/work"}
    (start,) = payloads(SessionStart, request(chat(1), resource=facts), request(chat(2), resource=facts))
    assert (start.originator, start.tool_version, start.cwd) == ("demo", "1.2", "/work")


def test_a_root_span_ends_only_a_session_that_is_its_trace():
    root = {"parentSpanId": "", "spanId": "f" * 16}
    agent = {"gen_ai.operation.name": "invoke_agent"}
    assert len(payloads(SessionEnd, request(span(1, agent, **root)))) == 1
    in_conversation = request(span(1, {**agent, "gen_ai.conversation.id": "c1"}, **root))
    assert payloads(SessionEnd, in_conversation) == []
    assert [p.name for p in payloads(Lifecycle, in_conversation)] == ["turn_ended"]


def test_events_are_named_by_trace_and_span_and_hang_on_their_parents():
    by_name = {d.native_id: d for d in drafts(request(chat(1, [user("Hello.")], says=USAGE)))}
    key = f"{TRACE}:{1:016x}"
    assert by_name[key].parent_id == f"{TRACE}:00000000000000ff"
    assert by_name[f"{key}/usage"].parent_id == key


def test_times_are_those_of_the_span_and_exact():
    found = {
        type(d.payload): (d.ts, d.ts_quality)
        for d in drafts(request(chat(1, [user("Q")], [answer("A")], start=1, end=2)))
    }
    assert found[UserMessage] == ((START_S + 1) * 1_000_000, "exact")
    assert found[Lifecycle] == ((START_S + 2) * 1_000_000, "exact")


@pytest.mark.parametrize(
    ("written", "us"),
    [
        ("1785574800123456789", 1785574800123456),
        (1785574800123456789, 1785574800123456),
        ([1785574800, 123456789], 1785574800123456),
        ("2026-08-01T09:00:00.5Z", 1785574800500000),
        (1785574800, 1785574800000000),
        (1785574800123, 1785574800123000),
        ("0", None),
        (0, None),
        ("yesterday", None),
        ({}, None),
    ],
)
def test_times_of_every_form_are_read(written: Any, us: int | None):
    assert time_of(written) == us


def test_a_failed_tool_is_told_by_its_status_or_its_error():
    for says in ({"status": {"code": 2, "message": "exit status 1"}}, {}):
        written = tool(1, "t1", name="bash", **says)
        if not says:
            written["attributes"] += attributes({"error.type": "ToolError"})
        (result,) = payloads(ToolResult, request(written))
        assert result.ok is False
        assert result.text in ("exit status 1", "ToolError")


def test_a_failed_command_marked_only_in_its_result_is_a_failure():
    (result,) = payloads(
        ToolResult, request(tool(1, "t1", name="bash", call_result='{"stdout": "1 failed", "exit_code": 1}'))
    )
    assert (result.ok, result.exit_code) == (False, 1)
    assert "1 failed" in result.text


def test_an_exception_inside_a_span_says_why_it_failed():
    events = [
        {"name": "exception", "attributes": attributes({"exception.type": "Timeout", "exception.message": "60 s"})}
    ]
    (told,) = payloads(Lifecycle, request(chat(1, events=events, status={"code": 2})))
    assert (told.name, told.detail["error"]) == ("api_error", "Timeout: 60 s")


def test_a_cancelled_call_is_an_interruption():
    (told,) = payloads(Lifecycle, request(chat(1, says={"error.type": "AbortError"})))
    assert told.name == "interrupted"


def test_a_tools_run_gives_its_call_where_no_answer_did():
    written = tool(1, "t1", name="edit_file", call_arguments='{"path": "a.py", "old_str": "a", "new_str": "b"}')
    (call,) = payloads(ToolCall, request(written))
    (edit,) = payloads(FileEdit, request(written))
    assert (call.canonical, call.arguments["path"]) == ("edit", "a.py")
    assert (edit.path, edit.before, edit.after, edit.call_id) == ("a.py", "a", "b", "t1")


def test_a_run_without_arguments_does_not_take_them_from_its_call():
    asked = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "t1", "name": "bash", "arguments": {"command": "ls"}}],
    }
    for order in (
        (chat(1, None, [asked]), tool(2, "t1", name="bash")),
        (tool(2, "t1", name="bash"), chat(1, None, [asked])),
    ):
        calls = payloads(ToolCall, *(request(s) for s in order))
        assert calls[-1].arguments == {"command": "ls"}


def test_a_failed_edit_changed_nothing():
    written = tool(
        1, "t1", name="edit_file", call_arguments='{"path": "a.py", "old_str": "a", "new_str": "b"}', status={"code": 2}
    )
    assert payloads(FileEdit, request(written)) == []


def test_a_run_without_a_call_id_pairs_with_itself():
    written = span(1, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", "session.id": "c1"})
    (call,), (result,) = payloads(ToolCall, request(written)), payloads(ToolResult, request(written))
    assert call.call_id == result.call_id == f"{TRACE}:{1:016x}"


def test_nothing_that_may_hold_credentials_becomes_an_event():
    secret = "Bearer made-up-" + "credential"
    names = ("http.request.header.authorization", "url.full", "authorization", "server.api_key", "process.command_line")
    hidden = dict.fromkeys(names, secret)
    told = drafts(
        request(
            chat(1, says=hidden),
            span(2, hidden, traceId="9" * 32),
            resource={"process.environment_variable.KEY": secret},
        )
    )
    assert secret not in repr(told)
    assert not any(
        map(is_secret, ("gen_ai.usage.input_tokens", "gen_ai.token.type", "deployment.environment", "author"))
    )


def test_every_other_attribute_is_kept_with_its_span():
    (told,) = payloads(
        Lifecycle, request(chat(1, says={"copilot_chat.mode": "Agent", "gen_ai.request.temperature": 0.5}))
    )
    assert (told.detail["copilot_chat.mode"], told.detail["gen_ai.request.temperature"]) == ("Agent", 0.5)


def test_what_nobody_knows_is_counted_and_kept():
    export = request(
        chat(1, says={"gen_ai.novelty": "x"}, novelty="y"), span(2, {**CHAT, "gen_ai.operation.name": "dream"})
    )
    assert {
        Drift("field", "attributes.gen_ai.novelty"),
        Drift("field", "span.novelty"),
        Drift("type", "dream"),
    } <= drift(export)
    assert "dream" in {p.type for p in payloads(Unknown, export)}
    assert Drift("type", "from_the_future") in drift({"type": "from_the_future"})


def test_flat_spans_of_sdks_are_read():
    context = {"trace_id": f"0x{TRACE}", "span_id": "0x" + "1" * 16}
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "c1",
        "gen_ai.input.messages": json.dumps([user("Hello.")]),
    }
    times = {"start_time": "2026-08-01T09:00:00.000000Z", "end_time": "2026-08-01T09:00:01.000000Z"}
    python = {
        "name": "chat m",
        "context": context,
        "parent_id": None,
        **times,
        "attributes": said,
        "status": {"status_code": "ERROR"},
    }
    camel = {
        "traceId": TRACE,
        "spanId": "1" * 16,
        "name": "chat m",
        "startTime": [START_S, 0],
        "endTime": [START_S + 1, 0],
        "attributes": said,
    }
    for flat in (python, camel):
        found = {type(d.payload): d for d in drafts(flat)}
        assert found[UserMessage].payload.text == "Hello."
        assert found[UserMessage].ts == START_S * 1_000_000
        assert found[Lifecycle].native_id == f"{TRACE}:{'1' * 16}"


def test_flat_records_without_ids_are_read():
    base = {"gen_ai.conversation.id": "c1", "gen_ai.system": "demo"}
    start = {
        "time": "2026-08-01T09:00:00Z",
        "gen_ai.operation.name": "session.start",
        **base,
        "cwd": "/work",
        "git.branch": "main",
    }
    said = {"time": "2026-08-01T09:00:01Z", "gen_ai.operation.name": "chat", **base, "gen_ai.cli.user_prompt": "Hello."}
    edit = {"time": "2026-08-01T09:00:02Z", "gen_ai.operation.name": "file_operation", **base, "file.path": "a.py"}
    end = {"time": "2026-08-01T09:00:03Z", "gen_ai.operation.name": "session.end", **base, "reason": "completed"}
    told = (start, said, edit, end)
    assert [(p.cwd, p.git_branch) for p in payloads(SessionStart, *told)] == [("/work", "main")]
    assert [p.text for p in payloads(UserMessage, *told)] == ["Hello."]
    assert [p.path for p in payloads(FileEdit, *told)] == ["a.py"]
    assert [p.reason for p in payloads(SessionEnd, *told)] == ["completed"]


def test_requests_in_snake_case_and_lists_of_spans_are_read():
    export = request(chat(1, [user("Hello.")]))
    snake = json.loads(
        json.dumps(export).replace("resourceSpans", "resource_spans").replace("scopeSpans", "scope_spans")
    )
    for value in (snake, [chat(1, [user("Hello.")])]):
        assert [p.text for p in payloads(UserMessage, value)] == ["Hello."]


def test_a_request_from_protobuf_is_read_like_json():
    row = {"request": request(chat(1, [user("Hello.")]))}
    (got,) = parsed([row], table="traces")
    assert "Hello." in repr(got.events)
    (later,) = parsed([{**row, "raw": {"$blob": "AA=="}}], table="traces")
    assert later.drift == (Drift("field", "traces.protobuf"),)
    (odd,) = parsed([{"raw": {"$blob": "AA=="}}], table="unreadable")
    assert [d.code for d in odd.defects] == ["not_protobuf"]


CLAUDE = {"session.id": "c1", "event.name": "api_request", "model": "claude-sonnet-4-5", "input_tokens": "5000",
          "output_tokens": "20", "cache_read_tokens": "800", "cost_usd": 0.01, "request_id": "req_1"}  # fmt: skip
GEMINI = {"session.id": "c1", "model": "gemini-3-pro", "input_token_count": 1000, "output_token_count": 20,
          "cached_content_token_count": 800, "thoughts_token_count": 5}  # fmt: skip
CODEX = {"conversation.id": "c1", "event.kind": "response.completed", "model": "gpt-5.5", "input_token_count": 1000,
         "output_token_count": 20, "cached_token_count": 800, "reasoning_token_count": 5}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "says", "tokens"),
    [
        ("claude_code.api_request", CLAUDE, (5000, 800, 20)),
        ("gemini_cli.api_response", GEMINI, (200, 800, 20)),
        ("codex.sse_event", CODEX, (200, 800, 20)),
    ],
)
def test_what_vendors_log_of_tokens_is_told_and_not_counted(name: str, says: dict[str, Any], tokens: tuple[int, ...]):
    (usage,) = payloads(TokenUsage, logged(log(name, says)))
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, usage.is_additive) == (*tokens, False)
    assert drift(logged(log(name, says))) == set()


def test_the_short_names_of_claude_code_are_known_by_the_body_or_the_service():
    by_body = log("", CLAUDE, body={"stringValue": "claude_code.api_request"})
    for export in (logged(by_body), logged(log("api_request", CLAUDE), service="claude-code")):
        (told,) = payloads(Lifecycle, export)
        assert (told.name, told.model, told.detail["event"]) == (
            "model_call",
            "claude-sonnet-4-5",
            "claude_code.api_request",
        )


def test_prompts_in_logs_are_the_persons_unless_they_are_redacted():
    said = logged(log("claude_code.user_prompt", {"session.id": "c1", "prompt": "Hello.", "prompt_length": 6}))
    assert [(p.text, p.origin) for p in payloads(UserMessage, said)] == [("Hello.", "human")]
    hidden = logged(log("claude_code.user_prompt", {"session.id": "c1", "prompt": "<REDACTED>", "prompt_length": 6}))
    assert payloads(UserMessage, hidden) == []
    assert [p.name for p in payloads(Lifecycle, hidden)] == ["user_prompt"]


def test_what_vendors_log_beside_is_lifecycle_and_new_events_show():
    decision = log(
        "codex.tool_decision", {"conversation.id": "c1", "tool_name": "shell", "call_id": "t1", "decision": "approved"}
    )
    (told,) = payloads(Lifecycle, logged(decision))
    assert (told.name, told.call_id, told.text, told.detail["decision"]) == ("permission", "t1", "shell", "approved")
    new = logged(log("codex.from_the_future", {"conversation.id": "c1"}))
    assert drift(new) == {Drift("type", "log.codex.from_the_future")}


def test_other_logs_and_metrics_are_kept_searchable():
    plain = logged({"timeUnixNano": "1785574800000000000", "body": {"stringValue": "Server started on port 80"}})
    assert ["Server started" in p.text for p in payloads(Unknown, plain)] == [True]
    point = {"asInt": "12", "attributes": attributes({"type": "input"})}
    metrics = {
        "resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "tokens.used", "sum": {"dataPoints": [point]}}]}]}]
    }
    (kept,) = payloads(Unknown, metrics)
    assert (kept.type, kept.text) == ("metrics", "tokens.used\n12 type=input")


def test_a_lost_wrapper_is_a_defect_and_no_error():
    assert defects({"resourceSpans": {}}) == {"wrong_type"}
    assert defects(["text"]) == {"wrong_type"}


@pytest.mark.parametrize(
    ("head", "role"),
    [
        (json.dumps(request(chat(1))), "lines"),
        ('{ "resourceLogs" : [', "lines"),
        (json.dumps({"gen_ai.operation.name": "chat", "time": "2026-08-01"}), "lines"),
        (json.dumps({"traceId": TRACE, "spanId": "1" * 16, "attributes": {"gen_ai.system": "x"}}), "lines"),
        (json.dumps({"traceId": TRACE, "spanId": "1" * 16, "attributes": {"http.method": "GET"}}), None),
        (json.dumps({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "gen_ai."}}), None),
        (json.dumps({"resource": "spans"}), None),
        ("[]", None),
        ("", None),
    ],
)
def test_only_telemetry_is_recognised(head: str, role: str | None):
    assert ADAPTER.recognise("a.jsonl", head.encode()) == role


def test_protobuf_is_recognised_by_its_length_and_words():
    body = b"\x0a\x20\x0a\x1e" + b"service.name" + b"x" * 18
    assert ADAPTER.recognise("x", len(body).to_bytes(4, "big") + body) == "messages"
    assert ADAPTER.recognise("x.pb", body) == "messages"
    assert ADAPTER.recognise("x.bin", body) is None
    assert ADAPTER.recognise("x.pb", b"\x0a\x20other") is None


def test_what_names_no_session_is_called_after_its_file():
    assert ADAPTER.identify(SourceInfo("otel", "lines", "2026-08-01.jsonl"), b"") == "2026-08-01"


@pytest.mark.corpus
def test_the_shared_samples_are_read_without_defects(shared: Path):
    corpus = shared / "corpus"
    files = [
        *corpus.glob("memscribe/fixtures/otel/**/*.jsonl"),
        *corpus.glob("peers/**/visualstudio-copilot/**/*.jsonl"),
    ]
    assert files
    for path in files:
        values = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert defects(*values) == set(), path
        assert drift(*values) <= {Drift("type", "context.compaction")}, path
        assert payloads(SessionStart, *values), path
