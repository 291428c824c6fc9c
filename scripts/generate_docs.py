"""Write what is made from the code: facts and names of agents, the pages about them, command line, configuration.

`--check` writes nothing and exits 1 when a page is not what the code says.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path

import click

from recollect.agent_names import letters
from recollect.agents.facts import (
    FIELDS_INDEX,
    INDEX,
    described_agents,
    install_table,
    written_entry,
    written_fields,
)
from recollect.agents.install.contract import FilePlace, Hooks, Install, Mcp, OwnFile, Platform, Unsupported
from recollect.agents.install.described import installs
from recollect.agents.registry import adapter, adapters
from recollect.cli.commands.config import pages as help_pages
from recollect.cli.groups import Noun
from recollect.cli.main import group
from recollect.config import config_reference
from recollect.model.capabilities import AgentFacts, Place, Root
from recollect.model.own import SERVER
from recollect.verbs import GROUPS, VERBS

ROOT = Path(__file__).resolve().parent.parent
HEADER = "<!-- Written by `make docs` from the code; don't edit. -->"
READS = "This page shows what each agent records and what Recollect reads. `recollect agents` lists your agents."
CONFIGURATION_HEAD = f"""\
# Configuration

{HEADER}

Recollect works without a configuration. To change a setting, add it to `config.toml`:

```sh
recollect config --path        # print the path of the file
recollect config               # print the settings in force
recollect config --reference   # print every key with its description, ready to edit
```

The file is in the platform's configuration directory, or in `RECOLLECT_HOME` if that is set. If a key is unknown or its
value is wrong, you get an error that names the key. Recollect also reads these environment variables:

| variable | effect |
|---|---|
| `RECOLLECT_HOME` | the folder for the memory and its configuration |
| `HELIX_STORE_DB` | the path of a `memory.db`. The folder of this file is the home, unless `RECOLLECT_HOME` is set |
| `RECOLLECT_BACKGROUND` | if `0`, no command leaves another process running ([why](../how-to/search-by-meaning.md)) |
| `RECOLLECT_SYNC_PASSPHRASE` | the passphrase for `recollect sync-folder` |
| `RECOLLECT_TEAM_DATABASE` | the database for `recollect team`; its password then stays out of the process list |
| `NO_COLOR` | if set, output has no colours |
| those of agents, such as `CLAUDE_CONFIG_DIR` | where the agent keeps its files; `variables` below overrides them |

A memory can contain several homes of one agent, such as a second account or a mounted volume:

```toml
[agents.claude]
roots = ["~/.claude-work", "/mnt/laptop/.claude"]

[agents.codex]
variables = {{ CODEX_HOME = "$HOME/work/.codex" }}
```

Each heading below names a key with its table: `search.limit` is the key `limit` in the table `[search]`.
"""

SETUP_HEAD = f"""\
# Setup

{HEADER}

`recollect setup AGENT` gives an agent access to your memory ([Set up an agent](../how-to/set-up-an-agent.md)). For each
agent, this page says what setup writes, how to check it, and what the agent does not allow.

```sh
recollect setup claude --dry-run --diff    # shows every line that would be written
```

- Setup adds entries with the name `recollect` to the files below and keeps everything else. If the table names a
  command and the agent's program is installed, setup registers the server with that command.
- The tables show the usual folders. A variable such as `CLAUDE_CONFIG_DIR` or `CODEX_HOME`, or another edition of the
  agent, can move them.
- `recollect doctor` checks whether every part is still there and starts, and whether events arrive.
- If an agent accepts no context from hooks, it still has the tools and the skill.
- `--disable-native-memory` turns off the agent's own memory, which also adds text to sessions.
- `--remove` restores every file byte for byte. If you have changed a file since then, setup removes only its
  own entries from this file. A skill that several agents share stays until you remove the last of them.
