"""`recollect watch` without paths: follows the memory, with a daemon or without one."""

from __future__ import annotations

import time

from recollect.cli.options import open_memory
from recollect.cli.pipes import MeantAndPiped, writing
from recollect.errors import UsageError

EVERY_S = 0.1
KEPT_S = 5.0
"""How often is asked whether a daemon keeps the memory fresh."""
LOOK_S = 2.0
"""How often this process looks for changes where no daemon does: one that runs for hours must cost little."""


def follow_memory(options: MeantAndPiped, *, since: int | None, once: bool, is_ranked: bool = False) -> int:
    """Give what is new until Ctrl-C, with once what there is now; return 1 where there was nothing."""
    from recollect.memory import Following, Wanted

    if options["agent"] is not None:
        raise UsageError("--as is for transcripts: the memory knows whose each event is", hint="leave it out")
    meant = Wanted(False, options["nodes"], options["signals"], options["digests"], is_ranked)
    found = False
    with open_memory() as memory, writing(options["sink"]) as out:
        following = Following(memory, wanted=meant if any(meant) else Wanted(), since=since, before=out)
        refresh_at = asked_at = 0.0
        is_kept = False
        try:
            while True:
                now = time.monotonic()
                if now - asked_at >= KEPT_S or once:
                    is_kept, asked_at = memory.live.is_alive(), now
                if not is_kept and now >= refresh_at:
                    memory.refresh()
                    refresh_at = time.monotonic() + LOOK_S
                for batch in following.look():
                    out.write(batch.items, following.offsets_of(batch))
                    found = True
                if once:
                    return 0 if found else 1
                time.sleep(EVERY_S)
        except KeyboardInterrupt:
            return 0
        finally:
            following.close()
