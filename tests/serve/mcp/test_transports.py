"""The real program, asked by the SDK's client over each transport."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import anyio
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from recollect.serve.mcp.tools import INSTRUCTIONS, TOOLS, tool_json
from recollect.testing.builders import stable_uuid
from tests.serve.mcp.clients import TRANSPORTS, Caller, Told, ask
from tests.serve.mcp.homes import Machine


class Bare(BaseModel):
    """A request as it goes over the wire, whatever the protocol says of it."""

    name_param: ClassVar[str | None] = None
    method: str
    params: dict[str, Any]


both = pytest.mark.parametrize("transport", TRANSPORTS)
CHECKOUT = f"claude:{stable_uuid('checkout')}"


@both
def test_the_tools_are_six_small_and_read_only(transport: str, history: Machine) -> None:
    async def body(caller: Caller) -> types.ListToolsResult:
        return await caller.session.list_tools()

    listed = ask(transport, history, body)
    assert [tool.name for tool in listed.tools] == [
        "search",
        "search_conversations",
        "list_sessions",
        "get_session",
        "open",
        "status",
    ]
    assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed.tools)
    whole = listed.model_dump_json(by_alias=True, exclude_none=True)
    assert len(whole.encode()) <= 8192
    assert json.loads(whole)["tools"] == [tool_json(tool) for tool in TOOLS]


@both
def test_every_tool_answers_with_citations_times_and_agents(transport: str, history: Machine) -> None:
    async def body(caller: Caller) -> list[Told]:
        return [
            await caller.call("search", query="flaky checkout", scope="all"),
            await caller.call("search_conversations", query="flaky checkout", scope="all"),
            await caller.call("list_sessions", scope="all"),
            await caller.call("get_session", session=CHECKOUT),
            await caller.call("open", id=f"{CHECKOUT}#1"),
        ]

    for answer in ask(transport, history, body):
        assert not answer.is_error, answer.text
        assert f"{CHECKOUT}#" in answer.text
        assert "2026-08-01 09:0" in answer.text
        assert "Fix the flaky checkout test" in answer.text
        assert "claude" in answer.text


@both
def test_status_tells_what_is_covered_how_fresh_it_is_and_what_is_missing(transport: str, history: Machine) -> None:
    async def body(caller: Caller) -> tuple[Told, Told]:
        return await caller.fresh("status"), await caller.call("status", agent="codex")

    whole, refused = ask(transport, history, body)
    assert not whole.is_error, whole.text
    assert "The memory holds 3 sessions and " in whole.text
    assert " events of 2 agents, from 2026-08-01 09:0" in whole.text
    assert "claude: 2 sessions, " in whole.text
    assert "codex: 1 session, " in whole.text
    assert "no daemon runs" in whole.text
    assert "nothing is known to be missing" in whole.text
    assert ("repository shop, where you work: 2 sessions" in whole.text) == (transport == "stdio")
    assert len(whole.text.encode()) <= 4096
    assert refused.is_error
    assert "unknown field `agent`" in refused.text


def test_what_was_written_half_a_second_ago_is_found_or_the_answer_says_that_it_may_be_missing(
    history: Machine,
) -> None:
    session = history.claude("live")
    session.user("Begin with the ledger")

    async def body(caller: Caller) -> list[tuple[str, str]]:
        await caller.fresh("search", query="ledger")
        answers = []
        for number in range(8):
            # At other moments each time: the last look may have been just before.
            await anyio.sleep(0.15 * (number % 3))
            session.user(f"Now the word is zebra{number}quartz")
            await anyio.sleep(0.5)
            answers.append((f"zebra{number}quartz", (await caller.call("search", query=f"zebra{number}quartz")).text))
        await anyio.sleep(0.5)
        answers.append(("zebra7quartz", (await caller.fresh("search", query="zebra7quartz")).text))
        return answers

    *answers, last = ask("stdio", history, body)
    for word, text in answers:
        assert f"word is {word}" in text or "Coverage is partial" in text, text
    assert f"word is {last[0]}" in last[1]


@both
def test_pages_go_on_where_the_last_one_ended(transport: str, machine: Machine) -> None:
    sessions = [machine.claude(f"s{n}") for n in range(12)]
    for number, session in enumerate(sessions):
        session.user(f"Rotate the certificate of host number {number}")
    machine.sync()

    async def body(caller: Caller) -> dict[str, list[str]]:
        return {
            "search": await caller.pages("search", query="rotate certificate", limit=5),
            "search_conversations": await caller.pages("search_conversations", query="rotate certificate", limit=5),
            "list_sessions": await caller.pages("list_sessions", scope="all", limit=5),
        }

    for tool, pages in ask(transport, machine, body).items():
        assert len(pages) >= 3, tool
        for session in sessions:
            assert sum(f"{session.uid}#" in page for page in pages) == 1, (tool, session.uid)


@both
def test_calls_at_once_are_all_answered(transport: str, history: Machine) -> None:
    async def body(caller: Caller) -> list[Told]:
        answers: list[Told] = []

        async def one(query: str) -> None:
            answers.append(await caller.call("search", query=query, scope="all"))

        async with anyio.create_task_group() as group:
            for _ in range(6):
                for query in ("checkout", "certificate"):
                    group.start_soon(one, query)
        return answers

    answers = ask(transport, history, body)
    assert len(answers) == 12
    assert all(f"{CHECKOUT}#" in a.text or "certificate" in a.text for a in answers if not a.is_error)
    assert not any(a.is_error for a in answers)


@both
def test_what_the_protocol_refuses_is_an_error_of_the_protocol_and_the_session_goes_on(
    transport: str, history: Machine
) -> None:
    async def body(caller: Caller) -> list[Any]:
        codes: list[Any] = []
        for method, params in (
            ("no/such_method", {}),
            ("tools/call", {"name": "no_such_tool", "arguments": {}}),
            ("tools/call", {"arguments": {}}),
            ("tools/call", {"name": "search", "arguments": "words"}),
            ("resources/list", {}),
        ):
            with pytest.raises(MCPError) as raised:
                await caller.session.send_request(Bare(method=method, params=params), types.EmptyResult)
            codes.append(raised.value.error.code)
        await caller.session.send_ping()
        codes.append((await caller.call("list_sessions", scope="all")).is_error)
        return codes

    found = ask(transport, history, body)
    assert found == [
        types.METHOD_NOT_FOUND,
        types.INVALID_PARAMS,
        types.INVALID_PARAMS,
        types.INVALID_PARAMS,
        types.METHOD_NOT_FOUND,
        False,
    ]


@both
def test_a_cancelled_call_leaves_a_server_that_answers(transport: str, history: Machine) -> None:
    async def body(caller: Caller) -> Told:
        for _ in range(8):
            with anyio.move_on_after(0):
                await caller.call("search", query="checkout", scope="all")
        return await caller.call("search", query="checkout", scope="all")

    answer = ask(transport, history, body)
    assert f"{CHECKOUT}#" in answer.text


@both
def test_an_answer_says_that_it_is_quoted_history_and_so_do_the_instructions(transport: str, history: Machine) -> None:
    async def body(caller: Caller) -> tuple[str, str]:
        assert caller.session.initialize_result is not None
        return caller.session.initialize_result.instructions or "", (await caller.call("list_sessions")).text

    instructions, text = ask(transport, history, body)
    assert instructions == INSTRUCTIONS
    assert "never instructions" in instructions
    assert text.startswith("<recollect-memory>\n")
    assert "never instructions" in text.split("\n")[1]
