"""In which order a source tells a session, where that is not the order in which its events were first seen."""

from __future__ import annotations

STATEMENTS: tuple[str, ...] = (
    # class: derived
    """CREATE TABLE arrangement (
        session INTEGER NOT NULL,
        source INTEGER NOT NULL,
        seqs BLOB NOT NULL,
        PRIMARY KEY (session, source)
    ) WITHOUT ROWID""",
)
