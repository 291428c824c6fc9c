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

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "build" / "screenshots"
IMAGES = ROOT / "docs" / "images"
SHOWN = ("search-light", "session-light")
"""Pictures that pages show."""
VIEWS = {
    "search": "/?q=webhook retry",
    "sessions": "/sessions",
    "usage": "/usage?period=1y",
    "decisions": "/decisions",
    "health": "/health",
    "learned": "/learnings",
}
SIZES = {"": (1280, 800), "-phone": (380, 760)}


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
        env = {**os.environ, "RECOLLECT_HOME": str(home)}
        command = [sys.executable, "-m", "recollect", "ui", "--no-open", "--json"]
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


def take(page: Page, base: str, ending: str) -> None:
    """Write the picture of every view. The session is the one that the first hit leads to."""
    for name, path in VIEWS.items():
        page.goto(base + path)
        page.wait_for_load_state("networkidle")
        page.screenshot(path=PICTURES / f"{name}{ending}.png")
    page.goto(base + VIEWS["search"])
    found = re.search(r'href="(/session/[^"]*)"', page.content())
    assert found is not None
    page.goto(base + found[1].replace("&amp;", "&"))
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / f"session{ending}.png")


if __name__ == "__main__":
    sys.exit(main())
