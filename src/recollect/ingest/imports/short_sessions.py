"""Which sessions an import leaves out of the index, and which of those that an earlier one left out it indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recollect.ingest.imports.options import ImportWish
from recollect.ingest.imports.survey import short_reason
from recollect.ingest.report import ImportedSession, SyncReport
from recollect.model.sessions import Session
from recollect.store.reader import Reader
from recollect.store.session_rows import ShortSession
from recollect.store.writer import Writer


def lift(
    writer: Writer, reader: Reader, wish: ImportWish, paths: Sequence[str], *, least_of: Callable[[str], int]
) -> None:
    """Have indexed what is wanted now and was too short for an earlier import. Nothing to do: nothing is written.

    paths: only sessions whose sources lie there; empty: all. The index follows from the change log.
    """
    if wish.session:
        known = reader.session(wish.session)
        short = [one for one in writer.short.all() if known is not None and one.session_uid == known.session_uid]
    else:
        short = [one for one in writer.short.all() if _is_below(reader.session(one.session_uid), paths)]
    enough = [one.session_uid for one in short if one.messages >= least_of(one.agent)]
    less = [one for one in short if one.messages < least_of(one.agent) < one.least]
    if enough or less:
        with writer.transaction():
            writer.short.lift(enough)
            for one in less:
                writer.short.ask_less(one.session_uid, least_of(one.agent))


def tell_short(report: SyncReport, writer: Writer, reader: Reader, touched: set[str]) -> None:
    """Say which of the sessions that were taken in are not indexed, and why."""
    told = {one.session_uid for one in report.imported if one.state == "skipped"}
    report.imported = [one for one in report.imported if one.state == "skipped"]
    for one in writer.short.all():
        if one.session_uid in touched and one.session_uid not in told:
            report.imported.append(_told(one, reader.session(one.session_uid)))


def _told(one: ShortSession, session: Session | None) -> ImportedSession:
    path = session.sources[0] if session is not None and session.sources else ""
    ended_at = session.ended_at if session is not None else None
    reason = short_reason(one.least)
    return ImportedSession(one.session_uid, one.agent, path, "skipped", one.messages, ended_at, reason)


def _is_below(session: Session | None, paths: Sequence[str]) -> bool:
    if session is None or not paths:
        return session is not None
    return any(source.startswith(path) for source in session.sources for path in paths)
