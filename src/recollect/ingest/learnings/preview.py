"""Shows what a model would be sent of a session, and what it would cost at most. Nothing is sent, nothing booked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from recollect.config import Config, LearningConfig
from recollect.errors import UnknownName
from recollect.model.sessions import Session

PREVIEW_SCHEMA_VERSION = 1
UNDECIDED = "anthropic"
"""The provider that is shown where none is configured: what is sent is the same, only address and price differ."""
_MICRO = 1_000_000


class PreviewedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One call that would be made. turns: their numbers in the session. system, user: the texts that would be sent,
    redacted. most_…: what it can cost at most; the bill will not exceed it."""

    turns: tuple[int, ...]
    system: str
    user: str
    most_input_tokens: int
    most_output_tokens: int
    most_usd: float


class AskPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What a model would be sent of a session if it were asked about all of it now.

    is_configured: a provider is; else the default one of `UNDECIDED` is shown. url: where it would be sent. is_key_set:
    the environment variable `key_variable` holds a key ("": none is needed). most_usd: of all questions;
    session_budget_usd: where asking about a session ends. prices_on: date of the price list, "" where it says none.
    """

    session_uid: str
    is_configured: bool
    provider: str
    model: str
    url: str
    key_variable: str
    is_key_set: bool
    questions: tuple[PreviewedQuestion, ...]
    most_usd: float
    session_budget_usd: float
    prices_on: str
    schema_version: int = PREVIEW_SCHEMA_VERSION


class ReadableHome(Protocol):
    """What a preview needs of an open memory."""

    home: Path
    config: Config
    env: Mapping[str, str]

    def session(self, uid: str) -> Session: ...


def preview_of(memory: ReadableHome, session: str, *, now_us: Callable[[], int]) -> AskPreview:
    """Return what would be sent of a session, as if it were over. Raises UnknownName, ConfigError, StoreError."""
    from recollect.endpoints.chat import pricing_of, target_of
    from recollect.insights.learnings.budget import Budget
    from recollect.insights.learnings.questions import batches_of, preview
    from recollect.store.home import Home, LazyArchive, LazyRedactor
    from recollect.store.insight_feed import SessionFeed
    from recollect.store.jobs import SpendingLedger
    from recollect.store.usage import prices_on

    uid = memory.session(session).session_uid
    config = _decided(memory.config.learning)
    target = target_of(config, memory.env)
    pricing = pricing_of(config, model=target.model, url=target.url, at_us=now_us())
    budget = Budget(config, SpendingLedger(memory.home), pricing, now_us=now_us)
    archive = LazyArchive(Home(memory.home))
    feed = SessionFeed(memory.home, archive, LazyRedactor(Home(memory.home).keys, memory.config.privacy))
    try:
        observed = feed.read(uid)
        if observed is None:
            raise UnknownName("session", session)
        found = [preview(batch, budget=budget) for batch in batches_of(observed, is_over=True)]
    finally:
        feed.close()
        archive.close()
    return AskPreview(
        session_uid=uid,
        is_configured=bool(memory.config.learning.provider),
        provider=target.provider,
        model=target.model,
        url=target.url,
        key_variable=target.key_variable,
        is_key_set=not target.key_variable or bool(memory.env.get(target.key_variable, "").strip()),
        questions=tuple(
            PreviewedQuestion(
                turns=one.turns,
                system=one.system,
                user=one.user,
                most_input_tokens=one.most.input_tokens,
                most_output_tokens=one.most.output_tokens,
                most_usd=one.most.micro_dollars / _MICRO,
            )
            for one in found
        ),
        most_usd=sum(one.most.micro_dollars for one in found) / _MICRO,
        session_budget_usd=config.session_budget_usd,
        prices_on="" if target.provider == "ollama" else prices_on(),
    )


def _decided(config: LearningConfig) -> LearningConfig:
    return config if config.provider else msgspec.structs.replace(config, provider=UNDECIDED)
