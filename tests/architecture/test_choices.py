"""What is looked up by one of a closed set of choices knows every choice: a new one is added everywhere, or fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

import pytest

from recollect.cli.commands import documents, erasure, ingest
from recollect.cli.commands import learnings as learnings_commands
from recollect.cli.commands import stats as stats_commands
from recollect.cli.render import agents, learnings, stats
from recollect.erasure.retention import EvictReason
from recollect.insights.decisions import decisions
from recollect.insights.language import answers
from recollect.insights.learnings.pause import PauseReason
from recollect.insights.retro.report import INTERVENTIONS
from recollect.maintenance import memory_checks as learned
from recollect.maintenance.service.service import live_of, plan_for
from recollect.memory import (
    AgentReport,
    CollectionReport,
    EmbedReport,
    EvictReport,
    ForgetReport,
    LearnReport,
    SyncReport,
)
from recollect.model.insights.signals import HumanIntervention
from recollect.model.learnings.learnings import LearningKind, Priority, Scope
from recollect.recall.context import learnings as scoring
from recollect.recall.context.lines import ContextEvent
from recollect.store.rows import UsageBy
from tests.maintenance.service.jobs import job


def field(struct: Any, name: str) -> Any:
    return get_type_hints(struct)[name]


LOOKUPS: list[tuple[str, Mapping[str, Any], Any]] = [
    ("exit codes of sync", ingest.EXIT_CODES, field(SyncReport, "state")),
    ("exit codes of docs", documents.EXIT_CODES, field(CollectionReport, "state")),
    ("exit codes of embed", ingest.EMBED_EXIT_CODES, field(EmbedReport, "state")),
    ("exit codes of evict", erasure.EVICT_EXIT_CODES, field(EvictReport, "state")),
    ("exit codes of forget", erasure.FORGET_EXIT_CODES, field(ForgetReport, "state")),
    ("exit codes of learnings", learnings_commands.EXIT_CODES, field(LearnReport, "state")),
    ("what setup says it did", agents._SETUP_STATES, field(AgentReport, "state")),
    ("groupings of usage", dict.fromkeys(stats_commands.GROUPINGS), UsageBy),
    ("how a person stepped in", INTERVENTIONS, field(HumanIntervention, "reason")),
    ("why a session went", stats._WHY, EvictReason),
    ("priorities", learnings._PRIORITIES, Priority),
    ("half-lives", scoring.HALF_LIFE_DAYS, LearningKind),
    ("worth of scopes", scoring.SCOPES, Scope),
    ("what to do when a model is not asked", learned._HINTS, PauseReason),
    ("features of answers", decisions._FEATURES, answers.Kind),
]


@pytest.mark.parametrize(("known", "choices"), [row[1:] for row in LOOKUPS], ids=[row[0] for row in LOOKUPS])
def test_a_lookup_knows_every_choice_and_no_other(known: Mapping[str, Any], choices: Any) -> None:
    assert set(known) == set(get_args(choices))


def test_a_context_is_built_for_every_event_but_a_prompt() -> None:
    from recollect.recall.context.builder import ordered

    for event in get_args(ContextEvent):
        if event == "prompt":
            with pytest.raises(ValueError):
                ordered(event)
        else:
            assert ordered(event)


@pytest.mark.parametrize("ask", [plan_for, live_of])
def test_a_service_manager_that_nobody_knows_is_not_taken_for_another(ask: Callable[..., object]) -> None:
    with pytest.raises(AssertionError):
        ask("upstart", job(), lambda _: (0, ""))
