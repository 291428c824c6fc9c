"""Beneath a decision or learning stands what a person said later about the same thing, in whatever words."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from recollect import ready_blocks as ready
from recollect.memory import ContextFacet, Memory, RelatedEvent
from tests.recall.context.conftest import Session, Shop

LATER = "| Said later about this: "


def before_the_sessions(shop: Shop) -> str:
    return shop.context().text.partition("Worked on here")[0]


def said(shop: Shop, name: str, *words: str) -> Session:
    session = shop.session(name).work("Show me the open issues.", "There are three of them.")
    for one in words:
        session.work(one, "All right.")
    return session


def later_of(memory: Memory, words: str) -> tuple[RelatedEvent, ...]:
    (view,) = [one for one in memory.decisions().decisions if words in one.decision.statement]
    return view.later


@pytest.mark.parametrize(
    ("rule", "later"),
    [
        ("Always run the whole suite before you push.", "Pushing needs no suite, the smoke tests will do."),
        ("Always use pip to install packages in this repository.", "uv has taken over, pip is off my machine"),
        ("Never touch the generated clients by hand.", "The generator left with Jo, so clients are ours to edit."),
        ("Write commit messages in German, always.", "Der Kunde liest mit: commit messages auf Englisch."),
        ("Niemals direkt in die Datenbank schreiben.", "Der Importer schreibt ab heute selbst in die Datenbank."),
        ("Utilise toujours des commits signés avec GPG.", "GPG, ça ne sert à rien pour les commits."),
        ("Siempre crea una rama nueva para cada cambio.", "La rama por cambio sobra, ve directo a develop."),
    ],
)
def test_what_was_said_later_about_a_rule_is_told_with_it_and_nothing_is_called_unchanged(
    shop: Shop, rule: str, later: str
) -> None:
    said(shop, "one", rule)
    assert LATER not in before_the_sessions(shop)
    session = said(shop, "two", later)
    told = before_the_sessions(shop)
    assert rule in told
    line = rf"^  {re.escape(LATER)}“{re.escape(later)}” \[{re.escape(session.uid)}#\d+, 2026-08-02\]$"
    assert re.search(line, told, re.MULTILINE)
    assert "no later change" not in told


def test_a_message_about_something_else_is_not_told(shop: Shop) -> None:
    said(shop, "one", "Always run the linter before you commit.")
    said(shop, "two", "We no longer support Node 16.", "Make the button blue, please.", "What is the time in Lisbon?")
    assert LATER not in shop.context().text


def test_the_name_that_every_second_message_has_tells_nothing_of_what_one_is_about(shop: Shop) -> None:
    said(
        shop, "one", "Use Postgres instead of MySQL for kestrel-91.", "Deploy kestrel-91.", "Where does kestrel-91 log?"
    )
    said(shop, "two", "No, never restart kestrel-91 by hand, the queue loses jobs.")
    shop.memory.sync()
    assert later_of(shop.memory, "MySQL") == ()
    said(shop, "three", "Postgres is gone from kestrel-91, it writes files now.")
    shop.memory.sync()
    assert [event.text[:8] for event in later_of(shop.memory, "MySQL")] == ["Postgres"]


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("Always put a server in front of the tests.", "The language server eats my battery."),
        ("Never use tabs in this file.", "I have three tabs open and all of them hang."),
    ],
)
def test_one_ordinary_word_alone_is_not_about_the_same_thing(shop: Shop, first: str, later: str) -> None:
    said(shop, "one", first)
    said(shop, "two", later)
    assert LATER not in before_the_sessions(shop)


def test_a_word_that_is_in_much_of_what_the_person_says_tells_nothing(shop: Shop) -> None:
    said(shop, "one", "Use Postgres for the orders.")
    said(shop, "two", *(f"The page with number {n} of the orders is slow." for n in range(30)))
    assert LATER not in before_the_sessions(shop)
    said(shop, "three", "Postgres drops the connection at night.")
    assert "“Postgres drops the connection at night.”" in before_the_sessions(shop)


def test_the_same_words_the_other_way_round_are_told_and_the_very_same_are_not(shop: Shop) -> None:
    said(shop, "one", "Always run the linter before you commit.")
    said(shop, "two", "always run the linter before you commit", "Never run the linter before you commit!")
    shop.memory.sync()
    told = [event.text for view in shop.memory.decisions().decisions for event in view.later]
    told += [e.text for one in shop.memory.recall.told(shop.memory.learn.learnings()) for e in one.later]
    assert set(told) == {"Never run the linter before you commit!"}


def test_an_answer_has_the_words_their_place_and_their_time(shop: Shop) -> None:
    said(shop, "one", "From now on use Redis for the cart cache, not Memcached.")
    session = said(shop, "two", "Is Memcached still running somewhere? Redis ate all the memory of the cart host.")
    shop.memory.sync()
    (event,) = later_of(shop.memory, "Redis")
    (found,) = [e for e in shop.memory.events(session.uid) if e.seq == event.seq]
    assert (event.label, event.session_uid, event.ts) == ("said", session.uid, found.ts)
    assert event.text == found.payload.text  # type: ignore[union-attr]
    assert event.citation in shop.memory.context(cwd=str(shop.path)).citations


def test_learnings_have_it_too(shop: Shop) -> None:
    said(shop, "one", "Always put the migrations into the schema folder.")
    said(shop, "two", "Migrations and the schema live beside their models.")
    shop.memory.sync()
    (told,) = shop.memory.recall.told([one for one in shop.memory.learn.learnings() if "schema" in one.text])
    assert [event.text for event in told.later] == ["Migrations and the schema live beside their models."]


def test_only_a_person_in_the_same_repository_and_afterwards_counts(shop: Shop) -> None:
    said(shop, "zero", "Memcached has to go.")
    said(shop, "one", "From now on use Redis for the cart cache, not Memcached.")
    shop.session("two").work("What is new?", "Redis and Memcached are both in use for the cart cache.")
    elsewhere = shop.session("three", cwd=shop.world.root / "elsewhere")
    elsewhere.work("Redis and Memcached for the cart cache?", "Both.")
    shop.memory.sync()
    assert later_of(shop.memory, "Redis") == ()


def test_what_only_repeats_the_words_is_not_told(shop: Shop) -> None:
    rule = "From now on use Redis for the cart cache, not Memcached."
    said(shop, "one", rule)
    said(shop, "two", rule)
    shop.memory.sync()
    assert all(view.later == () for view in shop.memory.decisions().decisions)


def test_a_later_word_with_a_secret_is_not_told(shop: Shop) -> None:
    said(shop, "one", "From now on use Redis for the cart cache, not Memcached.")
    said(shop, "two", "Redis for the cart cache: password=" + "hunter2-" + "orchid-9041")
    shop.memory.sync()
    assert later_of(shop.memory, "Redis") == ()


def test_without_an_index_everything_else_is_told(shop: Shop) -> None:
    said(shop, "one", "From now on use Redis for the cart cache, not Memcached.")
    said(shop, "two", "Redis ate all the memory of the cart host.")
    shop.memory.sync()
    home = shop.memory.home
    shop.memory.close()
    shutil.rmtree(Path(home) / "index")
    told = shop.memory.context(cwd=str(shop.path)).text
    assert "Redis for the cart cache" in told
    assert LATER not in told


def test_a_process_without_time_for_the_index_leaves_it_out(shop: Shop) -> None:
    said(shop, "one", "From now on use Redis for the cart cache, not Memcached.")
    said(shop, "two", "Redis ate all the memory of the cart host.")
    assert LATER in before_the_sessions(shop)
    told = ContextFacet(shop.memory.home, shop.memory.env).block(cwd=str(shop.path)).text
    assert "Redis for the cart cache" in told
    assert LATER not in told


def test_the_block_that_a_hook_finds_ready_has_it(shop: Shop) -> None:
    said(shop, "one", "From now on use Redis for the cart cache, not Memcached.")
    said(shop, "two", "Redis ate all the memory of the cart host.")
    shop.memory.sync()
    block = ready.read_block(ready.block_path(str(shop.memory.home), str(shop.path)))
    assert block is not None
    assert LATER in str(block["text"])
