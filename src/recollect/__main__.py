"""The program `recollect`; also `python -m recollect`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code. A hook is handed over before anything else is imported."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help", "--json"}.intersection(sys.argv[2:]):
        from recollect.hook.__main__ import main as hook

        return hook(sys.argv[2:])
    if sys.argv[1:2] == ["context"] and "--hook" in sys.argv:
        from recollect.cli.hooked import answer_hook, options_of

        options = options_of(sys.argv[2:])
        if options is not None:
            return answer_hook(options)
    from recollect.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
