"""What was distilled is kept whole, told to other programs, and never lost by being said anew."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from recollect.model.events import SourceLocation
from recollect.model.insights.digests import Cost, Digest
from recollect.model.insights.nodes import Binding, Decision, Episode, Evidence, Link, Node, Option
from recollect.model.insights.signals import EditSeen, ErrorSeen, Signal
from recollect.model.sessions import Session
from recollect.store.insight_writer import add_decision
from recollect.store.insights import AnalysisDraft, InsightReader, NodeFilter, SavedCounts
from recollect.store.reader import Reader
from recollect.store.writer import Writer
from tests.store.conftest import home, reader, writer
from tests.store.slices import START, Line, make_slices, write_all

__all__ = ["home", "reader", "writer"]

UID = "claude:one"
AT = SourceLocation("s-a", 1, 0, 10, 0, "ab" * 32)
SESSION = Session(UID, "claude", repo="alpha", root_session=UID)
EVIDENCE = (Evidence(UID, "e1", 0, "statement", AT, 3, 0, 9),)


@pytest.fixture
def distilled(home: Path, writer: Writer) -> Iterator[InsightReader]:
    reader = InsightReader(home)
    yield reader
    reader.close()


def digest_of(session: Session = SESSION) -> Digest:
    return Digest(
        session.session_uid, "claude", session.repo, "", "m", 1, 2, "fail", ("the tests fail", "nothing came after"),
        Cost(), {"Bash": 2}, 3, {}, {}, {}, "first", "last", (), None,
    )  # fmt: skip


def decision(name: str, *, uid: str = UID, chosen: str = "", paths: tuple[str, ...] = (), ts: int = 5) -> Decision:
    return Decision(
        id=f"decision:{name}", session_uid=uid, location=AT, ts=ts, statement=f"we take {chosen or name}",
        options=(Option(chosen or name, True),), paths=paths, evidence=EVIDENCE,
    )  # fmt: skip


def episode(name: str, *paths: str, uid: str = UID) -> Episode:
    return Episode(id=f"episode:{name}", session_uid=uid, location=AT, paths=paths, ts=6)


def binding(source: Decision, to: Episode) -> Binding:
    name = f"binding:{source.id}-{to.id}"
    return Binding(id=name, session_uid=to.session_uid, location=AT, source=source.id, episode=to.id)


def save(
    writer: Writer, *nodes: Node, session: Session = SESSION, signals: Sequence[Signal] = (), now: int = START,
    recorded_at: int = 7,
) -> SavedCounts:  # fmt: skip
    seen = {node.id: recorded_at for node in nodes}
    draft = AnalysisDraft(session, 1, digest_of(session), list(signals), nodes, seen, 0, 3)
    with writer.transaction():
        return writer.distilled.save(draft, now_us=now)


def ids(reader: InsightReader, **where: object) -> list[str]:
    return [item.node.id for item in reader.nodes(NodeFilter(**where))]  # type: ignore[arg-type]


def test_an_analysis_sets_the_sessions_outcome_and_when(
    writer: Writer, reader: Reader, distilled: InsightReader
) -> None:
    write_all(writer, make_slices([Line("hello", "a")]))
    before = reader.session(UID)
    assert before is not None
    assert (before.outcome, before.outcome_reason, before.analyzed_at) == ("unknown", "not analysed yet", None)
    save(writer, now=START + 1)
    after = reader.session(UID)
    assert after is not None
    assert (after.outcome, after.outcome_reason) == ("fail", "the tests fail; nothing came after")
    assert after.analyzed_at == START + 1
    assert distilled.digest(UID) == digest_of()
    assert distilled.digest("claude:on") == digest_of()
    assert distilled.digest("claude:") == digest_of()
    assert distilled.digest("") is None
    assert distilled.digest("claude:two") is None


def test_the_same_analysis_again_changes_nothing(writer: Writer, distilled: InsightReader) -> None:
    nodes = (decision("a"), episode("e", "x.py"))
    assert save(writer, *nodes) == SavedCounts(new=2)
    assert save(writer, *nodes, now=START + 1) == SavedCounts()
    assert ids(distilled) == ["decision:a", "episode:e"]


def test_a_node_that_is_not_given_any_more_is_revoked_and_can_come_back(
    writer: Writer, distilled: InsightReader
) -> None:
    save(writer, decision("a"), decision("b"))
    assert save(writer, decision("b"), now=START + 9) == SavedCounts(revoked=1)
    assert ids(distilled) == ["decision:b"]
    gone = [item for item in distilled.nodes(NodeFilter(with_revoked=True)) if item.node.id == "decision:a"]
    assert [(item.recorded_at, item.revoked_at) for item in gone] == [(7, START + 9)]
    assert save(writer, decision("b"), now=START + 10) == SavedCounts()
    assert save(writer, decision("a"), decision("b")) == SavedCounts(new=1)
    assert ids(distilled) == ["decision:a", "decision:b"]


def test_a_node_that_says_something_else_is_changed(writer: Writer, distilled: InsightReader) -> None:
    save(writer, decision("a", chosen="red"))
    assert save(writer, decision("a", chosen="blue")) == SavedCounts(changed=1)
    assert [d.decision.chosen for d in distilled.decisions(words=("BLUE",))] == [("blue",)]
    assert distilled.decisions(words=("red",)) == []


def test_nodes_are_told_in_canonical_order_and_by_filter(writer: Writer, distilled: InsightReader) -> None:
    other = Session("codex:two", "codex", repo="beta")
    save(writer, decision("z"), decision("a"), episode("e"))
    save(writer, decision("c", uid="codex:two", ts=50), session=other)
    assert ids(distilled) == ["decision:z", "decision:a", "episode:e", "decision:c"]
    assert ids(distilled, kinds=("episode",)) == ["episode:e"]
    assert ids(distilled, repos=("BET",)) == ["decision:c"]
    assert ids(distilled, sessions=(UID,)) == ["decision:z", "decision:a", "episode:e"]
    assert ids(distilled, after=50) == ["decision:c"]
    assert ids(distilled, before=6) == ["decision:z", "decision:a"]
    assert [d.decision.id for d in distilled.decisions(after=50)] == ["decision:c"]
    assert [d.decision.id for d in distilled.decisions(before=50)] == ["decision:a", "decision:z"]
    assert [item.node.id for item in distilled.nodes(NodeFilter(), limit=2)] == ["decision:z", "decision:a"]


def test_signals_are_found_by_kind_over_sessions(writer: Writer, distilled: InsightReader) -> None:
    edit = EditSeen(session_uid=UID, path="a.py")
    errors = [ErrorSeen(session_uid=UID, fingerprint="f", sample=f"boom {i}") for i in range(3)]
    other = Session("codex:two", "codex", repo="beta")
    save(writer, signals=[edit, *errors])
    save(writer, session=other, signals=[EditSeen(session_uid="codex:two", path="b.py")])
    found = list(distilled.signals(("error",), NodeFilter()))
    assert [(item.session_uid, item.repo, item.signals) for item in found] == [(UID, "alpha", errors)]
    edits = list(distilled.signals(("edit",), NodeFilter(repos=("beta",))))
    assert [item.session_uid for item in edits] == ["codex:two"]
    save(writer, signals=[edit])
    assert list(distilled.signals(("error",), NodeFilter())) == []


def test_links_and_bindings_of_a_repository_replace_each_other(writer: Writer, distilled: InsightReader) -> None:
    old, new, work = decision("old"), decision("new", ts=9), episode("e", "src/x.py")
    save(writer, old, new, work)
    assert writer.distilled.touched_repos() == ["alpha"]
    link = Link(new.id, old.id, "supersedes", 9)
    with writer.transaction():
        writer.distilled.relate("alpha", [link], [binding(new, work)], recorded_at={new.id: 8, old.id: 7}, now_us=START)
    assert writer.distilled.touched_repos() == []
    kept = {item.decision.id: item for item in distilled.decisions()}
    assert [(x.link, x.recorded_at, x.revoked_at) for x in kept[old.id].links] == [(link, 8, None)]
    assert distilled.episodes_of(kept) == {new.id: (work.id,)}
    assert distilled.paths_of({work.id}) == {work.id: ("src/x.py",)}
    with writer.transaction():
        writer.distilled.relate("alpha", [], [], recorded_at={}, now_us=START + 5)
    kept = {item.decision.id: item for item in distilled.decisions()}
    assert [(x.link, x.revoked_at) for x in kept[old.id].links] == [(link, START + 5)]
    assert distilled.episodes_of(kept) == {}


def test_an_analysis_of_its_session_leaves_bindings_over_sessions_alone(
    writer: Writer, distilled: InsightReader
) -> None:
    chosen, work = decision("a"), episode("e")
    save(writer, chosen, work)
    with writer.transaction():
        writer.distilled.relate("alpha", [], [binding(chosen, work)], recorded_at={}, now_us=START)
    assert save(writer, chosen, work) == SavedCounts()
    assert len(ids(distilled, kinds=("binding",))) == 1


def test_relating_reads_what_holds_and_what_was_added(home: Path, writer: Writer, distilled: InsightReader) -> None:
    sub = Session("claude:sub", "claude", repo="alpha", parent_session=UID, root_session=UID)
    save(writer, decision("a"), episode("e"))
    save(writer, decision("b", uid="claude:sub"), session=sub)
    save(writer, decision("x", uid="codex:two"), session=Session("codex:two", "codex", repo="beta"))
    save(writer, episode("e"))
    add_decision(home, decision("added"), repo="alpha", added_at=START)
    found = distilled.repo_nodes("alpha")
    assert {d.id for d in found.decisions} == {"decision:b", "decision:added"}
    assert [e.id for e in found.episodes] == ["episode:e"]
    assert found.lineage == {UID: ("", UID), "claude:sub": (UID, UID)}
    assert found.recorded_at["decision:added"] == START


def test_an_added_decision_is_kept_beside_a_writer(home: Path, writer: Writer, distilled: InsightReader) -> None:
    add_decision(home, decision("added", chosen="Straße"), repo="alpha", added_at=START)
    (found,) = distilled.decisions(words=("strasse",))
    assert (found.decision.id, found.repo, found.recorded_at) == ("decision:added", "alpha", START)
    assert distilled.decisions(repos=("beta",)) == []


def test_how_far_it_is_is_counted(writer: Writer, distilled: InsightReader) -> None:
    save(writer, decision("a"), decision("b"))
    save(writer, decision("a"))
    assert distilled.counts(1) == (1, 0, 2, 1)
    assert distilled.counts(2) == (1, 1, 2, 1)


PLAIN_SQLITE = """
import json, sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
rows = db.execute("SELECT session_uid, json FROM digests ORDER BY session_uid").fetchall()
columns = [row[1] for row in db.execute("PRAGMA table_info(digests)")]
try:
    db.execute("DELETE FROM digests")
    refused = False
except sqlite3.OperationalError:
    refused = True
print(json.dumps([columns, rows, refused]))
"""


def test_other_programs_read_digests_with_plain_sqlite_while_the_memory_is_open(home: Path, writer: Writer) -> None:
    save(writer)
    with writer.transaction():  # the ingester is at work
        done = subprocess.run(
            [sys.executable, "-c", PLAIN_SQLITE, str(home / "memory.db")], capture_output=True, text=True, check=True
        )
    columns, rows, refused = json.loads(done.stdout)
    assert columns == ["session_uid", "json"]
    assert [uid for uid, _ in rows] == [UID]
    assert msgspec.json.decode(rows[0][1], type=Digest) == digest_of()
    assert refused


def test_a_paths_column_leaves_out_what_is_too_much(writer: Writer, distilled: InsightReader) -> None:
    paths = tuple(f"folder{i}/" + "x" * 200 for i in range(100))
    save(writer, episode("many", *paths))
    kept = distilled.paths_of({"episode:many"})["episode:many"]
    assert kept == paths[: len(kept)]
    assert 0 < len(kept) < len(paths)
