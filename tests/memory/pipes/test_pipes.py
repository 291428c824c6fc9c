"""Reading, playing, watching and verifying transcripts without a home."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recollect import Memory
from recollect.config import Config
from recollect.memory import (
    Followed,
    LinesSink,
    Pace,
    SqliteSink,
    Wanted,
    Watcher,
    items_of,
    mean,
    play,
    read_path,
    stages_of,
    verify_path,
)
from recollect.memory.transcripts import FileVerifyReport
from recollect.store.sinks import Item, Retracted, id_of_item, id_of_json
from recollect.testing.builders import ClaudeTranscript, CodexRollout

KEY = "AKIA" + "Z7Q2" * 4
"""Synthetic: the shape of a cloud key."""


def talk(folder: Path, name: str = "one") -> ClaudeTranscript:
    transcript = ClaudeTranscript(folder, name)
    transcript.user("Let's use Postgres instead of MySQL for the orders store, because we need transactions.")
    transcript.assistant("Understood.")
    transcript.write("/w/demo/db/postgres.py", "import psycopg  # Postgres\n")
    transcript.tool("Bash", {"command": "pytest -q"}, "3 passed in 0.10s")
    transcript.assistant("Done: the orders store is in Postgres.")
    return transcript


def final(steps: list[list[Item]]) -> dict[str, Item]:
    """What one has who takes everything in order."""
    kept: dict[str, Item] = {}
    for items in steps:
        for item in items:
            if isinstance(item, Retracted):
                del kept[item.id]
            else:
                kept[id_of_item(item)] = item
    return kept


def test_a_decision_and_what_came_of_it_are_read_from_a_file_alone(tmp_path: Path) -> None:
    reading = read_path(talk(tmp_path).path)
    nodes = mean(reading.events).nodes
    kinds = {type(node).__name__ for node in nodes}
    assert {"Conversation", "Decision", "Episode", "Binding"} <= kinds
    assert (reading.agent, reading.is_told_by_content) == ("claude", True)


def test_played_back_in_any_number_of_steps_the_end_is_the_same(tmp_path: Path) -> None:
    transcript = talk(tmp_path)
    transcript.user("Actually, back to MySQL. Drop Postgres.")
    transcript.assistant("Will do.")
    transcript.write("/w/demo/db/mysql.py", "import MySQLdb  # MySQL\n")
    transcript.user("never commit to main")
    transcript.assistant("Noted.")
    reading = read_path(transcript.path)
    whole = {id_of_item(item): item for item in items_of(mean(reading.events), signals=True, digests=True)}
    for steps in (1, 2, 3, 50):
        played = final(list(play(reading.events, steps=steps, signals=True, digests=True)))
        assert played == whole


def test_what_a_pipe_gives_is_what_the_memory_gives(tmp_path: Path) -> None:
    transcript = talk(tmp_path)
    with Memory.open(tmp_path / "home", config=Config()) as memory:
        memory.take_in([transcript.path])
        stored = list(memory.events(transcript.uid, limit=None))
    read = read_path(transcript.path).events[transcript.uid]
    key = [(e.event_id, e.part, e.kind, e.ts, e.turn_index, e.payload) for e in read]
    assert key == [(e.event_id, e.part, e.kind, e.ts, e.turn_index, e.payload) for e in stored]


def test_a_folder_and_an_export_are_read_too(tmp_path: Path) -> None:
    talk(tmp_path / "folder")
    rollout = CodexRollout(tmp_path / "folder", "two")
    rollout.turn("hello there", "hi")
    reading = read_path(tmp_path / "folder")
    assert {uid.partition(":")[0] for uid in reading.events} == {"claude", "codex"}
    assert reading.agent == ""


def test_secrets_are_replaced_unless_a_library_caller_says_otherwise(tmp_path: Path) -> None:
    transcript = ClaudeTranscript(tmp_path, "secret")
    transcript.user(f"use the key {KEY} for now")
    assert KEY not in str(read_path(transcript.path).events)
    assert KEY in str(read_path(transcript.path, redact=False).events)


class Follower:
    """A watcher and everything it gave."""

    def __init__(self, path: Path, *, wanted: Wanted, from_start: bool = True) -> None:
        self.refused: list[str] = []
        self.watcher = Watcher(
            Followed((path,)), wanted=wanted, pace=Pace(0.0, from_start),
            unread=lambda path, _why: self.refused.append(path),
        )  # fmt: skip

    def look(self, *, is_end: bool = False) -> list[Item]:
        return [item for batch in self.watcher.look(is_end=is_end) for item in batch.items]


def test_a_growing_file_is_followed_record_by_record(tmp_path: Path) -> None:
    transcript = ClaudeTranscript(tmp_path, "grows")
    transcript.user("first words")
    follower = Follower(tmp_path, wanted=Wanted())
    first = follower.look()
    assert [item.payload.text for item in first if getattr(item, "kind", "") == "user_message"] == ["first words"]  # type: ignore[union-attr]
    assert follower.look() == []
    transcript.assistant("an answer")
    line = transcript.path.read_bytes()
    transcript.raw(b'{"type": "user", "torn')
    more = follower.look()
    assert [e.kind for e in more if getattr(e, "kind", "") == "assistant_message"] == ["assistant_message"]  # type: ignore[union-attr]
    assert all("torn" not in str(item) for item in more)
    assert transcript.path.read_bytes().startswith(line)


def test_a_file_that_comes_later_and_one_that_is_rewritten_are_noticed(tmp_path: Path) -> None:
    follower = Follower(tmp_path, wanted=Wanted())
    assert follower.look() == []
    transcript = ClaudeTranscript(tmp_path, "later")
    transcript.user("here now")
    assert any("here now" in str(item) for item in follower.look())
    whole = transcript.path.read_bytes().replace(b"here now", b"or there")
    transcript.path.write_bytes(whole[: len(whole)])
    assert any("or there" in str(item) for item in follower.look())


def test_nodes_come_when_it_is_quiet_and_what_no_longer_holds_is_retracted(tmp_path: Path) -> None:
    transcript = talk(tmp_path)
    follower = Follower(transcript.path, wanted=Wanted(events=False, nodes=True))
    given = [follower.look()]
    assert any(getattr(item, "id", "").startswith("decision:") for item in given[0])
    transcript.user("Use Redis for the session cache, not memcached.")
    transcript.assistant("Yes.")
    given.append(follower.look())
    given.append(follower.look(is_end=True))
    reading = read_path(transcript.path)
    assert final(given) == {id_of_item(item): item for item in items_of(mean(reading.events))}


def test_only_what_is_new_where_that_is_asked_for(tmp_path: Path) -> None:
    transcript = talk(tmp_path)
    follower = Follower(transcript.path, wanted=Wanted(), from_start=False)
    transcript.user("something new")
    assert [getattr(getattr(item, "payload", None), "text", "") for item in follower.look()] == ["something new"]


def test_what_is_no_transcript_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of an agent\n")
    follower = Follower(tmp_path, wanted=Wanted())
    follower.look()
    follower.look()
    assert follower.refused == [str(tmp_path / "notes.txt")]


Tamper = Callable[[bytes], bytes]


def failed(report: FileVerifyReport) -> list[str]:
    return [check.name for check in report.checks if not check.ok]


def test_a_sound_transcript_is_proved(tmp_path: Path) -> None:
    report = verify_path(talk(tmp_path).path)
    assert report.ok, failed(report)
    assert report.nodes > 0
    assert report.bytes == talk(tmp_path / "again").path.stat().st_size


def test_a_torn_tail_and_garbage_are_counted_and_say_so(tmp_path: Path) -> None:
    transcript = talk(tmp_path)
    transcript.raw(b"no json at all\n")
    transcript.raw(b'{"type": "user", "mess')
    report = verify_path(transcript.path)
    assert report.ok
    assert sum(report.defects.values()) >= 1
    details = [check.detail for check in report.checks if check.detail]
    size = transcript.path.stat().st_size
    assert details == [f"all but the last 22 bytes of {size:,}, a line that was not finished"]


def test_the_proof_fails_where_nodes_do_not_rest_on_the_file(tmp_path: Path) -> None:
    transcript = talk(tmp_path)
    stages = stages_of(Config())

    class Inventive:
        """A grouper that cites what is not there."""

        def episodes(self, session: object, signals: object) -> list[object]:
            found = stages.grouper.episodes(session, signals)  # type: ignore[arg-type]
            return [msgspec.structs.replace(e, evidence=tuple(_elsewhere(x) for x in e.evidence)) for e in found]

    report = verify_path(transcript.path, stages=stages._replace(grouper=Inventive()))  # type: ignore[arg-type]
    assert not report.ok
    assert failed(report) == ["every event and node resolves to its exact bytes"]


def _elsewhere(evidence: object) -> object:
    place = msgspec.structs.replace(evidence.location, offset_bytes=7_777_777)  # type: ignore[attr-defined]
    return msgspec.structs.replace(evidence, location=place)  # type: ignore[type-var]


@pytest.mark.corpus
def test_every_real_transcript_of_lines_is_proved(shared: Path) -> None:
    index = json.loads((shared / "corpus/index.json").read_text("utf-8"))
    entries = index["files"] if isinstance(index, dict) else index
    chosen = [e for e in entries if e["real"] and e["path"].endswith(".jsonl") and 0 < e["bytes"] < 300_000][::9]
    assert len(chosen) > 5
    for entry in chosen:
        report = verify_path(shared / "corpus" / entry["path"])
        assert report.ok, (entry["path"], failed(report))


def test_a_sink_goes_on_where_it_was_and_doubles_nothing(tmp_path: Path) -> None:
    transcript = talk(tmp_path / "in")
    out = tmp_path / "out.ndjson"
    for round_ in range(3):
        sink = LinesSink(out)
        follower = Watcher(Followed((transcript.path,)), wanted=Wanted(True, True, True, True), before=sink)
        for batch in follower.look(is_end=True):
            sink.write(batch.items, {batch.path: batch.size})
        sink.close()
        if round_ == 1:
            transcript.user("Use Redis for the session cache, not memcached.")
            transcript.raw(b'{"type": "user", "torn')
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    events = [(line["event_id"], line["part"]) for line in lines if "payload" in line]
    stored = read_path(transcript.path).events[transcript.uid]
    assert events == [(e.event_id, e.part) for e in stored]
    kept = {id_of_json(line): line for line in lines if "payload" not in line}
    kept = {name: line for name, line in kept.items() if line.get("node") != "retracted"}
    meaning = mean({transcript.uid: stored})
    assert set(kept) == {id_of_item(item) for item in items_of(meaning, signals=True, digests=True)}
    assert len(lines) < 3 * len(kept) + len(events)


def test_a_sink_of_an_earlier_version_gets_every_field_and_no_item_twice(tmp_path: Path) -> None:
    transcript = talk(tmp_path / "in")
    out = tmp_path / "out.db"

    def look() -> dict[str, str]:
        sink = SqliteSink(out)
        follower = Watcher(Followed((transcript.path,)), wanted=Wanted(False, True, True, True), before=sink)
        for batch in follower.look(is_end=True):
            sink.write(batch.items, {batch.path: batch.size})
        sink.close()
        with sqlite3.connect(out) as db:
            return dict(db.execute("SELECT id, json FROM item"))

    complete = look()
    with sqlite3.connect(out) as db:
        for name, text in complete.items():
            short = {key: value for key, value in json.loads(text).items() if value not in ("", (), [], None, 1)}
            db.execute("UPDATE item SET json = ? WHERE id = ?", (json.dumps(short), name))
    transcript.user("Thanks.")
    assert {id_of_json(json.loads(text)) for text in complete.values()} == set(complete)
    again = look()
    assert set(complete) <= set(again)
    assert all(json.loads(again[name]).keys() == json.loads(text).keys() for name, text in complete.items())


def test_the_sink_of_the_page_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/use-pipes.md").read_text("utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    talk(tmp_path)
    exec(compile(example, "docs/how-to/use-pipes.md", "exec"), {"folder": tmp_path})
    assert "Decision claude:" in capsys.readouterr().out