"""
_ELSEWHERE: dict[Platform, str] = {"linux": "", "macos": "on macOS ", "windows": "on Windows "}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    titles = list(head)
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    return lines + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]


def agents_page() -> str:
    """Return docs/reference/agents.md."""
    known = [a.facts for a in adapters().values()]
    claims = ("timestamps", "usage", "thinking", "edits", "lineage", "session_end")
    lines = ["# Agents", "", HEADER, "", READS, ""]
    lines += table(
        ("agent", "slug", "container", "history", *(c.replace("_", " ") for c in claims), "verified", "by"),
        (
            (
                f.name, f"`{f.slug}`", f.capabilities.container,
                "rewritten" if f.capabilities.rewrites_history else "append",
                *(str(getattr(f.capabilities, c)) for c in claims), verified(f), f.capabilities.verified_by,
            )
            for f in known
        ),
    )  # fmt: skip
    lines += [
        "",
        "Is your agent missing? [Add it](../how-to/add-an-agent.md).",
        "",
        "The columns from `timestamps` to `session end` say how much the agent records:",
        "",
        "- **exact**: The agent writes it.",
        "- **partly**: The agent writes it only sometimes, or Recollect has to infer it.",
        "- **no**: The agent does not write it.",
        "",
        "The last column names the best evidence that we tested the adapter with:",
        "",
        "- **recording**: transcripts of real work",
        "- **capture**: test transcripts of the agent, or sanitised or trimmed ones",
        "- **source**: types or a schema that the maker of the agent publishes",
        "- **documentation**: descriptions, and tests of programs that read the format; trust these adapters less",
    ]
    for facts in known:
        lines += ["", *section(facts)]
    return "\n".join(lines) + "\n"


def verified(facts: AgentFacts) -> str:
    """Return the agent version that the facts were checked against, and when."""
    return f"{facts.capabilities.verified_version}, {facts.capabilities.verified_on}"


def section(facts: AgentFacts) -> list[str]:
    """Return the lines about one agent."""
    c = facts.capabilities
    lines = [f"## {facts.name}", "", c.notes, ""]
    lines += [f"- Slug `{facts.slug}`" + (f", also written {code(facts.aliases)}." if facts.aliases else ".")]
    lines += [f"- Root: {root_line(root)}." for root in facts.roots]
    if facts.is_per_repository:
        lines.append("- Recollect also looks in the folders that stored sessions worked in.")
    if facts.is_import_only:
        lines.append("- Only `recollect import` reads these files. You name them.")
    lines += [
        f"- History: {'may be rewritten' if c.rewrites_history else 'append-only'}.",
        f"- Source of token counts: {c.usage_authority}.",
        f"- Event kinds: {code(c.kinds)}.",
        f"- Parser version {facts.parser_version}. Evidence: {c.evidence}.",
        "",
        *table(("what", "files below the root", "container", "lane"), (place_row(p) for p in facts.places)),
    ]
    return lines


def setup_page() -> str:
    """Return docs/reference/setup.md."""
    lines = (line for install in installs().values() for line in setup_section(install))
    return with_links("\n".join([SETUP_HEAD, *lines]))


def setup_section(install: Install) -> list[str]:
    """Return the lines about the set-up of one agent."""
    facts = adapter(install.slug).facts
    sources = ", ".join(f"[{at}]({source.url})" for at, source in enumerate(install.sources, 1))
    lines = [f"## {facts.name}", "", f"Set up with `recollect setup {install.slug}`.", ""]
    lines += [*table(("what", "where"), written_parts(install)), "", *(f"- {one}" for one in setup_notes(install))]
    if facts.keeps_sessions:
        lines.append(
            f"- {facts.name} keeps only {facts.keeps_sessions} sessions. `recollect up` ingests them while they exist."
        )
    version = install.verified_version
    checked = "against the" if version.startswith("documentation") else f"with {facts.name}"
    return [*lines, f"- Verified {checked} {version} ({sources}).", ""]


def written_parts(install: Install) -> Iterator[tuple[str, str]]:
    """Yield what is written for an agent, and where."""
    if isinstance(install.mcp, Mcp):
        words = install_table(install.slug)["mcp"].get("add", ())
        named = list(takewhile(lambda word: word[0] not in "-{" and word != SERVER, words))
        by = f", by {code([' '.join((install.executables[0], *named))])}" if named else ""
        yield "MCP server", place_line(install.mcp.file.place) + by
    if isinstance(install.hooks, Hooks):
        events = dict.fromkeys(event.event for event in install.hooks.events)
        yield "hooks", f"{place_line(install.hooks.part.place)}: {code(events)}"
    if isinstance(install.skill, OwnFile):
        yield "skill", place_line(install.skill.place)


def setup_notes(install: Install) -> Iterator[str]:
    """Yield what a person must do, how to check it, and what the agent does not allow."""
    hooks = install.hooks
    if isinstance(hooks, Hooks) and hooks.trust is not None:
        yield f"**{hooks.trust.step}**"
    yield from install.steps
    yield from (part.reason for part in (install.mcp, hooks) if isinstance(part, Unsupported))
    if isinstance(hooks, Hooks):
        yield from filter(None, (hooks.note,))
        for switch in hooks.switches:
            setting = f"{'.'.join(switch.path)} = {json.dumps(switch.off)}"
            yield f"`{setting}` in `{switch.place.names[0]}` turns the hooks off."
    yield from (read.note for read in install.cross_reads)
    for memory in install.native_memory:
        line = f"`{' '.join(memory.line.split())}` in `{memory.place.names[0]}`"
        state = "on by default. To turn it off," if memory.default_on else "off by default. If you turned it on,"
        state += f" set {line}" if memory.default_on else f" turn it off with {line}"
        yield f"The agent's own memory ({memory.name}) is {state}."


def place_line(place: FilePlace) -> str:
    """Return where a file usually is, also on platforms where it is elsewhere."""
    usual = {platform: usual_paths(place, platform) for platform in _ELSEWHERE}
    others = (f"{_ELSEWHERE[name]}{paths}" for name, paths in usual.items() if paths != usual["linux"])
    return "; ".join((usual["linux"], *others))


def usual_paths(place: FilePlace, platform: Platform) -> str:
    """Return the paths of a file in its usual folder on a platform."""
    folder = next(
        path for path in place.folder.templates(platform) if path.startswith(("~", "$APPDATA", "$LOCALAPPDATA"))
    )
    return " or ".join(f"`{folder}/{name}`" for name in place.names)


def root_line(root: Root) -> str:
    """Return where an agent keeps its data, as people write paths."""
    below = f"/{root.below}" if root.below else ""
    if root.is_database:
        return f"the database that `${root.variable}` names, if it is set"
    default = f"`~/{root.default}{below}`" if root.default else f"`~{below}`"
    return f"`${root.variable}{below}`, else {default}" if root.variable else default


def place_row(place: Place) -> tuple[str, ...]:
    """Return one kind of source as a table row."""
    files = code((*place.patterns, *(member.pattern for member in place.members)))
    files += f", but not {code(place.exclude)}" if place.exclude else ""
    container = place.container + (" (zstd)" if place.is_compressed else "")
    if place.split:
        container += f", split at {code(place.split)}"
    if place.tables:
        container += f": {code(dict.fromkeys(t.name for t in place.tables))}"
    return place.role, files, container, str(place.lane)


def code(words: Iterable[str]) -> str:
    """Return words in code type, separated by commas."""
    return ", ".join(f"`{word}`" for word in words)


def configuration_page() -> str:
    """Return docs/reference/configuration.md."""
    return with_links(CONFIGURATION_HEAD + "".join(key_sections()))


def key_sections() -> Iterator[str]:
    """Yield a section for each table of the configuration and for each of its keys, as the reference tells them."""
    table, told = "", []
    for line in config_reference().partition("\n\n")[2].splitlines():
        bare = line.removeprefix("# ")
        if head := re.fullmatch(r"\[+([\w.]+)]+", bare):
            table = head[1]
            yield f"\n## {table}\n\n{' '.join(told)}\n"
        elif key := re.fullmatch(r"(\w+) = (.*)", bare):
            text, _, allowed = " ".join(told).partition(" Allowed: ")
            text, _, example = text.partition(" Example: ")
            is_required = key[2] == '""' and "not empty" in allowed
            default = "none; the key is required" if is_required else f"`{key[2]}`"
            yield f"\n### {table}.{key[1]}\n\n{text}\n\n- Default: {default}\n- Allowed: {allowed.removesuffix('.')}\n"
            if example:
                yield f"- Example: `{example.removesuffix('.')}`\n"
        else:
            told += [bare] if bare else []
            continue
        told = []


def with_links(text: str) -> str:
    """Return a page of the reference with links to the pages and the keys that it names."""
    folders = {topic: kind for topic, (kind, _) in help_pages().items()}
    text = re.sub(r"`recollect help ([\w-]+)`", lambda m: f"[{m[0]}](../{folders[m[1]]}/{m[1]}.md)", text)
    return re.sub(
        r"(`(\w+)(?: = \w+)?`)(?= (?:of|in|under) `?\[(\w+)])", r"[\1](../reference/configuration.md#\3\2)", text
    )


def agent_names() -> str:
    """Return the module of agents' names with its tables as the agents' files have them."""
    known = [a.facts for a in adapters().values()]
    names = {f.slug: sorted({letters(n) for n in (f.name, *f.aliases)} - {letters(f.slug)}) for f in known}
    hooks = {f.slug: f.hooks for f in known if f.hooks is not None}
    tables: dict[str, object] = {
        "OWN: dict[str, str]": {slug: " ".join(found) for slug, found in names.items()},
        "ANSWERS: dict[str, tuple[dict[str, object], bytes]]": {
            slug: (dict(hook.answers), hook.silence.encode()) for slug, hook in hooks.items() if hook.answers_source
        },
        "HOST_VARIABLES: dict[str, str]": {hook.variable: slug for slug, hook in hooks.items() if hook.variable},
    }
    text = (ROOT / NAMES).read_text("utf-8")
    for head, table in tables.items():
        found = re.search(rf"^{re.escape(head)} = .*?(?=\n\"\"\")", text, re.S | re.M)
        if found is not None:
            text = f"{text[: found.start()]}{head} = {literal(table, before=len(head) + 3)}{text[found.end() :]}"
    return text


def literal(value: object, indent: str = "", before: int = 0) -> str:
    """Return a value as the formatter writes it. before: how long its line already is."""
    rows: list[str] = []
    for several in (False, True):
        inner = f"{indent}    " if several else ""
        if isinstance(value, dict):
            begin, end = "{}"
            keys = [f"{literal(key)}: " for key in value]
            rows = [
                f"{key}{literal(one, inner, len(inner + key))}" for key, one in zip(keys, value.values(), strict=True)
            ]
        elif isinstance(value, tuple):
            begin, end = "()"
            rows = [literal(one, inner, len(inner)) for one in value]
        else:
            return f"b{literal(value.decode())}" if isinstance(value, bytes) else json.dumps(value)
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        line = f"{begin}{', '.join(rows)}{comma}{end}"
        if not several and before + len(line) < LINE:
            return line
    return f"{begin}\n{''.join(f'{inner}{row},{chr(10)}' for row in rows)}{indent}{end}"


def agent_facts() -> str:
    """Return the facts of all agents as their files say them, an agent a line."""
    return _line_by_agent(written_entry)


def agent_fields() -> str:
    """Return the fields that the parsers of all agents know, an agent a line."""
    return _line_by_agent(written_fields)


def _line_by_agent(written: Callable[[str], object]) -> str:
    lines = (f'"{slug}": {json.dumps(written(slug), ensure_ascii=False)}' for slug in described_agents())
    return "{\n" + ",\n".join(lines) + "\n}\n"


NAMES = "src/recollect/agent_names.py"
LINE = 120


_CLI_HEAD = """\
# The command line

