"""Redacts derived data again after detectors or configured patterns changed.

    every source is marked stale → each is derived again from the archive → what has no raw bytes any more, and what was
    distilled, is redacted where it stands → index and database are written again → the fingerprint says so

Every step can be killed; the next sync goes on. The index is made anew as a whole because the engine keeps the terms of
what is deleted. Vectors follow by the change log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import DiskFull
from recollect.index.text.engine import give_back_memory
from recollect.privacy.redact import detectors_in_force, redactor_of
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.config import PrivacyConfig
    from recollect.erasure.forget import Opened
    from recollect.ingest.report import ProgressCallback, SyncReport
    from recollect.store.writer import Writer

_UNDER_WAY = "under way: "


def renew_redaction(
    opened: Opened, privacy: PrivacyConfig, report: SyncReport, *, max_bytes: int | None = None,
    progress: ProgressCallback | None = None,
) -> None:  # fmt: skip
    """Bring what is stored in step with the detectors in force. The caller holds the ingest lock; no index is open.

    max_bytes: of a refresh on read, which leaves it where there is more to do, and says so; None: everything.
    Raises StoreError, ArchiveError: what is done by then stays done.
    """
    writer, reader = opened.writer, opened.reader
    redacting = writer.removing.redacting
    wanted = detectors_in_force(privacy)
    known = redacting.detectors()
    if known == wanted:
        return
    stored = sum(row.committed_bytes for row in reader.sources())
    if not stored and known == "":
        with writer.transaction():
            redacting.set_detectors(wanted)
        return
    if max_bytes is not None and stored > max_bytes:
        report.notes.append("the rules that find secrets changed since this was stored; run `recollect sync`")
        return
    if known != _UNDER_WAY + wanted:
        with writer.transaction():
            redacting.make_stale()
            redacting.set_detectors(_UNDER_WAY + wanted)
    lost: list[str] = []
    count = _derive_and_redact(opened, privacy, lost, progress)
    if lost:  # they stay marked as stale: derived again once their bytes are back
        report.degrade(*lost)
    _make_index(opened, report)
    _rewrite(writer, report)
    with writer.transaction():
        redacting.set_detectors(wanted)
    give_back_memory()
    redacted = plural(count, "source was", "sources were")
    report.notes.append(f"the rules that find secrets changed: {redacted} redacted anew")


def _rewrite(writer: Writer, report: SyncReport) -> None:
    """Rewrite the database: behind valid data its pages keep what rows once held."""
    try:
        is_gone = writer.removing.forgetting.rewrite(is_whole=True)
    except DiskFull as error:
        report.notes.append(f"the database could not be rewritten: its free room may hold what was in sight: {error}")
        return
    if not is_gone:
        report.notes.append("a reader keeps the database's log, which may hold what was in sight, until it ends")


def _derive_and_redact(
    opened: Opened, privacy: PrivacyConfig, lost: list[str], progress: ProgressCallback | None
) -> int:
    from recollect.ingest.batch_writer import BatchWriter
    from recollect.ingest.rebuild import rederive_stale
    from recollect.ingest.report import SyncProgress

    _home, writer, reader, archive, keys = opened

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(SyncProgress("redact", done, total, done, total))

    redactor = redactor_of(keys.marker_key, privacy)
    ingester = BatchWriter.of_archive(writer, archive)
    ingester.lost = lost
    count = rederive_stale(writer, reader, archive, redactor, ingester, progress=tell)
    writer.removing.redacting.redact_again(redactor, writer.transaction)
    return count


def _make_index(opened: Opened, report: SyncReport) -> None:
    """Rebuild the index. One that cannot be written now is removed all the same: the next sync makes it."""
    from recollect.ingest.rebuild import rebuild_index_of

    with report.despite("the search index could not be rebuilt: {}"):
        rebuild_index_of(opened.home, opened.writer, opened.reader)
