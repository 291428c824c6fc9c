"""What an agent's update brought that no parser knows, and which human turns a rewritten source had."""

from __future__ import annotations

STATEMENTS: tuple[str, ...] = (
    # class: derived
    """CREATE TABLE drift (
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        count INTEGER NOT NULL,
        record INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        PRIMARY KEY (source, revision, kind, name)
    ) WITHOUT ROWID""",
    "ALTER TABLE source ADD COLUMN trail BLOB NOT NULL DEFAULT x''",
)
