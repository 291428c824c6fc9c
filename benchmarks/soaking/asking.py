"""A reader beside the traffic, in a process of its own: asks until told to stop, then prints its times as JSON."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time

from recollect import Memory

PAUSE_S = 0.02
QUESTIONS = ("question cache", '"tool output"', "build -retry", "agent about parser", "ket", "decided", "commit layout")


def main() -> None:
    """Arguments: the home. Ends when stdin is closed."""
    is_over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
    chance = random.Random(os.getpid())
    took: dict[str, list[float]] = {"search": [], "sessions": [], "events": []}
    with Memory.open(sys.argv[1]) as memory:
        while not is_over.wait(PAUSE_S):
            started = time.perf_counter()
            memory.search(chance.choice(QUESTIONS), sync=False)
            searched = time.perf_counter()
            page = memory.sessions(limit=20, sync=False)
            listed = time.perf_counter()
            took["search"].append((searched - started) * 1000)
            took["sessions"].append((listed - searched) * 1000)
            if page.sessions:
                uid = chance.choice(page.sessions).session_uid
                started = time.perf_counter()
                list(memory.events(uid, limit=50))
                took["events"].append((time.perf_counter() - started) * 1000)
    sys.stdout.write(json.dumps(took))


if __name__ == "__main__":
    main()
