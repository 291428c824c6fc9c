"""Damage stops nothing else, is named, and is put right from wherever the bytes still are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from recollect.archive.packs import ChunkPlace, Condition
from recollect.config import Config
from recollect.errors import StoreLost
from recollect.memory import ForgetSelection, Memory
from recollect.testing.builders import ClaudeTranscript


class Machine:
    """Two sessions of one agent, and the memory of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.one, self.two = (ClaudeTranscript(root / "claude", name) for name in ("one", "two"))
        for each in (self.one, self.two):
            for number in range(6):
                each.user(f"question {number} of {each.uid} about the pelican")
                each.tool("Bash", {"command": "make"}, f"output {number} " + "words " * 600)
        self.home = root / "memory"
        self.memory = Memory.open(
            self.home, config=Config(), env={"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude")}
        )
        assert self.memory.sync().state == "done"

    def places(self, transcript: ClaudeTranscript) -> list[ChunkPlace]:
        (source,) = [s for s in self.memory.reader().sources() if s.path == str(transcript.path)]
        return [place for place, _ in self.memory.reader().chunks(source.source_id, source.revision)]

    def damage(self, transcript: ClaudeTranscript) -> None:
        """Flip a bit in the first chunk of a transcript."""
        place = self.places(transcript)[0]
        self.memory.close()
        path = self.home / "archive" / "packs" / f"{place.pack:06d}.pack"
        data = bytearray(path.read_bytes())
        data[place.offset + 40] ^= 1
        path.write_bytes(data)

    def make_stale(self) -> None:
        """As if an older parser had read everything."""
        self.memory.close()
        connection = apsw.Connection(str(self.home / "memory.db"))
        connection.execute("UPDATE source SET parser_version = 0").fetchall()
        connection.close()

    def events(self, transcript: ClaudeTranscript) -> list[tuple[int, str, str]]:
        return [(e.seq, e.event_id, e.summary) for e in self.memory.events(transcript.uid)]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.memory.close()


def test_a_sync_archives_a_damaged_chunk_again_from_the_agents_file(machine: Machine) -> None:
    machine.damage(machine.one)
    report = machine.memory.sync()
    assert report.state == "done"
    assert "1 damaged chunk was archived again from the agents' files" in report.notes
    assert machine.memory.maintenance.verify().ok
    assert (
        b"".join(machine.memory.maintenance.export_bytes(machine.one.uid, format="raw"))
        == machine.one.path.read_bytes()
    )


def test_a_damaged_chunk_of_an_imported_file_comes_from_where_that_file_still_lies(machine: Machine) -> None:
    one = ClaudeTranscript(machine.root / "elsewhere", "imported")
    for number in range(6):
        one.user(f"question {number} about the pelican")
    machine.memory.take_in([one.path])
    machine.damage(one)
    assert machine.memory.sync().state == "done"
    assert machine.memory.maintenance.verify().ok


def test_what_was_derived_up_to_the_damage_is_derived_whole_once_it_is_repaired(machine: Machine) -> None:
    one = ClaudeTranscript(machine.root / "elsewhere", "imported")
    for number in range(6):
        one.user(f"question {number} about the pelican")
    machine.memory.take_in([one.path])
    before = machine.events(one)
    machine.damage(one)
    (machine.home / "memory.db").unlink()
    hidden = one.path.rename(one.path.with_suffix(".hidden"))
    machine.memory.sync()
    assert one.uid not in {s.session_uid for s in machine.memory.sessions(sync=False).sessions}
    hidden.rename(one.path)
    assert machine.memory.maintenance.repair().ok
    assert machine.events(one) == before
    assert machine.memory.maintenance.verify().ok


def test_what_was_archived_again_is_rebuilt_from_the_archive_alone(machine: Machine) -> None:
    before = machine.events(machine.one)
    machine.damage(machine.one)
    machine.memory.sync()
    machine.memory.close()
    (machine.home / "memory.db").unlink()
    machine.one.path.unlink()
    machine.memory.sync()
    assert machine.events(machine.one) == before
    assert machine.memory.maintenance.verify().ok


