"""Where the memory, its configuration and the demo live. Standard library only; nothing here touches the disk.

Every function takes the environment as a mapping, so that a test or a tool can ask for another user's answer.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

HOME_VARIABLE = "RECOLLECT_HOME"
CONFIG_NAME = "config.toml"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def user_home(env: Mapping[str, str] | None = None) -> Path:
    """Return the user's home directory: `HOME`, on Windows `USERPROFILE`, else what the system says."""
    values = os.environ if env is None else env
    named = values.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    return Path(named) if named else Path.home()


def expand(text: str, env: Mapping[str, str] | None = None) -> Path:
    """Return a path with a leading `~` and `$NAME` or `${NAME}` replaced; an unknown variable stays as written."""
    values = os.environ if env is None else env
    filled = _VARIABLE.sub(lambda m: values.get(m[1] or m[2], m[0]), text)
    if filled == "~" or filled.startswith(("~/", "~\\")):
        return user_home(values) / filled[2:]
    return Path(filled)


def home_dir(env: Mapping[str, str] | None = None) -> Path:
    """Return the home of the memory: `RECOLLECT_HOME`, else `recollect` in the platform's data directory."""
    values = os.environ if env is None else env
    named = values.get(HOME_VARIABLE)
    return expand(named, values) if named else _data_dir(values) / "recollect"


def spool_dir(name: str, env: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the memory's home in which a receiver of ours keeps what it was sent (`spool/otlp`)."""
    return home_dir(env) / "spool" / name


def config_file(env: Mapping[str, str] | None = None) -> Path:
    """Return the configuration file: inside `RECOLLECT_HOME` where set, else in the platform's config directory."""
    values = os.environ if env is None else env
    named = values.get(HOME_VARIABLE)
    return expand(named, values) / CONFIG_NAME if named else _config_dir(values) / "recollect" / CONFIG_NAME


def demo_home(env: Mapping[str, str] | None = None) -> Path:
    """Return the home of the demo: beside the real one, never in it (`recollect-demo`)."""
    home = home_dir(env)
    return home.with_name(f"{home.name or 'recollect'}-demo")


def _data_dir(values: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        return Path(values.get("LOCALAPPDATA") or user_home(values) / "AppData" / "Local")
    if sys.platform == "darwin":
        return user_home(values) / "Library" / "Application Support"
    return _xdg(values, "XDG_DATA_HOME", ".local/share")


def _config_dir(values: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        return Path(values.get("APPDATA") or user_home(values) / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return user_home(values) / "Library" / "Application Support"
    return _xdg(values, "XDG_CONFIG_HOME", ".config")


def _xdg(values: Mapping[str, str], variable: str, default: str) -> Path:
    # The base directory specification tells programs to ignore a relative path in these variables.
    named = values.get(variable, "")
    return Path(named) if named.startswith("/") else user_home(values) / default
