"""Ids of learnings follow their content, confidence follows the features."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.learnings.identity import LONGEST_TEXT, bounded, confidence_of, learning_id, normalised


@pytest.mark.parametrize("other", ["use PNPM", "  use   pnpm.", "Use pnpm!", "use\npnpm…", "ｕｓｅ pnpm"])
def test_the_same_thing_heard_twice_has_one_id(other: str) -> None:
    assert learning_id("correction", "repo", "shop", "", other) == learning_id(
        "correction", "repo", "shop", "", "use pnpm"
    )


def test_kind_scope_and_place_are_part_of_the_id() -> None:
    ids = {
        learning_id("correction", "repo", "shop", "", "use pnpm"),
        learning_id("preference", "repo", "shop", "", "use pnpm"),
        learning_id("preference", "user", "", "", "use pnpm"),
        learning_id("preference", "repo", "blog", "", "use pnpm"),
        learning_id("preference", "path", "shop", "web", "use pnpm"),
        learning_id("preference", "path", "shop", "api", "use pnpm"),
    }
    assert len(ids) == 6
    assert all(len(one) == 21 and one[0] == "l" and int(one[1:], 16) >= 0 for one in ids)


def test_a_place_that_the_scope_does_not_have_is_left_out() -> None:
    assert learning_id("fact", "user", "shop", "web", "x y") == learning_id("fact", "user", "", "", "x y")
    assert learning_id("fact", "repo", "shop", "web", "x y") == learning_id("fact", "repo", "shop", "", "x y")


def test_confidence_is_the_bounded_sum_of_its_features() -> None:
    assert confidence_of({"said": 0.6, "again": 0.1}) == 0.7
    assert confidence_of({}) == 0.05
    assert confidence_of({"a": 0.9, "b": 0.9}) == 0.99
    assert confidence_of({"a": 0.5, "held back: a command": 0.0}) == 0.5


@given(st.text(max_size=900))
def test_a_text_is_bounded_and_stays_so(text: str) -> None:
    once = bounded(text)
    assert len(once) <= LONGEST_TEXT
    assert "\n" not in once
    assert bounded(once) == once


@given(st.text(max_size=80))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)
