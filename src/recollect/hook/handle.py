"""Handles one event of an agent, from payload to answer. See docs/reference/hooks.md.

Arguments: AGENT EVENT [SPOOL [RECOLLECT]]. AGENT: any name of an agent. EVENT is `spool` (keep, answer nothing),
`start`, `compact`, `prompt`, `flush` or `end`. SPOOL: the folder to keep what comes on stdin in. RECOLLECT: the console
script, run when no daemon answers.

Whatever happens, the exit code is 0, and stdout holds the agent's valid answer or nothing: Claude Code and others read
an exit code of 2 as "block and erase the prompt".
"""

from __future__ import annotations

import os
import sys

from recollect.agent_names import own_slug
from recollect.processes import own_command

TYPE_CHECKING = False  # importing `typing` takes longer than all the work here
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
    from types import FrameType
else:
    try:
        # What `signal` is made of, without its enumerations: importing those takes longer than all the work here.
        import _signal as signal
    except ImportError:  # another Python than CPython
        import signal

READ_S = 4.0
"""How long the payload may take to come. The shortest timeout of an agent is 5 s (Grok)."""
DEADLINE_S = {"start": 2.0, "compact": 2.0, "prompt": 1.0, "flush": 0.5, "end": 0.5}
"""How long an answer may take, by event, before the empty one is given.

At a session's end Claude Code allows 1.5 s for all hooks together; a prompt is something a person waits behind. Budgets
(docs/reference/hooks.md) are far below: this is where a hook gives up.
"""


class Stop(BaseException):
    """The time is over, or somebody asked the process to end."""


def main(arguments: Sequence[str]) -> int:
    """Handle one event and return 0. Prints the answer; nothing else reaches stdout or stderr."""
    try:
        _print(answer_to(arguments))
    except BaseException:  # noqa: BLE001 - nobody reads any more
        return 0
    return 0


def answer_to(arguments: Sequence[str]) -> bytes:
    """Handle one event and return the answer, in time. Takes the process's alarm and signals; never raises."""
    said = b""
    # Time may end within an import, in a callback from which nothing can be raised: Python would print that.
    told, sys.stderr = sys.stderr, None
    try:
        _arm()
        arguments = (own_slug(arguments[0]), *arguments[1:])
        said = _handle(arguments)
    except BaseException:  # noqa: BLE001, S110 - the agent must continue, whatever went wrong in here
        pass
    try:
        _disarm()
        return said or _empty(arguments)
    except BaseException:  # noqa: BLE001 - half an installation
        return said
    finally:
        sys.stderr = told


def _handle(arguments: Sequence[str]) -> bytes:
    from recollect.hook import event_file
    from recollect.wire import INTERNAL_VARIABLE

    agent, event = arguments[0], arguments[1]
    spool = arguments[2] if len(arguments) > 2 else _spool()
    is_ours = bool(os.environ.get(INTERNAL_VARIABLE))
    payload = None
    try:
        _limit(READ_S)
        payload = event_file.read_input()
    finally:
        # What has come is kept whatever the time, and what did not is counted.
        _limit(0)
        if payload is not None and not is_ours:
            event_file.keep(spool, agent, payload)
        elif not is_ours:
            event_file.lose(spool, agent)
    if payload is None or is_ours or event == "spool":
        return b""
    _limit(DEADLINE_S[event])
    from recollect.hook.answer import HookCall, answer

    program = (arguments[3],) if len(arguments) > 3 else own_command()
    return answer(
        HookCall(agent, event, payload, home=os.path.dirname(spool), program=program), seconds=DEADLINE_S[event]
    )


def _empty(arguments: Sequence[str]) -> bytes:
    if len(arguments) < 2 or arguments[1] == "spool":
        return b""
    from recollect.hook.answer_formats import empty_answer

    return empty_answer(arguments[0], arguments[1])


def _spool() -> str:
    from recollect.paths import SPOOL_FOLDER, home_text

    return os.path.join(home_text(), SPOOL_FOLDER)


def _print(said: bytes) -> None:
    while said:
        said = said[os.write(1, said) :]


def _arm() -> None:
    """Let the end of the time and every polite request to end raise Stop."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Stop

    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGALRM"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)


def _limit(seconds: float) -> None:
    """Let the time end in so many seconds, counted from now; 0: not at all."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
    elif seconds:
        _watch(seconds)


def _watch(seconds: float) -> None:
    """Without an alarm (Windows), a thread ends the process."""
    import _thread
    import time

    def end() -> None:
        time.sleep(seconds)
        os._exit(0)

    _thread.start_new_thread(end, ())


def _disarm() -> None:
    """The answer is written whole, also when the time ends meanwhile."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGALRM"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
