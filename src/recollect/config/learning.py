"""What is learned of sessions, what agents may write, and project documents: `[learning]`, `[mcp]`, `[documents]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Price = Annotated[float, Meta(ge=0, le=100_000)] | Literal["listed"]


class LearningConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is learned of sessions, see docs/learnings.md. Without `provider` no model is asked and nothing leaves the
    machine."""

    enabled: Annotated[
        bool,
        Meta(description="Whether `sync` and `up` learn from sessions. Off: what was learned stays, nothing is added."),
    ] = True
    provider: Annotated[
        Literal["", "anthropic", "openai", "ollama"],
        Meta(
            description="Whose interface a model is asked by, beside the rules that always run: Anthropic's Messages, "
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
            description="Environment variable that holds the key; the key itself never stands here. Empty: "
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
            description="What a model costs that is sent text (US dollars per million LLM tokens); 'listed': as the "
            "price list says. A model that it does not know needs a number, 0 where it is free; ollama is always free."
        ),
    ] = "listed"
    output_usd_per_million: Annotated[
        Price, Meta(description="As above, of what the model answers. Both are numbers, or none is.")
    ] = "listed"
    action_days: Annotated[
        int, Meta(ge=1, le=3650, description="How long an action stays pending where nothing says otherwise (days).")
    ] = 14
    most_actions: Annotated[
        int,
        Meta(
            ge=1, le=1000, description="Pending actions kept of one repository; the least urgent, oldest go (actions)."
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
    """Which files of a project are documents, see docs/documents.md."""

    include: Annotated[
        tuple[str, ...],
        Meta(description="Further files that are documents, in the syntax of .gitignore. Example: ['*.proto']."),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Meta(description="Files that are none, as in .gitignore; stronger than `include`. Example: ['drafts/']."),
    ] = ()
    max_file_bytes: Annotated[
        int, Meta(ge=1024, le=1 << 30, description="A larger file is listed and not read (bytes).")
    ] = 4 * 1024 * 1024
