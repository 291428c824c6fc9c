"""After a cut: what is left is proved, given out and derived again as before; what is gone is said, never missing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import apsw
import msgspec
import pytest

from recollect.agents.claude.parse import ClaudeAdapter
from recollect.agents.registry import adapters
from recollect.errors import ArchiveCorrupt
from recollect.model.payloads import AssistantMessage, ToolResult
from tests.erasure.cuts.conftest import DAY, World
from tests.erasure.cuts.lines import cut


def results(world: World) -> list[str]:
    events = world.memory.events(world.one.uid)
    return [str(e.payload.text) for e in events if isinstance(e.payload, ToolResult)]


def test_verify_counts_what_is_gone_and_proves_the_rest(world: World) -> None:
    size = world.one.path.stat().st_size
    before = world.memory.maintenance.verify()
    ranges = world.large_records(world.one)[:5]
    world.cut(world.one, *ranges)
    report = world.memory.maintenance.verify()
    assert report.ok
    assert report.defects == ()
    gone = sum(stop - start for start, stop in ranges)
    assert (report.evicted_bytes, report.forgotten_bytes, report.lost_bytes) == (gone, 0, 0)
    assert report.bytes == before.bytes - gone
    assert (report.records, report.events) == (before.records, before.events)
    (ledger,) = [x for x in report.ledgers if x.session_uid == world.one.uid]
    assert (ledger.bytes_in, ledger.bytes_out, ledger.hole_bytes) == (size, size - gone, gone)
    assert ledger.records_in == ledger.records_out


def test_verify_tells_bytes_that_nobody_took_away_from_those_that_were(world: World) -> None:
    world.cut(world.one, world.large_records(world.one)[3])
    world.memory.close()
    db = apsw.Connection(str(world.home / "memory.db"))
    db.execute("DELETE FROM hole")
    db.close()
    report = world.memory.maintenance.verify()
    assert not report.ok
    assert "bytes_missing" in {defect.code for defect in report.defects}


def test_damage_beside_a_hole_is_still_found(world: World) -> None:
    world.cut(world.one, world.large_records(world.one)[3])
    world.memory.close()
    for pack in (world.home / "archive" / "packs").iterdir():
        data = bytearray(pack.read_bytes())
        if data:
            data[len(data) // 3] ^= 1
            pack.write_bytes(data)
    assert not world.memory.maintenance.verify().ok


def test_export_writes_what_is_there_and_says_what_is_not(world: World, tmp_path: Path) -> None:
    raw = world.one.path.read_bytes()
    ranges = world.large_records(world.one)[2:4]
    world.cut(world.one, *ranges)
    (file,) = world.memory.maintenance.export(world.one.uid, format="raw", out=tmp_path / "out")
    (a, b), (c, d) = ranges
    assert Path(file.path).read_bytes() == raw[:a] + raw[b:c] + raw[d:]
    assert file.holes == 2
    assert [(h.offset_bytes, h.length_bytes, h.reason, h.removed_at) for h in file.missing] == [
        (a, b - a, "evicted", DAY),
        (c, d - c, "evicted", DAY),
    ]
    assert b"".join(world.memory.maintenance.export_bytes(world.two.uid, format="raw")) == world.two.path.read_bytes()


def test_a_body_says_how_much_of_it_is_gone_why_and_since_when(world: World) -> None:
    before = results(world)
    world.cut(world.one, world.large_records(world.one)[0])
    after = results(world)
    assert after[0] == f"[{len(before[0]):,} characters not available: evicted on 2026-11-21]"
    assert after[1:] == before[1:]


def test_who_read_before_a_compaction_reads_on_behind_it(world: World) -> None:
    before = results(world)
    stream = iter(world.memory.events(world.one.uid))
    first = next(stream)
    world.cut(world.two, (0, 1 << 40))
    assert first.seq == 0
    rest = [str(e.payload.text) for e in stream if isinstance(e.payload, ToolResult)]
    assert rest == before


def test_an_unchanged_source_is_not_read_again_and_an_append_goes_on_behind_the_hole(world: World) -> None:
    world.cut(world.one, (0, 1 << 40))
    assert world.memory.sync().agents["claude"].unchanged >= 2
    before = world.source(world.one)
    world.one.user("one more question of the otter")
    world.one.assistant("one more answer")
    report = world.memory.sync()
    assert report.events == 3
    after = world.source(world.one)
    assert (after.revision, after.source_id) == (1, before.source_id)
    assert after.records == before.records + 2
    last = list(world.memory.events(world.one.uid))[-3:]
    assert [e.turn_index for e in last] == [13, 13, 13]
    assert last[0].parent_id is not None
    assert world.memory.maintenance.verify().ok
    assert world.memory.sync().events == 0


def test_a_source_that_is_written_anew_is_a_new_revision_and_the_hole_stays_in_the_old_one(world: World) -> None:
    world.cut(world.one, (0, 20_000))
    data = world.one.path.read_bytes()
    world.one.path.write_bytes(data.replace(b"question 0", b"Question 0", 1))
    world.memory.sync()
    row = world.source(world.one)
    assert row.revision == 2
    report = world.memory.maintenance.verify()
    assert report.ok
    assert report.evicted_bytes > 0
    assert b"".join(world.memory.maintenance.export_bytes(world.one.uid, format="raw")) == world.one.path.read_bytes()


@pytest.mark.parametrize("ranges", [((0, 1 << 40),), ((20_000, 60_000),), ((0, 15_000), (90_000, 1 << 40))])
def test_a_rebuild_makes_the_same_memory_again(world: World, ranges: tuple[tuple[int, int], ...]) -> None:
    world.cut(world.one, *ranges)
    world.one.user("behind the hole")
    world.one.tool("Bash", {"command": "again"}, "and a result " * 300)
    world.two.user("and beside it")
    world.memory.sync()
    before, ledger = world.told(), world.source(world.one)
    world.memory.maintenance.rebuild("all")
    assert world.told() == before
    after = world.source(world.one)
    fields = ("revision", "records", "committed_bytes", "head_sha", "tail_sha", "parser_version", "turn_index")
    assert [getattr(after, f) for f in fields] == [getattr(ledger, f) for f in fields]
    report = world.memory.maintenance.verify()
    assert report.ok
    assert report.evicted_bytes > 0
    world.one.user("and once more")
    assert world.memory.sync().events == 1
    assert world.memory.search("heron", sync=False).total == 24


def test_from_the_archive_alone_everything_that_is_left_is_the_same(world: World) -> None:
    world.cut(world.one, *world.large_records(world.one)[3:6])
    before = {(e.event_id, e.part): e for e in world.memory.events(world.one.uid)}
    gone = {(e.event_id, e.part) for e in before.values() if "not available" in str(e.payload)}
    assert len(gone) == 3
    world.memory.close()
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        (world.home / name).unlink(missing_ok=True)
    shutil.rmtree(world.home / "index")
    world.memory.maintenance.rebuild("all")
    after = {(e.event_id, e.part): e for e in world.memory.events(world.one.uid)}
    assert after.keys() == before.keys() - gone
    for key, event in after.items():
        assert msgspec.structs.replace(event, seq=0) == msgspec.structs.replace(before[key], seq=0)
    assert world.memory.maintenance.verify().ok
    world.one.user("and it goes on")
    assert world.memory.sync().events == 1
    assert world.source(world.one).revision == 1


def test_a_newer_parser_reads_what_is_left_anew_and_leaves_what_is_gone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges = world.large_records(world.one)[3:6]
    world.cut(world.one, *ranges)
    world.cut(world.two, (0, 1 << 40))
    before = list(world.memory.events(world.one.uid))
    of_two = list(world.memory.events(world.two.uid))
    newer(monkeypatch)
    assert any("rebuilt from the archive" in note for note in world.memory.sync().notes)
    after = list(world.memory.events(world.one.uid))
    assert [(e.seq, e.event_id, e.part, e.turn_index) for e in after] == [
        (e.seq, e.event_id, e.part, e.turn_index) for e in before
    ]
    assert {e.payload.text[:6] for e in after if isinstance(e.payload, AssistantMessage)} == {"ANSWER"}
    kept = [e for e in after if "not available" in str(e.payload)]
    assert kept == [e for e in before if "not available" in str(e.payload)]
    assert list(world.memory.events(world.two.uid)) == of_two
    assert world.memory.maintenance.verify().ok
    assert not any("anew" in note for note in world.memory.sync().notes)
    world.two.user("behind it all")
    assert world.memory.sync().events == 1
    assert world.source(world.two).revision == 1


def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a newer version of the parser be installed, which says answers in capitals."""
    facts = adapters()["claude"].facts

    def louder(self: ClaudeAdapter, record: object, state: object) -> object:
        parsed = ClaudeAdapter.parse(self, record, state)  # type: ignore[arg-type]
        events = tuple(
            msgspec.structs.replace(d, payload=AssistantMessage(text=d.payload.text.upper()))
            if isinstance(d.payload, AssistantMessage)
            else d
            for d in parsed.events
        )
        return msgspec.structs.replace(parsed, events=events)

    version = msgspec.structs.replace(facts, parser_version=facts.parser_version + 1)
    monkeypatch.setitem(adapters(), "claude", type("Louder", (ClaudeAdapter,), {"parse": louder, "facts": version})())


