"""The stages that are killed, each a line of the table at the end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from recollect.config import Config
from recollect.hook.event_file import keep
from recollect.memory import ForgetSelection, Memory
from recollect.store.migrations import MIGRATIONS
from recollect.testing.builders import ClaudeTranscript
from tests.capture.mempalace.palaces import PalaceBuilder
from tests.faults.support.trials import Bench, Stage, state_of
from tests.faults.support.worlds import (
    NOTHING,
    SETTINGS,
    Seen,
    World,
    assert_database_is_sound,
    assert_same,
    assert_sound,
    opened,
    state,
)

NO_DISTILLING = SETTINGS + "\n[distill]\nenabled = false\n"
NO_LEARNING = SETTINGS + "\n[learning]\nenabled = false\n"
PROJECT = "{beside}/project"
PALACE = "{beside}/palace"


def _empty(_bench: Bench, _home: Path) -> None:
    """Nothing was ever taken in."""


def _taken_in(bench: Bench, home: Path) -> None:
    bench.must(home, "sync")


def _grown(bench: Bench, home: Path) -> None:
    """A part of every transcript is there, one of them up to the middle of a line; then the agents wrote on."""
    files = {path: path.read_bytes() for path in bench.world.transcripts().values()}
    for path, data in files.items():
        path.write_bytes(data[: len(data) * 2 // 3])
    bench.must(home, "sync")
    for path, data in files.items():
        path.write_bytes(data)


def _not_distilled(bench: Bench, home: Path) -> None:
    (home / "config.toml").write_text(NO_DISTILLING)
    bench.must(home, "sync")
    (home / "config.toml").write_text(SETTINGS)


def _not_learned(bench: Bench, home: Path) -> None:
    (home / "config.toml").write_text(NO_LEARNING)
    bench.must(home, "sync")
    (home / "config.toml").write_text(SETTINGS)


def _beside_a_project(bench: Bench, home: Path) -> None:
    """Documents lie beside the homes of the trial: some of several parts, one large, one that is left out."""
    bench.must(home, "sync")
    project = home.parent / "project"
    for name, parts in (("README", 3), ("docs/guide", 12), ("docs/long", 120), ("build/out", 2)):
        page = project / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("".join(f"# Part {n} of {name}\n\nThe handbook says {n}.\n\n" for n in range(parts)))
    (project / ".gitignore").write_text("build/\n")


def _with_documents(bench: Bench, home: Path) -> None:
    _beside_a_project(bench, home)
    bench.must(home, "docs", "add", str(home.parent / "project"))


def _with_documents_that_changed(bench: Bench, home: Path) -> None:
    """One page is new, one changed, one moved and one is gone since they were taken in."""
    _with_documents(bench, home)
    docs = home.parent / "project" / "docs"
    (docs / "new.md").write_text("# New\n\nA part of the handbook that is new.\n")
    (docs / "guide.md").write_text("# Guide\n\nThis part of the handbook is short now.\n")
    (docs / "long.md").rename(docs / "longer.md")
    (home.parent / "project" / "README.md").unlink()


def _beside_a_palace(bench: Bench, home: Path) -> None:
    """A palace lies beside the homes of the trial: files in pieces, diaries, facts, one of them ended."""
    bench.must(home, "sync")
    palace = PalaceBuilder(home.parent / "palace")
    for number in range(6):
        palace.file(f"/w/shop/page{number}.md", [f"The handbook says {number}.", f"And it says {number + 1}."])
        palace.entry(f"diary_{number}", f"Day {number}: we shipped release {number}.")
        palace.triple(f"t{number}", ("Shop API", "uses", f"Library {number}"), begin="2026-01-05")
    palace.triple("ended", ("Shop API", "runs_on", "Heron"), begin="2026-01-01", end="2026-02-01")


def _with_drops(bench: Bench, home: Path) -> None:
    """Hooks told of a session that no transcript knows, and of one that has a transcript."""
    bench.must(home, "sync")
    spool = home / "spool"
    for number in range(12):
        session = ("0a0a0a0a-0000-4000-8000-000000000001", bench.world.claude[1].session)[number // 6]
        told = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": "/w/p0",
                "transcript_path": "/t", "prompt": f"prompt {number % 6} that hooks alone saw"}  # fmt: skip
        before = set(spool.glob("*.json"))
        assert keep(str(spool), "claude", json.dumps(told).encode())
        (drop,) = set(spool.glob("*.json")) - before
        # Names are drawn at random and stand in what is archived: with these, two homes are prepared alike.
        named = drop.rename(spool / f"claude.claude.{1000 + number}.{number:032x}.json")
        os.utime(named, ns=(1_785_574_800_000_000_000 + number * 10**9,) * 2)


def _of_an_older_version(bench: Bench, home: Path) -> None:
    bench.must(home, "sync")
    downgrade(home, len(MIGRATIONS) - 1)


def downgrade(home: Path, version: int) -> None:
    """Make the database of a home what it would be under an older schema, with what both versions know."""
    new = home / "memory.db"
    old = home / "older.db"
    connection = apsw.Connection(str(old))
    connection.execute("PRAGMA auto_vacuum = 2").fetchall()
    connection.execute("PRAGMA journal_mode = wal").fetchall()
    for statement in (s for migration in MIGRATIONS[:version] for s in migration):
        connection.execute(statement)
    with apsw.Connection(str(new)) as newer:
        newer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        application_id = newer.pragma("application_id")
    newer.close()
    connection.execute("ATTACH ? AS newer", (str(new),))
    tables = "SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name = 'sqlite_sequence'"
    for (table,) in connection.execute(tables).fetchall():
        known = {row[1] for row in connection.execute(f"PRAGMA newer.table_info('{table}')")}
        columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info('{table}')") if row[1] in known]
        if columns:
            named = ", ".join(f'"{column}"' for column in columns)
            connection.execute(f'DELETE FROM main."{table}"')
            connection.execute(f'INSERT INTO main."{table}" ({named}) SELECT {named} FROM newer."{table}"')
    connection.execute("DETACH newer")
    connection.execute(f"PRAGMA application_id = {application_id}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    for suffix in ("-wal", "-shm"):
        new.with_name(new.name + suffix).unlink(missing_ok=True)
    os.replace(old, new)


def _is_of_one_version(home: Path, _world: World, _before: Seen) -> Seen:
    """Opening it would migrate it: SQLite alone is asked. What it holds is told in the end."""
    assert_database_is_sound(home)
    connection = apsw.Connection(str(home / "memory.db"))
    version = connection.pragma("user_version")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    connection.close()
    assert version in (len(MIGRATIONS) - 1, len(MIGRATIONS))
    assert tables == tables_of(version)
    return NOTHING


def tables_of(version: int) -> set[str]:
    """Return the tables of a schema."""
    connection = apsw.Connection(":memory:")
    for statement in (s for migration in MIGRATIONS[:version] for s in migration):
        connection.execute(statement)
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def with_vectors(home: Path, world: World) -> dict[str, Any]:
    """Everything that a user sees, and how much of it can be found by meaning."""
    with opened(home, world.env) as memory:
        vectors = memory.embedding.stats()
        assert vectors is not None
        assert vectors.covered == vectors.total > 0
        assert vectors.entries_covered == vectors.entries_total
    return state_of(home, world)


def _to_be_evicted(bench: Bench, home: Path) -> None:
    """More is stored than may be."""
    bench.must(home, "sync")
    (home / "config.toml").write_text(SETTINGS + "\n[retention]\nraw_soft_cap_bytes = 20000\n")


def _with_a_backup(bench: Bench, home: Path) -> None:
    """The backup lies beside the homes of the trial."""
    bench.must(home, "sync")
    bench.must(home, "backup", BACKUP)


BACKUP = "{beside}/backup"


def _assert_restorable(home: Path, world: World, expected: dict[str, Any]) -> None:
    """A backup that was interrupted again and again in the end holds the whole memory."""
    assert_same(home, world, expected)
    target = home.parent / "restored"
    restore = [
        sys.executable,
        "-m",
        "recollect",
        "restore",
        BACKUP.replace("{beside}", str(home.parent)),
        "--home",
        str(target),
    ]
    env = {**os.environ, **world.env, "RECOLLECT_HOME": str(home)}
    run = subprocess.run(restore, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert_same(target, world, expected)
    shutil.rmtree(target)


def _assert_same_after_a_sync(home: Path, world: World, expected: dict[str, Any]) -> None:
    """What lost its evidence is analysed again by the command itself, or by the next sync where it was killed."""
    with opened(home, world.env) as memory:
        assert memory.sync().events == 0
    assert_same(home, world, expected)


TRANSCRIPTS = "{beside}/transcripts"
EXPORT = ("export", "{session}", "--format", "markdown", "--out", "{beside}/exported")


def _beside_transcripts(bench: Bench, home: Path) -> None:
    """Transcripts in no layout of an agent lie beside the homes of the trial."""
    bench.must(home, "sync")
    folder = home.parent / "transcripts"
    folder.mkdir()
    for number in range(3):
        one = ClaudeTranscript(home.parent / "elsewhere", f"elsewhere{number}")
        one.user(f"question {number} of elsewhere")
        one.assistant(f"answer {number}")
        one.path.rename(folder / f"{number}.jsonl")


def _seeded(bench: Bench, home: Path) -> None:
    bench.must(home, "sync")
    bench.must(home, "facts", "seed")


def _without_an_index(bench: Bench, home: Path) -> None:
    bench.must(home, "sync")
    shutil.rmtree(home / "index")


def _without_a_journal(bench: Bench, home: Path) -> None:
    bench.must(home, "sync")
    (home / "archive" / "journal.log").unlink()


def _with_an_older_database(bench: Bench, home: Path) -> None:
    """The database is a copy of before the agents wrote on; the archive has everything."""
    files = {path: path.read_bytes() for path in bench.world.transcripts().values()}
    for path, data in files.items():
        path.write_bytes(data[: len(data) * 2 // 3])
    bench.must(home, "sync")
    older = (home / "memory.db").read_bytes()
    for path, data in files.items():
        path.write_bytes(data)
    bench.must(home, "sync")
    (home / "memory.db").write_bytes(older)


def _is_searched(home: Path, world: World, _before: Seen) -> Seen:
    """What is damaged is not whole before it is repaired; a question is answered, or it is said what is missing."""
    assert_database_is_sound(home)
    with opened(home, world.env) as memory:
        answer = memory.search("question", sync=False)
        assert answer.hits or answer.notes
    return NOTHING


def _assert_exported(home: Path, world: World, expected: dict[str, Any]) -> None:
    """There is one file, and it is whole."""
    assert_same(home, world, expected)
    (exported,) = (home.parent / "exported").iterdir()
    assert exported.read_text("utf-8").count("question") >= 4
    exported.unlink()


def _assert_same_but_repeated(home: Path, world: World, expected: dict[str, Any]) -> None:
    """What a person adds may be there twice where the command was killed after its commit and given again."""
    with opened(home, world.env) as memory:
        got = state(memory)
    assert {part for part in expected if got[part] != expected[part]} <= {"learnings", "found learnings", "nodes"}


def with_something(*parts: str) -> Callable[[Path, World], dict[str, Any]]:
    """Return everything that a user sees; there is something of these parts, so that to keep it is something."""

    def expected(home: Path, world: World) -> dict[str, Any]:
        found = state_of(home, world)
        assert all(found[part] for part in parts), parts
        return found

    return expected


def _beside_a_shared_folder(bench: Bench, home: Path) -> None:
    """Another machine of the same person put its sessions into a folder, and forgot one of them since."""
    shared, other = home.parent / "shared", home.parent / "other"
    shared.mkdir()
    (home.parent / "passphrase").write_text(PASSPHRASE + "\n")
    bench.must(home, *SYNC_FOLDER)  # copies of this home are one machine
    env = {"HOME": str(other), "CLAUDE_CONFIG_DIR": str(other / "claude")}
    written = [ClaudeTranscript(other / "claude", f"elsewhere {number}") for number in range(4)]
    for one in written:
        one.user("question of elsewhere " + "words " * 20_000)
        one.assistant("answer 3 2 of elsewhere")
    with Memory.open(other / "home", config=Config(), env=env) as memory:
        memory.shared_folder.sync(shared, lambda _: PASSPHRASE, name="other")
        memory.maintenance.forgetting.run(ForgetSelection(session=written[0].uid))
        memory.shared_folder.sync(shared, lambda _: PASSPHRASE, name="other")


PASSPHRASE = "a horse that is correct"
SYNC_FOLDER = ("sync-folder", "{beside}/shared", "--passphrase-file", "{beside}/passphrase", "--machine", "this")


def _assert_exchanged(home: Path, world: World, expected: dict[str, Any]) -> None:
    """A third machine gets everything from the folder, whatever interrupted those that put it there."""
    assert_same(home, world, expected)
    third = home.parent / "third"
    env = {"HOME": str(third), "CLAUDE_CONFIG_DIR": str(third / "claude")}
    with Memory.open(third, config=Config(), env=env) as memory, opened(home, world.env) as mine:
        report = memory.shared_folder.sync(home.parent / "shared", lambda _: PASSPHRASE, name="third")
        assert (report.refused, report.waiting) == ((), 0)
        assert _uids(memory) == _uids(mine)
    shutil.rmtree(third)


def _uids(memory: Memory) -> set[str]:
    return {one.session_uid for one in memory.sessions(limit=1000, sync=False).sessions}


STAGES = (
    Stage("the first sync", ("sync",), _empty),
    Stage("a sync of appends", ("sync",), _grown),
    Stage("distilling", ("sync",), _not_distilled),
    Stage("the spool of hooks", ("sync",), _with_drops),
    Stage("embedding", ("embed",), _with_documents, expected=with_vectors),
    Stage("migrating", ("sync",), _of_an_older_version, is_whole=_is_of_one_version),
    Stage("rebuilding the index", ("rebuild", "index"), _taken_in),
    Stage("rebuilding all", ("rebuild", "all"), _taken_in),
    Stage("evicting", ("evict",), _to_be_evicted, codes=(0, 1), is_whole=assert_sound),
    Stage(
        "forgetting",
        ("forget", "--pattern", "round2", "--yes"),
        _taken_in,
        codes=(0, 1),
        is_whole=assert_sound,
        is_same=_assert_same_after_a_sync,
    ),
    Stage(
        "syncing with a folder", SYNC_FOLDER, _beside_a_shared_folder, is_whole=assert_sound, is_same=_assert_exchanged
    ),
    Stage("backing up", ("backup", BACKUP), _taken_in, is_same=_assert_restorable),
    Stage("restoring", ("restore", BACKUP, "--force"), _with_a_backup, is_whole=assert_sound),
    Stage("rotating keys", ("keys", "rotate"), _taken_in),
    Stage("learning", ("sync",), _not_learned, expected=with_something("learnings", "found learnings")),
    Stage(
        "adding documents",
        ("docs", "add", PROJECT),
        _beside_a_project,
        expected=with_something("documents", "found documents"),
    ),
    Stage(
        "refreshing documents",
        ("docs", "refresh"),
        _with_documents_that_changed,
        codes=(0, 1),
        expected=with_something("documents", "found documents"),
    ),
    Stage(
        "taking a palace over",
        ("import", "--mempalace", PALACE),
        _beside_a_palace,
        expected=with_something("documents", "diary", "facts"),
    ),
    Stage("writing a diary", ("diary", "write", "A day on the queue."), _taken_in, expected=with_something("diary")),
    Stage("seeding facts", ("facts", "seed"), _taken_in, codes=(0, 1), expected=with_something("facts")),
    Stage("a sync that a search starts", ("search", "question"), _grown),
    Stage("a sync with vectors", ("up", "--once"), _grown),
    Stage("importing files", ("import", TRANSCRIPTS), _beside_transcripts),
    Stage("exporting", EXPORT, _taken_in, is_same=_assert_exported),
    Stage("revealing", ("reveal", "{session}#0", "--yes"), _taken_in, expected=with_something("revealed")),
    Stage("tagging", ("tag", "{session}", "release"), _taken_in, expected=with_something("tags")),
    Stage("pinning", ("pin", "{session}"), _taken_in, expected=with_something("pins")),
    Stage("undoing", ("undo", "{batch}"), _seeded, expected=with_something("retired")),
    Stage("confirming", ("learnings", "confirm", "{learning}"), _taken_in, expected=with_something("learnings")),
    Stage(
        "adding an action", ("actions", "add", "Rotate the staging key"), _taken_in, is_same=_assert_same_but_repeated
    ),
    Stage("adding a decision", ("decisions", "add", "We keep SQLite"), _taken_in, is_same=_assert_same_but_repeated),
    Stage("adding a fact", ("facts", "add", "shop", "runs_on", "heron"), _taken_in, expected=with_something("facts")),
    Stage("removing documents", ("docs", "remove", "{collection}"), _with_documents, codes=(0, 2)),
    Stage("mending the index", ("doctor", "--fix"), _without_an_index, codes=(0, 1, 3)),
    Stage("catching up with the archive", ("sync",), _with_an_older_database, is_whole=_is_searched),
    Stage("repairing", ("repair",), _without_a_journal, is_whole=_is_searched),
)
