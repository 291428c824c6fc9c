"""Renders transcript text as HTML in which nothing can run (Markdown, code, diffs), and times in this zone."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from recollect.local_time import LOCAL
from recollect.model.payloads import FileEdit
from recollect.model.time import in_zone
from recollect.units import plural
from recollect.visible import safe

MAX_HIGHLIGHTED = 20_000
"""Characters of a block of code that is coloured; a longer one is shown plain, at once."""
MAX_DIFFED = 200_000
"""Characters of a file whose versions are compared here."""
MAX_RENDERED = 256
"""Messages that are kept as HTML: the end of a running session is shown again with every change, a page when one goes
back."""
_CODED = re.compile(r"`([^`\n]+)`")
_LINES = {"+": "add", "-": "del", "@": "hunk"}


def coded(text: str) -> Markup:
    """Return a line in which what stands between backticks is code; the rest is text."""
    parts = _CODED.split(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts)
    )


def markdown(text: str) -> Markup:
    """Return Markdown as HTML. HTML in it is text, an image is a link, and links lead to the web or nowhere."""
    return _rendered(safe(text))


@lru_cache(MAX_RENDERED)
def _rendered(text: str) -> Markup:
    return Markup(_renderer().render(text))  # noqa: S704 - the renderer escapes everything that it does not make


@cache
def _renderer() -> MarkdownIt:
    made = (
        MarkdownIt("commonmark", {"html": False, "highlight": lambda code, kind, _: str(coloured(code, kind))})
        .enable("table")
        .disable("image")
    )
    made.validateLink = lambda url: url.lower().startswith(("https://", "http://", "mailto:"))  # type: ignore[method-assign]
    made.add_render_rule("link_open", _open_link)
    return made


def _open_link(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer")
    tokens[place].attrSet("target", "_blank")
    opened: str = renderer.renderToken(tokens, place, options, env)
    return opened


def coloured(code: str, language: str) -> Markup:
    """Return code with its tokens marked, plain where its language is unknown or it is long."""
    if not language or len(code) > MAX_HIGHLIGHTED:
        return escape(code)
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return escape(code)
    return Markup(highlight(code, lexer, HtmlFormatter(nowrap=True)))  # noqa: S704 - the formatter escapes the code


def diff_of(edit: FileEdit) -> tuple[tuple[str, str], ...]:
    """Return the lines of an edit as (class, text): what the agent gave, else the difference of both versions."""
    if edit.diff:
        return tuple(_classed(edit.diff.splitlines()))
    before, after = edit.before or "", edit.after or ""
    if len(before) + len(after) > MAX_DIFFED:
        return ()
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    return tuple(_classed(line for line in lines if not line.startswith(("+++ ", "--- "))))


def _classed(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        yield _LINES.get(line[:1], ""), safe(line)


_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_MONTH_US = 30 * 86_400_000_000


def ago(at_us: int | None, now: int) -> str:
    """Return how long ago, or in how long, an instant is, in the largest unit that fits."""
    if at_us is None:
        return "not yet"
    seconds = abs(now - at_us) // 1_000_000
    for unit, name in _UNITS:
        if seconds >= unit:
            text = plural(seconds // unit, name)
            break
    else:
        text = f"{seconds} s"
    return f"in {text}" if at_us > now else f"{text} ago"


def when(us: int | None, now: int) -> str:
    """Return how long ago an instant is, or its date where that is more than a month."""
    if us is None:
        return "no time"
    return ago(us, now) if abs(now - us) < _MONTH_US else stamp(us)[:10]


def _local(us: int) -> datetime:
    return in_zone(us, LOCAL)


def stamp(us: int | None) -> str:
    """Return an instant as `2026-03-01 14:05` in local time."""
    return _local(us).strftime("%Y-%m-%d %H:%M") if us is not None else "no time"


def clock(us: int | None) -> str:
    """Return the time of day of an instant, local."""
    return _local(us).strftime("%H:%M") if us is not None else ""


def iso(us: int | None) -> str:
    """Return an instant for the `datetime` of a `<time>`."""
    return _local(us).isoformat() if us is not None else ""


def span(seconds: float) -> str:
    """Return a length of time as `2 h 5 min`, `12 min` or `40 s`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
