"""Answers a session start with the prepared block if that is still valid.

Any doubt, also about the session or the configuration, is no block: then the memory is asked. That an agent was given
one is written to the spool, as the log of firings has it; the next sync takes it in.
"""

from __future__ import annotations

import json
import os

from recollect import ready_blocks as ready
from recollect.clock import now_us
from recollect.files import write_file
from recollect.paths import config_text
from recollect.wire import firings_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-")
"""An id of other characters is written otherwise in a uid, see `recollect.model.ids`."""


class Ready:
    """A block that holds. session: the uid of the session that starts, "" where the agent does not say."""

    __slots__ = ("session", "text", "values")

    def __init__(self, values: dict[str, object], text: str, session: str) -> None:
        self.values = values
        self.text = text
        self.session = session


def ready_block(
    home: str, env: Mapping[str, str], *, agent: str, session: str, cwd: str, max_chars: int
) -> Ready | None:
    """Return the block for a session that starts in a folder; None where the memory must be asked.

    env: that of the process that would ask it. session: the agent's own id. max_chars: a longer text is not taken as
    it is. Never raises for what is on the disk.
    """
    try:
        stamp = ready.read_stamp(home)
        found = ready.work_folder(cwd or os.getcwd(), env)
        if stamp is None or found is None or not _is_configured_so(stamp, env):
            return None
        folder, is_repository = found
        block = ready.read_block(ready.block_path(home, folder))
    except (OSError, ValueError):
        return None
    if block is None or not ready.holds(block, folder, is_repository=is_repository):
        return None
    uid = f"{agent}:{session}" if session else ""
    # What the present session said is no history: the memory leaves it out, which a block made before cannot.
    variants = block["variants"]
    variant = variants.get(agent) if isinstance(variants, dict) else None
    if isinstance(variant, dict):
        block = {**block, **variant}
    sessions, text = block["sessions"], block["text"]
    if not _SAFE.issuperset(session) or not isinstance(sessions, list) or uid in sessions:
        return None
    if not isinstance(text, str) or len(text) > max_chars:
        return None
    return Ready(block, text, uid)


def log_firing(home: str, agent: str, given: Ready, *, took_us: int) -> None:
    """Leave in the spool that a block was given. Where it cannot be kept, it is lost, as the log of a full disk is."""
    at, values = now_us(), given.values
    firing = [
        at, agent, given.session, "start", values["repo"], values["citations"], values["identifiers"],
        values["tokens"], values["left_out"], took_us, "",
    ]  # fmt: skip
    folder = firings_folder(home)
    path = os.path.join(folder, f"{at}-{os.getpid()}.json")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_file(path, json.dumps(firing).encode(), durable=False)
    except OSError:
        return


def _is_configured_so(stamp: ready.Stamp, env: Mapping[str, str]) -> bool:
    """Return whether the configuration is exactly the one with which the blocks were made."""
    path, configs = os.path.abspath(config_text(env)), stamp.values["configs"]
    return isinstance(configs, dict) and path in configs and configs[path] == ready.config_text(path)
