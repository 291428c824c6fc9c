"""Sessions that go: what stays of them, what is found, what can be given back, and that the disk is given back."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect.cli.main import run
from recollect.ingest import analysis as analysing
from recollect.memory import Memory
from recollect.model.payloads import ToolResult
from recollect.serve.mcp.bounded_answer import Caller, Cursors
from recollect.serve.mcp.handler import ToolHandler
from recollect.store.audit import read_audit
from recollect.testing.builders import ClaudeTranscript
from tests.erasure.retention.conftest import WORDS, Work, output


def packs_bytes(home: Path) -> int:
    return sum(path.stat().st_size for path in (home / "archive" / "packs").iterdir())


def evicted(memory: Memory) -> set[str]:
    page = memory.sessions(limit=100, sync=False).sessions
    return {session.session_uid for session in page if session.evicted_at is not None}


def test_an_evicted_session_keeps_its_meaning_and_is_found(work: Work) -> None:
    sessions = work.write()
    with work.open() as memory:
        memory.sync()
        digests = {s.uid: memory.digest(s.uid) for s in sessions}
        decisions = memory.decisions().decisions
        before = packs_bytes(work.home)
        index_before = memory.maintenance.retention.storage().tiers.index_bytes
    assert len(decisions) >= len(sessions)
    with work.open(raw_soft_cap_bytes=0) as memory:
        report = memory.maintenance.retention.evict()
        assert (report.state, report.data_loss) == ("done", 0)
        assert evicted(memory) == {s.uid for s in sessions} == {s.session_uid for s in report.sessions}
        assert {s.uid: memory.digest(s.uid) for s in sessions} == digests
        assert [view.decision for view in memory.decisions().decisions] == [view.decision for view in decisions]
        assert any("was evicted" in note for note in memory.decisions().notes)
        assert packs_bytes(work.home) < before / 10
        assert memory.maintenance.retention.storage().tiers.index_bytes < index_before
        assert report.freed_bytes >= before - packs_bytes(work.home)
        for session, word in zip(sessions, WORDS, strict=False):
            answer = memory.search(f"{word} importer slow", sync=False)
            assert answer.hits[0].session_uid == session.uid
            assert any("was evicted" in note for note in answer.notes)
            kept = list(memory.events(session.uid, limit=None))
            assert {event.kind for event in kept} >= {"user_message", "assistant_message"}
            assert 0 < len(kept) < memory.session(session.uid).event_count
        verified = memory.maintenance.verify()
        assert verified.ok, verified.defects
        assert memory.maintenance.retention.evict().sessions == []


def test_what_evicted_events_said_is_found_no_more_nor_given_back(work: Work) -> None:
    sessions = work.write(2)
    needle = output(1, 3_000).split()[3]
    with work.open() as memory:
        memory.sync()
        assert [hit.session_uid for hit in memory.search(needle, sync=False).hits] == [sessions[0].uid]
    with work.open(raw_soft_cap_bytes=0) as memory:
        memory.maintenance.retention.evict()
        assert memory.search(needle, sync=False).hits == ()
        for session in sessions:
            told = [str(event.payload) for event in memory.events(session.uid, limit=None)]
            assert not any(needle in text for text in told)
            assert needle.encode() not in b"".join(memory.maintenance.export_bytes(session.uid, format="raw"))


def test_large_results_go_alone_where_that_is_enough(work: Work) -> None:
    _small, large = work.write(2, large=[1])
    with work.open() as memory:
        memory.sync()
        raw = memory.maintenance.retention.storage().raw_bytes
        digest = memory.digest(large.uid)
    with work.open(raw_soft_cap_bytes=raw - 20_000) as memory:
        report = memory.maintenance.retention.evict()
        assert [(s.session_uid, s.part, s.reason) for s in report.sessions] == [(large.uid, "large", "budget")]
        assert evicted(memory) == set()
        assert memory.maintenance.retention.storage().raw_bytes <= raw - 20_000
        texts = [e.payload.text for e in memory.events(large.uid, limit=None) if isinstance(e.payload, ToolResult)]
        (cut,) = [text for text in texts if "not kept: evicted on" in text]
        assert cut.startswith(output(1, 100_000)[:1000].replace("\r", ""))
        assert memory.session(large.uid).event_count == len(list(memory.events(large.uid, limit=None)))
        assert memory.maintenance.verify().ok
        memory.distilling.run(sessions=[large.uid])
        assert memory.digest(large.uid) == digest


def test_an_append_to_an_evicted_session_adds_to_what_it_came_to(work: Work) -> None:
    (session, *_rest) = work.write(1)
    with work.open(raw_soft_cap_bytes=0) as memory:
        memory.sync()
        assert evicted(memory) == {session.uid}
        before = memory.digest(session.uid)
        nodes = {kept.node.id for kept in memory.nodes(session=session.uid)}
        seqs = [event.seq for event in memory.events(session.uid, limit=None)]
        session.user("One more thing: let's drop the cache instead of warming it.")
        session.assistant("The cache is dropped.")
        assert memory.sync().events == 2 + 1  # with the token count
        memory.distilling.run(sessions=[session.uid])
        after = memory.digest(session.uid)
        assert before is not None
        assert after is not None
        assert (after.event_count, after.cost.turns) == (before.event_count + 3, before.cost.turns + 1)
        assert (after.first_prompt, after.last_assistant) == (before.first_prompt, "The cache is dropped.")
        assert after.tool_histogram == before.tool_histogram
        assert {kept.node.id for kept in memory.nodes(session=session.uid)} > nodes
        assert [e.seq for e in memory.events(session.uid, limit=None)][: len(seqs)] == seqs
        assert memory.maintenance.verify().ok
        assert [s.session_uid for s in memory.maintenance.retention.evict().sessions] == [session.uid]
        assert memory.digest(session.uid) == after
        assert memory.maintenance.verify().ok


def test_what_the_agent_writes_again_is_known_again(work: Work) -> None:
    (session, *_rest) = work.write(1)
    with work.open(raw_soft_cap_bytes=0) as memory:
        memory.sync()
        before = memory.digest(session.uid)
        content = session.path.read_bytes()
        session.path.write_bytes(b"\n" + content)  # a rewrite: another beginning, the same records
        report = memory.sync()
        assert report.events == 0
        assert report.agents["claude"].replays > 0
        assert memory.digest(session.uid) == before
        assert memory.maintenance.verify().ok


def test_a_session_that_is_not_analysed_is_not_taken_below_the_hard_cap(work: Work) -> None:
    (session, *_rest) = work.write(1)
    with work.open(raw_soft_cap_bytes=0) as memory:
        memory.refresh()  # takes in, analyses nothing
        assert memory.maintenance.retention.preview().sessions == []
        assert memory.maintenance.retention.evict().sessions == []
        assert b"".join(memory.maintenance.export_bytes(session.uid, format="raw")) == session.path.read_bytes()


def test_above_the_hard_cap_sessions_are_analysed_first(work: Work) -> None:
    sessions = work.write(2)
    with work.open(raw_soft_cap_bytes=0, raw_hard_cap_bytes=0) as memory:
        memory.refresh()
        preview = memory.maintenance.retention.preview()
        assert {s.reason for s in preview.sessions} == {"overflow"}
        report = memory.maintenance.retention.evict()
        assert {s.session_uid for s in report.sessions} == {s.uid for s in sessions}
        assert {s.reason for s in report.sessions} == {"overflow"}
        assert report.data_loss == 0
        assert all(memory.digest(s.uid) is not None for s in sessions)
        assert memory.decisions().total >= 2


def test_what_cannot_be_analysed_goes_last_and_is_told_as_data_loss(
    work: Work, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = work.write(2)
    told = work.folder / "told"
    script = work.folder / "tell.py"
    script.write_text(f"import sys, pathlib\npathlib.Path({str(told)!r}).open('a').write(sys.stdin.read())\n")
    real = analysing.draft_of

    def failing(source: Any, *args: Any, **kwargs: Any) -> Any:
        if source.session.session_uid == second.uid:
            raise ZeroDivisionError
        return real(source, *args, **kwargs)

    monkeypatch.setattr(analysing, "draft_of", failing)
    with work.open(raw_soft_cap_bytes=0, raw_hard_cap_bytes=0, notify=(sys.executable, str(script))) as memory:
        memory.refresh()
        report = memory.maintenance.retention.evict()
        reasons = [(s.session_uid, s.reason) for s in report.sessions]
        assert reasons == [(first.uid, "overflow"), (second.uid, "data_loss")]
        assert report.data_loss == 1
        assert any("data loss" in note for note in report.notes)
        (entry,) = read_audit(work.home, actions=["data_loss"])
        assert entry.value["event"] == "session_memory.data_loss"
        assert entry.value["session_uid"] == second.uid
        assert memory.maintenance.verify().ok
    (line,) = told.read_text().splitlines()
    said = json.loads(line)
    assert (said["event"], said["sessions"]) == ("session_memory.data_loss", [second.uid])
    monkeypatch.setenv("RECOLLECT_HOME", str(work.home))
    assert run(["digest", first.uid]) == 0
    assert run(["digest", first.uid.partition(":")[2][:12]]) == 0, "named as `show` takes it"
    capsys.readouterr()
    assert run(["digest", second.uid, "--json"]) == 1
    told_now = capsys.readouterr()
    assert told_now.out == "null\n"
    assert "before it was analysed, because the archive was over its hard cap" in told_now.err


def test_a_pinned_session_stays_whole_and_so_do_those_below_it(work: Work) -> None:
    first, second = work.write(2)
    child = ClaudeTranscript(work.folder / "claude", "session 0", cwd="/w/shop")
    child.path = first.path.with_suffix("") / "subagents" / "agent-one.jsonl"
    child.user("Look into the otter importer", isSidechain=True, agentId="one")
    child.assistant("Nothing is wrong there.")
    with work.open(raw_soft_cap_bytes=0, raw_hard_cap_bytes=0, cadence="weekly") as memory:
        memory.refresh()
        memory.maintenance.retention.pin(first.uid)
        report = memory.maintenance.retention.evict()
        assert evicted(memory) == {second.uid}
        assert any("pinned" in note for note in report.notes)
        assert b"".join(memory.maintenance.export_bytes(first.uid, format="raw")) == first.path.read_bytes()
        assert [pin.session_uid for pin in memory.maintenance.retention.pins()] == [first.uid]
        assert memory.maintenance.retention.unpin(first.uid)
        memory.maintenance.retention.evict()
        assert first.uid in evicted(memory)


def test_the_only_copy_is_spared_from_age_but_not_from_the_caps(work: Work) -> None:
    gone, there = work.write(2)
    with work.open(raw_max_age_days="never") as memory:
        memory.sync()
        gone.path.unlink()
        memory.sync()
    with work.open(raw_max_age_days=0) as memory:
        assert [s.session_uid for s in memory.maintenance.retention.evict().sessions] == [there.uid]
    with work.open(raw_soft_cap_bytes=0, raw_max_age_days="never", keep_gone="always") as memory:
        assert memory.maintenance.retention.preview().sessions == []
    with work.open(raw_soft_cap_bytes=0, raw_max_age_days="never") as memory:
        assert [s.session_uid for s in memory.maintenance.retention.evict().sessions] == [gone.uid]


def test_a_dry_run_tells_exactly_what_goes_and_changes_nothing(work: Work) -> None:
    work.write(4, large=[2])
    with work.open() as memory:
        memory.sync()
        raw = memory.maintenance.retention.storage().raw_bytes
    with work.open(raw_soft_cap_bytes=raw // 3) as memory:
        before = (work.home / "memory.db").read_bytes()
        preview = memory.maintenance.retention.preview()
        assert preview.is_dry_run
        assert (work.home / "memory.db").read_bytes() == before
        done = memory.maintenance.retention.evict()
        assert done.sessions == preview.sessions
        assert done.left_bytes <= raw // 3


def test_what_storage_costs_adds_up(work: Work) -> None:
    work.write(3)
    with work.open(raw_soft_cap_bytes=1000, raw_hard_cap_bytes=1 << 30, cadence="weekly") as memory:
        memory.refresh()
        memory.distilling.run(sessions=[s.session_uid for s in memory.sessions(sync=False).sessions])
        cost = memory.maintenance.retention.storage()
        assert cost.raw_bytes == cost.evictable_bytes == sum(a.archive_bytes + a.text_bytes for a in cost.agents)
        assert [line.name for line in cost.repos] == ["shop"]
        assert cost.to_soft_cap_bytes == 1000 - cost.raw_bytes < 0 < cost.to_hard_cap_bytes
        on_disk = sum(
            path.stat().st_size
            for part in ("archive", "index", "memory.db", "memory.db-wal")
            for path in ([work.home / part] if (work.home / part).is_file() else (work.home / part).rglob("*"))
            if path.is_file()
        )
        assert cost.total_bytes == on_disk
        assert os.path.getsize(work.home / "memory.db") >= cost.tiers.text_bytes + cost.tiers.distilled_bytes


def test_an_agent_that_asks_is_told_that_raw_text_is_gone(work: Work) -> None:
    (session, *_rest) = work.write(1)
    with work.open(raw_soft_cap_bytes=0) as memory:
        memory.sync()
        desk = ToolHandler(memory, Cursors(b"k"), Caller(()))
        summary = desk.answer("get_session", {"session": session.uid})
        assert "its raw text was evicted on" in summary
        assert "The otter importer is slow." in summary
        assert "the otter rows are batched" in summary
        assert "was evicted" in desk.answer("search", {"query": "otter importer slow", "scope": "all"})
        cited = memory.decisions().decisions[0].citation
        assert "otter" in desk.answer("open", {"id": cited})
