"""A sentence that gave a learning, an action and a hit is shown once."""

from __future__ import annotations

from tests.ingest.entries.noted import draft, put
from tests.recall.context.conftest import Shop, shop, world

__all__ = ["shop", "world"]

RULE = "From now on always use parquet for the exporter, and never csv."


def test_what_a_hit_says_is_not_said_again_as_learned(shop: Shop) -> None:
    session = shop.session("one").work(RULE, "Done.")
    shop.memory.sync()
    assert [one.kind for one in shop.memory.learn.learnings()] == ["preference"]
    answer = shop.memory.search("parquet exporter")
    assert [hit.session_uid for hit in answer.hits] == [session.uid]
    assert answer.learned == ()


def test_of_a_learning_and_an_action_in_the_same_words_one_is_shown(shop: Shop) -> None:
    shop.session("one").work("Look at the readme.", "It is fine.")
    shop.memory.sync()
    text = "The exporter writes parquet files"
    put(shop.memory.home, draft("learning:l1", text, repo="shop"), draft("action:a1", text, repo="shop"))
    shop.memory.sync()
    assert [hit.session_uid for hit in shop.memory.search("parquet exporter").learned] in (
        ["learning:l1"], ["action:a1"],
    )  # fmt: skip
