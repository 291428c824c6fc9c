"""What is forgotten is nowhere, what is not is as it was, and nothing brings it back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import UnknownName, UsageError
from recollect.memory import ForgetReport, ForgetSelection, Memory
from tests.erasure.forget.nowhere import holding
from tests.ingest.conftest import World

SECRET = "zanzibarquux"
"""A word that stands in what is to be forgotten and nowhere else; no detector knows it."""


def forget(memory: Memory, **selection: Any) -> ForgetReport:
    return memory.maintenance.forgetting.run(ForgetSelection(**selection))


def state(memory: Memory, *uids: str) -> dict[str, Any]:
    """Everything that is told of sessions, byte for byte."""
    found: dict[str, Any] = {}
    for uid in uids:
        found[uid] = (
            b"".join(memory.maintenance.export_bytes(uid, format="raw")),
            b"".join(memory.maintenance.export_bytes(uid, format="nodes")),
            [json.dumps(event, default=repr) for event in map(repr, memory.events(uid))],
            memory.digest(uid),
        )
    return found


@pytest.fixture
def two(world: World) -> World:
    """Two sessions of one agent and one of another; the first of them says the word in every place."""
    one = world.claude("one")
    one.user(f"please deploy {SECRET} to production")
    one.tool("Bash", {"command": f"deploy --name {SECRET} --in /srv/{SECRET}"}, f"deployed {SECRET}\n" * 400)
    one.assistant(f"We decided to use {SECRET} because it is faster. I went with {SECRET} instead of cron.")
    other = world.claude("two")
    other.user("please rename the flux capacitor, because the old name is confusing")
    other.tool("Bash", {"command": "sed -i s/flux/fluxo/ capacitor.py"}, "ok")
    other.assistant("I decided to rename it to fluxo instead of keeping flux.")
    world.codex("three").turn("why does the gizmo leak", "because of the valve")
    world.memory.sync()
    world.memory.distilling.run(sessions=[one.uid, other.uid, "codex:three"])
    world.memory.embedding.run()
    return world


def test_a_whole_session_is_nowhere_and_all_others_are_as_they_were(two: World) -> None:
    memory, uid = two.memory, two.claude("one").uid
    others = [s.session_uid for s in memory.sessions(sync=False).sessions if s.session_uid != uid]
    before = state(memory, *others)
    assert memory.search(SECRET, sync=False).total > 0
    assert holding(memory, SECRET)
    report = forget(memory, session=uid)
    assert (report.state, report.whole_sessions, report.partial_sessions) == ("done", 1, 0)
    assert report.notes == []
    assert holding(memory, SECRET) == []
    assert state(memory, *others) == before
    assert memory.search(SECRET, sync=False).total == 0
    with pytest.raises(UnknownName):
        memory.session(uid)
    verified = memory.maintenance.verify()
    assert verified.ok, verified.defects


def test_neither_sync_nor_rebuild_brings_it_back(two: World, tmp_path: Path) -> None:
    memory, one = two.memory, two.claude("one")
    forget(memory, session=one.uid)
    for _ in range(2):
        memory.sync()
        assert holding(memory, SECRET) == []
    text = one.path.read_text()
    one.path.write_text(text + text.splitlines()[-1].replace("faster", f"better {SECRET}") + "\n")  # goes on
    memory.sync()
    assert holding(memory, SECRET) == []
    copy = tmp_path / "elsewhere" / "copy.jsonl"
    copy.parent.mkdir()
    shutil.copy(one.path, copy)
    memory.take_in([copy])
    assert holding(memory, SECRET) == []
    memory.sync(force=True)
    assert holding(memory, SECRET) == []
    memory.close()
    (memory.home / "memory.db").unlink()
    for leftover in memory.home.glob("memory.db-*"):
        leftover.unlink()
    memory.maintenance.rebuild("all")
    assert holding(memory, SECRET) == []
    assert [s.session_uid for s in memory.sessions(sync=False).sessions].count(one.uid) == 0
    memory.sync()
    assert holding(memory, SECRET) == []


def test_records_with_a_text_go_and_their_session_stays(two: World) -> None:
    memory, uid = two.memory, two.claude("two").uid
    report = forget(memory, pattern="flux capacitor")
    assert (report.state, report.whole_sessions, report.partial_sessions) == ("done", 0, 1)
    assert holding(memory, "flux capacitor") == []
    session = memory.session(uid)
    assert "capacitor" not in session.title
    assert [e.kind for e in memory.events(uid)].count("user_message") == 0
    assert [e.kind for e in memory.events(uid)].count("assistant_message") > 0
    verified = memory.maintenance.verify()
    assert verified.ok, verified.defects
    memory.sync()
    assert holding(memory, "flux capacitor") == []
    two.claude("two")  # the builder's file, as it is
    report = memory.sync(force=True)
    assert holding(memory, "flux capacitor") == []


def test_a_dry_run_says_what_would_go_and_changes_nothing(two: World) -> None:
    memory, uid = two.memory, two.claude("one").uid
    before = {p: p.read_bytes() for p in memory.home.rglob("*.pack")}
    planned = memory.maintenance.forgetting.plan(ForgetSelection(session=uid))
    assert planned.state == "planned"
    assert [(s.session_uid, s.is_whole) for s in planned.sessions] == [(uid, True)]
    assert planned.bytes == two.claude("one").path.stat().st_size
    assert {p: p.read_bytes() for p in memory.home.rglob("*.pack")} == before
    assert memory.session(uid).session_uid == uid
    done = forget(memory, session=uid)
    assert (done.whole_sessions, done.sources, done.bytes) == (1, planned.sources, planned.bytes)


def test_nothing_named_is_an_error_and_nothing_meant_says_so(two: World) -> None:
    with pytest.raises(UsageError):
        forget(two.memory)
    with pytest.raises(UsageError):
        forget(two.memory, pattern="(")
    with pytest.raises(UnknownName):
        forget(two.memory, session="claude:no-such")
    with pytest.raises(UnknownName):
        forget(two.memory, repo="no-such-repository")


def test_the_list_has_counts_and_times_only(two: World) -> None:
    assert two.memory.maintenance.forgetting.listed().groups == ()
    forget(two.memory, session=two.claude("one").uid)
    (group,) = two.memory.maintenance.forgetting.listed().groups
    assert (group.kind, group.count) == ("session", 1)


def test_a_whole_sync_after_a_forgetting_tells_of_no_interruption(two: World) -> None:
    forget(two.memory, pattern="flux capacitor")
    for _ in range(2):
        report = two.memory.sync(force=True)
        assert report.notes == []
    forget(two.memory, session=two.claude("one").uid)
    assert two.memory.sync(force=True).notes == []
