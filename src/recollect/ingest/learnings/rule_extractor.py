"""Extracts learnings from a session as the store returns it: by rules, and by learned weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from recollect.insights.learnings.closure import closed_actions
from recollect.insights.learnings.extraction import EXTRACTOR, Extracted, extract
from recollect.insights.scorer import SentenceScorer
from recollect.model.learnings.learnings import Learning
from recollect.store.insight_feed import AnalysisInput


@cache
def scorer() -> SentenceScorer:
    """Return the one scorer of a process."""
    return SentenceScorer()


def extract_session(of_session: AnalysisInput, *, is_ranked: bool = True) -> Extracted:
    """Return what is learned of a session as the store gives it (`store.insight_feed.AnalysisInput`).

    is_ranked: use the scorer if its weights exist; else only rules.
    """
    known = scorer() if is_ranked and not scorer().missing else None
    return extract(of_session, scorer=known)


class RuleExtractor:
    """Extracts by rules, and by learned weights."""

    def __init__(self, *, is_ranked: bool = True) -> None:
        """is_ranked: learned weights find and refuse learnings too."""
        self._is_ranked = is_ranked
        self.version = EXTRACTOR if is_ranked else f"{EXTRACTOR} alone"

    def extract(self, of_session: AnalysisInput) -> Sequence[Learning]:
        """Return what a session gives, with evidence."""
        return extract_session(of_session, is_ranked=self._is_ranked).learnings

    def closed(self, of_session: AnalysisInput, pending: Iterable[Learning]) -> Sequence[Learning]:
        """Return those of the pending actions that the session shows to be done, with `done_at`."""
        return closed_actions(of_session, list(pending))
