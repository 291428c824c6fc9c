-- user_version = 9
-- application_id = 1380270924
-- page_size = 4096
-- auto_vacuum = 2
-- journal_mode = wal
-- encoding = UTF-8

CREATE VIEW digests AS SELECT analysis.session_uid AS session_uid,
    digest.json AS json FROM digest JOIN analysis ON analysis.number = digest.analysis;

CREATE TABLE added_decision (id TEXT PRIMARY KEY,
    session_uid TEXT NOT NULL,
    repo TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    revoked_at INTEGER,
    paths TEXT NOT NULL,
    subject TEXT NOT NULL,
    json TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE analysis (number INTEGER PRIMARY KEY,
    session_uid TEXT NOT NULL UNIQUE,
    scheme INTEGER NOT NULL,
    change_id INTEGER NOT NULL,
    event_count INTEGER NOT NULL,
    analyzed_at INTEGER NOT NULL,
    repo TEXT NOT NULL,
    parent_uid TEXT NOT NULL,
    root_uid TEXT NOT NULL);

CREATE TABLE arrangement (session INTEGER NOT NULL,
    source INTEGER NOT NULL,
    seqs BLOB NOT NULL,
    PRIMARY KEY (session,
    source)) WITHOUT ROWID;

CREATE TABLE audit (at INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    action TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (at,
    nonce)) WITHOUT ROWID;

CREATE TABLE batch (id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    undone_at INTEGER,
    json TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE blob (sha256 BLOB PRIMARY KEY,
    media_type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    source INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    pointer TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE block (key INTEGER PRIMARY KEY,
    plain INTEGER NOT NULL,
    data BLOB NOT NULL);

CREATE TABLE change (id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL);

CREATE TABLE chunk (number INTEGER PRIMARY KEY,
    name BLOB NOT NULL UNIQUE,
    pack INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    plain INTEGER NOT NULL);

CREATE TABLE collection (name TEXT PRIMARY KEY,
    folder TEXT NOT NULL,
    repo TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    json TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE consumer (name TEXT PRIMARY KEY,
    position INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE defect (source INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    record INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    code TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (source,
    revision,
    record,
    offset,
    code)) WITHOUT ROWID;

CREATE TABLE defect_count (source INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    code TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (source,
    revision,
    code)) WITHOUT ROWID;

CREATE TABLE derivation (id BLOB NOT NULL);

CREATE TABLE diary (id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    repo TEXT NOT NULL,
    written_at INTEGER NOT NULL,
    batch TEXT NOT NULL,
    retired_at INTEGER,
    json TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE digest (analysis INTEGER PRIMARY KEY,
    json TEXT NOT NULL);

CREATE TABLE document (collection TEXT NOT NULL,
    path TEXT NOT NULL,
    state TEXT NOT NULL,
    content_hmac BLOB NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    taken_at INTEGER NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (collection,
    path)) WITHOUT ROWID;

CREATE TABLE document_kept_out (id BLOB PRIMARY KEY,
    at INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE drift (source INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    record INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    PRIMARY KEY (source,
    revision,
    kind,
    name)) WITHOUT ROWID;

CREATE TABLE entry (number INTEGER PRIMARY KEY AUTOINCREMENT,
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
    sha256 BLOB NOT NULL);

CREATE TABLE entry_change (id INTEGER PRIMARY KEY AUTOINCREMENT,
    entry INTEGER NOT NULL);

CREATE TABLE entry_part (entry INTEGER NOT NULL,
    part INTEGER NOT NULL,
    heading TEXT NOT NULL,
    text BLOB NOT NULL,
    PRIMARY KEY (entry,
    part));

CREATE TABLE event (key INTEGER PRIMARY KEY,
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
    entry INTEGER NOT NULL);

CREATE TABLE eviction (session_uid TEXT PRIMARY KEY,
    removed_at INTEGER NOT NULL,
    through_seq INTEGER NOT NULL,
    is_whole INTEGER NOT NULL,
    kept_bytes INTEGER NOT NULL,
    digest TEXT) WITHOUT ROWID;

CREATE TABLE fact (id TEXT PRIMARY KEY,
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
    json TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE firing (at INTEGER NOT NULL,
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
    PRIMARY KEY (at,
    nonce)) WITHOUT ROWID;

CREATE TABLE hole (source INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    records INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    reason TEXT NOT NULL,
    removed_at INTEGER NOT NULL,
    PRIMARY KEY (source,
    revision,
    offset)) WITHOUT ROWID;

CREATE TABLE job (key TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    session_uid TEXT NOT NULL,
    state TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    holder TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    json TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE learning (id TEXT PRIMARY KEY,
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
    json TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE learning_evidence (learning TEXT NOT NULL,
    session_uid TEXT NOT NULL,
    event_id TEXT NOT NULL,
    part INTEGER NOT NULL,
    is_revoked INTEGER NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (learning,
    session_uid,
    event_id,
    part)) WITHOUT ROWID;

CREATE TABLE learning_sighting (learning TEXT NOT NULL,
    session_uid TEXT NOT NULL,
    origin TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (learning,
    session_uid,
    origin));

CREATE TABLE left_out (source BLOB PRIMARY KEY,
    state BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE link (newer TEXT NOT NULL,
    older TEXT NOT NULL,
    relation TEXT NOT NULL,
    repo TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    revoked_at INTEGER,
    json TEXT NOT NULL,
    PRIMARY KEY (older,
    newer,
    relation)) WITHOUT ROWID;

CREATE TABLE meta (key TEXT PRIMARY KEY,
    value) WITHOUT ROWID;

CREATE TABLE name (id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE);

CREATE TABLE node (number INTEGER PRIMARY KEY,
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
    data BLOB NOT NULL);

CREATE TABLE observation (source INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    to_bytes INTEGER NOT NULL,
    observed_at INTEGER NOT NULL,
    PRIMARY KEY (source,
    revision,
    to_bytes)) WITHOUT ROWID;

CREATE TABLE own_call (session INTEGER NOT NULL,
    call BLOB NOT NULL,
    PRIMARY KEY (session,
    call)) WITHOUT ROWID;

CREATE TABLE pin (session_uid TEXT PRIMARY KEY,
    pinned_at INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE quarantine (key TEXT PRIMARY KEY,
    session_uid TEXT NOT NULL,
    at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    text TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE redaction_count (source INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    kind TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (source,
    revision,
    kind)) WITHOUT ROWID;

CREATE TABLE replacement (key INTEGER PRIMARY KEY,
    by_key INTEGER NOT NULL);

CREATE TABLE replayed (source INTEGER NOT NULL,
    sha BLOB NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (source,
    sha,
    record)) WITHOUT ROWID;

CREATE TABLE revision (source INTEGER NOT NULL,
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
    PRIMARY KEY (source,
    revision)) WITHOUT ROWID;

CREATE TABLE revision_chunk (source INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    PRIMARY KEY (source,
    revision,
    ordinal)) WITHOUT ROWID;

CREATE TABLE said (session INTEGER NOT NULL,
    text_sha BLOB NOT NULL,
    key INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    PRIMARY KEY (session,
    text_sha,
    key)) WITHOUT ROWID;

CREATE TABLE session (number INTEGER PRIMARY KEY,
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
    evicted_at INTEGER ,
    outcome TEXT NOT NULL DEFAULT 'unknown',
    outcome_reason TEXT NOT NULL DEFAULT '');

CREATE TABLE session_source (session INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (session,
    source)) WITHOUT ROWID;

CREATE TABLE signal (kind INTEGER NOT NULL,
    analysis INTEGER NOT NULL,
    count INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (kind,
    analysis));

CREATE TABLE source (number INTEGER PRIMARY KEY,
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
    observed_at INTEGER NOT NULL ,
    trail BLOB NOT NULL DEFAULT x'');

CREATE TABLE spending (day INTEGER NOT NULL,
    session_uid TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    micro_dollars INTEGER NOT NULL,
    PRIMARY KEY (day,
    session_uid,
    model)) WITHOUT ROWID;

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE tag (name TEXT NOT NULL,
    session_uid TEXT NOT NULL,
    tagged_at INTEGER NOT NULL,
    PRIMARY KEY (name,
    session_uid)) WITHOUT ROWID;

CREATE TABLE tombstone (id BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    forgotten_at INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE unindexed (session INTEGER PRIMARY KEY,
    messages INTEGER NOT NULL,
    least INTEGER NOT NULL);

CREATE TABLE usage (session INTEGER NOT NULL,
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
    PRIMARY KEY (session,
    dedupe)) WITHOUT ROWID;

CREATE TABLE usage_shared (dedupe BLOB PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE verdict (learning TEXT NOT NULL,
    at INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (learning,
    at,
    nonce)) WITHOUT ROWID;

CREATE TABLE waiting (session INTEGER PRIMARY KEY,
    change_id INTEGER NOT NULL);

CREATE TABLE waiting_cut (source_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    reason TEXT NOT NULL,
    removed_at INTEGER NOT NULL,
    PRIMARY KEY (source_id,
    revision,
    offset)) WITHOUT ROWID;

CREATE TABLE waiting_repo (repo TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE INDEX added_decision_repo ON added_decision (repo);

CREATE INDEX analysis_repo ON analysis (repo);

CREATE INDEX diary_batch ON diary (batch) WHERE batch <> '';

CREATE INDEX diary_told ON diary (repo,
    agent,
    written_at) WHERE retired_at IS NULL;

CREATE INDEX diary_written ON diary (written_at);

CREATE INDEX entry_kind ON entry (kind,
    ts);

CREATE INDEX entry_session ON entry (session_uid) WHERE session_uid <> '';

CREATE INDEX event_name ON event (key >> 24,
    substr(event_id,
    -6));

CREATE INDEX fact_batch ON fact (batch) WHERE batch <> '';

CREATE INDEX fact_object ON fact (object);

CREATE INDEX fact_predicate ON fact (predicate);

CREATE INDEX fact_subject ON fact (subject,
    predicate);

CREATE INDEX job_due ON job (kind,
    state,
    due_at,
    made_at);

CREATE INDEX job_session ON job (session_uid);

CREATE INDEX learning_action ON learning (repo,
    state) WHERE kind = 'action';

CREATE INDEX learning_batch ON learning (batch);

CREATE INDEX learning_evidence_session ON learning_evidence (session_uid);

CREATE INDEX learning_given ON learning (state,
    repo,
    ts);

CREATE INDEX learning_place ON learning (repo);

CREATE INDEX learning_sighting_session ON learning_sighting (session_uid,
    origin);

CREATE INDEX link_repo ON link (repo);

CREATE INDEX node_analysis ON node (analysis,
    kind,
    place);

CREATE INDEX node_source ON node (source) WHERE source <> '';

CREATE INDEX revision_chunk_back ON revision_chunk (chunk);

CREATE INDEX session_ended ON session (ended_at);

CREATE INDEX session_native ON session (native_id);

CREATE INDEX session_root ON session (root_uid);

CREATE INDEX session_source_back ON session_source (source);

CREATE INDEX signal_analysis ON signal (analysis);

CREATE INDEX source_agent ON source (agent);

CREATE INDEX spending_session ON spending (session_uid);

CREATE INDEX tag_session ON tag (session_uid);

CREATE INDEX usage_dedupe ON usage (dedupe);
