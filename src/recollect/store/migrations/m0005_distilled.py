"""What sessions mean: their digests, signals and nodes, what decisions have to do with each other, and what waits."""

from __future__ import annotations

# Distilled tables name sessions by uid and by a number of their own (`analysis.number`), so that they can be copied
# whole into a database that is derived again. `node.origin`: 0 of its session's analysis, 1 of relating several.
# `observation`: up to which byte a revision had been seen when; a repeat changes nothing.
STATEMENTS: tuple[str, ...] = (
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
