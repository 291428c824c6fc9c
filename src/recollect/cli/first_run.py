"""`recollect up --once`: ingests everything and reports it. Without a history it uses the bundled sample."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.options import open_memory
from recollect.config import AgentConfig, Config, config_toml
from recollect.errors import StoreError
from recollect.files import write_file
from recollect.paths import CONFIG_NAME, DATABASE_NAME, SAMPLE_FOLDER, demo_home

if TYPE_CHECKING:
    from recollect.cli.render.ingest import UpReport
    from recollect.memory import Memory, SearchAnswer
    from recollect.model.sessions import Session


EXAMPLE_WORDS = 3
_WORD = re.compile(r"[^\W\d_]{4,24}")
# Words of requests that say nothing of their subject; a title is a request in few words.
_EMPTY_WORDS = frozenset(
    """
    about after again all also always another before being better could does doing done each every exactly file files
    find first fix from have help here into just like look make more much need needs only other please really review
    run same session should show some something still such sure take test tests than that their them then there these
    they thing this those through update using very want what when where which while will with without work would
    write your code implement repo repository project issue current change changes
    """.split()
)


def example_queries(sessions: Sequence[Session]) -> Iterator[str]:
    """Give queries made of the informative words of session titles, the most promising first.

    Words that several sessions share come first: their search shows the memory at work. Titles that the agent
    gave come before those derived from a request, which begin with anything.
    """
    given = {s.title: s.title_status == "agent" for s in sessions if not s.parent_session}
    titles = [(is_given, _informative(title)) for title, is_given in given.items()]
    spread = Counter(word for _, words in titles for word in words)
    chosen: list[tuple[bool, int, list[str]]] = []
    for is_given, words in titles:
        best = sorted(words, key=lambda w: (-spread[w], words.index(w)))[:EXAMPLE_WORDS]
        if best:
            chosen.append((is_given, sum(spread[w] for w in best), sorted(best, key=words.index)))
    for _, _, best in sorted(chosen, key=lambda c: (c[0], c[1]), reverse=True):
        yield " ".join(best)


def _informative(title: str) -> list[str]:
    return list(dict.fromkeys(w for w in _WORD.findall(title.lower()) if w not in _EMPTY_WORDS))


RECENT_SESSIONS = 50
EXAMPLE_HITS = 3
EXAMPLE_TRIES = 5
FIRST_VECTORS_S = 2.0
"""So that the first questions about a small history are answered by meaning too."""


def run_once() -> UpReport:
    """Do it. Where no agent has written anything, the bundled sample is shown."""
    with open_memory() as memory:
        report = _take_in(memory)
        agents = [agent.slug for agent in memory.agents.list()]
        memory.embedding.start_in_background()
    if (
        report.sync.state == "done"
        and not report.stats.sessions
        and not any(a.found for a in report.sync.agents.values())
    ):
        from recollect.memory import Memory

        home = demo_home()  # the user's own stays empty
        with Memory.open(home, config=lay_out(home, agents)) as memory:
            report = _take_in(memory, demo_home=str(home))
    return report


def _take_in(memory: Memory, *, demo_home: str = "") -> UpReport:
    from recollect.cli.render.ingest import UpReport
    from recollect.cli.render.progress import ProgressLine

    with ProgressLine() as progress:
        sync = memory.sync(progress=progress)
        if sync.state == "done":
            memory.embedding.begin(max_seconds=FIRST_VECTORS_S)
    return UpReport(sync=sync, stats=memory.stats(), example=_example(memory), demo_home=demo_home)


def open_to_look() -> Memory:
    """Open the user's memory; while that has no session, the sample that `run_once` loaded beside it, if it did."""
    memory = open_memory()
    demo = demo_home()
    if not (demo / DATABASE_NAME).exists() or memory.sessions(limit=1).sessions:
        return memory
    memory.close()
    return open_memory(demo)


def _example(memory: Memory) -> SearchAnswer | None:
    """Return the answer to a question that the memory itself suggests; None where nothing can be found."""
    recent = memory.sessions(limit=RECENT_SESSIONS, sync=False).sessions
    for tried, query in enumerate(example_queries(recent)):
        answer = memory.search(query, limit=EXAMPLE_HITS, sync=False)
        if answer.hits or tried == EXAMPLE_TRIES:
            return answer if answer.hits else None
    return None


def lay_out(home: Path, agents: Iterable[str]) -> Config:
    """Write the sample and a configuration that reads nothing else into a demo home; return that configuration.

    May be called again: the same files with the same content. agents: the slugs of every agent that this
    version can read. Those of the sample are pointed into it, also their idea of the user's home; the others
    are off. So later commands with `RECOLLECT_HOME` set to the demo never ingest real history.
    Raises StoreError where it cannot be written.
    """
    sample = home / SAMPLE_FOLDER
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with as_file(files("recollect") / "sample") as bundled:
            shutil.copytree(bundled, sample, dirs_exist_ok=True)
        for folder in (sample, *(path for path in sample.rglob("*") if path.is_dir())):
            folder.chmod(0o700)  # copies have the modes of what they are copies of
        for file in (path for path in sample.rglob("*") if path.is_file()):
            file.chmod(0o600)
        config = _config(sample, agents)
        write_file(home / CONFIG_NAME, config_toml(config).encode(), durable=False)
    except OSError as error:
        raise StoreError(f"cannot write the demo into {home}: {error.strerror or error}") from error
    return config


def _config(sample: Path, agents: Iterable[str]) -> Config:
    homes = tomllib.loads((sample / "homes.toml").read_text("utf-8"))
    elsewhere = {"HOME": str(sample), "USERPROFILE": str(sample)}
    found: dict[str, AgentConfig] = {}
    for slug in agents:
        own = {variable: str(sample / folder) for variable, folder in homes.get(slug, {}).items()}
        found[slug] = AgentConfig(enabled=slug in homes, variables={**elsewhere, **own})
    return Config(agents=found)
