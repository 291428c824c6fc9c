"""The configuration: one typed structure, and the only reader and writer of `config.toml`.

Every field carries its own text, from which the reference (`config_reference`, docs/configuration.md) is made.
An unknown key or a wrong value is a `ConfigError` that names the key; nothing is silently ignored.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import Meta
from msgspec.inspect import (
    BoolType,
    DictType,
    IntType,
    LiteralType,
    Metadata,
    NoneType,
    StrType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from recollect.errors import ConfigError
from recollect.paths import config_file

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
        bool, Meta(description="Whether this agent's sessions are taken in. Off keeps what is stored.")
    ] = True
    roots: Annotated[
        tuple[str, ...],
        Meta(
            description="Further folders to read beside the agent's own: another home of the agent (a mounted volume, "
            "another account) or any folder of its transcripts. `~` and `$NAME` are expanded. "
            "Example: ['~/.codex-work', '/mnt/laptop/home/me/.codex']."
        ),
    ] = ()
    variables: Annotated[
        dict[str, str],
        Meta(
            description="Values that replace the agent's own environment variables, such as the one that names its "
            "home. `~` and `$NAME` are expanded. Example: { CODEX_HOME = '$HOME/work/.codex' }."
        ),
    ] = {}
    format: Annotated[
        FormatConfig | None,
        Meta(
            description="Of an agent that Recollect has no parser for: how it writes; `roots` then says where. See "
            "docs/adding-an-agent.md."
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
    """What makes vectors for the search by meaning, see docs/embedding.md. Nothing leaves the machine unless `api` is
    set."""

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
        Meta(description="Environment variable that holds the server's key; the key itself never stands here."),
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
    in_background: Annotated[
        bool,
        Meta(
            description="Whether `sync` and `up --once` start the making of missing vectors when they are done. Off: "
            "`recollect embed` makes them."
        ),
    ] = True


class ContextConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What agents are given by hooks, see docs/context.md."""

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


class DistillConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When and how sessions are analysed, see docs/distill.md."""

    enabled: Annotated[
        bool,
        Meta(
            description="Whether `sync` and `up` analyse sessions that have ended: digests, signals, decisions. Off: "
            "what was found stays, and nothing is added."
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
            "the whole match is it. Empty: those that ship. Example: ['OPS-\\d+']."
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
        Meta(description="Rules beside those that ship, or in their place (docs/distill.md): `[[gate.rules]]` tables."),
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
    """How sources are taken in."""

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
    folders: Annotated[
        tuple[str, ...],
        Meta(
            description="Folders with transcripts of any agents, in any layout; each file is told by its content. Read "
            "at every sync; what is of no known agent is listed by `recollect doctor`. Example: ['~/old-transcripts']."
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
    ingest: Annotated[IngestConfig, Meta(description="How sources are taken in.")] = IngestConfig()
    distill: Annotated[DistillConfig, Meta(description="When and how sessions are analysed.")] = DistillConfig()
    gate: Annotated[GateConfig, Meta(description="What may be a decision.")] = GateConfig()
    infra: Annotated[InfraConfig, Meta(description="What counts as infrastructure in reports.")] = InfraConfig()

    def agent(self, slug: str) -> AgentConfig:
        """Return the settings of one agent; the defaults where the file has none."""
        return self.agents.get(slug, _DEFAULT_AGENT)

    def formats(self) -> dict[str, dict[str, Any]]:
        """Return the formats that are described here, by slug, as plain values."""
        described = {slug: a.format for slug, a in self.agents.items() if a.format is not None}
        return {slug: msgspec.to_builtins(found) for slug, found in described.items()}


_DEFAULT_AGENT = AgentConfig()


def load_config(path: Path | None = None) -> Config:
    """Read a configuration file, by default the user's own. A missing file gives the defaults.

    Raises:
        ConfigError: unreadable, not TOML, an unknown key (the nearest known one is named) or a wrong value
            (`key` is its dotted path, `allowed` says what may stand there).
    """
    where = config_file() if path is None else path
    try:
        text = where.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where} is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise ConfigError(f"cannot read {where}: {error.strerror or error}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{where} is not valid TOML: {error}", hint="strings need quotes; see `recollect config --reference`"
        ) from error
    return parse_config(table, where=str(where))


def parse_config(table: dict[str, Any], *, where: str = "the configuration") -> Config:
    """Return the typed configuration of a decoded TOML table. Raises ConfigError; `where` names the file in it."""
    info = type_info(Config)
    for path, known in _unknown_keys(table, info, ()):
        near = tuple(difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5))
        guess = f"; did you mean `{_dotted((*path[:-1], near[0]))}`?" if near else ""
        raise ConfigError(
            f"{where}: unknown key `{_dotted(path)}`{guess}",
            key=_dotted(path),
            allowed=known,
            hint=f"known here: {', '.join(known)}",
        )
    try:
        return msgspec.convert(table, Config, strict=True)
    except msgspec.ValidationError as error:
        path, value, allowed = _wrong_value(table, info)
        raise ConfigError(
            f"{where}: `{_dotted(path)}` must be {allowed}, not {_shown(value)}",
            key=_dotted(path),
            allowed=(allowed,),
            hint="`recollect config --reference` shows every key with its default",
        ) from error


def config_reference() -> str:
    """Return every key as documented TOML with its default; loading it gives exactly the defaults."""
    head = "# Recollect's configuration. Every key is optional; the values shown are the defaults.\n"
    return head + "\n" + config_toml(Config(), with_docs=True)


def config_toml(config: Config, *, with_docs: bool = False) -> str:
    """Return a configuration as TOML that loads to the same value."""
    lines: list[str] = []
    for name, hint in get_type_hints(Config, include_extras=True).items():
        value = getattr(config, name)
        if lines:
            lines.append("")
        if with_docs:
            lines += _doc_lines(hint)
        if isinstance(value, dict):
            if not value and with_docs:
                lines += _as_comments(_table(f"{name}.SLUG", _DEFAULT_AGENT, with_docs))
            for key, entry in value.items():
                lines += ["", *_table(f"{name}.{_bare(key)}", entry, with_docs)]
        else:
            lines += _table(name, value, with_docs)
    return "\n".join(lines).strip() + "\n"


def _table(name: str, value: msgspec.Struct, with_docs: bool) -> list[str]:
    """Return a table, then the tables in it. One that is not set is shown as comments, where there are any."""
    lines = [f"[{name}]"]
    inner: list[str] = []
    for key, hint in get_type_hints(type(value), include_extras=True).items():
        docs = _doc_lines(hint) if with_docs else []
        field = getattr(value, key)
        kind = _plain(type_info(hint))
        tables = _tables_in(kind)
        if tables is not None:
            inner += docs
            if not field and with_docs:
                inner += _as_comments(_listed(f"{name}.{key}", _example_of(tables), with_docs))
            for entry in field:
                inner += _listed(f"{name}.{key}", entry, with_docs)
        elif not isinstance(kind, StructType):
            lines += [*docs, f"{key} = {_literal(field)}"]
        elif field is not None:
            inner += [*docs, *_table(f"{name}.{key}", field, with_docs)]
        elif with_docs:
            inner += [*docs, *_as_comments(_table(f"{name}.{key}", kind.cls(), with_docs))]
    return lines + inner


def _listed(name: str, value: msgspec.Struct, with_docs: bool) -> list[str]:
    """Return a table of a list of tables."""
    return [f"[[{name}]]", *_table(name, value, with_docs)[1:]]


def _tables_in(kind: Type) -> StructType | None:
    """Return the type of the tables in a list of tables, None for anything else."""
    item = _plain(kind.item_type) if isinstance(kind, VarTupleType) else None
    return item if isinstance(item, StructType) else None


def _example_of(kind: StructType) -> msgspec.Struct:
    """Return a table to show: its defaults, and an empty text for what must be given."""
    example: msgspec.Struct = kind.cls(**{field.name: "" for field in kind.fields if field.required})
    return example


def _as_comments(lines: list[str]) -> list[str]:
    return [line if line.startswith("#") else f"# {line}" for line in lines]


def _doc_lines(hint: Any) -> list[str]:
    """Return the comment lines of a field: its text, then what is allowed."""
    info = type_info(hint)
    text = next((m.description or "" for m in getattr(hint, "__metadata__", ()) if isinstance(m, Meta)), "")
    inner = _plain(info)
    is_table = isinstance(inner, StructType) or _tables_in(inner) is not None
    if not is_table and not (isinstance(inner, DictType) and isinstance(inner.value_type, StructType)):
        text += f" Allowed: {_allowed(inner)}."
    words, lines = text.split(), ["#"]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > 110:
            lines.append("#")
        lines[-1] += f" {word}"
    return lines


def _bare(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _literal(key)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's; only DEL is allowed bare in one and not in the other.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_bare(k)} = {_literal(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_literal(v) for v in value) + "]"
    return str(value)


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(_bare(p) for p in path)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a table"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def _plain(info: Type) -> Type:
    """Return the type itself: without its text, and of one that may be left out the type where it is there."""
    if isinstance(info, Metadata):
        return _plain(info.type)
    if isinstance(info, UnionType):
        return next(kind for kind in info.types if not isinstance(kind, NoneType))
    return info


def _members(value: Any, info: Type) -> Iterator[tuple[str, Any, Type]]:
    """Give (key, value, type) of the known members of a table; those of a list of tables are numbered from 1."""
    if isinstance(info, StructType) and isinstance(value, dict):
        for field in info.fields:
            if field.encode_name in value:
                yield field.encode_name, value[field.encode_name], _plain(field.type)
    elif isinstance(info, DictType) and isinstance(value, dict):
        for key, item in value.items():
            yield key, item, _plain(info.value_type)
    elif isinstance(value, list) and (table := _tables_in(info)) is not None:
        for number, item in enumerate(value, 1):
            yield str(number), item, table


def _unknown_keys(value: Any, info: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Give the path of every unknown key with the keys that are known in its place."""
    if isinstance(info, StructType) and isinstance(value, dict):
        known = tuple(f.encode_name for f in info.fields)
        yield from (((*path, key), known) for key in value if key not in known)
    for key, item, kind in _members(value, info):
        yield from _unknown_keys(item, kind, (*path, key))