def test_doctor_finds_an_archive_with_holes_sound_and_says_what_is_gone(world: World) -> None:
    world.cut(world.one, (0, 1 << 40))
    world.cut(world.two, (0, 1 << 40))
    (check,) = [c for c in world.memory.maintenance.doctor().checks if c.name == "archive"]
    assert check.state == "ok"
    assert re.search(r"\d kB were deleted on purpose", check.detail)


def test_damage_keeps_nobody_from_writing_and_the_cut_stays_promised(world: World) -> None:
    row = world.source(world.one)
    world.memory.close()
    (pack,) = (world.home / "archive" / "packs").iterdir()
    data = pack.read_bytes()
    damaged = bytearray(data)
    for at in range(200, len(data), 300):
        damaged[at] ^= 1
    pack.write_bytes(damaged)
    world.one.path.unlink()  # nothing gives its bytes back
    with world.memory.writing() as (_, writer, _, archive, _keys), pytest.raises(ArchiveCorrupt):
        cut(archive, writer, row.source_id, 1, [(20_000, 30_000)], at=DAY)
    world.two.user("what follows is taken in all the same")
    assert world.memory.sync().events == 1
    with world.memory.writing() as (_, writer, _, _archive, _keys):
        assert [one.source_id for one in writer.removing.holes.waiting()] == [row.source_id]
    pack.write_bytes(data)  # the pack comes back from somewhere
    assert world.memory.maintenance.repair().ok
    with world.memory.writing() as (_, writer, _, _archive, _keys):
        assert writer.removing.holes.waiting() == []
    report = world.memory.maintenance.verify()
    assert report.ok
    assert report.evicted_bytes > 0
