"""`recollect hook session-end --export-env`: environment variables about the session that has just ended.

Prints shell-safe `export` lines (docs/how-to/join-other-records.md), or nothing; the exit code is always 0. The work
is done by a
process of its own, so that the deadline holds whatever that one is doing: reading, waiting for a lock, or a library.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from recollect.processes import own_command

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.model.insights.digests import Digest

DEADLINE_S = 15.0
"""How long the whole may take, process start to exit, before nothing is printed. What was stored by then stays."""
_AGAIN_S = 0.25
"""Where another process is ingesting, how soon it is tried again."""
_TRIES = 2
"""How often a home that nobody holds may fail to be written."""
_MAX_OUTPUT_BYTES = 1 << 20


class SessionEndOptions(NamedTuple):
    """session: a uid, a beginning of it or the agent's own id; "": what the hook's JSON on stdin says."""

    export_env: bool = False
    session: str = ""
    as_json: bool = False


def options_of(arguments: Sequence[str]) -> SessionEndOptions:
    """Return the options behind `hook session-end`. What is not known is left out: a hook does not complain."""
    found = SessionEndOptions()
    rest = list(arguments)
    while rest:
        name, has_value, value = rest.pop(0).partition("=")
        if name == "--session" and (has_value or rest):
            found = found._replace(session=value if has_value else rest.pop(0))
        elif name == "--export-env":
            found = found._replace(export_env=True)
        elif name == "--json":
            found = found._replace(as_json=True)
    return found


def close_session(options: SessionEndOptions) -> int:
    """Print the variables of a session, or nothing, and return 0. Never raises; over after `DEADLINE_S`."""
    said = b""
    try:
        if options.export_env or options.as_json:
            said = _told(options)
        sys.stdout.flush()
        while said:
            said = said[os.write(1, said) :]
    except BaseException:  # noqa: BLE001 - the hook: an agent's session ends whatever its memory does
        return 0
    return 0


def _told(options: SessionEndOptions) -> bytes:
    """Return what the child says, b"" where it fails or takes too long."""
    arguments = [*(["--json"] if options.as_json else []), *(["--session", options.session] if options.session else [])]
    command = own_command(*arguments, module="recollect.cli.session_end")
    is_posix = os.name == "posix"
    child = subprocess.Popen(  # noqa: S603 - our own program
        command,
        stdin=subprocess.DEVNULL if options.session else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=is_posix,
    )
    try:
        said, _ = child.communicate(timeout=DEADLINE_S)
    except BaseException:
        _end(child, with_group=is_posix)
        raise
    return said if child.returncode == 0 and len(said) <= _MAX_OUTPUT_BYTES else b""


def _end(child: subprocess.Popen[bytes], *, with_group: bool) -> None:
    """End the child and the workers that it may have started."""
    with suppress(OSError):  # it has ended by itself
        if with_group:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    if child.stdout is not None:
        child.stdout.close()
    child.wait(1.0)


def main(arguments: Sequence[str]) -> int:
    """The child: sync, digest that one session, print. Returns 0 with or without something to say."""
    from recollect.memory import Memory

    ends_at = time.monotonic() + DEADLINE_S
    options = options_of(arguments)
    name = options.session or _named_on_stdin()
    values: dict[str, str] = {}
    if name:
        with Memory.open() as memory:
            digest = _digest(memory, name, ends_at)
            if digest is not None:
                values = memory.exported(digest)
    if options.as_json:
        from recollect.cli.terminal import write_json

        write_json(values)
    else:
        from recollect.memory import shell_lines

        sys.stdout.buffer.write(shell_lines(values).encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    return 0


def _named_on_stdin() -> str:
    """Return the session's id in the hook's JSON; "" where somebody types or there is none."""
    from recollect.hook.answer import request
    from recollect.hook.event_file import read_input

    if sys.stdin is None or sys.stdin.isatty():
        return ""
    payload = read_input()
    return request(payload).session if payload else ""


def _digest(memory: Memory, name: str, ends_at: float) -> Digest | None:
    """Take in what the session wrote, analyse it alone, and return its digest; None where it is not known."""
    _take_in(memory, ends_at)
    uid = _uid(memory, name)
    if not uid:
        return None
    while memory.distilling.run(sessions=[uid]).state == "busy":
        _wait(ends_at, _AGAIN_S)
    return memory.digest(uid)


def _take_in(memory: Memory, ends_at: float) -> None:
    """Take in the newest that agents wrote, as much as a question does.

    Another process that is ingesting is waited for: what it holds may be the end of this very session. A home that
    cannot be written is read on.
    """
    from recollect.memory import REFRESH_EVERY_S

    failures = 0
    while failures < _TRIES:
        memory.refresh()
        if memory.last_sync is not None:
            return
        failures += memory.distilling.run(sessions=[]).state != "busy"
        _wait(ends_at, REFRESH_EVERY_S)


def _uid(memory: Memory, name: str) -> str:
    from recollect.errors import UnknownName

    try:
        return memory.session(name).session_uid
    except UnknownName:
        return ""


def _wait(ends_at: float, seconds: float) -> None:
    if time.monotonic() + seconds > ends_at:
        raise TimeoutError
    time.sleep(seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
