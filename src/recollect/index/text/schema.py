"""The fields of an index document and their tokenizers. The index stores no text; the store does."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from recollect.model.text import TextClass
from recollect.model.tools import canonical_tool

if TYPE_CHECKING:  # who only makes documents loads no engine
    import tantivy

FORMAT_VERSION = "1"
MAX_TERM_BYTES = 64
"""Longer runs of letters and digits are not terms (base64, minified text); a SHA-256 in hex is one."""
"""Written beside the shards; an index of another version is set aside and rebuilt."""

KEY = "key"
SESSION = "session"
TS = "ts"
KIND = "kind"
TOOL = "tool"
PATHS = "paths"
IDENT = "ident"

TEXT = "text"
"""All that is searched by default, in one field and without positions. One field, because the engine measures a
document's length against the field's average over all documents: with a field for every class of text, talk counted as
very long, and the first five hits held an answer in .27 of the questions instead of .63. Without positions, because
those of tool output (three quarters of the text) alone cost .085 of the source; phrases in it are verified."""

PROSE = "prose"
"""The same text but for tool output, with positions: for phrases and words that stand together, not for ranking."""

INSTRUCTIONS = "instructions"
"""System prompts and loaded instruction files: searched only when asked for by kind."""

VOICE = "voice"
"""Ordinal into VOICES: who speaks, as far as ranking cares."""

VOICES = (
    "reply", "prompt", "thinking", "shell", "edit", "plan", "tool_input", "tool_output", "instructions", "other",
    "note", "document", "former",
)  # fmt: skip
"""prompt: a person's message; reply: the agent's, and summaries. shell, edit, plan: tool calls that run commands,
change files, or write to-do lists and orders for other agents; tool_input: all other calls. The last three are of
entries, see `EntryClass`. The position is what the index keeps, so the order never changes."""

EntryClass = Literal["note", "document", "former"]
"""The class of an entry's text: of a learning, fact, diary entry or action; of a project document; of whichever of
these does not hold any more."""

TEXT_FIELDS: tuple[str, ...] = (TEXT, INSTRUCTIONS)
"""The fields whose terms are all terms there are, besides paths and identifiers."""

_TOOL_VOICES = {"shell": "shell", "edit": "edit", "todo": "plan", "task": "plan"}
_PLAIN = "plain"
_SPACED = "spaced"


@cache
def schema() -> tantivy.Schema:
    """Return the one schema of every shard."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in (KEY, SESSION):
        builder.add_unsigned_field(name, indexed=True, fast=True)
    builder.add_integer_field(TS, fast=True)
    for name in (KIND, TOOL):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field(VOICE, fast=True)
    builder.add_text_field(TEXT, tokenizer_name=_PLAIN, index_option="freq")
    builder.add_text_field(PROSE, tokenizer_name=_PLAIN, index_option="position")
    builder.add_text_field(INSTRUCTIONS, tokenizer_name=_PLAIN, index_option="position")
    builder.add_text_field(PATHS, tokenizer_name=_PLAIN, index_option="position")
    builder.add_text_field(IDENT, tokenizer_name=_SPACED, index_option="basic")
    return builder.build()


def voice_of(text_class: TextClass | EntryClass, kind: str, tool: str) -> int:
    """Return the ordinal of an event's voice."""
    if text_class == "talk":
        return VOICES.index("prompt" if kind == "user_message" else "reply")
    if text_class == "tool_input" and kind == "tool_call":
        return VOICES.index(_TOOL_VOICES.get(canonical_tool(tool), "tool_input"))
    return VOICES.index(text_class)


@cache
def plain_analyzer() -> tantivy.TextAnalyzer:
    """Return the analyser of the text fields."""
    import tantivy

    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).build()


def register_analyzers(index: tantivy.Index) -> None:
    """Give an opened index its analysers; they are not kept on disk.

    They have no filters: small letters and no terms that are too long are what `preparation` gives them.
    """
    import tantivy

    index.register_tokenizer(_PLAIN, plain_analyzer())
    index.register_tokenizer(_SPACED, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
