"""The program `recollect`; also `python -m recollect`."""

from __future__ import annotations

import atexit
import gc
import os
import sys

GARBAGE_AT = 200_000
"""New objects from which on Python looks for garbage: a short command makes fewer, and so does a sync of a few lines; a
look takes 20 ms by then."""


def main() -> int:
    """Run the command line and return its exit code. What an agent waits for is handed over before that is imported."""
    gc.set_threshold(GARBAGE_AT)
    os.umask(0o077)  # what this process and its workers write, the search engine's files too, is the person's alone
    if sys.argv[1:3] == ["hook", "session-end"] and not {"-h", "--help"}.intersection(sys.argv[3:]):
        from recollect.cli.session_end import close_session, options_of

        return close_session(options_of(sys.argv[3:]))
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help", "--json"}.intersection(sys.argv[2:]):
        from recollect.hook.handle import main as hook

        return hook(sys.argv[2:])
    if sys.argv[1:2] == ["context"] and "--hook" in sys.argv:
        from recollect.cli import context_hook

        options = context_hook.options_of(sys.argv[2:])
        if options is not None:
            return context_hook.answer_hook(options)
    if sys.argv[1:] == ["mcp"]:
        return _serve()
    from recollect.late import load_lightly

    load_lightly("msgspec", "pathlib", "click")
    from recollect.cli.main import run

    return run(sys.argv[1:])


def _serve() -> int:
    """`recollect mcp` as agents start it: without the command line, but with a verb's error messages."""
    try:
        from recollect.serve.mcp.start import serve_stdio

        serve_stdio()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - handed to the outermost frame
        from recollect.cli.main import told

        return told(error, as_json=False)
    return 0


def run() -> None:
    """Run the program and end the process, see `leave`."""
    leave(main())


def leave(code: int) -> None:
    """End this process with an exit code, after registered exit functions ran and all output is written.

    Python would then dismantle every module and object, which takes as long as a short command. Until there, this does
    what Python does: it waits for threads, calls registered functions, and flushes.
    """
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # closed, or nobody reads it: Python says so as ever
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    run()
