"""What an agent's files can give, declared as data; tests hold claim and behaviour together."""

from __future__ import annotations

from typing import Literal

import msgspec

Container = Literal["jsonl", "text", "snapshot"]
"""jsonl: append-only lines. text: a whole file is one record of text. snapshot: a whole-file JSON document
that is rewritten; its records are the elements of its top-level array, else the document itself."""

Claim = Literal["exact", "partly", "no"]


class Place(msgspec.Struct, frozen=True):
    """One kind of source an agent writes; the allow-list that capture may open.

    patterns: globs relative to the root ("projects/*/*.jsonl"; "*" stays in one folder, "**" crosses
    folders, a leading "." must be written out). lane: 0 is the authority of a session; a higher lane's
    record is only a view where lane 0 says the same. key: see `Adapter.source_key`.
    """

    role: str
    container: Container
    patterns: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    lane: int = 0
    is_compressed: bool = False
    """zstd; the archive keeps the decompressed bytes as the revision (the compressed file is derived)."""


class Root(msgspec.Struct, frozen=True):
    """Where an agent keeps its data: an environment variable, else a path below the user's home."""

    variable: str
    default: str


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about an agent's transcripts. No defaults: a new question makes every agent answer it."""

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


class AgentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """All declared facts of one agent."""

    slug: str
    name: str
    aliases: tuple[str, ...]
    roots: tuple[Root, ...]
    places: tuple[Place, ...]
    capabilities: Capabilities
    parser_version: int
    """Raised with every change of what the parser gives; older derived rows are re-derived from the archive."""
