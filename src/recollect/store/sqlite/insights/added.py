"""Decisions added by hand: small authored writes, straight to the database, without the ingest lock."""

from __future__ import annotations

from pathlib import Path

import msgspec

from recollect.model.insights.nodes import Decision
from recollect.store.sqlite.connection import open_database, store_errors
from recollect.store.sqlite.insights.writer import paths_column, subject_of


def add_decision(home: Path, decision: Decision, *, repo: str, added_at: int) -> None:
    """Keep a decision, and have its repository related again. Waits for the ingester up to the busy timeout.

    Raises StoreLocked, DiskFull, StoreError; then nothing is kept.
    """
    row = (
        decision.id, decision.session_uid, repo, added_at, paths_column(decision.paths), subject_of(decision),
        msgspec.json.encode(decision).decode(),
    )  # fmt: skip
    db = open_database(home, "write")
    try:
        with store_errors(), db:
            db.execute("INSERT INTO added_decision VALUES (?, ?, ?, ?, NULL, ?, ?, ?)", row)
            db.execute("INSERT OR IGNORE INTO waiting_repo VALUES (?)", (repo,))
    finally:
        db.close()