def _wrong_value(value: Any, info: Type) -> tuple[tuple[str, ...], Any, str]:
    """Return (path, value, what is allowed) of the innermost part of a table that doesn't fit its type."""
    path: tuple[str, ...] = ()
    while True:
        for key, item, kind in _members(value, info):
            if not _fits(item, kind):
                path, value, info = (*path, key), item, kind
                break
        else:
            return path, value, _allowed(info)


def _fits(value: Any, info: Type) -> bool:
    match info:
        case BoolType():
            return isinstance(value, bool)
        case IntType(ge=low, le=high):
            whole = isinstance(value, int) and not isinstance(value, bool)
            return whole and (low is None or value >= low) and (high is None or value <= high)
        case StrType(min_length=least):
            return isinstance(value, str) and len(value) >= (least or 0)
        case LiteralType(values=values):
            return value in values
        case VarTupleType(item_type=item):
            return isinstance(value, list) and all(_fits(v, _plain(item)) for v in value)
        case StructType(fields=fields):
            whole = isinstance(value, dict) and all(field.encode_name in value for field in fields if field.required)
            return whole and all(_fits(v, kind) for _, v, kind in _members(value, info))
        case _:
            return isinstance(value, dict) and all(_fits(v, kind) for _, v, kind in _members(value, info))


def _allowed(info: Type) -> str:
    match info:
        case BoolType():
            return "true or false"
        case IntType(ge=low, le=high):
            return f"a whole number from {low} to {high}"
        case StrType(min_length=least):
            return "a string in quotes" + (", not empty" if least else "")
        case LiteralType(values=values):
            return "one of " + ", ".join(map(_literal, values))
        case VarTupleType(item_type=item):
            return f"a list, each item {_allowed(_plain(item))}"
        case DictType(value_type=item):
            return f"a table, each value {_allowed(_plain(item))}"
        case StructType(fields=fields) if needed := [f"`{field.encode_name}`" for field in fields if field.required]:
            return f"a table with {', '.join(needed)}"
        case _:
            return "a table"
