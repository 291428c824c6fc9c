"""What docs/how-to/look-back-at-a-week.md and docs/how-to/find-why-a-line-exists.md show is what the program says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from recollect.agents.registry import adapters
from recollect.cli.first_run import lay_out
from recollect.memory import Memory
from tests.docs.pages import blocks
from tests.surfaces.looking_back.desk import a_fixed_error, make_desk


def shown(repository: Path, page: str) -> list[str]:
    """Return the blocks without a language: what the program said."""
    return [block.text for block in blocks((repository / page).read_text("utf-8")) if not block.language]


def without_ago(text: str) -> str:
    return re.sub(r"  \d+ \w+ ago \(", "  (", text)


def test_the_page_on_blame_shows_what_the_program_says(repository: Path, tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    a_fixed_error(desk)
    proof, no_proof = shown(repository, "docs/how-to/find-why-a-line-exists.md")
    assert without_ago(desk.run("blame", "src/app.py:1", cwd=desk.repo).out) == without_ago(proof)
    assert desk.run("blame", "src/app.py:3", cwd=desk.repo).out == no_proof


def test_the_page_on_looking_back_shows_what_the_program_says(repository: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    env = {"HOME": str(home), "USERPROFILE": str(home)}
    with Memory.open(home, config=lay_out(home, tuple(adapters())), env=env) as memory:
        assert memory.sync().state == "done"
    desk = make_desk(tmp_path / "desk")
    sample = desk._replace(env={**desk.env, **env, "RECOLLECT_HOME": os.fspath(home)})
    span = ("--since", "2026-08-15", "--until", "2026-10-01")
    said = sample.run("retro", *span, "--repo", "shop-api", "--no-sync").out.splitlines()
    (example,) = shown(repository, "docs/how-to/look-back-at-a-week.md")
    assert [line for line in example.splitlines() if line not in said] == []


@pytest.mark.parametrize("limit", ["20 seconds", "200 sessions", "50 in the JSON", "20 lines"])
def test_the_limits_on_the_page_are_those_of_the_code(repository: Path, limit: str) -> None:
    from recollect.cli.render.retro_report import SHOWN
    from recollect.insights.retro.report import MAX_LINES, MAX_SESSIONS
    from recollect.memory.insights import MAX_SECONDS

    told = {
        "20 seconds": f"{MAX_SECONDS:.0f} seconds",
        "200 sessions": f"{MAX_SESSIONS} sessions",
        "50 in the JSON": f"{MAX_LINES} in the JSON",
        "20 lines": f"{SHOWN} lines",
    }
    assert told[limit] == limit
    assert limit in (repository / "docs/how-to/look-back-at-a-week.md").read_text("utf-8")


def test_the_deadline_on_the_page_is_that_of_the_code(repository: Path) -> None:
    from recollect.cli.session_end import DEADLINE_S

    assert f"{DEADLINE_S:.0f} seconds" in (repository / "docs/how-to/join-other-records.md").read_text("utf-8")
