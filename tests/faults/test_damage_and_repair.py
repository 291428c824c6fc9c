"""Every row of the table of damage and repair in docs/how-to/repair-damage.md is true: each damage is done."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from recollect.cli.main import run
from recollect.hook.event_file import keep
from recollect.memory import DiaryQuestion, ForgetSelection, Memory, NewEntry
from tests.faults.support.damages import DAMAGES, OLDER, Promise, promises, settle
from tests.faults.support.worlds import World, copy_home, make_world, opened, prepare_home

ROOT = Path(__file__).resolve().parents[2]
PROMISES = promises(ROOT / "docs" / "how-to" / "repair-damage.md")
SETTINGS = "[embedding]\nin_background = false\n\n[distill]\nenabled = false\n"
WORD = "reply"


class Whole(NamedTuple):
    """A small home with everything in it. older: the same home before its last sync; later: after it, before a session
    was forgotten, which writes packs again. gone: a session whose transcript its agent has deleted; at: where its bytes
    begin in the pack."""

    home: Path
    older: Path
    later: Path
    backup: Path
    world: World
    uids: frozenset[str]
    gone: str
    forgotten: str
    at: int


class Ended(NamedTuple):
    """What a command came to."""

    code: int
    output: str


def _uids(memory: Memory) -> frozenset[str]:
    return frozenset(s.session_uid for s in memory.sessions(limit=100, sync=False).sessions)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("damage")
    world = make_world(folder / "agents", sessions=2, rounds=2)
    home = prepare_home(folder / "whole")
    (home / "config.toml").write_text(SETTINGS)
    (home / "config.toml").chmod(0o600)
    with opened(home, world.env) as memory:
        memory.sync()
        memory.embedding.run()
        memory.notes.diary.write(NewEntry(agent="claude", text="A day on the queue."))
        memory.setup.prepare("claude", "both").do()
        gone, forgotten = world.claude[0], world.claude[1]
        memory.maintenance.backup(folder / "backup")
        gone.path.unlink()
    settle(home)
    older = copy_home(home, folder / "older")
    world.claude[2].user("a question that came later")
    world.codex[0].turn("a prompt that came later", "a reply that came later")
    with opened(home, world.env) as memory:
        memory.sync()
    settle(home)
    later = copy_home(home, folder / "later")
    with opened(home, world.env) as memory:
        memory.maintenance.forgetting.run(ForgetSelection(session=forgotten.uid))
        memory.sync()
        uids = _uids(memory)
        (source,) = memory.reader().sources(session=gone.session)
        at = memory.reader().chunks(source.source_id, 1)[0][0].offset
    settle(home)
    assert {gone.uid} <= uids
    assert forgotten.uid not in uids
    return Whole(home, older, later, folder / "backup", world, uids, gone.uid, forgotten.uid, at)


@pytest.fixture
def recollect(whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Ended]:
    """Return a function that runs a command line of the table on the home of a test."""
    for name, value in {**whole.world.env, "RECOLLECT_HOME": str(tmp_path / "home")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RECOLLECT_BACKGROUND", "0")
    monkeypatch.chdir(tmp_path)

    def call(line: str) -> Ended:
        arguments = line.replace("BACKUP", str(whole.backup)).split()
        if arguments[0] == "search":
            arguments.append(WORD)
        if arguments[0] == "backup":
            arguments.append(str(tmp_path / "another-backup"))
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out):
            code = run(arguments)
        return Ended(code, out.getvalue())

    return call


def _damaged(whole: Whole, promise: Promise, home: Path) -> Path:
    """Make a home in which one file of a row is damaged."""
    is_old_pack = promise.file.endswith(".pack") and promise.damage == OLDER
    copy_home(whole.later if is_old_pack else whole.home, home)
    if promise.file.startswith("spool/"):
        told = b'{"hook_event_name": "UserPromptSubmit", "session_id": "x", "prompt": "a prompt that hooks saw"}'
        assert keep(str(home / "spool"), "claude", told)
    if promise.file == "memory.db-wal":
        _let_the_log_grow(whole, home)
    path = max((p for p in home.glob(promise.file) if p.is_file()), key=lambda p: (p.stat().st_size, p.name))
    if promise.damage == OLDER:
        older = whole.older / path.relative_to(home)
        shutil.copy2(older, path)
    else:
        at = whole.at + 50 if path.suffix == ".pack" else path.stat().st_size // 2
        DAMAGES[promise.damage](path, at)
    if promise.file == "memory.db-wal":
        (home / "memory.db-shm").unlink(missing_ok=True)
    return path


def _let_the_log_grow(whole: Whole, home: Path) -> None:
    """Leave what the last sync stored in the write-ahead log: a reader was at it, then the power failed."""
    working = copy_home(whole.older, home.parent / "working")
    shutil.rmtree(home)
    reader = apsw.Connection(str(working / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM source").fetchall()
    with opened(working, whole.world.env) as memory:
        memory.sync()
    shutil.copytree(working, home)
    reader.close()


def _expected(whole: Whole, promise: Promise) -> frozenset[str]:
    if promise.file == "memory.db-wal" or (promise.file.endswith(".pack") and promise.damage == OLDER):
        return whole.uids | {whole.forgotten}
    return whole.uids


def test_the_table_names_every_kind_of_damage() -> None:
    assert len(PROMISES) > 40
    assert {promise.damage for promise in PROMISES} == {*DAMAGES, OLDER}


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_what_the_table_says_of_damage_is_so(
    whole: Whole, recollect: Callable[[str], Ended], tmp_path: Path, promise: Promise
) -> None:
    home = tmp_path / "home"
    _damaged(whole, promise, home)
    damaged = tmp_path / "as-damaged"
    shutil.copytree(home, damaged)
    for command, words in promise.said:
        copy_home(damaged, home)
        ended = recollect(command)
        assert words in ended.output, (command, ended)
        _is_clean(ended)
    for command in promise.works:
        copy_home(damaged, home)
        ended = recollect(command)
        _is_clean(ended)
        if command.startswith("search"):
            assert ended.code == 0, ended
            assert WORD in ended.output
    copy_home(damaged, home)
    for command in promise.repairs:
        ended = recollect(command)
        _is_clean(ended)
    if not promise.repairs:
        return
    assert recollect("verify").code == 0, recollect("verify")
    assert recollect("sync").code == 0, recollect("sync")
    with opened(home, whole.world.env) as memory:
        assert _uids(memory) == _expected(whole, promise)
        assert memory.search(WORD, sync=False).hits
        if any("BACKUP" in command for command in promise.repairs):
            assert memory.notes.diary.read(DiaryQuestion(), limit=10).entries


def _is_clean(ended: Ended) -> None:
    """It ended in an answer or in one line that says what is wrong, never in a bug."""
    assert "Traceback" not in ended.output, ended
    assert "report this" not in ended.output, ended
    assert ended.code in (0, 1, 2, 3), ended
