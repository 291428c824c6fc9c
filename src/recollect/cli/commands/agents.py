"""`recollect agents`, `setup` and `conformance`."""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.options import choice_option, flag
from recollect.cli.results import CommandResult, ResultKind, examples, prints
from recollect.cli.terminal import console
from recollect.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from recollect.agents.base import Adapter
    from recollect.memory import AgentReport, Memory, Mode, PreparedSetup, SetupFacet, Step

AGENTS = ResultKind("agents", "AgentView", "agents:print_agents", listed="agents")
DRIFT = ResultKind("", "DriftRow", "agents:print_drift", listed="drift")
SETUP = ResultKind("", "SetupReport", "agents:print_setup")
CONFORMANCE = ResultKind("", "recollect.testing.suite:Result", "agents:print_conformance", listed="results")


@click.command()
@flag("--all", "Also list agents that are not on this machine.", key="is_all")
@flag("--drift", "Show what agents wrote that this version cannot interpret.")
@prints
@examples("agents --all", "agents --drift --json")
def agents(memory: Memory, is_all: bool, drift: bool) -> CommandResult:
    """List the agents that Recollect reads, and their folders.

    The list says how each agent stores its history and how much of it can be read.

    --drift lists record types, fields and values that no parser knows, by agent and version, each with a count and one
    example. They show that an update has changed an agent's format. The exit code is 1 if there is nothing to list.
    """
    if drift:
        return DRIFT(memory.agents.drift())
    return AGENTS(memory.agents.list(), found=True, is_all=is_all)


class SetupFlags(TypedDict):
    """The switches of the verb."""

    is_dry_run: bool
    shows_lines: bool
    is_removal: bool
    turns_off: bool
    is_agreed: bool
    writes: bool | None


@click.command()
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@flag("--dry-run", "Show what would be done; change nothing.", key="is_dry_run")
@flag("--diff", "Show each change line by line.", key="shows_lines")
@flag("--remove", "Remove what setup wrote.", key="is_removal")
@choice_option(
    "--mode",
    ("pull", "push", "both"),
    "pull: the agent gets search tools. push: the agent gets context from hooks. both: the agent gets both.",
    default="both",
)
@flag("--disable-native-memory", "Also turn off the agent's own memory.", key="turns_off")
@click.option(
    "--write/--no-write",
    "writes",
    default=None,
    help="Give agents the tools that write (diary, facts, actions), or remove them. Without this option nothing "
    "changes.",
)
@flag("--yes", "Do not ask; you have to name the agents.", key="is_agreed")
@prints
@examples(
    "setup --dry-run",
    "setup --dry-run --diff",
    "setup {0} {1}",
    "setup {0} --write",
    "setup {1} --remove --yes",
)
def setup(
    memory: Memory, agents: tuple[str, ...], mode: Mode, as_json: bool, **flags: Unpack[SetupFlags]
) -> CommandResult:
    """Give your agents access to this memory, or take it away.

    Registers tools, hooks and a skill in the agents' own settings, as each agent documents it. It shows every change
    first, records it, and can remove it again. Without names it asks about every agent that it finds.
    """
    facet = memory.setup
    is_removal, is_dry_run = flags["is_removal"], flags["is_dry_run"]
    chosen = facet.slugs(agents) if agents else facet.recorded() if is_removal else facet.installed()
    asks = not (flags["is_agreed"] or is_dry_run)
    if is_removal and flags["writes"] is not None:
        raise UsageError("--write and --no-write cannot be used with --remove", hint="leave out --remove")
    if not is_dry_run:
        _check_asking(chosen, flags, is_named=bool(agents), asks=asks, as_json=as_json)
    settings: tuple[Step, ...] = ()
    if flags["writes"] is not None:
        settings = (_turn_writing(facet, flags, asks=asks, as_json=as_json),)
    reports: list[AgentReport] = []
    for slug in chosen:
        prepared = facet.prepare(slug, None if is_removal else mode, turns_native_memory_off=flags["turns_off"])
        reports.append(_one(prepared, flags, asks=asks, as_json=as_json))
    return _finish(reports, settings, is_removal=is_removal, is_dry_run=is_dry_run)


