"""What the extractor reads and gives: a session, how its language is read, and the learnings found in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from recollect.model.events import Event
from recollect.model.insights.nodes import Marker
from recollect.model.learnings.learnings import Learning
from recollect.model.sessions import Session

EXTRACTOR = "rules@4"
"""Name and version of these rules; raised whenever the same events would give other learnings."""

Ending = Literal["passed", "failed", "unknown"]
"""How a command ended; unknown: nobody says, a person stopped it, or its exit is not that of this command."""


class Observed(Protocol):
    """One session as it is learned from; `store.insight_feed.AnalysisInput` is one."""

    @property
    def session(self) -> Session:
        """What is known of it."""
        ...

    @property
    def events(self) -> Sequence[Event]:
        """Its visible events in canonical order. Long strings of tools may be "", then `load` gives them."""
        ...

    def load(self, event: Event) -> Event:
        """Return one of the events with its whole payload."""
        ...


class KeptSession:
    """A session without what rewinds left behind. Implements `Observed`."""

    def __init__(self, observed: Observed) -> None:
        self.session = observed.session
        self.events = [event for event in observed.events if not event.is_undone]
        self.load = observed.load


def kept_of(observed: Observed) -> Observed:
    """Return a session without what rewinds left behind; itself where they left nothing."""
    return KeptSession(observed) if any(event.is_undone for event in observed.events) else observed


class SimpleCommand(Protocol):
    """One command of a shell line, without quotes; `insights.commands.Simple` is one."""

    @property
    def words(self) -> tuple[str, ...]:
        """Program and arguments, without wrappers and assignments before them."""
        ...

    @property
    def runs_for(self) -> tuple[str, ...]:
        """The wrappers and assignments (`uv run`, `FOO=1`)."""
        ...

    @property
    def joint(self) -> str:
        """What stands behind it: "&&", "||", "|", ";" or "" at the end."""
        ...

    @property
    def program(self) -> str:
        """The program's name without its folder."""
        ...


class Reading(Protocol):
    """How text and shell commands are read: what distilling reads by too, handed in by whoever runs both."""

    def prose(self, text: str, *, of_human: bool) -> str:
        """Return the prose of a message, each character where it was; code, logs, quotations are covered up."""
        ...

    def sentences(self, prose: str) -> Sequence[tuple[int, int]]:
        """Return the ranges of the sentences of prose, in order."""
        ...

    def markers(self, text: str) -> Sequence[Marker]:
        """Return where a message of a person decides something, as distilling reads it, in eight languages."""
        ...

    def commands(self, command: str) -> Sequence[SimpleCommand]:
        """Return the simple commands of a shell line, in order."""
        ...

    def is_stopped(self, text: str) -> bool:
        """Tell whether a failed result says that a person denied or stopped the call."""
        ...

    def is_expected(self, commands: Sequence[SimpleCommand], exit_code: int | None) -> bool:
        """Tell whether a non-zero exit only answers a question."""
        ...

    def tests_passed(self, call: Event, result: Event, command: str, commands: Sequence[SimpleCommand]) -> bool | None:
        """Return whether a command that ran tests says that they passed, None where it ran none or does not say."""
        ...

    def telling_line(self, text: str) -> str:
        """Return the line of an output that says what went wrong, "" for none."""
        ...


class Extracted(NamedTuple):
    """Learnings with evidence, ids, features and confidence; without `recorded_at` and `batch`.

    Each id occurs once. Those of state "quarantined" have a feature "held back: REASON" of weight 0. looked_at: events
    that were read.
    """

    learnings: list[Learning]
    looked_at: int
