"""Write the plug-ins that agents install from this repository, from the data that `recollect setup` uses."""

from __future__ import annotations

from pathlib import Path

from recollect import __version__
from recollect.agents.claude.plugin import plugin_files

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Write every file that is not as it should be."""
    for name, text in plugin_files(__version__).items():
        path = ROOT / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
