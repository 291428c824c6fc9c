"""Caches parsed language packs for the next process, in a file that can be rebuilt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from recollect.files import write_cache
from recollect.insights.language.tables import PARSED, Tables
from recollect.ready_blocks import PROGRAM
from recollect.wire import RUN_FOLDER

FILE_NAME = "tables.msgpack"


class _KeptTables(msgspec.Struct):
    """program: what another version kept is not kept on."""

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
        write_cache(path, msgspec.msgpack.encode(_KeptTables(PROGRAM, PARSED.tables)))


def _read(path: Path) -> Tables:
    try:
        kept = msgspec.msgpack.decode(path.read_bytes(), type=_KeptTables)
    except (OSError, ValueError):
        return {}
    return kept.tables if kept.program == PROGRAM else {}
