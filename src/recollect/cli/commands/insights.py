"""`recollect decisions`, `blame`, `digest` and `retro`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, get_args

import click

from recollect.cli.groups import noun
from recollect.cli.options import (
    TimeRange,
    asks_team_option,
    choice_option,
    flag,
    limit_option,
    many_option,
    no_sync_option,
    open_memory,
    path_option,
    range_options,
    repo_option,
    span_options,
    text_option,
)
from recollect.cli.results import CommandResult, ResultKind, examples, prints
from recollect.cli.terminal import Plain, write_bytes
from recollect.clock import now_us
from recollect.errors import AmbiguousName, UnknownName, UsageError
from recollect.local_time import LOCAL
from recollect.model.insights.nodes import DecisionState
from recollect.model.time import day_of
from recollect.units import size

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.memory import BlameQuestion, Memory, Retro

DECISIONS = ResultKind("decisions", "DecisionsAnswer", "insights:print_decisions", asks_memory=True)
TEAM_DECISIONS = ResultKind("decisions-team", "TeamDecisionsAnswer", "insights:print_decisions")
DECISION = ResultKind("", "DecisionView", "insights:print_decision")
BLAME = ResultKind("blame", "BlameAnswer", "insights:print_blame")
DIGEST = ResultKind("digest", "recollect.model.insights.digests:PublishedDigest", "insights:print_digest")


_STATES: tuple[DecisionState, ...] = get_args(DecisionState)


class Times(TimeRange):
    """When it was decided; when it had been (`--at`), and when the memory knew it (`--known-at`), "": now."""

    at: str
    known_at: str


@noun(default="list")
@examples(
    "decisions --repo shop-api",
    "decisions cache --at 2026-03-03 --state all",
    'decisions add "We keep SQLite" --chosen SQLite --rejected Postgres --because "one file"',
)
def decisions() -> None:
    """Show decisions and whether they still hold.

    Each decision is cited as SESSION#SEQ. This command ingests nothing. Sessions are analysed after they have ended.
    """


@decisions.command("list")
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@text_option("--repo", "NAME", "Only repositories whose name contains this.")
@text_option("--path", "PATH", "Only decisions that are about this file or folder, or led to edits in it.")
@text_option("--session", "SESSION", "Only in this session.")
@range_options
@text_option(
    "--at", "WHEN", "What held at the end of that time: 2026-08-01, 2026-08, yesterday, monday, last week, 7d."
)
@text_option("--known-at", "WHEN", "What the memory knew at that time.")
@choice_option(
    "--state",
    [*_STATES, "all"],
    "Only in this state (repeatable).",
    key="named_states",
    default=("holds", "contradicted"),
    many=True,
)
@flag("--sure", "Leave out decisions marked `maybe`.", key="is_sure")
@limit_option(50, "decisions")
@asks_team_option
@prints
@examples("decisions list cache --at 2026-03-03 --state all", "decisions --path src/cache.py")
def list_decisions(
    words: tuple[str, ...], repo: str, path: str, session: str, *, named_states: tuple[str, ...], is_sure: bool,
    limit: int, is_team: bool, **times: Unpack[Times],
) -> CommandResult:  # fmt: skip
    """List decisions, newest first.

    QUERY: words that a decision must contain, or its id (`decision:…`). `maybe` marks decisions that learned weights
    found; they are wrong more often than decisions found by rules (`recollect help how-decisions-are-found`).
    """
    from recollect.memory import DecisionQuestion

    with open_memory() as memory:
        facet = memory.decisions_facet
        question = DecisionQuestion(
            repos=(repo,) if repo else (),
            path=path,
            at=facet.instant(times["at"], name="--at") if times["at"] else None,
            known_at=facet.instant(times["known_at"], name="--known-at") if times["known_at"] else None,
            after=times["after"],
            before=times["before"],
            states=_STATES if "all" in named_states else tuple(state for state in _STATES if state in named_states),
            session=session,
            words=tuple(word for text in words for word in text.split()),
            is_sure=is_sure,
        )
        if is_team:
            shared = memory.team.decisions(question, limit=limit)
            return TEAM_DECISIONS(shared, found=shared.decisions)
        answer = facet.find(question, limit=limit)
    return DECISIONS(answer, found=answer.decisions)


@decisions.command("add")
@click.argument("statement", nargs=-1, required=True)
@text_option("--repo", "NAME", "The repository of the decision.  [default: the one in the current folder]")
@text_option("--path", "PATH", "The file or folder that the decision is about.")
@text_option("--session", "SESSION", "The session of the decision, or SESSION#SEQ.")
@many_option("--chosen", "OPTION", "What was chosen (repeatable).")
@many_option("--rejected", "OPTION", "What was rejected (repeatable).")
@text_option("--because", "REASON", "Why.")
@prints
@examples('decisions add "We keep SQLite" --chosen SQLite --rejected Postgres --because "one file"')
def add_decision(
    memory: Memory,
    statement: tuple[str, ...], repo: str, path: str, session: str, *, chosen: tuple[str, ...],
    rejected: tuple[str, ...], because: str,
) -> CommandResult:  # fmt: skip
    """Add a decision that no session contains."""
    from recollect.memory import DecisionQuestion, NewDecision

    if not repo and not session:
        repo = next(iter(memory.recall.repositories(os.getcwd())), "")
    new = NewDecision(" ".join(statement), chosen, rejected, because, session, repo, (path,) if path else ())
    added = memory.decisions_facet.add(new)
    report = memory.distilling.run(sessions=())
    if report.state == "busy":
        click.echo(
            "not compared with other decisions yet: another process is ingesting; the next sync compares it",
            err=True,
        )
    found = memory.decisions_facet.find(DecisionQuestion(words=(added.decision.id,))).decisions
    return DECISION(found[0] if found else added)


def show_decision(name: str) -> CommandResult:
    """Return the decision of an id, or of a beginning of it."""
    from recollect.memory import DecisionQuestion

    with open_memory() as memory:
        answer = memory.decisions_facet.find(DecisionQuestion(words=(name,)))
    return DECISIONS(answer, found=answer.decisions)


MAX_FILE_BYTES = 64 * 1024 * 1024
"""A larger file has no lines that a person asks about."""


@click.command()
@click.argument("place", metavar="PATH[:LINE]")
@no_sync_option
@prints
@examples("blame src/app.py:42", "blame README.md --json")
def blame(place: str, no_sync: bool) -> CommandResult:
    """Show which session, turn and decision led to a line.

    PATH is a file; LINE counts from 1. Without LINE you get the last recorded edit of the file. The answer comes from
    the lines that recorded edits added and removed. If these lines do not prove an answer, the answer is "no proof" and
    the exit code is 1.
    """
    from recollect.cli.render.progress import StageLine

    path, number = _parts(place)
    with open_memory() as memory, StageLine() as line:
        answer = memory.blame(_question(memory, path, number), sync=not no_sync, tell=line.show)
    return BLAME(answer, found=answer.blame.found is not None, number=number, now_us=now_us())


def _parts(place: str) -> tuple[Path, int | None]:
    """Return (path, line or None) of `PATH[:LINE]`; a file whose name ends so is that file. Raises UsageError."""
    path, mark, line = place.rpartition(":")
    if not mark or not path or Path(place).exists():
        return Path(place), None
    if line.isascii() and line.isdecimal():
        return Path(path), int(line)
    if Path(path).is_file():
        raise UsageError(f"{line!r} is not the number of a line", hint=f"ask for one line: {path}:42")
    return Path(place), None


def _question(memory: Memory, path: Path, number: int | None) -> BlameQuestion:
    """Return what to ask: the path below its repository, the line's text, the lines beside it. Raises UsageError."""
    from recollect.memory import BlameQuestion, repository_of

    whole = Path(os.path.abspath(path))
    if whole.is_dir():
        raise UsageError(f"{path} is a folder", hint="name a file, or a line of it: PATH:LINE")
    root, names = repository_of(whole)
    told = whole.relative_to(root).as_posix() if root is not None else whole.as_posix()
    top = str(root) if root is not None else ""
    if number is None:
        return BlameQuestion(told, repos=names, root=top)
    like = () if whole.exists() else memory.files.nearest(BlameQuestion(told, repos=names))
    if like:
        raise UsageError(f"there is no file {path}; did you mean {like[0]}?")
    lines = _lines(whole, path)
    if not 1 <= number <= len(lines):
        raise UsageError(f"{path} has {len(lines):,} lines, and no line {number}")
    around = (*lines[max(0, number - 2) : number - 1], *lines[number : number + 1])
    return BlameQuestion(told, lines[number - 1], around, names, top)


