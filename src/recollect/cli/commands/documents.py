"""`recollect docs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.groups import noun
from recollect.cli.options import NamedPath, flag, text_option
from recollect.cli.results import CommandResult, ResultKind, examples, prints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import CollectionReport, Memory

COLLECTIONS = ResultKind("docs", "CollectionView", "documents:print_collections", listed="collections")
ADDED = ResultKind("docs-add", "CollectionReport", "documents:print_one_pass")
REFRESHED = ResultKind("docs-refresh", "CollectionReport", "documents:print_pass", listed="reports")
FILES = ResultKind("docs-show", "CollectionFiles", "documents:print_files")
REMOVED = ResultKind("docs-remove", "CollectionRemoved", "documents:print_removed")


EXIT_CODES = {"done": 0, "partly": 0, "absent": 3, "failed": 3, "interrupted": 130}


@noun(default="list")
@examples("docs add ~/src/shop-api", "docs add . --collection handbook --dry-run", "docs show shop-api")
def docs() -> None:
    """Search the documents of your projects.

    A folder that you add becomes a collection. Searches then cover its documentation, not its source code;
    kind:document searches only documents. Files that `.gitignore` or `.recollectignore` excludes stay out. `sync` and
    `up` ingest changes.

    The exit code is 1 if there is nothing to show, and 3 if something cannot be read.
    """


@docs.command("list")
@prints
@examples("docs list")
def list_collections(memory: Memory) -> CommandResult:
    """List the collections."""
    views = memory.documents.list()
    return COLLECTIONS(views)


@docs.command("add")
@click.argument("folder", metavar="DIR", type=NamedPath())
@text_option("--collection", "NAME", "Name of the collection.  [default: the name of the project or folder]")
@flag("--dry-run", "Show what would be ingested; write nothing.", key="is_dry_run")
@prints
@examples("docs add . --collection handbook --dry-run")
def add(memory: Memory, folder: str, collection: str, is_dry_run: bool) -> CommandResult:
    """Add a folder as a collection."""
    from recollect.cli.render.documents import pass_line
    from recollect.cli.render.progress import StageLine

    with StageLine() as line:
        report = memory.documents.add(
            Path(folder).expanduser(), collection=collection, is_dry_run=is_dry_run,
            progress=lambda at: line.show(pass_line(at)),
        )  # fmt: skip
    if not is_dry_run:
        memory.embedding.start_in_background()
    return ADDED(report, code=_exit_code((report,)))


@docs.command("show")
@click.argument("name", metavar="COLLECTION")
@prints
@examples("docs show shop-api")
def show(memory: Memory, name: str) -> CommandResult:
    """List the files of a collection."""
    files = memory.documents.show(name)
    return FILES(files, found=files.files)


@docs.command("refresh")
@click.argument("name", metavar="[COLLECTION]", default="")
@prints
@examples("docs refresh shop-api")
def refresh(memory: Memory, name: str) -> CommandResult:
    """Ingest changes of one collection, or of all."""
    from recollect.cli.render.documents import pass_line
    from recollect.cli.render.progress import StageLine

    with StageLine() as line:
        reports = memory.documents.refresh(name, progress=lambda at: line.show(pass_line(at)))
    memory.embedding.start_in_background()
    return REFRESHED(reports, found=True, code=_exit_code(reports))


@docs.command("remove")
@click.argument("name", metavar="COLLECTION")
@prints
@examples("docs remove shop-api")
def remove(memory: Memory, name: str) -> CommandResult:
    """Remove a collection from the memory; the folder is not touched."""
    removed = memory.documents.remove(name)
    return REMOVED(removed)


def _exit_code(reports: Sequence[CollectionReport]) -> int:
    is_empty = not any(report.new + report.changed + report.unchanged + report.removed for report in reports)
    return max((EXIT_CODES[report.state] for report in reports), default=0) or int(is_empty)
