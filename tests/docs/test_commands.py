"""Every `recollect …` command line in pages, help, hints and messages is one that the program takes."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from recollect.cli.main import group
from recollect.errors import RecollectError
from recollect.verbs import VERBS
from tests.docs.pages import blocks, pages

REPOSITORY = Path(__file__).resolve().parents[2]
VERB_NAMES = {verb.name for verb in VERBS}
SHELLS = {"", "sh", "bash", "console", "shell"}
_INLINE = re.compile(r"`(recollect [^`\n]+)`")
_IN_SHELL = re.compile(r"(?:^|[;|&(] *|\bdo |-- |\$ )(recollect(?: [^;|&)>\n]*)?)", re.M)
_WHOLE = re.compile(rf"^\s*(recollect (?:{'|'.join(VERB_NAMES)})\b.*)$", re.M)
_QUOTES = re.compile(r"(?<!from )\brecollect [-a-z{]")
_ENDS = re.compile(r"\s(?:[|&;>#]|2>|<\s).*")
_PLACEHOLDER = re.compile(r"…|\.\.\.|<[^>]*>|\[[^\]]*\]|\{[^}]*\}|\$\w+")


def quoted() -> Iterator[tuple[str, str]]:
    """Yield (where, command line) of all that is quoted anywhere."""
    for page in [*pages(REPOSITORY), *REPOSITORY.glob("plugins/**/*.md")]:
        if page.name == "CHANGELOG.md" or page.is_relative_to(REPOSITORY / "docs" / "development" / "decisions"):
            continue  # they say what was
        text, name = page.read_text("utf-8"), page.relative_to(REPOSITORY).as_posix()
        yield from ((name, line) for line in _INLINE.findall(text))
        for block in blocks(text):
            if block.language in SHELLS:
                yield from ((name, line) for line in _IN_SHELL.findall(block.text) if "[OPTIONS]" not in line)
    for path in (REPOSITORY / "src").rglob("*.py"):
        name, code = path.relative_to(REPOSITORY).as_posix(), path.read_text("utf-8")
        for text in _strings(ast.parse(code)) if _QUOTES.search(code) else ():
            yield from ((name, line) for line in _INLINE.findall(text))
            yield from ((name, line) for line in _WHOLE.findall(text))


def _strings(tree: ast.Module) -> Iterator[str]:
    """Yield all texts of a module; what a formatted one puts in is `X`."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def problem(line: str) -> str:
    """Return why the program does not take a command line; "" where it does, or would with its arguments."""
    words = shlex.split(_PLACEHOLDER.sub(" ", _ENDS.sub("", line)))[1:]
    if not words or words[0].isupper():  # a place for any command
        return ""
    try:
        ctx = group.make_context("recollect", words)
        while isinstance(ctx.command, click.Group) and (rest := [*ctx._protected_args, *ctx.args]):
            name, command, own = ctx.command.resolve_command(ctx, rest)
            assert command is not None
            if isinstance(command, click.Group) and not own:
                return ""
            ctx = command.make_context(name, own, parent=ctx)
    except (click.exceptions.Exit, click.MissingParameter, click.BadOptionUsage):
        return ""  # help, or a command that is named and not written out
    except click.BadParameter as error:
        is_path = error.param is not None and isinstance(error.param.type, click.Path)
        return "" if is_path or any(word.isupper() for word in words) else error.message
    except (click.ClickException, RecollectError) as error:
        return str(error)
    return ""


def test_every_command_line_that_is_quoted_is_taken() -> None:
    found = list(quoted())
    assert len(found) > 300
    assert {"README.md", "docs/how-to/keep-facts-and-a-diary.md", "src/recollect/cli/commands/notes.py"} <= {
        where for where, _ in found
    }
    assert {(where, line): why for where, line in found if (why := problem(line))} == {}


@pytest.mark.parametrize(
    "line",
    ["recollect facts ad x", "recollect serch x", "recollect facts end f1 --from 2026", "recollect usage --by weather"],
)
def test_a_command_line_that_is_not_taken_is_seen(line: str) -> None:
    assert problem(line)
