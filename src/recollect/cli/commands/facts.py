"""`recollect facts`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from recollect.cli.groups import noun
from recollect.cli.options import json_option, limit_option, open_memory
from recollect.cli.terminal import console, write_json, write_list
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import FactAdded, FactQuestion, Memory
    from recollect.model.learnings.notes import Fact


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
    help="What held then: at the end of that day, month or year. Dates as in a search.",
)
holds_in_option = click.option("--repo", metavar="NAME", default="", help="The repository that it holds in.")
reference_option = click.option("--reference", metavar="SESSION#SEQ", default="", help="The event that it rests on.")
until_option = click.option(
    "--until", metavar="WHEN", default="", help="Until when it holds; a day or month is included."
)


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which facts are meant."""
    for option in (
        click.option("--history", "is_history", is_flag=True, help="Also what ended or never held."),
        click.option("--known-at", metavar="WHEN", default="", help="As the memory knew it then."),
        at_option,
        click.option("--repo", metavar="NAME", default="", help="Only of this repository."),
        click.option("--object", "object_", metavar="NAME", default="", help="Only with this object."),
        click.option("--predicate", metavar="NAME", default="", help="Only with this predicate."),
        click.option("--subject", metavar="NAME", default="", help="Only of this subject."),
        click.option("--about", metavar="NAME", default="", help="Only facts with this subject or object."),
    ):
        command = option(command)
    return command


@noun(default="list")
def command() -> None:
    """Show and keep facts, each with the time in which it holds.

    A fact is a subject, a predicate and an object.

    \b
    Examples:
      recollect facts add shop-api runs_on "Python 3.12" --from 2026-03
      recollect facts --about shop-api --at 2026-01-31
      recollect facts means k8s kubernetes
    """


@command.command("list")
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@question_options
@limit_option(50, "facts")
@json_option
def list_facts(words: tuple[str, ...], limit: int, as_json: bool, **options: Unpack[FactOptions]) -> int:
    """List the facts that hold now, newest first.

    QUERY: words that must all stand in a fact.

    \b
    Examples:
      recollect facts list postgres
      recollect facts --about shop-api --history
    """
    with open_memory() as memory:
        answer = memory.notes.facts.find(_question(memory, words, options), limit=limit)
    if as_json:
        write_json(answer)
    else:
        from recollect.cli.render.learnings.notes import print_facts

        print_facts(console(), answer)
    return 0 if answer.facts else 1


@command.command()
@click.argument("subject")
@click.argument("predicate")
@click.argument("object_", metavar="OBJECT")
@holds_in_option
@click.option("--from", "begin", metavar="WHEN", default="", help="Since when it holds.")
@until_option
@reference_option
@json_option
def add(
    subject: str, predicate: str, object_: str, repo: str, begin: str, until: str, reference: str, *, as_json: bool
) -> int:
    """Keep a fact, and show which facts contradict it.

    Put quotes around a name of several words.

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
        return _show_added(facts.add(new), as_json=as_json)


@command.command()
@click.argument("subject")
@click.argument("predicate")
@click.argument("object_", metavar="OBJECT")
@holds_in_option
@click.option("--at", metavar="WHEN", default="", help="When it took the place of what held; by default now.")
@until_option
@click.option(
    "--instead-of", "old_object", metavar="OBJECT", default="", help="Replace only the fact with this object."
)
@reference_option
@json_option
def replace(
    subject: str, predicate: str, object_: str, *, repo: str, at: str, until: str, old_object: str, reference: str,
    as_json: bool,
) -> int:  # fmt: skip
    """Replace what holds of a subject and predicate.

    The old facts end and the new one begins at the same instant.

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
        return _show_added(facts.supersede(new, at=replaced_at, old_object=old_object), as_json=as_json)


@command.command()
@click.argument("words", metavar="FACT | SUBJECT PREDICATE OBJECT", nargs=-1, required=True)
@click.option("--at", metavar="WHEN", default="", help="When it ended; by default now.")
@json_option
def end(words: tuple[str, ...], at: str, as_json: bool) -> int:
    """Say that a fact has ended.

    FACT: its id, or a beginning of it.

    \b
    Example:
      recollect facts end shop-api runs_on "Python 3.12" --at 2026-09-01
    """
    with open_memory() as memory:
        facts = memory.notes.facts
        found = _named(memory, words)
        return _show_fact(facts.end(found.id, ended=facts.end_of(at, name="--at") if at else None), as_json=as_json)


@command.command()
@click.argument("words", metavar="FACT | SUBJECT PREDICATE OBJECT", nargs=-1, required=True)
@json_option
def retract(words: tuple[str, ...], as_json: bool) -> int:
    """Say that a fact never held.

    FACT: its id, or a beginning of it.

    \b
    Example:
      recollect facts retract f3kq8
    """
    with open_memory() as memory:
        return _show_fact(memory.notes.facts.retract(_named(memory, words).id), as_json=as_json)


@command.command()
@click.argument("word")
@click.argument("other")
@json_option
def means(word: str, other: str, as_json: bool) -> int:
    """Say that two words mean the same: searches for one find the other.

    \b
    Example:
      recollect facts means k8s kubernetes
    """
    with open_memory() as memory:
        return _show_added(memory.notes.facts.means(word, other), as_json=as_json)


@command.command()
@click.option("--repo", metavar="NAME", default="", help="Only of this repository.")
@at_option
@json_option
def contradictions(repo: str, at: str, as_json: bool) -> int:
    """List the facts that cannot hold together.

    \b
    Example:
      recollect facts contradictions --repo shop-api
    """
    with open_memory() as memory:
        facts = memory.notes.facts
        found = facts.contradictions(repo=repo, at=facts.instant(at, name="--at") if at else None)
    if as_json:
        write_list("contradictions", found)
    else:
        from recollect.cli.render.learnings.notes import print_contradictions

        print_contradictions(console(), found)
    return 0 if found else 1


@command.command()
@click.option("--repo", metavar="NAME", default="", help="Only of this repository.")
@json_option
def seed(repo: str, as_json: bool) -> int:
    """Keep the facts that follow from decisions and learnings.

    \b
    Example:
      recollect facts seed --repo shop-api
    """
    with open_memory() as memory:
        report = memory.notes.seeding.seed(repo=repo)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.learnings.notes import print_seeded

        print_seeded(console(), report)
    return 0 if report.decisions or report.learnings else 1


@command.command()
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@question_options
@json_option
def export(words: tuple[str, ...], as_json: bool, **options: Unpack[FactOptions]) -> int:
    """Print facts as JSON-LD.

    The output is always JSON; --json is accepted and changes nothing.

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


def _show_added(added: FactAdded, *, as_json: bool) -> int:
    if as_json:
        write_json(added)
    else:
        from recollect.cli.render.learnings.notes import print_added

        print_added(console(), added)
    return 0


def _show_fact(fact: Fact, *, as_json: bool) -> int:
    if as_json:
        write_json(fact)
    else:
        from recollect.cli.render.learnings.notes import print_fact

        print_fact(console(), fact)
    return 0
