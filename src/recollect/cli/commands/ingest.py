"""`recollect sync`, `import`, `rebuild` and `embed`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from recollect.cli.options import (
    NamedPath,
    agent_option,
    ask,
    flag,
    number_option,
    open_memory,
    path_option,
    text_option,
    when_option,
)
from recollect.cli.results import CommandResult, ResultKind, examples, prints
from recollect.client import IngestRequest, variable_hashes
from recollect.clock import now_us
from recollect.errors import UsageError
from recollect.local_time import LOCAL
from recollect.model.time import TIME_FORMS

if TYPE_CHECKING:
    from types import FrameType

    from recollect.memory import EmbeddingFacet, Memory

SYNC = ResultKind("sync", "SyncReport", "sync:print_sync", is_plain=True)
IMPORT = ResultKind("", "SyncReport", "ingest:print_import")
IMPORT_PLAN = ResultKind("", "SyncReport", "ingest:print_import_plan")
PALACE = ResultKind("import-mempalace", "PalaceReport", "documents:print_palace")
REBUILT = ResultKind("rebuild", "SyncReport", "ingest:print_rebuilt")
EMBEDDED = ResultKind("embed", "EmbedReport", "ingest:print_embedded")


EMBED_EXIT_CODES = {"done": 0, "off": 0, "removed": 0, "busy": 3, "interrupted": 130}
EXIT_CODES = {"done": 0, "interrupted": 130, "busy": 3, "degraded": 3}


@click.command()
@agent_option
@flag("--force", "Derive all events again from the archive, even of unchanged sources.")
@path_option(
    "--retro-out",
    "FOLDER",
    "Also write the retrospective of the last full week to this folder, once.",
    file_okay=False,
)
@prints
@examples("sync", "sync --agent {1} --json", "sync --retro-out ~/retros")
def sync(agents: tuple[str, ...], force: bool, retro_out: Path | None, as_json: bool) -> CommandResult:
    """Ingest what is new or changed.

    If another process is ingesting into the same memory, this command does nothing and exits with 3.
    """
    from recollect.cli.render.progress import ProgressLine
    from recollect.memory import SyncReport

    def here(memory: Memory) -> SyncReport:
        report = memory.sync(agents=agents, force=force, progress=progress)
        memory.embedding.start_in_background()
        return report

    with ProgressLine() as progress:
        if agents or force:
            with open_memory() as memory:
                report = here(memory)
        else:
            report = ask(IngestRequest(variable_hashes()), SyncReport, here=here, tell=progress.told)
    written: Path | None = None
    if retro_out is not None and report.state in ("done", "degraded"):
        from recollect.cli.render.progress import StageLine
        from recollect.cli.render.retro_page import write_last_week

        with open_memory() as memory, StageLine() as line:
            written = write_last_week(memory, retro_out, now=now_us(), zone=LOCAL, tell=line.show)
    if written is not None and as_json:
        click.echo(f"wrote {written}", err=True)
    return SYNC(report, code=EXIT_CODES[report.state], written=written)


class ImportSelection(TypedDict):
    """The options that say which sessions are meant."""

    since: int | None
    least: int | None
    session: str | None


@click.command()
@click.argument("paths", nargs=-1, type=NamedPath(path_type=Path), metavar="[PATH]...")
@text_option(
    "--as", "SLUG", "The agent that wrote the files, if their content does not show it.", key="agent", default=None
)
@when_option("--since", f"Only sessions whose last message is from this time or later: {TIME_FORMS}.", also="--after")
@number_option(
    "--min-messages",
    "Archive, but do not index, sessions with fewer messages from you and the model.  "
    "[default: `min_messages` of [ingest]; 0 if it is not set, and for exports and single files]",
    key="least",
    least=0,
)
@text_option("--session", "UID", "Only this session, however short (UID or a unique prefix of it).", default=None)
@flag("--dry-run", "Show which sessions are new, changed or skipped; write nothing.")
@flag("--mempalace", "PATH is a MemPalace directory; import it.", key="is_palace")
@prints
def import_(
    paths: tuple[Path, ...], agent: str | None, *, dry_run: bool, is_palace: bool, **wanted: Unpack[ImportSelection]
) -> CommandResult:
    """Ingest files and folders that you name.

    PATH is a file or folder: transcripts in any layout, or an export from ChatGPT, Claude.ai or Slack. Without PATH,
    Recollect ingests what your agents wrote.

    Recollect recognises a file by its content and a database by its tables and columns, and it unpacks zip archives
    temporarily. It skips files from unknown agents, and lists them. A MemPalace directory is imported as a
    whole. The exit code is 1 if nothing could be ingested.

    With --min-messages, searches leave out shorter sessions. A session that later reaches that number is indexed whole,
    and so is a session that you name with --session. Run the command again at any time: it ingests only what changed.

    \b
    Examples:
      recollect import ~/Downloads/chatgpt-export.zip
      recollect import --as aider notes/.aider.chat.history.md
      recollect import --since 2026-06-01 --dry-run
      recollect import --mempalace ~/.mempalace
    """
    if is_palace:
        if agent is not None or any(wanted.values()):
            raise UsageError(
                "--mempalace can be combined only with --dry-run and --json", hint="a palace has no sessions"
            )
        return _palace(paths, dry_run=dry_run)
    from recollect.cli.render.progress import ProgressLine
    from recollect.memory import ImportOptions

    least = wanted["least"]
    if least is None and paths and all(path.is_file() for path in paths):
        least = 0
    wish = ImportOptions(wanted["since"], least, wanted["session"] or "")
    agents = (agent,) if agent else ()
    with open_memory() as memory, ProgressLine() as progress:
        report = memory.take_in(paths, agents=agents, options=wish, is_dry_run=dry_run, progress=progress)
        palaces = tuple(path for path in paths if memory.notes.palace.is_palace(path))
    is_plain = agent is None and not any(wanted.values()) and report.state == "done"
    if is_plain and len(paths) == 1 and palaces and not any(line.found for line in report.agents.values()):
        return _palace(paths, dry_run=dry_run)
    report.notes += [f"{path} is a MemPalace directory; add --mempalace to import it" for path in palaces]
    code = EXIT_CODES[report.state]
    if not code:
        is_failed = any(skipped.is_failure for skipped in report.untaken)
        code = 3 if is_failed else int(not any(line.found for line in report.agents.values()))
    return IMPORT_PLAN(report, code=code) if dry_run else IMPORT(report, code=code, paths=paths)


def _palace(paths: tuple[Path, ...], *, dry_run: bool) -> CommandResult:
    """Take a MemPalace directory over."""
    from recollect.cli.render.documents import palace_line
    from recollect.cli.render.progress import StageLine

    if len(paths) != 1:
        raise UsageError("name one MemPalace directory", hint="recollect import --mempalace ~/.mempalace")
    with open_memory() as memory, StageLine() as line:
        report = memory.notes.palace.take(paths[0], is_dry_run=dry_run, told=lambda at: line.show(palace_line(at)))
    return PALACE(report, found=report.added + report.known)


@click.command()
@click.argument("what", type=click.Choice(("index", "all")), default="index")
@prints
@examples("rebuild index")
def rebuild(what: Literal["index", "all"]) -> CommandResult:
    """Rebuild the index, or everything, from the archive.

    This does not need the agents' own files, so it also works if agents have deleted them.
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine(f"rebuilding {what}") as progress:
        report = memory.maintenance.rebuild(what, progress=progress.bytes_done)
    return REBUILT(report, what=what, code=EXIT_CODES[report.state])