<!-- Written by `make docs` from the code; don't edit. -->

This page lists every command with its options, as `recollect VERB --help` shows them. The groups are {groups}.

```sh
recollect search 'flaky test'            # text for people
recollect search 'flaky test' --json     # the same value for programs
recollect schema search                  # the JSON Schema of that value
```

- **JSON**: with `--json`, a command prints its result as JSON on stdout. Times are UTC microseconds, and names are in
  snake_case. Every field of the schema is present, even if it is empty or has its default. A list is a named field of
  an object, such as `{{"agents": [...]}}`. The JSON is indented on a terminal, and is one line elsewhere.
- **Exit codes**: 0 ok · 1 nothing found · 2 wrong usage · 3 failed · 130 interrupted (Ctrl-C).
- **Errors** are a line `recollect: …` on stderr, often followed by a line `hint: …`. With `--json`, stderr stays empty
  and stdout has `{{"error": {{"code", "message", "hint", "retryable"}}}}`.
- **Text** shows local times. Colours and the progress bar appear only on a terminal (`NO_COLOR` switches colours off).
  Control characters in transcripts are made visible, so they cannot affect the terminal.
- **`RECOLLECT_HOME`** is the folder for the memory and its configuration; see [configuration](configuration.md).
- **Subcommands**: you can write options before or after the name of a subcommand. `recollect facts WORD` and
  `recollect decisions WORD` search for the word. A word that looks like a mistyped subcommand is an error. To search
  for such a word, write `recollect facts list WORD`.
