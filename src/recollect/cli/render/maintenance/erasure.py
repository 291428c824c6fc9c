"""What would be, or was, forgotten, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import stamp
from recollect.cli.render.notes import print_notes
from recollect.cli.render.tables import plain_table
from recollect.cli.terminal import safe_line
from recollect.model.text import one_line
from recollect.units import count, plural, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import ForgetReport, ForgottenList, NoteToForget, SessionToForget

_TEXT_CHARS = 100
SHOWN = 50
"""Sessions listed one by one; the rest is counted. `--json` has all."""
_KINDS = {
    "session": "sessions", "event": "events, by the id that their agent gave them", "record": "records",
    "excluded": "sessions of excluded repositories", "written": "learned, noted, documented or decided",
}  # fmt: skip


def print_forgotten(out: Console, report: ForgetReport) -> None:
    """Print the sessions that would go, or what went, and what one should know of it."""
    if report.state == "nothing":
        out.print("nothing in the memory is meant by this")
    elif report.state == "busy":
        out.print(Text("another process is ingesting into this memory; nothing was forgotten", style="yellow"))
    if report.sessions:
        for session in report.sessions[:SHOWN]:
            out.print(Text(_line(session)), soft_wrap=True)
        if len(report.sessions) > SHOWN:
            out.print(Text(f"{len(report.sessions) - SHOWN:,} more; --json lists them", style="dim"))
    if report.kept_copies:
        kept = ", ".join(report.kept_copies[:SHOWN])
        line = f"not forgotten: {kept} {'goes' if len(report.kept_copies) == 1 else 'go'} on from one that goes"
        out.print(Text(safe_line(f"{line}, and may repeat it"), style="yellow"), soft_wrap=True)
    _print_some(out, "learned and noted that goes with it:", [_note_line(one) for one in report.learned])
    _print_some(out, "your agents' own files still hold it, and are not touched:", report.files)
    print_notes(out, report.notes)
    if report.state in ("planned", "done"):
        out.print(Text(_sum_line(report), style="dim"), soft_wrap=True)


def _print_some(out: Console, heading: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    out.print(heading)
    for line in lines[:SHOWN]:
        out.print(Text(f"  {safe_line(line)}"), soft_wrap=True)
    if len(lines) > SHOWN:
        out.print(Text(f"  {len(lines) - SHOWN:,} more; --json lists them", style="dim"))


def _note_line(one: NoteToForget) -> str:
    return f"{one.name} · {one_line(one.text, _TEXT_CHARS)}" if one.text else one.name


def print_tombstones(out: Console, found: ForgottenList) -> None:
    """Print how much was ever forgotten, and when."""
    if not found.groups:
        out.print("nothing was ever forgotten")
        return
    rows = [(stamp(g.forgotten_at), count(g.count), _KINDS[g.kind]) for g in found.groups]
    out.print(plain_table(("when", "tombstones", "of"), rows))


def _line(s: SessionToForget) -> str:
    goes = "whole" if s.is_whole else "in part"
    if s.because_of:
        goes = f"with {s.because_of}"
    facts = (s.session_uid, s.repo, stamp(s.started_at), goes, plural(s.events, "event"))
    return safe_line(" · ".join(fact for fact in facts if fact))


def _sum_line(report: ForgetReport) -> str:
    what = [
        plural(report.whole_sessions, "whole session"),
        f"{count(report.partial_sessions)} in part",
        plural(report.events, "event"),
        plural(report.records, "single record"),
    ]
    if report.written:
        what.append(f"{count(report.written)} learned, noted or documented")
    done = {"planned": "would go", "done": "forgotten"}[report.state]
    line = f"{done}: {', '.join(what)}; {size(report.bytes)} of your agents' bytes"
    return line if report.state == "planned" else f"{line}, {size(max(0, report.freed_bytes))} of disk given back"
