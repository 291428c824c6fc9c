"""Messages: the history that every call repeats, equal texts, the shapes of senders, and content that was cut."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Drift
from tests.agents.otel.exports import (
    CHAT,
    ROOT,
    answer,
    asked,
    attributes,
    chat,
    defects,
    drafts,
    drift,
    given,
    log,
    logged,
    payloads,
    request,
    span,
    tool,
    user,
)


def texts(kind: type, *values: Any) -> list[str]:
    return [p.text for p in payloads(kind, *values)]


def agent(into: Any = None, out: Any = None, number: int = 0xFF, **fields: Any) -> dict[str, Any]:
    says: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c1"}
    says |= {"gen_ai.input.messages": into} if into else {}
    says |= {"gen_ai.output.messages": out} if out else {}
    return span(number, says, **{"parentSpanId": "", **fields})


def test_a_history_that_every_call_repeats_is_told_once():
    first = request(chat(1, [user("First.")], [answer("One.")]))
    second = request(chat(2, [user("First."), answer("One."), user("Second.")], [answer("Two.")]))
    assert texts(UserMessage, first, second) == ["First.", "Second."]
    assert texts(AssistantMessage, first, second) == ["One.", "Two."]


def test_equal_texts_of_a_history_are_told_apart_by_their_number():
    first = request(chat(1, [user("Go on.")], [answer("Done.")]))
    second = request(chat(2, [user("Go on."), answer("Done."), user("Go on.")], [answer("Done.")]))
    third = request(chat(3, [user("Go on."), answer("Done.")] * 2 + [user("Stop.")], [answer("Stopped.")]))
    assert texts(UserMessage, first, second, third) == ["Go on.", "Go on.", "Stop."]
    assert texts(AssistantMessage, first, second, third) == ["Done.", "Done.", "Stopped."]


def test_names_do_not_depend_on_the_order_of_arrival_where_histories_are_whole():
    first = request(chat(1, [user("Go on.")], [answer("Done.")]))
    history = [user("Go on."), answer("Done."), user("Go on.")]
    second = request(chat(2, history, [answer("Done.")], start=2, end=3))
    kinds = (UserMessage, AssistantMessage)

    def names(*values: Any) -> set[Any]:
        return {(d.native_id, d.payload) for d in drafts(*values) if isinstance(d.payload, kinds)}

    assert names(first, second) == names(second, first) == names(first, first, second, second)


def test_a_sender_without_histories_may_say_the_same_twice():
    first, second = (
        request(chat(1, [user("Go on.")], [answer("Done.")])),
        request(chat(2, [user("Go on.")], [answer("Done.")])),
    )
    assert texts(UserMessage, first, second) == ["Go on."] * 2
    assert texts(AssistantMessage, first, second) == ["Done."] * 2


def test_a_span_that_is_sent_again_says_nothing_new():
    first = request(chat(1, [user("Go on.")], [answer("Done.")]))
    again = request(chat(1, [user("Go on.")], [answer("Done.")]), chat(1, [user("Go on.")], [answer("Done.")]))
    assert drafts(first) == drafts(first, again, first)


@pytest.mark.parametrize("is_agent_first", [True, False])
def test_an_agent_repeats_what_its_calls_say(is_agent_first: bool):
    turns = [
        (request(chat(n, [user("Go on.")], [answer("Done.")], traceId=f"{n:032x}")),
         request(agent([user("Go on.")], [answer("Done.")], number=0xF0 + n, traceId=f"{n:032x}")))
        for n in (1, 2)
    ]  # fmt: skip
    values = [v for call, above in turns for v in ((above, call) if is_agent_first else (call, above))]
    assert texts(UserMessage, *values) == ["Go on."] * 2
    assert texts(AssistantMessage, *values) == ["Done."] * 2


def test_an_agent_alone_tells_the_conversation():
    first = request(agent([user("Go on.")], [answer("Done.")], number=0xF1, traceId="1" * 32))
    second = request(agent([user("Go on.")], [answer("Done.")], number=0xF2, traceId="2" * 32))
    assert texts(UserMessage, first, second) == ["Go on."] * 2


def test_what_an_agent_was_asked_stands_before_what_happened_inside():
    export = request(
        agent([user("Look.")], [answer("Seen.")], start=0, end=9),
        tool(2, "t1", name="view", start=2, end=3),
        chat(1, end=2),
    )
    told = [type(d.payload).__name__ for d in drafts(export) if not isinstance(d.payload, Unknown)]
    assert told.index("UserMessage") < told.index("ToolCall") < told.index("AssistantMessage")


def test_messages_of_every_shape_are_read():
    old = [
        {"role": "user", "content": "Plain."},
        {"role": "assistant", "content": [{"type": "text", "text": "Blocks."}]},
    ]
    google = [{"role": "user", "parts": [{"text": "Google."}]}, {"role": "model", "parts": [{"text": "Model."}]}]
    assert texts(UserMessage, request(chat(1, old))) == ["Plain."]
    assert texts(AssistantMessage, request(chat(1, old))) == ["Blocks."]
    assert texts(UserMessage, request(chat(1, google))) == ["Google."]
    assert texts(AssistantMessage, request(chat(1, google))) == ["Model."]
    assert texts(UserMessage, request(chat(1, "Just text."))) == ["Just text."]
    assert texts(UserMessage, request(chat(1, ["In a list."]))) == ["In a list."]


def test_structured_attributes_are_read_like_json_in_a_string():
    part = {"kvlistValue": {"values": [{"key": "type", "value": {"stringValue": "text"}},
                                       {"key": "content", "value": {"stringValue": "Hello."}}]}}  # fmt: skip
    parts = {"arrayValue": {"values": [part]}}
    pairs = [{"key": "role", "value": {"stringValue": "user"}}, {"key": "parts", "value": parts}]
    written = chat(1)
    messages = {"arrayValue": {"values": [{"kvlistValue": {"values": pairs}}]}}
    written["attributes"].append({"key": "gen_ai.input.messages", "value": messages})
    assert texts(UserMessage, request(written)) == ["Hello."]


def test_a_cut_attribute_gives_its_whole_messages_and_keeps_the_rest():
    whole = json.dumps([user("First."), answer("A long answer that does not fit.")])
    export = request(chat(1, whole[:-20]))
    assert texts(UserMessage, export) == ["First."]
    (kept,) = payloads(Unknown, export)
    assert kept.text.startswith('{"role": "assistant"')
    assert defects(export) == {"bad_json"}


def test_nothing_whole_in_a_cut_attribute_is_still_kept():
    export = request(chat(1, None, '[{"role": "assistant", "parts": [{"type": "text", "content": "Half'))
    assert payloads(AssistantMessage, export) == []
    assert "Half" in payloads(Unknown, export)[0].text


def test_instructions_are_told_once_and_are_nobodys_turn():
    says = {"gen_ai.system_instructions": [{"type": "text", "content": "Be careful."}]}
    tools = {"gen_ai.tool.definitions": [{"type": "function", "name": "bash", "description": "Runs a command."}]}
    values = [
        request(chat(n, [{"role": "system", "content": "From the list."}], says={**says, **tools})) for n in (1, 2)
    ]
    found = payloads(Instructions, *values)
    assert [(p.text, p.source) for p in found if p.source != "tool definitions"] == [
        ("Be careful.", "system"),
        ("From the list.", "system"),
    ]
    assert "Runs a command." in next(p.text for p in found if p.source == "tool definitions")


def test_reasoning_is_thinking():
    out = [
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "So."}]}
    ]
    assert [p.text for p in payloads(Thinking, request(chat(1, None, out)))] == ["Hm."]


def test_media_become_hashes():
    data = b"\x89PNG"
    blob = {"type": "blob", "mime_type": "image/png", "modality": "image", "content": base64.b64encode(data).decode()}
    link = {"type": "uri", "modality": "image", "uri": "https://example.com/a.png"}
    (said,) = payloads(UserMessage, request(chat(1, [{"role": "user", "parts": [blob, link]}])))
    assert said.parts[0].sha256 == hashlib.sha256(data).hexdigest()
    assert said.parts[1].url == "https://example.com/a.png"
    assert defects(request(chat(1, [{"role": "user", "parts": [{**blob, "content": "abc"}]}]))) == {"bad_base64"}


def test_parts_roles_and_fields_that_nobody_knows_are_kept_and_counted():
    odd = [
        {"role": "user", "novelty": 1, "parts": [{"type": "hologram", "shape": "cube"}]},
        {"role": "oracle", "content": "Beware."},
    ]
    export = request(chat(1, odd))
    assert {
        Drift("type", "part.hologram"),
        Drift("field", "message.novelty"),
        Drift("value", "message.role=oracle"),
    } <= drift(export)
    kept = "\n".join(p.text for p in payloads(Unknown, export))
    assert "cube" in kept
    assert "Beware." in kept


def test_a_tools_answer_in_a_history_never_replaces_what_its_span_says():
    first = request(
        chat(1, [user("Run.")], [asked("t1", command="ls")]),
        tool(2, "t1", name="bash", call_result="a.py", start=1, end=2),
    )
    second = request(
        chat(3, [user("Run."), asked("t1", command="ls"), given("t1", "a.py")], [answer("One file.")], start=2, end=3)
    )
    for values in ((first, second), (first, second, second)):
        (result,) = payloads(ToolResult, *values)
        assert (result.ok, result.text, result.duration_ms) == (True, "a.py", 1000)
    (call,) = payloads(ToolCall, first, second)
    assert (call.arguments, call.canonical) == ({"command": "ls"}, "shell")


def test_a_tools_answer_that_has_no_span_is_told_by_the_next_call():
    first = request(chat(1, [user("Run.")], [asked("t1", command="ls")]))
    history = [user("Run."), asked("t1", command="ls"), given("t1", "a.py")]
    second, third = (
        request(chat(2, history, [answer("One file.")])),
        request(chat(3, [*history, answer("One file."), user("Ok.")])),
    )
    (result,) = payloads(ToolResult, first, second, third)
    assert (result.call_id, result.name, result.ok, result.text) == ("t1", "bash", None, "a.py")


def test_a_history_from_before_the_first_call_is_kept_without_replacing_what_another_file_said():
    history = [user("Run."), asked("t1", command="ls"), given("t1", "a.py"), answer("One file."), user("And now?")]
    export = request(chat(9, history, [answer("Still one.")]))
    assert payloads(ToolResult, export) == []
    assert [(p.type, p.text) for p in payloads(Unknown, export)] == [("earlier_tool_result", "a.py")]
    assert texts(UserMessage, export) == ["Run.", "And now?"]


def test_calls_without_ids_are_told_once_each():
    call = {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {"path": "a.py"}}}]}
    back = {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "x = 1"}}}]}
    first = request(chat(1, [user("Read.")], [call]))
    second = request(chat(2, [user("Read."), call, back], [call]))
    third = request(chat(3, [user("Read."), call, back, call, back], [answer("Read twice.")]))
    assert len(payloads(ToolCall, first, second, third)) == 2
    assert [p.text for p in payloads(ToolResult, first, second, third)] == ["output: x = 1"] * 2


def test_messages_as_events_of_a_span_are_read():
    says = {
        "gen_ai.user.message": {"content": "Hello."},
        "gen_ai.choice": {"message": {"role": "assistant", "content": "Hi."}},
    }
    events = [{"name": n, "attributes": attributes({"gen_ai.event.content": v})} for n, v in says.items()]
    export = request(chat(1, events=events))
    assert (texts(UserMessage, export), texts(AssistantMessage, export)) == (["Hello."], ["Hi."])


def test_messages_as_log_records_number_equal_texts_and_ignore_what_is_sent_again():
    def call(number: int, *said: tuple[str, str]) -> dict[str, Any]:
        where = {"traceId": "1" * 32, "spanId": f"{number:016x}"}
        records = []
        for i, (role, text) in enumerate(said):
            body = {"kvlistValue": {"values": attributes({"content": text})}}
            says = {"gen_ai.conversation.id": "c1"}
            records.append(log(f"gen_ai.{role}.message", says, when=number + i / 100, body=body, **where))
        return logged(*records)

    turn = [("user", "Go on."), ("assistant", "Done.")]
    values = [
        call(1, *turn[:1]),
        call(2, *turn, turn[0]),
        call(2, *turn, turn[0]),
        call(3, *turn, *turn, ("user", "Stop.")),
    ]
    assert texts(UserMessage, *values) == ["Go on.", "Go on.", "Stop."]
    assert texts(AssistantMessage, *values) == ["Done.", "Done."]


def test_the_details_event_carries_the_content_of_its_span():
    says = {**CHAT, "gen_ai.input.messages": [user("Hello.")], "gen_ai.output.messages": [answer("Hi.")]}
    name = "gen_ai.client.inference.operation.details"
    record = log(name, says, traceId="1" * 32, spanId="1" * 16)
    assert texts(UserMessage, logged(record)) == ["Hello."]
    inside = {
        "name": name,
        "attributes": [{"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps([answer("Hi.")])}}],
    }
    assert texts(AssistantMessage, request(chat(1, events=[inside]))) == ["Hi."]


@pytest.mark.parametrize(
    "says",
    [
        {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hello.", "gen_ai.completion.0.role": "assistant",
         "gen_ai.completion.0.content": "Hi.", "llm.request.type": "chat"},
        {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hello.",
         "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Hi.",
         "openinference.span.kind": "LLM", "input.value": "{}", "output.value": "{}"},
        {"openinference.span.kind": "LLM", "input.value": "Hello.", "output.value": "Hi."},
        {"gen_ai.operation.name": "chat", "gen_ai.prompt": "Hello.", "gen_ai.completion": "Hi."},
    ],
    ids=("openllmetry", "openinference", "plain values", "deprecated"),
)  # fmt: skip
def test_other_conventions_are_read(says: dict[str, Any]):
    export = request(span(1, {"session.id": "c1", **says}))
    assert (texts(UserMessage, export), texts(AssistantMessage, export)) == (["Hello."], ["Hi."])


def test_what_one_agent_asks_another_is_not_the_persons_turn():
    main = chat(1, [user("Look it up.")], [answer("I ask the finder.")], says={"gen_ai.agent.name": "main"})
    inner = chat(2, [user("Find the answer.")], [answer("Forty-two.")], says={"gen_ai.agent.name": "finder"})
    said = payloads(UserMessage, request(main), request(inner), request(agent([user("Look it up.")])))
    assert [(p.text, p.origin) for p in said] == [("Look it up.", "human"), ("Find the answer.", "injected")]
    assert ROOT in str(main)
