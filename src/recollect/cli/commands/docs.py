"""`recollect docs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import CollectionReport, DocumentProgress, Memory

_INTERRUPTED = 130
_FAILED = 3


@click.command()
@click.argument("action", type=click.Choice(("add", "list", "show", "refresh", "remove")), default="list")
@click.argument("target", required=False, metavar="[DIR|NAME]")
@click.option(
    "--collection", metavar="NAME", default="", help="With add: what to call it; else its project or folder says."
)
@click.option("--dry-run", "is_dry_run", is_flag=True, help="With add: say what would be taken; write nothing.")
@json_option
def command(action: str, target: str | None, collection: str, is_dry_run: bool, as_json: bool) -> int:
    """Have the documents of your projects found, too.

    A folder that was added is a collection: its documentation, not its source code, is searched with your sessions, and
    alone with kind:document. What `.gitignore` and `.recollectignore` leave out stays out. `sync` and `up` take changes
    in by themselves; `refresh` does at once, `remove` takes a collection out and leaves the folder alone.

    The exit code is 1 where there is nothing, 3 where something could not be read.

    \b
    Examples:
      recollect docs add ~/src/shop-api
      recollect docs add . --collection handbook --dry-run
      recollect docs show shop-api
    """
    if action != "add" and (collection or is_dry_run):
        raise UsageError("--collection and --dry-run go with `recollect docs add DIR`")
    if action in ("add", "show", "remove") and not target:
        raise UsageError(f"`recollect docs {action}` needs a {'folder' if action == 'add' else 'collection'}")
    if action == "list" and target:
        raise UsageError(f"`recollect docs list` takes nothing; `recollect docs show {target}` lists its files")
    with open_memory() as memory:
        if action in ("add", "refresh"):
            return _take(memory, action, target or "", collection=collection, is_dry_run=is_dry_run, as_json=as_json)
        return _tell(memory, action, target or "", as_json=as_json)


def _take(memory: Memory, action: str, target: str, *, collection: str, is_dry_run: bool, as_json: bool) -> int:
    from recollect.cli.render.learned.documents import pass_line, print_pass
    from recollect.cli.render.progress import StageLine

    with StageLine() as line:

        def show(at: DocumentProgress) -> None:
            line.show(pass_line(at))

        reports: Sequence[CollectionReport]
        if action == "add":
            folder = Path(target).expanduser()
            reports = (memory.documents.add(folder, collection=collection, is_dry_run=is_dry_run, progress=show),)
        else:
            reports = memory.documents.refresh(target, progress=show)
    if not is_dry_run:
        memory.embedding.start_in_background()
    if as_json:
        write_json(reports[0] if action == "add" else reports)
    else:
        print_pass(console(), reports)
    states = {report.state for report in reports}
    if "interrupted" in states:
        return _INTERRUPTED
    if states & {"failed", "absent"}:
        return _FAILED
    return 0 if any(report.new + report.changed + report.unchanged + report.removed for report in reports) else 1


def _tell(memory: Memory, action: str, target: str, *, as_json: bool) -> int:
    from recollect.cli.render.learned.documents import print_collections, print_files, print_removed

    documents = memory.documents
    if action == "remove":
        removed = documents.remove(target)
        if as_json:
            write_json(removed)
        else:
            print_removed(console(), removed)
        return 0
    if action == "show":
        files = documents.show(target)
        if as_json:
            write_json(files)
        else:
            print_files(console(), files)
        return 0 if files.files else 1
    views = documents.list()
    if as_json:
        write_json(views)
    else:
        print_collections(console(), views)
    return 0 if views else 1
