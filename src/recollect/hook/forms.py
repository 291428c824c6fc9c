"""What each agent takes as an answer, as data: the form that carries context, and the one that says nothing.

A form has one place for the context; everything else in it is as the agent's documentation has it, because some refuse
keys that they do not know. Events that have no form get the empty answer: the agent reads none there.
"""

from __future__ import annotations

import json

MARK = "\0"
"""Where the context goes."""


def _specific(name: str) -> object:
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": MARK}}


class Form:
    """How an agent is answered.

    by_event: the JSON answer by event (`start`, `compact`, `prompt`), with MARK where the context goes, or MARK itself
    where the agent takes plain text. empty: the valid answer without context. max_chars: of the context.
    source: where the form is documented.
    """

    __slots__ = ("by_event", "empty", "max_chars", "source")

    def __init__(
        self, by_event: dict[str, object], *, empty: bytes = b"", max_chars: int = 10_000, source: str
    ) -> None:
        self.by_event = by_event
        self.empty = empty
        self.max_chars = max_chars
        self.source = source


_START = _specific("SessionStart")
_PROMPT = _specific("UserPromptSubmit")
_ALL = {"start": _START, "compact": _START, "prompt": _PROMPT}

FORMS: dict[str, Form] = {
    "claude": Form(_ALL, source="Claude Code, Hooks reference: SessionStart, UserPromptSubmit; 10,000 characters"),
    "codex": Form(
        _ALL, source="openai/codex, codex-rs/hooks/schema/generated/session-start.command.output.schema.json"
    ),
    "gemini": Form(
        {"start": _START, "compact": _START, "prompt": _specific("BeforeAgent")},
        empty=b"{}",
        source="Gemini CLI, docs/hooks: SessionStart, BeforeAgent; stdout is one JSON object",
    ),
    "qwen": Form(_ALL, empty=b"{}", source="Qwen Code, docs/users/features/hooks.md, Hook Output Structure"),
    "kimi": Form(
        {"prompt": MARK},
        source="Kimi Code, docs/en/customization/hooks.md: text of UserPromptSubmit is appended; SessionStart observes",
    ),
    "vscode": Form(
        {"start": _START, "compact": _START},
        empty=b"{}",
        source="Visual Studio Code, Hooks reference: SessionStart; UserPromptSubmit has the common output only",
    ),
    "cursor": Form(
        {"start": {"additional_context": MARK}, "compact": {"additional_context": MARK}},
        empty=b"{}",
        source="Cursor, Hooks: sessionStart takes additional_context; beforeSubmitPrompt takes none",
    ),
    "opencode": Form(
        {"start": MARK, "compact": MARK, "prompt": MARK},
        source="our own plugin for opencode, which puts the text into the session",
    ),
    "pi": Form(
        {"start": MARK, "compact": MARK, "prompt": MARK},
        source="our own extension for pi, which adds the text as a message",
    ),
    "copilot": Form(
        {"start": {"additionalContext": MARK}},
        empty=b"{}",
        source="GitHub Copilot CLI, Hooks reference: SessionStart, since 1.0.11; that of prompts is ignored",
    ),
    "grok": Form({}, source="Grok Build, Hooks: only PreToolUse reads an answer"),
    "codewhale": Form(
        {}, source="CodeWhale, docs/HOOKS.md: session_start observes, message_submit would replace the text"
    ),
    "windsurf": Form({}, source="Windsurf, Cascade hooks: no context in answers"),
}
_UNKNOWN = Form({}, source="an agent without a documented answer gets none")


def form_of(agent: str) -> Form:
    """Return the form of an agent, named by its slug; of one that is not known, a form that says nothing."""
    return FORMS.get(agent, _UNKNOWN)


def takes_context(agent: str, event: str) -> bool:
    """Tell whether an agent reads context from the answer to an event."""
    return event in form_of(agent).by_event


def empty_answer(agent: str, event: str) -> bytes:
    """Return the valid answer without context."""
    del event  # all forms say nothing alike at every event
    return form_of(agent).empty


def answer_with(agent: str, event: str, text: str) -> bytes:
    """Return the answer that gives the agent a text; without one, or where none is read, the empty answer."""
    form = form_of(agent)
    shape = form.by_event.get(event)
    if not text.strip() or shape is None:
        return form.empty
    shown = shortened(text, form.max_chars)
    if shape == MARK:
        return shown.encode("utf-8", "replace")
    return json.dumps(_filled(shape, shown)).encode()


def is_valid(agent: str, event: str, said: bytes) -> bool:
    """Tell whether an answer that another process made is one that the agent takes at this event."""
    form = form_of(agent)
    if said == form.empty:
        return True
    shape = form.by_event.get(event)
    if shape is None or len(said) > 16 * form.max_chars:
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
    """Tell whether a value has exactly the keys and constants of a shape, and a text in its place."""
    if isinstance(shape, dict):
        return (
            isinstance(value, dict)
            and shape.keys() == value.keys()
            and all(_is_like(inner, value[key]) for key, inner in shape.items())
        )
    return isinstance(value, str) if shape == MARK else value == shape
