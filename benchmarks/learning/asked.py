"""What asking a model about whole sessions costs: real questions over HTTP to a local server, booked in a real ledger.

Every real session of the corpus is asked about as if it were over; the day has no limit. The server counts tokens by an
assumption (`tests.endpoints.model_server.BYTES_PER_TOKEN`), and its notes are as many and as long as a model's; prices
are the list's. What a provider would count is not known here.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support import corpora
from benchmarks.support.measuring import percentile
from benchmarks.support.places import Places
from benchmarks.support.results import Section
from recollect import Memory
from recollect.config import LearningConfig
from recollect.endpoints.chat import ChatClient
from recollect.insights.learnings.budget import Budget
from recollect.insights.learnings.questions import ask, batches_of, preview
from recollect.model.learnings.spending import Amounts
from recollect.store.insight_feed import AnalysisInput, SessionFeed
from recollect.store.jobs import SpendingLedger
from tests.endpoints.model_server import BYTES_PER_TOKEN, noting, speaking
from tests.endpoints.served import serving

QUICK_SESSIONS = 10
MUST_USD = 0.01
"""What a session may cost by default."""
AT_US = 1_793_000_000_000_000
"""The day of which prices are taken: 2026-10-26."""


class SessionCost(NamedTuple):
    """One session. turns: all; asked_turns: of which something was sent. most: the estimates before, added up. denied:
    calls that the session's budget did not allow. notes, quarantined: what the answers came to."""

    session_uid: str
    turns: int
    asked_turns: int
    spent: Amounts
    most: Amounts
    denied: int
    notes: int
    quarantined: int


class Asking:
    """A configured model at the local server."""

    def __init__(self, home: Path, config: LearningConfig) -> None:
        self.client = ChatClient.of(config, {}, now_us=lambda: AT_US)
        self.budget = Budget(config, SpendingLedger(home), self.client.pricing, now_us=lambda: AT_US)

    def cost_of(self, observed: AnalysisInput) -> SessionCost:
        """Ask about every turn of a session as if it were over."""
        spent = most = Amounts()
        asked_turns = denied = notes = quarantined = 0
        for batch in batches_of(observed, is_over=True):
            most = most.plus(preview(batch, budget=self.budget).most)
            asked = ask(self.client, batch, budget=self.budget)
            if asked.denied is not None:
                denied += 1
                continue
            asked_turns += len(batch.group.turns)
            spent = spent.plus(asked.usage)
            notes += len(asked.learnings)
            quarantined += len(asked.quarantined)
        turns = len({event.turn_index for event in observed.events})
        uid = observed.session.session_uid
        return SessionCost(uid, turns, asked_turns, spent, most, denied, notes, quarantined)


def measure(at: Places, *, is_quick: bool = False) -> Section:
    """Ask about every real session; returns one section."""
    home, ledger = at.home("learning-asked"), at.home("learning-asked-ledger")
    for folder in (home, ledger):
        shutil.rmtree(folder, ignore_errors=True)
    with (
        serving(speaking(noting)) as server,
        Memory.open(home, config=corpora.real(at, only_real=True).config()) as memory,
    ):
        memory.sync()
        config = LearningConfig(
            provider="anthropic", url=server.url, day_budget_usd=10_000, day_budget_tokens=10**12
        )  # fmt: skip
        asking = Asking(ledger, config)
        found = list(_costs(memory, asking, limit=QUICK_SESSIONS if is_quick else None))
        figures = _figures(found, asking.client.model)
        asking.client.close()
    for folder in (home, ledger):
        shutil.rmtree(folder, ignore_errors=True)
    return Section("learning/asked", "Learning: what asking about real sessions costs", figures, render(figures))


def _costs(memory: Memory, asking: Asking, *, limit: int | None) -> Iterator[SessionCost]:
    """Yield what each session of a memory costs, in order of uid."""
    from recollect.privacy.redact import redactor_of

    uids = sorted(s.session_uid for s in memory.sessions(limit=1_000_000, sync=False).sessions)
    with memory.writing() as (_, _writer, _, archive, keys):
        feed = SessionFeed(memory.home, archive, redactor_of(keys.marker_key, memory.config.privacy))
        try:
            for uid in uids[:limit]:
                observed = feed.read(uid)
                if observed is not None and observed.events:
                    yield asking.cost_of(observed)
        finally:
            feed.close()


def _figures(found: list[SessionCost], model: str) -> dict[str, Any]:
    total = most = Amounts()
    for one in found:
        total, most = total.plus(one.spent), most.plus(one.most)
    usd = sorted(one.spent.micro_dollars / 1e6 for one in found)
    dearest = max(found, key=lambda one: one.spent.micro_dollars)
    return {
        "model": model,
        "sessions": len(found),
        "turns": sum(one.turns for one in found),
        "asked_turns": sum(one.asked_turns for one in found),
        "calls": total.calls,
        "input_tokens_per_call": round(total.input_tokens / max(1, total.calls)),
        "output_tokens_per_call": round(total.output_tokens / max(1, total.calls)),
        "usd": round(total.micro_dollars / 1e6, 4),
        "usd_per_session_mean": round(statistics.fmean(usd), 5),
        "usd_per_session_p95": round(percentile(usd, 0.95), 5),
        "usd_per_session_max": round(usd[-1], 5),
        "turns_of_dearest": dearest.turns,
        "sessions_at_their_limit": sum(bool(one.denied) for one in found),
        "booked_before": round(most.micro_dollars / max(1, total.micro_dollars), 2),
        "bytes_per_token": BYTES_PER_TOKEN,
    }


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    rows: list[tuple[str, object, str]] = [
        ("sessions, turns", f"{figures['sessions']}, {figures['turns']}", ""),
        ("calls, turns that they are about", f"{figures['calls']}, {figures['asked_turns']}", ""),
        (
            "LLM tokens of a call, sent and received, mean",
            f"{figures['input_tokens_per_call']:,}, {figures['output_tokens_per_call']:,}", "",
        ),
        (f"cost in all ({figures['model']})", f"${figures['usd']:.4f}", ""),
        ("cost of a session, mean", f"${figures['usd_per_session_mean']:.5f}", f"below ${MUST_USD}"),
        ("cost of a session, p95", f"${figures['usd_per_session_p95']:.5f}", f"below ${MUST_USD}"),
        (
            f"cost of the dearest session ({figures['turns_of_dearest']} turns)",
            f"${figures['usd_per_session_max']:.5f}", f"below ${MUST_USD}",
        ),
        ("sessions that met their limit", figures["sessions_at_their_limit"], ""),
        ("booked before, beside what came", f"{figures['booked_before']} times", ""),
        ("bytes that an LLM token is taken to be", figures["bytes_per_token"], ""),
    ]  # fmt: skip
    return "\n".join(["| figure | measured | bar |", "|---|--:|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)])
