"""`recollect facts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.options import json_option, limit_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import FactAdded, FactQuestion, Memory
    from recollect.model.learned.notes import Fact

_SAYING = ("add", "replace")
_ENDING = ("end", "retract")
_ASKING = ("contradictions", "export")
_WORDS = {"add": 3, "replace": 3, "means": 2}


class Said(TypedDict):
    """What only `add` and `replace` take."""

    begin: str
    until: str
    old_object: str
    reference: str


class Asked(TypedDict):
    """What a question is confined by."""

    about: str
    subject: str
    predicate: str
    object_: str
    at: str
    known_at: str
    is_history: bool
    limit: int


class Given(Said, Asked):
    """All options but those that every kind of call has."""


@click.command()
@click.argument("words", metavar="[QUERY... | ACTION ...]", nargs=-1)
@click.option("--about", metavar="NAME", default="", help="Only facts with this subject or object.")
@click.option("--subject", metavar="NAME", default="", help="Only of this subject.")
@click.option("--predicate", metavar="NAME", default="", help="Only with this predicate.")
@click.option("--object", "object_", metavar="NAME", default="", help="Only with this object.")
@click.option("--repo", metavar="NAME", default="", help="Only of this repository; with add: the one it holds in.")
@click.option(
    "--at",
    metavar="WHEN",
    default="",
    help="What held then: at the end of that day, month or year. With end and replace: when. Dates as in a search.",
)
@click.option("--known-at", metavar="WHEN", default="", help="As the memory knew it then.")
@click.option("--history", "is_history", is_flag=True, help="Also what ended or never held.")
@click.option("--from", "begin", metavar="WHEN", default="", help="With add: since when it holds.")
@click.option("--until", metavar="WHEN", default="", help="With add: until when; a day or month is included.")
@click.option("--instead-of", "old_object", metavar="OBJECT", default="", help="With replace: only of this object.")
@click.option("--reference", metavar="SESSION#SEQ", default="", help="With add: what it rests on.")
@limit_option(50, "facts")
@json_option
def command(words: tuple[str, ...], repo: str, as_json: bool, **given: Unpack[Given]) -> int:
    """Show and keep facts, each with the time in which it holds.

    A fact is a subject, a predicate and an object.

    \b
    QUERY           words that must all stand in it; what holds now, the newest first
    add S P O       keep a fact; contradictions are told
    replace S P O   O takes the place of what holds of S and P, at one instant
    end FACT        it held until now, or until --at; FACT: its id, or S P O
    retract FACT    it never held
    means WORD OTHER   searches for one find the other
    contradictions  facts that cannot hold together
    seed            facts that follow from decisions and learnings
    export          as JSON-LD

    \b
    Examples:
      recollect facts add shop-api runs_on "Python 3.12" --from 2026-03
      recollect facts --about shop-api --at 2026-01-31
      recollect facts means k8s kubernetes
    """
    action, rest = (words[0], words[1:]) if words else ("", ())
    if action in _WORDS and len(rest) != _WORDS[action]:
        names = "WORD OTHER" if action == "means" else "SUBJECT PREDICATE OBJECT"
        raise UsageError(f"`facts {action}` takes {names}", hint="put quotes around several words")
    if (given["begin"] or given["until"] or given["reference"]) and action not in _SAYING:
        raise UsageError("--from, --until and --reference belong to `facts add` and `facts replace`")
    with open_memory() as memory:
        if action in _WORDS:
            return _added(_say(memory, action, rest, repo=repo, given=given), as_json=as_json)
        if action in _ENDING:
            return _ended(_end(memory, action, rest, given=given), as_json=as_json)
        if action == "seed" and not rest:
            return _seed(memory, repo, as_json=as_json)
        return _answer(memory, action, words, repo=repo, given=given, as_json=as_json)


def _say(memory: Memory, action: str, words: tuple[str, ...], *, repo: str, given: Given) -> FactAdded:
    from recollect.memory import NewFact

    facts = memory.notes.facts
    if action == "means":
        return facts.means(*words)
    subject, predicate, object_ = words
    new = NewFact(
        subject=subject,
        predicate=predicate,
        object=object_,
        valid_from=facts.begin(given["begin"], name="--from") if given["begin"] else None,
        valid_to=facts.end_of(given["until"], name="--until") if given["until"] else None,
        repo=repo,
        reference=given["reference"],
    )
    if action == "add":
        return facts.add(new)
    if given["begin"]:
        raise UsageError("`facts replace` has one instant: --at")
    at = facts.begin(given["at"], name="--at") if given["at"] else None
    return facts.supersede(new, at=at, old_object=given["old_object"])


def _end(memory: Memory, action: str, words: tuple[str, ...], *, given: Given) -> Fact:
    facts = memory.notes.facts
    if len(words) not in (1, 3):
        raise UsageError(f"`facts {action}` takes a fact's id, or SUBJECT PREDICATE OBJECT")
    fact = facts.fact(words[0]) if len(words) == 1 else facts.named(*words)
    if action == "retract":
        return facts.retract(fact.id)
    return facts.end(fact.id, ended=facts.end_of(given["at"], name="--at") if given["at"] else None)


def _answer(
    memory: Memory, action: str, words: tuple[str, ...], *, repo: str, given: Given, as_json: bool
) -> int:  # fmt: skip
    facts = memory.notes.facts
    is_asking = action in _ASKING
    question = _question(memory, words[1:] if is_asking else words, repo=repo, given=given)
    if action == "export":
        document = facts.linked_data(question)
        write_json(document)
        return 0 if document["@graph"] else 1
    if action == "contradictions":
        found = facts.contradictions(repo=repo, at=question.at)
        if as_json:
            write_json(found)
        else:
            from recollect.cli.render.learned.notes import print_contradictions

            print_contradictions(console(), found)
        return 0 if found else 1
    answer = facts.find(question, limit=given["limit"])
    if as_json:
        write_json(answer)
    else:
        from recollect.cli.render.learned.notes import print_facts

        print_facts(console(), answer)
    return 0 if answer.facts else 1


def _question(memory: Memory, words: tuple[str, ...], *, repo: str, given: Given) -> FactQuestion:
    from recollect.memory import FactQuestion

    facts = memory.notes.facts
    return FactQuestion(
        subject=given["subject"],
        predicate=given["predicate"],
        object=given["object_"],
        about=given["about"],
        repo=repo,
        words=tuple(word for text in words for word in text.split()),
        at=facts.instant(given["at"], name="--at") if given["at"] else None,
        known_at=facts.instant(given["known_at"], name="--known-at") if given["known_at"] else None,
        is_history=given["is_history"],
    )


def _added(added: FactAdded, *, as_json: bool) -> int:
    if as_json:
        write_json(added)
    else:
        from recollect.cli.render.learned.notes import print_added

        print_added(console(), added)
    return 0


def _ended(fact: Fact, *, as_json: bool) -> int:
    if as_json:
        write_json(fact)
    else:
        from recollect.cli.render.learned.notes import print_fact

        print_fact(console(), fact)
    return 0


def _seed(memory: Memory, repo: str, *, as_json: bool) -> int:
    report = memory.notes.seeding.seed(repo=repo)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.learned.notes import print_seeded

        print_seeded(console(), report)
    return 0 if report.decisions or report.learnings else 1
