"""What an import would do: sources are read as an import reads them; nothing is written, no lock is taken."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from recollect.archive.archive import Archive
from recollect.archive.keys import load_keys, load_or_create_keys
from recollect.capture.unpack import unpacked
from recollect.erasure.tombstones import NOTHING, Forgotten
from recollect.ingest.imports.known import StoredSources
from recollect.ingest.report import SyncReport
from recollect.ingest.sources import named_by
from recollect.ingest.sync import Places, SyncRequest, look_over
from recollect.store.connection import has_database
from recollect.store.home import Home, LazyArchive, LazyRedactor
from recollect.store.reader import open_reader


def look_over_beside(home: Home, request: SyncRequest, plain: Sequence[str], archives: Sequence[Path]) -> SyncReport:
    """Return what an import of these files, folders and zip archives would do; of none: of the agents' own folders.

    A memory that is not there yet is not made. Raises as `TakesIn.take_in`.
    """
    beside = Path(tempfile.mkdtemp(prefix="recollect-"))
    try:
        stored = home if has_database(home.folder) else Home(beside / "home")
        has_archive = (stored.archive / "journal.log").exists()
        keys = load_keys(stored.keys) if has_archive else load_or_create_keys(Home(beside).keys)
        forgotten = NOTHING
        if has_archive:
            with closing(Archive.open(stored.archive, keys, read_only=True)) as archive:
                forgotten = Forgotten.of(keys.forget_key, archive.tombstones())
        chunks = LazyArchive(stored)
        redactor = LazyRedactor(stored.keys, request.config.privacy)
        try:
            with (
                open_reader(stored.folder, chunks, redactor) as reader,
                unpacked(archives, beside / "import") as shown_as,
            ):
                request.imports = named_by(plain, shown_as)
                places = Places(StoredSources(reader), reader, chunks, str(home.spool))
                return look_over(places, stored, keys, request, forgotten)
        finally:
            chunks.close()
    finally:
        shutil.rmtree(beside, ignore_errors=True)
