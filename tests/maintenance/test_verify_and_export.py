"""Verify finds what is damaged; export gives sessions back under their names and times."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.config import Config
from recollect.errors import UnknownName, UsageError
from recollect.files import DRAFT_SUFFIX
from recollect.memory import ExportFormat, Memory
from recollect.testing.builders import ClaudeTranscript, CodexRollout


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}


@pytest.fixture
def one(tmp_path: Path) -> ClaudeTranscript:
    transcript = ClaudeTranscript(tmp_path / "claude", "one")
    transcript.user("show me ```the``` fence")
    transcript.tool("Bash", {"command": "ls"}, "a.py\nb.py")
    transcript.assistant("two files")
    return transcript


@pytest.fixture
def memory(tmp_path: Path, env: dict[str, str], one: ClaudeTranscript) -> Iterator[Memory]:
    CodexRollout(tmp_path / "codex", "two").turn("why", "because")
    with Memory.open(tmp_path / "memory", config=Config(), env=env) as memory:
        memory.sync()
        yield memory


def packs(memory: Memory) -> list[Path]:
    return sorted((memory.home / "archive" / "packs").iterdir())


def test_a_sound_memory_adds_up(memory: Memory, one: ClaudeTranscript) -> None:
    report = memory.maintenance.verify()
    assert report.ok
    assert report.defects == ()
    (ledger,) = [x for x in report.ledgers if x.session_uid == one.uid]
    assert (ledger.bytes_in, ledger.bytes_out) == (one.path.stat().st_size,) * 2
    assert (ledger.records_in, ledger.records_out) == (4, 4)
    assert ledger.is_ok


def test_one_changed_bit_in_the_archive_is_found_and_named(memory: Memory) -> None:
    memory.close()
    (pack,) = packs(memory)
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(bytes(data))
    report = memory.maintenance.verify()
    assert not report.ok
    assert [d.code for d in report.defects if d.is_loss] == ["chunk_unreadable"]
    assert sum(not x.is_ok for x in report.ledgers) == 1


def test_a_lost_pack_is_a_loss_for_every_source_in_it(memory: Memory) -> None:
    memory.close()
    for pack in packs(memory):
        pack.unlink()
    report = memory.maintenance.verify()
    assert not report.ok
    assert not any(x.is_ok for x in report.ledgers)


def test_a_damaged_journal_is_found(memory: Memory) -> None:
    memory.close()
    journal = memory.home / "archive" / "journal.log"
    data = bytearray(journal.read_bytes())
    data[80] ^= 1
    journal.write_bytes(bytes(data))
    report = memory.maintenance.verify()
    assert "journal_damaged" in [d.code for d in report.defects if d.is_loss]


def test_raw_export_is_byte_exact_named_and_dated(memory: Memory, one: ClaudeTranscript, tmp_path: Path) -> None:
    before = one.path.read_bytes()
    one.path.unlink()
    (written,) = memory.maintenance.export(one.uid, format="raw", out=tmp_path / "out")
    path = Path(written.path)
    assert path.name == f"claude_{one.session}.jsonl"
    assert path.read_bytes() == before
    ended = memory.session(one.uid).ended_at
    assert ended is not None
    assert path.stat().st_mtime_ns == ended * 1000
    assert os.listdir(tmp_path / "out") == [path.name]


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_only_its_owner_can_read_a_raw_export(memory: Memory, one: ClaudeTranscript, tmp_path: Path) -> None:
    (tmp_path / f".claude_{one.session}.jsonl{DRAFT_SUFFIX}").touch(mode=0o644)  # left by a run that was killed
    (written,) = memory.maintenance.export(one.uid, format="raw", out=tmp_path)
    assert Path(written.path).stat().st_mode & 0o777 == 0o600


def test_without_a_format_an_export_has_the_events_as_they_are_shown(memory: Memory, one: ClaudeTranscript) -> None:
    default = b"".join(memory.maintenance.export_bytes(one.uid))
    assert default == b"".join(memory.maintenance.export_bytes(one.uid, format="events"))


def test_events_export_is_one_json_object_a_line(memory: Memory, one: ClaudeTranscript, tmp_path: Path) -> None:
    (written,) = memory.maintenance.export(one.uid, format="events", out=tmp_path)
    lines = [json.loads(line) for line in Path(written.path).read_text("utf-8").splitlines()]
    assert [x["seq"] for x in lines] == list(range(len(lines)))
    assert {x["session_uid"] for x in lines} == {one.uid}


HIDING = "\x1b[31m\x7f\x9b\u061c\u200e\u202e\u2066\ufeff\U000e0041"


@pytest.mark.parametrize("form", ["events", "claude-jsonl", "markdown", "nodes", "prov"])
def test_no_export_but_raw_has_a_character_that_controls_or_hides(
    form: ExportFormat, memory: Memory, one: ClaudeTranscript
) -> None:
    one.user(f"we decided to use{HIDING} tantivy because it is fast")
    memory.sync()
    given = b"".join(memory.maintenance.export_bytes(one.uid, format=form)).decode()
    assert not set(HIDING.replace("[31m", "")) & set(given)
    assert form != "events" or any(HIDING in json.loads(line)["payload"].get("text", "") for line in given.splitlines())


@pytest.mark.parametrize("uid_of", ["claude", "codex"])
def test_claude_jsonl_export_can_be_taken_in_as_a_claude_session(memory: Memory, uid_of: str, tmp_path: Path) -> None:
    session = next(s for s in memory.sessions(sync=False).sessions if s.agent == uid_of)
    (written,) = memory.maintenance.export(session.session_uid, format="claude-jsonl", out=tmp_path)
    said = [e.payload.text for e in memory.parse(Path(written.path)) if e.kind == "user_message"]  # type: ignore[union-attr]
    assert said == [e.payload.text for e in memory.events(session.session_uid) if e.kind == "user_message"]  # type: ignore[union-attr]


def test_markdown_export_fences_what_contains_fences(memory: Memory, one: ClaudeTranscript, tmp_path: Path) -> None:
    (written,) = memory.maintenance.export(one.uid, format="markdown", out=tmp_path)
    text = Path(written.path).read_text("utf-8")
    assert "## User" in text
    assert "two files" in text
    assert "a.py" in text


def test_a_revision_that_was_never_seen_is_a_clear_error(memory: Memory, one: ClaudeTranscript, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="revision"):
        memory.maintenance.export(one.uid, format="raw", out=tmp_path, revision=7)
    with pytest.raises(UsageError, match="raw"):
        memory.maintenance.export(one.uid, format="markdown", out=tmp_path, revision=1)


def test_an_unknown_session_names_what_is_near(memory: Memory, one: ClaudeTranscript) -> None:
    with pytest.raises(UnknownName, match=one.session[:8]):
        memory.session(one.uid[:-4] + "ffff")


def test_an_export_folder_that_cannot_be_made_is_one_line(
    memory: Memory, one: ClaudeTranscript, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot write"):
        memory.maintenance.export(one.uid, format="raw", out=tmp_path / "file" / "out")
