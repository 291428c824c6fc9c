"""`recollect diary`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.options import TimeRange, json_option, limit_option, open_memory, range_options
from recollect.cli.terminal import console, write_json
from recollect.errors import UsageError
from recollect.units import size

if TYPE_CHECKING:
    from recollect.model.learned.notes import DiaryEntry

_MAX_STDIN_BYTES = 1 << 20
PERSON = "person"
"""Whose diary it is where a person says nothing else."""


class Written(TypedDict):
    """What only `write` takes."""

    topic: str
    decided: tuple[str, ...]
    discovered: tuple[str, ...]
    left_pending: tuple[str, ...]


class Given(Written, TimeRange):
    """All options but those that both kinds of call have."""

    is_history: bool
    limit: int


@click.command()
@click.argument("action", type=click.Choice(("read", "write")), default="read")
@click.argument("text", nargs=-1)
@click.option("--agent", metavar="SLUG", default="", help=f"Whose diary; with write: by default yours ({PERSON!r}).")
@click.option("--repo", metavar="NAME", default="", help="Only of this repository; with write: default the one here.")
@click.option(
    "--session", "sessions", metavar="SESSION", multiple=True,
    help="Only what speaks of it; with write: what it speaks of (repeatable).",
)  # fmt: skip
@click.option("--topic", metavar="WORDS", default="", help="With write: what it is about.")
@click.option("--decided", metavar="WORDS", multiple=True, help="With write: what was decided (repeatable).")
@click.option("--discovered", metavar="WORDS", multiple=True, help="With write: what was found out (repeatable).")
@click.option(
    "--pending", "left_pending", metavar="WORDS", multiple=True, help="With write: what is left to do (repeatable)."
)
@click.option("--history", "is_history", is_flag=True, help="Entries of undone imports too.")
@range_options
@limit_option(10, "entries")
@json_option
def command(
    action: str, text: tuple[str, ...], sessions: tuple[str, ...], as_json: bool, *, agent: str, repo: str,
    **given: Unpack[Given],
) -> int:  # fmt: skip
    """Read and write the diaries of your agents, and yours.

    TEXT: with write, what the entry says; without it standard input is read. Secrets are redacted. A search finds
    entries too (kind:diary).

    \b
    Examples:
      recollect diary
      recollect diary read --agent claude --repo shop-api --limit 3
      recollect diary write "Moved the queue to SQLite" --pending "measure it"
    """
    if action == "write":
        entry = _write(text, sessions, agent=agent, repo=repo, given=given)
        if as_json:
            write_json(entry)
        else:
            from recollect.cli.render.learned.notes import print_entry

            print_entry(console(), entry)
        return 0
    if text or any(given[name] for name in ("topic", "decided", "discovered", "left_pending")):
        raise UsageError("words belong to `diary write`", hint='recollect diary write "…"')
    return _read(sessions, agent=agent, repo=repo, given=given, as_json=as_json)


def _read(sessions: tuple[str, ...], *, agent: str, repo: str, given: Given, as_json: bool) -> int:
    from recollect.memory import DiaryQuestion

    if len(sessions) > 1:
        raise UsageError("name one session")
    question = DiaryQuestion(
        agent=agent, repo=repo, session=sessions[0] if sessions else "", after=given["after"], before=given["before"],
        is_history=given["is_history"],
    )  # fmt: skip
    with open_memory() as memory:
        answer = memory.notes.diary.read(question, limit=given["limit"])
    if as_json:
        write_json(answer)
    else:
        from recollect.cli.render.learned.notes import print_diary

        print_diary(console(), answer)
    return 0 if answer.entries else 1


def _write(text: tuple[str, ...], sessions: tuple[str, ...], *, agent: str, repo: str, given: Given) -> DiaryEntry:
    from recollect.memory import NewEntry

    said = " ".join(text) if text else _standard_input()
    with open_memory() as memory:
        here = repo or next(iter(memory.recall.repositories(os.getcwd())), "")
        return memory.notes.diary.write(
            NewEntry(
                agent=agent or PERSON, text=said, repo=here, topic=given["topic"], decided=given["decided"],
                discovered=given["discovered"], left_pending=given["left_pending"], sessions=sessions,
            )
        )  # fmt: skip


def _standard_input() -> str:
    if sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    if len(data) > _MAX_STDIN_BYTES:
        raise UsageError(f"an entry of a diary is at most {size(_MAX_STDIN_BYTES, binary=True)}")
    return data.decode("utf-8", "replace")
