"""Lossless: every byte an agent wrote comes back, and nothing it wrote is beyond finding."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import apsw
import msgspec
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.config import Config
from recollect.memory import Memory, NewDecision
from recollect.model.insights.nodes import Decision
from recollect.store.insights import pack_node
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from recollect.testing.strategies import any_transcript
from tests.examples import tried
from tests.ingest.conftest import World


def given_back(memory: Memory, path: Path, revision: int | None = None) -> bytes:
    """Return what the archive holds of the source at `path`."""
    source = next(s for s in memory.reader().sources() if s.path == str(path))
    with memory.archive() as archive:
        places = [place for place, _ in memory.reader().chunks(source.source_id, revision or source.revision)]
        return b"".join(archive.iter_bytes(places))


@given(content=any_transcript(), codex=st.booleans())
@settings(max_examples=tried(30, floor=10))
def test_any_bytes_come_back_exactly_also_after_the_file_is_gone(content: bytes, codex: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        env = {"HOME": folder, "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}
        one = CodexRollout(root / "codex", "one") if codex else ClaudeTranscript(root / "claude", "one")
        with one.path.open("ab") if codex else _opened(one.path) as handle:
            handle.write(content)
        written = one.path.read_bytes()
        with Memory.open(root / "memory", config=Config(), env=env) as memory:
            memory.sync()
            one.path.unlink()
            memory.sync()
            if written:
                assert given_back(memory, one.path) == written
            assert memory.maintenance.verify().ok


def _opened(path: Path) -> object:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab")


def every_kind_of_source(world: World) -> dict[Path, bytes]:
    """Write one source for each place that the agents declare; return the bytes that the archive must give."""
    session = world.claude()
    session.user("a question")
    home, project = world.claude_home, session.path.parent
    below = project / session.session
    codex = world.codex()
    codex.turn("a question", "an answer")
    files = {
        below / "subagents/agent-a1b2.jsonl": session.path.read_bytes(),
        below / "subagents/agent-a1b2.meta.json": b'{"agentType": "Explore"}',
        below / "tool-results/toolu_1.txt": "läng".encode() * 100,
        below / "custom-title.json": b'{"customTitle": "a title"}',
        home / "file-history" / session.session / "0a1b2c3d4e5f6a7b@v1": b"\x00\xff any bytes\r\n",
        home / "todos" / f"{session.session}-agent-{session.session}.json": b'[{"content": "x", "status": "pending"}]',
        home / "tasks" / session.session / "1.json": b'{"id": "1", "subject": "s"}',
        home / "history.jsonl": b'{"display": "hello", "timestamp": 1785574800000, "project": "/w/demo"}\n',
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    packed = codex.path.with_name(codex.path.name.replace(codex.session, "0" * 8 + codex.session[8:]) + ".zst")
    packed.write_bytes(zstandard.compress(codex.path.read_bytes()))
    return {
        **files,
        session.path: session.path.read_bytes(),
        codex.path: codex.path.read_bytes(),
        packed: codex.path.read_bytes(),
    }


def test_every_kind_of_source_comes_back_exactly(world: World) -> None:
    written = every_kind_of_source(world)
    report = world.memory.sync()
    assert sum(a.new for a in report.agents.values()) == len(written)
    assert {path: given_back(world.memory, path) for path in written} == written


def test_a_record_of_an_unknown_type_is_kept_counted_and_found(world: World) -> None:
    one, two = world.claude(), world.codex()
    one.user("known")
    one.raw(json.dumps({"type": "brand-new", "sessionId": one.session, "inside": {"note": "quetzal"}}).encode() + b"\n")
    two.line("brand_new", {"note": ["axolotl"]})
    report = world.memory.sync()
    assert [report.agents[slug].unknown for slug in ("claude", "codex")] == [1, 1]
    ledgers = {x.agent: x.unknown for x in world.memory.maintenance.verify().ledgers}
    assert ledgers == {"claude": 1, "codex": 1}
    for word, uid in (("quetzal", one.uid), ("axolotl", two.uid)):
        assert [(h.session_uid, h.kind) for h in world.memory.search(word, sync=False).hits] == [(uid, "unknown")]


def test_an_unknown_field_of_a_known_record_is_kept(world: World) -> None:
    one = world.claude()
    one.user("known", brandNewField={"note": "okapi"})
    world.memory.sync()
    assert given_back(world.memory, one.path) == one.path.read_bytes()


def test_an_unknown_field_of_a_known_record_is_found(world: World) -> None:
    one = world.claude()
    one.user("known", brandNewField={"note": "okapi"})
    world.memory.sync()
    assert [h.session_uid for h in world.memory.search("okapi", sync=False).hits] == [one.uid]


def test_verify_balances_bytes_and_records_of_every_source(world: World) -> None:
    written = every_kind_of_source(world)
    world.memory.sync()
    report = world.memory.maintenance.verify()
    assert report.ok
    assert {Path(x.path): x.bytes_in for x in report.ledgers} == {p: len(content) for p, content in written.items()}
    assert all((x.bytes_in, x.records_in) == (x.bytes_out, x.records_out) and x.is_ok for x in report.ledgers)


def test_verify_names_the_source_that_lost_bytes(world: World) -> None:
    one, two = world.claude("one"), world.claude("two")
    one.user("first file " + "words " * 50)
    world.memory.sync()
    two.user("second file " + "other words " * 50)
    world.memory.sync()
    world.memory.close()
    (pack,) = (world.memory.home / "archive/packs").glob("*.pack")
    content = bytearray(pack.read_bytes())
    content[-20] ^= 1  # in the last chunk, that of the second file
    pack.write_bytes(content)
    report = world.memory.maintenance.verify()
    assert not report.ok
    assert [Path(d.path) for d in report.defects if d.is_loss and d.code == "chunk_unreadable"] == [two.path]
    assert {Path(x.path): x.is_ok for x in report.ledgers} == {one.path: True, two.path: False}


def test_verify_names_a_node_whose_evidence_is_not_what_it_was(world: World) -> None:
    world.claude().user("Use Postgres instead of MySQL because it has better JSON support.")
    memory = world.memory
    memory.sync()
    added = memory.decisions_facet.add(NewDecision("We keep it small")).decision
    sound = memory.maintenance.verify()
    assert sound.ok
    nodes = [item.node for item in memory.nodes()]
    assert sound.nodes == len(nodes) + 1
    found = next(node for node in nodes if isinstance(node, Decision))
    elsewhere = msgspec.structs.replace(found.location, offset_bytes=found.location.offset_bytes + 1)
    bent = msgspec.structs.replace(found, location=elsewhere)
    other = msgspec.structs.replace(added, statement="We keep it large")
    db = apsw.Connection(str(memory.home / "memory.db"))
    db.execute("UPDATE node SET data = ? WHERE id = ?", (pack_node(bent), found.id)).fetchall()
    db.execute("UPDATE added_decision SET json = ?", (msgspec.json.encode(other).decode(),)).fetchall()
    db.close()
    report = memory.maintenance.verify()
    assert not report.ok
    named = [d.detail.partition(" ")[0].rstrip(":") for d in report.defects if d.code == "node_without_evidence"]
    assert sorted(named) == sorted([found.id, added.id])
