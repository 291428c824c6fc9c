"""`recollect facts`, `diary`, `tag` and `undo`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from recollect.cli.groups import noun
from recollect.cli.options import TimeRange, limit_option, open_memory, range_options
from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.cli.terminal import write_json
from recollect.errors import UsageError
from recollect.units import size

if TYPE_CHECKING:
    from recollect.memory import FactQuestion, Memory
    from recollect.model.learnings.notes import Fact

FACTS = ResultKind("facts", "FactsAnswer", "learnings:print_facts")
FACT = ResultKind("fact", "recollect.model.learnings.notes:Fact", "learnings:print_fact")
ADDED = ResultKind("facts-added", "FactAdded", "learnings:print_added")
CONTRADICTIONS = ResultKind(
    "facts-contradictions", "Contradiction", "learnings:print_contradictions", listed="contradictions"
)
SEEDED = ResultKind("facts-seed", "SeedReport", "learnings:print_seeded")
DIARY = ResultKind("diary", "DiaryAnswer", "learnings:print_diary")
ENTRY = ResultKind("diary-entry", "recollect.model.learnings.notes:DiaryEntry", "learnings:print_entry")
TAGS = ResultKind("tag", "Tagged", "learnings:print_tags", listed="tags")
UNDONE = ResultKind("undo", "UndoReport", "learnings:print_undone")
BATCHES = ResultKind("undo-list", "recollect.model.learnings.notes:Batch", "learnings:print_batches", listed="batches")


class FactOptions(TypedDict):
    """What `question_options` gives."""

    about: str
    subject: str
    predicate: str
    object_: str
    repo: str
    at: str
    known_at: str
    is_history: bool


at_option = click.option(
    "--at",
    metavar="WHEN",
    default="",
    help="What held at the end of that day, month or year.",
)
holds_in_option = click.option("--repo", metavar="NAME", default="", help="The fact holds only in this repository.")
reference_option = click.option("--reference", metavar="SESSION#SEQ", default="", help="The event that supports it.")
until_option = click.option(
    "--until", metavar="WHEN", default="", help="When the fact stops holding; this day or month is included."
)


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which facts are meant."""
    for option in (
        click.option("--history", "is_history", is_flag=True, help="Include facts that have ended or were retracted."),
        click.option("--known-at", metavar="WHEN", default="", help="What the memory knew at that time."),
        at_option,
        click.option("--repo", metavar="NAME", default="", help="Only in this repository."),
        click.option("--object", "object_", metavar="NAME", default="", help="Only with this object."),
        click.option("--predicate", metavar="NAME", default="", help="Only with this predicate."),
        click.option("--subject", metavar="NAME", default="", help="Only with this subject."),
        click.option("--about", metavar="NAME", default="", help="Only facts with this subject or object."),
    ):
        command = option(command)
    return command


@noun(default="list")
def facts() -> None:
    """Keep facts, each with the period in which it holds.

    A fact is a subject, a predicate and an object.

    \b
    Examples:
      recollect facts add shop-api runs_on "Python 3.12" --from 2026-03
      recollect facts --about shop-api --at 2026-01-31
      recollect facts means k8s kubernetes
    """


@facts.command("list")
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@question_options
@limit_option(50, "facts")
@prints
def list_facts(words: tuple[str, ...], limit: int, **options: Unpack[FactOptions]) -> CommandResult:
    """List the facts that hold now, newest first.

    QUERY: words that a fact must contain.

    \b
    Examples:
      recollect facts list postgres
      recollect facts --about shop-api --history
    """
    with open_memory() as memory:
        answer = memory.notes.facts.find(_question(memory, words, options), limit=limit)
    return FACTS(answer, found=answer.facts)


@facts.command("add")
@click.argument("subject")
@click.argument("predicate")
@click.argument("object_", metavar="OBJECT")
@holds_in_option
@click.option("--from", "begin", metavar="WHEN", default="", help="When the fact begins to hold.")
@until_option
@reference_option
@prints
def add_fact(
    subject: str, predicate: str, object_: str, repo: str, begin: str, until: str, reference: str
) -> CommandResult:
    """Add a fact, and show which facts contradict it.

    Put quotes around a name that has several words.

    \b
    Example:
      recollect facts add shop-api runs_on "Python 3.12" --from 2026-03
    """
    from recollect.memory import NewFact

    with open_memory() as memory:
        facts = memory.notes.facts
        new = NewFact(
            subject=subject,
            predicate=predicate,
            object=object_,
            valid_from=facts.begin(begin, name="--from") if begin else None,
            valid_to=facts.end_of(until, name="--until") if until else None,
            repo=repo,
            reference=reference,
        )
        return ADDED(facts.add(new))


