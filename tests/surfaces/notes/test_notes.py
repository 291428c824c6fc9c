"""`recollect diary`, `facts`, `tag` and `undo`, from the command line to what a search finds."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect.memory import Memory, NewEntry, NotesFacet
from recollect.testing.builders import ClaudeTranscript
from tests.privacy.planted_secrets import kinds_in
from tests.surfaces.notes.conftest import Recollect

SECRET = "sk-" + "ant-api03-" + "Zx8Qw2Lp0Vb6Nm4Kj1Hg7Fd3Sa9Po5Iu" + "Yt2Re8Wq4Lk6Jh0Gf1Ds3" + "A" * 32 + "AA"


def found(recollect: Recollect, query: str) -> list[dict[str, Any]]:
    """Return what a search finds of notes: hits, and what stands beside them."""
    outcome = recollect("search", query, "--json")
    answer = outcome.data
    return [*answer["hits"], *answer.get("learned", [])]


def test_a_diary_is_written_read_and_found(recollect: Recollect, session: str) -> None:
    wrote = recollect(
        "diary", "write", "Moved the queue to SQLite.", "--agent", "Claude-Code", "--topic", "queue", "--decided",
        "SQLite it is", "--pending", "measure throughput", "--session", session, "--json",
    )  # fmt: skip
    assert wrote.code == 0
    entry = wrote.data
    assert (entry["agent"], entry["repo"], entry["sessions"]) == ("claude", "shop", [session])
    assert entry["left_pending"] == ["measure throughput"]
    read = recollect("diary", "read", "--agent", "claude", "--json")
    assert read.data == {"entries": [entry], "total": 1}
    assert recollect("diary", "--agent", "codex").code == 1
    hits = found(recollect, "throughput kind:diary")
    assert [hit["session_uid"] for hit in hits] == [f"diary:{entry['id']}"]
    text = recollect("diary").out
    assert "left pending: measure throughput" in text
    assert f"diary:{entry['id']}" in text


def test_a_persons_diary_is_found_by_the_persons_name(recollect: Recollect) -> None:
    recollect("diary", "write", "The samovar leaks.", "--agent", "Anna_Maria")
    assert recollect("diary", "read", "--agent", "anna maria", "--json").data["entries"][0]["agent"] == "anna-maria"
    hits = found(recollect, 'samovar kind:diary agent:"Anna Maria"')
    assert len(hits) == 1
    assert recollect("search", "samovar kind:diary agent:anna").code == 2


def test_an_entry_comes_from_standard_input(recollect: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"two\nlines\n")))
    assert recollect("diary", "write", "--json").data["text"] == "two\nlines"


@pytest.mark.parametrize(
    "argv",
    [
        ("diary", "write", " "),
        ("diary", "read", "words"),
        ("diary", "write", "x", "--session", "claude:nowhere"),
        ("facts", "add", "a", "b"),
        ("facts", "add", "a", "b", "c", "--from", "2026-05", "--until", "2026-04"),
        ("facts", "add", "a", "b", "c", "--from", "whenever"),
        ("facts", "--from", "2026-05"),
        ("facts", "end", "f000"),
        ("tag", "--remove"),
        ("tag", "claude:nowhere", "x"),
        ("undo", "b000"),
        ("undo", "b000", "--list"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_kept(recollect: Recollect, argv: tuple[str, ...]) -> None:
    recollect("facts", "add", "shop", "uses", "sqlite")
    outcome = recollect(*argv)
    assert outcome.code in (2, 3), outcome
    assert outcome.err
    assert recollect("facts", "--history", "--json").data["total"] == 1
    assert recollect("diary", "--json").code == 1


def test_asking_where_nothing_was_kept_makes_nothing(recollect: Recollect, isolated_home: Path) -> None:
    for argv in (("facts",), ("diary",), ("tag",), ("undo", "--list"), ("facts", "contradictions"), ("facts", "seed")):
        assert recollect(*argv).code == 1, argv
    assert not (isolated_home / "recollect" / "memory.db").exists()


def test_secrets_are_kept_out_of_every_note(recollect: Recollect, session: str, isolated_home: Path) -> None:
    recollect("diary", "write", f"the key is {SECRET}", "--decided", f"use {SECRET}", "--topic", SECRET)
    recollect("diary", "write", "hello", "--agent", SECRET, "--repo", SECRET)
    recollect("facts", "add", "shop", "has_key", SECRET, "--reference", SECRET, "--repo", SECRET)
    recollect("facts", "add", SECRET, SECRET, "x")
    recollect("tag", session, SECRET)
    told = recollect("diary", "--json").out + recollect("facts", "--json").out + recollect("facts", "export").out
    assert SECRET not in told
    assert kinds_in(told)
    for file in (isolated_home / "recollect").glob("memory.db*"):
        assert SECRET.encode() not in file.read_bytes()
        assert SECRET.lower().encode() not in file.read_bytes().lower()


def test_facts_have_their_time_and_tell_what_contradicts_them(recollect: Recollect) -> None:
    first = recollect("facts", "add", "shop-api", "runs on", "Python 3.11", "--from", "2025-10", "--json").data
    assert first["is_new"] is True
    second = recollect("facts", "add", "Shop-API", "runs_on", "Python 3.12", "--from", "2026-03-01", "--json").data
    assert [pair["other"]["id"] for pair in second["contradictions"]] == [first["fact"]["id"]]
    assert recollect("facts", "contradictions").code == 0
    assert recollect("facts", "end", first["fact"]["id"], "--at", "2026-02-28").code == 0
    assert recollect("facts", "contradictions").code == 1
    at = {when: recollect("facts", "--about", "shop-api", "--at", when, "--json") for when in ("2026-02", "2026-03")}
    assert [fact["object"] for fact in at["2026-02"].data["facts"]] == ["Python 3.11"]
    assert [fact["object"] for fact in at["2026-03"].data["facts"]] == ["Python 3.12"]
    assert recollect("facts", "--about", "shop-api", "--at", "2020").code == 1
    done = recollect("facts", "replace", "shop-api", "runs_on", "Python 3.13", "--at", "2026-10-01", "--json").data
    assert [fact["object"] for fact in done["replaced"]] == ["Python 3.12"]
    assert recollect("facts", "--history", "--json").data["total"] == 3
    assert recollect("facts", "retract", "shop-api", "runs_on", "Python 3.13").code == 0
    assert [fact["object"] for fact in recollect("facts", "3.13", "--history", "--json").data["facts"]] == [
        "Python 3.13"
    ]


def test_an_exported_document_is_json_ld(recollect: Recollect) -> None:
    recollect("facts", "add", "shop", "uses", "sqlite")
    document = recollect("facts", "export").data
    assert document["@context"]["@version"] == 1.1
    assert [node["subject"]["name"] for node in document["@graph"]] == ["shop"]


def test_a_search_finds_facts_and_says_what_became_of_them(recollect: Recollect) -> None:
    fact = recollect("facts", "add", "gateway", "listens_on", "port 8443", "--json").data["fact"]
    recollect("facts", "retract", fact["id"])
    (hit,) = found(recollect, "gateway kind:fact")
    assert (hit["session_uid"], hit["state"]) == (f"fact:{fact['id']}", "retracted")


def test_a_glossary_word_finds_the_other(recollect: Recollect) -> None:
    recollect("diary", "write", "The kubernetes cluster was upgraded.")
    assert found(recollect, "k8s kind:diary") == []
    assert recollect("facts", "means", "k8s", "kubernetes").code == 0
    assert len(found(recollect, "k8s kind:diary")) == 1


def test_a_session_is_found_by_its_tag(recollect: Recollect, session: str) -> None:
    given = recollect("tag", session, "Release 2.0", "db", "--json").data["tags"]
    assert [tag["name"] for tag in given] == ["db", "release-2.0"]
    assert {hit["session_uid"] for hit in found(recollect, "postgres tag:release-2.0")} == {session}
    unknown = recollect("search", "postgres tag:release-1")
    assert (unknown.code, unknown.out) == (2, "")
    assert "no tag called 'release-1'; did you mean release-2.0?" in unknown.err
    assert [t["session_uid"] for t in recollect("tag", "--list", "db", "--json").data["tags"]] == [session]
    assert recollect("tag", session, "--remove", "--json").data["tags"] == []
    assert recollect("tag", session).code == 1


def test_facts_are_seeded_once_and_undone_as_a_whole(recollect: Recollect, session: str) -> None:
    recollect("decisions", "add", "We keep SQLite", "--chosen", "SQLite", "--rejected", "Redis", "--repo", "shop")
    recollect("rebuild", "index")
    first = recollect("facts", "seed", "--json").data
    assert first["added"] >= 2, first
    facts = {(f["predicate"], f["object"]) for f in recollect("facts", "--json").data["facts"]}
    assert {("adopted", "SQLite"), ("rejected", "Redis")} <= facts
    second = recollect("facts", "seed", "--json").data
    assert (second.get("added", 0), second["known"]) == (0, first["added"])
    batch = first["batch"]["id"]
    undone = recollect("undo", batch[:6], "--json").data
    assert undone["facts"] == first["added"]
    assert recollect("facts").code == 1
    again = recollect("undo", batch, "--json").data
    assert (again["was_undone"], again.get("facts", 0)) == (True, 0)
    (listed,) = [b for b in recollect("undo", "--list", "--json").data["batches"] if b["id"] == batch]
    assert listed["undone_at"] == undone["batch"]["undone_at"]
    assert recollect("facts", "seed", "--json").data["added"] == first["added"]


def test_every_answer_has_a_schema_that_it_fits(recollect: Recollect, session: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    recollect("facts", "add", "shop", "is", "slow")
    answers = {
        "facts-added": recollect("facts", "add", "shop", "is", "fast", "--json"),
        "facts": recollect("facts", "--json"),
        "facts-contradictions": recollect("facts", "contradictions", "--json"),
        "diary-entry": recollect("diary", "write", "hello", "--json"),
        "diary": recollect("diary", "--json"),
        "tag": recollect("tag", session, "one", "--json"),
        "facts-seed": recollect("facts", "seed", "--json"),
        "undo-list": recollect("undo", "--list", "--json"),
    }
    for name, answer in answers.items():
        jsonschema.validate(json.loads(answer.out), recollect("schema", name).data)


def test_undoing_a_run_of_learning_retires_what_it_learned_for_good(recollect: Recollect, isolated_home: Path) -> None:
    transcript = ClaudeTranscript(isolated_home / ".claude", "lint", cwd=str(isolated_home / "work" / "shop"))
    transcript.user("Remember: always run make lint before you push.")
    transcript.assistant("I will.")
    with Memory.open() as memory:
        memory.sync()
        memory.learn.run()
        learned = memory.learn.learnings()
        assert learned
        batch = learned[0].batch
        report = memory.notes.batches.undo(batch)
        assert (report.learnings, report.batch.kind) == (len(learned), "learnings")
        memory.learn.run()
        assert {one.state for one in memory.learn.learnings()} == {"retired"}
        assert memory.notes.batches.undo(batch).was_undone


def test_undoing_documents_takes_their_collection_along(recollect: Recollect, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "guide.md").write_text("# Guide\n\nThe flamingo rule holds.\n")
    added = recollect("docs", "add", tmp_path / "pages", "--json")
    assert added.code == 0, added.err
    assert len(found(recollect, "flamingo kind:document")) == 1
    (batch,) = recollect("undo", "--list", "--json").data["batches"]
    assert recollect("undo", batch["id"], "--json").data["documents"] == 1
    assert found(recollect, "flamingo kind:document") == []
    with Memory.open() as memory:
        assert memory.documents.list() == ()


def test_an_entry_speaks_of_the_session_that_its_agent_is_in(recollect: Recollect, session: str) -> None:
    with Memory.open() as memory:
        ended = memory.session(session).ended_at
        assert ended is not None

        def write(seconds: int, **also: str) -> tuple[str, ...]:
            new = NewEntry(**{"agent": "claude", "text": "x", "repo": "shop", **also})  # type: ignore[arg-type]
            return NotesFacet(memory, lambda: ended + seconds * 1_000_000).diary.write(new).sessions

        assert write(60) == (session,)
        assert write(3600) == ()
        assert write(60, agent="codex") == ()
        assert write(60, repo="blog") == ()
        assert write(60, repo="") == ()


@pytest.mark.parametrize(
    ("subject", "predicate", "said", "is_kept"),
    [
        ("orders", "staging_password", "hunter2-blue", False),
        ("staging", "password", "tulip", False),
        ("staging", "password_is_in", "1Password", True),
        ("auth", "password_hash", "argon2id", True),
        ("api", "token_lifetime", "15 minutes", True),
    ],
)
def test_a_fact_tells_no_credential(
    subject: str, predicate: str, said: str, is_kept: bool, recollect: Recollect
) -> None:
    done = recollect("facts", "add", subject, predicate, said)
    assert done.code == (0 if is_kept else 2)
    assert (said in recollect("facts", "--json").out) is is_kept
