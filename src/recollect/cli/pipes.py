"""What the verbs that work on files and pipes share: where input comes from and where results go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from recollect.cli.options import as_option, json_option, sink_option
from recollect.cli.terminal import safe_line
from recollect.visible import encode_json

if TYPE_CHECKING:
    from recollect.config import Config
    from recollect.memory import Given, Item, Offsets, Recognised, Sink


Command = TypeVar("Command", bound=Callable[..., Any])


class Meant(TypedDict):
    """What `meant_options` gives: which distilled things are wanted."""

    nodes: bool
    signals: bool
    digests: bool


class Piped(TypedDict):
    """What `piped_options` gives. agent: of `--as`; sink: of `--sink`; as_json: NDJSON comes without it as well."""

    agent: str | None
    sink: str | None
    as_json: bool


class MeantAndPiped(Meant, Piped):
    """Both."""


def piped_options(command: Command) -> Command:
    """Add `--as`, `--sink` and `--json`."""
    return as_option(sink_option(json_option(command)))


def meant_options(command: Command) -> Command:
    """Add `--nodes`, `--signals` and `--digest`."""
    for name, key, text in (
        ("--digest", "digests", "Give the digest of every session."),
        ("--signals", "signals", "Give test runs, errors, retries, interventions and the like."),
        ("--nodes", "nodes", "Give what was meant: conversations, decisions, episodes, bindings."),
    ):
        command = click.option(name, key, is_flag=True, help=text)(command)
    return command


def ranked_option(command: Command) -> Command:
    """Add `--ranked`."""
    text = "With --nodes: also decisions that learned weights find, and what rests on them. Marked `ranked`."
    return click.option("--ranked", "is_ranked", is_flag=True, help=text)(command)


class Lines:
    """Standard output as a sink: one JSON line an item, sent at once. A pipe remembers nothing."""

    def offsets(self) -> dict[str, int]:
        """Return nothing: nobody knows how far a pipe was read."""
        return {}

    def given(self) -> dict[str, Given]:
        """Return nothing, likewise."""
        return {}

    def write(self, items: Sequence[Item], offsets: Offsets) -> None:
        """Write the items and let them go out at once."""
        del offsets
        print_lines(items)

    def close(self) -> None:
        """Leave standard output open."""


def print_lines(items: Iterable[object]) -> bool:
    """Print each item as a line of JSON as it comes; return whether there was one."""
    out = sys.stdout.buffer
    found = False
    for item in items:
        out.write(encode_json(item) + b"\n")
        found = True
    out.flush()
    return found


@contextmanager
def input_path(name: str) -> Iterator[Path]:
    """Yield the path of an input; `-` is a private copy of standard input."""
    if name != "-":
        yield Path(name)
        return
    from recollect.memory import as_file

    with as_file(sys.stdin.buffer) as copy:
        yield copy


@contextmanager
def writing(sink: str | None) -> Iterator[Sink]:
    """Yield what results are written to, see `open_sink`; None: standard output."""
    if sink is None:
        yield Lines()
        return
    opened = open_sink(sink)
    try:
        yield opened
    finally:
        opened.close()


def open_sink(text: str) -> Sink:
    """Return the sink that `--sink` names: `ndjson:FILE` or `sqlite:FILE`; without a word the file's ending tells."""
    kind, sep, place = text.partition(":")
    if not sep or kind not in ("ndjson", "sqlite"):
        kind, place = ("sqlite" if text.endswith((".db", ".sqlite", ".sqlite3")) else "ndjson"), text
    if not place:
        raise click.BadParameter(f"{text!r} names no file; write ndjson:FILE or sqlite:FILE", param_hint="--sink")
    from recollect.memory import LinesSink, SqliteSink

    return SqliteSink(Path(place)) if kind == "sqlite" else LinesSink(Path(place))


def config_of_user() -> Config:
    """Return the configuration in force; none is needed."""
    from recollect.config import load_config

    return load_config()


def told_on_stderr(found: Recognised) -> None:
    """Say whose a transcript is and how that was told."""
    how = "told by its content" if found.is_told_by_content else "as you said"
    print(safe_line(f"read as {found.adapter.facts.name} ({found.adapter.facts.slug}), {how}"), file=sys.stderr)
