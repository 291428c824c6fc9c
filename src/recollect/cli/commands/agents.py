"""`recollect agents`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@json_option
def command(as_json: bool) -> int:
    """List the agents that can be read and where their history is.

    \b
    Example:
      recollect agents
    """
    with open_memory() as memory:
        agents = memory.agents.list()
    if as_json:
        write_json(agents)
    else:
        from recollect.cli.render.memory import print_agents

        print_agents(console(), agents)
    return 0
