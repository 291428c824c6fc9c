"""Tables of the configuration: daemon, learning, documents, MCP, retention, notifications."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class DaemonConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The process that watches, ingests and serves, see `recollect help freshness`."""

    http: Annotated[
        bool,
        Meta(description="Let `recollect up` serve MCP (at `/mcp`) and the web page, on this machine only."),
    ] = True
    port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="Port on 127.0.0.1. 0: any free port; `recollect up --status` shows it.",
        ),
    ] = 4319
    watch: Annotated[
        Literal["auto", "poll"],
        Meta(
            description="'auto': use the system's notifications, and check folders every 2 seconds where there are "
            "none (network file systems, too many folders). 'poll': check all folders every 2 seconds."
        ),
    ] = "auto"
    rescan_seconds: Annotated[
        int,
        Meta(
            ge=10,
            le=86_400,
            description="How often to check everything again, in case a notification was lost (seconds).",
        ),
    ] = 600


Price = Annotated[float, Meta(ge=0, le=100_000)] | Literal["listed"]


class LearningConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What sessions teach, see `recollect help learnings`. Without `provider` no model is asked and nothing leaves the
    machine."""

    enabled: Annotated[
        bool,
        Meta(description="Let `sync` and `up` learn from sessions. Off: earlier learnings stay, and nothing is added."),
    ] = True
    provider: Annotated[
        Literal["", "anthropic", "openai", "ollama"],
        Meta(
            description="The interface of a model to ask in addition to the rules: Anthropic's Messages, OpenAI's "
            "Chat Completions (many servers understand it) or Ollama's. Recollect sends redacted text of "
            "sessions to it. Empty: no model."
        ),
    ] = ""
    model: Annotated[
        str,
        Meta(
            description="The model's name. Empty: a small model of the provider; ollama and other servers need a name."
        ),
    ] = ""
    url: Annotated[
        str,
        Meta(
            description="The server's address, without the path of the call. Empty: the provider's own (for "
            "anthropic, `ANTHROPIC_BASE_URL` if it is set; for ollama 'http://127.0.0.1:11434')."
        ),
    ] = ""
    key_variable: Annotated[
        str,
        Meta(
            description="The environment variable with the key. Do not write the key itself here. Empty: "
            "`ANTHROPIC_API_KEY` for anthropic, `OPENAI_API_KEY` for openai's own address, otherwise "
            "none."
        ),
    ] = ""
    timeout_s: Annotated[int, Meta(ge=1, le=600, description="How long one call may take in total (seconds).")] = 60
    session_budget_usd: Annotated[
        float, Meta(ge=0, le=100, description="How much a model may cost for one session (US dollars).")
    ] = 0.01
    day_budget_usd: Annotated[
        float, Meta(ge=0, le=10_000, description="How much a model may cost on one day, UTC (US dollars).")
    ] = 0.25
    day_budget_tokens: Annotated[
        int,
        Meta(ge=0, description="How much may be sent and received on one day, UTC, even if it is free (LLM tokens)."),
    ] = 1_000_000
    input_usd_per_million: Annotated[
        Price,
        Meta(
            description="Price of the text that is sent (US dollars per million LLM tokens). 'listed': from the price"
            " list. A model that is not in the list needs a number, 0 if it is free. ollama is always "
            "free."
        ),
    ] = "listed"
    output_usd_per_million: Annotated[
        Price, Meta(description="Price of the model's answers. Set both prices to numbers, or neither.")
    ] = "listed"
    action_days: Annotated[
        int, Meta(ge=1, le=3650, description="How long an action stays pending by default (days).")
    ] = 14
    most_actions: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="The most pending actions of one repository (actions). Beyond that, the least urgent and "
            "oldest are dropped.",
        ),
    ] = 20


class McpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What agents may write over MCP."""

    writing_tools: Annotated[
        bool,
        Meta(
            description="Give agents the tools that write: diary_write, diary_read, fact_add, fact_query, "
            "fact_invalidate, action_done."
        ),
    ] = False


class DocumentsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which files of a project are documents, see `recollect help search-your-documents`."""

    include: Annotated[
        tuple[str, ...],
        Meta(description="More files to treat as documents, in the syntax of .gitignore. Example: ['*.proto']."),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Meta(
            description="Files that are not documents, in the syntax of .gitignore. This overrides `include`. "
            "Example: ['drafts/']."
        ),
    ] = ()
    max_file_bytes: Annotated[
        int, Meta(ge=1024, le=1 << 30, description="Larger files are listed but not read (bytes).")
    ] = 4 * 1024 * 1024


GIB = 1 << 30
MOST_BYTES = 1 << 50
MOST_DAYS = 36_500


class RetentionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of what agents wrote is kept, and how long, see `recollect help retention`."""

    raw_soft_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Above this, the oldest analysed sessions keep only what their digests and decisions rest on "
            "(bytes). The archive and the stored text of events count.",
        ),
    ] = 4 * GIB
    raw_hard_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Above this, the remaining sessions are analysed and evicted (bytes). As the last resort the "
            "oldest sessions that cannot be analysed are evicted too, and reported as data loss. Not "
            "below the soft cap.",
        ),
    ] = 6 * GIB
    raw_max_age_days: Annotated[
        Annotated[int, Meta(ge=0, le=MOST_DAYS)] | Literal["never"],
        Meta(
            description="How long an analysed session is kept whole after its last event and its last ingestion "
            "(days). 'never': only the caps count."
        ),
    ] = 45
    distilled_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Above this, a warning says how much digests, decisions and other derived data take (bytes). "
            "They are never deleted.",
        ),
    ] = GIB
    cadence: Annotated[
        Literal["daily", "weekly", "on-hook"],
        Meta(
            description="How often the limits are applied: once a day, once a week, or after each sync that ingested "
            "what hooks left."
        ),
    ] = "daily"
    keep_gone: Annotated[
        Literal["age", "always", "never"],
        Meta(
            description="Whether to spare a session whose file the agent deleted, because the memory has the only "
            "copy. age: spared from the age limit, not from the caps. always: spared from the caps too, "
            "except as the last resort. never: not spared."
        ),
    ] = "age"


class NotifyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that is told at once about data loss, too much derived data, and failures that persist."""

    command: Annotated[
        tuple[str, ...],
        Meta(
            description="A program and its arguments, run without a shell. It gets one JSON object on standard input,"
            " for each kind of problem at most once a day. Empty: no program. Example: "
            "['/usr/local/bin/tell-me', '--quiet']."
        ),
    ] = ()
    timeout_seconds: Annotated[
        int, Meta(ge=1, le=60, description="The program is ended after this time (seconds).")
    ] = 10
