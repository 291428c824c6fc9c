"""What an agent's files can contain, declared as data. Tests compare claims with behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Container = Literal["jsonl", "text", "snapshot", "patchlog", "sqlite", "directory", "export", "otlp"]
"""How an agent writes, which says how bytes become records.

jsonl: append-only lines. text: a whole file is one record of text. snapshot: a whole-file JSON document that is
rewritten (see `Place.split`). patchlog: append-only lines, each a change of one document that is folded. sqlite: the
rows of one logical document in a live database. directory: a folder of small files that make one logical document.
export: a file that a user brings, a JSON array of whole conversations, each a document of one record.
otlp: a file of OTLP requests as protobuf, one document whose records are the requests, as OTLP's JSON says them.
The records of the last four are rows in one canonical encoding, see docs/reference/data-model.md.
"""

Claim = Literal["exact", "partly", "no"]


DERIVATION = 1
"""Raised when what is derived of every agent's events changes: which are our own, which failed."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A database table that may be read; no other table is.

    The same table may be declared several times with other keys and another order. document: the column that names a
    row's logical document (usually the session); "" if the whole database is one document. order: columns that order a
    document's rows; rows of several tables are merged by these values, so that a message ("id",) comes before its parts
    ("message_id", "id"). Columns missing in an older database read as NULL. "value:$.createdAt" orders by a member of
    the JSON in a column, ":last" puts the rows after all others.
    """

    name: str
    document: str = ""
    order: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Columns never read (credentials, other people's names)."""
    only: tuple[str, ...] = ()
    """Where not empty: nothing but these columns is read, and no row in which all of them are NULL."""
    json: tuple[str, ...] = ()
    """Columns of JSON text; the parser gets them decoded. Text that is no JSON stays text."""
    zstd_json: tuple[str, ...] = ()
    """BLOB columns that hold JSON, zstd-compressed or plain."""
    key: str = ""
    """For key-value tables, the column of the key; "": the first one in `order`."""
    keys: tuple[str, ...] = ()
    """For key-value tables: allowed keys, or prefixes that end in "*".

    With `document_in_key` the document is what stands in the key after the prefix, up to the next ":".
    """
    document_in_key: bool = False
    stamp: str = ""
    """The column that changes whenever a row changes; without one, all rows are compared."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """Files that belong to one document of a `directory` place.

    pattern: relative to the root, with names in braces for folders or stems, each matching one path segment or part of
    one: "storage/message/{document}/{message}.json". `{document}` names the logical document; a pattern without it
    joins by a name that an earlier member bound ("storage/part/{message}/{part}.json"). Rows are ordered by the values
    of their names except `document`, so a message comes before its parts; numeric names by their value.
    """

    table: str
    """What the row's `table` says, as the parser sees it."""
    pattern: str


class Place(msgspec.Struct, frozen=True):
    """One kind of source that an agent writes; capture opens nothing else.

    patterns: globs relative to the root ("projects/*/*.jsonl"; "*" stays in one folder, "**" crosses folders, a leading
    "." must be written out). lane: 0 is the authority on a session; a record of a higher lane is only a view if lane 0
    says the same. key: see `Adapter.source_key`.
    """

    role: str
    container: Container
    patterns: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    lane: int = 0
    is_compressed: bool = False
    """zstd; the archive keeps the decompressed bytes as the revision (the compressed file is derived)."""
    split: tuple[str, ...] = ()
    """Of a snapshot: dotted paths of the arrays whose elements are records of their own ("messages",
    "journal.entries"); the members around them are records too. Empty: the elements of a top-level array, else the
    whole document."""
    tells_rewinds: bool = False
    """The agent writes itself what a rewritten source leaves behind; no rewind is inferred from a shorter version."""
    tables: tuple[Table, ...] = ()
    """Of a sqlite place: what may be read."""
    members: tuple[Member, ...] = ()
    """Of a directory place: its files; `patterns` then names nothing."""
    document_keys: tuple[str, ...] = ()
    """Of an export: the fields that may name a conversation, the first that is there counts."""

    @property
    def container_name(self) -> str:
        """The name of the container in archive and store, with everything needed to find its records again."""
        return f"{self.container}:{','.join(self.split)}" if self.split else self.container