def _lines(path: Path, shown: Path) -> list[str]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{shown} is larger than {size(MAX_FILE_BYTES, binary=True)}")
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise UsageError(
            f"cannot read {shown}: {error.strerror}", hint="leave out :LINE to see the last edit of the file"
        ) from error
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


@click.command()
@click.argument("session", metavar="SESSION")
@click.option(
    "--schema",
    type=click.IntRange(1, 2),
    default=2,
    show_default=True,
    help="Version of the JSON. 1: times in microseconds, markers by rule, no active time.",
)
@prints
@examples("digest {0}:5f0c", "digest {0}:5f0c --json", "digest {0}:5f0c --json --schema 1")
def digest(session: str, schema: Literal[1, 2], as_json: bool) -> CommandResult | int:
    """Summarise one session: outcome, cost, errors.

    The summary gives the outcome and its reasons, cost, tools, errors and what fixed them, and the first and last
    words. SESSION is a session's uid or a unique prefix of it. This command ingests and analyses nothing. A session
    that is still running, or was never ingested, has no digest; the exit code is then 1.
    """
    from recollect.model.insights.digests import as_schema_1

    with open_memory() as memory:
        found = memory.digest(session)
        gone = _gone(memory, found.session_uid) if found is not None else _why_none(memory, session)
        published, errors = None, {}
        if found is not None and not as_json:
            errors = memory.errors_of(found)
        elif found is not None:
            published = memory.published(found) if schema == 2 else as_schema_1(found)
    if found is None:
        click.echo(f"no digest: {gone}", err=True)
        if not as_json:
            return 1
    return DIGEST(published if as_json else found, found=found, errors=errors, notes=[gone] if gone else [])


