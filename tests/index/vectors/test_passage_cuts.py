"""A text is cut into passages at the ends of what it is made of; of long outputs those that tell have vectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index.vectors.texts import MOST, PASSAGE_CHARS, TEXT_CHARS, cut, passages_of


@given(st.text(max_size=5000), st.integers(20, 900))
def test_the_pieces_of_any_text_are_the_text(text: str, size: int) -> None:
    pieces = cut(text, size=size)
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text
    assert all(0 < piece.end - piece.start <= size for piece in pieces)


def test_a_piece_ends_where_a_paragraph_or_a_sentence_does() -> None:
    text = "One sentence of many words. " * 60
    assert all(text[: piece.end].rstrip().endswith("words.") for piece in cut(text))
    paragraphs = ("A paragraph. " * 40 + "\n\n") * 4
    assert all(paragraphs[piece.start : piece.end].endswith("\n\n") for piece in cut(paragraphs))


def test_what_says_nothing_and_what_lies_beyond_has_no_passage() -> None:
    assert passages_of("talk", "ok") == []
    assert passages_of("other", "a text of a class that has none") == []
    assert passages_of("talk", "word " * TEXT_CHARS)[-1].end <= TEXT_CHARS


@pytest.mark.parametrize("text_class", list(MOST))
def test_no_text_has_more_passages_than_its_class_may(text_class: str) -> None:
    assert len(passages_of(text_class, "some words\n" * 20_000)) <= MOST[text_class]  # type: ignore[arg-type,index]


def test_of_a_long_output_the_ends_and_the_lines_that_tell_are_kept() -> None:
    filler = "line of numbers 123\n" * 600
    text = f"beginning\n{filler}Error: the disk is full\n{filler}the end\n"
    shown = [text[piece.start : piece.end] for piece in passages_of("tool_output", text)]
    assert any("Error: the disk is full" in piece for piece in shown)
    assert shown[0].startswith("beginning")
    assert "the end" in shown[-1]
    assert PASSAGE_CHARS * MOST["tool_output"] < len(text)
