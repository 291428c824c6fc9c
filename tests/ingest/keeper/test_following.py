"""`recollect watch` without paths gives what comes into the memory, once, with a daemon or without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from recollect.memory import Following, LinesSink, Wanted
from tests.ingest.conftest import World


def said(following: Following) -> list[str]:
    """What people and models said in what is new."""
    items: list[Any] = [item for batch in following.look() for item in batch.items]
    return [item.payload.text for item in items if item.kind in ("user_message", "assistant_message")]


def test_only_what_comes_from_now_on_is_given_and_each_once(world: World) -> None:
    talk = world.claude("one")
    talk.user("before")
    world.memory.sync()
    following = Following(world.memory, wanted=Wanted())
    assert said(following) == []
    talk.user("first")
    other = world.claude("two")
    other.user("second")
    world.memory.sync()
    assert sorted(said(following)) == ["first", "second"]
    assert said(following) == []
    talk.assistant("third")
    world.memory.sync()
    assert said(following) == ["third"]
    following.close()


def test_it_begins_earlier_where_it_is_asked_to(world: World) -> None:
    talk = world.claude("one")
    talk.user("first")
    talk.user("second")
    world.memory.sync()
    (first, second) = [e for e in world.memory.events(talk.uid) if e.kind == "user_message"]
    assert first.ts is not None
    assert second.ts is not None
    following = Following(world.memory, wanted=Wanted(), since=second.ts)
    assert said(following) == ["second"]
    talk.user("third")
    world.memory.sync()
    assert said(following) == ["third"]
    following.close()


def test_what_sessions_meant_comes_when_they_are_analysed(world: World) -> None:
    talk = world.claude("one")
    talk.user("Which database do we take?")
    talk.assistant("Decision: we use SQLite for the queue because it needs no server.")
    following = Following(world.memory, wanted=Wanted(False, nodes=True, digests=True))
    world.memory.sync()
    items = [item for batch in following.look() for item in batch.items]
    assert {type(item).__name__ for item in items} >= {"Conversation", "Digest"}
    assert [item for batch in following.look() for item in batch.items] == []
    following.close()


def test_a_sink_goes_on_where_it_was(world: World, tmp_path: Path) -> None:
    talk = world.claude("one")
    talk.user("before")
    world.memory.sync()
    file = tmp_path / "events.ndjson"

    def follow(*texts: str) -> list[str]:
        sink = LinesSink(file)
        following = Following(world.memory, wanted=Wanted(), before=sink)
        for text in texts:
            talk.user(text)
        world.memory.sync()
        for batch in following.look():
            sink.write(batch.items, following.offsets_of(batch))
        following.close()
        sink.close()
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
        return [line["payload"]["text"] for line in lines if line.get("kind") == "user_message"]

    assert follow("first") == ["first"]
    talk.user("while nobody followed")
    world.claude("two").user("a session while nobody followed")
    world.memory.sync()
    assert sorted(follow()) == ["a session while nobody followed", "first", "while nobody followed"]
    assert len(follow("last")) == 4


def test_the_verb_gives_lines_of_json(world: World) -> None:
    world.claude("one").user("please find the quokka")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **world.env, "RECOLLECT_HOME": str(world.root / "memory")}
        command = [sys.executable, "-m", "recollect", "watch", *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    done = run("--once", "--since", "2020-01-01")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert any(line["payload"].get("text") == "please find the quokka" for line in lines)
    assert run("--once").returncode == 1, "nothing came since"
    assert run("somewhere", "--since", "today").returncode == 2
    assert run("--as", "claude").returncode == 2
