"""What was taken away and why, what must not come back, what was done by hand, and what must be spared."""

from __future__ import annotations

# `hole`: bytes of a revision that the archive does not have any more; offset and length count the revision's bytes.
# `tombstone.id`: a keyed hash, so that nothing of what was forgotten can be read or guessed from it.
# `waiting_cut`: ranges of which the rows are gone and the bytes must follow; a crash between the two loses nothing.
STATEMENTS: tuple[str, ...] = (
    # class: derived
    """CREATE TABLE hole (
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        records INTEGER NOT NULL,
        reason TEXT NOT NULL,
        removed_at INTEGER NOT NULL,
        PRIMARY KEY (source, revision, offset)
    ) WITHOUT ROWID""",
    # class: authored, from here on
    "CREATE TABLE tombstone (id BLOB PRIMARY KEY, kind TEXT NOT NULL, forgotten_at INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE audit (
        at INTEGER NOT NULL,
        nonce INTEGER NOT NULL,
        action TEXT NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (at, nonce)
    ) WITHOUT ROWID""",
    "CREATE TABLE pin (session_uid TEXT PRIMARY KEY, pinned_at INTEGER NOT NULL) WITHOUT ROWID",
    # class: cache
    """CREATE TABLE waiting_cut (
        source_id TEXT NOT NULL,
        revision INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (source_id, revision, offset)
    ) WITHOUT ROWID""",
)