def test_other_bytes_in_the_agents_file_are_not_taken_for_the_damaged_ones(machine: Machine) -> None:
    machine.damage(machine.one)
    data = machine.one.path.read_bytes()
    machine.one.path.write_bytes(data.replace(b"pelican", b"herring"))
    machine.memory.sync()
    report = machine.memory.maintenance.verify()
    assert not report.ok  # the first version has a hole
    assert machine.memory.search("herring", sync=False).hits


def test_a_hole_is_named_by_sync_doctor_and_verify_until_it_is_filled(machine: Machine) -> None:
    machine.damage(machine.one)
    machine.one.path.unlink()
    for _ in range(2):
        report = machine.memory.sync()
        assert report.state == "degraded"
        assert any(str(machine.one.path) in note and "repair" in note for note in report.notes)
    (check,) = [c for c in machine.memory.maintenance.doctor().checks if c.id == "archive"]
    assert (check.state, check.details) == ("fail", (machine.one.uid,))
    (loss,) = [d for d in machine.memory.maintenance.verify().defects if d.code == "chunk_unreadable"]
    assert "bytes are damaged" in loss.detail


def test_doctor_finds_damage_that_no_file_time_tells_of(machine: Machine) -> None:
    path = machine.home / "archive" / "packs" / "000001.pack"
    before = path.stat()
    machine.damage(machine.one)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not machine.memory.maintenance.doctor().ok


def test_damage_of_one_source_keeps_nothing_else_from_being_derived_again(machine: Machine) -> None:
    before = machine.events(machine.one), machine.events(machine.two)
    machine.damage(machine.one)
    machine.one.path.unlink()
    machine.make_stale()
    machine.two.user("and a later question about the pelican")
    report = machine.memory.sync()
    assert (report.state, report.events) == ("degraded", 1)
    assert "1 source was rebuilt from the archive by a newer parser" in report.notes
    assert machine.events(machine.one) == before[0]
    assert machine.events(machine.two)[:-1] == before[1]


def test_an_append_to_a_damaged_source_that_an_older_parser_read_stops_nobody(machine: Machine) -> None:
    before = [len(machine.events(each)) for each in (machine.one, machine.two)]
    machine.damage(machine.one)
    machine.make_stale()
    machine.one.user("a question after the damage about the pelican")
    machine.two.user("and one elsewhere about the pelican")
    machine.memory.sync()
    machine.memory.sync()
    assert [len(machine.events(each)) for each in (machine.one, machine.two)] == [n + 1 for n in before]
    assert machine.memory.maintenance.verify().ok


def test_a_rebuild_leaves_a_damaged_source_as_the_database_has_it(machine: Machine) -> None:
    before = machine.events(machine.one), machine.events(machine.two)
    machine.damage(machine.one)
    machine.one.path.unlink()
    report = machine.memory.sync(force=True)
    assert report.state == "degraded"
    assert any("stays as it was" in note for note in report.notes)
    assert (machine.events(machine.one), machine.events(machine.two)) == before
    assert {h.session_uid for h in machine.memory.search("pelican", sync=False).hits} == {
        machine.one.uid, machine.two.uid,
    }  # fmt: skip


def test_a_backup_made_beside_damage_says_what_is_missing_and_can_be_restored(machine: Machine) -> None:
    machine.damage(machine.one)
    made = machine.memory.maintenance.backup(machine.root / "backup")
    assert any("1 chunks of the archive were already damaged" in note for note in made.notes)
    packed = machine.memory.maintenance.backup(machine.root / "backup.tar.zst")
    assert any("already damaged" in note for note in packed.notes)
    for source in ("backup", "backup.tar.zst"):
        with Memory.open(machine.root / f"of-{source}", config=Config(), env=dict(machine.memory.env)) as other:
            assert other.maintenance.restore(machine.root / source).sessions == 2


def test_repair_takes_from_a_backup_what_no_file_has_any_more(machine: Machine) -> None:
    machine.memory.maintenance.backup(machine.root / "backup")
    machine.damage(machine.one)
    machine.one.path.unlink()
    machine.memory.sync()
    without = machine.memory.maintenance.repair()
    assert [(step.id, step.state) for step in without.steps] == [("chunks", "failed")]
    assert without.left.sources[0].sessions == (machine.one.uid,)
    assert machine.memory.maintenance.repair(source=machine.root / "backup").ok
    assert machine.memory.maintenance.verify().ok
    assert machine.memory.maintenance.repair().steps == ()


