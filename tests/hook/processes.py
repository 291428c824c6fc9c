"""Runs the hook as agents do: as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import recollect.hook

HOOK = Path(recollect.hook.__file__).with_name("__main__.py")


def command(agent: str, event: str, home: Path, program: str | Path = "/nowhere/recollect") -> list[str]:
    return [sys.executable, "-I", "-S", str(HOOK), agent, event, str(home / "spool"), str(program)]


def environment(home: Path, **more: str) -> dict[str, str]:
    names = ("PATH", "LANG", "TMPDIR", "SYSTEMROOT")
    return {n: os.environ[n] for n in names if n in os.environ} | {"RECOLLECT_HOME": str(home)} | more


def run(
    agent: str, event: str, home: Path, payload: bytes = b"{}", program: str | Path = "/nowhere/recollect", **env: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(agent, event, home, program),
        input=payload,
        env=environment(home, **env),
        capture_output=True,
        check=False,
        timeout=120,
    )


def drops(home: Path) -> list[Path]:
    return sorted(path for path in (home / "spool").glob("*") if path.is_file())
