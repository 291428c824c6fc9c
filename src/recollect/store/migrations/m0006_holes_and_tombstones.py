"""What was deleted and why, what must not come back, what was done by hand, and what must be spared."""

from __future__ import annotations

# `hole`: bytes of a revision that the archive does not have any more; offset and length count the revision's bytes,
# records those of the agent that lay in it, turn the human turns of the source up to its end.
# `tombstone.id`: a keyed hash, so that nothing of what was forgotten can be read or guessed from it.
# `eviction`: what a session came to up to a seq before which its events cannot be analysed any more, see
# `removing/evicting.py`; digest NULL: still the one in `digest`; "": it was lost before it was analysed.
# `left_out`: sources of which nothing was ingested, because all of it is forgotten or excluded, by keyed hashes of the
# source's name and of the state that it was seen in.
# `waiting_cut`: ranges of which the bytes must still go, whatever crashes; revision 0 is a whole source.
STATEMENTS: tuple[str, ...] = (
    # class: derived
    """CREATE TABLE hole (
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        records INTEGER NOT NULL,
        turn INTEGER NOT NULL,
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
    # class: distilled
    """CREATE TABLE eviction (
        session_uid TEXT PRIMARY KEY,
        removed_at INTEGER NOT NULL,
        through_seq INTEGER NOT NULL,
        is_whole INTEGER NOT NULL,
        kept_bytes INTEGER NOT NULL,
        digest TEXT
    ) WITHOUT ROWID""",
    # class: cache
    """CREATE TABLE waiting_cut (
        source_id TEXT NOT NULL,
        revision INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        reason TEXT NOT NULL,
        removed_at INTEGER NOT NULL,
        PRIMARY KEY (source_id, revision, offset)
    ) WITHOUT ROWID""",
    "CREATE TABLE left_out (source BLOB PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID",
    # class: distilled. Rows of a kilobyte leave half of every page empty in a table without a rowid.
    "ALTER TABLE signal RENAME TO signal_of_5",
    """CREATE TABLE signal (
        kind INTEGER NOT NULL,
        analysis INTEGER NOT NULL,
        count INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (kind, analysis)
    )""",
    "INSERT INTO signal SELECT kind, analysis, count, data FROM signal_of_5",
    "DROP TABLE signal_of_5",
    "CREATE INDEX signal_analysis ON signal (analysis)",
)
