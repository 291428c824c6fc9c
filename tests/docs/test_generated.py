"""Generated pages say what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.generate_docs import PAGES, table


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_generated_page_is_fresh(repository: Path, page: str) -> None:
    assert (repository / page).read_text("utf-8") == PAGES[page](), "run `make docs`"


def test_a_bar_in_a_cell_does_not_end_the_cell() -> None:
    assert table(("a", "b"), [("x|y", "z")])[-1] == "| x\\|y | z |"
