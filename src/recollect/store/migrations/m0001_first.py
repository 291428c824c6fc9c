"""The first schema: sources and their ledger, sessions, events, usage, blobs, the change log."""

from __future__ import annotations

# `usage.dedupe` is a 12-byte hash of the dedupe key. `event.sha` is the beginning of the record's SHA-256.
# `event.parent`: NULL, or how many seqs before this event its parent stands, or the parent's packed id.
STATEMENTS: tuple[str, ...] = (
    # class: authored
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    # class: derived, from here on
    "CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    """CREATE TABLE source (
        number INTEGER PRIMARY KEY,
        source_id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        role TEXT NOT NULL,
        key TEXT NOT NULL,
        path TEXT NOT NULL,
        relative TEXT NOT NULL,
        container TEXT NOT NULL,
        lane INTEGER NOT NULL,
        session TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        committed_bytes INTEGER NOT NULL,
        records INTEGER NOT NULL,
        head_sha BLOB NOT NULL,
        tail_sha BLOB NOT NULL,
        state BLOB NOT NULL,
        parser_version INTEGER NOT NULL,
        turn_index INTEGER NOT NULL,
        status TEXT NOT NULL,
        observed_at INTEGER NOT NULL
    )""",
    "CREATE INDEX source_agent ON source (agent)",
    """CREATE TABLE revision (
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        bytes_seen INTEGER NOT NULL DEFAULT 0,
        committed_bytes INTEGER NOT NULL DEFAULT 0,
        records INTEGER NOT NULL DEFAULT 0,
        events INTEGER NOT NULL DEFAULT 0,
        unknown INTEGER NOT NULL DEFAULT 0,
        replays INTEGER NOT NULL DEFAULT 0,
        defects INTEGER NOT NULL DEFAULT 0,
        observed_at INTEGER NOT NULL DEFAULT 0,
        is_refreshing INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (source, revision)
    ) WITHOUT ROWID""",
    """CREATE TABLE chunk (
        number INTEGER PRIMARY KEY,
        name BLOB NOT NULL UNIQUE,
        pack INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        plain INTEGER NOT NULL
    )""",
    """CREATE TABLE revision_chunk (
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        chunk INTEGER NOT NULL,
        is_open INTEGER NOT NULL,
        PRIMARY KEY (source, revision, ordinal)
    ) WITHOUT ROWID""",
    "CREATE INDEX revision_chunk_back ON revision_chunk (chunk)",
    """CREATE TABLE defect (
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        record INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        code TEXT NOT NULL,
        detail TEXT NOT NULL,
        PRIMARY KEY (source, revision, record, offset, code)
    ) WITHOUT ROWID""",
    """CREATE TABLE defect_count (
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        code TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (source, revision, code)
    ) WITHOUT ROWID""",
    """CREATE TABLE redaction_count (
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        kind TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (source, revision, kind)
    ) WITHOUT ROWID""",
    """CREATE TABLE session (
        number INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        native_id TEXT NOT NULL,
        shard TEXT NOT NULL,
        next_seq INTEGER NOT NULL DEFAULT 0,
        next_block INTEGER NOT NULL DEFAULT 0,
        root_uid TEXT NOT NULL,
        parent_uid TEXT NOT NULL DEFAULT '',
        repo TEXT NOT NULL DEFAULT '',
        domain TEXT NOT NULL DEFAULT '',
        git_branch TEXT NOT NULL DEFAULT '',
        started_at INTEGER,
        ended_at INTEGER,
        event_count INTEGER NOT NULL DEFAULT 0,
        turn_count INTEGER NOT NULL DEFAULT 0,
        kind_counts TEXT NOT NULL DEFAULT '{}',
        facts BLOB NOT NULL,
        discovered_at INTEGER,
        ingested_at INTEGER,
        analyzed_at INTEGER,
        evicted_at INTEGER
    )""",
    "CREATE INDEX session_native ON session (native_id)",
    "CREATE INDEX session_root ON session (root_uid)",
    "CREATE INDEX session_ended ON session (ended_at)",
    """CREATE TABLE session_source (
        session INTEGER NOT NULL,
        source INTEGER NOT NULL,
        PRIMARY KEY (session, source)
    ) WITHOUT ROWID""",
    "CREATE INDEX session_source_back ON session_source (source)",
    """CREATE TABLE event (
        key INTEGER PRIMARY KEY,
        event_id BLOB NOT NULL,
        part INTEGER NOT NULL,
        version INTEGER NOT NULL,
        bits INTEGER NOT NULL,
        ts INTEGER,
        turn INTEGER NOT NULL,
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        record INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        sha BLOB NOT NULL,
        parent,
        tool INTEGER,
        block INTEGER NOT NULL,
        entry INTEGER NOT NULL
    )""",
    # Six bytes of the id are enough to find it and a third of the size of the whole; the one writer keeps
    # (session, event_id, part, version) unique.
    "CREATE INDEX event_name ON event (key >> 24, substr(event_id, -6))",
    """CREATE TABLE replacement (
        key INTEGER PRIMARY KEY,
        by_key INTEGER NOT NULL
    )""",
    """CREATE TABLE replayed (
        source INTEGER NOT NULL,
        sha BLOB NOT NULL,
        record INTEGER NOT NULL,
        PRIMARY KEY (source, sha, record)
    ) WITHOUT ROWID""",
    """CREATE TABLE said (
        session INTEGER NOT NULL,
        text_sha BLOB NOT NULL,
        key INTEGER NOT NULL,
        lane INTEGER NOT NULL,
        PRIMARY KEY (session, text_sha, key)
    ) WITHOUT ROWID""",
    "CREATE TABLE block (key INTEGER PRIMARY KEY, plain INTEGER NOT NULL, data BLOB NOT NULL)",
    """CREATE TABLE usage (
        session INTEGER NOT NULL,
        dedupe BLOB NOT NULL,
        ts INTEGER,
        model INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_write_5m INTEGER NOT NULL,
        cache_write_1h INTEGER NOT NULL,
        reasoning INTEGER NOT NULL,
        cost_usd REAL,
        is_additive INTEGER NOT NULL,
        PRIMARY KEY (session, dedupe)
    ) WITHOUT ROWID""",
    "CREATE INDEX usage_dedupe ON usage (dedupe)",
    "CREATE TABLE usage_shared (dedupe BLOB PRIMARY KEY) WITHOUT ROWID",
    """CREATE TABLE blob (
        sha256 BLOB PRIMARY KEY,
        media_type TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        pointer TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE change (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL,
        first_seq INTEGER NOT NULL,
        last_seq INTEGER NOT NULL
    )""",
    "CREATE TABLE consumer (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID",
)
"""Run one by one, in one transaction."""
