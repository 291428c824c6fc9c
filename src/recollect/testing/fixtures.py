"""Fixtures of the conformance suite: small trees of files as an agent writes them, by agent, version and scenario.

`FOLDER/<slug>/<version>/<scenario>/…` is what stands below the agent's root. A file `NAME.sql` is a script that makes
the database `NAME`, so that fixtures stay readable.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SCRIPT = ".sql"
_FIRST_TIME_S = 1_785_574_800
"""2026-08-01 09:00 UTC: files get times in the order of their paths, so that a run doesn't depend on the checkout."""


class Fixture(NamedTuple):
    """One scenario of one version of an agent."""

    agent: str
    version: str
    scenario: str
    folder: Path

    @property
    def name(self) -> str:
        """`agent/version/scenario`."""
        return f"{self.agent}/{self.version}/{self.scenario}"


def fixtures_in(folder: Path, agent: str = "") -> Iterator[Fixture]:
    """Yield every fixture below a folder (of one agent), in a stable order."""
    for path in sorted(folder.glob("*/*/*/")):
        slug, version, scenario = path.relative_to(folder).parts
        if not agent or slug == agent:
            yield Fixture(slug, version, scenario, path)


def lay_out(fixture: Fixture, root: Path) -> list[Path]:
    """Copy a fixture's files below a root and make its databases; return the files made."""
    made: list[Path] = []
    for path in sorted(p for p in fixture.folder.rglob("*") if p.is_file()):
        target = root / path.relative_to(fixture.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == SCRIPT:
            target = target.with_suffix("")
            _make_database(target, path.read_text("utf-8"))
        else:
            shutil.copyfile(path, target)
        at = _FIRST_TIME_S + len(made)
        os.utime(target, (at, at))
        made.append(target)
    return made


def _make_database(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    try:
        connection.executescript(script)
        connection.commit()
    finally:
        connection.close()
