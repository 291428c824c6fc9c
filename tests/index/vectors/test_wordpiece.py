"""Texts become the pieces that BERT's own tokenizer makes of them, but for the differences that are meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index.vectors.builtin import FOLDER, WordPiece

VOCABULARY = (FOLDER / "vocabulary.txt").read_text("utf-8").splitlines()
WORDPIECE = WordPiece(VOCABULARY)

OF_THE_REAL_TOKENIZER = {
    "Hello, world!": "hello , world !",
    "naïve café Ünïcode": "naive cafe unicode",
    "日本語のテキスト 中文字符": "日 本 語 の ##テ ##キ ##ス ##ト 中 文",
    "Привет, мир! ёлка": "п ##р ##и ##в ##е ##т , м ##и ##р ! е ##л ##ка",
    "“quoted” — dash…": "“ quoted ” — dash …",
    "don't stop_it foo.bar(baz)[0]": "don ' t stop _ it foo . bar ( ba ##z ) [ 0 ]",
    "a\u200bb e\u0301te\u0301": "ab et ##e",
    "한국어 텍스트": "ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ ##ᄋ ##ᅥ ᄐ ##ᅦ ##ᆨ ##ᄉ ##ᅳ ##ᄐ ##ᅳ",
    "x" * 101 + " ok": "ok",
    "unaffable tokenization 3.14159": "una ##ffa ##ble token ##ization 3 . 141 ##59",
    "emoji 😀 test": "em ##oj ##i test",
    "A\u00a0B\u3000C": "a b c",
    "हिन्दी भाषा": "ह ##ि ##न ##द ##ी भ ##ा ##ष ##ा",
}
"""What the `tokenizers` library makes of them with the teacher's own file; its `[UNK]` is nothing here."""


def pieces(text: str) -> str:
    return " ".join(VOCABULARY[number] for number in WORDPIECE.tokens(text))


@pytest.mark.parametrize("text", OF_THE_REAL_TOKENIZER)
def test_pieces_are_those_of_the_real_tokenizer(text: str) -> None:
    assert pieces(text) == OF_THE_REAL_TOKENIZER[text]


def test_camel_case_is_cut_where_its_parts_meet() -> None:
    assert pieces("getHTTPServerName") == pieces("get HTTP server name") == "get http server name"
    assert pieces("parseJSON2") == "par ##se j ##son ##2"


def test_marks_of_the_model_are_ordinary_text() -> None:
    assert pieces("[MASK]") == "[ mask ]"


def test_what_is_too_long_to_be_a_word_means_nothing() -> None:
    assert pieces("0" * 5_000) == ""


@given(texts=st.lists(st.text(max_size=60), max_size=8))
def test_a_text_gives_the_same_whatever_came_before(texts: list[str]) -> None:
    fresh = [WordPiece(VOCABULARY[:2000]).tokens(text) for text in texts]
    used = WordPiece(VOCABULARY[:2000])
    assert [used.tokens(text) for text in texts] == fresh == [used.tokens(text) for text in texts]


@given(text=st.text(max_size=200))
def test_distinct_tokens_are_the_tokens_once_each(text: str) -> None:
    assert WORDPIECE.distinct_tokens(text) == sorted(set(WORDPIECE.tokens(text)))
