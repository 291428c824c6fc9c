"""What can be set: one structure for each table of `config.toml`, each field with its text, unit and default."""

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

    What no path names is kept and searchable as `unknown`.
    """

    name: Annotated[str, Meta(description="What the agent is called; empty: its slug.")] = ""
    container: Annotated[
        Literal["jsonl", "snapshot", "text", "sqlite"],
        Meta(
            description="How it writes: lines of JSON that are appended (jsonl), a JSON document that is rewritten "
            "(snapshot), text in which a line such as `User:` begins a message (text), or a database (sqlite)."
        ),
    ] = "jsonl"
    patterns: Annotated[
        tuple[str, ...],
        Meta(
            description="Its files below `roots`; nothing else is opened. `*` stays in one folder, `**` crosses "
            "folders. Example: ['chats/*.json']."
        ),
    ] = ("**/*.jsonl",)
    exclude: Annotated[tuple[str, ...], Meta(description="Files that the patterns match and that are not meant.")] = ()
    split: Annotated[
        tuple[str, ...],
        Meta(
            description="Of a snapshot: dotted paths of the arrays whose elements are the messages. Empty: the "
            "document is the array. Example: ['messages']."
        ),
    ] = ()
    table: Annotated[str, Meta(description="Of a database: the table with one row a message; no other is read.")] = ""
    order: Annotated[
        tuple[str, ...], Meta(description="Of a database: the columns that put the rows of a session in order.")
    ] = ("rowid",)
    json: Annotated[
        tuple[str, ...], Meta(description="Of a database: the columns that hold JSON; paths go on inside them.")
    ] = ()
    role: Annotated[str, Meta(description="Dotted path of what says who speaks. Example: 'message.role'.")] = "role"
    text: Annotated[str, Meta(description="Path of what was said: a text, or a list of content blocks.")] = "content"
    thinking: Annotated[str, Meta(description="Path of the model's reasoning.")] = ""
    time: Annotated[str, Meta(description="Path of the time: ISO 8601, or seconds, milliseconds or microseconds.")] = (
        "timestamp"
    )
    id: Annotated[
        str,
        Meta(
            description="Path of what names a message in its session, where no two have the same and it stays when "
            "the message is written again. Empty: messages are named by their content."
        ),
    ] = ""
    session: Annotated[
        str,
        Meta(description="Path of the session's name, of a database its column. Empty: each file is one session."),
    ] = ""
    cwd: Annotated[str, Meta(description="Path of the folder that the agent works in.")] = "cwd"
    model: Annotated[str, Meta(description="Path of the model's name.")] = "model"
    tool_name: Annotated[str, Meta(description="Path of a tool's name, in the records that call one.")] = ""
    tool_arguments: Annotated[str, Meta(description="Path of a call's arguments.")] = ""
    tool_call: Annotated[str, Meta(description="Path of what joins a call and its result.")] = ""
    tool_result: Annotated[
        str, Meta(description="Path of what a tool gave back, where that is not the text of a tool's message.")
    ] = ""
    tool_ok: Annotated[
        str, Meta(description="Path of how a tool ended: true or false, or an exit code, where 0 is good.")
    ] = ""
    user_roles: Annotated[tuple[str, ...], Meta(description="How the role is written where a person speaks.")] = (
        "user", "human",
    )  # fmt: skip
    assistant_roles: Annotated[tuple[str, ...], Meta(description="How it is written where the model speaks.")] = (
        "assistant", "ai", "model", "agent",
    )  # fmt: skip
    system_roles: Annotated[tuple[str, ...], Meta(description="How it is written for instructions.")] = (
        "system", "developer",
    )  # fmt: skip
    tool_roles: Annotated[tuple[str, ...], Meta(description="How it is written where a tool answers.")] = (
        "tool", "function",
    )  # fmt: skip
    skip: Annotated[
        tuple[str, ...],
        Meta(description="Paths that say nothing of their own: kept in the archive, neither shown nor searched."),
    ] = ("id",)


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one agent."""

    enabled: Annotated[
        bool, Meta(description="Whether this agent's sessions are ingested. Off keeps what is stored.")
    ] = True
    roots: Annotated[
        tuple[str, ...],
        Meta(
            description="Further folders to read beside the agent's own: another home of the agent (a mounted volume, "
            "another account) or any folder of its transcripts. `~` and `$NAME` are expanded. "
            "Example: ['~/.agent-at-work', '/mnt/laptop/home/me/.agent']."
        ),
    ] = ()
    variables: Annotated[
        dict[str, str],
        Meta(
            description="Values that replace the agent's own environment variables, such as the one that names its "
            "home. `~` and `$NAME` are expanded. Example: { AGENT_HOME = '$HOME/work/.agent' }."
        ),
    ] = {}
    format: Annotated[
        FormatConfig | None,
        Meta(
            description="Of an agent that Recollect has no parser for: how it writes; `roots` then says where. See "
            "`recollect help add-an-agent`."
        ),
    ] = None


class ReposConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How repositories are grouped."""

    domains: Annotated[
        dict[str, str],
        Meta(
            description="The domain of a repository, by its name; sessions carry both. Example: { shop-api = 'shop' }."
        ),
    ] = {}


class SearchConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Defaults of searching."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="Hits shown where a search names no limit (hits).")] = 10


class EmbeddingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes vectors for the search by meaning, see `recollect help search-by-meaning`. Nothing leaves the machine
    unless `api` is set."""

    model: Annotated[
        str,
        Meta(
            min_length=1,
            description="'builtin': the one in the package. 'off': search by words alone. A folder: a stronger model "
            "on this machine. With `api`: the name of the served model. Example: '~/models/potion-base-32M'.",
        ),
    ] = "builtin"
    api: Annotated[
        Literal["", "openai", "ollama"],
        Meta(
            description="How a server is asked for vectors: as OpenAI's `/embeddings` (many others understand that) or "
            "as Ollama's `/api/embed`. The redacted text of messages is sent to it. Empty: no server."
        ),
    ] = ""
    url: Annotated[
        str,
        Meta(
            description="Address of the server, without the call's own path. Empty: 'http://127.0.0.1:11434' for "
            "ollama; openai needs one. Example: 'https://api.openai.com/v1'."
        ),
    ] = ""
    key_variable: Annotated[
        str,
        Meta(description="Environment variable that holds the server's key; the key itself is never written here."),
    ] = ""
    dimensions: Annotated[
        int,
        Meta(
            ge=0, le=4096, description="Length of the vectors (numbers). 0: what the model gives; else it is asked for."
        ),
    ] = 0
    timeout_s: Annotated[
        int, Meta(ge=1, le=600, description="How long one call to the server may take in all (seconds).")
    ] = 30
    contextual: Annotated[
        bool,
        Meta(
            description="Whether the best hits of a question are put in order by a contextual model "
            "(all-MiniLM-L6-v2), where the extra `models` is installed and `model` is 'builtin'."
        ),
    ] = True
    at_once: Annotated[
        int,
        Meta(
            ge=0,
            le=50,
            description="How many passages without vectors are read while a question waits (about 35 ms each).",
        ),
    ] = 6
    in_background: Annotated[
        bool,
        Meta(
            description="Whether `sync` and `up --once` start the making of missing vectors when they are done. Off: "
            "`recollect embed` makes them."
        ),
    ] = True


class ContextConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What agents are given by hooks, see `recollect help context`."""

    budget_tokens: Annotated[
        int,
        Meta(
            ge=100, le=20_000, description="How long a block may be (LLM tokens, estimated so that it is never more)."
        ),
    ] = 1200
    per_prompt: Annotated[
        bool,
        Meta(description="Whether a prompt is answered with what the memory surely has about it. Off: only searches."),
    ] = False
    soul_file: Annotated[
        str,
        Meta(
            description="A text that leads every session's start, verbatim up to a limit: who the agent is to be. "
            "Empty: `soul.md` in the home. `~` and `$NAME` are expanded."
        ),
    ] = ""
    user_file: Annotated[
        str,
        Meta(
            description="A text about the person, given after it; confirmed preferences are kept in its marked part. "
            "Empty: `user.md` in the home."
        ),
    ] = ""


class DistillConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When and how sessions are analysed, see `recollect help insights`."""

    enabled: Annotated[
        bool,
        Meta(
            description="Whether `sync` and `up` analyse sessions that have ended: digests, signals, decisions. Off: "
            "what was found stays, and nothing is added."
        ),
    ] = True
    ranked: Annotated[
        bool,
        Meta(
            description="Whether learned weights find decisions and learnings that no rule finds, marked `ranked`, and "
            "refuse corrections that a rule misunderstands. Off: rules alone; sessions are read again."
        ),
    ] = True
    idle_seconds: Annotated[
        int,
        Meta(
            ge=0, le=604_800,
            description="A session in which nothing happened for so long is analysed also where its end is not written "
            "(seconds).",
        ),
    ] = 300  # fmt: skip
    task_patterns: Annotated[
        tuple[str, ...],
        Meta(
            description="Regular expressions that find the task a session worked on, in branch, title, first prompt, "
            "commits and paths: groups named `repo` and `number` make `repo#number`, `number` alone `#number`, else "
            "the whole match is it. They are tried before those that ship. Example: ['OPS-\\d+']."
        ),
    ] = ()


class GateRuleConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule for what may be a decision. One with the id of a shipped rule replaces it."""

    id: Annotated[str, Meta(min_length=1, description="Names the rule. Example: 'own.rfc'.")]
    category: Annotated[
        Literal["choice", "rejection", "ban", "preference", "reversal", "rule", "confirmation"],
        Meta(description="What the words do."),
    ] = "choice"
    pattern: Annotated[
        str,
        Meta(
            description="Regular expression, in any case, in what a person or the model says. Empty: takes the shipped "
            "rule of that id out."
        ),
    ] = ""
    strength: Annotated[
        Literal["strong", "soft"], Meta(description="soft: needs further words beside it to be a decision.")
    ] = "strong"


class GateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be a decision."""

    rules: Annotated[
        tuple[GateRuleConfig, ...],
        Meta(
            description="`[[gate.rules]]`: rules beside those that ship, or in their place (`recollect help insights`)."
        ),
    ] = ()


class InfraConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as infrastructure in reports."""

    tools: Annotated[
        tuple[str, ...],
        Meta(
            description="Tools, as the agent names them (`*` stands for any characters), whose calls are overhead "
            "rather than work. Example: ['mcp__*', 'ToolSearch']."
        ),
    ] = ("mcp__*", "mcp_*", "use_mcp_tool", "access_mcp_resource")


class IngestConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How sources are ingested."""

    workers: Annotated[
        int, Meta(ge=0, le=256, description="Worker processes that parse and redact (processes). 0: one per core.")
    ] = 0
    slice_bytes: Annotated[
        int,
        Meta(
            ge=64 * KIB,
            le=64 * MIB,
            description="How much of a source a worker takes at a time (bytes). Bounds memory, not sources.",
        ),
    ] = 4 * MIB
    min_messages: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="Sessions with fewer messages of you and the model are archived, but not indexed. 0: all are. "
            "Counts for `sync`, `up` and `import`; exports of conversations are always indexed.",
        ),
    ] = 0
    folders: Annotated[
        tuple[str, ...],
        Meta(
            description="Folders with transcripts of any agents, in any layout; each file is told by its content. Read "
            "at every sync; what belongs to no known agent is listed by `recollect doctor`. Example: "
            "['~/old-transcripts']."
        ),
    ] = ()


class SecretPatternConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a secret of one's own looks like."""

    name: Annotated[
        str,
        Meta(
            min_length=1,
            description="Names its kind in the marker: lower-case letters, digits and `_`, at most 40. "
            "Example: 'acme_key'.",
        ),
    ]
    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            description="Regular expression of the secret; of one with a group named `secret`, that alone is it. "
            "One with three or more fixed characters costs least. Example: 'acme_[0-9a-f]{32}'.",
        ),
    ]


class PrivacyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is secret, see `recollect help privacy`. After a change, the next sync redacts
    everything again."""

    patterns: Annotated[
        tuple[SecretPatternConfig, ...],
        Meta(description="Secrets beside those that are known: `[[privacy.patterns]]` tables."),
    ] = ()
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="What is no secret though it looks like one: values, or regular expressions that the whole of "
            "it must match. Example: ['AKIA[A-Z0-9]*EXAMPLE', 'hunter2-for-tests']."
        ),
    ] = ()
    exclude_repos: Annotated[
        tuple[str, ...],
        Meta(
            description="Repositories of which nothing is kept: names, or folders where there is a `/`; `*` stands for "
            "any characters. Example: ['payroll', '~/clients/*']."
        ),
    ] = ()


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration. `Config()` is what an empty or missing file gives."""

    agents: Annotated[
        dict[str, AgentConfig],
        Meta(description="One table per agent, named by its slug (`recollect agents` lists them)."),
    ] = {}
    repos: Annotated[ReposConfig, Meta(description="How repositories are grouped.")] = ReposConfig()
    search: Annotated[SearchConfig, Meta(description="Defaults of searching.")] = SearchConfig()
    embedding: Annotated[EmbeddingConfig, Meta(description="What makes vectors for the search by meaning.")] = (
        EmbeddingConfig()
    )
    context: Annotated[ContextConfig, Meta(description="What agents are given by hooks.")] = ContextConfig()
    ingest: Annotated[IngestConfig, Meta(description="How sources are ingested.")] = IngestConfig()
    daemon: Annotated[DaemonConfig, Meta(description="The process that keeps the memory fresh.")] = DaemonConfig()
    distill: Annotated[DistillConfig, Meta(description="When and how sessions are analysed.")] = DistillConfig()
    gate: Annotated[GateConfig, Meta(description="What may be a decision.")] = GateConfig()
    learning: Annotated[LearningConfig, Meta(description="What is learned of sessions.")] = LearningConfig()
    documents: Annotated[DocumentsConfig, Meta(description="Which files of a project are documents.")] = (
        DocumentsConfig()
    )
    mcp: Annotated[McpConfig, Meta(description="What agents may do over MCP.")] = McpConfig()
    infra: Annotated[InfraConfig, Meta(description="What counts as infrastructure in reports.")] = InfraConfig()
    privacy: Annotated[PrivacyConfig, Meta(description="What is secret and what is not kept.")] = PrivacyConfig()
    retention: Annotated[RetentionConfig, Meta(description="What is kept how long.")] = RetentionConfig()
    notify: Annotated[NotifyConfig, Meta(description="Who is told of what should not wait.")] = NotifyConfig()

    def agent(self, slug: str) -> AgentConfig:
        """Return the settings of one agent; the defaults where the file has none."""
        return self.agents.get(slug, DEFAULT_AGENT)

    def formats(self) -> dict[str, dict[str, Any]]:
        """Return the formats that are described here, by slug, as plain values."""
        described = {slug: a.format for slug, a in self.agents.items() if a.format is not None}
        return {slug: msgspec.to_builtins(found) for slug, found in described.items()}


DEFAULT_AGENT = AgentConfig()
