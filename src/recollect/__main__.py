"""The program `recollect`; also `python -m recollect`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    from recollect.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
