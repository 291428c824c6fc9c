"""A newcomer's first minute in a real Chromium: `up --once` on a machine without transcripts, then `ui`."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.testing.builders import ClaudeTranscript
from tests import program
from tests.serve.web.conftest import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def memory_without_transcripts(folder: Path) -> Path:
    """Return the memory of a user whose agents wrote nothing, after `up --once`."""
    home = folder / "memory"
    env = {**os.environ, "RECOLLECT_HOME": str(home), "HOME": str(home), "USERPROFILE": str(home)}
    loaded = program.run("up", "--once", env=env)
    assert loaded.returncode == 0, loaded.stderr
    return home


def test_a_newcomer_finds_what_was_decided_what_it_cost_and_the_line_that_says_so(
    browser: Browser, tmp_path: Path
) -> None:
    """By typing a question and clicking what is seen; nobody names the demo's home."""
    site = Site(memory_without_transcripts(tmp_path))
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.address)
    assert page.locator("header .tag").inner_text() == "sample"
    page.keyboard.type("what was decided about the webhook")
    decided = page.get_by_role("region", name="Decided in these sessions")
    decided.get_by_text("Agreed, database it is.").wait_for()
    assert "Idempotency keys for the payment webhook" in decided.inner_text()
    assert "cost $0.28" in decided.inner_text()
    decided.get_by_role("listitem").filter(has_text="Agreed, database it is.").get_by_role("link", name="#9").click()
    line = page.locator(".unit.focus")
    line.wait_for()
    assert "Agreed, database it is. Keep the rows 30 days." in line.inner_text()
    page.wait_for_function("() => document.querySelector('.unit.focus').getBoundingClientRect().top < innerHeight")
    assert "$0.28" in page.locator(".totals").inner_text()
    context.close()
    assert site.end() == 0


def test_the_sample_is_shown_only_while_ones_own_memory_is_empty(tmp_path: Path) -> None:
    home = memory_without_transcripts(tmp_path)
    site = Site(home)
    assert "webhook" in site.get("/").text
    assert site.end() == 0
    lately = datetime.now(UTC) - timedelta(days=60)
    ClaudeTranscript(Path(os.environ["CLAUDE_CONFIG_DIR"]), "own", start=lately).user("my own first question")
    site = Site(home)
    shown = site.get("/").text
    assert "my own first question" in shown
    assert "webhook" not in shown
    for path in ("/usage", "/activity", "/errors", "/retro"):  # without a period they reach back to what is there
        assert re.search(r'period=90d[^"]*" aria-current', site.get(path).text)
    assert site.end() == 0