def _check_asking(chosen: tuple[str, ...], flags: SetupFlags, *, is_named: bool, asks: bool, as_json: bool) -> None:
    """Refuse to act on every agent, or without a word, where nobody can be asked."""
    if not chosen:
        return
    can_ask = sys.stdin.isatty() and not as_json
    if not is_named and not (asks and can_ask):
        removal = " --remove" if flags["is_removal"] else ""
        hint = f"recollect setup {' '.join(chosen)}{removal} --yes"
        if flags["shows_lines"]:  # who wants to see changes is not told how to make them
            hint = f"recollect setup{removal} --dry-run --diff"
        raise UsageError(f"name the agents; found here: {', '.join(chosen)}", hint=hint)
    if asks and not flags["is_removal"]:  # a removal may find nothing to remove, and then asks nothing
        _check_can_ask(as_json=as_json)


def _check_can_ask(*, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise UsageError(
            "cannot ask you: this is not a terminal", hint="add --yes, or --dry-run to see what would be done"
        )


def _turn_writing(facet: SetupFacet, flags: SetupFlags, *, asks: bool, as_json: bool) -> Step:
    from recollect.cli.render.agents import print_own

    prepared = facet.prepare_writing(is_on=bool(flags["writes"]))
    if not as_json:
        print_own(console(), prepared.step, shows_lines=flags["shows_lines"])
    if prepared.step.action == "blocked":
        raise SettingsError(f"{prepared.step.path}: {prepared.step.detail}", hint=prepared.step.hint)
    if not flags["is_dry_run"] and prepared.step.action != "none":
        if asks and not click.confirm("Do this?", default=False):
            raise UsageError("nothing was done", hint="leave out --write to set up without the tools that write")
        prepared.do()
    return prepared.step


def _one(prepared: PreparedSetup, flags: SetupFlags, *, asks: bool, as_json: bool) -> AgentReport:
    from recollect.cli.render.agents import print_agent, print_outcome

    planned = prepared.planned
    out = console()
    if not as_json:
        print_agent(out, planned, shows_lines=flags["shows_lines"])
    if flags["is_dry_run"] or planned.state == "not_found":
        return planned
    if asks and planned.state == "planned":
        _check_can_ask(as_json=as_json)
        if not click.confirm(f"Do this for {planned.name}?", default=False):
            return planned
    report = prepared.do()
    if not as_json:
        print_outcome(out, report)
    return report


def _finish(
    reports: list[AgentReport], settings: tuple[Step, ...], *, is_removal: bool, is_dry_run: bool
) -> CommandResult:
    from recollect.memory import SetupReport

    is_bad = any(
        report.state in ("failed", "incomplete") or any(probe.state == "fail" for probe in report.probes)
        for report in reports
    )
    is_found = any(report.state != "not_found" for report in reports)
    report = SetupReport(not is_bad and is_found, is_dry_run, tuple(reports), settings)
    return SETUP(report, found=is_found, code=3 if is_bad else 0, is_removal=is_removal)


@click.command()
@click.argument("module")
@click.argument("fixtures", type=click.Path(path_type=Path, exists=True, file_okay=False))
@prints
@examples("conformance my_agent.adapter:Adapter tests/fixtures")
def conformance(module: str, fixtures: Path) -> CommandResult:
    """Check an adapter against its fixtures.

    The command tests whether the adapter obeys the rules for all adapters. MODULE is `package.module:Adapter`, or the
    slug of an agent that is installed or described in your configuration. FIXTURES is a folder with files in
    `<slug>/<version>/<scenario>/...` (`recollect help add-an-agent`). The exit code is 3 if a rule is broken.
    """
    from recollect.agents.registry import define
    from recollect.config import load_config
    from recollect.testing.suite import run_all

    adapter = _loaded(module) if ":" in module else module
    if adapter is module:  # an agent that the user's configuration describes, perhaps
        define(load_config().formats())
    with tempfile.TemporaryDirectory(prefix="recollect-conformance-") as work:
        results = run_all(adapter, fixtures, Path(work))
    if not results:
        hint = "the folders are <slug>/<version>/<scenario>"
        raise UsageError(f"no fixture of this agent below {fixtures}", hint=hint)
    return CONFORMANCE(results, code=0 if all(not r.problems for r in results) else 3)


def _loaded(module: str) -> Adapter:
    """Return the adapter that `package.module:Adapter` names. Raises UsageError."""
    from recollect.agents.guard import usable

    name, _, attribute = module.partition(":")
    try:
        return usable(getattr(importlib.import_module(name), attribute))
    except Exception as error:
        raise UsageError(f"cannot load {module}: {error}") from error
