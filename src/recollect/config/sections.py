"""Tables of the configuration: the daemon, learning, documents, MCP, retention, notices."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class DaemonConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The process that watches, ingests and serves, see `recollect help freshness`."""

    http: Annotated[
        bool,
        Meta(description="Whether `recollect up` serves MCP (at `/mcp`) and the web page, on this machine only."),
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
            description="'auto': the system tells what changed, and folders are looked at every 2 seconds where it "
            "cannot (network file systems, too many folders). 'poll': they all are."
        ),
    ] = "auto"
    rescan_seconds: Annotated[
        int,
        Meta(
            ge=10,
            le=86_400,
            description="How often everything is checked again, in case a change was not reported (seconds).",
        ),
    ] = 600


Price = Annotated[float, Meta(ge=0, le=100_000)] | Literal["listed"]


class LearningConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is learned of sessions, see `recollect help learnings`. Without `provider` no model is asked and nothing
    leaves the machine."""

    enabled: Annotated[
        bool,
        Meta(description="Whether `sync` and `up` learn from sessions. Off: what was learned stays, nothing is added."),
    ] = True
    provider: Annotated[
        Literal["", "anthropic", "openai", "ollama"],
        Meta(
            description="Which interface to ask a model by, in addition to the rules that always run: "
            "Anthropic's Messages, "
            "OpenAI's Chat Completions (many servers understand that) or Ollama's. Redacted text of sessions is sent "
            "to it. Empty: no model."
        ),
    ] = ""
    model: Annotated[
        str,
        Meta(description="The model's name. Empty: a small one of the provider's; ollama and other servers need one."),
    ] = ""
    url: Annotated[
        str,
        Meta(
            description="Address of the server, without the call's own path. Empty: the provider's own "
            "(for anthropic `ANTHROPIC_BASE_URL` where that is set; for ollama 'http://127.0.0.1:11434')."
        ),
    ] = ""
    key_variable: Annotated[
        str,
        Meta(
            description="Environment variable that holds the key; the key itself is never written here. Empty: "
            "`ANTHROPIC_API_KEY` for anthropic, `OPENAI_API_KEY` for openai's own address, none else."
        ),
    ] = ""
    timeout_s: Annotated[int, Meta(ge=1, le=600, description="How long one call may take in all (seconds).")] = 60
    session_budget_usd: Annotated[
        float, Meta(ge=0, le=100, description="What a model may cost for one session (US dollars).")
    ] = 0.01
    day_budget_usd: Annotated[
        float, Meta(ge=0, le=10_000, description="What a model may cost on one day, UTC (US dollars).")
    ] = 0.25
    day_budget_tokens: Annotated[
        int,
        Meta(ge=0, description="What may be sent and received on one day, UTC, also where it is free (LLM tokens)."),
    ] = 1_000_000
    input_usd_per_million: Annotated[
        Price,
        Meta(
            description="Price of the text that is sent (US dollars per million LLM tokens); 'listed': from the "
            "price list. A model that it does not know needs a number, 0 where it is free; ollama is always "
            "free."
        ),
    ] = "listed"
    output_usd_per_million: Annotated[
        Price, Meta(description="Price of what the model answers. Set both to numbers, or neither.")
    ] = "listed"
    action_days: Annotated[
        int, Meta(ge=1, le=3650, description="How long an action stays pending by default (days).")
    ] = 14
    most_actions: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Most pending actions of one repository; the least urgent and oldest are dropped (actions).",
        ),
    ] = 20


class McpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What agents may do over MCP beside reading."""

    writing_tools: Annotated[
        bool,
        Meta(
            description="Whether agents get the tools that write: diary_write, diary_read, fact_add, fact_query, "
            "fact_invalidate, action_done."
        ),
    ] = False


class DocumentsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which files of a project are documents, see `recollect help search-your-documents`."""

    include: Annotated[
        tuple[str, ...],
        Meta(description="More files that are documents, in the syntax of .gitignore. Example: ['*.proto']."),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Meta(description="Files that are not documents, as in .gitignore; overrides `include`. Example: ['drafts/']."),
    ] = ()
    max_file_bytes: Annotated[
        int, Meta(ge=1024, le=1 << 30, description="Larger files are listed but not read (bytes).")
    ] = 4 * 1024 * 1024


GIB = 1 << 30
MOST_BYTES = 1 << 50
MOST_DAYS = 36_500


class RetentionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much is kept of what agents wrote, and how long, see `recollect help retention`."""

    raw_soft_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Above this the oldest analysed sessions go down to what their digests and decisions rest on "
            "(bytes). Counted is what that really gives back: the archive and the stored text of events.",
        ),
    ] = 4 * GIB
    raw_hard_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Above this, where nothing analysed is left, what is left is analysed at once, and as the last "
            "resort the oldest that cannot be analysed goes too, reported as data loss (bytes). Not below the "
            "soft cap.",
        ),
    ] = 6 * GIB
    raw_max_age_days: Annotated[
        Annotated[int, Meta(ge=0, le=MOST_DAYS)] | Literal["never"],
        Meta(
            description="How long an analysed session is kept whole, whatever the room, after its last event and after "
            "it was last ingested (days). 'never': only the caps count."
        ),
    ] = 45
    distilled_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Above this a warning says how much digests, decisions and the like take (bytes). They are "
            "never dropped.",
        ),
    ] = GIB
    cadence: Annotated[
        Literal["daily", "weekly", "on-hook"],
        Meta(
            description="How often this is looked after: once a day or a week, or after each sync that ingested what "
            "hooks left."
        ),
    ] = "daily"
    keep_gone: Annotated[
        Literal["age", "always", "never"],
        Meta(
            description="Whether a session is spared whose file the agent has deleted, so that here is its only copy. "
            "age: its age does not count, the caps do; always: the caps neither, except as the last resort; never."
        ),
    ] = "age"


class NotifyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is told of what should not wait: data loss, the cap of what was distilled, failures that persist."""

    command: Annotated[
        tuple[str, ...],
        Meta(
            description="A program and its arguments, run without a shell; it gets one JSON object on standard input. "
            "Each thing at most once a day. Empty: nobody is told. Example: ['/usr/local/bin/tell-me', '--quiet']."
        ),
    ] = ()
    timeout_seconds: Annotated[
        int, Meta(ge=1, le=60, description="The program is ended when it takes longer than this (seconds).")
    ] = 10
