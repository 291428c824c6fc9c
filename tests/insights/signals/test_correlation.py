"""The values of a session's close: a contract with another program."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.correlation import (
    INFRA_PATTERNS,
    VARIABLES,
    exported,
    infra_calls,
    overhead_share,
    shell_lines,
)
from recollect.model.payloads import ToolCall
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
    values = exported(story().digest(), INFRA_PATTERNS, DB)
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
    told = Story("opencode:s1")
    told.asks("look it up")
    told.add(ToolCall("c1", "tracker_lookup", "mcp", {"id": 1}))
    told.add(ToolCall("c2", "use_mcp_tool", "mcp", {"server_name": "tracker", "tool_name": "close"}))
    told.add(ToolCall("c3", "use_mcp_tool", "mcp", {"uri": "a resource"}))
    told.runs("ls")
    digest = told.digest()
    assert digest.tool_histogram == {"Bash": 1, "mcp__tracker__close": 1, "tracker_lookup": 1, "use_mcp_tool": 1}
    assert digest.tool_kinds == {"tracker_lookup": "mcp"}
    assert infra_calls(digest, INFRA_PATTERNS) == {"mcp__tracker__close": 1, "tracker_lookup": 1, "use_mcp_tool": 1}
    assert overhead_share(digest) == 0.75
    of_before = msgspec.structs.replace(digest, tool_kinds={})
    assert overhead_share(of_before) == 0.5


def test_the_bucket_is_configurable() -> None:
    digest = story().digest()
    assert overhead_share(digest, ("Bash",)) == pytest.approx(1 / 3)
    assert overhead_share(digest, ("shell",)) == pytest.approx(1 / 3)
    assert overhead_share(digest, ()) == 0.0


def test_no_calls_are_no_overhead() -> None:
    values = exported(Story().digest(), INFRA_PATTERNS, DB)
    assert values["HELIX_INFRA_OVERHEAD_SHARE"] == "0.0000"
    assert values["HELIX_TOKENS"] == "0"


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), st.integers(0, 1000), max_size=6),
    st.dictionaries(st.text(min_size=1, max_size=8), st.sampled_from(("mcp", "shell", "other"))),
)
def test_the_share_lies_between_none_and_all(histogram: dict[str, int], kinds: dict[str, str]) -> None:
    digest = msgspec.structs.replace(story().digest(), tool_histogram=histogram, tool_kinds=kinds)
    assert 0.0 <= overhead_share(digest) <= 1.0


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