- **Times** in options: `2026-08-01`, `2026-08-01T09:00` (local, or with an offset), `today`, `yesterday`, `30min`,
  `12h`, `3d`, `2w`. The [query language](query-language.md#times) lists all forms.
"""


def cli_reference() -> str:
    """Return docs/reference/commands.md."""
    parts = [_CLI_HEAD.format(groups=", ".join(GROUPS))]
    with click.Context(group, info_name="recollect", **group.context_settings) as ctx:
        for name in GROUPS:
            parts.append(f"## {name}\n")
            parts += [
                _section(ctx, verb.name, group.get_command(ctx, verb.name)) for verb in VERBS if verb.group == name
            ]
    return with_links("\n".join(parts))


def _section(parent: click.Context, name: str, command: click.Command | None, *, heading: str = "###") -> str:
    """Return the text about a command and, where it has them, about its subcommands."""
    if command is None:
        raise LookupError(name)
    text, examples = _split_help(command.help or "")
    with click.Context(command, parent=parent, info_name=name) as ctx:
        lines = [f"{heading} {ctx.command_path.removeprefix('recollect ')}\n", text, "", "```"]
        lines += [" ".join((ctx.command_path, *command.collect_usage_pieces(ctx))), "", *examples, "```", ""]
        if isinstance(command, Noun):
            default = f"Without a command, `{ctx.command_path} {command.default}` runs.\n" if command.default else ""
            below = [
                _section(ctx, own, command.commands[own], heading=f"{heading}#") for own in command.list_commands(ctx)
            ]
            return "\n".join((*lines, *filter(None, [default]), *below))
        options = [param for param in command.params if isinstance(param, click.Option)]
        rows = [record for option in options if (record := option.get_help_record(ctx)) is not None]
    table = [f"| `{left.replace('|', chr(92) + '|')}` | {right} |" for left, right in rows]
    return "\n".join((*lines, "| option | |", "|---|---|", *table, ""))


def _split_help(text: str) -> tuple[str, list[str]]:
    """Return (prose, example lines) of a command's help; click marks the block of examples with a lone `\\b`."""
    prose, _, block = inspect.cleandoc(text).partition("\b\n")
    return prose.strip(), [line.strip() for line in block.splitlines()[1:] if line.strip()]


PAGES: dict[str, Callable[[], str]] = {
    f"src/recollect/agents/formats/{INDEX}": agent_facts,  # first: the others are made of what it says
    f"src/recollect/agents/formats/{FIELDS_INDEX}": agent_fields,
    "docs/reference/agents.md": agents_page,
    "docs/reference/commands.md": cli_reference,
    "docs/reference/configuration.md": configuration_page,
    "docs/reference/setup.md": setup_page,
    NAMES: agent_names,
}
"""Every generated page and what makes it."""


def main() -> int:
    """Write or check the pages; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say which pages are not fresh")
    args = parser.parse_args()
    stale = []
    for name, page in PAGES.items():
        target, text = ROOT / name, page()
        if target.is_file() and target.read_text("utf-8") == text:
            continue
        stale.append(name)
        if not args.check:
            target.write_text(text, "utf-8", newline="\n")
    if args.check and stale:
        print(f"not fresh: {', '.join(stale)}; run 'make docs'", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
