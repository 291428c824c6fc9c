"""`recollect service`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json

if TYPE_CHECKING:
    from recollect.memory import ManagerName, ServiceEvery, ServiceReport


class Flags(TypedDict):
    """The switches of the verb."""

    is_scheduled: bool
    lingers: bool
    is_dry_run: bool


@click.command()
@click.argument("action", type=click.Choice(("install", "status", "remove")))
@click.option(
    "--scheduled/--daemon",
    "is_scheduled",
    default=True,
    help="Take in what is new now and then (the default), or watch all the time.",
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
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show what would be written and run; do nothing.")
@json_option
def command(
    action: Literal["install", "status", "remove"], every: ServiceEvery, manager: ManagerName | None, as_json: bool,
    **flags: Unpack[Flags],
) -> int:  # fmt: skip
    """Keep the memory fresh by itself, as a service of the system.

    A timer that takes in what is new, or a daemon that watches: with systemd, launchd, cron or the Windows task
    scheduler, in your own account, at idle priority. What is written is recorded and can be taken out exactly.

    \b
    Examples:
      recollect service install
      recollect service install --daemon
      recollect service install --every daily --manager cron --dry-run
      recollect service remove
    """
    with open_memory() as memory:
        service = memory.upkeep.service
        if action == "install":
            report = service.install(
                "scheduled" if flags["is_scheduled"] else "daemon", every, manager=manager, lingers=flags["lingers"],
                is_dry_run=flags["is_dry_run"],
            )  # fmt: skip
        elif action == "remove":
            report = service.remove(is_dry_run=flags["is_dry_run"])
        else:
            report = service.status()
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.looking_after.service import print_service

        print_service(console(), report)
    return _code(report)


def _code(report: ServiceReport) -> int:
    if not report.ok:
        return 3
    return 1 if report.state == "not_installed" else 0
