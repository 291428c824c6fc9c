"""The values of a session's close: a contract with another program."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.correlation import INFRA_PATTERNS, VARIABLES, exported, overhead_share, shell_lines
from tests.insights.signals.stories import Story

DB = "/home/a b/memory.db"


def story() -> Story:
    told = Story("claude:s1")
    told.starts(cwd="/w/demo", repo_root="/w/demo")
    told.runs("ls")
    told.gets(told.calls("mcp__tracker__read", {"id": 1}))
    told.gets(told.calls("mcp__tracker__read", {"id": 2}))
    told.spends("r1", 32)
    return told


def test_the_variables_are_those_of_the_contract_in_order() -> None:
    values = exported(story().digest(), {"mcp": 2, "shell": 1}, INFRA_PATTERNS, DB)
    assert tuple(values) == VARIABLES
    assert values == {
        "HELIX_SESSION_UID": "claude:s1",
        "HELIX_REPO": "demo",
        "HELIX_FLAVOR": "claude",
        "HELIX_TOKENS": "42",
        "HELIX_INFRA_OVERHEAD_SHARE": "0.6667",
        "HELIX_STORE_DB": DB,
    }


def test_calls_of_mcp_servers_count_whatever_they_are_called() -> None:
    digest = msgspec.structs.replace(story().digest(), tool_histogram={"lookup": 1, "Bash": 3})
    assert overhead_share(digest, {"mcp": 1, "shell": 3}) == 0.25
    assert overhead_share(digest, {}) == 0.0


def test_the_bucket_is_configurable() -> None:
    digest = story().digest()
    assert overhead_share(digest, {"mcp": 2, "shell": 1}, ("Bash",)) == pytest.approx(1 / 3)
    assert overhead_share(digest, {"mcp": 2, "shell": 1}, ("shell",)) == pytest.approx(1 / 3)
    assert overhead_share(digest, {"mcp": 2, "shell": 1}, ()) == 0.0


def test_no_calls_are_no_overhead() -> None:
    values = exported(Story().digest(), {}, INFRA_PATTERNS, DB)
    assert values["HELIX_INFRA_OVERHEAD_SHARE"] == "0.0000"
    assert values["HELIX_TOKENS"] == "0"


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.integers(0, 1000), max_size=6), st.integers(0, 9000))
def test_the_share_lies_between_none_and_all(histogram: dict[str, int], mcp: int) -> None:
    digest = msgspec.structs.replace(story().digest(), tool_histogram=histogram)
    assert 0.0 <= overhead_share(digest, {"mcp": mcp}) <= 1.0


@given(st.dictionaries(st.sampled_from(VARIABLES), st.text(max_size=30)))
def test_lines_are_read_back_as_they_were(values: dict[str, str]) -> None:
    lines = shell_lines(values)
    words = shlex.split(lines)
    assert words == [x for k, v in values.items() for x in ("export", f"{k}={v.replace(chr(0), '')}")]


@pytest.mark.parametrize(
    "value", ["$(touch made)", "`touch made`", "'; touch made; '", "a\nb", "--x", "é 中", "\\", ""]
)
def test_a_shell_runs_nothing_of_a_value(tmp_path: Path, value: str) -> None:
    script = shell_lines({"HELIX_REPO": value}) + 'printf %s "$HELIX_REPO"'
    shell = subprocess.run(["/bin/sh", "-c", script], cwd=tmp_path, capture_output=True, check=True)
    assert shell.stdout.decode() == value
    assert not (tmp_path / "made").exists()


def test_no_values_are_no_lines() -> None:
    assert shell_lines({}) == ""


def test_a_name_that_is_no_variable_is_refused() -> None:
    with pytest.raises(ValueError, match="a b"):
        shell_lines({"a b": "x"})
