"""`up`, `sync`, `rebuild` and fresh reads: what changes a memory, from an empty home on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.memory import Memory
from recollect.paths import demo_home

Recollect = Callable[..., Any]
HOSTILE = "zebra \x1b[2J\x1b[31mowned\x07 zebra\u202e"


def codex_file(history: Path) -> Path:
    return sorted((history / "codex").rglob("*.jsonl"))[0]


def say(path: Path, text: str) -> None:
    """Append a user's message to a transcript, as the agent would."""
    payload = {"type": "user_message", "message": text, "images": []}
    line = {"timestamp": "2026-10-20T10:00:00.000Z", "type": "event_msg", "payload": payload}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def test_a_file_is_the_same_however_its_path_is_spelled(
    isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recollect: Recollect
) -> None:
    folder = tmp_path / "notes" / "below"
    folder.mkdir(parents=True)
    for number in range(5):
        (tmp_path / "notes" / f"e{number}.jsonl").touch()
    line = {"type": "user", "sessionId": "s1", "uuid": "u1", "cwd": "/shop", "timestamp": "2026-10-20T10:00:00.000Z",
            "message": {"role": "user", "content": "zebra"}}  # fmt: skip
    (tmp_path / "notes" / "one.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    monkeypatch.chdir(folder)
    first = recollect("import", "../../notes")
    assert f"not taken 5, each is empty:\n  {tmp_path}/notes/e0.jsonl\n" in first.out
    assert first.out.count(".jsonl") == 3
    again = recollect("import", str(tmp_path / "notes"), "--json").data
    assert (again["agents"]["claude"]["new"], again["agents"]["claude"]["unchanged"]) == (0, 1)
    assert len(again["untaken"]) == 5


def test_up_takes_everything_in_and_ends_with_the_closing_screen(history: Path, recollect: Recollect) -> None:
    done = recollect("up", "--once")
    assert done.code == 0
    assert "ingesting" in done.err
    assert "in the memory:" in done.out
    assert "$ recollect search" in done.out
    assert "Type next:" in done.out
    assert "demo" not in done.out


def test_ups_example_finds_something(history: Path, recollect: Recollect) -> None:
    report = recollect("up", "--once", "--json").data
    assert report["stats"]["sessions"] == 11
    assert report["example"]["hits"]
    assert report["demo_home"] == ""


def test_up_without_any_history_loads_the_sample_into_the_demo_home(isolated_home: Path, recollect: Recollect) -> None:
    done = recollect("up", "--once")
    assert done.code == 0
    assert "No agent history on this machine" in done.out
    assert f"RECOLLECT_HOME={demo_home()} recollect search" in done.out
    with Memory.open() as own:
        assert own.stats().sessions == 0


def test_the_demo_never_takes_in_the_users_own_history(
    isolated_home: Path, recollect: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    recollect("up", "--once")
    own = isolated_home / ".codex" / "sessions" / "2026" / "10" / "20"
    own.mkdir(parents=True)
    say(own / "rollout-2026-10-20T10-00-00-01a13018-0000-7000-8000-000000000000.jsonl", "private zebra")
    monkeypatch.setenv("RECOLLECT_HOME", str(demo_home()))
    assert recollect("search", "zebra").code == 1
    assert recollect("search", "webhook").code == 0


def test_up_again_keeps_the_demo_whole(isolated_home: Path, recollect: Recollect) -> None:
    first = recollect("up", "--once", "--json").data
    again = recollect("up", "--once", "--json").data
    assert again["stats"]["events"] == first["stats"]["events"]
    assert sum(a["events"] for a in again["sync"]["agents"].values()) == 0


def test_a_second_sync_takes_in_nothing(history: Path, recollect: Recollect) -> None:
    first = recollect("sync", "--json").data
    again = recollect("sync", "--json").data
    assert sum(a["new"] for a in first["agents"].values()) >= 11
    assert sum(a["new"] + a["changed"] + a["events"] for a in again["agents"].values()) == 0


def test_a_sync_can_be_confined_to_an_agent(history: Path, recollect: Recollect) -> None:
    recollect("sync", "--agent", "codex")
    assert {s["agent"] for s in recollect("sessions", "--no-sync", "--json").data["sessions"]} == {"codex"}


def test_an_unknown_agent_is_refused(history: Path, recollect: Recollect) -> None:
    assert recollect("sync", "--agent", "cobol").code == 2


def test_forcing_derives_the_same_events(history: Path, recollect: Recollect) -> None:
    recollect("sync")
    before = recollect("stats", "--json").data["kind_counts"]
    assert recollect("sync", "--force").code == 0
    assert recollect("stats", "--json").data["kind_counts"] == before


@pytest.mark.parametrize("what", ["index", "all"])
def test_after_a_rebuild_the_same_is_found(what: str, history: Path, recollect: Recollect) -> None:
    recollect("sync")
    before = recollect("search", "webhook", "--json").data["hits"]
    done = recollect("rebuild", what)
    assert done.code == 0
    assert done.out.startswith("rebuilt the ")
    after = recollect("search", "webhook", "--json").data["hits"]
    assert [(h["session_uid"], h["event_id"]) for h in after] == [(h["session_uid"], h["event_id"]) for h in before]


@pytest.mark.parametrize("asked", [("search", "zebra"), ("sessions", "--after", "2026-10-20")])
def test_reading_is_fresh_unless_told_otherwise(asked: tuple[str, ...], history: Path, recollect: Recollect) -> None:
    recollect("sync")
    say(codex_file(history), "a zebra crossed the road")
    assert recollect(*asked, "--no-sync").code == 1
    assert recollect(*asked).code == 0


def test_a_transcript_cannot_control_the_terminal(history: Path, recollect: Recollect) -> None:
    say(codex_file(history), HOSTILE)
    recollect("sync")
    hit = recollect("search", "zebra", "--json").data["hits"][0]
    cite = f"{hit['session_uid']}#{hit['seq']}"
    asked = (("search", "zebra"), ("show", cite), ("timeline", "--limit", "1000"), ("sessions",))
    text = "".join(recollect(*argv).out for argv in asked)
    assert "owned" in text
    assert not set(text) & set("\x1b\x07\u202e")


def test_a_home_that_cannot_be_made_is_one_line(
    isolated_home: Path, recollect: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    (isolated_home / "file").write_text("in the way")
    monkeypatch.setenv("RECOLLECT_HOME", str(isolated_home / "file" / "home"))
    done = recollect("stats")
    assert done.code == 3
    assert done.err.startswith("recollect: cannot make the memory's folder")
