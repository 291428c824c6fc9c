"""Plans, in the forms in which agents write them down."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.recall.context.compacted import plan_in


@pytest.mark.parametrize(
    "arguments",
    [
        {"todos": [{"content": "Read", "status": "completed"}, {"content": "Write", "status": "in_progress"}]},
        {"plan": [{"step": "Read", "status": "completed"}, {"step": "Write", "status": "in_progress"}]},
        {"input": {"items": [{"title": "Read", "status": "done"}, {"title": "Write", "status": "active"}]}},
    ],
)
def test_steps_are_read_with_their_state(arguments: Any) -> None:
    assert plan_in(arguments) == "[x] Read; [>] Write"


def test_a_plan_that_is_text_is_read_as_it_is() -> None:
    assert plan_in({"plan": "1. Read\n2. Write"}) == "1. Read 2. Write"


@pytest.mark.parametrize("arguments", [None, "x", [], {"questions": [{"question": "?"}]}, {"todos": []}])
def test_what_is_no_plan_gives_none(arguments: Any) -> None:
    assert plan_in(arguments) == ""
