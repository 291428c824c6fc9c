"""Reports a failure: a line and a hint for people, an object for programs, a log entry for maintainers."""

from __future__ import annotations

import re
import shlex
import sys
import time
from pathlib import Path

import click

from recollect.cli.options import open_memory
from recollect.cli.terminal import safe, write_json
from recollect.errors import RecollectError, UnknownName, where_raised
from recollect.files import move
from recollect.paths import DATABASE_NAME, HOME_VARIABLE, demo_home, home_dir
from recollect.verbs import VERBS

MAX_LOG_BYTES = 1_000_000
LIKE = 0.7
"""How alike (`difflib`) a typed name and a known one are for a "did you mean": `--sinse` is near `--since`."""


class _Bug(RecollectError):
    """An exception nobody expected."""

    code = "bug"


def report_error(error: RecollectError, *, as_json: bool) -> int:
    """Tell an error and return its exit code.

    People read `recollect: <line>` and `hint: <line>` on stderr; with --json stdout carries
    `{"error": {"code", "message", "hint", "retryable"}}` and stderr stays empty.
    """
    if as_json:
        detail = {"code": error.code, "message": str(error), "hint": error.hint, "retryable": error.retryable}
        write_json({"error": detail})
    else:
        sys.stderr.write(f"recollect: {safe(str(error))}\n")
        is_of_session = isinstance(error, UnknownName) and error.kind == "session" and not error.nearest
        hint = (hint_while_empty() if is_of_session else "") or error.hint
        if hint:
            sys.stderr.write(f"hint: {safe(hint)}\n")
    return error.exit_code


def hint_while_empty() -> str:
    """Return what to do while no session is stored, "" once there is one or where the memory cannot be read."""
    try:
        with open_memory() as memory:
            if memory.is_there() and memory.sessions(limit=1, sync=False).total:
                return ""
    except RecollectError:
        return ""
    demo = demo_home()
    if (demo / DATABASE_NAME).exists():
        sample = f"with {HOME_VARIABLE}={shlex.quote(str(demo))} every command reads it"
        return f"no session is stored yet; `recollect ui` shows the bundled sample, and {sample}"
    return (
        "no session is stored yet; `recollect up --once` ingests what your agents wrote, "
        "or loads a sample if they wrote nothing, and `recollect ui` shows it"
    )


def describe_usage(error: click.ClickException) -> tuple[str, str]:
    """Return (line, hint) of a mistake in the command line that click found."""
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "recollect"
    line = " ".join(error.format_message().rstrip(".").split())
    if isinstance(error, click.NoSuchOption):
        params = error.ctx.command.params if error.ctx is not None else []
        argument = next((param.name for param in params if param.param_type_name == "argument"), "")
        named = error.option_name.lstrip("-")
        names = [name for param in params if param.param_type_name == "option" for name in param.opts]
        meant = f"; write {path} {named.upper()}" if argument in (named, f"{named}s") else ""
        line = f"no such option {error.option_name!r}{meant or _near(error.option_name, names)}"
    elif wrong := re.match(r"No such command '(\S+)'", line):
        line = f"no such command {wrong[1]!r}{_near(wrong[1], [verb.name for verb in VERBS])}"
    return line[:1].lower() + line[1:], _option_meant(ctx, line) or f"`{path} --help` shows the options"


def _near(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, 2, LIKE)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _option_meant(ctx: click.Context | None, line: str) -> str:
    """Return how a filter of the query language is written as an option, "" where the command has none of its name."""
    extra = re.match(r"Got unexpected extra arguments? \((\w+):(\S+?)[ )]", line)
    if ctx is None or extra is None:
        return ""
    option = f"--{extra[1]}"
    has_option = any(option in parameter.opts for parameter in ctx.command.params)
    return f"write it as an option: {ctx.command_path} {option} {extra[2]}" if has_option else ""


def report_bug(error: Exception, *, as_json: bool) -> int:
    """Tell an unexpected exception, write where it happened to the home's log, and return the exit code 3.

    Neither the line nor the log shows the exception's text or any value: both may quote a transcript.
    """
    log = _write_log(error)
    hint = f"please report this with {log}" if log is not None else "please report this"
    return report_error(_Bug(f"unexpected {where_raised(error)}", hint=hint), as_json=as_json)


def _write_log(error: Exception) -> Path | None:
    """Append the stack, without values and without the exception's text. None where that can't be written."""
    import traceback

    log = home_dir() / "logs" / "failures.log"
    seen: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(seen) < 10:
        seen.append(f"{type(cause).__name__}\n" + "".join(traceback.format_tb(cause.__traceback__)))
        cause = cause.__cause__ or cause.__context__
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
            move(log, log.with_suffix(".old.log"), durable=False)
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{stamp} " + "caused by: ".join(seen) + "\n")
    except OSError:
        return None
    return log
