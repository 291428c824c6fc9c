"""goose: where it writes and what its records can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root, Table

_DATABASE = ("sessions.db",)

FACTS = AgentFacts(
    slug="goose",
    name="goose",
    aliases=("codename-goose", "block-goose"),
    roots=(
        Root(variable="GOOSE_PATH_ROOT", default=".goose", below="data/sessions"),
        Root(variable="XDG_DATA_HOME", default=".local/share", below="goose/sessions"),
        Root(variable="APPDATA", default="AppData/Roaming", below="Block/goose/data/sessions"),
        Root(variable="", default=".goose/sessions"),
    ),
    places=(
        Place(
            role="messages",
            container="sqlite",
            patterns=_DATABASE,
            tables=(
                Table(
                    name="messages",
                    document="session_id",
                    order=("created_timestamp", "id"),
                    exclude=("timestamp", "tokens"),
                    json=("content_json", "metadata_json"),
                ),
            ),
        ),
        Place(
            role="session",
            container="sqlite",
            patterns=_DATABASE,
            tables=(
                Table(name="usage_ledger", document="session_id", order=("session_id",)),
                Table(
                    name="sessions",
                    document="id",
                    order=("id", "id"),
                    exclude=("extension_data", "updated_at", "user_recipe_values_json"),
                    json=("model_config_json", "parent_delegation", "recipe_json"),
                ),
            ),
        ),
        Place(role="lines", container="jsonl", patterns=("*.jsonl",), lane=1),
    ),
    capabilities=Capabilities(
        container="sqlite",
        rewrites_history=True,
        timestamps="exact",
        usage="exact",
        usage_authority="usage_ledger rows; what the session's own counters have beyond them counts once",
        thinking="partly",
        edits="partly",
        lineage="partly",
        session_end="no",
        kinds=kinds_but("rewind", "session_end"),
        notes=(
            "An edited prompt deletes what followed and leaves no record of it. Times are whole seconds. Before schema "
            "15 usage is one number per session."
        ),
        verified_version="sessions.db schema 17",
        verified_on="2026-11-21",
        evidence="format notes: goose; the agent's published schema; fixtures of deja-vu",
        verified_by="source",
    ),
    hooks=HookFacts(shares_call_ids=False),
    parser_version=1,
)
"""goose as data."""
