"""Reads `config.toml`, and changes a value in it. An unknown or unusable key raises a `ConfigError` that names it."""

from __future__ import annotations

import re
import tomllib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from recollect.config.settings import Config, PrivacyConfig
from recollect.errors import ConfigError, StoreError
from recollect.files import write_file
from recollect.paths import config_file


def load_config(path: Path | None = None) -> Config:
    """Read a configuration file, by default the user's own. A missing file gives the defaults.

    Raises:
        ConfigError: unreadable, not TOML, an unknown key (the nearest known one is named) or a wrong value
            (`key` is its dotted path, `allowed` names the possible values).
    """
    where = config_file() if path is None else path
    try:
        text = where.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where} is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise ConfigError(f"cannot read {where}: {error.strerror or error}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{where} is not valid TOML: {error}", hint="strings need quotes; see `recollect config --reference`"
        ) from error
    return parse_config(table, where=str(where))


def parse_config(table: dict[str, Any], *, where: str = "the configuration") -> Config:
    """Return the typed configuration of a decoded TOML table. Raises ConfigError; `where` names the file in it."""
    try:
        config = msgspec.convert(table, Config, strict=True)
        is_whole = _is_in(table, msgspec.to_builtins(config))
    except msgspec.ValidationError:
        is_whole = False
    if not is_whole:  # what is wrong with it, or which texts are numbers with a unit, takes longer to tell
        from recollect.config.validation import checked

        config = checked(table, where)
    _check_privacy(config.privacy, where)
    soft, hard = config.retention.raw_soft_cap_bytes, config.retention.raw_hard_cap_bytes
    if hard < soft:
        _refuse(where, "retention.raw_hard_cap_bytes", f"at least `retention.raw_soft_cap_bytes` ({soft})", hard)
    return config


def _is_in(value: Any, all_of_it: Any) -> bool:
    """Return whether every key of a table is in the structure made from the table."""
    if isinstance(value, dict):
        return isinstance(all_of_it, dict) and all(k in all_of_it and _is_in(v, all_of_it[k]) for k, v in value.items())
    if isinstance(value, list) and isinstance(all_of_it, list | tuple):
        return all(map(_is_in, value, all_of_it))
    return True


def _check_privacy(privacy: PrivacyConfig, where: str) -> None:
    """Refuse a pattern that cannot be used: a secret that is not found for a slip in its pattern stays in sight."""
    for number, entry in enumerate(privacy.patterns, 1):
        key = f"privacy.patterns.{number}"
        if not re.fullmatch(r"[a-z0-9_]{1,40}", entry.name):
            _refuse(where, f"{key}.name", "1 to 40 of lower-case letters, digits and `_`", entry.name)
        _check_expression(entry.pattern, where, f"{key}.pattern")
    for number, expression in enumerate(privacy.allow, 1):
        _check_expression(expression, where, f"privacy.allow.{number}")


def _check_expression(expression: str, where: str, key: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python will read otherwise one day is not read by guess
            matches_nothing = re.compile(expression, re.ASCII).search("") is not None
    except (re.error, FutureWarning, OverflowError) as error:
        _refuse(where, key, f"a regular expression ({error})", expression)
    if matches_nothing:
        _refuse(where, key, "a regular expression that does not match the empty text", expression)


def _refuse(where: str, key: str, allowed: str, value: str | int) -> NoReturn:
    from recollect.config.toml import shown

    raise ConfigError(f"{where}: `{key}` must be {allowed}, not {shown(value)}", key=key, allowed=(allowed,))


def set_list(path: Path, section: str, key: str, values: Sequence[str]) -> None:
    """Write a list of texts to a section, which is added if missing; comments, order and everything else stay.

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
