"""What the parser of a trajectory remembers: steps that the history has not repeated yet."""

from __future__ import annotations

import msgspec

from recollect.agents.kit.naming import digest_of, numbered
from recollect.agents.kit.reading import BaseState, Reading

MAX_PENDING_CHARS = 150_000
"""Of all texts of waiting steps together: at most four bytes each, they stay below a state's 1 MiB."""
MAX_GIVEN = 512


class Step(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A step of the trajectory: what the model thought and did, and what came of it."""

    name: str
    thought: str
    action: str
    observation: str
    duration_ms: int | None
    cwd: str
    path: str

    @property
    def size(self) -> int:
        """How many characters it holds."""
        return sum(map(len, (self.name, self.thought, self.action, self.observation, self.cwd, self.path)))


class Acting(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The newest action of the history, whose result is still to come. is_given: the trajectory gave it already."""

    name: str = ""
    call_id: str = ""
    tool: str = ""
    arguments: str = ""
    duration_ms: int | None = None
    path: str = ""
    is_given: bool = False


class SweAgentState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """State after a record. steps: of the trajectory, waiting for the history; given: names of those that didn't wait.

    marks: how often each step came, in the trajectory and in the history. said: the same for other messages.
    """

    cwd: str = ""
    has_task: bool = False
    steps: tuple[Step, ...] = ()
    given: tuple[str, ...] = ()
    step_marks: tuple[bytes, ...] = ()
    marks: tuple[bytes, ...] = ()
    acting: Acting = Acting()


SweAgentReading = Reading[SweAgentState]


def step_name(reading: SweAgentReading, thought: str, action: str, *, of_history: bool) -> str:
    """Return the name of a step: a digest of what was done, else of what was said, numbered among equal ones.

    Trajectory and history are counted apart, so that a step has the same name in both. Thoughts are no part of it:
    whoever prepares a demonstration edits them in one list only.
    """
    field = "marks" if of_history else "step_marks"
    name, marks = numbered(reading.now(field), f"step:{digest_of(action.strip() or thought.strip())}")
    reading.set(**{field: marks})
    return name


def named(reading: SweAgentReading, kind: str, body: str) -> str:
    """Return the name of another message of the history: its digest, numbered among equal ones."""
    name, marks = numbered(reading.now("marks"), f"{kind}:{digest_of(body)}")
    reading.set(marks=marks)
    return name
