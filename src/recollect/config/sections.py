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
            description="The port on 127.0.0.1. 0 means any free port; `recollect up --status` shows which.",
        ),
    ] = 4319
    watch: Annotated[
        Literal["auto", "poll"],
        Meta(
            description="With 'auto', the operating system notifies the daemon of changes. Where it cannot "
            "(network file systems, too many folders), the daemon checks folders every 2 seconds. With "
            "'poll', it checks all folders every 2 seconds."
        ),
    ] = "auto"
    rescan_seconds: Annotated[
        int,
        Meta(
            ge=10,
            le=86_400,
            description="How often the daemon checks everything again, in case a notification was lost (seconds).",
        ),
    ] = 600


Price = Annotated[float, Meta(ge=0, le=100_000)] | Literal["listed"]


class LearningConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What sessions teach, see `recollect help learnings`. Without `provider` no model is asked and nothing leaves the
    machine."""

    enabled: Annotated[
        bool,
        Meta(
            description="Let `sync` and `up` learn from sessions. If false, earlier learnings stay and no new ones "
            "are added."
        ),
    ] = True
    provider: Annotated[
        Literal["", "anthropic", "openai", "ollama"],
        Meta(
            description="The interface of a model that Recollect asks in addition to its rules: Anthropic's "
            "Messages, OpenAI's Chat Completions (many servers offer it) or Ollama's. Recollect sends "
            "redacted text of sessions to this model. If empty, no model is used."
        ),
    ] = ""
    model: Annotated[
        str,
        Meta(
            description="The model's name. If empty, a small model of Anthropic or OpenAI is used. Other "
            "servers need a name."
        ),
    ] = ""
    url: Annotated[
        str,
        Meta(
            description="The server's address, without the path of the call. If empty, the provider's usual "
            "address is used (for anthropic, `ANTHROPIC_BASE_URL` if it is set; for ollama, "
            "'http://127.0.0.1:11434')."
        ),
    ] = ""
    key_variable: Annotated[
        str,
        Meta(
            description="The environment variable that contains the key. Do not write the key here. If empty, "
            "this is `ANTHROPIC_API_KEY` for anthropic and `OPENAI_API_KEY` for the address of OpenAI. "
            "Other servers then get no key."
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
        Meta(
            ge=0, description="How much text may be sent and received on one day, UTC, even if it is free (LLM tokens)."
        ),
    ] = 1_000_000
    input_usd_per_million: Annotated[
        Price,
        Meta(
            description="The price of the text that is sent (US dollars per million LLM tokens). 'listed' means "
            "the price in Recollect's price list. For a model that is not in the list, give a number, "
            "or 0 if the model is free. ollama is always free."
        ),
    ] = "listed"
    output_usd_per_million: Annotated[
        Price,
        Meta(description="The price of the model's answers, in the same unit. Set both prices to numbers, or neither."),
    ] = "listed"
    action_days: Annotated[
        int, Meta(ge=1, le=3650, description="How long an action stays pending if you give no other time (days).")
    ] = 14
    most_actions: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="How many actions of one repository can be pending (actions). If there are more, the least "
            "urgent and oldest are dropped.",
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
        Meta(description="Further files that are documents, in the syntax of .gitignore. Example: ['*.proto']."),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Meta(
            description="Files that are not documents, in the syntax of .gitignore. This overrides `include`. "
            "Example: ['drafts/']."
        ),
    ] = ()
    max_file_bytes: Annotated[
        int, Meta(ge=1024, le=1 << 30, description="Files larger than this are listed but not read (bytes).")
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
            description="The soft limit for the archive and the stored text of events together (bytes). Above it, "
            "Recollect deletes the raw text of the oldest analysed sessions and keeps only what their "
            "digests and decisions rest on.",
        ),
    ] = 4 * GIB
    raw_hard_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="The hard limit, which must not be below the soft one (bytes). Above it, Recollect "
            "analyses and evicts the remaining sessions. As the last resort, it also evicts the oldest "
            "sessions that cannot be analysed, and reports this as data loss.",
        ),
    ] = 6 * GIB
    raw_max_age_days: Annotated[
        Annotated[int, Meta(ge=0, le=MOST_DAYS)] | Literal["never"],
        Meta(
            description="How long an analysed session is kept whole after its last event and its last ingestion "
            "(days). With 'never', only the two limits above apply."
        ),
    ] = 45
    distilled_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Recollect warns you if digests, decisions and other derived data take more than this "
            "(bytes). It never deletes them.",
        ),
    ] = GIB
    cadence: Annotated[
        Literal["daily", "weekly", "on-hook"],
        Meta(
            description="How often Recollect applies the limits: once a day, once a week, or after each sync that "
            "ingested something from a hook."
        ),
    ] = "daily"
    keep_gone: Annotated[
        Literal["age", "always", "never"],
        Meta(
            description="Whether to spare a session whose file the agent deleted, because the memory has the only "
            "copy. With 'age', such a session is spared from the age limit; with 'always', also from "
            "the other limits, except as the last resort; with 'never', it is not spared."
        ),
    ] = "age"


class NotifyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that is told at once about data loss, too much derived data, and failures that persist."""

    command: Annotated[
        tuple[str, ...],
        Meta(
            description="A program and its arguments, run without a shell. It gets one JSON object on standard "
            "input, at most once a day for each kind of problem. If empty, no program is run. Example: "
            "['/usr/local/bin/tell-me', '--quiet']."
        ),
    ] = ()
    timeout_seconds: Annotated[
        int, Meta(ge=1, le=60, description="Recollect ends the program after this time (seconds).")
    ] = 10
