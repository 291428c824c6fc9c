"""The ordered list of migrations; a released one never changes, a change is a new one at the end."""

from __future__ import annotations

from recollect.store.schema import FIRST

# 0006: what was deleted and why, what must not come back, what was done by hand, and what must be spared.
# `hole`: bytes of a revision that the archive does not have any more; offset and length count the revision's bytes,
# records those of the agent that lay in it, turn the human turns of the source up to its end.
# `tombstone.id`: a keyed hash, so that nothing of what was forgotten can be read or guessed from it.
# `eviction`: what a session came to up to a seq before which its events cannot be analysed any more, see
# `removing/evicting.py`; digest NULL: still the one in `digest`; "": it was lost before it was analysed.
# `left_out`: sources of which nothing was ingested, because all of it is forgotten or excluded, by keyed hashes of the
# source's name and of the state that it was seen in.
# `waiting_cut`: ranges of which the bytes must still go, whatever crashes; revision 0 is a whole source.
_0006: tuple[str, ...] = (
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
    "CREATE TABLE signal_of_5 AS SELECT * FROM signal",  # to rename a table takes a fifth of making a new database
    "DROP TABLE signal",
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

# 0007: what was learned and written down, project documents, what a search finds of both, and the queue of learning.
# `entry.number` is what ENTRY_BASE (`store.row_keys`) is added to where the index wants a session's; never used again.
# `entry_change` is the change log of entries: the index takes it and drops it. An entry that is gone keeps no row; its
# number stays in `entry_change` until the index has let go of it.
# `learning_sighting.json` is what one session says of a learning now; `learning.json` is what all of them come to.
# `job.key` names the work by content (events, extractor and prompt version), so that a replay finds it done.
# `spending.day` counts days since 1970-01-01 UTC; amounts are in millionths of a dollar.
_0007: tuple[str, ...] = (
    # class: distilled
    """CREATE TABLE entry (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        uid TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        agent TEXT NOT NULL,
        repo TEXT NOT NULL,
        path TEXT NOT NULL,
        session_uid TEXT NOT NULL,
        ts INTEGER,
        status TEXT NOT NULL,
        state TEXT NOT NULL,
        parts INTEGER NOT NULL,
        sha256 BLOB NOT NULL
    )""",
    "CREATE INDEX entry_kind ON entry (kind, ts)",
    "CREATE INDEX entry_session ON entry (session_uid) WHERE session_uid <> ''",
    """CREATE TABLE entry_part (
        entry INTEGER NOT NULL,
        part INTEGER NOT NULL,
        heading TEXT NOT NULL,
        text BLOB NOT NULL,
        PRIMARY KEY (entry, part)
    )""",
    """CREATE TABLE learning (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        scope TEXT NOT NULL,
        repo TEXT NOT NULL,
        path TEXT NOT NULL,
        agent TEXT NOT NULL,
        status TEXT NOT NULL,
        state TEXT NOT NULL,
        confidence REAL NOT NULL,
        ts INTEGER,
        expires_at INTEGER,
        updated_at INTEGER NOT NULL,
        batch TEXT NOT NULL,
        json TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX learning_given ON learning (state, repo, ts)",
    "CREATE INDEX learning_batch ON learning (batch)",
    "CREATE INDEX learning_action ON learning (repo, state) WHERE kind = 'action'",
    "CREATE INDEX learning_place ON learning (repo)",
    """CREATE TABLE learning_sighting (
        learning TEXT NOT NULL,
        session_uid TEXT NOT NULL,
        origin TEXT NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (learning, session_uid, origin)
    ) WITHOUT ROWID""",
    "CREATE INDEX learning_sighting_session ON learning_sighting (session_uid, origin)",
    """CREATE TABLE learning_evidence (
        learning TEXT NOT NULL,
        session_uid TEXT NOT NULL,
        event_id TEXT NOT NULL,
        part INTEGER NOT NULL,
        is_revoked INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (learning, session_uid, event_id, part)
    ) WITHOUT ROWID""",
    "CREATE INDEX learning_evidence_session ON learning_evidence (session_uid)",
    # class: authored
    """CREATE TABLE verdict (
        learning TEXT NOT NULL,
        at INTEGER NOT NULL,
        nonce INTEGER NOT NULL,
        verdict TEXT NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (learning, at, nonce)
    ) WITHOUT ROWID""",
    """CREATE TABLE diary (
        id TEXT PRIMARY KEY,
        agent TEXT NOT NULL,
        repo TEXT NOT NULL,
        written_at INTEGER NOT NULL,
        batch TEXT NOT NULL,
        retired_at INTEGER,
        json TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX diary_written ON diary (written_at)",
    "CREATE INDEX diary_told ON diary (repo, agent, written_at) WHERE retired_at IS NULL",
    "CREATE INDEX diary_batch ON diary (batch) WHERE batch <> ''",
    """CREATE TABLE fact (
        id TEXT PRIMARY KEY,
        subject TEXT NOT NULL,
        predicate TEXT NOT NULL,
        object TEXT NOT NULL,
        valid_from INTEGER,
        valid_to INTEGER,
        repo TEXT NOT NULL,
        recorded_at INTEGER NOT NULL,
        invalidated_at INTEGER,
        is_retracted INTEGER NOT NULL,
        batch TEXT NOT NULL,
        json TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX fact_subject ON fact (subject, predicate)",
    "CREATE INDEX fact_object ON fact (object)",
    "CREATE INDEX fact_predicate ON fact (predicate)",
    "CREATE INDEX fact_batch ON fact (batch) WHERE batch <> ''",
    """CREATE TABLE tag (
        name TEXT NOT NULL,
        session_uid TEXT NOT NULL,
        tagged_at INTEGER NOT NULL,
        PRIMARY KEY (name, session_uid)
    ) WITHOUT ROWID""",
    "CREATE INDEX tag_session ON tag (session_uid)",
    """CREATE TABLE batch (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        undone_at INTEGER,
        json TEXT NOT NULL
    ) WITHOUT ROWID""",
    # class: distilled: folders outside of the archive may be gone when the memory is derived again
    """CREATE TABLE collection (
        name TEXT PRIMARY KEY,
        folder TEXT NOT NULL,
        repo TEXT NOT NULL,
        added_at INTEGER NOT NULL,
        json TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE document (
        collection TEXT NOT NULL,
        path TEXT NOT NULL,
        state TEXT NOT NULL,
        content_hmac BLOB NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        ctime_ns INTEGER NOT NULL,
        taken_at INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (collection, path)
    ) WITHOUT ROWID""",
    # class: authored: keyed hashes of the paths of documents that were forgotten
    "CREATE TABLE document_kept_out (id BLOB PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID",
    # class: distilled
    """CREATE TABLE spending (
        day INTEGER NOT NULL,
        session_uid TEXT NOT NULL,
        model TEXT NOT NULL,
        calls INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        micro_dollars INTEGER NOT NULL,
        PRIMARY KEY (day, session_uid, model)
    ) WITHOUT ROWID""",
    "CREATE INDEX spending_session ON spending (session_uid)",
    """CREATE TABLE quarantine (
        key TEXT PRIMARY KEY,
        session_uid TEXT NOT NULL,
        at INTEGER NOT NULL,
        reason TEXT NOT NULL,
        text TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE job (
        key TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        session_uid TEXT NOT NULL,
        state TEXT NOT NULL,
        made_at INTEGER NOT NULL,
        due_at INTEGER NOT NULL,
        lease_until INTEGER NOT NULL,
        holder TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        reason TEXT NOT NULL,
        json TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX job_due ON job (kind, state, due_at, made_at)",
    "CREATE INDEX job_session ON job (session_uid)",
    # class: derived
    """CREATE TABLE unindexed (
        session INTEGER PRIMARY KEY,
        messages INTEGER NOT NULL,
        least INTEGER NOT NULL
    )""",
    # class: cache
    "CREATE TABLE entry_change (id INTEGER PRIMARY KEY AUTOINCREMENT, entry INTEGER NOT NULL)",
    "INSERT OR IGNORE INTO consumer SELECT 'learn', coalesce((SELECT min(position) FROM consumer), 0)",
)

# 0008: in which order a source tells a session, where that is not the order in which its events were first seen.
_0008: tuple[str, ...] = (
    # class: derived
    """CREATE TABLE arrangement (
        session INTEGER NOT NULL,
        source INTEGER NOT NULL,
        seqs BLOB NOT NULL,
        PRIMARY KEY (session, source)
    ) WITHOUT ROWID""",
)

# 0009: values that are compressed with a dictionary, and sightings in a table that has no half empty pages.
# Programs of before do not know the dictionary (`store.bodies`): they would take what is sound for damaged.
# Rows of nearly a kilobyte leave half of every page empty in a table without a rowid.
_0009: tuple[str, ...] = (
    "INSERT OR REPLACE INTO meta VALUES ('readable_from', 9)",
    "CREATE TABLE learning_sighting_of_8 AS SELECT * FROM learning_sighting",
    "DROP TABLE learning_sighting",
    # class: distilled
    """CREATE TABLE learning_sighting (
        learning TEXT NOT NULL,
        session_uid TEXT NOT NULL,
        origin TEXT NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (learning, session_uid, origin)
    )""",
    "INSERT INTO learning_sighting SELECT learning, session_uid, origin, json FROM learning_sighting_of_8",
    "DROP TABLE learning_sighting_of_8",
    "CREATE INDEX learning_sighting_session ON learning_sighting (session_uid, origin)",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (*FIRST, _0006, _0007, _0008, _0009)
"""Each is a tuple of single SQL statements, run in one transaction; its position + 1 is the schema version it makes."""

SCHEMA_VERSION = len(MIGRATIONS)
