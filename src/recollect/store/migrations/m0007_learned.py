"""What was learned and written down, project documents, what a search finds of both, and the queue of learning."""

from __future__ import annotations

# `entry.number` is what ENTRY_BASE (`store.keys`) is added to where the index wants a session's; never used again.
# `entry_change` is the change log of entries: the index takes it and drops it. An entry that is gone keeps no row; its
# number stays in `entry_change` until the index has let go of it.
# `learning_sighting.json` is what one session says of a learning now; `learning.json` is what all of them come to.
# `job.key` names the work by content (events, extractor and prompt version), so that a replay finds it done.
# `spending.day` counts days since 1970-01-01 UTC; amounts are in millionths of a dollar.
STATEMENTS: tuple[str, ...] = (
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
