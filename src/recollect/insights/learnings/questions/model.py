"""Asks a model about one batch of turns within the budget, and previews the question."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

import msgspec

from recollect.endpoints.chat import ChatClient
from recollect.endpoints.chat_interface import ChatAnswer
from recollect.errors import ConfigError, EndpointError, EndpointUnusable
from recollect.insights.learnings.budget import Budget, Denial
from recollect.insights.learnings.questions.answers import judge
from recollect.insights.learnings.questions.batches import TurnBatch, TurnGroup
from recollect.insights.learnings.questions.prompts import (
    MAX_OUTPUT_TOKENS,
    PROMPT_VERSION,
    SCHEMA,
    SYSTEM,
    Held,
    question_of,
)
from recollect.model.learnings.learnings import Learning
from recollect.model.learnings.spending import Amounts

EXTRACTOR: Final = "model@1"
"""Name and version of how answers are judged; together with PROMPT_VERSION part of the key of a job."""
_FRAME = msgspec.json.encode(SCHEMA).decode() + " " * 1_000
"""What is sent beside the texts: the schema, and about what a provider adds to explain it."""
_MAY_HAVE_COST = frozenset(("slow", "cut"))
"""Kinds of failure after which the server may have answered all the same."""


class Asked(NamedTuple):
    """The result of asking about a batch.

    learnings: of status `hypothesis`, without `recorded_at` and `batch`; empty: the model found nothing, which is an
    answer too. quarantined: what cannot be used, each with the reason. usage: tokens and cost. denied: nothing was
    asked, because the budget does not allow it. model: as the server names it.
    """

    learnings: tuple[Learning, ...] = ()
    quarantined: tuple[Held, ...] = ()
    usage: Amounts = Amounts()
    denied: Denial | None = None
    model: str = ""


class Preview(NamedTuple):
    """What would be sent for one batch, and what it would cost at most. micro_dollars: millionths of a US dollar."""

    turns: tuple[int, ...]
    system: str
    user: str
    most: Amounts


def ask(client: ChatClient, batch: TurnBatch, *, budget: Budget) -> Asked:
    """Ask a model what it would learn of a batch.

    The caller has no transaction open: the budget is booked before the question is sent, and corrected after.

    Raises:
        EndpointUnavailable, EndpointRefused, EndpointUnusable, ConfigError: see `ChatClient.complete`.
        StoreError: the budget cannot be booked.
    """
    user = question_of(batch)
    most = _most(budget, user)
    held = budget.reserve(batch.session.session_uid, most)
    if isinstance(held, Denial):
        return Asked(denied=held)
    try:
        answer = client.complete(
            SYSTEM, user, schema=SCHEMA, max_output_tokens=MAX_OUTPUT_TOKENS, input_tokens=most.input_tokens
        )
    except EndpointUnusable:
        raise  # an answer came: it is charged with the most that it can have cost
    except (EndpointError, ConfigError) as error:
        if not isinstance(error, EndpointError) or error.kind not in _MAY_HAVE_COST:
            budget.settle(held, Amounts())
        raise
    spent = _spent(answer, most)
    budget.settle(held, spent)
    found = judge(answer, batch, extractor=f"{EXTRACTOR}/{PROMPT_VERSION}")
    return Asked(found.learnings, found.quarantined, usage=spent, model=answer.model)


def preview(batch: TurnBatch, *, budget: Budget) -> Preview:
    """Return what would be sent for a batch; nothing is."""
    user = question_of(batch)
    return Preview(batch.group.turns, SYSTEM, user, _most(budget, user))


def job_key(group: TurnGroup, extractor: str = EXTRACTOR, prompt_version: str = PROMPT_VERSION) -> str:
    """Return the name of the work that some turns are: the same events asked the same way are the same work."""
    parts = [group.session_uid, extractor, prompt_version, *(f"{event_id}#{part}" for event_id, part in group.events)]
    return "model:" + hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _most(budget: Budget, user: str) -> Amounts:
    return budget.most(SYSTEM + user + _FRAME, max_output_tokens=MAX_OUTPUT_TOKENS)


def _spent(answer: ChatAnswer, most: Amounts) -> Amounts:
    """Return what an answer cost by what the server says; what it does not say counts as the most."""
    if answer.cost_micro_dollars is None:
        return most
    return Amounts(1, answer.input_tokens, answer.output_tokens, answer.cost_micro_dollars)
