"""Where the memory, its configuration and the demo live, per platform and environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recollect import paths

HOME = {"HOME": "/home/ada", "USERPROFILE": "C:/Users/ada"}


def on(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(paths.sys, "platform", platform)


def test_recollect_home_puts_data_and_configuration_into_one_folder() -> None:
    env = {**HOME, "RECOLLECT_HOME": "/srv/memory"}
    assert paths.home_dir(env) == Path("/srv/memory")
    assert paths.config_file(env) == Path("/srv/memory/config.toml")


def test_on_linux_the_xdg_defaults_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "linux")
    assert paths.home_dir(HOME) == Path("/home/ada/.local/share/recollect")
    assert paths.config_file(HOME) == Path("/home/ada/.config/recollect/config.toml")


def test_on_linux_the_xdg_variables_are_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "linux")
    env = {**HOME, "XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/conf"}
    assert paths.home_dir(env) == Path("/data/recollect")
    assert paths.config_file(env) == Path("/conf/recollect/config.toml")


def test_a_relative_xdg_variable_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "linux")
    assert paths.home_dir({**HOME, "XDG_DATA_HOME": "data"}) == Path("/home/ada/.local/share/recollect")


def test_on_macos_both_are_in_application_support(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "darwin")
    support = Path("/home/ada/Library/Application Support/recollect")
    assert paths.home_dir(HOME) == support
    assert paths.config_file(HOME) == support / "config.toml"


def test_on_windows_data_is_local_and_configuration_roams(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "win32")
    env = {**HOME, "LOCALAPPDATA": "C:/Local", "APPDATA": "C:/Roaming"}
    assert paths.home_dir(env) == Path("C:/Local/recollect")
    assert paths.config_file(env) == Path("C:/Roaming/recollect/config.toml")


def test_without_variables_windows_falls_back_below_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "win32")
    assert paths.home_dir(HOME) == Path("C:/Users/ada/AppData/Local/recollect")


@pytest.mark.parametrize("env", [HOME, {**HOME, "RECOLLECT_HOME": "/srv/memory"}])
def test_the_demo_is_beside_the_home_and_never_in_it(env: dict[str, str]) -> None:
    home, demo = paths.home_dir(env), paths.demo_home(env)
    assert demo != home
    assert not demo.is_relative_to(home)
    assert demo.parent == home.parent


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~", "/home/ada"),
        ("~/x", "/home/ada/x"),
        ("$WORK/x", "/w/x"),
        ("${WORK}x", "/wx"),
        ("$NOWHERE/x", "$NOWHERE/x"),
        ("/a/~/b", "/a/~/b"),
        ("~other/x", "~other/x"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the example paths are POSIX")
def test_expand_replaces_the_home_and_known_variables(text: str, expected: str) -> None:
    assert paths.expand(text, {**HOME, "WORK": "/w"}) == Path(expected)


def test_the_functions_take_the_process_environment_by_default(isolated_home: Path) -> None:
    assert paths.home_dir() == isolated_home / "recollect"


def test_another_programs_word_for_the_memory_is_its_database() -> None:
    assert paths.home_dir({**HOME, "HELIX_STORE_DB": "/srv/memory/memory.db"}) == Path("/srv/memory")


def test_recollect_home_comes_before_another_programs_word() -> None:
    env = {**HOME, "RECOLLECT_HOME": "/srv/own", "HELIX_STORE_DB": "/srv/memory/memory.db"}
    assert paths.home_dir(env) == Path("/srv/own")


@pytest.mark.parametrize("text", ["memory.db", "srv/memory.db", "/srv/other.db", "/srv/memory", "", "/"])
def test_a_word_that_names_no_memory_is_ignored(text: str) -> None:
    assert paths.home_dir({**HOME, "HELIX_STORE_DB": text}) == paths.home_dir(HOME)


def test_the_configuration_stays_where_it_is() -> None:
    assert paths.config_file({**HOME, "HELIX_STORE_DB": "/srv/memory/memory.db"}) == paths.config_file(HOME)
