"""`recollect context --hook AGENT`: answers an agent's hook event with context.

Every session of the agent waits for this, so it loads neither click nor the search engine; and it cannot fail. Whatever
happens, one valid answer is printed, perhaps the empty one, and the exit code is 0 (some agents read 2 as "block").
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from recollect.agent_names import own_slug
from recollect.hook.answer import Request, request
from recollect.hook.answer_formats import MAX_CHARS, answer_with, empty_answer, shortened, takes_context
from recollect.late import load_lightly

if TYPE_CHECKING:
    from recollect.memory import ContextBlock, ContextFacet

Event = Literal["start", "compact", "prompt"]
EVENTS: tuple[Event, ...] = ("start", "compact", "prompt")
MAX_PAYLOAD_BYTES = 4 * 1024 * 1024
"""More is no payload of a hook: a prompt is the longest thing in it, and its first words are enough."""
_OPTIONS = {"--cwd": "cwd", "--event": "event", "--session": "session", "--budget": "budget", "--hook": "agent"}


class HookOptions(NamedTuple):
    """The options of the verb. What is not given is taken from the payload."""

    agent: str
    event: str = ""
    cwd: str = ""
    session: str = ""
    budget: int | None = None


def options_of(arguments: Sequence[str]) -> HookOptions | None:
    """Return the options of `context … --hook AGENT …`; None where the verb's own reading must tell what is wrong."""
    values: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, has_value, value = rest.pop(0).partition("=")
        if name not in _OPTIONS or not (has_value or rest):
            return None
        values[_OPTIONS[name]] = value if has_value else rest.pop(0)
    budget = values.pop("budget", None)
    if not values.get("agent") or values.get("event", "start") not in EVENTS or not (budget or "1").isdecimal():
        return None
    return HookOptions(**values, budget=int(budget) if budget else None)


def answer_hook(options: HookOptions) -> int:
    """Read an event from stdin, print the agent's answer, log it, and return 0."""
    gc.disable()  # the process ends before there is anything worth collecting
    options = options._replace(agent=own_slug(options.agent))
    said = b""
    event: Event = "start"
    try:
        began = time.perf_counter_ns()
        load_lightly("msgspec", "pathlib", "zstandard")
        payload = request(sys.stdin.buffer.read(MAX_PAYLOAD_BYTES))
        event = event_of(options, payload)
        if takes_context(options.agent, event):
            session = options.session or _uid(options.agent, payload.session)
            made = _block(options, payload, event, session)
            if made is not None:
                facet, block = made
                shown = block.cut_to(shortened(block.text, MAX_CHARS))
                said = answer_with(options.agent, event, shown.text)
                _print(said)
                took_us = (time.perf_counter_ns() - began) // 1000
                facet.record(shown, agent=options.agent, event=event, session=session, took_us=took_us)
                return 0
    except Exception as error:  # noqa: BLE001 - the hook: an agent never waits for, or fails by, its memory
        if not said:
            _print(empty_answer(options.agent, event))
        _count(error, options.agent, event)
        return 0
    _print(empty_answer(options.agent, event))
    return 0


def _count(error: Exception, agent: str, event: Event) -> None:
    """Log that an event could not be answered, so that `recollect stats recall` tells."""
    try:
        from recollect.memory import ContextBlock, ContextFacet
        from recollect.paths import home_dir

        block = ContextBlock(notes=(getattr(error, "code", type(error).__name__),))
        ContextFacet(home_dir().absolute(), os.environ, search=None).record(
            block, agent=agent, event=event, session="", took_us=0
        )
    except Exception:  # noqa: BLE001, S110 - there is no home to count it in
        pass


def event_of(options: HookOptions, payload: Request) -> Event:
    """Return the event: as registered, but a session that begins again after a compaction says so in its source."""
    if options.event in ("", "start") and payload.source == "compact":
        return "compact"
    return cast("Event", options.event or "start")


def _block(
    options: HookOptions, payload: Request, event: Event, session: str
) -> tuple[ContextFacet, ContextBlock] | None:
    """Return the block and the log to write it to; None where the person wants nothing said at this event."""
    from recollect.paths import config_file, home_dir

    cwd, config = options.cwd or payload.cwd or os.getcwd(), None
    if config_file().exists():
        from recollect.config import load_config

        config = load_config().context
    if event == "prompt":
        if config is None or not config.per_prompt:
            return None
        from recollect.memory import ContextFacet, Memory

        with Memory.open() as memory:
            said = memory.context(cwd=cwd, event=event, session=session, prompt=payload.prompt, budget=options.budget)
            return memory.context_facet, said
    from recollect.memory import BUDGET_TOKENS, ContextFacet

    budget = options.budget or (config.budget_tokens if config is not None else BUDGET_TOKENS)
    facet = ContextFacet(home_dir().absolute(), os.environ, settings=config)
    return facet, facet.block(cwd=cwd, event=event, session=session, budget=budget, agent=options.agent)


def _uid(agent: str, native_id: str) -> str:
    from recollect.model.ids import session_uid

    return session_uid(agent, native_id) if native_id else ""


def _print(said: bytes) -> None:
    """Give the answer. An agent that has gone away reads nothing."""
    try:
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
