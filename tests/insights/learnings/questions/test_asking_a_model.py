"""A model is asked within the budget, over a real connection; what it costs is booked whatever comes of it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from recollect.config import LearningConfig
from recollect.endpoints.chat import ChatClient
from recollect.endpoints.http import Poster, PostOptions
from recollect.errors import ConfigError, EndpointError, EndpointRefused, EndpointUnavailable, EndpointUnusable
from recollect.insights.learnings.budget import Budget
from recollect.insights.learnings.questions import Asked, TurnBatch, ask, batches_of, preview
from recollect.insights.learnings.questions.prompts import MAX_OUTPUT_TOKENS, SCHEMA, SYSTEM, question_of
from recollect.model.learnings.spending import DAY_US, Amounts, day_of_us
from recollect.store.jobs import SpendingLedger
from tests.endpoints import model_server as server
from tests.endpoints.model_server import Said, note, notes, shown_in, speaking
from tests.endpoints.served import Answer, Behaviour, serving
from tests.insights.learnings.questions.told import AT_US, UID, Told, working_day

MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna", "ollama": "qwen3:8b"}


class Asking:
    """A model at a server, a memory's ledger, and a clock that a test may turn."""

    def __init__(self, home: Path, url: str, provider: Any = "anthropic", **config: Any) -> None:
        self.now_us = AT_US
        self.config = LearningConfig(provider=provider, model=MODELS[provider], url=url, **config)
        self.client = ChatClient.of(self.config, {}, now_us=lambda: self.now_us)
        self.ledger = SpendingLedger(home)
        self.budget = Budget(self.config, self.ledger, self.client.pricing, now_us=lambda: self.now_us)

    def ask(self, batch: TurnBatch) -> Asked:
        return ask(self.client, batch, budget=self.budget)

    @property
    def spent(self) -> Amounts:
        return self.ledger.spent_on(day_of_us(self.now_us))


def day() -> TurnBatch:
    (batch,) = batches_of(working_day(), is_over=True)
    return batch


def one_note(_shown: object) -> Said:
    return notes(note("e1", "always run the tests with make check", kind="preference", text="Tests: `make check`."))


@pytest.mark.parametrize("provider", sorted(MODELS))
def test_what_a_model_notes_becomes_learnings_in_every_interface(tmp_path: Path, provider: str) -> None:
    with serving(speaking(one_note)) as found:
        asking = Asking(tmp_path, found.url, provider)
        asked = asking.ask(day())
        asking.client.close()
    shown = shown_in(found.asked[0])
    assert (shown.system, shown.user, shown.has_schema) == (SYSTEM, question_of(day()), True)
    assert [learning.text for learning in asked.learnings] == ["Tests: `make check`."]
    assert (asked.quarantined, asked.denied, asked.model) == ((), None, MODELS[provider])
    read, written = server.tokens(shown.system + shown.user), server.tokens(one_note(None).text)
    assert (asked.usage.input_tokens, asked.usage.output_tokens) == (read, written)
    assert asking.spent == asked.usage == asking.ledger.spent_for(UID)
    assert (asked.usage.micro_dollars > 0) == (provider != "ollama")


def test_nothing_is_an_answer_that_is_paid_for(tmp_path: Path) -> None:
    with serving(speaking(server.nothing)) as found:
        asking = Asking(tmp_path, found.url)
        asked = asking.ask(day())
        asking.client.close()
    assert (asked.learnings, asked.quarantined, asked.denied) == ((), (), None)
    assert asking.spent == asked.usage
    assert asked.usage.calls == 1


def test_a_preview_is_what_is_sent_and_no_dearer(tmp_path: Path) -> None:
    with serving(speaking(server.noting)) as found:
        asking = Asking(tmp_path, found.url)
        before = preview(day(), budget=asking.budget)
        assert found.asked == []
        assert asking.spent == Amounts()
        asked = asking.ask(day())
        asking.client.close()
    shown = shown_in(found.asked[0])
    assert (before.system, before.user) == (shown.system, shown.user)
    assert before.turns == (1, 2)
    assert before.most.micro_dollars >= asked.usage.micro_dollars
    assert before.most.input_tokens >= asked.usage.input_tokens
    assert before.most.output_tokens == MAX_OUTPUT_TOKENS


@pytest.mark.parametrize(
    ("behaviour", "error", "is_charged"),
    [
        (server.UNAUTHORIZED, EndpointRefused, False),
        (server.NO_CREDIT, EndpointRefused, False),
        (server.RATE_LIMITED, EndpointUnavailable, False),
        (server.OVERLOADED, EndpointUnavailable, False),
        (server.CLOSED, EndpointUnavailable, True),
        (server.broken_off(speaking(one_note)), EndpointUnavailable, True),
        (server.HUGE, EndpointUnusable, True),
        (server.always(Answer(body=b"<html>")), EndpointUnusable, True),
    ],
)
def test_a_failure_is_charged_with_the_most_where_it_may_have_cost(
    tmp_path: Path, behaviour: Behaviour, error: type[EndpointError], is_charged: bool
) -> None:
    with serving(behaviour) as found:
        asking = Asking(tmp_path, found.url)
        with pytest.raises(error):
            asking.ask(day())
        asking.client.close()
    most = preview(day(), budget=asking.budget).most
    assert asking.spent == (most if is_charged else Amounts())


