"""The answer formats of each agent: one with context, and one without.

The forms are in the agents' files, with where they are documented (`HookFacts.answers`). A form has one place for the
context; everything else in it is as the documentation has it, because some agents refuse keys that they do not know.
Events that have no form get the empty answer: the agent reads none there, nor does one without a documented form.
"""

from __future__ import annotations

import json

from recollect.agent_names import ANSWERS

MARK = "{context}"
"""Where the context goes; a form that is nothing else is plain text."""
MAX_CHARS = 10_000
"""Of the context: no agent is known to read less."""
_NONE: tuple[dict[str, object], bytes] = ({}, b"")


def takes_context(agent: str, event: str) -> bool:
    """Return whether an agent reads context from the answer to an event."""
    return event in ANSWERS.get(agent, _NONE)[0]


def empty_answer(agent: str, event: str) -> bytes:
    """Return the valid answer without context."""
    del event  # all forms say nothing alike at every event
    return ANSWERS.get(agent, _NONE)[1]


def answer_with(agent: str, event: str, text: str) -> bytes:
    """Return the answer that gives a text to the agent; the empty answer without a text or a reader."""
    by_event, empty = ANSWERS.get(agent, _NONE)
    shape = by_event.get(event)
    if not text.strip() or shape is None:
        return empty
    shown = shortened(text, MAX_CHARS)
    if shape == MARK:
        return shown.encode("utf-8", "replace")
    return json.dumps(_filled(shape, shown)).encode()


def is_valid(agent: str, event: str, said: bytes) -> bool:
    """Return whether another process's answer is one that the agent accepts at this event."""
    by_event, empty = ANSWERS.get(agent, _NONE)
    if said == empty:
        return True
    shape = by_event.get(event)
    if shape is None or len(said) > 16 * MAX_CHARS:
        return False
    try:
        if shape == MARK:
            return bool(said.decode("utf-8").strip())
        return _is_like(shape, json.loads(said))
    except (ValueError, RecursionError):
        return False


def shortened(text: str, limit: int) -> str:
    """Return a text of at most so many characters, whole lines, with its last line, which closes the block."""
    if len(text) <= limit:
        return text
    head, _, last = text.rstrip().rpartition("\n")
    if not head or len(last) + 3 > limit:
        return text[: max(0, limit - 1)] + "…"
    kept = head[: limit - len(last) - 3]
    whole = kept.rpartition("\n")[0]
    return f"{whole or kept}\n…\n{last}"


def _filled(shape: object, text: str) -> object:
    if isinstance(shape, dict):
        return {key: _filled(value, text) for key, value in shape.items()}
    return text if shape == MARK else shape


def _is_like(shape: object, value: object) -> bool:
    """Return whether a value has exactly the keys and constants of a form, and a text in its place."""
    if isinstance(shape, dict):
        return (
            isinstance(value, dict)
            and shape.keys() == value.keys()
            and all(_is_like(inner, value[key]) for key, inner in shape.items())
        )
    return isinstance(value, str) if shape == MARK else value == shape
