"""Tables of the configuration, one structure each. Every field has its default and, below it, its description and unit.

`recollect config` and the reference show these descriptions, see `config.toml.text_of`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta


class DaemonConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The process that watches, ingests and serves, see `recollect help freshness`."""

    http: bool = True
    """Let `recollect up` serve MCP (at `/mcp`) and the web page, on this machine only."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 4319
    """The port on 127.0.0.1. 0 means any free port; `recollect up --status` shows which."""
    watch: Literal["auto", "poll"] = "auto"
    """With 'auto', the operating system notifies the daemon of changes. Where it cannot (network file systems, too
    many folders), the daemon checks folders every 2 seconds. With 'poll', it checks all folders every 2 seconds."""
    rescan_seconds: Annotated[int, Meta(ge=10, le=86_400)] = 600
    """How often the daemon checks everything again, in case a notification was lost (seconds)."""


Price = Annotated[float, Meta(ge=0, le=100_000)] | Literal["listed"]


class LearningConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What sessions teach, see `recollect help learnings`. Without `provider` no model is asked and nothing leaves the
    machine."""

    enabled: bool = True
    """Let `sync` and `up` learn from sessions. If false, earlier learnings stay and no new ones are added."""
    provider: Literal["", "anthropic", "openai", "ollama"] = ""
    """The interface of a model that Recollect asks in addition to its rules: Anthropic's Messages, OpenAI's Chat
    Completions (many servers offer it) or Ollama's. Recollect sends redacted text of sessions to this model. If
    empty, no model is used."""
    model: str = ""
    """The model's name. If empty, a small model of Anthropic or OpenAI is used. Other servers need a name."""
    url: str = ""
    """The server's address, without the path of the call. If empty, the provider's usual address is used (for
    anthropic, `ANTHROPIC_BASE_URL` if it is set; for ollama, 'http://127.0.0.1:11434')."""
    key_variable: str = ""
    """The environment variable that contains the key. Do not write the key here. If empty, this is
    `ANTHROPIC_API_KEY` for anthropic and `OPENAI_API_KEY` for the address of OpenAI. Other servers then get no key."""
    timeout_s: Annotated[int, Meta(ge=1, le=600)] = 60
    """How long one whole call may take (seconds)."""
    session_budget_usd: Annotated[float, Meta(ge=0, le=100)] = 0.01
    """How much a model may cost for one session (US dollars)."""
    day_budget_usd: Annotated[float, Meta(ge=0, le=10_000)] = 0.25
    """How much a model may cost on one day, UTC (US dollars)."""
    day_budget_tokens: Annotated[int, Meta(ge=0)] = 1_000_000
    """How much text may be sent and received on one day, UTC, even if it is free (LLM tokens)."""
    input_usd_per_million: Price = "listed"
    """The price of the text that is sent (US dollars per million LLM tokens). 'listed' means the price in
    Recollect's price list. For a model that is not in the list, give a number, or 0 if the model is free. ollama is
    always free."""
    output_usd_per_million: Price = "listed"
    """The price of the model's answers, in the same unit. Set both prices to numbers, or neither."""
    action_days: Annotated[int, Meta(ge=1, le=3650)] = 14
    """How long an action stays pending if you give no other time (days)."""
    most_actions: Annotated[int, Meta(ge=1, le=1000)] = 20
    """How many actions of one repository can be pending (actions). If there are more, the least urgent and oldest
    are dropped."""


class McpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What agents may write over MCP."""

    writing_tools: bool = False
    """Give agents the tools that write: diary_write, diary_read, fact_add, fact_query, fact_invalidate, action_done."""


class DocumentsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which files of a project are documents, see `recollect help search-your-documents`."""

    include: tuple[str, ...] = ()
    """More files to treat as documents, in the syntax of .gitignore. Example: ['*.proto']."""
    exclude: tuple[str, ...] = ()
    """Files to leave out, in the syntax of .gitignore. This overrides `include`. Example: ['drafts/']."""
    max_file_bytes: Annotated[int, Meta(ge=1024, le=1 << 30)] = 4 * 1024 * 1024
    """Files larger than this are listed but not read (bytes)."""


GIB = 1 << 30
MOST_BYTES = 1 << 50
MOST_DAYS = 36_500


class RetentionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of what agents wrote is kept, and how long, see `recollect help retention`."""

    raw_soft_cap_bytes: Annotated[int, Meta(ge=0, le=MOST_BYTES)] = 4 * GIB
    """The soft limit for the archive and the stored text of events together (bytes). Above it, Recollect deletes
    the raw text of the oldest analysed sessions and keeps only what their digests and decisions cite."""
    raw_hard_cap_bytes: Annotated[int, Meta(ge=0, le=MOST_BYTES)] = 6 * GIB
    """The hard limit, which must not be below the soft one (bytes). Above it, Recollect analyses and evicts the
    remaining sessions. As the last resort, it also evicts the oldest sessions that cannot be analysed, and reports
    this as data loss."""
    raw_max_age_days: Annotated[int, Meta(ge=0, le=MOST_DAYS)] | Literal["never"] = 45
    """How long an analysed session is kept whole after its last event and its last ingestion (days). With 'never',
    only the two limits above apply."""
    distilled_cap_bytes: Annotated[int, Meta(ge=0, le=MOST_BYTES)] = GIB
    """Recollect warns you if digests, decisions and other derived data take more than this (bytes). It never deletes
    them."""
    cadence: Literal["daily", "weekly", "on-hook"] = "daily"
    """How often Recollect applies the limits: once a day, once a week, or after each sync that ingested something
    from a hook."""
    keep_gone: Literal["age", "always", "never"] = "age"
    """Whether to spare a session whose file the agent deleted, because the memory has the only copy. With 'age',
    such a session is spared from the age limit; with 'always', also from the other limits, except as the last
    resort; with 'never', it is not spared."""


class NotifyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that is told at once about data loss, too much derived data, and failures that persist."""

    command: tuple[str, ...] = ()
    """A program and its arguments, run without a shell. It gets one JSON object on standard input, at most once a
    day for each kind of problem. If empty, no program is run. Example: ['/usr/local/bin/tell-me', '--quiet']."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=60)] = 10
    """Recollect ends the program after this time (seconds)."""


KIB = 1024
MIB = 1024 * KIB


class FormatConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an agent writes that Recollect has no parser for. The defaults fit lines of `{role, content, timestamp}`.

    Content that no path names is kept and searchable as `unknown`.
    """

    name: str = ""
    """The agent's name. If empty, the slug is the name."""
    container: Literal["jsonl", "snapshot", "text", "sqlite"] = "jsonl"
    """What the agent writes: lines of JSON that it appends (jsonl), a JSON document that it rewrites (snapshot),
    text in which a line such as `User:` begins a message (text), or a database (sqlite)."""
    patterns: tuple[str, ...] = ("**/*.jsonl",)
    """The agent's files below `roots`. Recollect opens no other files. `*` matches within a folder, `**` across
    folders. Example: ['chats/*.json']."""
    exclude: tuple[str, ...] = ()
    """Files to leave out even if `patterns` matches them."""
    split: tuple[str, ...] = ()
    """For a snapshot: dotted paths of the arrays whose elements are the messages. If empty, the whole document is
    the array. Example: ['messages']."""
    table: str = ""
    """For a database: the table with one row for each message. No other table is read."""
    order: tuple[str, ...] = ("rowid",)
    """For a database: the columns that order the rows of a session."""
    json: tuple[str, ...] = ()
    """For a database: the columns that contain JSON. Paths can continue inside such a column."""
    role: str = "role"
    """Dotted path of the role. Example: 'message.role'."""
    text: str = "content"
    """Path of the message: a text, or a list of content blocks."""
    thinking: str = ""
    """Path of the model's reasoning."""
    time: str = "timestamp"
    """Path of the time: ISO 8601, seconds, milliseconds or microseconds."""
    id: str = ""
    """Path of a message id that is unique in its session and stays the same when the message is rewritten. If empty,
    a message is identified by its content."""
    session: str = ""
    """Path of the session's name; for a database, its column. If empty, each file is one session."""
    cwd: str = "cwd"
    """Path of the agent's working folder."""
    model: str = "model"
    """Path of the model's name."""
    tool_name: str = ""
    """Path of the tool's name in records that call a tool."""
    tool_arguments: str = ""
    """Path of the call's arguments."""
    tool_call: str = ""
    """Path of the id that links a call to its result."""
    tool_result: str = ""
    """Path of the tool's result, if it is not the text of a tool's message."""
    tool_ok: str = ""
    """Path of the value that says whether a call succeeded: true or false, or an exit code."""
    user_roles: tuple[str, ...] = ("user", "human")
    """Roles that stand for a person."""
    assistant_roles: tuple[str, ...] = ("assistant", "ai", "model", "agent")
    """Roles that stand for the model."""
    system_roles: tuple[str, ...] = ("system", "developer")
    """Roles that stand for instructions."""
    tool_roles: tuple[str, ...] = ("tool", "function")
    """Roles that stand for a tool's answer."""
    skip: tuple[str, ...] = ("id",)
    """Paths of values that mean nothing to a reader. They stay in the archive and are neither shown nor searched."""


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one agent."""

    enabled: bool = True
    """Ingest this agent's sessions. If false, sessions that are already stored stay."""
    roots: tuple[str, ...] = ()
    """More folders to read: another home of the agent (a mounted volume, another account) or any folder with its
    transcripts. `~` and `$NAME` are expanded. Example: ['~/.agent-at-work', '/mnt/laptop/home/me/.agent']."""
    variables: dict[str, str] = {}
    """Values that replace environment variables of the agent, such as the one that names its home. `~` and `$NAME`
    are expanded. Example: { AGENT_HOME = '$HOME/work/.agent' }."""
    format: FormatConfig | None = None
    """The format of an agent for which Recollect has no parser. `roots` says where the agent's files are. See
    `recollect help add-an-agent`."""


class ReposConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Groups of repositories."""

    domains: dict[str, str] = {}
    """The domain of each repository, by the repository's name. `recollect usage --by domain` groups sessions by it.
    Example: { shop-api = 'shop' }."""


class SearchConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Defaults for searches."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 10
    """How many hits a search shows if you give no limit (hits)."""


class EmbeddingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How vectors for the search by meaning are computed, see `recollect help search-by-meaning`. Nothing leaves the
    machine unless `api` is set."""

    model: Annotated[str, Meta(min_length=1)] = "builtin"
    """The model: 'builtin' is the one that comes with Recollect, 'off' searches by words only, and a path is the
    folder of a stronger model on this machine. If `api` is set, this is the name of a model on the server. Example:
    '~/models/potion-base-32M'."""
    api: Literal["", "openai", "ollama"] = ""
    """The interface of a server that computes vectors: OpenAI's `/embeddings` (many servers offer it) or Ollama's
    `/api/embed`. Recollect sends the redacted text of messages to this server. If empty, no server is used."""
    url: str = ""
    """The server's address, without the path of the call. If empty, 'http://127.0.0.1:11434' is used for ollama;
    openai needs an address. Example: 'https://api.openai.com/v1'."""
    key_variable: str = ""
    """The environment variable that contains the server's key. Do not write the key here."""
    dimensions: Annotated[int, Meta(ge=0, le=4096)] = 0
    """The length of the vectors to ask for (numbers). With 0, the model decides."""
    timeout_s: Annotated[int, Meta(ge=1, le=600)] = 30
    """How long one whole call to the server may take (seconds)."""
    contextual: bool = True
    """Use a contextual model (all-MiniLM-L6-v2) to help order the best hits of a question. This needs the extra
    `models` and `model = "builtin"`."""
    at_once: Annotated[int, Meta(ge=0, le=50)] = 6
    """For how many passages Recollect may compute missing vectors while you wait for an answer (about 35 ms each)."""
    in_background: bool = True
    """Let `sync` and `up --once` start a process that computes missing vectors. If false, run `recollect embed` to
    compute them."""


class ContextConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What hooks give to agents, see `recollect help context`."""

    budget_tokens: Annotated[int, Meta(ge=100, le=20_000)] = 1200
    """The maximum size of a block (LLM tokens; Recollect estimates their number)."""
    per_prompt: bool = False
    """Before each prompt, search the memory and give the agent the certain matches. If false, the agent has to
    search."""
    soul_file: str = ""
    """A file that says who the agent should be. Its text comes first at every session start, unchanged, but cut
    after 2,000 characters. If empty, `soul.md` in the home is used. `~` and `$NAME` are expanded."""
    user_file: str = ""
    """A file about you. Its text follows that of `soul_file`. Recollect writes your confirmed preferences into a
    marked part of the file. If empty, `user.md` in the home is used."""


class DistillConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When and how sessions are analysed, see `recollect help insights`."""

    enabled: bool = True
    """Let `sync` and `up` analyse sessions that have ended, which gives digests, signals and decisions. If false,
    earlier results stay and no new ones are added."""
    ranked: bool = True
    """Let learned weights find decisions and learnings that no rule finds (marked `ranked`), and reject sentences
    that a rule mistook for corrections. If you change this, sessions are analysed again."""
    idle_seconds: Annotated[int, Meta(ge=0, le=604_800)] = 300
    """Analyse a session that has been quiet for this long, even if its end is not recorded (seconds)."""
    task_patterns: tuple[str, ...] = ()
    """Regular expressions that find the task of a session in its branch, title, first prompt, commits and paths.
    Groups named `repo` and `number` give `repo#number`; a group `number` alone gives `#number`; otherwise the whole
    match is the task. Recollect tries these expressions before its own. Example: ['OPS-\\d+']."""


class GateRuleConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that finds decisions. One with the id of a shipped rule replaces it."""

    id: Annotated[str, Meta(min_length=1)]
    """The rule's name. Example: 'own.rfc'."""
    category: Literal["choice", "rejection", "ban", "preference", "reversal", "rule", "confirmation"] = "choice"
    """What a matching sentence expresses."""
    pattern: str = ""
    """A regular expression that ignores case, for what a person or the model says. If empty, the built-in rule with
    this id is switched off."""
    strength: Literal["strong", "soft"] = "strong"
    """A strong match is a decision. A soft match is a decision only with further evidence."""


class GateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules that find decisions."""

    rules: tuple[GateRuleConfig, ...] = ()
    """`[[gate.rules]]` adds rules to the built-in ones or replaces them (`recollect help insights`)."""


class InfraConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as infrastructure in reports."""

    tools: tuple[str, ...] = ("mcp__*", "mcp_*", "use_mcp_tool", "access_mcp_resource")
    """Tools whose calls count as overhead, not as work, by the names that agents give them. `*` stands for any
    characters. Example: ['mcp__*', 'ToolSearch']."""


class IngestConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How sources are ingested."""

    workers: Annotated[int, Meta(ge=0, le=256)] = 0
    """How many processes parse and redact (processes). 0 means one for each core."""
    slice_bytes: Annotated[int, Meta(ge=64 * KIB, le=64 * MIB)] = 4 * MIB
    """How much of a source a worker reads at a time (bytes). This limits the use of memory, but not the size of
    sources."""
    min_messages: Annotated[int, Meta(ge=0, le=1_000)] = 0
    """How many messages from you and the model a session needs before it is indexed. Recollect archives shorter
    sessions, but does not index them. With 0, all are indexed. This applies to `sync`, `up` and `import`, but not
    to exports of conversations, which are always indexed."""
    folders: tuple[str, ...] = ()
    """Folders with transcripts of any agents, in any layout. Recollect reads them at every sync and recognises each
    file by its content. `recollect doctor` lists the files that belong to no known agent. Example:
    ['~/old-transcripts']."""


class SecretPatternConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A secret of your own."""

    name: Annotated[str, Meta(min_length=1)]
    """The kind of secret, as the marker shows it: at most 40 lower-case letters, digits and `_`. Example:
    'acme_key'."""
    pattern: Annotated[str, Meta(min_length=1)]
    """A regular expression for the secret. If it has a group named `secret`, only that group is the secret.
    Expressions that contain three or more fixed characters are fastest. Example: 'acme_[0-9a-f]{32}'."""


class PrivacyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is secret, see `recollect help privacy`. After a change, the next sync redacts everything again."""

    patterns: tuple[SecretPatternConfig, ...] = ()
    """`[[privacy.patterns]]` adds kinds of secrets to the built-in ones."""
    allow: tuple[str, ...] = ()
    """Texts that look like secrets but are not: values, or regular expressions that match the whole value. Example:
    ['AKIA[A-Z0-9]*EXAMPLE', 'hunter2-for-tests']."""
    exclude_repos: tuple[str, ...] = ()
    """Repositories from which Recollect keeps nothing: names or, with a `/`, folders. `*` matches anything except a
    slash, and `**` matches anything. Example: ['payroll', '~/clients/*']."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration. `Config()` is what an empty or missing file gives."""

    agents: dict[str, AgentConfig] = {}
    """One table for each agent, named by its slug (`recollect agents` lists the slugs)."""
    repos: ReposConfig = ReposConfig()
    """Groups of repositories."""
    search: SearchConfig = SearchConfig()
    """Defaults for searches."""
    embedding: EmbeddingConfig = EmbeddingConfig()
    """How vectors for searching by meaning are computed."""
    context: ContextConfig = ContextConfig()
    """What hooks give to agents."""
    ingest: IngestConfig = IngestConfig()
    """How sources are ingested."""
    daemon: DaemonConfig = DaemonConfig()
    """The process that keeps the memory fresh."""
    distill: DistillConfig = DistillConfig()
    """When and how sessions are analysed."""
    gate: GateConfig = GateConfig()
    """Rules that find decisions."""
    learning: LearningConfig = LearningConfig()
    """What Recollect learns from sessions."""
    documents: DocumentsConfig = DocumentsConfig()
    """Which files of a project are documents."""
    mcp: McpConfig = McpConfig()
    """What agents may write over MCP."""
    infra: InfraConfig = InfraConfig()
    """What counts as infrastructure in reports."""
    privacy: PrivacyConfig = PrivacyConfig()
    """What to redact, and what to keep out."""
    retention: RetentionConfig = RetentionConfig()
    """How much is kept, and how long."""
    notify: NotifyConfig = NotifyConfig()
    """A program that Recollect runs when there is a problem."""

    def agent(self, slug: str) -> AgentConfig:
        """Return the settings of one agent; the defaults where the file has none."""
        return self.agents.get(slug, DEFAULT_AGENT)

    def formats(self) -> dict[str, dict[str, Any]]:
        """Return the formats that are described here, by slug, as plain values."""
        described = {slug: a.format for slug, a in self.agents.items() if a.format is not None}
        return {slug: msgspec.to_builtins(found) for slug, found in described.items()}


DEFAULT_AGENT = AgentConfig()
