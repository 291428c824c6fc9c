"""What agents were given, and the person's own files that lead it, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import stamp
from recollect.cli.terminal import safe_line
from recollect.units import count

if TYPE_CHECKING:
    from recollect.memory import Begun, ShownBlock

_STATES = {"written": "written", "there": "is there already, left as it is", "missing": "would be written"}
_STYLES = {"opened": "green", "cited": "green", "repeated": "green"}


def print_given(out: Console, blocks: Sequence[ShownBlock]) -> None:
    """Print blocks, the newest first: to whom and when, of what use, and what each of their lines cites."""
    for block in blocks:
        facts = (stamp(block.at), block.agent, block.event, block.session or "no session", block.repo)
        line = Text(" · ".join(safe_line(fact) for fact in facts if fact), style="bold")
        if block.used is not None:
            line.append(f"  {block.used}", _STYLES.get(block.used, "dim"))
        out.print(line, soft_wrap=True)
        out.print(Text(f"    {_size(block)}", style="dim"), soft_wrap=True)
        for shown in block.lines:
            text = safe_line(shown.text) or "(not stored any more)"
            out.print(Text(f"    {text}  ").append(safe_line(shown.citation), "cyan"), soft_wrap=True)
    if not blocks:
        out.print("no agent was given anything yet")


def print_begun(out: Console, begun: Begun) -> None:
    """Print where the two files are and what was done."""
    for file in begun.files:
        out.print(Text(f"{safe_line(file.path)}: {_STATES[file.state]}"), soft_wrap=True, highlight=False)


def _size(block: ShownBlock) -> str:
    if block.note:
        return f"nothing was said: {safe_line(block.note)}"
    if not block.tokens:
        return "nothing to say"
    left_out = f", {count(block.left_out)} left out" if block.left_out else ""
    return f"{count(block.tokens)} LLM tokens at most, in {block.took_ms:g} ms{left_out}"
