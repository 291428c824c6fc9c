"""The schema up to version 5: the statements of each migration, which never change."""

from __future__ import annotations

# 0001: the first schema: sources and their ledger, sessions, events, usage, blobs, the change log.
# `usage.dedupe` is a 12-byte hash of the dedupe key. `event.sha` is the beginning of the record's SHA-256.
# `event.parent`: NULL, or how many seqs before this event its parent stands, or the parent's packed id.
_0001: tuple[str, ...] = (
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

# 0002: what an agent's update brought that no parser knows, and which human turns a rewritten source had.
_0002: tuple[str, ...] = (
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

# 0003: what the memory gave to agents, and which calls asked it.
# `own_call.call`: see `model.ids.call_key`. `firing.nonce` tells two of the same microsecond apart.
_0003: tuple[str, ...] = (
    # class: derived
    """CREATE TABLE own_call (
        session INTEGER NOT NULL,
        call BLOB NOT NULL,
        PRIMARY KEY (session, call)
    ) WITHOUT ROWID""",
    # class: authored
    """CREATE TABLE firing (
        at INTEGER NOT NULL,
        nonce INTEGER NOT NULL,
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        event TEXT NOT NULL,
        repo TEXT NOT NULL,
        citations TEXT NOT NULL,
        identifiers TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        left_out INTEGER NOT NULL,
        took_us INTEGER NOT NULL,
        note TEXT NOT NULL,
        PRIMARY KEY (at, nonce)
    ) WITHOUT ROWID""",
)

# 0004: which derivation a database is: keys of events mean something in one only.
_0004: tuple[str, ...] = (
    # class: derived; never copied into a database that is derived again
    "CREATE TABLE derivation (id BLOB NOT NULL)",
    "INSERT INTO derivation VALUES (randomblob(16))",
)

# 0005: what sessions mean: their digests, signals and nodes, what decisions have to do with each other, and what waits.
# Distilled tables name sessions by uid and by a number of their own (`analysis.number`), so that they can be copied
# whole into a database that is derived again. `node.origin`: 0 of its session's analysis, 1 of relating several.
# `observation`: up to which byte a revision had been seen when; a repeat changes nothing.
_0005: tuple[str, ...] = (
    # class: distilled
    """CREATE TABLE analysis (
        number INTEGER PRIMARY KEY,
        session_uid TEXT NOT NULL UNIQUE,
        scheme INTEGER NOT NULL,
        change_id INTEGER NOT NULL,
        event_count INTEGER NOT NULL,
        analyzed_at INTEGER NOT NULL,
        repo TEXT NOT NULL,
        parent_uid TEXT NOT NULL,
        root_uid TEXT NOT NULL
    )""",
    "CREATE INDEX analysis_repo ON analysis (repo)",
    "CREATE TABLE digest (analysis INTEGER PRIMARY KEY, json TEXT NOT NULL)",
    """CREATE TABLE signal (
        kind INTEGER NOT NULL,
        analysis INTEGER NOT NULL,
        count INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (kind, analysis)
    ) WITHOUT ROWID""",
    "CREATE INDEX signal_analysis ON signal (analysis)",
    """CREATE TABLE node (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        analysis INTEGER NOT NULL,
        place INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        origin INTEGER NOT NULL,
        ts INTEGER,
        recorded_at INTEGER NOT NULL,
        revoked_at INTEGER,
        source TEXT NOT NULL,
        episode TEXT NOT NULL,
        paths TEXT NOT NULL,
        subject TEXT NOT NULL,
        data BLOB NOT NULL
    )""",
    "CREATE INDEX node_analysis ON node (analysis, kind, place)",
    "CREATE INDEX node_source ON node (source) WHERE source <> ''",
    """CREATE TABLE link (
        newer TEXT NOT NULL,
        older TEXT NOT NULL,
        relation TEXT NOT NULL,
        repo TEXT NOT NULL,
        recorded_at INTEGER NOT NULL,
        revoked_at INTEGER,
        json TEXT NOT NULL,
        PRIMARY KEY (older, newer, relation)
    ) WITHOUT ROWID""",
    "CREATE INDEX link_repo ON link (repo)",
    """CREATE VIEW digests AS SELECT analysis.session_uid AS session_uid, digest.json AS json
        FROM digest JOIN analysis ON analysis.number = digest.analysis""",
    # class: authored
    """CREATE TABLE added_decision (
        id TEXT PRIMARY KEY,
        session_uid TEXT NOT NULL,
        repo TEXT NOT NULL,
        added_at INTEGER NOT NULL,
        revoked_at INTEGER,
        paths TEXT NOT NULL,
        subject TEXT NOT NULL,
        json TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX added_decision_repo ON added_decision (repo)",
    # class: derived
    """CREATE TABLE observation (
        source INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        to_bytes INTEGER NOT NULL,
        observed_at INTEGER NOT NULL,
        PRIMARY KEY (source, revision, to_bytes)
    ) WITHOUT ROWID""",
    "INSERT INTO observation SELECT source, revision, committed_bytes, observed_at FROM revision",
    "ALTER TABLE session ADD COLUMN outcome TEXT NOT NULL DEFAULT 'unknown'",
    "ALTER TABLE session ADD COLUMN outcome_reason TEXT NOT NULL DEFAULT ''",
    # class: cache
    "CREATE TABLE waiting (session INTEGER PRIMARY KEY, change_id INTEGER NOT NULL)",
    "CREATE TABLE waiting_repo (repo TEXT PRIMARY KEY) WITHOUT ROWID",
    "INSERT INTO consumer SELECT 'distill', coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'change'), 0)",
)

FIRST: tuple[tuple[str, ...], ...] = (_0001, _0002, _0003, _0004, _0005)
