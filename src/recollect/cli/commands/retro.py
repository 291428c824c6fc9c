"""`recollect retro`."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import click

from recollect.cli.local_time import LOCAL
from recollect.cli.options import json_option, no_sync_option, open_memory, repo_option, span_options
from recollect.cli.terminal import write_bytes, write_json
from recollect.clock import now_us
from recollect.errors import UsageError

_SUFFIXES = (".md", ".html")


@click.command()
@span_options("7d")
@repo_option
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE.md|FILE.html", help="Write it to a file.")
@no_sync_option
@json_option
def command(
    since: int, until: int | None, repos: tuple[str, ...], out: Path | None, no_sync: bool, as_json: bool
) -> int:
    """Look back: outcomes, cost, errors and their fixes, decisions.

    Markdown on stdout, each line with its evidence (`recollect show` opens it). A page of HTML has plots too, and
    beside a file of Markdown they are written as images. Each report compares with the period of the same length before
    it. Says so, with exit code 1, where nothing happened. `recollect sync --retro-out FOLDER` writes one every week.

    \b
    Examples:
      recollect retro --since 30d --repo shop-api
      recollect retro --since 2026-11-01 --out november.html
    """
    if out is not None and out.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--out {out} is neither {' nor '.join(_SUFFIXES)}", hint="name FILE.html or FILE.md")
    from recollect.cli.render.progress import StageLine

    end = until if until is not None else now_us()
    if end <= since:
        raise UsageError("--until is not after --since" if until is not None else "--since lies in the future")
    with open_memory() as memory, StageLine() as line:
        zone = UTC if as_json else LOCAL
        retro = memory.retro(since=since, until=end, repos=repos, sync=not no_sync, tell=line.show, zone=zone)
        written: list[Path] = []
        if out is not None and not retro.is_empty:
            line.show("drawing plots")
            from recollect.cli.render.retro.files import write_report

            written = write_report(out, retro, memory.home / "cache")
    if as_json:
        write_json(retro)
    elif retro.is_empty:
        from recollect.cli.render.figures import stamp

        where = f" in {' or '.join(repos)}" if repos else ""
        click.echo(f"nothing happened{where} from {stamp(since)} to {stamp(end)}")
    elif written:
        click.echo("\n".join(f"wrote {path}" for path in written))
    else:
        from recollect.cli.render.retro.document import document_of
        from recollect.cli.render.retro.markdown import to_markdown

        write_bytes(to_markdown(document_of(retro)).encode("utf-8", "backslashreplace"))
    return 1 if retro.is_empty else 0
