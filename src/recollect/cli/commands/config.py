"""`recollect config`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option
from recollect.cli.terminal import safe, write_json


@click.command()
@click.option("--reference", is_flag=True, help="Print every key with its text and default, ready to edit.")
@click.option("--path", "only_path", is_flag=True, help="Print where the configuration file is.")
@json_option
def command(reference: bool, only_path: bool, as_json: bool) -> int:
    """Show the configuration in force.

    \b
    Examples:
      recollect config
      recollect config --reference > config.toml
    """
    from recollect.cli.views import ConfigView
    from recollect.config import config_reference, config_toml, load_config
    from recollect.paths import config_file, home_dir

    path = config_file()
    if reference and not as_json:
        click.echo(config_reference(), nl=False)
        return 0
    if only_path and not as_json:
        click.echo(safe(str(path)))
        return 0
    config = load_config(path)
    view = ConfigView(home=str(home_dir()), path=str(path), exists=path.exists(), config=config)
    if as_json:
        write_json(view)
    else:
        origin = "" if view.exists else " (not there: the defaults)"
        click.echo(f"# {safe(view.path)}{origin}\n# memory: {safe(view.home)}\n\n{config_toml(config)}", nl=False)
    return 0
