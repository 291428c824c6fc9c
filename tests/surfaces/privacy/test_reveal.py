"""`recollect reveal`: the secrets behind the markers, asked for and logged, and nowhere else."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import program
from tests.cli.conftest import Outcome, recollect
from tests.privacy.planted_secrets import PLANTED, kinds_in

__all__ = ["recollect"]

Recollect = Callable[..., Outcome]
SESSION = "5f0c0000-0000-4000-8000-000000000000"
UID = f"claude:{SESSION}"
PROGRAM = (sys.executable, "-m", "recollect")
TOKEN, KEY = PLANTED["github_classic"][1], PLANTED["anthropic"][1]
OUTPUT = f"first {TOKEN}{os.linesep}then {TOKEN} and {KEY}|{KEY}\n" + "a line of output\n" * 300


def write_session(home: Path, *blocks: dict[str, Any]) -> Path:
    """Write a transcript in which a person says a secret, and a tool is given and gives others."""
    common = {"sessionId": SESSION, "timestamp": "2026-10-01T10:00:00.000Z", "cwd": "/work", "version": "2.0.0"}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"GITHUB_TOKEN={TOKEN} make"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": OUTPUT}
    records = [
        {"type": "user", "uuid": "u1", **common, "message": {"role": "user", "content": f"use {KEY} \u2028 please"}},
        {"type": "assistant", "uuid": "u2", **common, "message": {"id": "m1", "role": "assistant", "content": [call]}},
        {"type": "user", "uuid": "u3", **common, "message": {"role": "user", "content": [result]}},
        {"type": "user", "uuid": "u4", **common, "message": {"role": "user", "content": "nothing secret"}},
    ]
    path = home / ".claude" / "projects" / "-work" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


@pytest.fixture
def transcript(isolated_home: Path, recollect: Recollect) -> Path:
    """Return the transcript of a memory that has taken it in."""
    path = write_session(isolated_home)
    assert recollect("sync", "--json").data["state"] == "done"
    return path


def seq_of(recollect: Recollect, kind: str) -> int:
    """Return the number of the session's first event of a kind."""
    events = recollect("show", UID, "--json").data["events"]
    return int(next(event["seq"] for event in events if event["kind"] == kind))


def test_the_secrets_come_back_exactly(transcript: Path, recollect: Recollect) -> None:
    shown = recollect("show", UID, "--json").out
    assert TOKEN not in shown
    assert KEY not in shown
    revealed = {event["kind"]: event for event in reversed(recollect("reveal", UID, "--json", "--yes").data["events"])}
    assert revealed["user_message"]["payload"]["text"] == f"use {KEY} \u2028 please"
    assert revealed["tool_call"]["payload"]["arguments"] == {"command": f"GITHUB_TOKEN={TOKEN} make"}
    assert revealed["tool_result"]["payload"]["text"] == OUTPUT
    assert all(event["left"] == [] for event in revealed.values())


def test_one_event_is_revealed_alone_and_its_record_exactly(transcript: Path, recollect: Recollect) -> None:
    cited = f"{UID}#{seq_of(recollect, 'tool_result')}"
    (event,) = recollect("reveal", cited, "--json", "--yes").data["events"]
    assert event["secrets"] == 2
    assert recollect("reveal", cited, "--raw", "--yes").out.encode() == transcript.read_bytes().splitlines(True)[2]


def test_a_person_reads_it_and_nothing_controls_the_terminal(transcript: Path, recollect: Recollect) -> None:
    out = recollect("reveal", UID, "--yes").out
    assert KEY in out
    assert "\u2028" not in out
    assert "logged" in out


def test_everything_shown_is_logged_first_without_a_word_of_it(transcript: Path, recollect: Recollect) -> None:
    assert recollect("reveal", "--log").code == 1
    recollect("reveal", f"{UID}#{seq_of(recollect, 'tool_call')}", "--json", "--yes")
    recollect("reveal", UID, "--raw", "--yes")
    log = recollect("reveal", "--log", "--json")
    raw, text = (entry["value"] for entry in log.data["entries"])
    assert (text["session_uid"], text["as"], text["events"], text["secrets"]) == (UID, "text", 1, 1)
    assert raw["as"] == "records"
    assert text["by"]
    assert TOKEN not in log.out
    assert UID in recollect("reveal", "--log").out


