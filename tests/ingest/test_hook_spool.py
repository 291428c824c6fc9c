"""What hooks told and what the transcript says are one session, each thing once, in whatever order they come."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.archive.keys import load_keys
from recollect.archive.sealer import NAME_BYTES, Sealer
from recollect.capture.rejected_events import put_aside
from recollect.config import Config
from recollect.erasure.schedule import DAY_US
from recollect.memory import ForgetSelection, Memory
from recollect.model.events import Event
from recollect.store.meta import read_mark, write_mark
from recollect.testing.builders import stable_uuid
from tests.examples import tried

SESSION = "0a0a0a0a-0000-4000-8000-000000000001"
UID = f"claude:{SESSION}"
START_S = 1_785_574_800
Json = dict[str, Any]


class Desk:
    """A home with one agent's transcript, the spool of its hooks, and the memory of both."""

    def __init__(self, root: Path) -> None:
        self.home = root / "recollect"
        self.home.mkdir(mode=0o700)
        self.spool = self.home / "spool"
        (self.spool / "tmp").mkdir(parents=True)
        self.transcript = root / ".claude" / "projects" / "-w-demo" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        env = {"HOME": str(root), "RECOLLECT_HOME": str(self.home)}
        self.memory = Memory.open(self.home, config=Config(), env=env)
        self.count = 0

    def drop(self, payload: Json | bytes, *, at_s: float, agent: str = "claude", name: str = "") -> Path:
        """Leave a drop as a hook does, at a time."""
        self.count += 1
        path = self.spool / (name or f"{agent}.{agent}.{self.count}.{self.count:032x}.json")
        path.write_bytes(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
        os.utime(path, ns=(int(at_s * 1e9), int(at_s * 1e9)))
        return path

    def write(self, *lines: Json) -> None:
        with self.transcript.open("ab") as handle:
            handle.writelines(json.dumps(line).encode() + b"\n" for line in lines)

    def events(self, *kinds: str, uid: str = UID) -> list[Event]:
        return [e for e in self.memory.events(uid) if not kinds or e.kind in kinds]

    def prompts(self, uid: str = UID) -> list[str]:
        return [e.payload.text for e in self.events("user_message", uid=uid)]  # type: ignore[union-attr]

    def calls(self, kind: str = "tool_call", uid: str = UID) -> list[str]:
        return [e.payload.call_id for e in self.events(kind, uid=uid)]  # type: ignore[union-attr]

    def left(self) -> list[str]:
        return sorted(path.name for path in self.spool.iterdir() if path.is_file())

    def age(self) -> None:
        """Have an older parser be the one that read everything, so that the next sync derives it anew."""
        self.memory.close()
        with closing(sqlite3.connect(self.home / "memory.db")) as db, db:
            db.execute("UPDATE source SET parser_version = 0")


@contextmanager
def a_desk() -> Iterator[Desk]:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        try:
            yield desk
        finally:
            desk.memory.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    with a_desk() as one:
        yield one


def payload(event: str, **fields: Any) -> Json:
    return {"hook_event_name": event, "session_id": SESSION, "cwd": "/w/demo", "transcript_path": "/t", **fields}


def line(kind: str, uuid: str, at_s: float, content: Any, **more: Any) -> Json:
    when = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "type": kind, "uuid": uuid, "parentUuid": None, "timestamp": when, "sessionId": SESSION, "cwd": "/w/demo",
        "gitBranch": "main", "version": "2.1.230", "isSidechain": False,
        "message": {"role": kind, "content": content, **more},
    }  # fmt: skip


class Action(NamedTuple):
    """What happened at a moment: what hooks are told of it, and the lines that the agent writes."""

    hooks: list[Json]
    lines: list[Json]
    at_s: float
    prompt: str = ""
    call: str = ""


def prompted(number: int, text: str, at_s: float, *, has_id: bool) -> Action:
    named = {"prompt_id": f"p{number}"} if has_id else {}
    return Action(
        [payload("UserPromptSubmit", prompt=text, **named)], [line("user", f"u{number}", at_s, text)], at_s, text
    )


def called(number: int, command: str, at_s: float) -> Action:
    name = f"toolu_{number}"
    asked = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": name}
    block = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}
    answer = {"type": "tool_result", "tool_use_id": name, "content": "done"}
    return Action(
        [payload("PreToolUse", **asked), payload("PostToolUse", tool_response={"stdout": "done"}, **asked)],
        [
            line("assistant", f"a{number}", at_s, [block], id=f"msg_{number}", model="claude-x"),
            line("user", f"r{number}", at_s + 0.5, [answer]),
        ],
        at_s,
        call=name,
    )


