"""Writes a retrospective to files: one asked for, and that of the last whole week."""

from __future__ import annotations

import os
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import SourceUnavailable
from recollect.files import write_file
from recollect.model.time import in_zone, relative_period

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.memory import Memory, Retro


def name_of_week(monday: int, zone: tzinfo) -> str:
    """Return the name of a week by ISO 8601, `2026-W47`. monday: when it began, UTC microseconds."""
    year, number, _day = in_zone(monday, zone).isocalendar()
    return f"{year:04}-W{number:02}"


def write_last_week(
    memory: Memory, folder: Path, *, now: int, zone: tzinfo, tell: Callable[[str], None] = lambda _: None
) -> Path | None:
    """Write the report of the last whole week as `retro-2026-W47.html`; None where it is there or nothing happened.

    It is written once: what you edit or move stays so. Raises SourceUnavailable, ConfigError, StoreError.
    """
    week = relative_period("last week", now, zone)
    if week is None:
        raise AssertionError("there is a week before every moment of the calendar")
    out = folder / f"retro-{name_of_week(week.start_us, zone)}.html"
    if out.exists():
        return None
    retro = memory.retro(since=week.start_us, until=week.end_us, zone=zone, tell=tell)
    if retro.is_empty:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceUnavailable(f"cannot make {folder}: {error.strerror}") from error
    tell("drawing plots")
    write_report(out, retro, memory.home / "cache")
    return out


def write_report(out: Path, retro: Retro, cache: Path) -> list[Path]:
    """Write a report as HTML, or as Markdown with its plots beside it, and return the files.

    cache: where matplotlib keeps its list of fonts. Raises SourceUnavailable where that cannot be done.
    """
    from recollect.cli.render.retro.document import document_of
    from recollect.cli.render.retro.markdown import to_markdown
    from recollect.cli.render.retro.page import to_page
    from recollect.cli.render.retro.plots import draw, standing_alone

    document = document_of(retro)
    plots, why_none = draw(retro, cache=cache)
    if why_none:
        document = document._replace(notes=(*document.notes, why_none))
    files: dict[Path, str] = {}
    if out.suffix.lower() == ".html":
        files[out] = to_page(document, plots)
    else:
        images = {name: out.with_name(f"{out.stem}-{name}.svg") for name in plots}
        files[out] = to_markdown(document, plots={name: path.name for name, path in images.items()})
        files.update((images[name], standing_alone(svg)) for name, svg in plots.items())
    try:
        for path, text in files.items():
            write_file(path, text.encode("utf-8", "backslashreplace"), durable=True, mode=0o666)
    except OSError as error:
        where = os.fspath(error.filename or out)
        raise SourceUnavailable(f"cannot write {where}: {error.strerror}") from error
    return list(files)
