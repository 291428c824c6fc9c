"""Sinks keep items and offsets together, whatever happens in between."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import StoreCorrupt, StoreError, StoreLocked
from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Decision
from recollect.model.insights.signals import Retry
from recollect.store.sinks import LinesSink, Retracted, Sink, SqliteSink, id_of_item, kind_of_item

PLACE = SourceLocation("s-1", 1, 0, 10, 0, "00" * 32)


def decision(name: str, statement: str = "use tabs") -> Decision:
    return Decision(id=f"decision:{name}", session_uid="demo:1", location=PLACE, statement=statement)


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def ids_in(path: Path) -> list[str]:
    if path.suffix == ".db":
        with sqlite3.connect(path) as db:
            return [row[0] for row in db.execute("SELECT id FROM nodes ORDER BY id")]
    return [str(line["id"]) for line in lines_of(path)]


OPENERS: dict[str, Callable[[Path], Sink]] = {"ndjson": LinesSink, "db": SqliteSink}


@pytest.fixture(params=sorted(OPENERS))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Callable[[Path], Sink]]:
    return tmp_path / f"nodes.{request.param}", OPENERS[request.param]


def test_what_was_written_and_how_far_the_input_was_read_are_there_after_reopening(
    place: tuple[Path, Callable[[Path], Sink]],
) -> None:
    path, opener = place
    sink = opener(path)
    assert sink.offsets() == {}
    sink.write([decision("a")], {"one.jsonl": 120})
    sink.write([decision("b")], {"two.jsonl": 7})
    sink.write([], {"one.jsonl": 200})
    sink.close()
    sink.close()
    again = opener(path)
    assert again.offsets() == {"one.jsonl": 200, "two.jsonl": 7}
    again.close()
    assert ids_in(path) == ["decision:a", "decision:b"]


def test_a_file_of_lines_only_grows_and_keeps_what_somebody_else_had_in_it(tmp_path: Path) -> None:
    path = tmp_path / "nodes.ndjson"
    path.write_text('{"id": "of somebody"}\n', "utf-8")
    sink = LinesSink(path)
    sink.write([decision("a"), Retracted("decision:a", "demo:1")], {})
    sink.close()
    assert [line["id"] for line in lines_of(path)] == ["of somebody", "decision:a", "decision:a"]
    assert lines_of(path)[-1]["node"] == "retracted"
    if os.name == "posix":
        assert (tmp_path / "nodes.ndjson.offsets").stat().st_mode & 0o777 == 0o600


def test_lines_that_were_never_finished_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "nodes.ndjson"
    sink = LinesSink(path)
    sink.write([decision("a")], {"in": 1})
    sink.close()
    with path.open("ab") as file:
        file.write(b'{"node": "decision", "id": "decision:b"}\n{"torn')
    again = LinesSink(path)
    assert again.offsets() == {"in": 1}
    again.write([decision("b")], {"in": 2})
    again.close()
    assert ids_in(path) == ["decision:a", "decision:b"]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    sink = LinesSink(tmp_path / "nodes.ndjson")
    with pytest.raises(StoreLocked):
        LinesSink(tmp_path / "nodes.ndjson")
    sink.close()
    LinesSink(tmp_path / "nodes.ndjson").close()


def test_a_broken_mark_and_a_shortened_file_are_errors_that_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "nodes.ndjson"
    sink = LinesSink(path)
    sink.write([decision("a")], {"in": 1})
    sink.close()
    mark = tmp_path / "nodes.ndjson.offsets"
    whole = mark.read_bytes()
    mark.write_bytes(b"{")
    with pytest.raises(StoreCorrupt, match="cannot be read") as broken:
        LinesSink(path)
    assert "delete it" in broken.value.hint
    mark.write_bytes(whole)
    path.write_bytes(b"")
    with pytest.raises(StoreCorrupt, match="shorter"):
        LinesSink(path)


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for opener in OPENERS.values():
        with pytest.raises(StoreError):
            opener(tmp_path / "file" / "nodes.db")
    (tmp_path / "folder").mkdir()
    for opener in OPENERS.values():
        with pytest.raises(StoreError):
            opener(tmp_path / "folder")


def test_a_database_keeps_the_newest_of_each_and_forgets_what_was_retracted(tmp_path: Path) -> None:
    path = tmp_path / "nodes.db"
    sink = SqliteSink(path)
    retry = Retry(session_uid="demo:1", tool="shell")
    sink.write([decision("a"), decision("b"), retry], {})
    sink.write([decision("a", "use spaces"), Retracted("decision:b", "demo:1"), retry], {})
    sink.close()
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT id, json FROM nodes").fetchall()
        signals = db.execute("SELECT kind FROM signals").fetchall()
    assert [(name, json.loads(text)["statement"]) for name, text in rows] == [("decision:a", "use spaces")]
    assert signals == [("retry",)]


def test_what_a_sink_is_told_to_forget_it_gives_no_more(place: tuple[Path, Callable[[Path], Sink]]) -> None:
    path, opener = place
    sink = opener(path)
    retry = Retry(session_uid="demo:1", tool="shell")
    sink.write([decision("a"), retry], {})
    assert set(sink.given()) == {"decision:a", id_of_item(retry)}
    sink.write([Retracted(id_of_item(retry), "demo:1")], {})
    assert set(sink.given()) == {"decision:a"}
    sink.close()


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteSink(path)
    assert path.read_bytes() == before


@given(names=st.lists(st.text(min_size=1, max_size=5), max_size=8))
def test_ids_are_the_same_for_the_same_thing_and_tell_others_apart(names: list[str]) -> None:
    items = [decision(name) for name in names]
    assert [id_of_item(item) for item in items] == [f"decision:{name}" for name in names]
    assert {kind_of_item(item) for item in items} <= {"decision"}
    again = [msgspec.json.decode(msgspec.json.encode(item), type=Decision) for item in items]
    assert again == items


WRITER = """
import sys
from pathlib import Path
from tests.store.test_sinks import OPENERS, decision
kind, path = sys.argv[1:]
sink = OPENERS[kind](Path(path))
done = sink.offsets().get("in", 0)
print("ready", flush=True)
while True:
    items = [decision(f"{done:06}-{i}") for i in range(3)]
    done += 1
    sink.write(items, {"in": done})
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("kind", sorted(OPENERS))
def test_killed_at_any_moment_nothing_is_lost_doubled_or_torn(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"nodes.{kind}"
    for round_ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, kind, str(path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.02 + 0.013 * round_)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    sink = OPENERS[kind](path)
    done = sink.offsets().get("in", 0)
    sink.close()
    assert done > 0
    assert ids_in(path) == [f"decision:{n:06}-{i}" for n in range(done) for i in range(3)]