def _why_none(memory: Memory, named: str) -> str:
    """Say why a session has no digest. Raises UnknownName where several sessions begin like that."""
    unknown = f"no session called {named!r}; run `recollect sync` to ingest what is new"
    if not memory.home.exists():
        return unknown
    try:
        session = memory.session(named)
    except AmbiguousName:
        raise
    except UnknownName:
        return unknown
    if session.evicted_at is not None:
        return (
            f"its raw text was evicted on {day_of(session.evicted_at)}, before it was analysed, because the archive "
            "was over its hard cap; what it came to is lost"
        )
    return "the session is not analysed yet; `recollect sync` analyses it once it has ended"


def _gone(memory: Memory, uid: str) -> str:
    """Say since when a session's raw text is gone; its digest may be all that is left of it."""
    from recollect.model.sessions import gone_note

    try:
        return gone_note(memory.session(uid).evicted_at)
    except UnknownName:
        return ""


_SECOND_US, _MINUTE_US = 1_000_000, 60_000_000


_SUFFIXES = (".md", ".html")


@click.command()
@span_options("7d")
@repo_option
@path_option("--out", "FILE.md|FILE.html", "Write the report to this file.")
@no_sync_option
@prints
@examples("retro --since 30d --repo shop-api", "retro --since 2026-11-01 --out november.html")
def retro(
    since: int, until: int | None, repos: tuple[str, ...], out: Path | None, no_sync: bool, as_json: bool
) -> CommandResult:
    """Report on a period: outcomes, cost, errors, decisions.

    Prints tables on a terminal and Markdown elsewhere. Lines cite their evidence (`recollect show` opens it). An HTML
    file contains plots; for a Markdown file, they are written next to it as images. The report compares the period with
    the previous one of the same length. If nothing happened, it says so and the exit code is 1.
    `recollect sync --retro-out FOLDER` writes a report every week.
    """
    if out is not None and out.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--out {out} is neither {' nor '.join(_SUFFIXES)}", hint="name FILE.html or FILE.md")
    from recollect.cli.render.progress import StageLine

    end = until if until is not None else now_us()
    if since % _SECOND_US:  # counted back from now: the commands that show its figures name whole minutes
        since -= since % _MINUTE_US
    end += -end % _MINUTE_US if until is None else 0
    if end <= since:
        raise UsageError("--until is not after --since" if until is not None else "--since is in the future")
    with open_memory() as memory, StageLine() as line:
        zone = UTC if as_json else LOCAL
        report = memory.retro(since=since, until=end, repos=repos, sync=not no_sync, tell=line.show, zone=zone)
        written: list[Path] = []
        if out is not None and not report.is_empty:
            line.show("drawing plots")
            from recollect.cli.render.retro_page import write_report

            written = write_report(out, report, memory.home / "cache")
    return RETRO(report, found=not report.is_empty, span=(since, end), repos=repos, written=written)


def _print_retro(
    out: Console | Plain, retro: Retro, *, span: tuple[int, int], repos: Sequence[str], written: Sequence[Path]
) -> None:
    """Print a retrospective, as Markdown unless it is for a terminal, or which files it was written to."""
    from recollect.cli.render.layout import stamp
    from recollect.cli.render.retro_report import document_of, to_markdown

    if retro.is_empty:
        where = f" in {' or '.join(repos)}" if repos else ""
        click.echo(f"nothing happened{where} from {stamp(span[0])} to {stamp(span[1])}")
    elif written:
        click.echo("\n".join(f"wrote {path}" for path in written))
    elif not isinstance(out, Plain):
        from recollect.cli.render.retro_terminal import print_document

        print_document(out, document_of(retro))
    else:
        write_bytes(to_markdown(document_of(retro)).encode("utf-8", "backslashreplace"))


RETRO = ResultKind("retro", "Retro", _print_retro, is_plain=True, asks_memory=True)
