"""The queue of a model's work: jobs a second, tokens and dollars a session, with a server on this machine.

The server answers at once, with as many and as long notes as a model would give; what is measured is what is ours, and
what a model would be sent. Its tokens are counted by bytes, see `tests.endpoints.model_server`; prices are those that
the price list has for the provider's default model.
"""

from __future__ import annotations

import shutil
import time
from typing import Any

from benchmarks.learning.replayed import Replay, transcripts
from benchmarks.support.measuring import percentile
from benchmarks.support.places import Places
from benchmarks.support.results import Section
from recollect import Memory
from recollect.config import Config, DistillConfig, LearningConfig
from recollect.ingest.operations import take_changes
from tests.endpoints.model_server import noting, speaking
from tests.endpoints.served import serving

KEY_VARIABLE = "RECOLLECT_BENCH_KEY"
QUICK = 8
SPAN_S = 2.0
IDLE_S = 1
MUST_USD = 0.01
"""What a session may cost by default."""


def measure(at: Places, *, is_quick: bool = False) -> Section:
    """Ask about every turn of the replayed day; returns one section."""
    chosen = transcripts(at, most=QUICK if is_quick else None)
    home, folder = at.home("learning-queue"), at.cache / "corpora" / "replayed-queue"
    shutil.rmtree(home, ignore_errors=True)
    with serving(speaking(noting)) as server:
        # Budgets of a day are for days of a person; each session keeps its own.
        learning = LearningConfig(
            provider="anthropic", url=server.url.removesuffix("/v1"), key_variable=KEY_VARIABLE,
            day_budget_usd=1_000.0, day_budget_tokens=1_000_000_000,
        )  # fmt: skip
        first = Replay(at, folder, [])
        config = Config(agents=first.agents(), learning=learning, distill=DistillConfig(idle_seconds=IDLE_S))
        with Memory.open(home, config=config, env={KEY_VARIABLE: "of a server on this machine"}) as memory:
            memory.sync()  # from here on a model is configured: only what is said after that is asked about
            replay = Replay(at, folder, chosen, span_s=SPAN_S, is_to_come=True)
            for number, one in enumerate(chosen):
                replay.put(number, one)
            time.sleep(SPAN_S + IDLE_S + 1)  # until every session has come to rest
            take_changes(memory, None, should_stop=lambda: False)  # a sync would ask the model itself
            memory.learn.run()
            waiting = memory.learn.status().turns_waiting
            started = time.perf_counter()
            answered = memory.learn.ask()
            seconds = time.perf_counter() - started
            figures = _figures(memory, waiting=waiting, seconds=seconds, asked=len(server.asked))
            figures["notes"] = [*answered.report.notes][:5]
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    return Section(
        "learning/queue", "Learning: the queue, with a model server on this machine", figures, render(figures)
    )


def _figures(memory: Memory, *, waiting: int, seconds: float, asked: int) -> dict[str, Any]:
    from recollect.store.jobs import SpendingLedger

    status = memory.learn.status()
    ledger = SpendingLedger(memory.home)
    stored = memory.sessions(limit=100_000, sync=False).sessions
    amounts = [ledger.spent_for(session.session_uid) for session in stored]
    spent = [one.micro_dollars for one in amounts if one.calls]
    return {
        "jobs": waiting,
        "seconds": round(seconds, 2),
        "jobs_per_second": round(waiting / seconds, 1) if seconds else 0.0,
        "requests": asked,
        "input_tokens": sum(one.input_tokens for one in amounts),
        "output_tokens": sum(one.output_tokens for one in amounts),
        "usd": round(sum(spent) / 1e6, 4),
        "sessions": len(spent),
        "usd_per_session_p50": round(percentile(spent, 0.5) / 1e6, 5) if spent else 0.0,
        "usd_per_session_max": round(max(spent, default=0) / 1e6, 5),
        "left_waiting": status.turns_waiting,
        "parked": status.turns_parked,
        "dead": status.dead,
        "held_back": status.held_back,
        "hypotheses": sum(one.status == "hypothesis" for one in memory.learn.learnings()),
    }


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    rows = [
        ("jobs that waited", figures["jobs"], ""),
        ("jobs a second", figures["jobs_per_second"], ""),
        ("requests", figures["requests"], ""),
        ("LLM tokens read, written", f"{figures['input_tokens']:,}, {figures['output_tokens']:,}", ""),
        ("cost in all", f"${figures['usd']:.4f}", ""),
        ("sessions asked about", figures["sessions"], ""),
        ("cost of a session, p50", f"${figures['usd_per_session_p50']:.5f}", f"below ${MUST_USD}"),
        ("cost of a session, largest", f"${figures['usd_per_session_max']:.5f}", f"below ${MUST_USD}"),
        ("jobs left for want of budget", figures["left_waiting"], ""),
        ("jobs parked, given up", f"{figures['parked']}, {figures['dead']}", "0, 0"),
        ("answers held back", figures["held_back"], ""),
        ("learnings as hypotheses", figures["hypotheses"], ""),
    ]
    return "\n".join(["| figure | measured | bar |", "|---|--:|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)])
