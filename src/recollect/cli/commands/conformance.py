"""`recollect conformance`."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path

import click

from recollect.cli.options import json_option
from recollect.cli.terminal import console, write_json
from recollect.errors import UsageError


@click.command()
@click.argument("module")
@click.argument("fixtures", type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def command(module: str, fixtures: Path, as_json: bool) -> int:
    """Check an adapter with its fixtures, by the rules that every adapter of Recollect is held to.

    MODULE is the slug of an installed agent or `package.module:Adapter`; FIXTURES holds
    `<slug>/<version>/<scenario>/...`, see docs/adding-an-agent.md. The exit code is 3 when a rule is broken.

    \b
    Example:
      recollect conformance my_agent.adapter:Adapter tests/fixtures
    """
    from recollect.testing.runner import run_all

    if ":" in module:
        name, _, attribute = module.partition(":")
        try:
            found = getattr(importlib.import_module(name), attribute)
        except (ImportError, AttributeError) as error:
            raise UsageError(f"cannot load {module}: {error}") from error
        adapter = found() if isinstance(found, type) else found
    else:
        adapter = module
    with tempfile.TemporaryDirectory(prefix="recollect-conformance-") as work:
        results = run_all(adapter, fixtures, Path(work))
    if not results:
        hint = "the folders are <slug>/<version>/<scenario>"
        raise UsageError(f"no fixture of this agent below {fixtures}", hint=hint)
    if as_json:
        write_json(results)
    else:
        from recollect.cli.render.conformance import print_conformance

        print_conformance(console(), results)
    return 0 if all(not r.problems for r in results) else 3