def test_a_server_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    with serving(speaking(one_note)) as found:
        url = found.url
    asking = Asking(tmp_path, url)
    with pytest.raises(EndpointUnavailable, match="cannot be reached") as caught:
        asking.ask(day())
    assert (caught.value.kind, asking.spent) == ("unreachable", Amounts())


def test_a_missing_key_costs_nothing(tmp_path: Path) -> None:
    with serving(speaking(one_note)) as found:
        asking = Asking(tmp_path, found.url, key_variable="MY_KEY")
        with pytest.raises(ConfigError, match="MY_KEY"):
            asking.ask(day())
    assert (found.asked, asking.spent) == ([], Amounts())


def test_an_answer_without_a_bill_is_charged_with_the_most(tmp_path: Path) -> None:
    with serving(speaking(lambda _shown: Said('{"learnings": []}', is_billed=False))) as found:
        asking = Asking(tmp_path, found.url, "openai")
        asked = asking.ask(day())
        asking.client.close()
    assert asked.usage == preview(day(), budget=asking.budget).most == asking.spent


def test_a_bad_answer_is_paid_for_and_kept_aside(tmp_path: Path) -> None:
    with serving(speaking(lambda _shown: Said("no idea"))) as found:
        asking = Asking(tmp_path, found.url)
        asked = asking.ask(day())
        asking.client.close()
    assert asked.learnings == ()
    assert [(held.reason, held.text) for held in asked.quarantined] == [("no JSON", "no idea")]
    assert asking.spent == asked.usage
    assert asked.usage.micro_dollars > 0


def ask_until_denied(asking: Asking, batches: list[TurnBatch]) -> tuple[int, Asked | None]:
    for number, batch in enumerate(batches):
        asked = asking.ask(batch)
        if asked.denied:
            return number, asked
    return len(batches), None


def long_session(turns: int) -> list[TurnBatch]:
    told = Told()
    for number in range(turns):
        told.user(f"Wish {number}: " + "please look at the basket again, it is not right. " * 130).assistant(
            "Done. " * 40
        )
    return list(batches_of(told, is_over=True))


def test_a_session_never_costs_more_than_its_budget(tmp_path: Path) -> None:
    with serving(speaking(server.noting)) as found:
        asking = Asking(tmp_path, found.url)
        times, last = ask_until_denied(asking, long_session(60))
        asking.client.close()
    assert 0 < times < 60
    assert last is not None
    assert last.denied is not None
    assert (last.denied.exceeded, last.denied.until_us) == ("session", None)
    assert len(found.asked) == times
    assert 5_000 < asking.ledger.spent_for(UID).micro_dollars <= 10_000


def test_a_days_budget_is_waited_for(tmp_path: Path) -> None:
    with serving(speaking(server.noting)) as found:
        asking = Asking(tmp_path, found.url, day_budget_usd=0.003)
        times, last = ask_until_denied(asking, long_session(60))
        assert last is not None
        assert last.denied is not None
        assert last.denied.exceeded == "day"
        assert last.denied.until_us == (AT_US // DAY_US + 1) * DAY_US
        assert "$0.003" in last.denied.reason
        asking.now_us = last.denied.until_us
        assert asking.ask(long_session(1)[0]).denied is None
        asking.client.close()
    assert len(found.asked) == times + 1


def test_what_is_free_is_held_by_tokens(tmp_path: Path) -> None:
    with serving(speaking(server.noting)) as found:
        asking = Asking(tmp_path, found.url, "ollama", day_budget_tokens=20_000)
        times, last = ask_until_denied(asking, long_session(60))
        asking.client.close()
    assert 0 < times < 60
    assert last is not None
    assert last.denied is not None
    assert last.denied.exceeded == "day_tokens"
    assert asking.spent.tokens <= 20_000


@pytest.mark.parametrize(
    ("settings", "exceeded"),
    [
        ({"session_budget_usd": 0}, "session"),
        ({"day_budget_usd": 0}, "day"),
        ({"day_budget_tokens": 0}, "day_tokens"),
        ({"day_budget_tokens": 100}, "day_tokens"),
    ],
)
def test_a_limit_below_one_question_is_not_waited_for(tmp_path: Path, settings: Any, exceeded: str) -> None:
    with serving(speaking(server.noting)) as found:
        asking = Asking(tmp_path, found.url, **settings)
        denied = asking.ask(day()).denied
    assert denied is not None
    assert (denied.exceeded, denied.until_us) == (exceeded, None)
    assert (found.asked, asking.spent) == ([], Amounts())


def test_a_hanging_server_is_charged_with_the_most(tmp_path: Path) -> None:
    gate = threading.Event()
    with serving(server.slow(speaking(one_note), gate)) as found:
        asking = Asking(tmp_path, found.url)
        poster = Poster(found.url, timeout_s=0.05, manner=PostOptions(section="learning", attempts=1))
        asking.client._poster = poster
        with pytest.raises(EndpointUnavailable, match="longer than"):
            asking.ask(day())
        poster.close()
        gate.set()
    assert asking.spent == preview(day(), budget=asking.budget).most


def test_the_form_is_in_the_subset_that_every_interface_takes() -> None:
    def check(schema: Any) -> None:
        assert not {"minLength", "maxLength", "pattern", "minItems", "maxItems", "minimum", "$ref"} & set(schema)
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            assert sorted(schema["required"]) == sorted(schema["properties"])
            for inner in schema["properties"].values():
                check(inner)
        elif schema["type"] == "array":
            check(schema["items"])

    check(SCHEMA)
