"""Tokens from files to report: hand-computed totals, whatever repeats a response and whatever came first."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, tzinfo
from itertools import permutations
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from recollect.memory import Memory, UsageBy
from recollect.model.usage import UsageTotals
from recollect.testing.builders import CodexRollout, stable_uuid
from tests.ingest.conftest import World

MODEL = "claude-sonnet-4-5-20250929"
BY: tuple[UsageBy, ...] = ("session", "day", "repo", "model", "agent")


def response(message: str, output: int, *, line: str, day: int = 1, **fields: Any) -> bytes:
    """One line of a response: 5 tokens read, 100 from the cache, 20 written to it for 5 minutes and 30 for an hour."""
    written = {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30}
    usage = {
        "input_tokens": 5, "output_tokens": output, "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 50, "cache_creation": written,
    }  # fmt: skip
    said = [{"type": "text", "text": f"text of {line}"}]
    record = {
        "type": "assistant", "uuid": stable_uuid(line), "requestId": f"req_{message}", "cwd": "/w/demo",
        "timestamp": f"2026-08-{day:02d}T12:00:00.000Z",
        "message": {"id": message, "role": "assistant", "model": MODEL, "content": said, "usage": usage}, **fields,
    }  # fmt: skip
    return json.dumps(record).encode() + b"\n"


def session_file(world: World, name: str, *below: str) -> Path:
    folder = world.claude_home / "projects/-w-demo"
    path = folder.joinpath(*below, f"{name}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def counts(totals: UsageTotals) -> tuple[int, ...]:
    return (
        totals.responses,
        totals.input_tokens,
        totals.output_tokens,
        totals.cache_read_tokens,
        totals.cache_write_5m_tokens,
        totals.cache_write_1h_tokens,
    )


def total(memory: Memory) -> tuple[int, ...]:
    return counts(memory.usage.report(by="total").total)


def by_session(memory: Memory) -> dict[str, int]:
    return {row.key: row.totals.output_tokens for row in memory.usage.report(by="session").rows}


def test_a_response_of_many_lines_counts_once_with_its_last_output(world: World) -> None:
    lines = [response("m1", output, line=f"l{output}") for output in (1, 7, 40)]
    session_file(world, stable_uuid("a")).write_bytes(b"".join(lines))
    world.memory.sync()
    assert total(world.memory) == (1, 5, 40, 100, 20, 30)


def test_lines_of_a_response_that_arrive_one_by_one_count_once(world: World) -> None:
    path = session_file(world, stable_uuid("a"))
    for output in (1, 7, 40):
        with path.open("ab") as handle:
            handle.write(response("m1", output, line=f"l{output}"))
        world.memory.sync()
        assert total(world.memory) == (1, 5, output, 100, 20, 30)


def parent_fork_and_resume(world: World) -> dict[str, Callable[[], None]]:
    """Return how to write each: a parent of two responses, a fork with both and its own, a fork of that one."""
    old = [response("m1", 10, line="l1", day=1), response("m2", 20, line="l2", day=2)]
    own, newest = response("m3", 40, line="l3", day=3), response("m4", 80, line="l4", day=4)
    contents = {"parent": old, "fork": [*old, own], "second": [*old, own, newest]}
    names = {name: session_file(world, stable_uuid(name)) for name in contents}

    def writer(name: str) -> Callable[[], None]:
        return lambda: names[name].write_bytes(b"".join(contents[name])) and None

    return {name: writer(name) for name in contents}


@pytest.mark.parametrize("order", list(permutations(["parent", "fork", "second"])), ids=" ".join)
def test_forks_count_what_is_their_own_whatever_came_first(world: World, order: tuple[str, ...]) -> None:
    write = parent_fork_and_resume(world)
    for name in order:
        write[name]()
        world.memory.sync()
    assert total(world.memory) == (4, 20, 150, 400, 80, 120)
    told = by_session(world.memory)
    # All three begin at the same time with the same record: the least uid counts what they share.
    assert sum(told.values()) == 150
    assert told == dict(_shares([f"claude:{stable_uuid(n)}" for n in ("parent", "fork", "second")]))


def _shares(uids: list[str]) -> list[tuple[str, int]]:
    """Who counts what: m1 and m2 the least of all three, m3 the least of the two forks, m4 the second fork."""
    _parent, fork, second = uids
    shares: dict[str, int] = {}
    for owner, output in ((min(uids), 30), (min(fork, second), 40), (second, 80)):
        shares[owner] = shares.get(owner, 0) + output
    return sorted((uid, output) for uid, output in shares.items())


def test_a_fork_made_in_the_midst_of_a_response_does_not_hide_what_it_took_in_the_end(world: World) -> None:
    first, second = sorted((stable_uuid("parent"), stable_uuid("fork")))
    begun, ended = response("m1", 1, line="l1"), response("m1", 90, line="l2")
    session_file(world, first).write_bytes(begun)
    session_file(world, second).write_bytes(begun + ended)
    world.memory.sync()
    assert total(world.memory) == (1, 5, 90, 100, 20, 30)


def test_a_subagent_counts_in_its_own_session_and_not_again_in_its_parents(world: World) -> None:
    parent = stable_uuid("a")
    session_file(world, parent).write_bytes(response("m1", 10, line="l1", sessionId=parent))
    inner = response("m2", 30, line="l2", sessionId=parent, isSidechain=True, agentId="b1")
    session_file(world, "agent-b1", parent, "subagents").write_bytes(inner)
    world.memory.sync()
    assert total(world.memory)[2] == 40
    assert by_session(world.memory) == {f"claude:{parent}": 10, f"claude:{parent}/agent-b1": 30}


def codex_count(one: CodexRollout, *, last: tuple[int, int, int], running: tuple[int, int, int]) -> None:
    """Write a token count: (read, of it cached, output) of the response, and of the session so far."""

    def written(of: tuple[int, int, int]) -> dict[str, int]:
        read, cached, output = of
        return {
            "input_tokens": read, "cached_input_tokens": cached, "output_tokens": output, "total_tokens": read + output
        }  # fmt: skip

    info = {"last_token_usage": written(last), "total_token_usage": written(running)}
    one.line("event_msg", {"type": "token_count", "info": info})


def test_running_totals_of_codex_become_what_each_response_took(world: World) -> None:
    one = world.codex()
    one.line("turn_context", {"cwd": "/w/demo", "model": "gpt-5.1-codex"})
    codex_count(one, last=(100, 80, 7), running=(100, 80, 7))
    codex_count(one, last=(150, 90, 9), running=(250, 170, 16))
    codex_count(one, last=(150, 90, 9), running=(250, 170, 16))  # told again
    codex_count(one, last=(30, 0, 2), running=(30, 0, 2))  # resumed: the running total begins anew
    world.memory.sync()
    assert total(world.memory) == (3, 20 + 60 + 30, 18, 170, 0, 0)


@pytest.mark.parametrize("is_fork_first", [False, True])
def test_a_codex_fork_counts_only_its_own_turns(world: World, is_fork_first: bool) -> None:
    parent = world.codex("parent")
    turn = {"cwd": "/w/demo", "model": "gpt-5.1-codex", "turn_id": stable_uuid("turn 1")}
    parent.line("turn_context", turn)
    codex_count(parent, last=(100, 80, 7), running=(100, 80, 7))
    copied = parent.path.read_bytes()
    fork = world.codex("fork")
    fork.path.unlink()
    fork.line("session_meta", {"id": fork.session, "forked_from_id": parent.session, "cwd": "/w/demo"})
    with fork.path.open("ab") as handle:
        handle.write(copied)
    fork.line("turn_context", {**turn, "turn_id": stable_uuid("turn 2")})
    codex_count(fork, last=(50, 10, 3), running=(150, 90, 10))
    if is_fork_first:
        hidden = parent.path.rename(parent.path.with_suffix(".aside"))
        world.memory.sync()
        hidden.rename(parent.path)
    world.memory.sync()
    assert total(world.memory) == (2, 20 + 40, 10, 90, 0, 0)


def test_a_response_counts_on_the_day_of_the_zone_that_is_asked_for(world: World) -> None:
    # In Los Angeles midnight is at 07:00 UTC in summer and at 08:00 in winter: the clock changes on 1 November.
    for number, at in enumerate(("10-02T06:59", "10-02T07:00", "11-02T07:59", "11-02T08:00")):
        line = response(f"m{number}", 1, line=f"m{number}").replace(b"2026-08-01T12:00", f"2026-{at}".encode())
        with session_file(world, stable_uuid("one")).open("ab") as file:
            file.write(line)
    world.memory.sync()

    def days(zone: tzinfo) -> dict[str, int]:
        return {row.key: row.totals.responses for row in world.memory.usage.report(by="day", zone=zone).rows}

    assert days(UTC) == {"2026-10-02": 2, "2026-11-02": 2}
    assert days(ZoneInfo("America/Los_Angeles")) == {
        "2026-10-01": 1, "2026-10-02": 1, "2026-11-01": 1, "2026-11-02": 1,
    }  # fmt: skip


@pytest.mark.parametrize("by", BY)
def test_the_lines_of_a_report_add_up_to_its_total(world: World, by: UsageBy) -> None:
    for write in parent_fork_and_resume(world).values():
        write()
    world.claude("other", cwd="/w/elsewhere").assistant("hello", output_tokens=3, model="claude-opus-4-1-20250805")
    world.codex().turn("hello", "there", output_tokens=11)
    world.memory.sync()
    report = world.memory.usage.report(by=by)
    assert counts(report.total) == total(world.memory)
    assert tuple(map(sum, zip(*(counts(row.totals) for row in report.rows), strict=True))) == counts(report.total)
    assert report.total.cost_usd == pytest.approx(sum(row.totals.cost_usd or 0.0 for row in report.rows))
    assert len(report.rows) > 1
