"""`recollect sync-folder` from the command line: where the passphrase comes from, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.testing.builders import ClaudeTranscript
from tests.cli.conftest import recollect

__all__ = ["recollect"]
Recollect = Callable[..., Any]
PASSPHRASE = "a horse that is correct"


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder; the user has one session."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "home"))
    ClaudeTranscript(tmp_path / "claude", "one").user("Which port does heron use?")
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


def test_the_passphrase_comes_from_a_variable_a_file_or_a_pipe(
    shared: Path, recollect: Recollect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RECOLLECT_SYNC_PASSPHRASE", PASSPHRASE)
    done = recollect("sync-folder", str(shared), "--machine", "laptop", "--json")
    assert (done.code, done.data["sent_sessions"], done.data["machine"]) == (0, 1, "laptop")
    monkeypatch.delenv("RECOLLECT_SYNC_PASSPHRASE")
    (tmp_path / "passphrase").write_text(f"{PASSPHRASE}\nand a note\n")
    assert recollect("sync-folder", str(shared), "--passphrase-file", str(tmp_path / "passphrase")).code == 0
    said = recollect("sync-folder", str(shared), stdin=f"{PASSPHRASE}\n".encode())
    assert (said.code, said.out.splitlines()[0]) == (0, "received 0 sessions (0 B) from other machines")


def test_a_wrong_passphrase_is_one_line_and_a_hint(
    shared: Path, recollect: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_SYNC_PASSPHRASE", PASSPHRASE)
    assert recollect("sync-folder", str(shared)).code == 0
    monkeypatch.setenv("RECOLLECT_SYNC_PASSPHRASE", "another horse altogether")
    done = recollect("sync-folder", str(shared))
    assert (done.code, done.err.count("\n")) == (2, 2)
    assert "opens no batch" in done.err
    assert "horse" not in done.out + done.err


def test_a_refused_file_is_named_and_the_code_says_so(
    shared: Path, recollect: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_SYNC_PASSPHRASE", PASSPHRASE)
    assert recollect("sync-folder", str(shared)).code == 0
    (batch,) = shared.glob("*/*.batch")
    batch.write_bytes(batch.read_bytes()[:-1])
    done = recollect("sync-folder", str(shared))
    assert done.code == 3
    assert f"skipped {batch}" in done.out