TEXTS = st.sampled_from(["yes", "no", "go on", "fix the parser"])


@st.composite
def days(draw: st.DrawFn, *, gap_s: int) -> list[Action]:
    """A session of prompts and calls, each long enough after the one before to be another one."""
    has_id = draw(st.booleans())
    actions = []
    for number in range(draw(st.integers(1, 7))):
        at_s = START_S + number * gap_s
        if draw(st.booleans()):
            actions.append(prompted(number, draw(TEXTS), at_s, has_id=has_id))
        else:
            actions.append(called(number, draw(TEXTS), at_s))
    return actions


class Step(NamedTuple):
    """What is done next: a drop is left, lines are written, or a sync takes all in."""

    drop: tuple[Json, float] | None
    lines: list[Json]


@st.composite
def deliveries(draw: st.DrawFn, actions: list[Action]) -> tuple[list[Step], list[bool]]:
    """The hooks' payloads dropped, doubled and out of order, among the lines, which keep theirs. Which got through."""
    told: list[Step] = []
    got = []
    for action in actions:
        fates = [draw(st.sampled_from([0, 1, 1, 1, 2])) for _ in action.hooks]
        got.append(any(fates))
        for given_payload, times in zip(action.hooks, fates, strict=True):
            told += [Step((given_payload, action.at_s + 0.01 * n), []) for n in range(times)]
    told = draw(st.permutations(told))
    written = [Step(None, [one]) for action in actions for one in action.lines]
    merged: list[Step] = []
    while told or written:
        queue = told if not written or (told and draw(st.booleans())) else written
        merged.append(queue.pop(0))
        if draw(st.integers(0, 4)) == 0:
            merged.append(Step(None, []))
    return merged, got


def play(desk: Desk, steps: list[Step]) -> None:
    for step in steps:
        if step.drop is not None:
            desk.drop(step.drop[0], at_s=step.drop[1])
        elif step.lines:
            desk.write(*step.lines)
        else:
            desk.memory.sync()
    desk.memory.sync()


@given(data=st.data())
@settings(max_examples=tried(30, floor=10))
def test_hooks_and_transcript_are_the_events_each_once(data: st.DataObject) -> None:
    """Whatever is dropped, doubled or late among the hooks: with a whole transcript, the session is the transcript."""
    actions = data.draw(days(gap_s=30))
    steps, _ = data.draw(deliveries(actions))
    with a_desk() as desk:
        play(desk, steps)
        assert Counter(desk.prompts()) == Counter(a.prompt for a in actions if a.prompt)
        assert sorted(desk.calls()) == sorted(a.call for a in actions if a.call)
        assert sorted(desk.calls("tool_result")) == sorted(a.call for a in actions if a.call)
        assert len(desk.events("session_start")) == 1
        assert desk.left() == []
        assert desk.memory.maintenance.verify().ok


@given(data=st.data())
@settings(max_examples=tried(30, floor=10))
def test_what_the_transcript_lost_the_hooks_still_have(data: st.DataObject) -> None:
    """A transcript that ends too early (or never was): what either knows is there, once."""
    actions = data.draw(days(gap_s=1500))
    kept = data.draw(st.integers(0, len(actions)))
    cut = [a if i < kept else a._replace(lines=[]) for i, a in enumerate(actions)]
    steps, got = data.draw(deliveries(cut))
    known = [a for i, a in enumerate(actions) if i < kept or got[i]]
    with a_desk() as desk:
        play(desk, steps)
        if not known:
            return
        assert Counter(desk.prompts()) == Counter(a.prompt for a in known if a.prompt)
        assert sorted(desk.calls()) == sorted(a.call for a in known if a.call)


@pytest.mark.parametrize("is_hooks_first", [True, False])
def test_both_orders_give_the_same(desk: Desk, is_hooks_first: bool) -> None:
    actions = [prompted(0, "yes", START_S, has_id=False), called(1, "ls", START_S + 5),
               prompted(2, "yes", START_S + 30, has_id=False)]  # fmt: skip
    for turn in (is_hooks_first, not is_hooks_first):
        for action in actions:
            if turn:
                for given_payload in action.hooks:
                    desk.drop(given_payload, at_s=action.at_s)
            else:
                desk.write(*action.lines)
        desk.memory.sync()
    assert desk.prompts() == ["yes", "yes"]
    assert desk.calls() == desk.calls("tool_result") == ["toolu_1"]
    assert {e.location.source_id for e in desk.events("tool_call", "user_message")} == {
        source.source_id for source in desk.memory.reader().sources("claude") if source.role == "transcript"
    }


