"""What taking in holds does not grow with what there is: plans, answers, groups, workers, what the C library keeps."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect.archive.archive import Archive
from recollect.config import AgentConfig, Config, DistillConfig, IngestConfig
from recollect.index.text import refresh as mend
from recollect.index.text import writer as writing
from recollect.ingest import batch_writer as ingest
from recollect.ingest.worker import pool
from recollect.ingest.worker.slices import SourceTask, TaskAnswer
from recollect.ingest.worker.worker import Worker
from recollect.memory import Memory
from recollect.model.ids import source_id
from recollect.store.rows import SourceRow
from recollect.testing.builders import ClaudeTranscript
from tests.ingest.conftest import World

SLICE_BYTES = 64 * 1024
LARGE_WORDS = "a word of many that make a slice full " * 200
HEAP_SCRIPT = """
import ctypes, sys
from recollect.index.text.engine import LARGE_BYTES, bound_heaps

class Told(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]

library = ctypes.CDLL(None)
try:
    library.mallinfo2.restype = Told
except AttributeError:
    raise SystemExit(77)
library.malloc.restype = ctypes.c_void_p
library.free.argtypes = [ctypes.c_void_p]
if sys.argv[1] == "bounded":
    bound_heaps()
library.free(library.malloc(4 * LARGE_BYTES))
before = library.mallinfo2()
piece = library.malloc(4 * LARGE_BYTES)
print(library.mallinfo2().hblkhd - before.hblkhd >= 4 * LARGE_BYTES)
"""


def task(name: str) -> SourceTask:
    row = SourceRow(source_id("claude", name, 0), "claude", "session", name, f"/{name}.jsonl", "jsonl")
    return SourceTask(source=row, path=row.path, relative=name)


def alive(kind: type) -> int:
    return sum(type(one) is kind for one in gc.get_objects())


def large(world: World, name: str, *, turns: int = 60) -> None:
    one = world.claude(name)
    for number in range(turns):
        one.user(f"{name} {number} {LARGE_WORDS}")


def in_workers(world: World, monkeypatch: pytest.MonkeyPatch, *, workers: int) -> Memory:
    monkeypatch.setattr(pool, "SMALL_BYTES", 0)
    config = Config(
        agents={"codex": AgentConfig(enabled=False)},
        ingest=IngestConfig(workers=workers, slice_bytes=SLICE_BYTES),
        distill=DistillConfig(enabled=False),
    )
    return world.again(config)


def test_whoever_began_a_source_goes_on_with_it_and_nobody_else_is_given_it() -> None:
    work = pool.WorkQueue([(task("large"), 2**30)])
    first = work.next_group()
    given: list[list[SourceTask]] = []
    other = threading.Thread(target=lambda: given.append(work.next_group()))
    other.start()
    for _ in range(3):
        first = work.next_group(first)
        assert [one.path for one in first] == ["/large.jsonl"]
        assert given == []
    assert work.next_group([]) == []
    other.join()
    assert given == [[]]


def test_what_goes_on_beside_it_is_for_others() -> None:
    work = pool.WorkQueue([(task("one"), 10), (task("two"), 10)])
    both = work.next_group()
    given: list[list[SourceTask]] = []
    other = threading.Thread(target=lambda: given.append(work.next_group()))
    other.start()
    assert [one.path for one in work.next_group(both)] == ["/one.jsonl"]
    other.join()
    assert [[one.path for one in group] for group in given] == [["/two.jsonl"]]


@pytest.mark.parametrize(("files", "processes"), [(1, 1), (2, 2)])
def test_a_second_worker_is_started_only_for_a_second_source(
    world: World, monkeypatch: pytest.MonkeyPatch, files: int, processes: int
) -> None:
    for number in range(files):
        large(world, f"large{number}", turns=80)
    monkeypatch.setattr(pool, "_GROUP_BYTES", SLICE_BYTES)
    started: list[Any] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **named: Any) -> None:
            started.append(args)
            super().__init__(*args, **named)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    with in_workers(world, monkeypatch, workers=2) as memory:
        report = memory.sync()
        assert (report.state, report.agents["claude"].new) == ("done", files)
        assert memory.maintenance.verify().ok
    assert len(started) == processes


def test_an_answer_is_gone_before_the_next_one_is_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    large(world, "large", turns=60)
    held: list[int] = []
    gc.collect()
    others = alive(TaskAnswer)  # that another test in this process still holds
    run = Worker.run

    def counted(self: Worker, tasks: list[SourceTask]) -> TaskAnswer:
        held.append(alive(TaskAnswer))
        return run(self, tasks)

    monkeypatch.setattr(Worker, "run", counted)
    with world.again(Config(ingest=IngestConfig(slice_bytes=SLICE_BYTES))) as memory:
        memory.sync()
    assert len(held) > 5
    assert set(held) == {others}


def test_a_plan_of_many_files_is_let_go_of_as_they_are_taken(world: World) -> None:
    for number in range(150):
        world.claude(f"s{number}").user(f"word{number}")
    left: list[int] = []
    world.memory.sync(progress=lambda told: left.append(alive(SourceTask)) if told.stage == "ingest" else None)
    assert left[0] >= 150
    assert left[-1] <= pool._GROUP_SOURCES


def test_small_files_are_written_in_groups_of_bounded_number(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        world.claude(f"s{number}").user(f"word{number}")
    monkeypatch.setattr(ingest, "BATCH_SLICES", 8)
    sizes: list[int] = []
    record = Archive.record

    def noted(self: Archive, entries: Any) -> None:
        sizes.append(len(entries))
        record(self, entries)

    monkeypatch.setattr(Archive, "record", noted)
    assert world.memory.sync().agents["claude"].new == 50
    assert (sum(sizes), max(sizes)) == (50, 8)
    assert world.memory.search("word49", sync=False).total == 1


@pytest.mark.parametrize("is_full", [True, False])
def test_after_a_full_group_memory_is_given_back(
    world: World, monkeypatch: pytest.MonkeyPatch, *, is_full: bool
) -> None:
    given_back: list[bool] = []
    monkeypatch.setattr(ingest, "give_back_memory", lambda: given_back.append(True))
    if is_full:
        monkeypatch.setattr(ingest, "BATCH_BYTES", 1)
    world.claude("one").user("word")
    world.memory.sync()
    assert bool(given_back) == is_full


def test_an_index_made_anew_does_not_open_its_shards_again_and_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    months, sessions = 4, 24
    for number in range(sessions):
        start = datetime(2026, 1 + number % months, 3, tzinfo=UTC)
        one = ClaudeTranscript(world.claude_home, f"s{number}", start=start)
        one.user(f"word{number} {LARGE_WORDS}")
    world.memory.sync()
    opened: list[str] = []
    begin = writing._OpenShard.__init__

    def noted(self: Any, path: Path, index: Any) -> None:
        opened.append(path.name)
        begin(self, path, index)

    monkeypatch.setattr(mend, "_BATCH_EVENTS", 1)
    monkeypatch.setattr(writing, "BUFFER_CHARS", 8 * len(LARGE_WORDS))
    monkeypatch.setattr(writing._OpenShard, "__init__", noted)
    world.memory.maintenance.rebuild("index")
    assert len(set(opened)) == months
    assert len(opened) <= sessions // 2, "what waits for a shard is written together"
    for number in range(sessions):
        assert world.memory.search(f"word{number}", sync=False).total == 1


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc's allocator")
def test_large_pieces_stay_out_of_the_heap() -> None:
    told = {}
    for how in ("bounded", "as it comes"):
        ended = subprocess.run([sys.executable, "-c", HEAP_SCRIPT, how], capture_output=True, text=True, check=False)
        if ended.returncode == 77:
            pytest.skip("another C library")
        assert ended.returncode == 0, ended.stderr
        told[how] = ended.stdout.strip()
    assert told == {"bounded": "True", "as it comes": "False"}
