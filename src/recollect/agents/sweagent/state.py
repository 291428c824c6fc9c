"""What the parser of a trajectory remembers: steps that the history has not repeated yet."""

from __future__ import annotations

import msgspec

from recollect.agents.kit.naming import Marks, NamingState, content_sha256, numbered
from recollect.agents.kit.reading import Reading

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


class SweAgentState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record. steps: of the trajectory, waiting for the history; given: names of those that didn't wait.

    step_marks, marks: what was named in the trajectory, and in the history.
    """

    cwd: str = ""
    has_task: bool = False
    steps: tuple[Step, ...] = ()
    given: tuple[str, ...] = ()
    step_marks: Marks = ()
    acting: Acting = Acting()


SweAgentReading = Reading[SweAgentState]


def step_name(reading: SweAgentReading, thought: str, action: str, *, of_history: bool) -> str:
    """Return the name of a step: a hash of what was done, else of what was said, numbered among equal ones.

    Trajectory and history are counted apart, so that a step has the same name in both. Thoughts are no part of it:
    whoever prepares a demonstration edits them in one list only.
    """
    name = f"step:{content_sha256(action.strip() or thought.strip())}"
    return numbered(reading, name, "marks" if of_history else "step_marks")


def named(reading: SweAgentReading, kind: str, body: str) -> str:
    """Return the name of another message of the history: a hash of it, numbered among equal ones."""
    return numbered(reading, f"{kind}:{content_sha256(body)}")
