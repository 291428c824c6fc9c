"""`recollect help`: documentation pages in the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.cli.terminal import Plain, put
from recollect.errors import UnknownName

if TYPE_CHECKING:
    from rich.console import Console

KINDS = {"tutorial": "Start here", "how-to": "How to", "explanation": "How it works", "reference": "Look it up"}
"""The kinds of pages in the order of the list: their folders, and what stands above each."""
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\((?!\w+:)[^)\s]*\)")
_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^)\s]*\)\n*")


class HelpPage(msgspec.Struct, frozen=True):
    """A page of the documentation. text: its Markdown, "" in a list of pages."""

    topic: str
    kind: str
    title: str
    text: str = ""


@click.command("help")
@click.argument("topic", default="")
@prints
def help_(topic: str) -> CommandResult:
    """Read the documentation in the terminal.

    Without TOPIC, it lists the topics. The options of a command are in `recollect COMMAND --help`.

    \b
    Examples:
      recollect help
      recollect help set-up-an-agent
    """
    found = pages()
    if not topic:
        return TOPICS([_page(kind, path) for kind, path in found.values()], found=True)
    if topic not in found:
        import difflib

        near = tuple(difflib.get_close_matches(topic, found, n=1))
        raise UnknownName("topic", topic, nearest=near, hint="`recollect help` lists the topics")
    kind, path = found[topic]
    return PAGE(_page(kind, path, with_text=True))


def pages() -> dict[str, tuple[str, Path]]:
    """Return the kind and the file of every page that `recollect help` shows, by topic."""
    folder = _folder()
    listed = ((kind, path) for kind in KINDS for path in sorted((folder / kind).glob("*.md")))
    return {path.stem: (kind, path) for kind, path in listed}


def _folder() -> Path:
    """Return the folder of the pages: in the installed package, or in the repository that it runs from."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "docs"
    return installed if installed.is_dir() else package.parents[1] / "docs"


def _page(kind: str, path: Path, *, with_text: bool = False) -> HelpPage:
    text = path.read_text("utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    return HelpPage(path.stem, kind, title, text if with_text else "")


def _print_page(out: Console | Plain, page: HelpPage) -> None:
    text = _LINK.sub(r"\1", _IMAGE.sub("", page.text))
    if isinstance(out, Plain):
        put(out, text.rstrip())
        return
    from rich.markdown import Markdown

    out.print(Markdown(text, hyperlinks=False), width=min(out.width, 100))


def _print_topics(out: Console | Plain, listed: Sequence[HelpPage]) -> None:
    width = max(len(page.topic) for page in listed)
    for kind, head in KINDS.items():
        put(out, f"{head}:")
        for page in listed:
            if page.kind == kind:
                put(out, f"  {page.topic:<{width}}  {page.title}")
        put(out, "")
    put(out, "`recollect help TOPIC` shows a page; `recollect COMMAND --help` shows the options of a command.")


PAGE = ResultKind("help_page", "recollect.cli.commands.help:HelpPage", _print_page, is_plain=True)
TOPICS = ResultKind("", "recollect.cli.commands.help:HelpPage", _print_topics, listed="topics", is_plain=True)
