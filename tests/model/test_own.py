"""What is ours in a transcript is told from what is anybody's."""

from __future__ import annotations

import pytest

from recollect.model.own import BLOCK_TAG, is_own_tool, without_own_blocks


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
