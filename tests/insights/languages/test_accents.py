"""Phrases as they are typed without their accents."""

from __future__ import annotations

import pytest

from recollect.insights.language.pack import phrases, spellings


@pytest.mark.parametrize(
    ("phrase", "typed"),
    [
        ("für", ("für", "fur", "fuer")),
        ("decisión", ("decisión", "decision")),
        ("ça marche", ("ça marche", "ca marche")),
        ("não", ("não", "nao")),
        ("ещё", ("ещё", "еще")),
        ("важный", ("важный",)),
        ("groß", ("groß", "gross")),
        ("plain", ("plain",)),
        ("使用", ("使用",)),
        ("を使って", ("を使って",)),
    ],
)
def test_spellings(phrase: str, typed: tuple[str, ...]) -> None:
    assert spellings(phrase) == typed


def test_a_marked_phrase_has_one_spelling() -> None:
    assert spellings("=qué") == ("qué",)
    assert phrases("=qué, más") == ("qué", "más", "mas")


def test_kana_keep_their_marks() -> None:
    assert spellings("が") == ("が",)
    assert spellings("ではなく") == ("ではなく",)
