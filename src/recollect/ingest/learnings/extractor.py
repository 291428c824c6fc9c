"""The rules that ship, as a run asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.ingest.learnings.readers import extract_session, reading
from recollect.insights.learnings.closure import closed_actions
from recollect.insights.learnings.extraction import EXTRACTOR
from recollect.model.learnings.learnings import Learning
from recollect.store.insight_feed import AnalysisInput


class RuleExtractor:
    """Implements `ingest.learnings.extract.Extractor`."""

    def __init__(self, *, is_ranked: bool = True) -> None:
        """is_ranked: learned weights find and refuse learnings too."""
        self._is_ranked = is_ranked
        self.version = EXTRACTOR if is_ranked else f"{EXTRACTOR} alone"

    def extract(self, of_session: AnalysisInput) -> Sequence[Learning]:
        """Return what a session gives, with evidence."""
        return extract_session(of_session, is_ranked=self._is_ranked).learnings

    def closed(self, of_session: AnalysisInput, pending: Iterable[Learning]) -> Sequence[Learning]:
        """Return those of the pending actions that the session shows to be done, with `done_at`."""
        return closed_actions(of_session, list(pending), reading())