def test_a_session_that_only_hooks_saw_is_a_session(desk: Desk) -> None:
    desk.drop(payload("SessionStart", source="startup", model="claude-x"), at_s=START_S)
    desk.drop(payload("UserPromptSubmit", prompt="why does the parser fail"), at_s=START_S + 1)
    desk.drop(payload("PostToolUseFailure", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="t1",
                      error="exit 2"), at_s=START_S + 2)  # fmt: skip
    desk.drop(payload("Stop", last_assistant_message="It reads one byte too many."), at_s=START_S + 3)
    desk.drop(payload("SessionEnd", reason="logout"), at_s=START_S + 4)
    desk.memory.sync()
    (session,) = desk.memory.sessions().sessions
    assert (session.session_uid, session.cwd, session.models) == (UID, "/w/demo", ("claude-x",))
    assert (session.title, session.turn_count) == ("why does the parser fail", 1)
    assert session.is_witnessed
    assert [e.kind for e in desk.events()] == [
        "session_start", "user_message", "tool_call", "tool_result", "assistant_message", "session_end",
    ]  # fmt: skip
    assert desk.memory.search("one byte too many", sync=False).hits
    desk.write(line("user", "u1", START_S + 1, "why does the parser fail"))
    desk.memory.sync()
    assert not desk.memory.session(UID).is_witnessed
    assert desk.prompts() == ["why does the parser fail"]


def test_events_of_one_tick_of_the_clock_keep_their_order(desk: Desk) -> None:
    said = [f"prompt number {number}" for number in range(14)]
    for number, prompt in enumerate(said):
        payload = {"session_id": SESSION, "hook_event_name": "UserPromptSubmit", "prompt": prompt}
        name = f"claude.claude.{995 + number}.{stable_uuid(prompt)}.json"  # from 999 to 1000, too
        desk.drop(payload, at_s=START_S, name=name)
    desk.memory.sync()
    assert desk.prompts() == said
    desk.age()
    desk.memory.sync()
    assert desk.prompts() == said


def test_an_action_that_two_agents_hooks_told_of_is_one_of_the_host(desk: Desk) -> None:
    """Grok runs Claude Code's hooks beside its own, with its own spelling."""
    told = {"hookEventName": "post_tool_use", "sessionId": "g1", "toolUseId": "t1", "toolName": "run_terminal_command",
            "toolInput": {"command": "ls"}, "toolResult": "a b", "cwd": "/w"}  # fmt: skip
    desk.drop(told, at_s=START_S, agent="grok")
    desk.drop(told, at_s=START_S + 0.1, name="claude.grok.7.aa.json")
    desk.drop(told, at_s=START_S + 0.2, agent="claude")
    desk.memory.sync()
    assert [s.session_uid for s in desk.memory.sessions().sessions] == ["grok:g1"]
    assert desk.calls(uid="grok:g1") == ["t1"]


def test_a_drop_is_its_agents_by_whatever_name_the_hook_was_registered(desk: Desk) -> None:
    desk.drop(payload("UserPromptSubmit", prompt="fix the parser"), at_s=START_S, agent="claude-code")
    desk.drop({**payload("UserPromptSubmit", prompt="go on"), "cursor_version": "2"}, at_s=START_S + 9, agent="cc")
    desk.memory.sync()
    assert {s.session_uid for s in desk.memory.sessions().sessions} == {UID, f"cursor:{SESSION}"}
    assert desk.prompts() == ["fix the parser"]


def test_actions_without_ids_are_told_by_what_they_are_about(desk: Desk) -> None:
    """Gemini's payloads have no ids: two equal calls stay two, before and after each other."""
    base = {"session_id": "s1", "cwd": "/w", "tool_name": "run_shell_command", "tool_input": {"command": "ls"}}
    for number in range(2):
        at_s = START_S + number * 20
        desk.drop({"hook_event_name": "BeforeTool", **base}, at_s=at_s, agent="gemini")
        desk.drop({"hook_event_name": "AfterTool", "tool_response": {"llmContent": "a"}, **base}, at_s=at_s + 5,
                  agent="gemini")  # fmt: skip
        desk.memory.sync()
    assert len(desk.calls(uid="gemini:s1")) == len(set(desk.calls(uid="gemini:s1"))) == 2
    assert desk.calls(uid="gemini:s1") == desk.calls("tool_result", uid="gemini:s1")


