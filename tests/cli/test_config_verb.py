"""`recollect config`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.cli.main import run
from recollect.config import Config, config_reference, parse_config
from tests.cli.conftest import Outcome


def test_the_configuration_in_force_is_shown_as_toml(capsys: pytest.CaptureFixture[str], isolated_home: Path) -> None:
    (isolated_home / "recollect").mkdir()
    (isolated_home / "recollect" / "config.toml").write_text("[search]\nlimit = 25\n")
    assert run(["config"]) == 0
    shown = capsys.readouterr().out
    assert parse_config(tomllib.loads(shown)).search.limit == 25
    assert str(isolated_home / "recollect") in shown


def test_without_a_file_the_defaults_are_shown_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config"]) == 0
    shown = capsys.readouterr().out
    assert "defaults apply" in shown
    assert parse_config(tomllib.loads(shown)) == Config()


def test_as_json_it_says_where_it_comes_from(capsys: pytest.CaptureFixture[str], isolated_home: Path) -> None:
    assert run(["config", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["path"] == str(isolated_home / "recollect" / "config.toml")
    assert shown["exists"] is False
    assert shown["config"]["search"]["limit"] == 10


def test_the_path_is_printed_alone(capsys: pytest.CaptureFixture[str], isolated_home: Path) -> None:
    assert run(["config", "--path"]) == 0
    assert capsys.readouterr().out == f"{isolated_home / 'recollect' / 'config.toml'}\n"


def test_the_reference_can_be_saved_and_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "--reference"]) == 0
    assert capsys.readouterr().out == config_reference()


def test_a_wrong_configuration_is_a_usage_error(capsys: pytest.CaptureFixture[str], isolated_home: Path) -> None:
    (isolated_home / "recollect").mkdir()
    (isolated_home / "recollect" / "config.toml").write_text("[search]\nlimti = 25\n")
    assert run(["config"]) == 2
    assert "search.limti" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_told_in_one_line(
    recollect: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_HOME", "/" + "x" * 300)  # who runs the tests as root can read all others
    done = recollect("config")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recollect: cannot read ")


def test_a_memory_that_cannot_be_entered_is_told_in_one_line(
    recollect: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_HOME", "/" + "x" * 300)
    done = recollect("sessions")
    assert (done.code, done.out) == (3, "")
    assert re.search(r"the memory in .* cannot be opened: ", done.err)
