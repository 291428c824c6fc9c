"""The program that agents run at their events, with `python -I -S`; the same as `recollect hook`.

Arguments: as `recollect.hook.handle`. It is all there: Python compiles the file that it is given again each time, and
keeps only what is imported.
"""

import os
import sys

_SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run() -> None:
    """Handle the event of this process and end it at once: no module is torn down, no stream is flushed."""
    try:
        if _SOURCE not in sys.path:
            sys.path.append(_SOURCE)  # last, so that nothing there stands before the standard library
        from recollect.hook.handle import main

        main(sys.argv[1:])
    finally:
        os._exit(0)


if __name__ == "__main__":
    run()
