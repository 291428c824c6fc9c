"""Tables of the configuration, one structure each; every field has its description, unit and default."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from recollect.config.sections import (
    DaemonConfig,
    DocumentsConfig,
    LearningConfig,
    McpConfig,
    NotifyConfig,
    RetentionConfig,
)

KIB = 1024
MIB = 1024 * KIB


class FormatConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an agent writes that Recollect has no parser for. The defaults fit lines of `{role, content, timestamp}`.

    Content that no path names is kept and searchable as `unknown`.
    """

    name: Annotated[str, Meta(description="The agent's name. Empty: its slug.")] = ""
    container: Annotated[
        Literal["jsonl", "snapshot", "text", "sqlite"],
        Meta(
            description="How the agent writes: appended lines of JSON (jsonl), a rewritten JSON document (snapshot), "
            "text in which a line such as `User:` begins a message (text), or a database (sqlite)."
        ),
    ] = "jsonl"
    patterns: Annotated[
        tuple[str, ...],
        Meta(
            description="The agent's files below `roots`. Nothing else is opened. `*` matches within a folder, `**` "
            "across folders. Example: ['chats/*.json']."
        ),
    ] = ("**/*.jsonl",)
    exclude: Annotated[tuple[str, ...], Meta(description="Files to leave out although `patterns` matches them.")] = ()
    split: Annotated[
        tuple[str, ...],
        Meta(
            description="For a snapshot: dotted paths of the arrays whose elements are the messages. Empty: the "
            "document is the array. Example: ['messages']."
        ),
    ] = ()
    table: Annotated[
        str, Meta(description="For a database: the table with one row for each message. No other table is read.")
    ] = ""
    order: Annotated[
        tuple[str, ...], Meta(description="For a database: the columns that order the rows of a session.")
    ] = ("rowid",)
    json: Annotated[
        tuple[str, ...], Meta(description="For a database: the columns that contain JSON. Paths continue inside them.")
    ] = ()
    role: Annotated[str, Meta(description="Dotted path of the role. Example: 'message.role'.")] = "role"
    text: Annotated[str, Meta(description="Path of the message: a text, or a list of content blocks.")] = "content"
    thinking: Annotated[str, Meta(description="Path of the model's reasoning.")] = ""
    time: Annotated[str, Meta(description="Path of the time: ISO 8601, seconds, milliseconds or microseconds.")] = (
        "timestamp"
    )
    id: Annotated[
        str,
        Meta(
            description="Path of a message id that is unique in its session and stays the same when the message is "
            "rewritten. Empty: the content identifies a message."
        ),
    ] = ""
    session: Annotated[
        str,
        Meta(description="Path of the session's name; for a database, its column. Empty: each file is one session."),
    ] = ""
    cwd: Annotated[str, Meta(description="Path of the agent's working folder.")] = "cwd"
    model: Annotated[str, Meta(description="Path of the model's name.")] = "model"
    tool_name: Annotated[str, Meta(description="Path of the tool's name in records that call a tool.")] = ""
    tool_arguments: Annotated[str, Meta(description="Path of the call's arguments.")] = ""
    tool_call: Annotated[str, Meta(description="Path of the id that joins a call and its result.")] = ""
    tool_result: Annotated[
        str, Meta(description="Path of the tool's result, if it is not the text of a tool's message.")
    ] = ""
    tool_ok: Annotated[
        str, Meta(description="Path of the success of a call: true or false, or an exit code, where 0 means success.")
    ] = ""
    user_roles: Annotated[tuple[str, ...], Meta(description="Roles that mean a person.")] = (
        "user", "human",
    )  # fmt: skip
    assistant_roles: Annotated[tuple[str, ...], Meta(description="Roles that mean the model.")] = (
        "assistant", "ai", "model", "agent",
    )  # fmt: skip
    system_roles: Annotated[tuple[str, ...], Meta(description="Roles that mean instructions.")] = (
        "system", "developer",
    )  # fmt: skip
    tool_roles: Annotated[tuple[str, ...], Meta(description="Roles that mean a tool's answer.")] = (
        "tool", "function",
    )  # fmt: skip
    skip: Annotated[
        tuple[str, ...],
        Meta(
            description="Paths without meaning of their own. They stay in the archive and are neither shown nor "
            "searched."
        ),
    ] = ("id",)


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one agent."""

    enabled: Annotated[bool, Meta(description="Ingest this agent's sessions. Off: stored sessions stay.")] = True
    roots: Annotated[
        tuple[str, ...],
        Meta(
            description="More folders to read: another home of the agent (a mounted volume, another account) or any "
            "folder with its transcripts. `~` and `$NAME` are expanded. Example: ['~/.agent-at-work', "
            "'/mnt/laptop/home/me/.agent']."
        ),
    ] = ()
    variables: Annotated[
        dict[str, str],
        Meta(
            description="Values that replace environment variables of the agent, such as the one that names its home."
            " `~` and `$NAME` are expanded. Example: { AGENT_HOME = '$HOME/work/.agent' }."
        ),
    ] = {}
    format: Annotated[
        FormatConfig | None,
        Meta(
            description="How an agent writes that Recollect has no parser for. `roots` says where. See `recollect "
            "help add-an-agent`."
        ),
    ] = None


class ReposConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Groups of repositories."""

    domains: Annotated[
        dict[str, str],
        Meta(
            description="The domain of each repository, by the repository's name. Sessions have both. Example: { "
            "shop-api = 'shop' }."
        ),
    ] = {}


class SearchConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Defaults for searches."""

    limit: Annotated[
        int, Meta(ge=1, le=1000, description="How many hits a search shows without a limit of its own (hits).")
    ] = 10


class EmbeddingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How vectors for the search by meaning are computed, see `recollect help search-by-meaning`. Nothing leaves the
    machine unless `api` is set."""

    model: Annotated[
        str,
        Meta(
            min_length=1,
            description="'builtin': the model in the package. 'off': search by words only. A folder: a stronger model"
            " on this machine. With `api`: the name of the served model. Example: "
            "'~/models/potion-base-32M'.",
        ),
    ] = "builtin"
    api: Annotated[
        Literal["", "openai", "ollama"],
        Meta(
            description="How to ask a server for vectors: OpenAI's `/embeddings` (many servers understand it) or "
            "Ollama's `/api/embed`. Recollect sends the redacted text of messages to it. Empty: no "
            "server."
        ),
    ] = ""
    url: Annotated[
        str,
        Meta(
            description="The server's address, without the path of the call. Empty: 'http://127.0.0.1:11434' for "
            "ollama; openai needs an address. Example: 'https://api.openai.com/v1'."
        ),
    ] = ""
    key_variable: Annotated[
        str,
        Meta(description="The environment variable with the server's key. Do not write the key itself here."),
    ] = ""
    dimensions: Annotated[
        int,
        Meta(ge=0, le=4096, description="Length of the vectors to ask for (numbers). 0: whatever the model gives."),
    ] = 0
    timeout_s: Annotated[
        int, Meta(ge=1, le=600, description="How long one call to the server may take in total (seconds).")
    ] = 30
    contextual: Annotated[
        bool,
        Meta(
            description="Let a contextual model (all-MiniLM-L6-v2) help to order the best hits of a question. It "
            'needs the extra `models` and `model = "builtin"`.'
        ),
    ] = True
    at_once: Annotated[
        int,
        Meta(
            ge=0,
            le=50,
            description="How many passages without vectors a question reads while you wait (about 35 ms each).",
        ),
    ] = 6
    in_background: Annotated[
        bool,
        Meta(
            description="Let `sync` and `up --once` start a process that computes missing vectors. Off: `recollect "
            "embed` computes them."
        ),
    ] = True


class ContextConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What hooks give to agents, see `recollect help context`."""

    budget_tokens: Annotated[
        int,
        Meta(ge=100, le=20_000, description="The largest size of a block (LLM tokens, estimated upwards)."),
    ] = 1200
    per_prompt: Annotated[
        bool,
        Meta(
            description="Before each prompt, give the agent what the memory surely has about it. Off: it has to search."
        ),
    ] = False
    soul_file: Annotated[
        str,
        Meta(
            description="A text that comes first at every session start, verbatim up to a limit: who the agent should"
            " be. Empty: `soul.md` in the home. `~` and `$NAME` are expanded."
        ),
    ] = ""
    user_file: Annotated[
        str,
        Meta(
            description="A text about you that comes next. Recollect keeps confirmed preferences in its marked part. "
            "Empty: `user.md` in the home."
        ),
    ] = ""


class DistillConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When and how sessions are analysed, see `recollect help insights`."""

    enabled: Annotated[
        bool,
        Meta(
            description="Let `sync` and `up` analyse sessions that have ended: digests, signals, decisions. Off: "
            "earlier results stay, and nothing is added."
        ),
    ] = True
    ranked: Annotated[
        bool,
        Meta(
            description="Let learned weights find decisions and learnings that no rule finds, marked `ranked`, and "
            "refuse corrections that a rule misunderstood. Off: rules only; sessions are read again."
        ),
    ] = True
    idle_seconds: Annotated[
        int,
        Meta(
            ge=0, le=604_800,
            description="Analyse a session that was quiet for so long, even if its end is not recorded (seconds).",
        ),
    ] = 300  # fmt: skip
    task_patterns: Annotated[
        tuple[str, ...],
        Meta(
            description="Regular expressions that find a session's task in branch, title, first prompt, commits and "
            "paths. Groups named `repo` and `number` give `repo#number`; `number` alone gives `#number`; "
            "otherwise the whole match is the task. They are tried before the shipped ones. Example: "
            "['OPS-\\d+']."
        ),
    ] = ()


class GateRuleConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that finds decisions. One with the id of a shipped rule replaces it."""

    id: Annotated[str, Meta(min_length=1, description="The rule's name. Example: 'own.rfc'.")]
    category: Annotated[
        Literal["choice", "rejection", "ban", "preference", "reversal", "rule", "confirmation"],
        Meta(description="What such a sentence does."),
    ] = "choice"
    pattern: Annotated[
        str,
        Meta(
            description="Regular expression for what a person or the model says, in any case. Empty: switches the "
            "shipped rule with this id off."
        ),
    ] = ""
    strength: Annotated[
        Literal["strong", "soft"], Meta(description="soft: a decision only with further words beside it.")
    ] = "strong"


class GateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules that find decisions."""

    rules: Annotated[
        tuple[GateRuleConfig, ...],
        Meta(
            description="`[[gate.rules]]`: rules that add to the shipped ones or replace them (`recollect help "
            "insights`)."
        ),
    ] = ()


class InfraConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as infrastructure in reports."""

    tools: Annotated[
        tuple[str, ...],
        Meta(
            description="Tools whose calls count as overhead and not as work, by the agent's own names; `*` stands "
            "for any characters. Example: ['mcp__*', 'ToolSearch']."
        ),
    ] = ("mcp__*", "mcp_*", "use_mcp_tool", "access_mcp_resource")


class IngestConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How sources are ingested."""

    workers: Annotated[
        int, Meta(ge=0, le=256, description="Processes that parse and redact (processes). 0: one for each core.")
    ] = 0
    slice_bytes: Annotated[
        int,
        Meta(
            ge=64 * KIB,
            le=64 * MIB,
            description="How much of a source a worker reads at a time (bytes). This limits memory, not the size of "
            "sources.",
        ),
    ] = 4 * MIB
    min_messages: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="Sessions with fewer messages from you and the model are archived but not indexed. 0: all are"
            " indexed. This holds for `sync`, `up` and `import`; exports of conversations are always "
            "indexed.",
        ),
    ] = 0
    folders: Annotated[
        tuple[str, ...],
        Meta(
            description="Folders with transcripts of any agents, in any layout. Recollect recognises each file by its"
            " content and reads them at every sync. `recollect doctor` lists files of no known agent. "
            "Example: ['~/old-transcripts']."
        ),
    ] = ()


class SecretPatternConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A secret of your own."""

    name: Annotated[
        str,
        Meta(
            min_length=1,
            description="The kind in the marker: lower-case letters, digits and `_`, at most 40. Example: 'acme_key'.",
        ),
    ]
    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            description="Regular expression for the secret. If it has a group named `secret`, only that group is the "
            "secret. Expressions with three or more fixed characters are fastest. Example: "
            "'acme_[0-9a-f]{32}'.",
        ),
    ]


class PrivacyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is secret, see `recollect help privacy`. After a change, the next sync redacts everything again."""

    patterns: Annotated[
        tuple[SecretPatternConfig, ...],
        Meta(description="`[[privacy.patterns]]`: secrets to find in addition to the known ones."),
    ] = ()
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="What looks like a secret but is none: values, or regular expressions that match it whole. "
            "Example: ['AKIA[A-Z0-9]*EXAMPLE', 'hunter2-for-tests']."
        ),
    ] = ()
    exclude_repos: Annotated[
        tuple[str, ...],
        Meta(
            description="Repositories of which nothing is kept: names, or folders if there is a `/`; `*` stands for "
            "any characters. Example: ['payroll', '~/clients/*']."
        ),
    ] = ()


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration. `Config()` is what an empty or missing file gives."""

    agents: Annotated[
        dict[str, AgentConfig],
        Meta(description="One table per agent, named by its slug (`recollect agents` lists them)."),
    ] = {}
    repos: Annotated[ReposConfig, Meta(description="Groups of repositories.")] = ReposConfig()
    search: Annotated[SearchConfig, Meta(description="Defaults for searches.")] = SearchConfig()
    embedding: Annotated[EmbeddingConfig, Meta(description="How vectors for the search by meaning are computed.")] = (
        EmbeddingConfig()
    )
    context: Annotated[ContextConfig, Meta(description="What hooks give to agents.")] = ContextConfig()
    ingest: Annotated[IngestConfig, Meta(description="How sources are ingested.")] = IngestConfig()
    daemon: Annotated[DaemonConfig, Meta(description="The process that keeps the memory fresh.")] = DaemonConfig()
    distill: Annotated[DistillConfig, Meta(description="When and how sessions are analysed.")] = DistillConfig()
    gate: Annotated[GateConfig, Meta(description="Rules that find decisions.")] = GateConfig()
    learning: Annotated[LearningConfig, Meta(description="What sessions teach.")] = LearningConfig()
    documents: Annotated[DocumentsConfig, Meta(description="Which files of a project are documents.")] = (
        DocumentsConfig()
    )
    mcp: Annotated[McpConfig, Meta(description="What agents may write over MCP.")] = McpConfig()
    infra: Annotated[InfraConfig, Meta(description="What counts as infrastructure in reports.")] = InfraConfig()
    privacy: Annotated[PrivacyConfig, Meta(description="What is secret, and what is not kept.")] = PrivacyConfig()
    retention: Annotated[RetentionConfig, Meta(description="How much is kept, and how long.")] = RetentionConfig()
    notify: Annotated[NotifyConfig, Meta(description="A program that is told about problems at once.")] = NotifyConfig()

    def agent(self, slug: str) -> AgentConfig:
        """Return the settings of one agent; the defaults where the file has none."""
        return self.agents.get(slug, DEFAULT_AGENT)

    def formats(self) -> dict[str, dict[str, Any]]:
        """Return the formats that are described here, by slug, as plain values."""
        described = {slug: a.format for slug, a in self.agents.items() if a.format is not None}
        return {slug: msgspec.to_builtins(found) for slug, found in described.items()}


DEFAULT_AGENT = AgentConfig()
