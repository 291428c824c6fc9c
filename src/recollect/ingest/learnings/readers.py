"""How the extractor reads prose and shell commands: as distilling does, which the package `learn` cannot see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import cast

from recollect.insights.commands import Simple, simple_commands
from recollect.insights.decisions.gate import RuleGate
from recollect.insights.language.projection import project
from recollect.insights.language.sentences import sentences
from recollect.insights.learnings.closure import closed_actions
from recollect.insights.learnings.extraction import EXTRACTOR, Extracted, Observed, Reading, SimpleCommand, extract
from recollect.insights.scorer import SentenceScorer
from recollect.insights.signals.calls import Ending, Tried, is_denial, is_expected, is_interruption
from recollect.insights.signals.errors import telling_line
from recollect.insights.signals.runs import run_of
from recollect.insights.stream import Call, SessionEvents
from recollect.model.events import Event
from recollect.model.insights.nodes import Marker
from recollect.model.learnings.learnings import Learning
from recollect.store.insight_feed import AnalysisInput


class DistillReading:
    """`insights.learnings.extraction.Reading` by what distilling reads with. Immutable, safe from threads."""

    def __init__(self) -> None:
        """The rules that ship, without those of a configuration: what is learned does not hang on it."""
        self._gate = RuleGate()

    def prose(self, text: str, *, of_human: bool) -> str:
        """Return the prose of a message, each character where it was."""
        return project(text, of_human=of_human)

    def sentences(self, prose: str) -> Sequence[tuple[int, int]]:
        """Return the ranges of its sentences."""
        return sentences(prose)

    def markers(self, text: str) -> Sequence[Marker]:
        """Return where a message of a person decides something."""
        return self._gate.markers(text, "human")

    def commands(self, command: str) -> Sequence[SimpleCommand]:
        """Return the simple commands of a shell line."""
        return simple_commands(command)

    def is_stopped(self, text: str) -> bool:
        """Tell whether a person denied or stopped the call."""
        return is_denial(text) or is_interruption(text)

    def is_expected(self, commands: Sequence[SimpleCommand], exit_code: int | None) -> bool:
        """Tell whether a non-zero exit only answers a question."""
        return is_expected(cast(Sequence[Simple], commands), exit_code)

    def tests_passed(self, call: Event, result: Event, command: str, commands: Sequence[SimpleCommand]) -> bool | None:
        """Return whether a command that ran tests says that they passed; None where it ran none or does not say."""
        payload = result.payload
        ok, exit_code = getattr(payload, "ok", None), getattr(payload, "exit_code", None)
        ending: Ending = "failed" if ok is False or exit_code else "ok" if ok is True or exit_code == 0 else "unsaid"
        tried = Tried(
            Call(call, call.payload, result),  # type: ignore[arg-type]  # a tool call's, as who asks knows
            ending,
            "",
            command,
            "",
            cast(Sequence[Simple], commands),
        )
        run = run_of(SessionEvents((call, result)), tried)
        return None if run is None else run.ok

    def telling_line(self, text: str) -> str:
        """Return the line that says what went wrong."""
        return telling_line(text)


@cache
def reading() -> Reading:
    """Return the one reading of a process."""
    return DistillReading()


@cache
def scorer() -> SentenceScorer:
    """Return the one scorer of a process."""
    return SentenceScorer()


def extract_session(of_session: Observed, *, home_repo: str = "", is_ranked: bool = True) -> Extracted:
    """Return what is learned of a session as the store gives it (`store.insight_feed.AnalysisInput`).

    is_ranked: with learned weights, where they are there; else by rules alone.
    """
    known = scorer() if is_ranked and not scorer().missing else None
    return extract(of_session, reading(), home_repo=home_repo, scorer=known)


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