def test_a_dry_run_of_repair_changes_nothing(machine: Machine) -> None:
    machine.damage(machine.one)
    pack = (machine.home / "archive" / "packs" / "000001.pack").read_bytes()
    report = machine.memory.maintenance.repair(is_dry_run=True)
    assert [(step.id, step.state) for step in report.steps] == [("chunks", "would")]
    assert (machine.home / "archive" / "packs" / "000001.pack").read_bytes() == pack
    assert not machine.memory.maintenance.verify().ok


def test_forgetting_goes_on_beside_damage_and_says_what_was_not_searched(machine: Machine) -> None:
    machine.damage(machine.one)
    machine.one.path.unlink()
    report = machine.memory.maintenance.forgetting.run(ForgetSelection(pattern="question 2"))
    assert report.records
    assert any(str(machine.one.path) in note for note in report.notes)
    machine.memory.maintenance.forgetting.run(ForgetSelection(session=machine.one.uid))
    assert machine.memory.sync().state == "done"  # with the session the hole is gone
    assert machine.memory.maintenance.verify().ok


def test_a_pack_that_comes_back_heals_what_it_held(machine: Machine) -> None:
    pack = machine.home / "archive" / "packs" / "000001.pack"
    data = pack.read_bytes()
    for each in (machine.one, machine.two):
        each.path.unlink()
    machine.memory.close()
    pack.unlink()
    assert machine.memory.sync().state == "degraded"
    later = ClaudeTranscript(machine.root / "claude", "three")
    later.user("a question in between about the pelican")
    machine.memory.sync()
    machine.memory.close()
    assert not pack.exists()  # its number is not used again
    pack.write_bytes(data)
    assert machine.memory.sync().state == "done"
    assert machine.memory.maintenance.verify().ok


def test_nothing_that_only_reads_makes_an_empty_database_beside_an_archive(machine: Machine) -> None:
    machine.memory.close()
    for path in machine.home.glob("memory.db*"):
        path.unlink()
    for ask in (machine.memory.stats, lambda: machine.memory.search("pelican", sync=False)):
        with pytest.raises(StoreLost) as caught:
            ask()
        assert "recollect sync" in caught.value.hint
        machine.memory.close()
    assert not machine.memory.maintenance.doctor().ok
    assert not list(machine.home.glob("memory.db*"))


def test_a_fresh_database_beside_an_archive_gets_its_sessions_back_without_the_agents_files(machine: Machine) -> None:
    """What an earlier version left of a lost database: an empty one, valid as such."""
    before = machine.events(machine.one), machine.events(machine.two)
    machine.memory.close()
    (machine.home / "archive").rename(machine.root / "archive")
    (machine.home / "memory.db").unlink()
    machine.memory.stats()  # makes an empty one, for now there is no archive
    machine.memory.close()
    (machine.root / "archive").rename(machine.home / "archive")
    for each in (machine.one, machine.two):
        each.path.unlink()
    report = machine.memory.sync()
    assert any("2 sessions were derived from the archive" in note for note in report.notes), report.notes
    assert (machine.events(machine.one), machine.events(machine.two)) == before
    assert machine.memory.maintenance.verify().ok


def test_what_was_forgotten_stays_so_when_the_database_is_lost(machine: Machine) -> None:
    machine.memory.maintenance.forgetting.run(ForgetSelection(session=machine.one.uid))
    machine.memory.close()
    (machine.home / "memory.db").unlink()
    report = machine.memory.sync()
    assert any("rebuilt from the archive: 1 session is back" in note for note in report.notes)
    assert [s.session_uid for s in machine.memory.sessions().sessions] == [machine.two.uid]


def test_a_note_about_damage_that_cannot_be_read_is_begun_again(machine: Machine) -> None:
    folder = machine.home / "archive"
    for content in (b"", b"{", b'{"damaged":[["zz",1,2,3,4]]}', b"\xff"):
        (folder / "condition.json").write_bytes(content)
        assert Condition(folder).damaged == frozenset()
        assert machine.memory.sync().state == "done"