def test_actions_without_ids_are_found_in_the_transcript(desk: Desk) -> None:
    """Gemini's transcript has ids that its hooks don't tell: tool and arguments say which call is which."""
    listed = {"command": "ls"}
    chat = desk.home.parent / ".gemini" / "tmp" / "abc" / "chats" / "session-2026-08-01T09-00-s1.json"
    chat.parent.mkdir(parents=True)
    stamps = [datetime.fromtimestamp(START_S + n, UTC).isoformat().replace("+00:00", "Z") for n in (0, 5, 30)]
    calls = [
        {"id": f"call-{n}", "name": "run_shell_command", "args": listed, "status": "success", "timestamp": stamps[n],
         "result": [{"functionResponse": {"id": f"call-{n}", "name": "run_shell_command",
                                          "response": {"output": "a"}}}]}
        for n in (1, 2)
    ]  # fmt: skip
    messages = [{"id": "m0", "timestamp": stamps[0], "type": "user", "content": "list twice"}]
    messages += [
        {
            "id": f"m{n}",
            "timestamp": stamps[n],
            "type": "gemini",
            "content": "",
            "model": "g",
            "toolCalls": [calls[n - 1]],
        }
        for n in (1, 2)
    ]
    base = {"session_id": "s1", "cwd": "/w"}
    told = {"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": listed,
            "tool_response": {"llmContent": "a"}, **base}  # fmt: skip
    desk.drop({"hook_event_name": "BeforeAgent", "prompt": "list twice", **base}, at_s=START_S, agent="gemini")
    for second in (6, 31, 400):  # the last one is not in the transcript yet
        desk.drop(told, at_s=START_S + second, agent="gemini")
    desk.memory.sync()
    assert len(desk.calls(uid="gemini:s1")) == 3
    chat.write_text(json.dumps({"sessionId": "s1", "projectHash": "abc", "startTime": stamps[0],
                                "lastUpdated": stamps[2], "messages": messages}))  # fmt: skip
    desk.memory.sync()
    assert desk.prompts("gemini:s1") == ["list twice"]
    assert [name.startswith("hook:") for name in desk.calls(uid="gemini:s1")] == [True, False, False]
    assert sorted(desk.calls(uid="gemini:s1")) == sorted(desk.calls("tool_result", uid="gemini:s1"))


def test_a_subagents_actions_are_in_its_session(desk: Desk) -> None:
    asked = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t9", "agent_id": "a77"}
    desk.drop(payload("UserPromptSubmit", prompt="look"), at_s=START_S)
    desk.drop(payload("PostToolUse", tool_response="x", **asked), at_s=START_S + 1)
    desk.memory.sync()
    assert desk.calls() == []
    assert desk.calls(uid=f"{UID}/agent-a77") == ["t9"]


BAD = {
    "not_json": b"{{{",
    "no_session": b'{"hook_event_name": "Stop"}',
    "no_event": b'{"session_id": "s"}',
    "too_large": b'{"a": "' + b"x" * (17 << 20) + b'"}',
}


@pytest.mark.parametrize("reason", BAD)
def test_a_drop_that_cannot_be_taken_is_put_aside_and_counted(desk: Desk, reason: str) -> None:
    bad = desk.drop(BAD[reason], at_s=START_S)
    desk.drop(payload("UserPromptSubmit", prompt="hello"), at_s=START_S)
    for _ in range(2):
        desk.memory.sync()
    assert desk.left() == []
    assert (desk.spool / "bad" / reason / bad.name).read_bytes() == BAD[reason]
    assert put_aside(str(desk.spool)) == {reason: 1}
    assert desk.prompts() == ["hello"]
    check = next(c for c in desk.memory.maintenance.doctor().checks if c.name == "hooks")
    assert (check.state, reason.replace("_", " ") in check.detail) == ("warn", True)


