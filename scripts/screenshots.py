"""Write a picture of every view of the web page, over the bundled sample, into `build/screenshots`.

`make screenshots` runs it. Pictures that pages show are copied into `docs/images`; look at each before you commit it.
Needs a Chromium on this machine (Debian: `apt-get install chromium`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from recollect import Memory
from recollect.agents.registry import adapters_with
from recollect.cli.first_run import lay_out
from recollect.memory import NewEntry, NewFact, NewLearning

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "build" / "screenshots"
IMAGES = ROOT / "docs" / "images"
SHOWN = ("search-light", "search-dark", "session-light", "session-dark")
"""Pictures that pages show."""
VIEWS = {
    "search": "/?q=webhook retry",
    "sessions": "/sessions",
    "usage": "/usage?period=1y",
    "usage-sessions": "/usage/sessions?by=agent&key=claude&first=2026-01-01",
    "activity": "/activity?period=1y",
    "activity-hour": "/activity/sessions?period=1y&weekday=2&hour=9",
    "decisions": "/decisions?period=all",
    "decisions-list": "/decisions?period=all&view=list",
    "files": "/blame",
    "blame": "/blame?repo=shop-api&path=shop/webhooks.py",
    "errors": "/errors?period=1y",
    "retro": "/retro?period=1y",
    "learned": "/learnings",
    "actions": "/actions",
    "facts": "/facts",
    "diary": "/diary",
    "documents": "/documents",
    "collection": "/documents?collection=handbook",
    "health": "/health",
    "checks": "/health/checks",
    "ingest": "/health/ingest",
    "storage": "/health/storage",
    "secrets": "/health/secrets",
    "settings": "/settings",
    "agents": "/settings/agents",
}
SIZES = {"": (1400, 875), "-phone": (380, 760)}


def main() -> int:
    """Write the pictures; return the exit code."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        print("no Chromium on this machine; install one (Debian: apt-get install chromium)", file=sys.stderr)
        return 1
    PICTURES.mkdir(parents=True, exist_ok=True)
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        lay_out(home, adapters_with({}))
        with Memory.open(home) as memory:
            memory.sync()
            write_notes(memory)
        (home / ".claude").mkdir()  # an agent that could be set up
        env = {**os.environ, "RECOLLECT_HOME": str(home), "HOME": str(home)}
        recollect = [sys.executable, "-m", "recollect"]
        subprocess.run([*recollect, "embed", "--json"], env=env, check=True, stdout=subprocess.DEVNULL)
        command = [*recollect, "ui", "--no-open", "--json"]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as server, sync_playwright() as playwright:
            assert server.stdout is not None
            address = str(json.loads(server.stdout.readline())["url"])
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            for size, (width, height) in SIZES.items():
                for scheme in ("light", "dark"):
                    page = browser.new_page(viewport={"width": width, "height": height})
                    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                    page.goto(address)
                    take(page, address.partition("/?token=")[0], f"{size}-{scheme}")
            browser.close()
            server.send_signal(signal.SIGTERM)
    for name in SHOWN:
        shutil.copyfile(PICTURES / f"{name}.png", IMAGES / f"{name}.png")
    return 0


def write_notes(memory: Memory) -> None:
    """Add what no transcript of the sample has: facts, a diary entry, something to do, documents."""
    repo = "shop-api"
    for subject, predicate, object_ in (("shop-api", "runs on", "PostgreSQL 16"), ("shop-api", "deployed by", "CI")):
        memory.notes.facts.add(NewFact(subject=subject, predicate=predicate, object=object_, repo=repo))
    text = "The webhook is idempotent now: the event's id is a unique key, and a second delivery changes nothing."
    memory.notes.diary.write(NewEntry(agent="claude", text=text, repo=repo, left_pending=("measure the retries",)))
    memory.learn.add(NewLearning(kind="action", text="Measure how often the provider retries.", repo=repo))
    memory.documents.add(ROOT / "docs" / "development" / "decisions", collection="handbook")


def take(page: Page, base: str, ending: str) -> None:
    """Write the picture of every view. The session is the one that the first hit leads to."""
    page.goto(base + VIEWS["search"])  # the first search takes longer than any other
    for name, path in VIEWS.items():
        page.goto(base + path)
        page.wait_for_load_state("networkidle")
        page.wait_for_function("!document.querySelector('.later')")
        page.screenshot(path=PICTURES / f"{name}{ending}.png")
    page.goto(base + VIEWS["search"])
    found = re.search(r'href="(/session/[^"]*)"', page.content())
    assert found is not None
    page.goto(base + found[1].replace("&amp;", "&"))
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / f"session{ending}.png")


if __name__ == "__main__":
    sys.exit(main())