@facts.command("replace")
@click.argument("subject")
@click.argument("predicate")
@click.argument("object_", metavar="OBJECT")
@holds_in_option
@click.option("--at", metavar="WHEN", default="", help="When the new fact replaced the old ones.  [default: now]")
@until_option
@click.option(
    "--instead-of", "old_object", metavar="OBJECT", default="", help="Replace only the fact with this object."
)
@reference_option
@prints
def replace(
    subject: str, predicate: str, object_: str, *, repo: str, at: str, until: str, old_object: str, reference: str,
) -> CommandResult:  # fmt: skip
    """Replace the facts of a subject and predicate.

    The old facts end when the new one begins.

    \b
    Example:
      recollect facts replace shop-api runs_on "Python 3.13" --at 2026-09-01
    """
    from recollect.memory import NewFact

    with open_memory() as memory:
        facts = memory.notes.facts
        new = NewFact(
            subject=subject,
            predicate=predicate,
            object=object_,
            valid_to=facts.end_of(until, name="--until") if until else None,
            repo=repo,
            reference=reference,
        )
        replaced_at = facts.begin(at, name="--at") if at else None
        return ADDED(facts.supersede(new, at=replaced_at, old_object=old_object))


@facts.command("end")
@click.argument("words", metavar="FACT | SUBJECT PREDICATE OBJECT", nargs=-1, required=True)
@click.option("--at", metavar="WHEN", default="", help="When the fact ended.  [default: now]")
@prints
def end_fact(words: tuple[str, ...], at: str) -> CommandResult:
    """Record that a fact has ended.

    FACT is the id of the fact, or a unique prefix of the id.

    \b
    Example:
      recollect facts end shop-api runs_on "Python 3.12" --at 2026-09-01
    """
    with open_memory() as memory:
        facts = memory.notes.facts
        found = _named(memory, words)
        return FACT(facts.end(found.id, ended=facts.end_of(at, name="--at") if at else None))


@facts.command("retract")
@click.argument("words", metavar="FACT | SUBJECT PREDICATE OBJECT", nargs=-1, required=True)
@prints
def retract(words: tuple[str, ...]) -> CommandResult:
    """Record that a fact was never true.

    FACT is the id of the fact, or a unique prefix of the id.

    \b
    Example:
      recollect facts retract f3kq8
    """
    with open_memory() as memory:
        return FACT(memory.notes.facts.retract(_named(memory, words).id))


@facts.command("means")
@click.argument("word")
@click.argument("other")
@prints
def means(word: str, other: str) -> CommandResult:
    """Declare two words synonyms: a search for one finds the other.

    \b
    Example:
      recollect facts means k8s kubernetes
    """
    with open_memory() as memory:
        return ADDED(memory.notes.facts.means(word, other))


@facts.command("contradictions")
@click.option("--repo", metavar="NAME", default="", help="Only in this repository.")
@at_option
@prints
def contradictions(repo: str, at: str) -> CommandResult:
    """List facts that contradict each other.

    \b
    Example:
      recollect facts contradictions --repo shop-api
    """
    with open_memory() as memory:
        facts = memory.notes.facts
        found = facts.contradictions(repo=repo, at=facts.instant(at, name="--at") if at else None)
    return CONTRADICTIONS(found)


@facts.command("seed")
@click.option("--repo", metavar="NAME", default="", help="Only in this repository.")
@prints
def seed(repo: str) -> CommandResult:
    """Add the facts that follow from decisions and learnings.

    \b
    Example:
      recollect facts seed --repo shop-api
    """
    with open_memory() as memory:
        report = memory.notes.seeding.seed(repo=repo)
    return SEEDED(report, found=report.decisions or report.learnings)


@facts.command("export")
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@question_options
@prints
def export(words: tuple[str, ...], **options: Unpack[FactOptions]) -> int:
    """Print facts as JSON-LD.

    The output is always JSON; --json changes nothing.

    \b
    Example:
      recollect facts export --about shop-api > facts.jsonld
    """
    with open_memory() as memory:
        document = memory.notes.facts.linked_data(_question(memory, words, options))
    write_json(document)
    return 0 if document["@graph"] else 1


def _question(memory: Memory, words: tuple[str, ...], options: FactOptions) -> FactQuestion:
    from recollect.memory import FactQuestion

    facts = memory.notes.facts
    return FactQuestion(
        subject=options["subject"],
        predicate=options["predicate"],
        object=options["object_"],
        about=options["about"],
        repo=options["repo"],
        words=tuple(word for text in words for word in text.split()),
        at=facts.instant(options["at"], name="--at") if options["at"] else None,
        known_at=facts.instant(options["known_at"], name="--known-at") if options["known_at"] else None,
        is_history=options["is_history"],
    )


def _named(memory: Memory, words: tuple[str, ...]) -> Fact:
    """Return the fact that an id, or a subject, predicate and object, name."""
    if len(words) not in (1, 3):
        raise UsageError(
            "name a fact by its id, or by SUBJECT PREDICATE OBJECT", hint="put quotes around several words"
        )
    facts = memory.notes.facts
    return facts.fact(words[0]) if len(words) == 1 else facts.named(*words)


