"""`recollect conformance`."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.options import json_option
from recollect.cli.terminal import console, write_list
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.agents.base import Adapter


@click.command()
@click.argument("module")
@click.argument("fixtures", type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def command(module: str, fixtures: Path, as_json: bool) -> int:
    """Check an adapter with its fixtures.

    The rules are those that every adapter of Recollect is held to.
    MODULE is the slug of an agent that is installed or described in your configuration, or `package.module:Adapter`;
    FIXTURES holds `<slug>/<version>/<scenario>/...`, see docs/adding-an-agent.md. The exit code is 3 when a rule is
    broken.

    \b
    Example:
      recollect conformance my_agent.adapter:Adapter tests/fixtures
    """
    from recollect.testing.suite import run_all

    adapter = _loaded(module) if ":" in module else _described(module)
    with tempfile.TemporaryDirectory(prefix="recollect-conformance-") as work:
        results = run_all(adapter, fixtures, Path(work))
    if not results:
        hint = "the folders are <slug>/<version>/<scenario>"
        raise UsageError(f"no fixture of this agent below {fixtures}", hint=hint)
    if as_json:
        write_list("results", results)
    else:
        from recollect.cli.render.conformance import print_conformance

        print_conformance(console(), results)
    return 0 if all(not r.problems for r in results) else 3


def _loaded(module: str) -> Adapter:
    """Return the adapter that `package.module:Adapter` names. Raises UsageError."""
    from recollect.agents.guard import usable

    name, _, attribute = module.partition(":")
    try:
        return usable(getattr(importlib.import_module(name), attribute))
    except Exception as error:
        raise UsageError(f"cannot load {module}: {error}") from error


def _described(slug: str) -> str:
    """Make the agents known that the user's configuration describes."""
    from recollect.agents.registry import define
    from recollect.config import load_config

    define(load_config().formats())
    return slug
