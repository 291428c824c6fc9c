"""Changes a value in the user's configuration file and keeps comments, order and everything else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recollect.config.load import load_config
from recollect.errors import ConfigError, StoreError
from recollect.files import write_file


def set_list(path: Path, section: str, key: str, values: Sequence[str]) -> None:
    """Write a list of texts to a section, which is added if missing.

    Raises ConfigError if the file cannot be used, StoreError if it cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    load_config(path)  # what is wrong already is named with its place
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        document = tomlkit.parse(text)
        table = document.setdefault(section, tomlkit.table())
        table[key] = list(values)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, tomlkit.dumps(document).encode(), durable=True, mode=None)
    except TOMLKitError as error:
        raise ConfigError(f"cannot change {path}: {error}", key=f"{section}.{key}") from error
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error
