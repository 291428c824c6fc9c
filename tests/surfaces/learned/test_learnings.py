"""`recollect learnings` and `recollect actions`: ask, judge, write down; what agents are given follows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from recollect.cli.commands.config import result_types
from recollect.testing.builders import ClaudeTranscript
from tests.endpoints import model_server as models
from tests.endpoints.served import serving
from tests.recall.context.conftest import Session, Shop
from tests.recall.context.learned import change, keep, learned

Recollect = Callable[..., Any]


def text(shop: Shop) -> str:
    return shop.memory.context(cwd=str(shop.path)).text


@pytest.fixture
def ids(told: Session, recollect: Recollect) -> dict[str, str]:
    """Return the ids of one learning of each sort, by its first word."""
    added = [
        recollect("learnings", "add", "Docker is needed by the integration tests", "--json"),
        recollect("learnings", "add", "uv, not pip", "--kind", "preference", "--scope", "user", "--json"),
        recollect("actions", "add", "rotate the staging key", "--priority", "urgent", "--expires", "7", "--json"),
    ]
    found = [one for done in added for one in done.data.get("actions", [done.data])]
    return {one["text"].split()[0].strip(","): one["id"] for one in found}


def test_a_list_is_confined_by_what_the_options_say(ids: dict[str, str], recollect: Recollect) -> None:
    def listed(*options: str) -> set[str]:
        done = recollect("learnings", *options, "--json")
        found = msgspec.json.decode(done.out, type=result_types()["learnings"]).learnings
        assert done.code == (0 if found else 1)
        return {learning.text.split()[0].strip(",") for learning in found}

    assert listed() == {"Docker", "uv", "rotate"}
    assert listed("--kind", "fact") == {"Docker"}
    assert listed("--scope", "user") == {"uv"}
    assert listed("--repo", "shop") == {"Docker", "rotate"}
    assert listed("--query", "TESTS docker") == {"Docker"}
    assert listed("--status", "hypothesis") == set()
    assert listed("--state", "retired") == set()
    assert listed("--limit", "1") < {"Docker", "uv", "rotate"}
    assert "the first 1; --limit shows more" in recollect("learnings", "--limit", "1").out


def test_actions_that_have_expired_are_counted_where_they_are_not_listed(
    ids: dict[str, str], recollect: Recollect, shop: Shop
) -> None:
    hint = "1 expired and not marked as done: `recollect actions list --state expired`"
    assert hint not in recollect("actions").out
    change(shop.memory.home, shop.memory.learn.learning(ids["rotate"]), state="expired")
    assert hint in recollect("actions").out
    assert hint not in recollect("actions", "list", "--state", "expired").out


def test_what_a_person_says_of_one_is_what_agents_are_given(
    ids: dict[str, str], recollect: Recollect, shop: Shop
) -> None:
    assert "Docker is needed" in text(shop)
    done = recollect(
        "learnings", "correct", ids["Docker"][:8], "Podman", "is", "needed", "--reason", "we moved", "--json"
    )
    assert (done.code, done.data["text"], done.data["state"]) == (0, "Podman is needed", "confirmed")
    assert "Docker is needed" not in text(shop)
    assert "“Podman is needed” (confirmed)" in text(shop)
    why = recollect("learnings", "why", ids["Docker"], "--json")
    told = msgspec.json.decode(why.out, type=result_types()["learnings-why"])
    assert [(v.verdict, v.reason) for v in told.verdicts] == [("said", ""), ("correct", "we moved")]
    assert told.superseded_by.id == done.data["id"]
    assert recollect("learnings", "retire", done.data["id"], "--json").data["state"] == "retired"
    assert "Podman" not in text(shop)
    assert recollect("learnings", "confirm", done.data["id"], "--json").data["state"] == "confirmed"
    assert "Podman" in text(shop)


def test_why_shows_the_words_that_it_rests_on_with_their_event(told: Session, recollect: Recollect, shop: Shop) -> None:
    event = next(e for e in shop.memory.events(told.uid) if e.kind == "user_message")
    learning = learned("the cart is counted in cents", session=told.uid)
    evidence = msgspec.structs.replace(
        learning.evidence[0], event_id=event.event_id, part=event.part, seq=event.seq, quote="cart total"
    )
    keep(shop.memory.home, msgspec.structs.replace(learning, evidence=(evidence,)))
    done = recollect("learnings", "why", learning.id)
    assert done.code == 0
    assert "user, 2026-08-01" in done.out
    assert f"{told.uid}#{event.seq}\n        “fix the cart total”" in done.out
    shown = msgspec.json.decode(
        recollect("learnings", "why", learning.id, "--json").out, type=result_types()["learnings-why"]
    )
    assert shown.evidence[0].event.event_id == event.event_id


def test_actions_are_listed_by_priority_and_done(ids: dict[str, str], recollect: Recollect, shop: Shop) -> None:
    recollect("actions", "add", "tidy the build file")
    recollect("actions", "add", "update the changelog", "--priority", "high")
    listed = recollect("actions", "--json").data["actions"]
    assert [one["text"] for one in listed] == ["rotate the staging key", "update the changelog", "tidy the build file"]
    assert "[URGENT] suggested: “rotate" in text(shop)
    done = recollect("actions", "done", listed[0]["id"], listed[2]["id"][:9], "--reason", "in the console", "--json")
    assert [one["state"] for one in done.data["actions"]] == ["done", "done"]
    assert "rotate" not in text(shop)
    assert "tidy" not in text(shop)
    assert [one["text"] for one in recollect("actions", "--json").data["actions"]] == ["update the changelog"]
    assert len(recollect("actions", "--state", "done", "--json").data["actions"]) == 2
    assert recollect("actions", "done", ids["Docker"]).code == 2  # a fact is nothing to do
    assert recollect("actions", "--repo", "shp").err.startswith(
        "recollect: no repository called 'shp'; did you mean shop?"
    )


def test_nothing_is_marked_where_one_of_the_names_is_wrong(ids: dict[str, str], recollect: Recollect) -> None:
    assert recollect("actions", "done", ids["rotate"], "lffff").code == 2
    assert len(recollect("actions", "--json").data["actions"]) == 1


@pytest.mark.parametrize(
    "argv",
    [
        ("learnings", "show"), ("learnings", "why", "a", "b"), ("learnings", "correct", "l1"),
        ("learnings", "list", "word"), ("learnings", "run", "word"), ("learnings", "show", "l0", "--dry-run"),
        ("learnings", "add", ""), ("learnings", "confirm", "nothing"), ("learnings", "ask", "one"),
        ("actions", "done"), ("actions", "list", "word"), ("actions", "--priority", "high"),
        ("actions", "add", "x", "--expires", "0"), ("context", "--dry-run"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_a_hint(told: Session, recollect: Recollect, argv: tuple[str, ...]) -> None:
    done = recollect(*argv)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(("recollect: ", "Usage: "))


def test_learning_on_demand_reads_what_is_due(told: Session, recollect: Recollect) -> None:
    done = recollect("learnings", "run", "--json")
    report = msgspec.json.decode(done.out, type=result_types()["learnings-run"])
    assert (done.code, report.state) == (0, "done")


def test_what_a_model_would_be_sent_is_shown_to_the_letter_and_not_sent(
    told: Session, recollect: Recollect, shop: Shop
) -> None:
    told.user("no, use uv and not pip; ghp_0123456789abcdefghijABCDEFGHIJ012345 is the token")
    told.assistant("I changed the script to uv.")
    shop.memory.sync()
    done = recollect("learnings", "ask", told.uid, "--dry-run", "--json")
    preview = msgspec.json.decode(done.out, type=result_types()["learnings-ask"])
    assert (done.code, preview.is_configured) == (0, False)
    (question,) = preview.questions
    assert "use uv and not pip" in question.user
    assert "ghp_0123" not in question.user
    assert 0 < question.most_usd <= preview.most_usd
    text = recollect("learnings", "ask", told.uid, "--dry-run").out
    assert "nothing was sent: 1 question to " in text
    assert "use uv and not pip" in text


@pytest.fixture
def unreachable(told: Session, recollect: Recollect, shop: Shop) -> None:
    """Turns wait for a model behind an address where nobody listens."""
    config = shop.memory.home / "config.toml"
    config.write_text('[learning]\nprovider = "ollama"\nmodel = "m"\nurl = "http://127.0.0.1:9"\n')
    recollect("sync")  # turns of before a model was configured are not asked about
    later = ClaudeTranscript(shop.world.claude_home, "two", cwd=str(shop.path), start=datetime.now(UTC))
    for number in range(10):
        later.user(f"step {number}: please run the tests with make check only")
        later.assistant(f"Step {number} is done; make check passes.")
    recollect("search", "make check")
    recollect("learnings", "run")


@pytest.mark.usefixtures("unreachable")
def test_why_a_model_was_not_asked_is_told_once(recollect: Recollect) -> None:
    for _ in ("asked now", "and at once again"):
        done = recollect("learnings", "ask")
        assert done.code == 3
        assert done.err.startswith("recollect: ")
        why = done.err.splitlines()[0].removeprefix("recollect: ")
        assert why not in done.out


@pytest.mark.usefixtures("unreachable")
def test_why_a_model_was_not_asked_is_one_json_value(recollect: Recollect) -> None:
    done = recollect("learnings", "ask", "--json")
    assert (done.code, done.err) == (3, "")
    assert done.data["error"]["message"]


def test_without_a_model_nothing_is_asked(told: Session, recollect: Recollect) -> None:
    done = recollect("learnings", "ask", "--json")
    assert done.code == 2
    assert done.data["error"]["code"] == "config"


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (("--older", "claude:x"), "leave out SESSION"),
        (("--older", "--dry-run"), "leave out SESSION"),
        (("--after", "3mo"), "add --older"),
        (("--older", "--after", "whenever"), "whenever"),
        (("--older",), "learn-with-a-model"),
    ],
)
def test_what_is_wrong_with_a_wish_for_older_sessions_is_said_in_a_line(
    told: Session, recollect: Recollect, argv: tuple[str, ...], hint: str
) -> None:
    ended = recollect("learnings", "ask", *argv)
    assert ended.code == 2
    assert hint in ended.err


def test_what_was_asked_and_what_is_left_of_the_budget_is_said(told: Session, recollect: Recollect, shop: Shop) -> None:
    told.user("Please name every table in the singular, everywhere.")
    told.assistant("Understood, every table has a singular name from now on.")
    with serving(models.speaking(models.noting)) as server:
        config = f'provider = "ollama"\nmodel = "m"\nurl = "{server.url}"\nday_budget_tokens = 50_000\n'
        (shop.memory.home / "config.toml").write_text(f"[learning]\n{config}")
        recollect("sync")
        done = recollect("learnings", "ask")
        assert (done.code, done.out.splitlines()[0]) == (0, "asked 0 questions: 0 new learnings, 0 changed")
        later = ClaudeTranscript(shop.world.claude_home, "two", cwd=str(shop.path), start=datetime.now(UTC))
        later.user("step 1: please run the tests with make check only")
        later.assistant("Step 1 is done; make check passes.")
        recollect("search", "make check")
        said = recollect("learnings", "ask").out.splitlines()
    assert len(server.asked) == 1
    assert said[0].startswith("asked 1 question: 2 new learnings")
    assert said[1].startswith("0 questions waiting; left today: $0.2500 of $0.25, 4")
    assert said[1].endswith(" of 50,000 LLM tokens")
