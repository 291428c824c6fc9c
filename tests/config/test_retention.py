"""`[retention]` and `[notify]`: a number or a word, and caps in their order."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from recollect.config import Config, config_reference, config_toml, parse_config
from recollect.errors import ConfigError


def of(text: str) -> Config:
    return parse_config(tomllib.loads(f"[retention]\n{text}\n"))


@pytest.mark.parametrize(("text", "value"), [("45", 45), ("0", 0), ('"never"', "never")])
def test_an_age_is_a_number_of_days_or_never(text: str, value: int | str) -> None:
    config = of(f"raw_max_age_days = {text}")
    assert config.retention.raw_max_age_days == value
    assert parse_config(tomllib.loads(config_toml(config))) == config


@pytest.mark.parametrize("text", ["-1", '"newer"', "true", "1.5", '""', "[45]", "36501"])
def test_anything_else_is_refused_with_both_that_may_stand_there(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        of(f"raw_max_age_days = {text}")
    assert caught.value.key == "retention.raw_max_age_days"
    assert caught.value.allowed == ('a whole number from 0 to 36500 or "never", or a text with a unit such as "6 w"',)


def test_the_hard_cap_is_not_below_the_soft_one() -> None:
    with pytest.raises(ConfigError) as caught:
        of("raw_soft_cap_bytes = 10\nraw_hard_cap_bytes = 9")
    assert caught.value.key == "retention.raw_hard_cap_bytes"
    assert of("raw_soft_cap_bytes = 10\nraw_hard_cap_bytes = 10").retention.raw_hard_cap_bytes == 10


def test_the_defaults_are_those_that_are_promised() -> None:
    kept = Config().retention
    gib = 1 << 30
    assert (kept.raw_soft_cap_bytes, kept.raw_hard_cap_bytes, kept.distilled_cap_bytes) == (4 * gib, 6 * gib, gib)
    assert (kept.raw_max_age_days, kept.cadence, kept.keep_gone) == (45, "daily", "age")
    assert Config().notify.command == ()


def test_the_reference_says_what_may_stand_there() -> None:
    assert 'Allowed: a whole number from 0 to 36500 or "never", or a text with a unit such as "6 w".' in " ".join(
        config_reference().split("\n# ")
    )


@pytest.mark.parametrize(
    ("section", "key", "written", "meant"),
    [
        ("retention", "raw_soft_cap_bytes", "2 GiB", 2 << 30),
        ("retention", "raw_max_age_days", "6 w", 42),
        ("retention", "raw_max_age_days", "1 y", 365),
        ("notify", "timeout_seconds", "1 min", 60),
        ("learning", "timeout_s", "90 s", 90),
        ("retention", "raw_max_age_days", "never", "never"),
        ("retention", "raw_max_age_days", 45, 45),
        ("ingest", "slice_bytes", 4_194_304, 4_194_304),
    ],
)
def test_a_size_or_a_length_of_time_may_have_a_unit(section: str, key: str, written: Any, meant: Any) -> None:
    config = parse_config({section: {key: written}})
    assert getattr(getattr(config, section), key) == meant


@pytest.mark.parametrize("written", ["soon", "36 h", "200 y", 1.5, "45"])
def test_an_age_that_cannot_be_used_is_refused_with_what_may_stand_there(written: Any) -> None:
    with pytest.raises(ConfigError, match="raw_max_age_days") as raised:
        parse_config({"retention": {"raw_max_age_days": written}})
    allowed = 'a whole number from 0 to 36500 or "never", or a text with a unit such as "6 w"'
    assert str(raised.value).endswith(f"must be {allowed}, not {json.dumps(written)}")
