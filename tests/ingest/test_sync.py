"""What a sync takes in: files that grow, shrink, are rewritten, moved, replaced or deleted."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
import zstandard

from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from tests.ingest.conftest import World, texts


def raw(memory: Memory, uid: str, revision: int | None = None) -> bytes:
    return b"".join(memory.maintenance.export_bytes(uid, revision=revision, format="raw"))


def all_texts(memory: Memory, uid: str) -> list[str]:
    return texts(list(memory.events(uid)))


def test_sessions_of_both_agents_are_taken_in_and_can_be_found(world: World) -> None:
    one = world.claude()
    one.user("please rename the flux capacitor")
    one.assistant("renamed it")
    two = world.codex()
    two.turn("why does the gizmo leak", "because of the valve")
    report = world.memory.sync()
    assert report.state == "done"
    assert (report.agents["claude"].new, report.agents["codex"].new) == (1, 1)
    assert all_texts(world.memory, one.uid) == ["please rename the flux capacitor", "renamed it"]
    assert all_texts(world.memory, two.uid) == ["why does the gizmo leak", "because of the valve"]
    assert [h.session_uid for h in world.memory.search("gizmo", sync=False).hits][:1] == [two.uid]


def test_a_second_sync_writes_nothing(world: World) -> None:
    world.claude().user("hello")
    world.memory.sync()
    before = {p: (p.stat().st_size, p.stat().st_mtime_ns) for p in (world.root / "memory").rglob("*.pack")}
    database = (world.root / "memory/memory.db").read_bytes()
    report = world.memory.sync()
    assert report.agents["claude"].unchanged == 1
    assert (report.bytes, report.events, report.agents["claude"].changed) == (0, 0, 0)
    assert {p: (p.stat().st_size, p.stat().st_mtime_ns) for p in (world.root / "memory").rglob("*.pack")} == before
    assert (world.root / "memory/memory.db").read_bytes() == database


def test_an_append_extends_the_revision_and_adds_only_what_is_new(world: World) -> None:
    one = world.claude()
    one.user("first")
    world.memory.sync()
    one.assistant("second")
    report = world.memory.sync()
    assert report.agents["claude"].changed == 1
    assert report.agents["claude"].replays == 0
    assert all_texts(world.memory, one.uid) == ["first", "second"]
    assert [e.location.revision for e in world.memory.events(one.uid)][-1] == 1
    assert raw(world.memory, one.uid) == one.path.read_bytes()


def test_a_half_written_line_is_archived_and_becomes_an_event_when_it_is_whole(world: World) -> None:
    one = world.claude()
    one.user("first")
    one.user("second")
    whole = one.path.read_bytes()
    one.path.write_bytes(whole[:-40])
    world.memory.sync()
    assert all_texts(world.memory, one.uid) == ["first"]
    assert raw(world.memory, one.uid) == whole[:-40]
    one.path.write_bytes(whole)
    world.memory.sync()
    assert all_texts(world.memory, one.uid) == ["first", "second"]
    assert raw(world.memory, one.uid) == whole
    assert world.memory.maintenance.verify().defects == ()


def test_a_rewritten_file_keeps_both_revisions_and_doubles_no_event(world: World) -> None:
    one = world.claude()
    one.user("first")
    one.user("second")
    before = one.path.read_bytes()
    world.memory.sync()
    lines = before.splitlines(keepends=True)
    one.path.write_bytes(lines[1])
    one.user("third")
    after = one.path.read_bytes()
    report = world.memory.sync()
    assert report.agents["claude"].changed == 1
    assert sorted(all_texts(world.memory, one.uid)) == ["first", "second", "third"]
    assert raw(world.memory, one.uid, revision=1) == before
    assert raw(world.memory, one.uid, revision=2) == after
    assert world.memory.maintenance.verify().defects == ()


def test_a_deleted_file_stays_in_the_memory_byte_for_byte(world: World) -> None:
    one = world.claude()
    one.user("first")
    before = one.path.read_bytes()
    world.memory.sync()
    one.path.unlink()
    report = world.memory.sync()
    assert report.agents["claude"].gone == 1
    assert raw(world.memory, one.uid) == before
    assert world.memory.search("first", sync=False).hits


def test_an_unmounted_home_is_absent_not_deleted(world: World) -> None:
    one = world.claude()
    one.user("first")
    world.memory.sync()
    shutil.move(world.claude_home, world.root / "unmounted")
    report = world.memory.sync()
    assert report.agents["claude"].gone == 0
    shutil.move(world.root / "unmounted", world.claude_home)
    assert world.memory.sync().agents["claude"].unchanged == 1


def test_a_moved_session_is_the_same_source(world: World) -> None:
    one = world.claude()
    one.user("first")
    world.memory.sync()
    moved = world.claude_home / "projects/-w-elsewhere" / one.path.name
    moved.parent.mkdir()
    one.path.rename(moved)
    one.path = moved
    one.user("second")
    report = world.memory.sync()
    assert (report.agents["claude"].moved, report.agents["claude"].new) == (1, 0)
    assert all_texts(world.memory, one.uid) == ["first", "second"]


def test_a_file_replaced_under_the_same_name_keeps_the_old_one(world: World) -> None:
    one = world.claude()
    one.user("the old content")
    before = one.path.read_bytes()
    world.memory.sync()
    one.path.unlink()
    one.user("something entirely new")
    world.memory.sync()
    assert sorted(all_texts(world.memory, one.uid)) == ["something entirely new", "the old content"]
    assert raw(world.memory, one.uid, revision=1) == before


def test_a_codex_rollout_survives_archiving_and_compression_as_one_source(world: World) -> None:
    one = world.codex()
    one.turn("first question", "first answer")
    world.memory.sync()
    plain = one.path.read_bytes()
    archived = world.codex_home / "archived_sessions" / (one.path.name + ".zst")
    archived.parent.mkdir(parents=True)
    archived.write_bytes(zstandard.compress(plain))
    one.path.unlink()
    report = world.memory.sync()
    assert (report.agents["codex"].moved, report.agents["codex"].events) == (1, 0)
    assert raw(world.memory, one.uid) == plain


def test_several_homes_and_loose_folders_feed_one_memory(world: World, tmp_path: Path) -> None:
    world.claude().user("from the usual home")
    volume = tmp_path / "volume"
    other = world.claude("two")
    other.path = volume / "somewhere/full.jsonl"
    other.user("from a mounted volume")
    config = Config(agents={"claude": AgentConfig(roots=(str(volume),))})
    with world.again(config) as memory:
        assert memory.sync().agents["claude"].new == 2
        assert all_texts(memory, other.uid) == ["from a mounted volume"]


def test_an_agent_that_is_switched_off_is_not_read(world: World) -> None:
    world.claude().user("hello")
    with world.again(Config(agents={"claude": AgentConfig(enabled=False)})) as memory:
        assert "claude" not in memory.sync().agents


def test_empty_files_are_skipped_with_the_reason(world: World) -> None:
    world.claude().raw(b"")
    report = world.memory.sync()
    assert [s.reason for s in report.agents["claude"].skipped] == ["is empty"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_skipped_and_the_rest_goes_on(world: World) -> None:
    one, two = world.claude("one"), world.claude("two")
    one.user("locked")
    two.user("open")
    one.path.chmod(0)
    report = world.memory.sync()
    assert len(report.agents["claude"].skipped) == 1
    assert all_texts(world.memory, two.uid) == ["open"]


def test_reading_is_fresh_without_a_sync(world: World) -> None:
    one = world.claude()
    one.user("the quick brown vixen")
    assert [h.session_uid for h in world.memory.search("vixen").hits] == [one.uid]
    assert world.memory.sessions().total == 1


def test_while_another_process_ingests_reading_goes_on_and_says_so(world: World) -> None:
    from recollect.store.writer import open_writer

    world.claude().user("the quick brown vixen")
    world.memory.sync()
    world.claude("two").user("a second vixen")
    with world.again() as other:
        holder = open_writer(other.home)
        try:
            answer = other.search("vixen")
            assert len(answer.hits) == 1
            assert any("catching up" in note for note in answer.notes)
            assert other.sync().state == "busy"
        finally:
            holder.close()


def test_a_rebuild_from_the_archive_alone_gives_the_same_memory(world: World) -> None:
    one, two = world.claude(), world.codex()
    for i in range(5):
        one.user(f"question {i}")
        one.assistant(f"answer {i} " + "long " * 1000)
        two.turn(f"prompt {i}", f"reply {i}")
        world.memory.sync()
    rewritten = one.path.read_bytes().splitlines(keepends=True)
    one.path.write_bytes(b"".join(rewritten[2:]))
    world.memory.sync()
    before = {uid: list(world.memory.events(uid)) for uid in (one.uid, two.uid)}
    stats = world.memory.stats()
    shutil.rmtree(world.claude_home)
    shutil.rmtree(world.codex_home)
    world.memory.maintenance.rebuild("all")
    assert {uid: list(world.memory.events(uid)) for uid in (one.uid, two.uid)} == before
    assert world.memory.stats().kind_counts == stats.kind_counts
    assert world.memory.search("question 3", sync=False).hits
    assert world.memory.maintenance.verify().defects == ()


def test_a_deleted_index_is_made_again(world: World) -> None:
    world.claude().user("the quick brown vixen")
    world.memory.sync()
    world.memory.close()
    shutil.rmtree(world.memory.home / "index")
    report = world.memory.sync()
    assert any("brought in step" in note for note in report.notes)
    assert world.memory.search("vixen", sync=False).hits


def test_secrets_never_reach_database_index_or_answers(world: World) -> None:
    key = "AKIA" + "Z" * 4 + "EXAMPLE" + "7" * 5
    one = world.claude()
    one.user(f"my key is {key}, keep it")
    one.tool("Bash", {"command": f"export AWS_ACCESS_KEY_ID={key}"}, f"ok {key} " + "x " * 2000)
    report = world.memory.sync()
    assert sum(report.agents["claude"].redactions.values()) >= 3
    for event in world.memory.events(one.uid):
        assert key not in repr(event)
    assert not world.memory.search(f'"{key}"', sync=False).hits
    assert key.encode() in raw(world.memory, one.uid)
    world.memory.close()
    for path in world.memory.home.rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path


def test_a_newer_parser_derives_what_is_stored_anew_from_the_archive(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    import msgspec

    from recollect.agents.claude.parse import ClaudeAdapter
    from recollect.agents.claude.state import ClaudeState
    from recollect.agents.registry import adapters
    from recollect.model.payloads import AssistantMessage
    from recollect.model.records import Parsed, Record

    one = world.claude()
    one.user("the question")
    one.assistant("an old answer")
    world.memory.sync()
    before = [(e.seq, e.event_id, e.part) for e in world.memory.events(one.uid)]
    one.path.unlink()
    facts = adapters()["claude"].facts

    def louder(self: ClaudeAdapter, record: Record, state: ClaudeState) -> Parsed[ClaudeState]:
        parsed = ClaudeAdapter.parse(self, record, state)
        events = tuple(
            msgspec.structs.replace(d, payload=AssistantMessage(text=d.payload.text.replace("old", "brandnew")))
            if isinstance(d.payload, AssistantMessage)
            else d
            for d in parsed.events
        )
        return msgspec.structs.replace(parsed, events=events)

    newer = msgspec.structs.replace(facts, parser_version=facts.parser_version + 1)
    louder_claude = type("LouderClaude", (ClaudeAdapter,), {"parse": louder, "facts": newer})
    monkeypatch.setitem(adapters(), "claude", louder_claude())
    report = world.memory.sync()
    assert any("rebuilt from the archive" in note for note in report.notes)
    assert all_texts(world.memory, one.uid) == ["the question", "an brandnew answer"]
    assert [(e.seq, e.event_id, e.part) for e in world.memory.events(one.uid)] == before
    assert world.memory.search("brandnew", sync=False).hits
    assert world.memory.maintenance.verify().ok
    assert not world.memory.sync().notes


def test_a_repository_says_nothing_of_agents_that_write_into_repositories(world: World) -> None:
    repository = world.root / "shop"
    repository.mkdir()
    (repository / "README.md").write_text("# shop\n", "utf-8")
    world.claude(cwd=str(repository)).user("where are the webhooks handled?")
    world.memory.sync()
    again = world.memory.sync()
    assert {slug: line.warnings for slug, line in again.agents.items() if line.warnings} == {}
    (repository / ".aider.chat.history.md").write_text("# aider chat started at 2026-01-02 03:04:05\n\n#### hi\n")
    assert world.memory.sync().agents["aider"].found == 1


def test_what_a_bounded_sync_leaves_for_later_is_told_in_the_unit_that_fits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.ingest.operations.REFRESH_BYTES", 100)
    for name in ("one", "two"):
        world.claude(name).user("a vixen " * 100)
    notes = world.memory.search("vixen").notes
    assert any(re.search(r"\d kB are not ingested yet", note) for note in notes), notes