class Root(msgspec.Struct, frozen=True):
    """Where an agent keeps its data: the value of an environment variable, else a path in the user's home.

    below: a path below either ("opencode", if the variable is `XDG_DATA_HOME`). is_database: the variable names one
    database of any name; a relative path starts at the previously declared root, and there is no default.
    """

    variable: str
    default: str
    below: str = ""
    is_database: bool = False


Verification = Literal["recording", "capture", "source", "documentation"]
"""recording: transcripts that the agent wrote for somebody's work. capture: sanitised, trimmed or test transcripts of
it. source: the types or the schema that its producer publishes. documentation: descriptions, other readers' tests."""


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about an agent's transcripts. No defaults: a new question must be answered for every agent."""

    container: Container
    rewrites_history: bool
    timestamps: Claim
    usage: Claim
    usage_authority: str
    thinking: Claim
    edits: Claim
    lineage: Claim
    session_end: Claim
    kinds: tuple[str, ...]
    """Every event kind the adapter can give; a fixture must show each, and none beside them."""
    notes: str
    verified_version: str
    verified_on: str
    evidence: str
    verified_by: Verification = "documentation"
    """The best evidence that the adapter was held against. Has a default, so that adapters of other packages load."""


WITNESS_LANE = 8
"""From this lane on, a source only witnesses what the session's own sources should say: each of its events is shown
only as long as no better lane says the same."""


class HookFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Special properties of an agent's hook payloads; fields are read in every known spelling.

    shares_call_ids: a tool call has the same id in payload and transcript. subagent: the name of a subagent's session,
    from its parent's and its own id ("{session}/agent-{agent}"); "" if the parent's session contains it.
    """

    shares_call_ids: bool
    subagent: str = ""
    has_other_prompts: bool = False
    """Its prompt event also comes for what no person wrote; only `submitted_prompt` is sure to be a person's."""
    answers: Mapping[str, Any] = {}
    """What it takes as an answer that carries context, by event (`start`, `compact`, `prompt`): JSON, or a text, with
    `{context}` in the one place of it. At another event it reads none."""
    silence: str = ""
    """The valid answer that says nothing."""
    answers_source: str = ""
    """Where its answers are documented."""
    variable: str = ""
    """An environment variable that it sets for every hook: it may run those that are registered with another agent."""
    mark: tuple[str, str] = ("", "")
    """A field of its payloads, and a part of that field's text, by which they are known when another's hooks run."""
    runs_hooks_of: Mapping[str, str] = {}
    """The agents whose hooks it runs too, and when, and what can be done about it."""


class AgentCommands(msgspec.Struct, frozen=True, kw_only=True):
    """Commands that start the agent in a terminal: program and arguments, never passed to a shell.

    resume: continues a session; `{session}` is its native id. start: begins a new session with a prompt, `{prompt}`.
    Empty: no known command. source: where they are documented.
    """

    resume: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    source: str


HOOK_PLACE = Place(role="hook", container="jsonl", patterns=("*.hooks.jsonl",), lane=WITNESS_LANE)
"""The files in which payloads of hooks wait for a sync; see `ingest.spooled_events`."""


class AgentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """All declared facts of one agent."""

    slug: str
    name: str
    aliases: tuple[str, ...]
    roots: tuple[Root, ...]
    places: tuple[Place, ...]
    capabilities: Capabilities
    carries_text: bool = True
    """Events may hold text that does not stand in the bytes of their own record (joined chunks, rows, folded
    documents): each is searched for secrets by itself, and what is forgotten of it takes the parser's state along."""
    spools: tuple[str, ...] = ()
    """Folders below the memory's own `spool` into which a receiver of ours writes for this agent; roots like others."""
    hooks: HookFacts | None = None
    """Its hooks can be registered, and what they tell is ingested; None: it has none that are known."""
    commands: AgentCommands | None = None
    """How a person starts it; None: no command of it is known."""
    is_per_repository: bool = False
    """Also looked for in the folders that other agents' sessions worked in (`.aider.chat.history.md`)."""
    is_configured: bool = False
    """Described by the user's configuration, not by a parser of its own."""
    is_import_only: bool = False
    """Never looked for: `recollect import` takes what the user names."""
    keeps_sessions: int = 0
    """How many of its newest sessions the agent keeps, each a source of lane 0; 0: it deletes none that is known."""
    parser_version: int
    """Raised with every change of what the parser gives; older derived rows are re-derived from the archive."""

    @property
    def derived_version(self) -> int:
        """The version of derived rows: the parser's and that of the shared derivation."""
        return DERIVATION << 32 | self.parser_version
