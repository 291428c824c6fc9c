"""`recollect facts`, `diary`, `tag` and `undo`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

import click

from recollect.cli.groups import noun
from recollect.cli.options import TimeRange, flag, limit_option, many_option, open_memory, range_options, text_option
from recollect.cli.results import CommandResult, ResultKind, examples, prints
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


at_option = text_option("--at", "WHEN", "What held at the end of that day, month or year.")
holds_in_option = text_option("--repo", "NAME", "The fact holds only in this repository.")
reference_option = text_option("--reference", "SESSION#SEQ", "The event that supports it.")
until_option = text_option("--until", "WHEN", "When the fact stops holding; this day or month is included.")


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which facts are meant."""
    for option in (
        flag("--history", "Include facts that have ended or were retracted.", key="is_history"),
        text_option("--known-at", "WHEN", "What the memory knew at that time."),
        at_option,
        text_option("--repo", "NAME", "Only in repositories whose name contains this."),
        text_option("--object", "NAME", "Only with this object.", key="object"),
        text_option("--predicate", "NAME", "Only with this predicate."),
        text_option("--subject", "NAME", "Only with this subject."),
        text_option("--about", "NAME", "Only facts with this subject or object."),
    ):
        command = option(command)
    return command


@noun(default="list")
@examples(
    'facts add shop-api runs_on "Python 3.12" --from 2026-03',
    "facts --about shop-api --at 2026-01-31",
    "facts means k8s kubernetes",
)
def facts() -> None:
    """Keep facts, each with the period in which it holds.

    A fact is a subject, a predicate and an object.
    """


@facts.command("list")
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@question_options
@limit_option(50, "facts")
@prints
@examples("facts list postgres", "facts --about shop-api --history")
def list_facts(memory: Memory, words: tuple[str, ...], limit: int, **options: Any) -> CommandResult:
    """List the facts that hold now, newest first.

    QUERY: words that a fact must contain.
    """
    answer = memory.notes.facts.find(_question(memory, words, **options), limit=limit)
    return FACTS(answer, found=answer.facts)


@facts.command("add")
@click.argument("subject")
@click.argument("predicate")
@click.argument("object_", metavar="OBJECT")
@holds_in_option
@text_option("--from", "WHEN", "When the fact begins to hold.", key="begin")
@until_option
@reference_option
@prints
@examples('facts add shop-api runs_on "Python 3.12" --from 2026-03')
def add_fact(
    memory: Memory, subject: str, predicate: str, object_: str, repo: str, begin: str, until: str, reference: str
) -> CommandResult:
    """Add a fact, and show which facts contradict it.

    Put quotes around a name that has several words.
    """
    from recollect.memory import NewFact

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
@text_option("--at", "WHEN", "When the new fact replaced the old ones.  [default: now]")
@until_option
@text_option("--instead-of", "OBJECT", "Replace only the fact with this object.", key="old_object")
@reference_option
@prints
@examples('facts replace shop-api runs_on "Python 3.13" --at 2026-09-01')
def replace(
    memory: Memory,
    subject: str, predicate: str, object_: str, *, repo: str, at: str, until: str, old_object: str, reference: str,
) -> CommandResult:  # fmt: skip
    """Replace the facts of a subject and predicate.

    The old facts end when the new one begins.
    """
    from recollect.memory import NewFact

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
@text_option("--at", "WHEN", "When the fact ended.  [default: now]")
@prints
@examples('facts end shop-api runs_on "Python 3.12" --at 2026-09-01')
def end_fact(memory: Memory, words: tuple[str, ...], at: str) -> CommandResult:
    """Record that a fact has ended.

    FACT is the id of the fact, or a unique prefix of the id.
    """
    facts = memory.notes.facts
    found = _named(memory, words)
    return FACT(facts.end(found.id, ended=facts.end_of(at, name="--at") if at else None))


@facts.command("retract")
@click.argument("words", metavar="FACT | SUBJECT PREDICATE OBJECT", nargs=-1, required=True)
@prints
@examples("facts retract f3kq8")
def retract(memory: Memory, words: tuple[str, ...]) -> CommandResult:
    """Record that a fact was never true.

    FACT is the id of the fact, or a unique prefix of the id.
    """
    return FACT(memory.notes.facts.retract(_named(memory, words).id))


@facts.command("means")
@click.argument("word")
@click.argument("other")
@prints
@examples("facts means k8s kubernetes")
def means(memory: Memory, word: str, other: str) -> CommandResult:
    """Declare two words synonyms: a search for one finds the other."""
    return ADDED(memory.notes.facts.means(word, other))


@facts.command("contradictions")
@text_option("--repo", "NAME", "Only in repositories whose name contains this.")
@at_option
@prints
@examples("facts contradictions --repo shop-api")
def contradictions(memory: Memory, repo: str, at: str) -> CommandResult:
    """List facts that contradict each other."""
    facts = memory.notes.facts
    found = facts.contradictions(repo=repo, at=facts.instant(at, name="--at") if at else None)
    return CONTRADICTIONS(found)


