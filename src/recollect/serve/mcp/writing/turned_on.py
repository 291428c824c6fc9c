"""Whether the person turned the writing tools on, told before the memory is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recollect.errors import ConfigError
from recollect.paths import CONFIG_NAME, HOME_VARIABLE, config_file, home_of_store

_KEY = b"writing_tools"


def has_writing_tools(env: Mapping[str, str]) -> bool:
    """Tell whether the configuration of the memory that this environment means has `mcp.writing_tools = true`.

    The typed configuration is loaded only where its file has that word: a client waits for the list of tools. One that
    cannot be read turns nothing on; the first call tells what is wrong with it.
    """
    path = _config_of(env)
    try:
        if _KEY not in path.read_bytes():
            return False
        from recollect.config import load_config

        return load_config(path).mcp.writing_tools
    except (OSError, ConfigError):
        return False


def _config_of(env: Mapping[str, str]) -> Path:
    """Return the file that `Memory.open` reads."""
    store = "" if env.get(HOME_VARIABLE) else home_of_store(env)
    own = Path(store) / CONFIG_NAME
    return own if store and own.exists() else config_file(env)
