"""`recollect service`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.groups import noun
from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json

if TYPE_CHECKING:
    from recollect.memory import ManagerName, ServiceEvery, ServiceReport

dry_run_option = click.option(
    "--dry-run", "is_dry_run", is_flag=True, help="Show what would be written and run; do nothing."
)


@noun()
def command() -> None:
    """Keep the memory fresh by itself, as a service of the system.

    A timer that ingests what is new, or a daemon that watches: with systemd, launchd, cron or the Windows task
    scheduler, in your own account, at idle priority. What is written is recorded and can be taken out exactly.

    \b
    Examples:
      recollect service install
      recollect service status
      recollect service remove
    """


@command.command()
@click.option(
    "--scheduled/--daemon",
    "is_scheduled",
    default=True,
    help="Ingest what is new now and then (the default), or watch all the time.",
)
@click.option(
    "--every",
    type=click.Choice(("hourly", "daily", "weekly")),
    default="hourly",
    show_default=True,
    help="How often, where it is scheduled.",
)
@click.option(
    "--manager",
    type=click.Choice(("systemd", "launchd", "cron", "schtasks")),
    help="What runs it; by default what this machine has.",
)
@click.option("--linger", "lingers", is_flag=True, help="With systemd: also while you are not logged in.")
@click.option(
    "--retro-out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write a retrospective of every week there.",
)
@dry_run_option
@json_option
def install(
    is_scheduled: bool, every: ServiceEvery, manager: ManagerName | None, *, lingers: bool,
    retro_out: Path | None, is_dry_run: bool, as_json: bool,
) -> int:  # fmt: skip
    """Install the service, or change it.

    \b
    Examples:
      recollect service install --daemon
      recollect service install --every daily --manager cron --dry-run
      recollect service install --retro-out ~/retros
    """
    with open_memory() as memory:
        report = memory.upkeep.service.install(
            "scheduled" if is_scheduled else "daemon",
            every,
            manager=manager,
            lingers=lingers,
            retro_out="" if retro_out is None else os.path.abspath(retro_out),
            is_dry_run=is_dry_run,
        )
    return _show(report, as_json=as_json)


@command.command()
@json_option
def status(as_json: bool) -> int:
    """Show whether the service is installed and runs.

    \b
    Example:
      recollect service status
    """
    with open_memory() as memory:
        report = memory.upkeep.service.status()
    return _show(report, as_json=as_json)


@command.command()
@dry_run_option
@json_option
def remove(is_dry_run: bool, as_json: bool) -> int:
    """Take out exactly what install wrote.

    \b
    Example:
      recollect service remove --dry-run
    """
    with open_memory() as memory:
        report = memory.upkeep.service.remove(is_dry_run=is_dry_run)
    return _show(report, as_json=as_json)


def _show(report: ServiceReport, *, as_json: bool) -> int:
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.maintenance.service import print_service

        print_service(console(), report)
    if not report.ok:
        return 3
    return 1 if report.state == "not_installed" else 0
