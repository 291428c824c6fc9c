"""Renders agents: where they are, unknown records, fixtures and set-up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.terminal import put, safe, safe_line
from recollect.testing.suite import ALL, Result
from recollect.units import plural, size

if TYPE_CHECKING:
    from recollect.memory import AgentReport, AgentView, DriftRow, SetupReport, Step


def print_agents(out: Console, agents: Sequence[AgentView], *, is_all: bool = False) -> None:
    """Print the agents that are here, with their folders and how much they say; the others by name, or all of them."""
    # That a person has a home says nothing of the agents that write in it.
    here = [a for a in agents if is_all or a.sessions or any(Path(root) != Path.home() for root in a.roots)]
    for agent in here:
        what = f"{plural(agent.sessions, 'session')}, {plural(agent.events, 'event')}, {size(agent.source_bytes)}"
        state = what if agent.enabled else f"off in the configuration; {what} stored"
        put(out, (f"{agent.name} ({agent.slug})", "bold"), f": {state}")
        c = agent.capabilities
        claims = ("timestamps", "usage", "thinking", "edits", "lineage", "session_end")
        says = ", ".join(f"{claim.replace('_', ' ')} {getattr(c, claim)}" for claim in claims)
        put(out, (f"  {c.container}; {says}", "dim"))
        for root in agent.roots:
            put(out, f"  {safe_line(root)}")
        for root in agent.absent_roots if is_all else ():
            put(out, (f"  {safe_line(root)} (not there)", "dim"))
    others = [a.slug for a in agents if a not in here]
    if others:
        out.print()
        put(out, f"{len(others)} more can be read but are not on this machine: {', '.join(others)}")


SHOWN_ROWS = 20
"""Rows shown of one version; `--json` has all."""


def print_drift(out: Console, found: Sequence[DriftRow]) -> None:
    """Print a line for each, by agent and version, the most frequent first; the places are files as they were named."""
    if not found:
        out.print("no drift: every record type, field and value is known")
        return
    for (agent, version), group in groupby(found, key=lambda row: (row.agent, row.version)):
        rows = list(group)
        title = f"{agent} {version}" if version else agent
        out.print(Text(f"{safe_line(title)}: {plural(len(rows), 'thing')} not known", style="bold"))
        for row in rows[:SHOWN_ROWS]:
            where = Text(f"    first in {safe_line(row.path)}, record {row.record_index}", style="dim")
            put(out, f"  {row.kind} {safe_line(row.name)}, {plural(row.count, 'time')}")
            out.print(where, soft_wrap=True)
        if len(rows) > SHOWN_ROWS:
            out.print(f"and {len(rows) - SHOWN_ROWS} more, see --json")
        out.print()


def print_conformance(console: Console, results: Sequence[Result]) -> None:
    """Print every fixture with what is wrong with it, and a last line of totals."""
    for result in results:
        mark = ("broken", "red") if result.problems else ("ok", "green")
        console.print(Text.assemble((f"{mark[0]:<9}", mark[1]), safe_line(result.fixture)), soft_wrap=True)
        for problem in result.problems:
            console.print(Text(f"         {safe_line(problem)}"), soft_wrap=True)
    fixtures = sum(result.fixture != ALL for result in results)
    broken = sum(bool(result.problems) for result in results)
    verdict = f"{broken} broken" if broken else "the adapter keeps every rule"
    console.print(Text(f"{plural(fixtures, 'fixture')}, {verdict}"))


_STEP_KINDS = {
    "mcp": "tools (MCP)",
    "hooks": "hooks",
    "skill": "skill",
    "native_memory": "the agent's own memory",
    "writing_tools": "setting for the diary and the other tools that write",
}
_ACTIONS = {
    "add": ("write", "green"),
    "change": ("change", "green"),
    "remove": ("take out", "green"),
    "run": ("run", "green"),
    "none": ("leave", "dim"),
    "left": ("leave", "yellow"),
    "blocked": ("CANNOT", "red"),
    "unsupported": ("no", "yellow"),
}
_SETUP_STATES: dict[str, tuple[str, str]] = {
    "planned": ("planned", ""),
    "not_found": ("not found on this machine; nothing to do", "dim"),
    "unchanged": ("nothing to do: everything is up to date", "green"),
    "done": ("done", "green"),
    "incomplete": ("partly done; see above", "yellow"),
    "failed": ("FAILED", "red"),
}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_PROBES = {"ok": "green", "warn": "yellow", "fail": "red"}


def print_agent(out: Console, report: AgentReport, *, shows_lines: bool) -> None:
    """Print one agent's plan. shows_lines: of each change too; else how many there are."""
    version = f" {report.version}" if report.version else ""
    put(out, (safe_line(f"{report.name}{version} ({report.slug}): {report.mode}"), "bold"))
    if report.state == "not_found":
        out.print(Text(f"  {_SETUP_STATES['not_found'][0]}", style="dim"))
        return
    for step in report.steps:
        _print_step(out, step, shows_lines=shows_lines)
    for probe in report.tries:
        put(out, "  " + safe_line(f"then probe: {probe}"))
    for note in report.notes:
        put(out, ("  " + safe_line(f"note: {note}"), "yellow"))


def print_own(out: Console, step: Step, *, shows_lines: bool) -> None:
    """Print what changes in our own configuration. shows_lines: see `print_agent`."""
    out.print(Text("Recollect itself", style="bold"))
    _print_step(out, step, shows_lines=shows_lines)


def print_outcome(out: Console, report: AgentReport) -> None:
    """Print how it went, with what stopped it and what the probes found."""
    for step in report.steps:
        if step.action == "blocked" and step.command:
            _print_step(out, step, shows_lines=True)
    for probe in report.probes:
        hint = f"; {probe.hint}" if probe.hint else ""
        told = f"probe {probe.name}: {probe.state}: {probe.detail}{hint}"
        put(out, ("  " + safe_line(told), _PROBES[probe.state]))
    text, style = _SETUP_STATES[report.state]
    more = f": {report.error}" if report.error else ""
    put(out, ("  " + safe_line(text + more), style))


def _print_step(out: Console, step: Step, *, shows_lines: bool) -> None:
    action, style = _ACTIONS[step.action]
    what = f"{action} {_STEP_KINDS[step.kind]}"
    if step.command:
        what += f": {' '.join(step.command)}"
    elif step.path:
        what += f": {step.path}"
    if step.detail:
        what += f" ({step.detail})" if step.path or step.command else f": {step.detail}"
    if step.diff and not shows_lines:
        added = sum(line.startswith("+") and not line.startswith("+++ ") for line in step.diff)
        removed = sum(line.startswith("-") and not line.startswith("--- ") for line in step.diff)
        what += f", +{added} -{removed} lines"
    put(out, ("  " + safe_line(what), style))
    for line in step.diff if shows_lines else ():
        put(out, (f"      {safe(line)}", _DIFF_STYLES.get(line[:1], "")))
    if step.hint:
        put(out, ("      " + safe_line(step.hint), "dim"))


def print_setup(out: Console, report: SetupReport, *, is_removal: bool) -> None:
    """Print what is left to say when every agent was shown by itself: that there was none."""
    if not report.agents:
        found = "nothing is set up" if is_removal else "no agent that setup knows was found here"
        out.print(f"{found}; `recollect setup --help` says more")
