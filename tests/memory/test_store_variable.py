"""`HELIX_STORE_DB` names a memory, or is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import ConfigError


def test_it_names_a_memory_by_its_database(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home") as memory:
        memory.sync(agents=())
    store = tmp_path / "home" / "memory.db"
    store.parent.mkdir(exist_ok=True)
    store.touch()
    with Memory.open(env={"HOME": str(tmp_path), "HELIX_STORE_DB": str(store)}) as memory:
        assert memory.home == tmp_path / "home"


@pytest.mark.parametrize("named", ["memory.db", "{folder}/other.db", "{folder}/nowhere/memory.db", "{folder}"])
def test_what_names_no_memory_is_an_error_and_not_an_empty_memory(named: str, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "HELIX_STORE_DB": named.format(folder=tmp_path)}
    with pytest.raises(ConfigError, match="HELIX_STORE_DB names no memory") as raised:
        Memory.open(env=env)
    assert raised.value.key == "HELIX_STORE_DB"
    with Memory.open(env={**env, "RECOLLECT_HOME": str(tmp_path / "own")}) as memory:
        assert memory.home == tmp_path / "own"


def test_the_settings_say_which_variable_names_the_memory(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    (tmp_path / "memory.db").touch()
    named = ({}, {"HELIX_STORE_DB": str(tmp_path / "memory.db")}, {"RECOLLECT_HOME": str(tmp_path / "own")})
    for variable in named:
        with Memory.open(env={**env, **variable}) as memory:
            assert memory.maintenance.settings().home_from == "".join(variable)
