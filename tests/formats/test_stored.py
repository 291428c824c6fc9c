"""What is on users' disks. A changed schema needs a migration; what version 1 wrote is read for ever."""

from __future__ import annotations

import json
import re
from pathlib import Path

import apsw
import msgspec
import pytest

from recollect.archive.archive import Archive
from recollect.archive.journal import JournalEntry
from recollect.archive.keys import HomeKeys, home_keys
from recollect.archive.packs import scan
from recollect.archive.sealer import Sealer
from recollect.store.writer import open_writer
from tests.formats.goldens import FOLDER, is_golden

KEYS: HomeKeys = home_keys(b"not a secret: the tests' data ke")
CLOSED, OPEN = b'{"type":"user"}\n' * 40, b'{"type":"assi'
MUSEUM = FOLDER / "archive_v1.json"
"""The files of an archive as version 1 wrote them, in hex. Made once; never made again."""


@pytest.mark.golden
def test_the_schema_of_the_database_is_the_reviewed_one(tmp_path: Path) -> None:
    open_writer(tmp_path).close()
    db = apsw.Connection(str(tmp_path / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    pragmas = ("user_version", "application_id", "page_size", "auto_vacuum", "journal_mode", "encoding")
    head = [f"-- {name} = {db.pragma(name)}" for name in pragmas]
    found = db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name")
    statements = [
        re.sub(r"\s+", " ", sql).replace("( ", "(").replace(" )", ")").replace(", ", ",\n    ") for (sql,) in found
    ]
    db.close()
    written = "\n".join([*head, *(f"\n{statement};" for statement in statements)]) + "\n"
    assert is_golden("schema_v9.sql", written), "a changed schema needs a migration; then `make goldens`"


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6, 7, 8])
def test_an_older_database_is_brought_up_to_date_and_keeps_what_it_holds(tmp_path: Path, version: int) -> None:
    """schema_v1.sql is what version 1 made, and so on; they are never written again."""
    old = tmp_path / "old"
    old.mkdir()
    db = apsw.Connection(str(old / "memory.db"))
    statements = (FOLDER / f"schema_v{version}.sql").read_text("utf-8")
    for name in ("page_size", "auto_vacuum", "journal_mode"):
        value = re.search(rf"-- {name} = (\w+)", statements)
        assert value is not None
        db.execute(f"PRAGMA {name} = {value[1]}").fetchall()
    for statement in re.sub(r"^--.*$", "", statements, flags=re.MULTILINE).split(";"):
        if statement.strip() and "sqlite_sequence" not in statement:
            db.execute(statement).fetchall()
    trail = ", x''" if version > 1 else ""
    db.execute(
        "INSERT INTO source VALUES (1, 's-1', 'claude', 'transcript', 'k', '/p', 'p', 'jsonl', 0, 's', 1, 1, 1, 1, 0, "
        f"0, x'', x'', x'', 1, 0, 'active', 7{trail})"
    ).fetchall()
    db.execute("PRAGMA application_id = 1380270924").fetchall()
    db.execute(f"PRAGMA user_version = {version}").fetchall()
    db.close()
    open_writer(tmp_path / "new").close()
    with open_writer(old) as writer:
        assert [(s.source_id, s.trail) for s in writer.sources("claude").values()] == [("s-1", b"")]
    assert _schema(old) == _schema(tmp_path / "new")


def _schema(home: Path) -> set[str]:
    db = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    found = {_laid_out(sql) for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    db.close()
    return found


def _laid_out(sql: str) -> str:
    return (
        re.sub(r"\s+(?=,)", "", re.sub(r"\s+", " ", sql)).replace("( ", "(").replace(" )", ")").replace(", ", ",\n    ")
    )


def entry_of(places: list[tuple[object, bool]]) -> JournalEntry:
    return JournalEntry(
        source_id="s-0123456789abcdef", agent="claude", role="transcript", key="a-key", path="/home/dev/one.jsonl",
        container="jsonl", session="one", revision=2, observed_at=1_785_574_800_000_000, from_bytes=0,
        to_bytes=len(CLOSED), bytes_seen=len(CLOSED) + len(OPEN), keep_chunks=0, chunks=places,  # type: ignore[arg-type]
        holes=[(7, 9)], relative="projects/p/one.jsonl", lane=1,
    )  # fmt: skip


def test_an_archive_of_version_1_can_be_read(tmp_path: Path) -> None:
    for name, content in json.loads(MUSEUM.read_text()).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes.fromhex(content))
    archive = Archive.open(tmp_path, KEYS, read_only=True)
    (entry,) = archive.entries()
    assert entry == entry_of(entry.chunks)  # type: ignore[arg-type]
    assert [is_open for _, is_open in entry.chunks] == [False, True]
    assert b"".join(archive.iter_bytes([place for place, _ in entry.chunks])) == CLOSED + OPEN
    assert list(scan(tmp_path / "packs/000001.pack")) == [place for place, _ in entry.chunks]
    archive.close()


def test_an_archive_is_written_in_the_layout_of_version_1(tmp_path: Path) -> None:
    """Sealing draws a nonce, so bytes differ; names, lengths and everything outside the seals are the same."""
    write_archive(tmp_path)
    kept = {name: bytes.fromhex(content) for name, content in json.loads(MUSEUM.read_text()).items()}
    made = {name: (tmp_path / name).read_bytes() for name in kept}
    assert {name: len(content) for name, content in made.items()} == {
        name: len(content) for name, content in kept.items()
    }
    pack, journal = "packs/000001.pack", "journal.log"
    assert made[pack][: 8 + 32] == kept[pack][: 8 + 32]  # magic, and the header of the first entry with its name
    assert made[pack][-8:] == kept[pack][-8:]  # the footer
    assert made[journal][: 24 + 20] == kept[journal][: 24 + 20]  # magic, key check, and the header of the first frame
    assert made[journal][-4:] == kept[journal][-4:]


def write_archive(folder: Path) -> None:
    sealer = Sealer(KEYS)
    archive = Archive.open(folder, KEYS)
    closed, still_open = archive.write([sealer.seal(CLOSED), sealer.seal(OPEN, is_open=True)])
    archive.record([entry_of([(closed, False), (still_open, True)])])
    archive.flush()
    archive.close()


def test_a_journal_entry_of_before_a_field_was_added_can_be_read() -> None:
    first_fields = msgspec.to_builtins(entry_of([]))[:14]
    older = msgspec.structs.replace(entry_of([]), holes=[], relative="", lane=0)
    assert msgspec.convert(first_fields, JournalEntry) == older
