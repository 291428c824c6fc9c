"""A read that looks for changes again looks at everything only where the state of files says that something changed.

So does a command that follows another one, by what that one left.
"""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Memory
from recollect.clock import now_us
from recollect.ingest import operations, quick_look
from recollect.ingest.report import SyncReport
from recollect.store.reader import Reader
from recollect.testing.builders import ClaudeTranscript

OLD_S = 1_780_000_000.0
"""Long before any test: what was written then goes on no more."""


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory in which every read looks for changes."""
    monkeypatch.setattr(operations, "REFRESH_EVERY_S", 0.0)
    monkeypatch.setattr(operations, "QUICK_EVERY_S", 0.0)
    return Memory.open(tmp_path / "home", env={**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")})


def test_where_nothing_changed_nothing_is_looked_at(memory: Memory, tmp_path: Path) -> None:
    ClaudeTranscript(tmp_path / "claude", "one").user("about the quokka")
    assert memory.search("quokka").hits
    looked = memory.last_sync
    assert memory.search("quokka").hits
    assert memory.last_sync is looked
    memory.close()


@pytest.mark.parametrize("what", ["append", "new file", "new folder"])
def test_what_changed_is_found(memory: Memory, tmp_path: Path, what: str) -> None:
    talk = ClaudeTranscript(tmp_path / "claude", "one")
    talk.user("about the quokka")
    memory.search("quokka")
    memory.search("quokka")
    if what == "append":
        talk.user("about the wombat")
    else:
        cwd = "/elsewhere" if what == "new folder" else "/work/shop"
        ClaudeTranscript(tmp_path / "claude", "two", cwd=cwd).user("about the wombat")
    assert memory.search("wombat").hits
    memory.close()


def test_what_another_process_ingested_has_everything_looked_at(memory: Memory, tmp_path: Path) -> None:
    ClaudeTranscript(tmp_path / "claude", "one").user("about the quokka")
    memory.search("quokka")
    looked = memory.last_sync
    ClaudeTranscript(tmp_path / "claude", "two").user("about the wombat")
    with Memory.open(memory.home, env=memory.env) as other:
        other.sync()
    assert memory.search("wombat").hits
    assert memory.last_sync is not looked
    memory.close()


class Commands:
    """Commands over one home, each with a memory of its own, as processes have."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env = {**os.environ, "HOME": str(root / "user"), "CLAUDE_CONFIG_DIR": str(root / "claude")}

    def open(self, **more: str) -> Memory:
        return Memory.open(self.root / "home", env={**self.env, **more})

    def sync(self) -> SyncReport:
        with self.open() as memory:
            return memory.sync()

    def search(self, query: str = "quokka", **more: str) -> tuple[int, bool]:
        """Search; return the number of hits, and whether everything was looked at."""
        with self.open(**more) as memory:
            return len(memory.search(query).hits), memory.last_sync is not None

    def write(self, name: str, text: str) -> None:
        """Write a session that is long over."""
        talk = ClaudeTranscript(self.root / "claude", name)
        talk.user(text)
        os.utime(talk.path, (OLD_S, OLD_S))


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    """Commands over a home in which nothing is left to be done."""
    found = Commands(tmp_path)
    found.write("one", "about the quokka")
    for _ in range(3):
        found.sync()
    return found


