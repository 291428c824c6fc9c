"""The demo: a small invented history that is bundled, laid out as the agents would, in a home of its own."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterable
from importlib.resources import as_file, files
from pathlib import Path

from recollect.config import AgentConfig, Config, config_toml
from recollect.errors import StoreError
from recollect.files import write_file
from recollect.paths import CONFIG_NAME


def lay_out(home: Path, agents: Iterable[str]) -> Config:
    """Write the sample and a configuration that reads nothing else into a demo home; return that configuration.

    May be called again: the same files with the same content. agents: the slugs of every agent that this
    version can read. Those of the sample are pointed into it, also their idea of the user's home; the others
    are off. So later commands with `RECOLLECT_HOME` set to the demo never ingest real history.
    Raises StoreError where it cannot be written.
    """
    sample = home / "sample"
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with as_file(files("recollect") / "sample") as bundled:
            shutil.copytree(bundled, sample, dirs_exist_ok=True)
        for folder in (sample, *(path for path in sample.rglob("*") if path.is_dir())):
            folder.chmod(0o700)  # copies have the modes of what they are copies of
        for file in (path for path in sample.rglob("*") if path.is_file()):
            file.chmod(0o600)
        config = _config(sample, agents)
        write_file(home / CONFIG_NAME, config_toml(config).encode(), durable=False)
    except OSError as error:
        raise StoreError(f"cannot write the demo into {home}: {error.strerror or error}") from error
    return config


def _config(sample: Path, agents: Iterable[str]) -> Config:
    homes = tomllib.loads((sample / "homes.toml").read_text("utf-8"))
    elsewhere = {"HOME": str(sample), "USERPROFILE": str(sample)}
    found: dict[str, AgentConfig] = {}
    for slug in agents:
        own = {variable: str(sample / folder) for variable, folder in homes.get(slug, {}).items()}
        found[slug] = AgentConfig(enabled=slug in homes, variables={**elsewhere, **own})
    return Config(agents=found)
