"""Declares each kind of command result once: its type and its rendering as text.

A command returns `OUTPUT(value, ...)`; `prints` shows that as text or JSON and returns the exit code. `recollect
schema` lists what is declared.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.agent_names import OWN
from recollect.cli.failures import hint_while_empty
from recollect.cli.options import Command, json_option, open_memory
from recollect.cli.terminal import Plain, console, put, results, safe_line, write_json

if TYPE_CHECKING:
    from rich.console import Console

OUTPUTS: list[ResultKind] = []
"""Every kind of result that the loaded commands declare."""
BY_VALUE = object()
NOTHING_FOUND = 1
"""The exit code."""


class CommandResult(NamedTuple):
    """What a command returns. details: what the text needs besides the value."""

    output: ResultKind
    value: Any
    code: int
    details: dict[str, Any]


class ResultKind:
    """A kind of result: call it with a value to return that from a command."""

    def __init__(
        self, schema: str, kind: str, text: str | Callable[..., None] = "", *, listed: str = "", is_plain: bool = False,
        asks_memory: bool = False,
    ) -> None:  # fmt: skip
        """Declare it.

        schema: its name in `recollect schema`, "" for none. kind: its type, by its name in `recollect.memory` or as
        `module:name`. text: the function that prints it, or that of `cli.render` as `module:name`; "" where it only
        stands in other results. listed: values are lists, which JSON has under this name. is_plain: the text needs no
        rich where the output is no terminal. asks_memory: where nothing is found, people are told if nothing is stored.
        """
        self.schema, self.kind, self.text, self.listed, self.is_plain = schema, kind, text, listed, is_plain
        self.asks_memory = asks_memory
        OUTPUTS.append(self)

    def __call__(self, value: Any, *, found: object = BY_VALUE, code: int = 0, **details: Any) -> CommandResult:
        """Return a value from a command. found: where false, the exit code is 1; by default of an empty list."""
        if found is BY_VALUE:
            found = value if self.listed else True
        return CommandResult(self, value, code or (0 if found else NOTHING_FOUND), details)

    def result_type(self) -> Any:
        """Return the type of what `--json` prints, loaded now."""
        module, _, name = self.kind.rpartition(":")
        kind: Any = getattr(importlib.import_module(module or "recollect.memory"), name)
        if not self.listed:
            return kind
        import msgspec

        return msgspec.defstruct("List", [(self.listed, tuple[kind, ...])])

    def printer(self) -> Callable[..., None]:
        """Return the function that prints a value as text, loaded now."""
        if not isinstance(self.text, str):
            return self.text
        module, _, name = self.text.partition(":")
        found: Callable[..., None] = getattr(importlib.import_module(f"recollect.cli.render.{module}"), name)
        return found


def show(result: CommandResult, *, as_json: bool) -> int:
    """Print a result and return its exit code."""
    output, value = result.output, result.value
    if as_json:
        write_json({output.listed: value} if output.listed else value)
    else:
        out = results() if output.is_plain else console()
        output.printer()(out, value, **result.details)
        hint = hint_while_empty() if result.code == NOTHING_FOUND and output.asks_memory else ""
        if hint:
            put(out, f"hint: {safe_line(hint)}")
    return result.code


def prints(command: Callable[..., CommandResult | int]) -> Callable[..., int]:
    """Add `--json` and print what a command returns; one that has printed all by itself returns its exit code.

    Of its parameters, `as_json` says whether it is JSON, and `memory` is the user's memory, open while it runs.
    """

    @wraps(command)
    def run(*, as_json: bool, **options: Any) -> int:
        with ExitStack() as opened:
            if "memory" in command.__annotations__:
                options["memory"] = opened.enter_context(open_memory())
            if "as_json" in command.__annotations__:
                options["as_json"] = as_json
            result = command(**options)
        return result if isinstance(result, int) else show(result, as_json=as_json)

    return json_option(run)


def examples(*lines: str) -> Callable[[Command], Command]:
    """Add examples to the help that a command's docstring is. `recollect` stands before a line that lacks it.

    `{0}` and `{1}` stand for the first agents of `agent_names`.
    """
    shown = [line.format(*OWN) if "recollect" in line else f"recollect {line.format(*OWN)}" for line in lines]
    title = "Example:" if len(lines) == 1 else "Examples:"

    def add(command: Command) -> Command:
        block = "".join(f"\n    {line}" for line in ("\b", title, *(f"  {line}" for line in shown)))
        command.__doc__ = f"{(command.__doc__ or '').rstrip()}\n{block}"
        return command

    return add


def _print_line(out: Console | Plain, _: Any, *, line: str) -> None:
    put(out, safe_line(line))


LINE = ResultKind("", "", _print_line, is_plain=True)
"""A result without a promised shape, which one line of text says."""
