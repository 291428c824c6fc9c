"""Files of JavaScript for agents that load a module instead of running a command: one shared part, one of the agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files

from recollect.agents.installing.contract import Given

_HEAD = """\
// Written by `recollect setup`; `recollect setup --remove` takes it away. Changes are lost when it is run again.

const SETTINGS = {settings}

"""


def shim_text(agent: str, package: str, name: str) -> Callable[[Given], str]:
    """Return what makes the text of a shim: settings, the shared part, then the file `name` of a package.

    The settings are the spool's folder and, by event, the command that answers it. A prompt is asked for only where
    context per prompt is turned on, else it is only kept.
    """

    def text(given: Given) -> str:
        answers = {role: list(given.commands[role].argv) for role in ("start", "compact")}
        if given.commands["prompt"] != given.commands["spool"]:
            answers["prompt"] = list(given.commands["prompt"].argv)
        settings = {"agent": agent, "spool": given.program.spool, "answers": answers}
        head = _HEAD.format(settings=json.dumps(settings, indent=2))
        shared = files("recollect.agents.installing").joinpath("shim.js").read_text(encoding="utf-8")
        own = files(package).joinpath(name).read_text(encoding="utf-8")
        return f"{head}{shared}\n{own}"

    return text
