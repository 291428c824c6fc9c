"""What is ours in a transcript is told from what is anybody's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.own import BLOCK_TAG, is_own_call, is_own_command, is_own_tool, without_own_blocks
from recollect.verbs import RECALLING, VERBS


@pytest.mark.parametrize(
    "name",
    [
        "mcp__recollect__search",
        "mcp__plugin_recollect_recollect__open",
        "recollect_list_sessions",
        "mcp_recollect_get_session",
        "recollect.search",
        "recollect-search",
        "functions.recollect__open",
    ],
)
def test_each_agents_spelling_of_our_tools_is_known(name: str) -> None:
    assert is_own_tool(name)


@pytest.mark.parametrize("name", ["search", "open", "Bash", "mcp__moraine__search", "recollection_search", "recollect"])
def test_other_tools_are_not_ours(name: str) -> None:
    assert not is_own_tool(name)


def test_a_block_of_ours_leaves_a_text_and_nothing_else_does() -> None:
    block = f"<{BLOCK_TAG} from='x'>\n- claude:a#1 said it\n</{BLOCK_TAG}>"
    assert without_own_blocks(f"before {block} between {block} after") == "before  between  after"
    assert without_own_blocks("<div>recollect</div>") == "<div>recollect</div>"


def test_a_block_that_was_cut_off_goes_to_the_end() -> None:
    assert without_own_blocks(f"kept <{BLOCK_TAG}>\nrecalled, but cut") == "kept "


@pytest.mark.parametrize(
    ("name", "canonical", "arguments"),
    [
        ("use_mcp_tool", "mcp", {"server_name": "recollect", "tool_name": "search", "arguments": "{}"}),
        ("mcp", "other", {"server": "recollect", "tool": "open"}),
        ("Bash", "shell", {"command": "recollect search 'the cart'"}),
        ("shell", "shell", {"command": ["bash", "-lc", "cd /r && recollect --json show claude:a#1 | jq ."]}),
        ("run_in_terminal", "shell", "NO_COLOR=1 ~/.local/bin/recollect timeline --repo shop"),
        ("exec", "shell", {"cmd": "python3 -m recollect sessions"}),
        ("exec", "shell", {"cmd": "make test; recollect context"}),
    ],
)
def test_a_call_that_asks_the_memory_is_ours(name: str, canonical: str, arguments: object) -> None:
    assert is_own_call(name, canonical, arguments)


@pytest.mark.parametrize(
    ("name", "canonical", "arguments"),
    [
        ("use_mcp_tool", "mcp", {"server_name": "files", "tool_name": "search", "arguments": {"path": "recollect"}}),
        ("Bash", "shell", {"command": "pytest tests/recollect -q"}),
        ("Bash", "shell", {"command": "grep -rn 'recollect search' docs"}),
        ("Bash", "shell", {"command": "git commit -m 'recollect search finds more'"}),
        ("Bash", "shell", {"command": "recollect sync && recollect doctor"}),
        ("Bash", "shell", {"command": "pip install recollect"}),
        ("Write", "edit", {"file_path": "a.md", "content": "recollect search x"}),
        ("Bash", "shell", None),
        ("Bash", "shell", {"command": 7}),
    ],
)
def test_other_calls_are_not_ours(name: str, canonical: str, arguments: object) -> None:
    assert not is_own_call(name, canonical, arguments)


@pytest.mark.parametrize(
    "command",
    [
        "recollect {} list",
        "recollect --json {}",
        "uv run recollect {} x",
        "uv run --with rich -q recollect {} x",
        "uvx --from recollect recollect {}",
        "uv run python -m recollect {}",
        "python3.12 -X utf8 -m recollect --json {}",
        "py -m recollect {}",
        ".venv/bin/recollect {} --json | jq .",
        r"& 'C:\Program Files\recollect\recollect.exe' {}",
        r"C:\tools\recollect.cmd {}",
        "cd /r && RECOLLECT_HOME=/tmp/x recollect {}",
        "env -i A=1 recollect {}",
        "sudo -u me timeout 10s recollect {}",
        "git ls-files | xargs -n1 -I {{}} recollect {} {{}}",
        "for s in a b; do recollect {} $s; done",
        "if ! recollect {} x; then echo none; fi",
        'echo "$(recollect {})"',
        "bash -lc 'recollect {} x'",
        'bash -lc "cd /r && recollect {} | head"',
        'pwsh -Command "recollect {} x"',
        "cmd /c recollect {}",
        "recollect \\\n  {} x",
        "recollect sync; recollect {}",
    ],
)
def test_a_verb_that_recalls_is_known_in_every_spelling(command: str) -> None:
    assert [verb for verb in sorted(RECALLING) if not is_own_command(command.format(verb))] == []


@pytest.mark.parametrize("verb", sorted({verb.name for verb in VERBS} - RECALLING))
def test_a_verb_that_does_not_recall_is_remembered(verb: str) -> None:
    assert not is_own_command(f"uv run recollect {verb} --json x")


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests/recollect search",
        "python -m pytest tests/recollect search",
        "python -c \"print('recollect search')\"",
        "rm recollect search",
        "sudo rm recollect show",
        "recollect",
        "recollect-tools search",
        "recollect searching",
        "cat recollect/search.py",
        "echo recollect search",
    ],
)
def test_a_command_that_only_names_us_is_remembered(command: str) -> None:
    assert not is_own_command(command)


@given(st.text(alphabet="-ab1 =\"'\\|{(", max_size=200))
def test_any_command_is_answered(text: str) -> None:
    is_own_command(f"env {text} recollect {text} search {text}")


def test_a_block_inside_json_inside_json_is_ours_too() -> None:
    escaped = f"\\u003c{BLOCK_TAG}\\u003e said \\u003c/{BLOCK_TAG}\\u003e"
    assert without_own_blocks(f'{{"text": "kept {escaped} kept"}}') == '{"text": "kept  kept"}'
