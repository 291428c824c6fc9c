"""`recollect config` and `schema`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from recollect.cli.results import OUTPUTS, CommandResult, ResultKind, prints
from recollect.cli.terminal import safe, write_json
from recollect.config import Config
from recollect.errors import UnknownName
from recollect.verbs import VERBS


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
@click.option("--reference", is_flag=True, help="Print every key with its description and default, ready to edit.")
@click.option("--path", "only_path", is_flag=True, help="Print the path of the configuration file.")
@prints
def config(reference: bool, only_path: bool, as_json: bool) -> CommandResult | int:
    """Show the configuration in force.

    \b
    Examples:
      recollect config
      recollect config --reference > config.toml
    """
    from recollect.config import config_reference, load_config
    from recollect.paths import config_file, home_dir

    path = config_file()
    if reference and not as_json:
        click.echo(config_reference(), nl=False)
        return 0
    if only_path and not as_json:
        click.echo(safe(str(path)))
        return 0
    return CONFIG(ConfigView(home=str(home_dir()), path=str(path), exists=path.exists(), config=load_config(path)))


def _print_config(_: object, view: ConfigView) -> None:
    from recollect.config import config_toml

    origin = "" if view.exists else " (does not exist: defaults apply)"
    click.echo(f"# {safe(view.path)}{origin}\n# memory: {safe(view.home)}\n\n{config_toml(view.config)}", nl=False)


CONFIG = ResultKind("config", "recollect.cli.commands.config:ConfigView", _print_config, is_plain=True)


@click.command()
@click.argument("name", default="")
@prints
def schema(name: str) -> CommandResult | int:
    """Print the JSON Schema of a result.

    Without NAME, it lists the names, one per line (as JSON with --json).

    \b
    Example:
      recollect schema event
    """
    types = result_types()
    if not name:
        return NAMES(sorted(types), found=True)
    if name not in types:
        raise UnknownName("schema", name, nearest=_nearest(name, types), hint="`recollect schema` lists them")
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


def _nearest(name: str, types: dict[str, Any]) -> tuple[str, ...]:
    import difflib

    return tuple(difflib.get_close_matches(name, types, n=1))
