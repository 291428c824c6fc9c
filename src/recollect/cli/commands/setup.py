"""`recollect setup`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from recollect.memory import AgentReport, Mode, PreparedSetup, SetupFacet, Step


class Flags(TypedDict):
    """The switches of the verb."""

    is_dry_run: bool
    is_removal: bool
    turns_off: bool
    is_agreed: bool
    writes: bool | None


@click.command()
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show what would be done and do nothing.")
@click.option("--remove", "is_removal", is_flag=True, help="Take out what setup wrote.")
@click.option(
    "--mode",
    type=click.Choice(("pull", "push", "both")),
    default="both",
    show_default=True,
    help="pull: the agent has tools to search. push: it is given context at its events. both: both.",
)
@click.option(
    "--disable-native-memory", "turns_off", is_flag=True, help="Also turn off the agent's own memory in its settings."
)
@click.option(
    "--write/--no-write",
    "writes",
    default=None,
    help="Give agents the tools that write too (diary, facts, actions), or take them away. Left out, nothing changes.",
)
@click.option("--yes", "is_agreed", is_flag=True, help="Don't ask; needs names of agents.")
@json_option
def command(agents: tuple[str, ...], mode: Mode, as_json: bool, **flags: Unpack[Flags]) -> int:
    """Let your agents use this memory, or stop it.

    Registers tools, hooks and a skill in the agents' own settings, each as its agent documents it.
    Everything is shown before it is done, recorded, and can be taken out again. Without names it asks about every
    agent that is found.

    \b
    Examples:
      recollect setup --dry-run
      recollect setup claude codex
      recollect setup claude --write
      recollect setup codex --remove --yes
    """
    with open_memory() as memory:
        facet = memory.setup
        is_removal, is_dry_run = flags["is_removal"], flags["is_dry_run"]
        chosen = _chosen(facet, agents, is_removal=is_removal)
        asks = not (flags["is_agreed"] or is_dry_run)
        _check_asking(chosen, is_named=bool(agents), asks=asks, acts=not is_dry_run, as_json=as_json)
        if is_removal and flags["writes"] is not None:
            raise UsageError("--write and --no-write are for setting up", hint="leave out --remove")
        settings: tuple[Step, ...] = ()
        if flags["writes"] is not None:
            settings = (_turn_writing(facet, is_on=flags["writes"], acts=not is_dry_run, asks=asks, as_json=as_json),)
        reports: list[AgentReport] = []
        for slug in chosen:
            prepared = facet.prepare(slug, None if is_removal else mode, turns_native_memory_off=flags["turns_off"])
            reports.append(_one(prepared, is_dry_run=is_dry_run, asks=asks, as_json=as_json))
    return _finish(reports, settings, is_removal=is_removal, is_dry_run=is_dry_run, as_json=as_json)


def _chosen(facet: SetupFacet, names: tuple[str, ...], *, is_removal: bool) -> tuple[str, ...]:
    if names:
        return facet.slugs(names)
    return facet.recorded() if is_removal else facet.installed()


def _check_asking(chosen: tuple[str, ...], *, is_named: bool, asks: bool, acts: bool, as_json: bool) -> None:
    """Refuse to act on every agent, or without a word, where nobody can be asked."""
    if not acts or not chosen:
        return
    can_ask = sys.stdin.isatty() and not as_json
    found = ", ".join(chosen)
    if not is_named and not (asks and can_ask):
        raise UsageError(f"name the agents; found here: {found}", hint=f"recollect setup {chosen[0]} --yes")
    if asks and not can_ask:
        raise UsageError("there is nobody to ask here", hint="add --yes, or --dry-run to look first")


def _turn_writing(facet: SetupFacet, *, is_on: bool, acts: bool, asks: bool, as_json: bool) -> Step:
    from recollect.cli.steps import print_own

    prepared = facet.prepare_writing(is_on=is_on)
    if not as_json:
        print_own(console(), prepared.step)
    if prepared.step.action == "blocked":
        raise SettingsError(f"{prepared.step.path}: {prepared.step.detail}", hint=prepared.step.hint)
    if acts and prepared.step.action != "none":
        if asks and not click.confirm("Do this?", default=False):
            raise UsageError("nothing was done", hint="leave out --write to set up without the tools that write")
        prepared.do()
    return prepared.step


def _one(prepared: PreparedSetup, *, is_dry_run: bool, asks: bool, as_json: bool) -> AgentReport:
    from recollect.cli.steps import print_agent, print_outcome

    planned = prepared.planned
    out = console()
    if not as_json:
        print_agent(out, planned)
    if is_dry_run or planned.state == "not_found":
        return planned
    if asks and planned.state == "planned" and not click.confirm(f"Do this for {planned.name}?", default=False):
        return planned
    report = prepared.do()
    if not as_json:
        print_outcome(out, report)
    return report


def _finish(
    reports: list[AgentReport], settings: tuple[Step, ...], *, is_removal: bool, is_dry_run: bool, as_json: bool
) -> int:
    from recollect.memory import SetupReport

    is_bad = any(
        report.state in ("failed", "incomplete") or any(probe.state == "fail" for probe in report.probes)
        for report in reports
    )
    is_found = any(report.state != "not_found" for report in reports)
    report = SetupReport(not is_bad and is_found, is_dry_run, tuple(reports), settings)
    if as_json:
        write_json(report)
    elif not reports:
        found = "nothing is set up" if is_removal else "no agent that setup knows was found here"
        console().print(f"{found}; `recollect setup --help` says more")
    if is_bad:
        return 3
    return 0 if is_found else 1
