"""Where the memory, its configuration and the demo live. Standard library only; only `make_private` and `SocketPath`
touch the disk.

Every function takes the environment as a mapping, so that a test or a tool can ask for another user's answer. A hook
needs only what gives text: `pathlib` and `typing` take longer to be imported than it may run, so they wait until used.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HOME_VARIABLE = "RECOLLECT_HOME"
STORE_VARIABLE = "HELIX_STORE_DB"
"""The absolute path of a memory's database, as another program names it (docs/how-to/join-other-records.md)."""
DATABASE_NAME = "memory.db"
BACKGROUND_VARIABLE = "RECOLLECT_BACKGROUND"
"""Set to 0: nothing is started that outlives the command that starts it."""
CONFIG_NAME = "config.toml"
SPOOL_FOLDER = "spool"
SAMPLE_FOLDER = "sample"
"""In the home: what hooks and senders leave for the next sync."""
RESTORE_FOLDER = "restore"
"""In the home, while a backup takes the memory's place."""
RESTORE_READY = "READY"
"""In that folder, once nothing but swapping folders is left to do."""
MAX_SOCKET_BYTES = 103
"""Of a Unix socket's path, on every system; Linux takes 107."""


def user_home(env: Mapping[str, str] | None = None) -> Path:
    """Return the user's home directory: `HOME`, on Windows `USERPROFILE`, else what the system says."""
    return _path(user_home_text(env))


def user_home_text(env: Mapping[str, str] | None = None) -> str:
    """Return the user's home directory as text, as the environment has it."""
    return _user_home(os.environ if env is None else env)


def expand(text: str, env: Mapping[str, str] | None = None) -> Path:
    """Return a path with a leading `~` and `$NAME` or `${NAME}` replaced; an unknown variable stays as written."""
    return _path(expand_text(text, env))


def expand_text(text: str, env: Mapping[str, str] | None = None) -> str:
    """Return the same as text."""
    return _expanded(text, os.environ if env is None else env)


def home_dir(env: Mapping[str, str] | None = None) -> Path:
    """Return the home of the memory.

    `RECOLLECT_HOME`, else the folder of the database that `HELIX_STORE_DB` names, else `recollect` in the platform's
    data directory.
    """
    return _path(home_text(env))


def home_text(env: Mapping[str, str] | None = None) -> str:
    """Return the home of the memory as text, as the environment has it."""
    values = os.environ if env is None else env
    named = values.get(HOME_VARIABLE)
    if named:
        return _expanded(named, values)
    return home_of_store(values) or os.path.join(
        _platform_dir(values, "LOCALAPPDATA", "Local", "XDG_DATA_HOME", ".local/share"), "recollect"
    )


def home_of_store(values: Mapping[str, str]) -> str:
    """Return the home that `HELIX_STORE_DB` names, "" where it names none: another file, or a relative path."""
    folder, name = os.path.split(values.get(STORE_VARIABLE, ""))
    return folder if name == DATABASE_NAME and os.path.isabs(folder) else ""


def spool_dir(name: str, env: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the memory's home in which a receiver of ours keeps what it was sent (`spool/otlp`)."""
    return home_dir(env) / SPOOL_FOLDER / name


def config_file(env: Mapping[str, str] | None = None) -> Path:
    """Return the configuration file: inside `RECOLLECT_HOME` where set, else in the platform's config directory."""
    return _path(config_text(env))


def config_text(env: Mapping[str, str] | None = None) -> str:
    """Return the configuration file as text, as the environment has it."""
    values = os.environ if env is None else env
    named = values.get(HOME_VARIABLE)
    folder = (
        _expanded(named, values)
        if named
        else os.path.join(_platform_dir(values, "APPDATA", "Roaming", "XDG_CONFIG_HOME", ".config"), "recollect")
    )
    return os.path.join(folder, CONFIG_NAME)


def demo_home(env: Mapping[str, str] | None = None) -> Path:
    """Return the home of the demo: beside the real one, never in it (`recollect-demo`)."""
    home = home_dir(env)
    return home.with_name(f"{home.name or 'recollect'}-demo")


def is_demo(home: Path) -> bool:
    """Return whether a home holds the bundled sample."""
    return (home / SAMPLE_FOLDER / "homes.toml").is_file()


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, each for its owner alone. Raises OSError."""
    for path in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        path.mkdir(mode=0o700, exist_ok=True)  # with `parents=True` those above would be open to others


class SocketPath:
    """A Unix socket's path in the short form that the system accepts, for use in a `with`.

    Linux reaches a socket in a deep folder through that folder, opened. Elsewhere the path is used unchanged, and
    refused when it is used. Raises OSError if the folder cannot be opened.
    """

    __slots__ = ("_folder", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder = -1

    def __enter__(self) -> str:
        if sys.platform != "linux" or len(os.fsencode(self._path)) <= MAX_SOCKET_BYTES:
            return self._path
        folder, name = os.path.split(self._path)
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._folder}/{name}"

    def __exit__(self, *_: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text)


def _user_home(values: Mapping[str, str]) -> str:
    return values.get("USERPROFILE" if sys.platform == "win32" else "HOME") or os.path.expanduser("~")


def _expanded(text: str, values: Mapping[str, str]) -> str:
    filled = text
    if "$" in text:
        import re

        filled = re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: values.get(m[1] or m[2], m[0]), text)
    if filled == "~" or filled.startswith(("~/", "~\\")):
        return os.path.join(_user_home(values), filled[2:])
    return filled


def _platform_dir(values: Mapping[str, str], variable: str, folder: str, xdg_variable: str, default: str) -> str:
    """Return a directory for programs: on Windows that of a variable, or a folder of AppData; the last two: of XDG."""
    if sys.platform == "win32":
        return values.get(variable) or os.path.join(_user_home(values), "AppData", folder)
    if sys.platform == "darwin":
        return os.path.join(_user_home(values), "Library", "Application Support")
    # The base directory specification tells programs to ignore a relative path in these variables.
    named = values.get(xdg_variable, "")
    return named if named.startswith("/") else os.path.join(_user_home(values), default)