def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what counts the looks at everything from now on."""
    found: list[str] = []
    real = quick_look.quick_look

    def counted(context: quick_look.LookContext, reader: Reader) -> quick_look.QuickLook | None:
        found.append(str(context.home.folder))
        return real(context, reader)

    monkeypatch.setattr(operations, "quick_look", counted)
    return found


def test_a_command_goes_by_what_the_last_one_left(commands: Commands) -> None:
    assert commands.search() == (1, False)
    assert commands.search() == (1, False)


def test_what_changed_since_is_found_by_the_next_command(commands: Commands) -> None:
    commands.write("two", "about the wombat and the quokka")
    assert commands.search("wombat") == (1, True)
    assert commands.search() == (2, False)


def test_a_sync_that_has_nothing_to_do_says_what_the_last_one_said(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = looks(monkeypatch)
    first, second = commands.sync(), commands.sync()
    assert not looked
    assert first.agents["claude"].unchanged == first.agents["claude"].found == 1
    assert (first.agents, first.notes, first.state, first.bytes) == (second.agents, [], "done", 0)
    commands.write("two", "about the wombat")
    assert commands.sync().events > 0
    assert looked


def test_a_session_that_fell_silent_is_analysed_though_no_file_changed(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    ClaudeTranscript(commands.root / "claude", "two", start=datetime.now(UTC)).user("we decided to use SQLite")
    reports = [commands.sync() for _ in range(3)]
    assert [report.waiting_sessions for report in reports] == [1, 1, 1]
    looked = looks(monkeypatch)
    assert commands.sync().waiting_sessions == 1
    assert not looked
    later = now_us() + 40 * 60 * 1_000_000
    for module in ("recollect.ingest.operations", "recollect.ingest.quick_look"):
        monkeypatch.setattr(f"{module}.now_us", lambda: later)
    assert commands.sync().distilled_sessions == 1
    assert looked


def test_another_place_of_an_agent_has_everything_looked_at(commands: Commands, tmp_path: Path) -> None:
    ClaudeTranscript(tmp_path / "elsewhere", "two").user("about the wombat")
    assert commands.search("wombat", CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere")) == (1, True)


def test_another_configuration_has_everything_looked_at(commands: Commands) -> None:
    (commands.root / "home" / "config.toml").write_text("[ingest]\nmin_messages = 1\n")
    assert commands.search() == (1, True)


def test_a_writer_that_was_killed_leaves_no_look(commands: Commands) -> None:
    class Killed(BaseException):
        """The process is gone."""

    with pytest.raises(Killed), commands.open() as memory, memory.writing():
        raise Killed
    assert commands.search() == (1, True)


@pytest.mark.parametrize("what", ["archive", "index"])
def test_what_was_done_to_the_memory_by_hand_has_everything_looked_at(commands: Commands, what: str) -> None:
    home = commands.root / "home"
    match what:
        case "archive":
            os.utime(next((home / "archive" / "packs").iterdir()))
        case "index":
            shutil.rmtree(next((home / "index" / "text").glob("*/")))
    assert commands.search() == (1, True)


def test_an_older_copy_of_the_database_has_everything_looked_at(commands: Commands) -> None:
    database = commands.root / "home" / "memory.db"
    older = database.read_bytes()
    commands.write("two", "about the wombat")
    commands.sync()
    assert commands.search("wombat") == (1, False)
    database.write_bytes(older)
    assert commands.search("wombat")[1]


def test_what_an_agent_was_given_means_no_look_for_a_search(commands: Commands) -> None:
    with commands.open() as memory:
        block = memory.context(cwd="/w/demo")
        memory.context_facet.record(block, agent="claude", event="start", session="", took_us=1)
    assert commands.search() == (1, False)


def test_blocks_that_were_deleted_are_made_by_the_next_sync_but_not_by_a_search(commands: Commands) -> None:
    shutil.rmtree(commands.root / "home" / "ready")
    assert commands.search() == (1, False)
    commands.sync()
    assert (commands.root / "home" / "ready" / "stamp.json").exists()


def test_a_link_to_a_folder_has_everything_looked_at(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    (commands.root / "claude" / "projects" / "linked").symlink_to(tmp_path / "beside")
    commands.sync()
    commands.sync()
    assert commands.search() == (1, True)


def test_a_look_that_cannot_be_read_is_none(commands: Commands) -> None:
    (commands.root / "home" / "run" / quick_look.LOOK_NAME).write_bytes(b'{"token": 1')
    assert commands.search() == (1, True)
    assert commands.search() == (1, False)


def test_what_a_hook_left_has_everything_looked_at_once(commands: Commands) -> None:
    spool = commands.root / "home" / "spool"
    spool.mkdir(exist_ok=True)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": "/w", "prompt": "about the numbat"}
    (spool / f"claude.claude.1.{1:032x}.json").write_text(json.dumps(event))
    assert commands.search("numbat")[1]
    assert commands.search("numbat") == (1, False)


def test_a_repository_that_is_new_is_looked_into_first(commands: Commands, tmp_path: Path) -> None:
    """Some agents write into the repositories in which others work."""
    (tmp_path / "shop").mkdir()
    ClaudeTranscript(commands.root / "claude", "two", cwd=str(tmp_path / "shop")).user("about the wombat")
    commands.sync()
    (tmp_path / "shop" / ".aider.chat.history.md").write_text(
        "\n# aider chat started at 2026-08-01 09:00:00\n\n#### about the numbat\n\nIt is small.\n"
    )
    assert commands.search("numbat")[0]
