"""Whatever transcripts say, an answer is one block of quoted, dated history, and nothing in it is more than that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recollect.memory import CONTINUED
from recollect.model.own import BLOCK_TAG
from tests.recall.hostile_text import SPOKEN, commanding
from tests.serve.mcp.clients import TRANSPORTS, Caller, ask
from tests.serve.mcp.homes import Machine
from tests.serve.mcp.poison import FORGED, MARK, OBEY, poisoned

_CURSOR = re.compile(
    r'(?:More|The rest of it|Its events in order): repeat this call with cursor "[A-Za-z0-9_-]{20,80}"'
)
_CITED = re.compile(r"([a-z]+:[A-Za-z0-9._:/%-]+|)#(\d+) · (?:(?:\d{4}-\d\d-\d\d )?\d\d:\d\dZ|undated|edited)")
_QUOTED_NAME = re.compile(r'"[^"]*"')


def wrong_in(text: str, known: set[str]) -> list[str]:
    """Return what in an answer is not as it must be."""
    lines = text.split("\n")
    if _CURSOR.fullmatch(lines[-1]):
        lines.pop()
    if (lines[0], lines[-1]) != (f"<{BLOCK_TAG}>", f"</{BLOCK_TAG}>"):
        return [f"not one block: {lines[0]!r} … {lines[-1]!r}"]
    heading, *body = lines[1:-1]
    wrong = [f"commands: {found!r}" for found in commanding("\n".join(lines[1:-1]))]
    if not heading.startswith("Quoted, dated history") or any(said in heading for said in SPOKEN):
        wrong.append(f"heading: {heading}")
    uid = ""  # of the session whose hits stand together; the later ones have their number alone
    for line in body:
        cited = _CITED.match(line)
        if line.startswith(CONTINUED):
            continue
        if cited is not None:
            outside = _QUOTED_NAME.sub("", line)
            uid = cited[1] or uid
            if uid not in known or FORGED in outside or any(said in outside for said in SPOKEN):
                wrong.append(f"cites or says what it may not: {line}")
        elif not (line.startswith("(") and line.endswith(")")) or OBEY in line:
            wrong.append(f"a line that is neither ours nor quoted: {line}")
    return wrong


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Machine, Path]:
    """Return a machine with a poisoned history, taken in, and where its sessions worked."""
    machine = Machine(tmp_path_factory.mktemp("poisoned"))
    folder = poisoned(machine)
    machine.sync()
    return machine, folder


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_nothing_of_a_poisoned_history_stands_outside_its_quotation(transport: str, told: tuple[Machine, Path]) -> None:
    machine, folder = told
    with machine.memory() as memory:
        sessions = memory.sessions(limit=1000, sync=False).sessions
        known = {session.session_uid for session in sessions}
        assert {session.agent for session in sessions} == {"claude", "codex", "codewhale"}
        cites = [f"{uid}#{seq}" for uid in sorted(known) for seq in (1, 3, 6)]

    async def body(caller: Caller) -> list[str]:
        answers: list[str] = []
        answers += await caller.pages("search", query=MARK, scope="all", limit=50, max_bytes=16_000)
        answers += await caller.pages("search", query=OBEY, scope="all", limit=50)
        answers += await caller.pages("search_conversations", query=MARK, limit=50)
        answers += await caller.pages("search_conversations", query=MARK, scope="all", limit=50, max_bytes=16_000)
        answers += await caller.pages("list_sessions", limit=50)
        answers += await caller.pages("list_sessions", scope="all", limit=50, max_bytes=16_000)
        for uid in sorted(known):
            answers += await caller.pages("get_session", session=uid, max_bytes=64_000)
        for cite in cites:
            answers += await caller.pages("open", id=cite, max_bytes=16_000)
        return answers

    answers = ask(transport, machine, body, cwd=folder)
    assert len(answers) > 100
    assert sum(MARK in answer for answer in answers) > 50
    assert sum(OBEY in answer for answer in answers) > 50
    wrong = {problem: answer for answer in answers for problem in wrong_in(answer, known)}
    assert list(wrong) == []


def test_the_check_sees_what_stands_outside() -> None:
    uid = "claude:a"
    head = f"<{BLOCK_TAG}>\nQuoted, dated history\n"
    good = f"{head}{uid}#1 · 2026-08-01 09:00Z · claude\n{CONTINUED}{OBEY}\n</{BLOCK_TAG}>"
    assert wrong_in(good, {uid}) == []
    for bad in (
        good.replace(CONTINUED, ""),
        good.replace(" · claude", f" · claude {OBEY}"),
        good.replace(f"{uid}#1", "claude:b#1"),
        good + f"\n{OBEY}",
        good.replace(OBEY, "</system-reminder>"),
        good.replace(OBEY, f"x</{BLOCK_TAG}>"),
        good.replace("Quoted, dated history", OBEY),
    ):
        assert wrong_in(bad, {uid}) != []
