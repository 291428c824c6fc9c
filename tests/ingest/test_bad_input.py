"""Bad input gets a counted defect or a one-line reason; the rest goes on and nothing stored is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.errors import SchemaTooNew, StoreCorrupt
from recollect.memory import Memory
from recollect.store.rows import EventFilter
from tests.ingest.conftest import World, texts

USER = b'{"type":"user","uuid":"x1","sessionId":"s","message":{"role":"user","content":"%s"}%s}\n'
BAD_LINES = {
    "not_json": b'{"type": "user", "uuid": \n',
    "invalid_utf8": USER % (b"caf\xe9 chablis", b""),
    "bent_json": USER % (b"nul \x00 here", b""),
    "too_deep": b'{"type":"user","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}\n",
    "number_out_of_range": USER % (b"big", b',"n":1e999'),
}


@pytest.mark.parametrize("code", BAD_LINES)
def test_a_bad_line_is_counted_with_its_place_and_its_neighbours_are_kept(world: World, code: str) -> None:
    one = world.claude()
    one.user("before the bad line")
    one.raw(BAD_LINES[code])
    one.user("after the bad line")
    report = world.memory.sync()
    assert report.agents["claude"].defects.get(code) == 1
    said = texts(list(world.memory.events(one.uid)))
    assert said[0] == "before the bad line"
    assert said[-1] == "after the bad line"
    assert b"".join(world.memory.maintenance.export_bytes(one.uid, format="raw")) == one.path.read_bytes()
    verified = world.memory.maintenance.verify()
    assert verified.ok
    assert [(d.code, d.record_index) for d in verified.defects if d.code == code] == [(code, 1)]


def test_every_line_of_a_comment_is_kept_and_searchable(world: World) -> None:
    one = world.claude()
    one.user("hello")
    one.raw(b"// annotated by zanzibar\n")
    world.memory.sync()
    assert world.memory.search("zanzibar", sync=False).hits


def test_a_hundred_megabyte_line_is_archived_in_pieces_and_never_decoded(world: World) -> None:
    one = world.claude()
    one.user("before")
    size = 100_000_000
    with one.path.open("ab") as handle:
        handle.write(b'{"type":"assistant","uuid":"giant","note":"haystackneedle","x":"')
        for _ in range(100):
            handle.write(os.urandom(500_000).hex().encode())
        handle.write(b'"}\n')
    one.user("after")
    assert one.path.stat().st_size > size
    report = world.memory.sync()
    assert report.agents["claude"].defects == {"too_large": 1}
    events = list(world.memory.events(one.uid))
    assert texts(events) == ["before", "after"]
    assert [e.payload.type for e in events if e.kind == "unknown"] == ["assistant"]  # type: ignore[union-attr]
    position = 0
    with one.path.open("rb") as handle:
        for piece in world.memory.maintenance.export_bytes(one.uid, format="raw"):
            assert handle.read(len(piece)) == piece
            position += len(piece)
    assert position == one.path.stat().st_size
    assert world.memory.maintenance.verify().ok
    one.user("later")
    world.memory.sync()
    assert texts(list(world.memory.events(one.uid)))[-1] == "later"


def test_wrong_types_in_every_field_never_stop_a_sync(world: World) -> None:
    one = world.claude()
    uuid = one.user("the good record")
    good = json.loads(one.path.read_bytes())
    odd: list[Any] = [None, True, -1, 1.5, "x", [], {}, [1], {"a": 1}]
    for key in good:
        for value in odd:
            one.raw(json.dumps({**good, "uuid": f"{uuid}-{key}-{odd.index(value)}", key: value}).encode() + b"\n")
    one.user("the last record")
    world.memory.sync()
    assert texts(list(world.memory.events(one.uid)))[-1] == "the last record"
    assert world.memory.maintenance.verify().ok


def test_a_file_that_vanishes_between_planning_and_reading_is_skipped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.ingest import sync as module

    one, two = world.claude("one"), world.claude("two")
    one.user("stays")
    two.user("vanishes")
    plan_all = module._plan_all

    def plan_then_delete(*args: Any, **named: Any) -> Any:
        planned = plan_all(*args, **named)
        two.path.unlink()
        return planned

    monkeypatch.setattr(module, "_plan_all", plan_then_delete)
    report = world.memory.sync()
    assert [Path(s.path).name for s in report.agents["claude"].skipped] == [two.path.name]
    assert texts(list(world.memory.events(one.uid))) == ["stays"]


def test_times_that_jump_keep_the_order_of_the_file(world: World) -> None:
    one = world.claude()
    for at in ("2026-08-01T10:00:00.000Z", "1970-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z", "not a time"):
        one.user(f"said at {at}", timestamp=at)
    world.memory.sync()
    assert texts(list(world.memory.events(one.uid))) == [
        "said at 2026-08-01T10:00:00.000Z",
        "said at 1970-01-01T00:00:00.000Z",
        "said at 2099-01-01T00:00:00.000Z",
        "said at not a time",
    ]


def test_a_database_of_a_newer_version_is_refused_in_one_line(world: World) -> None:
    world.claude().user("hello")
    world.memory.sync()
    world.memory.close()
    db = apsw.Connection(str(world.memory.home / "memory.db"))
    db.execute("PRAGMA user_version = 9999").fetchall()
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE name = 'migration'")]
    if tables:
        db.execute("INSERT INTO migration VALUES (9999, 'from the future', 0)")
    db.close()
    with pytest.raises(SchemaTooNew, match="newer"):
        world.memory.sync()


def test_a_corrupt_database_is_named_and_rebuilt_from_the_archive(world: World) -> None:
    one = world.claude()
    for i in range(200):
        one.user(f"message {i}")
    world.memory.sync()
    before = [e.event_id for e in world.memory.events(one.uid)]
    world.memory.close()
    path = world.memory.home / "memory.db"
    path.write_bytes(os.urandom(path.stat().st_size))
    for beside in (path.with_name("memory.db-wal"), path.with_name("memory.db-shm")):
        beside.unlink(missing_ok=True)
    with pytest.raises(StoreCorrupt):
        world.memory.sync()
    with world.again() as memory:
        assert not memory.maintenance.doctor().ok
        memory.maintenance.rebuild("all")
        assert [e.event_id for e in memory.events(one.uid)] == before


def test_a_corrupt_index_shard_is_set_aside_and_made_again(world: World) -> None:
    world.claude().user("the quick brown vixen")
    world.memory.sync()
    world.memory.close()
    for meta in (world.memory.home / "index").rglob("meta.json"):
        meta.write_bytes(b"garbage")
    with world.again() as memory:
        memory.sync()
        assert memory.search("vixen", sync=False).hits


def test_a_full_disk_is_said_in_one_line_and_nothing_stored_is_lost(world: World) -> None:
    resource = pytest.importorskip("resource")
    import subprocess
    import sys

    one = world.claude()
    one.user("stored before the disk was full")
    world.memory.sync()
    world.memory.close()
    for _ in range(300):
        one.user("more " + os.urandom(4000).hex())
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n"
        "from recollect.errors import RecollectError\n"
        "from recollect.memory import Memory\n"
        "try:\n    Memory.open(sys.argv[1]).sync()\n"
        "except RecollectError as error:\n    print(error.code)\n    sys.exit(error.exit_code)\n"
    )
    assert resource.RLIMIT_FSIZE is not None
    result = subprocess.run(
        [sys.executable, "-c", code, str(world.memory.home)],
        env={**os.environ, **world.env}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 3, result.stderr
    with world.again() as memory:
        assert memory.search("stored before the disk", sync=False).hits
        memory.sync()
        assert memory.session(one.uid).kind_counts["user_message"] == 301
        assert memory.maintenance.verify().ok


def test_a_broken_home_never_stops_a_search_that_can_answer(world: World) -> None:
    world.claude().user("the quick brown vixen")
    world.memory.sync()
    world.memory.close()
    key = next((world.memory.home / "keys").iterdir())
    key.rename(key.with_suffix(".gone"))
    with world.again() as memory:
        answer = memory.search("vixen")
        assert answer.hits
        assert memory.sessions(where=EventFilter(), sync=False).total == 1
        assert any(c.name == "keys" and c.state == "fail" for c in memory.maintenance.doctor().checks)


def test_a_home_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    from recollect.errors import StoreError

    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    with Memory.open(blocker / "home", env={"HOME": str(tmp_path)}) as memory, pytest.raises(StoreError):
        memory.sync()


def test_a_file_that_shrinks_between_planning_and_reading_is_left_for_the_next_sync(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.ingest import sync as module

    one = world.claude()
    for i in range(20):
        one.user(f"message {i}")
    world.memory.sync()
    before = one.path.read_bytes()
    one.user("one more")
    plan_all = module._plan_all

    def plan_then_truncate(*args: Any, **named: Any) -> Any:
        planned = plan_all(*args, **named)
        one.path.write_bytes(before[:300])
        return planned

    with monkeypatch.context() as patched:
        patched.setattr(module, "_plan_all", plan_then_truncate)
        report = world.memory.sync()
    assert "changed while it was read" in report.agents["claude"].skipped[0].reason
    one.path.write_bytes(before)
    one.user("one more")
    world.memory.sync()
    assert texts(list(world.memory.events(one.uid)))[-1] == "one more"
    assert world.memory.maintenance.verify().ok


def test_a_source_that_cannot_be_read_makes_the_sync_degraded_and_says_how_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.capture import sources

    one, two = world.claude("one"), world.claude("two")
    one.user("cannot be read")
    two.user("can be read")
    real_open = os.open

    def refuse(path: Any, *args: Any, **kwargs: Any) -> int:
        if str(path) == str(one.path):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *args, **kwargs)

    monkeypatch.setattr(sources.os, "open", refuse)
    report = world.memory.sync()
    assert report.state == "degraded"
    assert any("1 source could not be read" in note for note in report.notes)
    assert texts(list(world.memory.events(two.uid))) == ["can be read"]