def test_exact_bytes_that_are_exported_are_logged_too(transcript: Path, recollect: Recollect, tmp_path: Path) -> None:
    assert recollect("export", UID, "--raw", "--out", "-").out.encode() == transcript.read_bytes()
    recollect("export", UID, "--raw", "--out", str(tmp_path / "out"))
    recollect("export", UID, "--format", "markdown", "--out", str(tmp_path / "out"))
    log = recollect("reveal", "--log", "--json").data["entries"]
    assert [(entry["value"]["as"], entry["value"]["session_uid"]) for entry in log] == [("export", UID)] * 2


def test_a_plain_export_is_redacted_and_lies_in_the_current_folder(
    transcript: Path, recollect: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(os.listdir(tmp_path))
    assert recollect("export", UID).code == 0
    (name,) = set(os.listdir(tmp_path)) - before
    written = (tmp_path / name).read_text("utf-8")
    assert kinds_in(written)
    assert TOKEN not in written
    assert KEY not in written
    assert recollect("reveal", "--log").code == 1


@pytest.mark.parametrize("raw", [("--raw",), ("--format", "raw")])
def test_raw_bytes_are_written_only_to_a_named_place(
    raw: tuple[str, ...], transcript: Path, recollect: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(os.listdir(tmp_path))
    refused = recollect("export", UID, *raw)
    assert refused.code == 2
    assert refused.out == ""
    assert "--out" in refused.err
    assert set(os.listdir(tmp_path)) == before
    assert recollect("reveal", "--log").code == 1


def test_what_cannot_be_logged_is_not_shown(transcript: Path, recollect: Recollect) -> None:
    import apsw

    home = Path(os.environ["RECOLLECT_HOME"])
    db = apsw.Connection(str(home / "memory.db"))
    db.execute("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END")
    db.close()
    reveal = ("reveal", UID, "--yes")
    for argv in (reveal, (*reveal, "--raw"), (*reveal, "--json"), ("export", UID, "--raw", "--out", "-")):
        outcome = recollect(*argv)
        assert outcome.code == 3
        assert TOKEN not in outcome.out
        assert KEY not in outcome.out


def test_without_a_terminal_it_is_not_shown_unless_agreed_to(transcript: Path, recollect: Recollect) -> None:
    for argv in (("reveal", UID), ("reveal", UID, "--json")):
        done = program.run_text(*argv, stdin="y\n")
        assert done.returncode == 2
        assert KEY not in done.stdout
        assert "--yes" in done.stderr + done.stdout
    assert recollect("reveal", "--log").code == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
@pytest.mark.parametrize(("said", "is_shown"), [(b"n\n", False), (b"\n", False), (b"y\n", True)])
def test_on_a_terminal_it_asks(transcript: Path, said: bytes, is_shown: bool) -> None:
    import pty

    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, [*PROGRAM, "reveal", UID])
    os.write(terminal, said)
    out = b""
    try:
        while piece := os.read(terminal, 65536):
            out += piece
    except OSError:  # how a terminal says that its program has ended
        pass
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    assert b"This is logged" in out
    assert (KEY.encode() in out, code == 0) == (is_shown, is_shown)


def test_a_record_that_is_gone_is_told_and_nothing_is_made_up(transcript: Path, recollect: Recollect) -> None:
    home = Path(os.environ["RECOLLECT_HOME"])
    (home / "keys" / "wrapping.key").unlink()
    outcome = recollect("reveal", UID, "--yes", "--json")
    assert outcome.code == 3
    assert outcome.data["error"]["code"] == "key_unavailable"


@pytest.mark.parametrize("session", ["claude:5f0c#99", "claude:5f0c#x", "claude:none", ""])
def test_what_is_not_there_is_a_wrong_request(transcript: Path, recollect: Recollect, session: str) -> None:
    assert recollect("reveal", *filter(None, [session]), "--yes").code == 2


def test_no_server_offers_it() -> None:
    folder = Path(__file__).resolve().parents[3] / "src" / "recollect" / "serve"
    texts = [path.read_text("utf-8") for path in folder.rglob("*.py")]
    assert texts
    logged = "maintenance.reveal.log("  # who revealed something, never what
    assert not [text for text in texts if "reveal" in text.replace(logged, "").lower()]