HOSTILE = {
    "a list": b"[1]", "null": b"null", "not UTF-8": b'{"session_id": "\xff", "event": "x"}', "deep": b"[" * 100_000,
    "NUL": b"\x00\x00",
    "surrogate": rb'{"session_id": "\ud800", "hook_event_name": "Stop"}',
    "path": b'{"session_id": "../../../etc/x", "hook_event_name": "Stop"}',
    "long": b'{"session_id": "' + b"s" * 5000 + b'", "hook_event_name": "Stop"}',
    "wrong types": b'{"session_id": 7, "hook_event_name": ["a"], "prompt": {"b": 1}}',
    "odd event": b'{"session_id": "s", "hook_event_name": "SomethingNew", "prompt": [1, {"text": 3}]}',
    "odd fields": b'{"session_id": "s", "hook_event_name": "PostToolUse", "tool_input": 1e999, "tool_response": null}',
    "numbers": b'{"session_id": "s", "hook_event_name": "PostToolUse", "duration_ms": 99999999999999999999999}',
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_drops_are_survived(desk: Desk, name: str) -> None:
    desk.drop(HOSTILE[name], at_s=START_S)
    report = desk.memory.sync()
    assert report.state == "done"
    assert desk.left() == []
    assert all(path.resolve().is_relative_to(desk.home) for path in desk.spool.rglob("*"))
    assert desk.memory.maintenance.verify().ok


@pytest.mark.skipif(os.name == "nt", reason="links and pipes")
def test_foreign_things_in_the_spool_are_not_followed(desk: Desk) -> None:
    secret = desk.home.parent / "secret"
    secret.write_text('{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "secret"}')
    (desk.spool / "claude.claude.1.aa.json").symlink_to(secret)
    os.mkfifo(desk.spool / "claude.claude.2.aa.json")
    (desk.spool / "claude.claude.3.aa.json").mkdir()
    (desk.spool / "notes.txt").write_text("mine")
    for _ in range(2):
        assert desk.memory.sync().state == "done"
    assert secret.exists()
    assert not desk.memory.sessions().sessions
    assert (desk.spool / "bad" / "foreign" / "notes.txt").read_text() == "mine"


def test_marks_of_lost_drops_are_counted_and_go(desk: Desk) -> None:
    desk.drop(b"", at_s=START_S, name="claude.claude.1.aa.lost")
    desk.drop(b"", at_s=START_S)
    old = desk.spool / "tmp" / "claude.claude.2.bb"
    old.write_bytes(b'{"half')
    os.utime(old, (START_S, START_S))
    new = desk.spool / "tmp" / "claude.claude.3.cc"
    new.write_bytes(b'{"being written')
    desk.memory.sync()
    assert put_aside(str(desk.spool)) == {"lost": 1, "empty": 1, "torn": 1}
    assert (old.exists(), new.exists()) == (False, True)


class _Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("moment", range(6))
def test_a_crash_anywhere_takes_every_drop_once(desk: Desk, monkeypatch: pytest.MonkeyPatch, moment: int) -> None:
    """Killed at each of the system calls by which drops are taken; Gemini's payloads have no ids that would help."""
    base = {"session_id": "s1", "cwd": "/w", "tool_name": "shell", "tool_input": {"command": "ls"}}
    for number in range(4):
        told = {"hook_event_name": "AfterTool", "tool_response": "a", **base}
        desk.drop(told, at_s=START_S + number * 20, agent="gemini")
    calls = 0
    unlink, fsync = os.unlink, os.fsync

    def killing(real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > moment:
                raise _Killed
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        patch.setattr("recollect.ingest.spooled_events.os.unlink", killing(unlink))
        patch.setattr("recollect.ingest.spooled_events.os.fsync", killing(fsync))
        with pytest.raises(_Killed):
            desk.memory.sync()
    desk.memory.sync()
    assert len(desk.calls(uid="gemini:s1")) == 4
    assert desk.left() == []


def test_files_of_hooks_go_when_they_are_archived(desk: Desk) -> None:
    desk.drop(payload("UserPromptSubmit", prompt="hello"), at_s=START_S)
    desk.memory.sync()
    assert list((desk.spool / "hooks").rglob("*.jsonl")) == []
    desk.drop(payload("UserPromptSubmit", prompt="again"), at_s=START_S + 60)
    desk.memory.sync()
    assert desk.prompts() == ["hello", "again"]
    assert desk.memory.maintenance.verify().ok


def test_a_rebuild_gives_the_same_events(desk: Desk) -> None:
    actions = [prompted(0, "yes", START_S, has_id=True), called(1, "ls", START_S + 30)]
    for action in actions:
        for given_payload in action.hooks:
            desk.drop(given_payload, at_s=action.at_s)
    desk.memory.sync()
    desk.write(*actions[0].lines)
    desk.memory.sync()
    before = sorted((e.kind, e.event_id, e.part) for e in desk.events())
    desk.memory.maintenance.rebuild("all")
    assert sorted((e.kind, e.event_id, e.part) for e in desk.events()) == before


def test_secrets_in_payloads_are_redacted(desk: Desk) -> None:
    secret = "sk-ant-api03-" + "a1B2c3D4" * 11 + "AA"
    desk.drop(payload("UserPromptSubmit", prompt=f"use {secret} please"), at_s=START_S)
    desk.memory.sync()
    assert secret not in desk.prompts()[0]


def test_another_memorys_spool_is_left_alone(desk: Desk) -> None:
    desk.drop(payload("UserPromptSubmit", prompt="hello"), at_s=START_S)
    other = desk.home.parent / "other"
    with Memory.open(other, config=Config(), env=desk.memory.env) as memory:
        memory.sync()
        assert not memory.sessions(sync=False).sessions
    assert len(desk.left()) == 1
    desk.memory.sync()
    assert desk.prompts() == ["hello"]


def test_what_was_put_aside_goes_after_seven_days(desk: Desk) -> None:
    for day in (8, 6):
        desk.drop(f"no JSON, {day} days".encode(), at_s=START_S)
    desk.memory.sync()
    desk.memory.sync()
    aside = sorted((desk.spool / "bad" / "not_json").iterdir())
    assert [path.read_bytes() for path in aside] == [b"no JSON, 8 days", b"no JSON, 6 days"]
    for path, day in zip(aside, (8, 6), strict=True):
        put_there_s = path.stat().st_mtime - day * 86_400
        os.utime(path, (put_there_s, put_there_s))
    observed = read_mark(desk.memory.home, "clock")
    write_mark(desk.memory.home, "clock", f"{DAY_US} 0")
    desk.memory.sync()
    assert [path.exists() for path in aside] == [True, True], "the clock cannot be believed"
    write_mark(desk.memory.home, "clock", observed)
    desk.memory.sync()
    assert [path.exists() for path in aside] == [False, True]
    assert put_aside(str(desk.spool)) == {"not_json": 2}


def test_forgetting_anything_deletes_what_was_put_aside(desk: Desk) -> None:
    desk.write({"type": "user", "uuid": "u1", "sessionId": SESSION, "message": {"role": "user", "content": "zebra"}})
    desk.drop(b'{"no_session": "zebra', at_s=START_S)
    desk.memory.sync()
    assert list((desk.spool / "bad").glob("*/*"))
    desk.memory.maintenance.forgetting.run(ForgetSelection(session=UID))
    assert list((desk.spool / "bad").glob("*/*")) == []


def test_a_parser_state_is_stored_sealed_and_one_in_clear_is_sealed_by_the_next_sync(desk: Desk) -> None:
    said = {"type": "user", "sessionId": SESSION, "cwd": "/work/okapi-enclosure", "gitBranch": "fix/okapi-fence"}
    desk.write({**said, "uuid": "u1", "message": {"role": "user", "content": "one"}})
    desk.memory.sync()
    desk.memory.close()
    db = apsw.Connection(str(desk.home / "memory.db"))
    (sealed,) = db.execute("SELECT state FROM source WHERE length(state) > 0").fetchone()
    assert b"okapi" not in sealed
    keys = load_keys(desk.home / "keys")
    clear = Sealer(keys).open(sealed[:NAME_BYTES], sealed[NAME_BYTES:])
    assert SESSION.encode() in clear
    db.execute("UPDATE source SET state = ? WHERE length(state) > 0", (clear,))
    db.execute("DELETE FROM meta WHERE key = 'parser_states'")  # as an earlier version left it
    db.close()
    desk.memory.sync()
    desk.memory.close()
    db = apsw.Connection(str(desk.home / "memory.db"))
    (again,) = db.execute("SELECT state FROM source WHERE length(state) > 0").fetchone()
    db.close()
    assert Sealer(keys).open(again[:NAME_BYTES], again[NAME_BYTES:]) == clear
    desk.write({**said, "uuid": "u2", "message": {"role": "user", "content": "two"}})
    desk.memory.sync()
    assert desk.prompts() == ["one", "two"]
