"""Caches what was made of language packs for the next process, in a file that can be rebuilt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from recollect.files import write_cache
from recollect.insights.language import tables
from recollect.insights.language.tables import PARSED, Tables
from recollect.ready_blocks import PROGRAM
from recollect.wire import RUN_FOLDER

FILE_NAME = "tables.msgpack"


class _KeptTables(msgspec.Struct):
    """program: what another version kept is not kept on; in a working copy a version is that of the files."""

    program: str
    tables: Tables


@contextmanager
def kept_tables(home: Path) -> Iterator[None]:
    """Inside, tables that an earlier process parsed are not parsed again; at the end, new ones are kept."""
    path = home / RUN_FOLDER / FILE_NAME
    PARSED.load = partial(_read, path)
    yield
    if PARSED.has_new:
        PARSED.has_new = False
        write_cache(path, msgspec.msgpack.encode(_KeptTables(_program(), PARSED.tables)))


def _read(path: Path) -> Tables:
    try:
        kept = msgspec.msgpack.decode(path.read_bytes(), type=_KeptTables)
    except (OSError, ValueError):
        return {}
    return kept.tables if kept.program == _program() else {}


def _program() -> str:
    made_by = Path(tables.__file__).parent.glob("*.py")
    return f"{PROGRAM} {max((file.stat().st_mtime_ns for file in made_by), default=0)}"
