"""`doctor --fix` puts right what is safe, says it first, and leaves nothing for a second run."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec
import pytest

from recollect import __version__
from recollect.ingest.daemon_status import Card
from recollect.memory import Fix, Memory
from recollect.store.audit import read_audit
from recollect.store.lock import IngestLock
from tests.ingest.conftest import World, world

__all__ = ["world"]


def change(home: Path, *statements: str) -> None:
    db = apsw.Connection(str(home / "memory.db"))
    for statement in statements:
        db.execute(statement).fetchall()
    db.close()


def open_to_others(memory: Memory) -> None:
    (memory.home / "memory.db").chmod(0o644)
    (memory.home / "archive").chmod(0o755)


def leave_things_behind(memory: Memory) -> None:
    (memory.home / "rebuild" / "half").mkdir(parents=True)
    (memory.home / "index" / "text" / "2020-01.damaged").mkdir()
    (memory.home / "memory.damaged.db").write_bytes(b"")
    (memory.home / "keys" / "wrapping.key.0123456789abcdef.tmp").write_bytes(b"")
    (memory.home / "run").mkdir(mode=0o700, exist_ok=True)
    (memory.home / "run" / "daemon.json").write_bytes(msgspec.json.encode(Card(1, __version__, 0)))


def lose_the_index(memory: Memory) -> None:
    shutil.rmtree(memory.home / "index" / "text")


def fall_behind(memory: Memory) -> None:
    change(memory.home, "UPDATE source SET parser_version = 900", "UPDATE analysis SET scheme = 0")


def lose_the_vectors(memory: Memory) -> None:
    shutil.rmtree(memory.home / "index" / "vectors")


def grow_empty(memory: Memory) -> None:
    change(memory.home, "CREATE TABLE large (data)", f"INSERT INTO large VALUES (zeroblob({20 << 20}))")
    change(memory.home, "DROP TABLE large")


CAUSES = {
    "permissions": open_to_others,
    "leftovers": leave_things_behind,
    "index": lose_the_index,
    "parsers": fall_behind,
    "vectors": lose_the_vectors,
    "wal": grow_empty,
}


@pytest.fixture
def memory(world: World) -> Memory:
    for i in range(5):
        world.claude().user(f"hello {i}")
    world.codex().turn("hello", "there")
    world.memory.sync()
    world.memory.embedding.run()
    world.memory.close()
    for root, _, names in os.walk(world.memory.home):
        Path(root).chmod(0o700)
        for name in names:
            Path(root, name).chmod(0o600)
    return world.memory


@pytest.mark.parametrize("name", CAUSES)
def test_what_is_wrong_is_said_then_put_right(memory: Memory, name: str) -> None:
    cause: Callable[[Memory], None] = CAUSES[name]
    cause(memory)
    before = {check.id for check in memory.maintenance.doctor().checks if check.state != "ok"}
    assert name in before
    said: list[Fix] = []
    planned = memory.maintenance.fix(is_dry_run=True, say=said.append)
    assert {check.id for check in planned.checks if check.state != "ok"} == before
    assert tuple(said) == planned.fixes
    assert {step.state for step in said} == {"would"}
    memory.close()
    report = memory.maintenance.fix(say=said.append)
    assert name in {step.id for step in report.fixes}
    assert {step.state for step in report.fixes} == {"done"}
    assert [check for check in report.checks if check.state != "ok"] == []
    assert read_audit(memory.home, actions=("fix",))[0].value["fixes"] == [[s.id, s.state] for s in report.fixes]
    assert memory.maintenance.fix().fixes == ()
    assert memory.maintenance.verify().ok


def test_nothing_of_the_memory_is_closed_to_its_owner(memory: Memory) -> None:
    open_to_others(memory)
    memory.maintenance.fix()
    assert stat.S_IMODE((memory.home / "memory.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((memory.home / "archive").stat().st_mode) == 0o700


def test_what_somebody_works_at_is_left_alone(memory: Memory) -> None:
    leave_things_behind(memory)
    lock = IngestLock(memory.home)
    try:
        states = {step.id: step.state for step in memory.maintenance.fix().fixes}
    finally:
        lock.release()
    assert states["leftovers"] == "failed"
    assert (memory.home / "rebuild" / "half").exists()


def test_every_check_has_an_id_that_names_no_agent_and_no_file(memory: Memory) -> None:
    checks = memory.maintenance.doctor().checks
    assert all(check.id and check.id.isalpha() for check in checks)
    assert {check.id for check in checks if check.name.startswith("agent ")} == {"agent"}
