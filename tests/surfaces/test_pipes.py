"""The verbs that work on files and pipes, as the program runs them: real processes, real pipes, real signals."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect.testing.builders import ClaudeTranscript
from tests import program

KEY = "AKIA" + "Z7Q2" * 4
"""Synthetic: the shape of a cloud key."""

LISTENING = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("recollect", run_name="__main__", alter_sys=True)
"""
"""The program where an interrupt is heard: one that is started in the background inherits that it is ignored."""


@pytest.fixture
def transcript(tmp_path: Path) -> ClaudeTranscript:
    written = ClaudeTranscript(tmp_path / "agent", "one")
    written.user(f"Use Postgres instead of MySQL for the orders store. The key is {KEY}.")
    written.write("/w/demo/postgres.py", "import psycopg  # Postgres\n")
    written.assistant("Done.")
    return written


def recollect(*argv: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return program.run(*argv, stdin=stdin)


def lines(out: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def home_of_the_user() -> Path:
    return Path(os.environ["RECOLLECT_HOME"])


def test_a_pipe_is_read_as_a_file_is_and_the_answer_says_how_it_was_told(transcript: ClaudeTranscript) -> None:
    whole = transcript.path.read_bytes()
    piped, named = recollect("parse", "-", stdin=whole), recollect("parse", transcript.path)
    assert piped.returncode == named.returncode == 0
    events = [[(e["event_id"], e["kind"]) for e in lines(done.stdout)] for done in (piped, named)]
    assert events[0] == events[1]
    assert b"recognised by its content" in named.stderr
    assert b"as you said" in recollect("parse", "-", "--as", "claude", stdin=whole).stderr
    assert KEY.encode() not in piped.stdout + piped.stderr
    assert not home_of_the_user().exists()


def test_meaning_and_why(transcript: ClaudeTranscript) -> None:
    done = recollect("parse", transcript.path, "--nodes", "--signals", "--digest")
    kinds = {line.get("node") or line.get("signal") or "digest" for line in lines(done.stdout)}
    assert {"conversation", "decision", "episode", "binding", "edit", "digest"} <= kinds
    assert KEY.encode() not in done.stdout
    (why, *_) = lines(recollect("parse", transcript.path, "--explain").stdout)
    (marker, *_) = why["markers"]
    assert why["text"][marker["start"] : marker["end"]] == marker["text"]
    assert why["decisions"][0]["features"]


def test_what_is_nobodys_transcript_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("just notes\n")
    for verb in ("parse", "replay", "verify"):
        done = recollect(verb, tmp_path / "notes.txt")
        assert done.returncode == 3
        assert b"--as" in done.stderr
    assert recollect("parse", tmp_path / "missing").returncode == 3
    assert recollect("parse", tmp_path / "notes.txt", "--as", "nobody").returncode == 2


def test_played_back_into_a_database_it_is_what_one_pass_gives(transcript: ClaudeTranscript, tmp_path: Path) -> None:
    transcript.user("Actually, drop Postgres, back to MySQL.")
    transcript.assistant("All right.")
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    assert recollect("replay", transcript.path, "--sink", f"sqlite:{one}").returncode == 0
    assert recollect("parse", transcript.path, "--nodes", "--sink", f"sqlite:{two}").returncode == 0
    rows = []
    for path in (one, two):
        with sqlite3.connect(path) as db:
            rows.append(db.execute("SELECT id, json FROM nodes ORDER BY id").fetchall())
    assert rows[0] == rows[1]
    assert rows[0]


def test_a_second_run_into_a_sink_adds_nothing(transcript: ClaudeTranscript, tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    for _ in range(2):
        assert recollect("parse", transcript.path, "--sink", f"ndjson:{out}").returncode == 0
        assert recollect("parse", transcript.path, "--nodes", "--sink", f"ndjson:{out}").returncode == 0
    found = lines(out.read_bytes())
    names = [line.get("id") or (line["event_id"], line["part"]) for line in found]
    assert len(names) == len(set(names))


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal there")
def test_a_pipe_is_followed_until_it_ends_and_files_until_ctrl_c(transcript: ClaudeTranscript) -> None:
    whole = transcript.path.read_bytes()
    command = [sys.executable, "-m", "recollect", "watch"]
    with subprocess.Popen([*command, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as piped:
        assert piped.stdin is not None
        assert piped.stdout is not None
        piped.stdin.write(whole[: len(whole) // 2])
        piped.stdin.flush()
        first = json.loads(piped.stdout.readline())
        piped.stdin.write(whole[len(whole) // 2 :])
        piped.stdin.close()
        rest = lines(piped.stdout.read())
        assert piped.wait(timeout=120) == 0
    given = [(e["event_id"], e["part"]) for e in (first, *rest)]
    assert given == [(e["event_id"], e["part"]) for e in lines(recollect("parse", transcript.path).stdout)]

    command = [sys.executable, "-c", LISTENING, "watch", str(transcript.path.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as following:
        assert following.stdout is not None
        before = [json.loads(following.stdout.readline()) for _ in given]  # it looks: what comes now is new
        assert [(e["event_id"], e["part"]) for e in before] == given
        transcript.user("said while you look")
        assert "said while you look" in following.stdout.readline().decode()
        following.send_signal(signal.SIGINT)
        assert following.wait(timeout=120) == 0


def test_a_proof_of_a_file_and_what_it_says(transcript: ClaudeTranscript) -> None:
    done = recollect("verify", transcript.path, "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert report["ok"]
    assert report["nodes"] > 0
    assert b"all of it is accounted for" in recollect("verify", transcript.path).stdout
    assert recollect("verify", "--as", "claude").returncode == 2


def test_any_text_is_redacted(tmp_path: Path) -> None:
    done = recollect("redact", stdin=f"a {KEY} b\n".encode())
    assert done.returncode == 0
    assert KEY.encode() not in done.stdout
    assert done.stdout.startswith(b"a ")
    assert b"replaced: 1 " in done.stderr
    assert recollect("redact", tmp_path / "missing").returncode == 3
    clean = recollect("redact", stdin=b"nothing here\r\n")
    assert (clean.stdout, clean.stderr) == (b"nothing here\r\n", b"")


@pytest.mark.parametrize("kind", ["ndjson", "sqlite"])
def test_a_second_replay_into_a_sink_adds_nothing(transcript: ClaudeTranscript, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    assert recollect("replay", transcript.path, "--sink", f"{kind}:{out}").returncode == 0
    first = out.read_bytes()
    assert recollect("replay", transcript.path, "--sink", f"{kind}:{out}").returncode == 0
    assert out.read_bytes() == first
    transcript.user("Never commit to main.")
    transcript.assistant("I won't.")
    assert recollect("replay", transcript.path, "--sink", f"{kind}:{out}").returncode == 0
    whole = lines(recollect("parse", transcript.path, "--nodes").stdout)
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(out)) as db:
            kept = [json.loads(text) for (text,) in db.execute("SELECT json FROM nodes")]
    else:
        newest = {node["id"]: node for node in lines(out.read_bytes())}
        kept = [node for node in newest.values() if node["node"] != "retracted"]
    assert sorted(kept, key=lambda node: node["id"]) == sorted(whole, key=lambda node: node["id"])


@pytest.mark.parametrize("kind", ["ndjson", "sqlite"])
def test_a_run_leaves_alone_what_it_was_not_asked_for(transcript: ClaudeTranscript, tmp_path: Path, kind: str) -> None:
    transcript.tool("Bash", {"command": "pytest -q"}, "1 failed, 2 passed in 0.1s", is_error=True)
    transcript.assistant("One fails.")
    out = tmp_path / "out"
    sink = ("--sink", f"{kind}:{out}")
    asked = ("--signals", "--nodes", "--digest")
    for what in asked:
        assert recollect("parse", transcript.path, what, *sink).returncode == 0
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(out)) as db:
            kept = [json.loads(text) for (text,) in db.execute("SELECT json FROM item")]
    else:
        kept = lines(out.read_bytes())
    whole = lines(recollect("parse", transcript.path, *asked).stdout)
    assert all(any(key in item for item in whole) for key in ("signal", "node", "flavor"))
    as_text = functools.partial(json.dumps, sort_keys=True)
    assert sorted(map(as_text, kept)) == sorted(map(as_text, whole))


@pytest.mark.parametrize("kind", ["ndjson", "sqlite"])
def test_what_cannot_be_a_sink_is_told_by_its_name(transcript: ClaudeTranscript, tmp_path: Path, kind: str) -> None:
    (tmp_path / "notes").write_text("not ours")
    in_place_of_a_folder = tmp_path / "notes" / "out"
    for place in (tmp_path, Path(), in_place_of_a_folder):
        done = recollect("parse", transcript.path, "--nodes", "--sink", f"{kind}:{place}")
        assert done.returncode == 3
        assert str(place) in done.stderr.decode()
        assert b"unexpected" not in done.stderr
        assert b"memory" not in done.stderr
    if kind == "sqlite":
        done = recollect("parse", transcript.path, "--nodes", "--sink", f"sqlite:{tmp_path / 'notes'}")
        assert (done.returncode, b"not a database" in done.stderr, b"memory" in done.stderr) == (3, True, False)
    assert (tmp_path / "notes").read_text() == "not ours"


def test_nothing_that_was_meant_is_told_by_the_exit_code(tmp_path: Path) -> None:
    talk = ClaudeTranscript(tmp_path / "agent", "one")
    talk.user("hello")
    for option in ("--nodes", "--explain"):
        done = recollect("parse", talk.path, option)
        assert (done.returncode, done.stdout) == (1, b"")
    assert recollect("parse", talk.path).returncode == 0


def test_a_sink_that_names_nothing_is_a_wrong_call(transcript: ClaudeTranscript) -> None:
    done = recollect("parse", transcript.path, "--nodes", "--sink", "sqlite:")
    assert done.returncode == 2
    assert b"ndjson:FILE" in done.stderr


def test_what_a_session_meant_is_not_exported_before_it_is_analysed(transcript: ClaudeTranscript) -> None:
    home_of_the_user().mkdir(parents=True, exist_ok=True)
    (home_of_the_user() / "config.toml").write_text("[distill]\nenabled = false\n")
    assert recollect("import", transcript.path).returncode == 0
    for form in ("nodes", "prov"):
        done = recollect("export", transcript.uid, "--format", form, "--out", "-")
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"is not analysed yet" in done.stderr


def test_what_a_session_meant_is_exported_as_lines_and_as_provenance(transcript: ClaudeTranscript) -> None:
    assert recollect("import", transcript.path).returncode == 0
    given = lines(recollect("export", transcript.uid, "--format", "nodes", "--out", "-").stdout)
    assert {"edit"} <= {line["signal"] for line in given if "signal" in line}
    nodes = {line["id"]: line for line in given if "node" in line}
    assert {"conversation", "decision", "episode", "binding"} == {line["node"] for line in nodes.values()}
    assert given[-1]["flavor"] == "claude"
    prov = json.loads(recollect("export", transcript.uid, "--format", "prov", "--out", "-").stdout)
    entities = {name for name, line in nodes.items() if line["node"] != "binding"}
    assert entities <= set(prov["entity"])
    (binding, *_) = [line for line in nodes.values() if line["node"] == "binding"]
    used = [(u["prov:activity"], u["prov:entity"]) for u in prov["used"].values()]
    assert any(entity == binding["source"] for _, entity in used)
    assert any(g["prov:entity"] == binding["episode"] for g in prov["wasGeneratedBy"].values())
    assert KEY not in json.dumps(prov) + json.dumps(given)
