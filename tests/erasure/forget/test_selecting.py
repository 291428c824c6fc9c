"""What a selection means: sessions with their subagents, spans of time, files, texts; and nothing besides."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.memory import ForgetReport, ForgetSelection, Memory
from recollect.testing.builders import ClaudeTranscript
from tests.erasure.forget.nowhere import holding
from tests.ingest.conftest import World, texts

START = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)


def forget(memory: Memory, **selection: Any) -> ForgetReport:
    report = memory.maintenance.forgetting.run(ForgetSelection(**selection))
    verified = memory.maintenance.verify()
    assert verified.ok, verified.defects
    return report


def us(after: timedelta) -> int:
    return int((START + after).timestamp() * 1_000_000)


def said(memory: Memory, uid: str) -> list[str]:
    return texts(list(memory.events(uid)))


def test_a_span_of_time_takes_whole_sessions_and_parts_of_others(world: World) -> None:
    early = ClaudeTranscript(world.claude_home, "early", start=START)
    early.user("alpha in the morning")
    across = ClaudeTranscript(world.claude_home, "across", start=START)
    across.user("bravo in the morning")
    across._at = START + timedelta(hours=5)
    across.user("charlie after noon")
    late = ClaudeTranscript(world.claude_home, "late", start=START + timedelta(hours=6))
    late.user("delta after noon")
    world.memory.sync()
    report = forget(world.memory, before=us(timedelta(hours=3)))
    assert (report.whole_sessions, report.partial_sessions) == (1, 1)
    assert said(world.memory, across.uid) == ["charlie after noon"]
    assert said(world.memory, late.uid) == ["delta after noon"]
    session = world.memory.session(across.uid)
    assert (session.title, session.started_at) == ("charlie after noon", us(timedelta(hours=5, seconds=2)))
    assert holding(world.memory, "alpha in", "bravo in") == []
    world.memory.sync()
    world.memory.sync(force=True)
    assert holding(world.memory, "alpha in", "bravo in") == []
    assert said(world.memory, across.uid) == ["charlie after noon"]


def test_what_is_appended_behind_a_forgotten_record_is_taken_in(world: World) -> None:
    one = world.claude("one")
    one.user("echo stays")
    one.user("foxtrot goes")
    world.memory.sync()
    forget(world.memory, pattern="foxtrot")
    one.user("golf comes later")
    world.memory.sync()
    assert said(world.memory, one.uid) == ["echo stays", "golf comes later"]
    assert holding(world.memory, "foxtrot") == []
    verified = world.memory.maintenance.verify()
    assert verified.ok, verified.defects
    one.path.write_bytes(one.path.read_bytes().replace(b"echo stays", b"echo stays on"))  # the agent writes it anew
    world.memory.sync()
    assert holding(world.memory, "foxtrot") == []
    assert "golf comes later" in said(world.memory, one.uid)


def test_a_file_goes_with_what_was_read_of_it(world: World) -> None:
    one = world.claude("one")
    one.user("look at the settings")
    one.tool("Read", {"file_path": "/w/demo/secrets/prod.env"}, "HOTEL=india-value-of-prod")
    one.tool("Read", {"file_path": "/w/demo/readme.md"}, "juliet is fine")
    one.assistant("done")
    world.memory.sync()
    report = forget(world.memory, path="/w/demo/secrets")
    assert (report.whole_sessions, report.partial_sessions) == (0, 1)
    assert holding(world.memory, "prod.env", "india-value") == []
    assert world.memory.search("juliet", sync=False).total > 0
    world.memory.sync(force=True)
    assert holding(world.memory, "prod.env", "india-value") == []


def test_a_repository_goes_with_all_of_its_sessions(world: World) -> None:
    mine = world.claude("mine", cwd="/w/kilo")
    mine.user("lima in kilo")
    other = world.claude("other", cwd="/w/mike")
    other.user("november in mike")
    world.memory.sync()
    assert forget(world.memory, repo="KILO").whole_sessions == 1
    assert holding(world.memory, "lima in kilo") == []
    assert said(world.memory, other.uid) == ["november in mike"]
    assert forget(world.memory, repo="/w/**").whole_sessions == 1


def test_subagents_go_with_the_session_that_they_belong_to(world: World) -> None:
    parent = world.claude("parent")
    parent.user("oscar asks for help")
    folder = parent.path.parent / parent.session / "subagents"
    child = ClaudeTranscript(world.claude_home, "child")
    child.user("papa helps oscar", isSidechain=True, agentId="a1b2c3d")
    lines = [json.loads(line) for line in child.path.read_text().splitlines()]
    child.path.unlink()
    folder.mkdir(parents=True)
    place = folder / "agent-a1b2c3d.jsonl"
    for line in lines:
        line |= {"sessionId": parent.session, "isSidechain": True, "agentId": "a1b2c3d"}
    place.write_text("".join(json.dumps(line) + "\n" for line in lines))
    world.memory.sync()
    found = world.memory.sessions(sync=False).sessions
    assert len(found) == 2
    planned = world.memory.maintenance.forgetting.plan(ForgetSelection(session=parent.uid))
    assert sorted((s.is_whole, s.because_of) for s in planned.sessions) == [(True, ""), (True, parent.uid)]
    forget(world.memory, session=parent.uid)
    assert holding(world.memory, "oscar", "papa helps") == []
    later = folder / "agent-e4f5a6b.jsonl"  # of the forgotten session, written afterwards
    later.write_text(place.read_text().replace("a1b2c3d", "e4f5a6b").replace("papa", "quebec"))
    world.memory.sync()
    assert holding(world.memory, "oscar", "quebec helps") == []
    assert world.memory.sessions(sync=False).total == 0


def test_a_session_in_a_shared_history_takes_its_own_lines_only(world: World) -> None:
    one = world.claude("one")
    one.user("romeo is in the transcript")
    history = world.claude_home / "history.jsonl"
    rows = [
        {"display": "romeo is in the transcript", "timestamp": us(timedelta()) // 1000, "project": "/w/demo",
         "sessionId": one.session, "pastedContents": {}},
        {"display": "sierra of a session that is gone", "timestamp": us(timedelta()) // 1000, "project": "/w/demo",
         "sessionId": "0b0b0b0b-0000-4000-8000-000000000002", "pastedContents": {}},
    ]  # fmt: skip
    history.write_text("".join(json.dumps(row) + "\n" for row in rows))
    world.memory.sync()
    assert world.memory.sessions(sync=False).total == 2
    forget(world.memory, session=one.uid)
    assert holding(world.memory, "romeo") == []
    assert said(world.memory, "claude:0b0b0b0b") == ["sierra of a session that is gone"]
    with history.open("a") as file:
        file.write(json.dumps({**rows[0], "display": "romeo once more"}) + "\n")
        file.write(json.dumps({**rows[1], "display": "tango"}) + "\n")
    world.memory.sync()
    assert holding(world.memory, "romeo") == []
    assert said(world.memory, "claude:0b0b0b0b") == ["sierra of a session that is gone", "tango"]
    verified = world.memory.maintenance.verify()
    assert verified.ok, verified.defects


def test_a_text_that_is_written_as_escapes_is_found(world: World) -> None:
    one = world.claude("one")
    one.user('she said "uniform"\nvictor')
    one.tool("Bash", {"command": "x"}, json.dumps({"inner": json.dumps({"deep": 'whiskey "xray"'})}))
    one.user("yankee stays")
    world.memory.sync()
    assert forget(world.memory, pattern='said "uniform"\nvictor').records == 1
    assert forget(world.memory, pattern='whiskey "xray"').records == 1
    assert holding(world.memory, "uniform", "xray") == []
    assert said(world.memory, one.uid)[-1] == "yankee stays"
