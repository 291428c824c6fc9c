"""Runs a program: with input and output, or detached."""

from __future__ import annotations

import os
import sys

from recollect.processes import own_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "recollect"
"""Of the console script, and of the module that is the same program."""
MAX_ANSWER_BYTES = 1 << 20
_LIMIT_S = 1.0
"""How much longer than its hook a child lives at most, should the hook be killed before it can end it."""
_FAILED = 127
_GENTLY = 10


def output_of(
    command: Sequence[str], payload: bytes, env: Mapping[str, str], *, seconds: float, is_alone: bool
) -> bytes:
    """Return a program's output, nothing when it fails. Raises what ends the wait; the program is gone then.

    is_alone: this process has one thread, and an alarm ends the wait. Then the child is made by hand, because importing
    the standard way takes longer than the hook; else by the standard way, with a timeout.
    """
    if is_alone and hasattr(os, "fork"):
        made, status = _forked(command, payload, env, seconds=seconds)
    else:
        made, status = _run(command, payload, env, seconds=seconds)
    return made.strip() if status == 0 and len(made) <= MAX_ANSWER_BYTES else b""


def own_arguments(command: Sequence[str]) -> list[str] | None:
    """Return the arguments of a command that is this very program on this very Python; None for any other command.

    That is the console script beside the interpreter, as earlier versions registered it, or the module.
    """
    if command[0] == os.path.join(os.path.dirname(sys.executable), NAME):
        return list(command[1:])
    own = own_command()
    return list(command[len(own) :]) if tuple(command[: len(own)]) == own else None


def start_apart(command: Sequence[str], env: Mapping[str, str], *, is_alone: bool) -> None:
    """Start a detached program that reads nothing and prints nothing. Raises OSError.

    is_alone: as in `output_of`.
    """
    arguments = own_arguments(command)
    command = command if arguments is None else own_command(*arguments)
    if is_alone and hasattr(os, "fork"):
        number = os.fork()
        if number == 0:
            _become_apart(command, env)
        os.waitpid(number, 0)
        return
    import subprocess

    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    subprocess.Popen(  # noqa: S603 - our own program
        list(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(env),
        cwd=os.sep, start_new_session=True, creationflags=flags,
    )  # fmt: skip


def _become_apart(command: Sequence[str], env: Mapping[str, str]) -> None:
    """Begin a session of its own and leave it to a child that the system looks after. Never returns."""
    try:
        os.setsid()
        os.chdir(os.sep)  # so that the agent's folder can be unmounted
        if os.fork() == 0:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for channel in (0, 1, 2):
                os.dup2(nowhere, channel)
            os.nice(_GENTLY)
            os.execve(command[0], list(command), dict(env))  # noqa: S606 - our own program, by its absolute path
    finally:
        os._exit(0)


def _forked(command: Sequence[str], payload: bytes, env: Mapping[str, str], *, seconds: float) -> tuple[bytes, int]:
    asked, asking = os.pipe()
    answered, answering = os.pipe()
    number = os.fork()
    if number == 0:
        _become(command, env, (asked, answering, asking, answered), seconds=seconds)
    is_running = True
    try:
        os.close(asked)
        os.close(answering)
        _write(asking, payload)
        os.close(asking)
        made = b""
        while (part := os.read(answered, 65_536)) and len(made) <= MAX_ANSWER_BYTES:
            made += part
        os.close(answered)  # one that prints on and on is ended by that
        _, status = os.waitpid(number, 0)
        is_running = False
        return made, status
    finally:
        if is_running:
            import signal

            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)


def _become(command: Sequence[str], env: Mapping[str, str], pipes: Sequence[int], *, seconds: float) -> None:
    """Be the program. Never returns. pipes: its ends, the one to read from and the one to write to first."""
    try:
        import signal

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds + _LIMIT_S)  # an alarm outlives exec
        os.dup2(pipes[0], 0)
        os.dup2(pipes[1], 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        arguments = own_arguments(command)
        if arguments is not None:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            for end in pipes:  # exec would close them; a child that can write to itself never sees the input's end
                if end > 2:
                    os.close(end)
            _run_here(arguments, env)
        os.execve(command[0], list(command), dict(env))  # noqa: S606 - our own program, by its absolute path
    finally:
        os._exit(_FAILED)


def _run_here(arguments: Sequence[str], env: Mapping[str, str]) -> None:
    """Be Recollect without starting Python once more, which takes a fifth of the time there is. Never returns.

    The program is named by a text: it is another one than the hook, as if it had been started by its path, and what it
    loads is none of the hook's.
    """
    from importlib import import_module

    os.environ.update(env)
    if sys.flags.no_site:
        import site

        site.main()  # where our dependencies are; the hook itself starts without
    sys.argv, sys.stderr = [NAME, *arguments], sys.__stderr__
    status = import_module(f"{NAME}.__main__").main()
    sys.stdout.flush()
    os._exit(status)


def _write(channel: int, payload: bytes) -> None:
    view = memoryview(payload)
    try:
        while view:
            view = view[os.write(channel, view) :]
    except BrokenPipeError:
        return  # it has heard enough


def _run(command: Sequence[str], payload: bytes, env: Mapping[str, str], *, seconds: float) -> tuple[bytes, int]:
    import subprocess

    arguments = own_arguments(command)
    command = command if arguments is None else own_command(*arguments)

    with subprocess.Popen(  # noqa: S603 - as above
        list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(env)
    ) as child:
        try:
            made, _ = child.communicate(payload, timeout=max(0.0, seconds))
        except BaseException:
            child.kill()
            child.wait()
            raise
        return made, child.returncode
