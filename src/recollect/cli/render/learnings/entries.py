"""One entry as text: a learning, fact, diary entry, action or document with its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.blocks import print_block
from recollect.cli.render.figures import when
from recollect.cli.render.notes import print_notes
from recollect.cli.terminal import safe, safe_line
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.memory import EntryView


def print_entry(out: Console, view: EntryView, *, now_us: int, focus: int | None = None) -> None:
    """Print what an entry is and a page of its parts, each with its citation; with `focus`, that one marked."""
    out.print(Text(safe_line(view.title) or "(no title)", style="bold"), soft_wrap=True)
    out.print(Text(safe_line(view.uid), style="cyan"), soft_wrap=True)
    facts = (view.kind, view.state, view.status, view.agent, view.repo, view.path, when(view.ts, now_us))
    out.print(Text(" · ".join(safe_line(fact) for fact in facts if fact)), soft_wrap=True)
    if view.session_uid:
        out.print(Text(f"from session {safe_line(view.session_uid)}"), soft_wrap=True)
    for part in view.parts:
        out.print()
        if view.part_count > 1:
            head = f"#{part.part}  {safe_line(part.heading)}".rstrip()
            out.print(Text(head, style="reverse bold" if part.part == focus else "bold"), soft_wrap=True)
        print_block(out, Text(safe(part.text)))
    print_notes(out, view.notes)
    if view.next_part is not None:
        more = f"{plural(view.part_count, 'part')} in all · go on with --from {view.next_part}"
        out.print()
        out.print(Text(more, style="dim"), soft_wrap=True)
