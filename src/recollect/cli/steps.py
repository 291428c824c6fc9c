"""What setup would do and did, as text: every step with its file, command and changed lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.terminal import safe, safe_line

if TYPE_CHECKING:
    from recollect.memory import AgentReport, Check, Step

_KINDS = {
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
_STATES: dict[str, tuple[str, str]] = {
    "planned": ("planned", ""),
    "not_found": ("not found on this machine; nothing to do", "dim"),
    "unchanged": ("nothing to do: everything is as it should be", "green"),
    "done": ("done", "green"),
    "incomplete": ("done in part; see above", "yellow"),
    "failed": ("FAILED", "red"),
}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_PROBES = {"ok": "green", "warn": "yellow", "fail": "red"}


def print_agent(out: Console, report: AgentReport) -> None:
    """Print one agent's plan."""
    version = f" {report.version}" if report.version else ""
    out.print(Text(safe_line(f"{report.name}{version} ({report.slug}): {report.mode}"), style="bold"), soft_wrap=True)
    if report.state == "not_found":
        out.print(Text(f"  {_STATES['not_found'][0]}", style="dim"))
        return
    for step in report.steps:
        _print_step(out, step)
    for probe in report.tries:
        out.print(Text("  " + safe_line(f"then probe: {probe}")), soft_wrap=True)
    for note in report.notes:
        out.print(Text("  " + safe_line(f"note: {note}"), style="yellow"), soft_wrap=True)


def print_own(out: Console, step: Step) -> None:
    """Print what changes in our own configuration."""
    out.print(Text("Recollect itself", style="bold"))
    _print_step(out, step)


def print_outcome(out: Console, report: AgentReport) -> None:
    """Print how it went, with what stopped it and what the probes found."""
    for step in report.steps:
        if step.action == "blocked" and step.command:
            _print_step(out, step)
    for probe in report.probes:
        _print_probe(out, probe)
    text, style = _STATES[report.state]
    more = f": {report.error}" if report.error else ""
    out.print(Text("  " + safe_line(text + more), style=style), soft_wrap=True)


def _print_step(out: Console, step: Step) -> None:
    action, style = _ACTIONS[step.action]
    what = f"{action} {_KINDS[step.kind]}"
    if step.command:
        what += f": {' '.join(step.command)}"
    elif step.path:
        what += f": {step.path}"
    if step.detail:
        what += f" ({step.detail})" if step.path or step.command else f": {step.detail}"
    out.print(Text("  " + safe_line(what), style=style), soft_wrap=True)
    for line in step.diff:
        out.print(Text(f"      {safe(line)}", style=_DIFF_STYLES.get(line[:1], "")), soft_wrap=True)
    if step.hint:
        out.print(Text("      " + safe_line(step.hint), style="dim"), soft_wrap=True)


def _print_probe(out: Console, probe: Check) -> None:
    hint = f"; {probe.hint}" if probe.hint else ""
    text = f"probe {probe.name}: {probe.state}: {probe.detail}{hint}"
    out.print(Text("  " + safe_line(text), style=_PROBES[probe.state]), soft_wrap=True)
