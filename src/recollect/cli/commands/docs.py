"""`recollect docs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.groups import noun
from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json, write_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import CollectionReport

EXIT_CODES = {"done": 0, "partly": 0, "absent": 3, "failed": 3, "interrupted": 130}


@noun(default="list")
def command() -> None:
    """Have the documents of your projects found, too.

    A folder that was added is a collection: its documentation, not its source code, is searched with your sessions, and
    alone with kind:document. What `.gitignore` and `.recollectignore` leave out stays out. `sync` and `up` ingest
    changes by themselves.

    The exit code is 1 where there is nothing, 3 where something could not be read.

    \b
    Examples:
      recollect docs add ~/src/shop-api
      recollect docs add . --collection handbook --dry-run
      recollect docs show shop-api
    """


@command.command("list")
@json_option
def list_collections(as_json: bool) -> int:
    """List the collections.

    \b
    Example:
      recollect docs list
    """
    with open_memory() as memory:
        views = memory.documents.list()
    if as_json:
        write_list("collections", views)
    else:
        from recollect.cli.render.learnings.documents import print_collections

        print_collections(console(), views)
    return 0 if views else 1


@command.command()
@click.argument("folder", metavar="DIR")
@click.option("--collection", metavar="NAME", default="", help="What to call it; else its project or folder says.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Say what would be taken; write nothing.")
@json_option
def add(folder: str, collection: str, is_dry_run: bool, as_json: bool) -> int:
    """Add a folder as a collection.

    \b
    Example:
      recollect docs add . --collection handbook --dry-run
    """
    from recollect.cli.render.learnings.documents import pass_line
    from recollect.cli.render.progress import StageLine

    with open_memory() as memory:
        with StageLine() as line:
            report = memory.documents.add(
                Path(folder).expanduser(), collection=collection, is_dry_run=is_dry_run,
                progress=lambda at: line.show(pass_line(at)),
            )  # fmt: skip
        if not is_dry_run:
            memory.embedding.start_in_background()
    if as_json:
        write_json(report)
    return _finish((report,), as_json=as_json)


@command.command()
@click.argument("name", metavar="COLLECTION")
@json_option
def show(name: str, as_json: bool) -> int:
    """List the files of a collection.

    \b
    Example:
      recollect docs show shop-api
    """
    with open_memory() as memory:
        files = memory.documents.show(name)
    if as_json:
        write_json(files)
    else:
        from recollect.cli.render.learnings.documents import print_files

        print_files(console(), files)
    return 0 if files.files else 1


@command.command()
@click.argument("name", metavar="[COLLECTION]", default="")
@json_option
def refresh(name: str, as_json: bool) -> int:
    """Ingest what changed, of one collection or of all.

    \b
    Example:
      recollect docs refresh shop-api
    """
    from recollect.cli.render.learnings.documents import pass_line
    from recollect.cli.render.progress import StageLine

    with open_memory() as memory:
        with StageLine() as line:
            reports = memory.documents.refresh(name, progress=lambda at: line.show(pass_line(at)))
        memory.embedding.start_in_background()
    if as_json:
        write_list("reports", reports)
    return _finish(reports, as_json=as_json)


@command.command()
@click.argument("name", metavar="COLLECTION")
@json_option
def remove(name: str, as_json: bool) -> int:
    """Take a collection out of the memory; the folder stays as it is.

    \b
    Example:
      recollect docs remove shop-api
    """
    with open_memory() as memory:
        removed = memory.documents.remove(name)
    if as_json:
        write_json(removed)
    else:
        from recollect.cli.render.learnings.documents import print_removed

        print_removed(console(), removed)
    return 0


def _finish(reports: Sequence[CollectionReport], *, as_json: bool) -> int:
    """Print what was ingested, unless that was done as JSON, and return the exit code."""
    if not as_json:
        from recollect.cli.render.learnings.documents import print_pass

        print_pass(console(), reports)
    is_empty = not any(report.new + report.changed + report.unchanged + report.removed for report in reports)
    return max((EXIT_CODES[report.state] for report in reports), default=0) or int(is_empty)
