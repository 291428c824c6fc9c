"""What a process parsed of language packs, the next one does not parse again."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest

from recollect.ingest import language_cache as kept
from recollect.insights.language.tables import ParsedTables
from recollect.wire import RUN_FOLDER

TEXT = 'code = "xx"\nrules = [{ id = "a" }, { id = "b" }]'


def parsed(home: Path, monkeypatch: pytest.MonkeyPatch, text: str = TEXT) -> bool:
    """Ask for a table in a process of its own; tell whether it was parsed there."""
    tables = ParsedTables()
    monkeypatch.setattr(kept, "PARSED", tables)
    with kept.kept_tables(home):
        assert tables.table_of(text) == tomllib.loads(text)
        return tables.has_new


def test_a_table_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed(tmp_path, monkeypatch)
    assert not parsed(tmp_path, monkeypatch)
    assert parsed(tmp_path, monkeypatch, TEXT.replace("xx", "yy"))
    assert not parsed(tmp_path, monkeypatch)


@pytest.mark.parametrize("what", ["torn", "of another program"])
def test_what_cannot_be_used_is_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    parsed(tmp_path, monkeypatch)
    path = tmp_path / RUN_FOLDER / kept.FILE_NAME
    if what == "torn":
        path.write_bytes(path.read_bytes()[:20])
    else:
        path.write_bytes(msgspec.msgpack.encode({**msgspec.msgpack.decode(path.read_bytes()), "program": "0"}))
    assert parsed(tmp_path, monkeypatch)
    assert not parsed(tmp_path, monkeypatch)


def test_where_nothing_can_be_written_it_is_parsed_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / RUN_FOLDER).write_text("in the way")
    assert parsed(tmp_path, monkeypatch)
    assert parsed(tmp_path, monkeypatch)
