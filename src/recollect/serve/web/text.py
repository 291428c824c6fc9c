"""Renders transcript text as HTML in which nothing can run: Markdown, code and diffs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from recollect.visible import safe

if TYPE_CHECKING:
    from recollect.model.payloads import FileEdit

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
    made = MarkdownIt("commonmark", {"html": False, "highlight": _highlight}).enable("table").disable("image")
    made.validateLink = _is_link  # type: ignore[method-assign]
    made.add_render_rule("link_open", _open_link)
    return made


def _is_link(url: str) -> bool:
    return url.lower().startswith(("https://", "http://", "mailto:"))


def _open_link(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer")
    tokens[place].attrSet("target", "_blank")
    opened: str = renderer.renderToken(tokens, place, options, env)
    return opened


def _highlight(code: str, language: str, _attributes: str) -> str:
    return str(coloured(code, language))


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
