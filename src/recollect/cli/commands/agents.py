"""`recollect agents`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_list


@click.command()
@click.option("--all", "is_all", is_flag=True, help="Also those that are not on this machine.")
@click.option("--drift", is_flag=True, help="Show what agents wrote that this version does not know.")
@json_option
def command(is_all: bool, drift: bool, as_json: bool) -> int:
    """List the agents that can be read and where their history is.

    Each with how it writes and how much it says.

    With --drift: types, fields and values of records that no parser knows, by agent and version, each with its count
    and one place; an agent's update that changed its format shows up here. The exit code is 1 when there is none.

    \b
    Examples:
      recollect agents --all
      recollect agents --drift --json
    """
    if drift:
        return _drift(as_json)
    with open_memory() as memory:
        agents = memory.agents.list()
    if as_json:
        write_list("agents", agents)
    else:
        from recollect.cli.render.memory import print_agents

        print_agents(console(), agents, is_all=is_all)
    return 0


def _drift(as_json: bool) -> int:
    with open_memory() as memory:
        found = memory.agents.drift()
    if as_json:
        write_list("drift", found)
    else:
        from recollect.cli.render.drift import print_drift

        print_drift(console(), found)
    return 0 if found else 1