@facts.command("seed")
@text_option("--repo", "NAME", "Only in this repository.")
@prints
@examples("facts seed --repo shop-api")
def seed(memory: Memory, repo: str) -> CommandResult:
    """Add the facts that follow from decisions and learnings."""
    report = memory.notes.seeding.seed(repo=repo)
    return SEEDED(report, found=report.decisions or report.learnings)


@facts.command("export")
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@question_options
@prints
@examples("facts export --about shop-api > facts.jsonld")
def export(words: tuple[str, ...], **options: Any) -> int:
    """Print facts as JSON-LD.

    The output is always JSON; --json changes nothing.
    """
    with open_memory() as memory:
        document = memory.notes.facts.linked_data(_question(memory, words, **options))
    write_json(document)
    return 0 if document["@graph"] else 1


def _question(memory: Memory, words: tuple[str, ...], *, at: str, known_at: str, **named: Any) -> FactQuestion:
    from recollect.memory import FactQuestion

    facts = memory.notes.facts
    return FactQuestion(
        words=tuple(word for text in words for word in text.split()),
        at=facts.instant(at, name="--at") if at else None,
        known_at=facts.instant(known_at, name="--known-at") if known_at else None,
        **named,
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
@examples(
    "diary",
    "diary read --agent {0} --repo shop-api --limit 3",
    'diary write "Moved the queue to SQLite" --pending "measure it"',
)
def diary() -> None:
    """Read and write diaries: your agents' and yours.

    A search finds entries too (kind:diary).
    """


@diary.command("read")
@text_option("--agent", "SLUG", "Only this agent's diary.")
@text_option("--repo", "NAME", "Only in repositories whose name contains this.")
@text_option("--session", "SESSION", "Only entries about this session.")
@flag("--history", "Include entries of undone imports.", key="is_history")
@range_options
@limit_option(10, "entries")
@prints
@examples("diary read --agent {0} --after 1w")
def read_diary(
    agent: str, repo: str, session: str, limit: int, *, is_history: bool, **within: Unpack[TimeRange]
) -> CommandResult:
    """Read diaries, newest entry first."""
    from recollect.memory import DiaryQuestion

    question = DiaryQuestion(agent=agent, repo=repo, session=session, is_history=is_history, **within)
    with open_memory() as memory:
        answer = memory.notes.diary.read(question, limit=limit)
    return DIARY(answer, found=answer.entries)


@diary.command("write")
@click.argument("text", nargs=-1)
@text_option(
    "--agent", "SLUG", "The agent whose diary it is; `person` stands for you.", default=PERSON, show_default=True
)
@text_option("--repo", "NAME", "The repository of the entry.  [default: the one in the current folder]")
@many_option("--session", "SESSION", "A session that the entry is about (repeatable).", key="sessions")
@text_option("--topic", "WORDS", "The topic of the entry.")
@many_option("--decided", "WORDS", "What was decided (repeatable).")
@many_option("--discovered", "WORDS", "What was found out (repeatable).")
@many_option("--pending", "WORDS", "What is left to do (repeatable).", key="left_pending")
@prints
@examples(
    'diary write "Moved the queue to SQLite" --pending "measure it"',
    "git log -1 --format=%B | recollect diary write --topic release",
)
def write_diary(
    text: tuple[str, ...], agent: str, repo: str, sessions: tuple[str, ...], topic: str, *, decided: tuple[str, ...],
    discovered: tuple[str, ...], left_pending: tuple[str, ...],
) -> CommandResult:  # fmt: skip
    """Write an entry.

    Without TEXT, the entry is read from standard input. Secrets are redacted.
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
@flag("--remove", "Remove these tags; without NAME, all tags of the session.")
@text_option("--list", "NAME", "List the sessions with this tag.", key="name")
@prints
@examples("tag {0}:6f0d release migration", "tag {0}:6f0d release --remove", "tag --list release")
def tag(session: str | None, names: tuple[str, ...], remove: bool, name: str) -> CommandResult:
    """Tag sessions, to find them again with tag:NAME.

    Without NAME it lists the tags of a session; without SESSION, all tags. Tags are stored in lower case, with hyphens
    between words.
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
@flag("--list", "List what can be undone, and what was undone.", key="is_list")
@prints
@examples("undo --list", "undo b41c9a02d77e3")
def undo(batch: str | None, is_list: bool) -> CommandResult:
    """Undo what one run learned, derived or imported.

    BATCH is the id that the run printed, or a unique prefix of it. Recollect retires what the run added and no longer
    gives it to agents; its history stays. Anything you have confirmed or ended since then stays as you left it. Running
    this twice does no harm.
    """
    if batch is not None and is_list:
        raise UsageError("name a batch or use --list, not both")
    with open_memory() as memory:
        if batch is None:
            return BATCHES(memory.notes.batches.list())
        return UNDONE(memory.notes.batches.undo(batch))