_MAX_STDIN_BYTES = 1 << 20
PERSON = "person"
"""Whose diary it is where a person says nothing else."""


@noun(default="read")
def diary() -> None:
    """Read and write diaries: your agents' and yours.

    A search finds entries too (kind:diary).

    \b
    Examples:
      recollect diary
      recollect diary read --agent claude --repo shop-api --limit 3
      recollect diary write "Moved the queue to SQLite" --pending "measure it"
    """


@diary.command("read")
@click.option("--agent", metavar="SLUG", default="", help="Only this agent's diary.")
@click.option("--repo", metavar="NAME", default="", help="Only in this repository.")
@click.option("--session", metavar="SESSION", default="", help="Only entries about this session.")
@click.option("--history", "is_history", is_flag=True, help="Include entries of undone imports.")
@range_options
@limit_option(10, "entries")
@prints
def read_diary(
    agent: str, repo: str, session: str, limit: int, *, is_history: bool, **within: Unpack[TimeRange]
) -> CommandResult:
    """Read diaries, newest entry first.

    \b
    Example:
      recollect diary read --agent claude --after 1w
    """
    from recollect.memory import DiaryQuestion

    question = DiaryQuestion(agent=agent, repo=repo, session=session, is_history=is_history, **within)
    with open_memory() as memory:
        answer = memory.notes.diary.read(question, limit=limit)
    return DIARY(answer, found=answer.entries)


@diary.command("write")
@click.argument("text", nargs=-1)
@click.option(
    "--agent",
    metavar="SLUG",
    default=PERSON,
    show_default=True,
    help="The agent whose diary it is; `person` stands for you.",
)
@click.option(
    "--repo", metavar="NAME", default="", help="The repository of the entry.  [default: the one in the current folder]"
)
@click.option(
    "--session", "sessions", metavar="SESSION", multiple=True, help="A session that the entry is about (repeatable)."
)
@click.option("--topic", metavar="WORDS", default="", help="The topic of the entry.")
@click.option("--decided", metavar="WORDS", multiple=True, help="What was decided (repeatable).")
@click.option("--discovered", metavar="WORDS", multiple=True, help="What was found out (repeatable).")
@click.option("--pending", "left_pending", metavar="WORDS", multiple=True, help="What is left to do (repeatable).")
@prints
def write_diary(
    text: tuple[str, ...], agent: str, repo: str, sessions: tuple[str, ...], topic: str, *, decided: tuple[str, ...],
    discovered: tuple[str, ...], left_pending: tuple[str, ...],
) -> CommandResult:  # fmt: skip
    """Write an entry.

    Without TEXT, the entry is read from standard input. Secrets are redacted.

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
    return ENTRY(entry)


def _standard_input() -> str:
    if sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    if len(data) > _MAX_STDIN_BYTES:
        raise UsageError(f"a diary entry can have at most {size(_MAX_STDIN_BYTES, binary=True)}")
    return data.decode("utf-8", "replace")


@click.command()
@click.argument("session", required=False)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--remove", is_flag=True, help="Remove these tags; without NAME, all tags of the session.")
@click.option("--list", "name", metavar="NAME", default="", help="List the sessions with this tag.")
@prints
def tag(session: str | None, names: tuple[str, ...], remove: bool, name: str) -> CommandResult:
    """Tag sessions, to find them again with tag:NAME.

    Without NAME it lists the tags of a session; without SESSION, all tags. Tags are stored in lower case, with hyphens
    between words.

    \b
    Examples:
      recollect tag claude:6f0d release migration
      recollect tag claude:6f0d release --remove
      recollect tag --list release
    """
    if session is None and remove:
        raise UsageError("name the session whose tags to remove")
    if session is not None and name:
        raise UsageError("--list NAME needs no session")
    with open_memory() as memory:
        if session is not None and remove:
            tags = memory.notes.untag(session, names)
        elif session is not None and names:
            tags = memory.notes.tag(session, names)
        else:
            tags = memory.notes.tags(session=session or "", name=name)
    return TAGS(tags, found=tags or remove)


@click.command()
@click.argument("batch", required=False)
@click.option("--list", "is_list", is_flag=True, help="List what can be undone, and what was undone.")
@prints
def undo(batch: str | None, is_list: bool) -> CommandResult:
    """Undo what one run learned, derived or imported.

    BATCH is the id that the run printed, or a unique prefix of it. Recollect retires what the run added and no longer
    gives it to agents; its history stays. Anything you have confirmed or ended since then stays as you left it. Running
    this twice does no harm.

    \b
    Examples:
      recollect undo --list
      recollect undo b41c9a02d77e3
    """
    if batch is not None and is_list:
        raise UsageError("name a batch or use --list, not both")
    with open_memory() as memory:
        if batch is None:
            return BATCHES(memory.notes.batches.list())
        return UNDONE(memory.notes.batches.undo(batch))
