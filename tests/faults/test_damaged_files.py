"""A damaged file of the memory is named, costs nothing but what it alone held, and is mended where that can be."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from recollect.units import plural
from tests.faults.support.stages import with_vectors
from tests.faults.support.trials import Bench, state_of
from tests.faults.support.worlds import QUESTIONS, World, assert_same, copy_home, events_of, found, opened, prepare_home

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork is POSIX")
ASKING = (
    ("search", "question", "--no-sync", "--json"),
    ("sessions", "--no-sync", "--json"),
    ("doctor", "--json"),
    ("verify", "--json"),
)


class Damage(NamedTuple):
    """What is done to a file."""

    name: str
    do: Callable[[Path, random.Random], None]

    def __call__(self, path: Path, chance: random.Random) -> None:
        self.do(path, chance)

    def __str__(self) -> str:
        return self.name


class Whole(NamedTuple):
    """A home with everything in it, and all that a user sees of it."""

    home: Path
    state: dict[str, Any]


def _zero_a_part(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    at = chance.randrange(max(1, len(data) // 2))
    data[at : at + 600] = bytes(len(data[at : at + 600]))
    path.write_bytes(data)


def _flip_bytes(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(20):
        data[chance.randrange(len(data))] ^= 0xFF
    path.write_bytes(data)


def _cut_off(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(len(data))])


def _fill_with_noise(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(path.stat().st_size))


def _remove(path: Path, _chance: random.Random) -> None:
    path.unlink()


zero_a_part = Damage("zeros", _zero_a_part)
flip_bytes = Damage("flipped bytes", _flip_bytes)
cut_off = Damage("cut off", _cut_off)
fill_with_noise = Damage("noise", _fill_with_noise)
remove = Damage("removed", _remove)
DAMAGES: tuple[Damage, ...] = (zero_a_part, flip_bytes, cut_off, fill_with_noise, remove)
INDEX_FILES = (".term", ".idx", ".pos", ".fast", ".fieldnorm", ".store", "meta.json", ".managed.json", "text/format")
VECTOR_FILES = 2
"""Of each kind of damage, so many files of the vectors are hit, others by each."""


@pytest.fixture(scope="module")
def whole(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    home = prepare_home(tmp_path_factory.mktemp("damaged") / "whole")
    bench.must(home, "sync")
    bench.must(home, "embed")
    return Whole(home, state_of(home, bench.world))


def damaged(whole: Whole, folder: Path, ending: str, damage: Damage) -> Path:
    home = copy_home(whole.home, folder / "home")
    chance = random.Random(f"{ending} {damage.name}")
    paths = [p for p in sorted(home.rglob("*")) if p.is_file() and p.as_posix().endswith(ending) and p.stat().st_size]
    assert paths, ending
    damage(chance.choice(paths), chance)
    return home


def ask_everything(bench: Bench, home: Path) -> dict[str, int]:
    """Ask every question; none may end in anything but an answer or one line. Returns the exit codes."""
    codes = {}
    for question in ASKING:
        ended = bench.run(home, question)
        assert ended.code in (0, 1, 3), (question, ended)
        assert not ended.is_bug, (question, ended)
        codes[question[0]] = ended.code
    return codes


@pytest.mark.parametrize(("ending", "damage"), list(zip(INDEX_FILES, cycle(DAMAGES))), ids=str)
def test_a_damaged_index_is_made_anew_by_the_next_sync_or_rebuild(
    bench: Bench, whole: Whole, tmp_path: Path, ending: str, damage: Damage
) -> None:
    home = damaged(whole, tmp_path, ending, damage)
    ask_everything(bench, home)
    bench.must(home, "sync")
    with opened(home, bench.world.env) as memory:
        memory.search("question", sync=True)
        is_found = {q: found(memory, q) for q in QUESTIONS} == whole.state["found"]
    if not is_found:  # nothing tells damage inside a file that still opens but the answers
        bench.must(home, "rebuild", "index")
    assert_same(home, bench.world, whole.state)


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_damaged_vectors_are_made_anew(bench: Bench, whole: Whole, tmp_path: Path, damage: Damage) -> None:
    vectors = sorted((whole.home / "index" / "vectors").rglob("*"))
    files = [p for p in vectors if p.is_file() and p.stat().st_size and not p.name.endswith(".lock")]
    first = DAMAGES.index(damage)
    for path in [*files[first:], *files][:VECTOR_FILES]:
        home = copy_home(whole.home, tmp_path / "home")
        damage(home / path.relative_to(whole.home), random.Random(f"{path.name} {damage}"))
        ask_everything(bench, home)
        ended = bench.run(home, ("embed",))
        if ended.code:  # said in one line, with what to do
            assert not ended.is_bug, ended
            bench.must(home, "embed", "--anew")
        with_vectors(home, bench.world)


def _damage_pages(path: Path, chance: random.Random) -> None:
    """Flip bytes in a few pages behind the first."""
    data = bytearray(path.read_bytes())
    for page in chance.sample(range(1, len(data) // 4096), 6):
        for _ in range(30):
            data[page * 4096 + chance.randrange(4096)] ^= 0xFF
    path.write_bytes(data)


def _damage_header(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(chance.randbytes(100) + data[100:])


damage_pages = Damage("flipped bytes in pages", _damage_pages)
damage_header = Damage("no header", _damage_header)


@pytest.mark.parametrize("damage", [damage_pages, damage_header, cut_off, fill_with_noise], ids=str)
def test_a_damaged_database_is_named_and_derived_anew_from_the_archive(
    bench: Bench, whole: Whole, tmp_path: Path, damage: Damage
) -> None:
    home = copy_home(whole.home, tmp_path / "home")
    settle(home)
    damage(home / "memory.db", random.Random(damage.name))
    codes = ask_everything(bench, home)
    assert codes["doctor"] == 3
    assert "database" in bench.run(home, ("doctor", "--json")).output
    bench.must(home, "rebuild", "all")
    assert_same(home, bench.world, whole.state)


def settle(home: Path) -> None:
    """Bring everything into the database file itself."""
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


@pytest.mark.parametrize("damage", [flip_bytes, cut_off, fill_with_noise, remove], ids=str)
def test_a_damaged_pack_costs_what_it_held_and_nothing_else(
    bench: Bench, whole: Whole, tmp_path: Path, damage: Damage
) -> None:
    home = damaged(whole, tmp_path, ".pack", damage)
    codes = ask_everything(bench, home)
    assert codes["verify"] == 3
    assert codes["search"] == 0
    lost, kept = lost_and_kept(home, bench.world)
    assert lost
    bench.must(home, "sync")  # taking in goes on
    assert lost_and_kept(home, bench.world)[1] >= kept
    expected = state_of_sessions(whole.home, bench.world, kept)
    shutil.rmtree(home / "index")
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        (home / name).unlink(missing_ok=True)
    ended = bench.run(home, ("rebuild", "all"))
    assert ended.code in (0, 3), ended
    assert not ended.is_bug, ended
    assert state_of_sessions(home, bench.world, kept) == expected


def lost_and_kept(home: Path, world: World) -> tuple[set[str], set[str]]:
    """Return the sessions that verify names as damaged, and those that can be given back, byte for byte."""
    with opened(home, world.env) as memory:
        report = memory.maintenance.verify()
        lost = {x.session_uid for x in report.ledgers if not x.is_ok}
        kept = {x.session_uid for x in report.ledgers if x.is_ok}
        paths = world.transcripts()
        for uid in kept:
            assert b"".join(memory.maintenance.export_bytes(uid, format="raw")) == paths[uid].read_bytes()
        for uid in lost:
            assert any(d.path == str(paths[uid]) for d in report.defects if d.is_loss), "a loss without its place"
    return lost, kept


def state_of_sessions(home: Path, world: World, uids: set[str]) -> dict[str, list[tuple[int, str, str]]]:
    """Return the events of some sessions."""
    with opened(home, world.env) as memory:
        return {uid: [(e.seq, e.event_id, e.summary) for e in memory.events(uid)] for uid in sorted(uids)}


@pytest.mark.parametrize("damage", [flip_bytes, cut_off, fill_with_noise, remove], ids=str)
def test_a_damaged_journal_is_named_and_the_memory_goes_on(
    bench: Bench, whole: Whole, tmp_path: Path, damage: Damage
) -> None:
    home = damaged(whole, tmp_path, "journal.log", damage)
    codes = ask_everything(bench, home)
    assert codes["search"] == 0
    assert codes["verify"] == 3 or codes["doctor"] == 3
    _, kept = lost_and_kept(home, bench.world)
    assert kept == set(bench.world.transcripts())


@pytest.mark.parametrize(("ending", "damage"), [(".pack", flip_bytes), ("journal.log", remove)], ids=str)
def test_a_rebuild_never_gives_up_what_a_sound_database_still_has(
    bench: Bench, whole: Whole, tmp_path: Path, ending: str, damage: Damage
) -> None:
    home = damaged(whole, tmp_path, ending, damage)
    ended = bench.run(home, ("rebuild", "all"))
    assert ended.code in (0, 3)
    assert not ended.is_bug, ended
    with opened(home, bench.world.env) as memory:
        events = {uid: events_of(memory, uid) for uid in whole.state["events"]}
        assert [[e[:4] for e in of_one] for of_one in events.values()] == [
            [e[:4] for e in of_one] for of_one in whole.state["events"].values()
        ]
        assert {q: found(memory, q) for q in QUESTIONS} == whole.state["found"]


def test_damage_of_one_source_does_not_keep_a_newer_parser_from_the_others(
    bench: Bench, whole: Whole, tmp_path: Path
) -> None:
    home = damaged(whole, tmp_path, ".pack", flip_bytes)
    lost, kept = lost_and_kept(home, bench.world)
    assert lost
    assert kept
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("UPDATE source SET parser_version = 0").fetchall()
    connection.close()
    ended = bench.run(home, ("sync", "--json"))
    assert ended.code == 3
    assert not ended.is_bug, ended
    assert f"{plural(len(kept), 'source was', 'sources were')} rebuilt" in ended.output
    assert ended.output.count("cannot be rebuilt") == len(lost)
    assert state_of_sessions(home, bench.world, kept) == state_of_sessions(whole.home, bench.world, kept)


@pytest.mark.parametrize("name", ["keys/data.key", "keys/wrapping.key"])
@pytest.mark.parametrize("damage", [flip_bytes, cut_off, remove], ids=str)
def test_without_its_keys_the_memory_still_answers_and_says_what_is_wrong(
    bench: Bench, whole: Whole, tmp_path: Path, damage: Damage, name: str
) -> None:
    home = damaged(whole, tmp_path, name, damage)
    codes = ask_everything(bench, home)
    assert (codes["search"], codes["sessions"]) == (0, 0)
    assert (codes["doctor"], codes["verify"]) == (3, 3)
    ended = bench.run(home, ("sync", "--json"))
    assert ended.code == 3
    assert "key" in ended.output
    shutil.copy2(whole.home / name, home / name)
    assert_same(home, bench.world, whole.state)


@pytest.mark.parametrize("name", ["ready/stamp.json", "ingest.lock", "memory.db-shm"])
def test_what_can_be_made_again_at_once_is(bench: Bench, whole: Whole, tmp_path: Path, name: str) -> None:
    for damage in (fill_with_noise, remove):
        home = copy_home(whole.home, tmp_path / "home")
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_bytes((home / name).read_bytes() if (home / name).exists() else b"x" * 32768)
        damage(home / name, random.Random(name))
        ask_everything(bench, home)
        bench.must(home, "sync")
        assert_same(home, bench.world, whole.state)
