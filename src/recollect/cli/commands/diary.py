"""`recollect diary`."""

from __future__ import annotations

import os
import sys
from typing import Unpack

import click

from recollect.cli.groups import noun
from recollect.cli.options import TimeRange, json_option, limit_option, open_memory, range_options
from recollect.cli.terminal import console, write_json
from recollect.errors import UsageError
from recollect.units import size

_MAX_STDIN_BYTES = 1 << 20
PERSON = "person"
"""Whose diary it is where a person says nothing else."""


@noun(default="read")
def command() -> None:
    """Read and write the diaries of your agents, and yours.

    A search finds entries too (kind:diary).

    \b
    Examples:
      recollect diary
      recollect diary read --agent claude --repo shop-api --limit 3
      recollect diary write "Moved the queue to SQLite" --pending "measure it"
    """


@command.command()
@click.option("--agent", metavar="SLUG", default="", help="Only this agent's diary.")
@click.option("--repo", metavar="NAME", default="", help="Only of this repository.")
@click.option("--session", metavar="SESSION", default="", help="Only what is about this session.")
@click.option("--history", "is_history", is_flag=True, help="Entries of undone imports too.")
@range_options
@limit_option(10, "entries")
@json_option
def read(
    agent: str, repo: str, session: str, limit: int, *, is_history: bool, as_json: bool, **within: Unpack[TimeRange]
) -> int:
    """Read diaries, the newest entry first.

    \b
    Example:
      recollect diary read --agent claude --after 1w
    """
    from recollect.memory import DiaryQuestion

    question = DiaryQuestion(agent=agent, repo=repo, session=session, is_history=is_history, **within)
    with open_memory() as memory:
        answer = memory.notes.diary.read(question, limit=limit)
    if as_json:
        write_json(answer)
    else:
        from recollect.cli.render.learnings.notes import print_diary

        print_diary(console(), answer)
    return 0 if answer.entries else 1


@command.command()
@click.argument("text", nargs=-1)
@click.option("--agent", metavar="SLUG", default=PERSON, show_default=True, help="Whose diary; by default yours.")
@click.option("--repo", metavar="NAME", default="", help="The repository that it is about; by default the one here.")
@click.option(
    "--session", "sessions", metavar="SESSION", multiple=True, help="A session that it is about (repeatable)."
)
@click.option("--topic", metavar="WORDS", default="", help="What it is about.")
@click.option("--decided", metavar="WORDS", multiple=True, help="What was decided (repeatable).")
@click.option("--discovered", metavar="WORDS", multiple=True, help="What was found out (repeatable).")
@click.option("--pending", "left_pending", metavar="WORDS", multiple=True, help="What is left to do (repeatable).")
@json_option
def write(
    text: tuple[str, ...], agent: str, repo: str, sessions: tuple[str, ...], topic: str, *, decided: tuple[str, ...],
    discovered: tuple[str, ...], left_pending: tuple[str, ...], as_json: bool,
) -> int:  # fmt: skip
    """Write an entry.

    TEXT is what it says; without TEXT standard input is read. Secrets are redacted.

    \b
    Examples:
      recollect diary write "Moved the queue to SQLite" --pending "measure it"
      git log -1 --format=%B | recollect diary write --topic release
    """
    from recollect.memory import NewEntry

    words = " ".join(text) if text else _standard_input()
    with open_memory() as memory:
        entry = memory.notes.diary.write(
            NewEntry(
                agent=agent or PERSON, text=words, topic=topic, decided=decided, discovered=discovered,
                left_pending=left_pending, sessions=sessions,
                repo=repo or next(iter(memory.recall.repositories(os.getcwd())), ""),
            )
        )  # fmt: skip
    if as_json:
        write_json(entry)
    else:
        from recollect.cli.render.learnings.notes import print_entry

        print_entry(console(), entry)
    return 0


def _standard_input() -> str:
    if sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    if len(data) > _MAX_STDIN_BYTES:
        raise UsageError(f"an entry of a diary is at most {size(_MAX_STDIN_BYTES, binary=True)}")
    return data.decode("utf-8", "replace")
