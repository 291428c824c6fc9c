"""Fixtures for the law of growth: the same stories with something to learn in them, and what cuts a document."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from recollect.testing.fixtures import Cut, Fixture

_SAID = {
    b"Which files are here?": b"We use Postgres instead of MySQL. Which files are here?",
    b"Run the tests.": b"Remember that we deploy with make ship. Run the tests.",
    b"First.": b"Always run the tests with uv run pytest. First.",
    b"Wrong turn.": b"From now on we use Redis for the queue. Wrong turn.",
    b"Second.": b"Never push to main. Second.",
}
"""What a person says in a scenario, and what is said here."""


def telling(fixture: Fixture, folder: Path) -> Fixture:
    """Copy a fixture, with a decision or a preference in front of what a person says."""
    for path in (path for path in fixture.folder.rglob("*") if path.is_file()):
        target = folder / path.relative_to(fixture.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        if b"\0" in data:
            shutil.copyfile(path, target)
            continue
        for said, more in _SAID.items():
            data = data.replace(said, more)
        target.write_bytes(data)
    return fixture._replace(folder=folder)


def _sweagent(document: dict[str, Any], part: float) -> dict[str, Any]:
    """Cut a trajectory and the history of the same steps: each begins with what the model said."""
    steps = max(1, int(len(document["trajectory"]) * part))
    said = [at for at, message in enumerate(document["history"]) if message.get("role") == "assistant"]
    history = document["history"][: said[steps]] if steps < len(said) else document["history"]
    return {**document, "trajectory": document["trajectory"][:steps], "history": history}


CUTS: dict[str, Cut] = {
    "sweagent": _sweagent,
    "openhands": lambda document, _part: document,  # the log of a request is written once
}
"""How documents grow whose arrays do not grow one by one."""
