"""SWE-agent: one record in, its events out. What each becomes is in `messages` and `sidecars`."""

from __future__ import annotations

import re

from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.sweagent.declare import FACTS
from recollect.agents.sweagent.messages import read_item, read_step
from recollect.agents.sweagent.sidecars import read_around
from recollect.agents.sweagent.state import SweAgentReading, SweAgentState
from recollect.model.payloads import SessionStart
from recollect.model.records import SourceInfo

_LIST = re.compile(rb'"(?:trajectory|history)"\s*:\s*\[')
_SUFFIX = ".traj"


class SweAgentAdapter(KitAdapter[SweAgentState]):
    """The adapter of SWE-agent."""

    facts = FACTS
    state_type = SweAgentState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: an object with one of the two lists, whose elements are steps or messages."""
        if not head.lstrip().startswith(b"{") or not _LIST.search(head):
            return None
        is_steps = b'"observation"' in head and b'"action"' in head
        is_history = b'"role"' in head and b'"agent"' in head
        is_own = path.endswith(_SUFFIX) or b'"thought"' in head
        return "trajectory" if is_own and (is_steps or is_history) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the run's folder and the task: every run has a file for each task."""
        task = info.name.removesuffix(_SUFFIX)
        folders = [folder for folder in info.path.split("/")[:-1] if folder != task]
        return "/".join((*folders[-2:], task)) or first_line_name(head)

    def read(self, reading: SweAgentReading) -> None:
        """Give the events of one record."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
            return
        if reading.at in ("trajectory", "history") and not reading.state.is_started:
            reading.set(is_started=True)
            reading.add(SessionStart(), native_id="start")
        if reading.at == "trajectory":
            read_step(reading)
        elif reading.at == "history":
            read_item(reading)
        else:
            read_around(reading)
