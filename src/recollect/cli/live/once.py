"""`recollect up --once`: take everything in, show what is there, and return."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from recollect.cli.options import open_memory
from recollect.cli.terminal import console, write_json
from recollect.clock import now_us

if TYPE_CHECKING:
    from recollect.cli.render.closing import UpReport
    from recollect.memory import Memory, SearchAnswer

RECENT_SESSIONS = 50
EXAMPLE_HITS = 3
EXAMPLE_TRIES = 5
FIRST_VECTORS_S = 2.0
"""So that the first questions about a small history are answered by meaning too."""


def run_once(*, as_json: bool) -> str:
    """Do it and return the state of the sync. Where no agent has written anything, the bundled sample is shown."""
    with open_memory() as memory:
        report = _take_in(memory)
        agents = [agent.slug for agent in memory.agents.list()]
        memory.embedding.start_in_background()
    if (
        report.sync.state == "done"
        and not report.stats.sessions
        and not any(a.found for a in report.sync.agents.values())
    ):
        report = _load_demo(agents)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.closing import print_closing

        print_closing(console(), report, now_us=now_us())
    return report.sync.state


def _take_in(memory: Memory, *, demo_home: str = "") -> UpReport:
    from recollect.cli.render.closing import UpReport
    from recollect.cli.render.progress import ProgressLine

    with ProgressLine() as progress:
        sync = memory.sync(progress=progress)
        if sync.state == "done":
            memory.embedding.begin(max_seconds=FIRST_VECTORS_S)
    return UpReport(sync=sync, stats=memory.stats(), example=_example(memory), demo_home=demo_home)


def _load_demo(agents: Iterable[str]) -> UpReport:
    """Take the bundled sample into the demo home; the user's own stays empty."""
    from recollect.cli.demo import lay_out
    from recollect.memory import Memory
    from recollect.paths import demo_home

    home = demo_home()
    with Memory.open(home, config=lay_out(home, agents)) as memory:
        return _take_in(memory, demo_home=str(home))


def _example(memory: Memory) -> SearchAnswer | None:
    """Return the answer to a question that the memory itself suggests; None where nothing can be found."""
    from recollect.cli.render.closing import example_queries

    recent = memory.sessions(limit=RECENT_SESSIONS, sync=False).sessions
    for tried, query in enumerate(example_queries(recent)):
        answer = memory.search(query, limit=EXAMPLE_HITS, sync=False)
        if answer.hits or tried == EXAMPLE_TRIES:
            return answer if answer.hits else None
    return None
