"""Jobs to be told of, and programs of the system's that a test can look into."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from recollect.maintenance.service.job import ServiceEvery, ServiceJob, ServiceKind

ENV = {"RECOLLECT_HOME": "/home/dev/my memory", "CODEX_HOME": "/home/dev/100% codex"}


def job(kind: ServiceKind = "scheduled", every: ServiceEvery = "hourly", env: Mapping[str, str] = ENV) -> ServiceJob:
    """Return a job of a person with spaces and percent signs in their paths."""
    home = Path("/home/dev/my memory")
    return ServiceJob(
        name="recollect-1a2b3c4d",
        kind=kind,
        every=every,
        program="/home/dev/.local/bin/recollect",
        command=("/home/dev/.local/share/tools/bin/python", "-I", "-m", "recollect"),
        env=env,
        home=home,
        user_home=Path("/home/dev"),
        logs=home / "logs",
        user="dev",
        uid=1000,
    )


class Programs:
    """Programs on a PATH of their own. `systemctl`, `loginctl` and `crontab` keep what they are told in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state = folder / "state.json"
        self.set()

    def set(self, **state: object) -> None:
        """Change what the programs remember or how they behave."""
        self._state.write_text(json.dumps({**self.state, **state}))

    @property
    def state(self) -> dict[str, object]:
        """What the programs remember. calls: every command line so far."""
        if not self._state.exists():
            return {"calls": [], "active": [], "enabled": [], "linger": False, "crontab": None, "fails": []}
        found: dict[str, object] = json.loads(self._state.read_text())
        return found

    @property
    def calls(self) -> list[str]:
        """What was run so far, and forget it."""
        calls = self.state["calls"]
        assert isinstance(calls, list)
        self.set(calls=[])
        return [" ".join(argv) for argv in calls]

    def put(self, name: str, script: str) -> None:
        """Put a program there: `argv` is its command line, `state` is remembered, `end(code, text)` ends it."""
        path = self.folder / name
        text = _PROGRAM.format(state=str(self._state), name=name, script=script)
        (self.folder / f"{name}.py").write_text(text)
        path.write_text(f'#!/bin/sh\nexec {shlex.join((sys.executable, "-IS", f"{path}.py"))} "$@"\n')
        path.chmod(0o755)


_PROGRAM = """
import json, sys
from pathlib import Path
STATE = Path({state!r})
state = json.loads(STATE.read_text())
argv = sys.argv[1:]
state["calls"].append([{name!r}, *argv])
def end(code=0, text=""):
    STATE.write_text(json.dumps(state))
    (sys.stderr if code else sys.stdout).write(text)
    sys.exit(code)
if " ".join([{name!r}, *argv]) in state["fails"]:
    end(1, "it does not want to")
{script}
"""
SYSTEMCTL = """
argv.remove("--user")
word, *rest = argv
if word in ("show-environment", "daemon-reload"):
    end()
unit = rest[-1] if word != "show" else rest[0]
folder = Path(state["units"])
if word == "show":
    is_there = (folder / unit).exists()
    active = unit in state["active"]
    end(0, f"LoadState={'loaded' if is_there else 'not-found'}\\nActiveState={'active' if active else 'inactive'}\\n"
           f"SubState={'waiting' if active else 'dead'}\\nUnitFileState=enabled\\nResult=success\\n")
if word != "disable" and not (folder / unit).exists():
    end(1, f"Unit {unit} does not exist")
names = {"enable": ("enabled",), "restart": ("active",), "disable": ("enabled", "active")}.get(word, ())
for name in names:
    state[name] = [one for one in state[name] if one != unit] + ([unit] if word != "disable" else [])
end()
"""
LOGINCTL = """
if argv[0] == "show-user":
    end(0, f"Linger={'yes' if state['linger'] else 'no'}\\n")
state["linger"] = argv[0] == "enable-linger"
end()
"""
CRONTAB = """
if argv == ["-l"]:
    end(*((1, "no crontab for dev\\n") if state["crontab"] is None else (0, state["crontab"])))
state["crontab"] = None if argv == ["-r"] else sys.stdin.read()
end()
"""
