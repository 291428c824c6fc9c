"""`recollect config`, `schema` and `help`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from recollect.cli.options import flag
from recollect.cli.results import OUTPUTS, CommandResult, ResultKind, examples, prints
from recollect.cli.terminal import Plain, put, safe, write_json
from recollect.config import Config
from recollect.errors import UnknownName
from recollect.verbs import VERBS

if TYPE_CHECKING:
    from rich.console import Console


class ConfigView(msgspec.Struct, frozen=True):
    """The configuration in force and where it comes from."""

    home: str
    path: str
    exists: bool
    config: Config


class ErrorDetail(msgspec.Struct, frozen=True):
    """What failed. `retryable`: trying again later may help."""

    code: str
    message: str
    hint: str
    retryable: bool


class ErrorView(msgspec.Struct, frozen=True):
    """What stands on stdout instead of a result when a verb fails with `--json`."""

    error: ErrorDetail


ResultKind("error", "recollect.cli.commands.config:ErrorView")


@click.command()
@flag("--reference", "Print every key with its description and default, ready to edit.")
@flag("--path", "Print the path of the configuration file.", key="only_path")
@prints
@examples("config", "config --reference > config.toml")
def config(reference: bool, only_path: bool, as_json: bool) -> CommandResult | int:
    """Show the configuration in force."""
    from recollect.config import config_reference, load_config
    from recollect.paths import config_file, home_dir

    path = config_file()
    if reference and not as_json:
        click.echo(config_reference(), nl=False)
        return 0
    if only_path and not as_json:
        click.echo(safe(str(path)))
        return 0
    found = load_config(path)
    return CONFIG(ConfigView(home=str(home_dir()), path=str(path), exists=path.exists(), config=found))


def _print_config(_: object, view: ConfigView) -> None:
    from recollect.config import config_toml

    origin = "" if view.exists else " (does not exist: defaults apply)"
    click.echo(f"# {safe(view.path)}{origin}\n# memory: {safe(view.home)}\n\n{config_toml(view.config)}", nl=False)


CONFIG = ResultKind("config", "recollect.cli.commands.config:ConfigView", _print_config, is_plain=True)


@click.command()
@click.argument("name", default="")
@prints
@examples("schema event")
def schema(name: str) -> CommandResult | int:
    """Print the JSON Schema of a result.

    Without NAME, it lists the names, one per line (as JSON with --json).
    """
    types = result_types()
    if not name:
        return NAMES(sorted(types), found=True)
    if name not in types:
        import difflib

        near = tuple(difflib.get_close_matches(name, types, n=1))
        raise UnknownName("schema", name, nearest=near, hint="`recollect schema` lists them")
    write_json(schema_of(types[name]))
    return 0


def _print_names(_: object, names: Sequence[str]) -> None:
    click.echo("\n".join(names))


NAMES = ResultKind("", "", _print_names, listed="schemas", is_plain=True)


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of what is written of a type: an object has every field that it may have."""
    from recollect.config import setting_texts

    schema = msgspec.json.schema(kind)
    for name, made in (("", schema), *schema.get("$defs", {}).items()):
        if "properties" in made:
            made["required"] = list(made["properties"])
        for key, text in setting_texts().get(name, {}).items():
            made["properties"][key]["description"] = text
    return schema


def result_types() -> dict[str, Any]:
    """Return the type of what `--json` prints, of every command, and of what it is made of."""
    for verb in VERBS:
        importlib.import_module(f"recollect.cli.commands.{verb.module}")
    return {output.schema: output.result_type() for output in OUTPUTS if output.schema}


KINDS = {"tutorial": "Start here", "how-to": "How to", "explanation": "How it works", "reference": "Look it up"}
"""The kinds of pages in the order of the list: their folders, and what stands above each."""
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\((?!\w+:)[^)\s]*\)")
_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^)\s]*\)\n*")


class HelpPage(msgspec.Struct, frozen=True):
    """A page of the documentation. text: its Markdown, "" in a list of pages."""

    topic: str
    kind: str
    title: str
    text: str = ""


@click.command("help")
@click.argument("topic", default="")
@prints
@examples("help", "help set-up-an-agent")
def help_(topic: str) -> CommandResult:
    """Read the documentation in the terminal.

    Without TOPIC, it lists the topics. The options of a command are in `recollect COMMAND --help`.
    """
    found = pages()
    if not topic:
        return TOPICS([_page(kind, path) for kind, path in found.values()], found=True)
    if topic not in found:
        import difflib

        near = tuple(difflib.get_close_matches(topic, found, n=1))
        raise UnknownName("topic", topic, nearest=near, hint="`recollect help` lists the topics")
    kind, path = found[topic]
    return PAGE(_page(kind, path, with_text=True))


def pages() -> dict[str, tuple[str, Path]]:
    """Return the kind and the file of every page that `recollect help` shows, by topic."""
    folder = _folder()
    listed = ((kind, path) for kind in KINDS for path in sorted((folder / kind).glob("*.md")))
    return {path.stem: (kind, path) for kind, path in listed}


def _folder() -> Path:
    """Return the folder of the pages: in the installed package, or in the repository that it runs from."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "docs"
    return installed if installed.is_dir() else package.parents[1] / "docs"


def _page(kind: str, path: Path, *, with_text: bool = False) -> HelpPage:
    text = path.read_text("utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    return HelpPage(path.stem, kind, title, text if with_text else "")


def _print_page(out: Console | Plain, page: HelpPage) -> None:
    text = _LINK.sub(r"\1", _IMAGE.sub("", page.text))
    if isinstance(out, Plain):
        put(out, text.rstrip())
        return
    from rich.markdown import Markdown

    out.print(Markdown(text, hyperlinks=False), width=min(out.width, 100))


def _print_topics(out: Console | Plain, listed: Sequence[HelpPage]) -> None:
    width = max(len(page.topic) for page in listed)
    for kind, head in KINDS.items():
        put(out, f"{head}:")
        for page in listed:
            if page.kind == kind:
                put(out, f"  {page.topic:<{width}}  {page.title}")
        put(out, "")
    put(out, "`recollect help TOPIC` shows a page; `recollect COMMAND --help` shows the options of a command.")


PAGE = ResultKind("help_page", "recollect.cli.commands.config:HelpPage", _print_page, is_plain=True)
TOPICS = ResultKind("", "recollect.cli.commands.config:HelpPage", _print_topics, listed="topics", is_plain=True)