@click.command()
@flag("--anew", "Delete this model's vectors and compute all of them again.")
@flag("--remove", "Delete the vectors of every model, and nothing else.")
@click.option(
    "--max-seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after this time; the next run continues."
)
@click.option("--background", is_flag=True, hidden=True)
@click.option("--home", type=click.Path(path_type=Path), hidden=True)
@prints
@examples("embed", "embed --anew --json")
def embed(anew: bool, remove: bool, max_seconds: float | None, background: bool, home: Path | None) -> CommandResult:
    """Compute the vectors for searching by meaning.

    Only texts without vectors get new ones. `sync` does this in the background. You can stop it at any time; it
    continues where it stopped.
    """
    from recollect.cli.render.progress import ProgressLine
    from recollect.memory import Memory

    with Memory.open(home) if home is not None else open_memory() as memory:
        if remove:
            report = memory.embedding.remove()
        else:
            with ProgressLine("making vectors", counted="event") as progress, _interruptible(memory.embedding):
                report = memory.embedding.run(
                    anew=anew, max_seconds=max_seconds, gently=background,
                    progress=None if background else progress.items_done,
                )  # fmt: skip
    return EMBEDDED(report, code=EMBED_EXIT_CODES[report.state], is_log=background)


@contextmanager
def _interruptible(embedding: EmbeddingFacet) -> Iterator[None]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop after the batch under way; a second one raises."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, _frame: FrameType | None) -> None:
        embedding.stop()
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
