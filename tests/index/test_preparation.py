"""Text is cut into the words people look for, and nothing of it is lost."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from recollect.index.text.bulk_preparation import prepare_many
from recollect.index.text.document_builder import DOCUMENT_BYTES, DocumentBuilder, split_text
from recollect.index.text.preparation import clean, fold_accents, latin_folds, prepare, prepare_one
from recollect.index.text.terms import terms_of


def _document(text: str, **given_: object) -> dict[str, object]:
    builder = DocumentBuilder()
    builder.add("talk", text, (), kind="user_message", tool="", ts=None)
    ((document,),) = builder.finish()
    loaded = json.loads('{"key":1,"session":1,' + document)
    assert isinstance(loaded, dict)
    return loaded


def test_camel_case_is_taken_apart() -> None:
    assert terms_of("computeInvoiceTotal HTTPServer") == ["compute", "invoice", "total", "http", "server"]


def test_snake_case_and_punctuation_separate() -> None:
    assert terms_of("fetch_route_row(v1.2, /src/my-file.py)") == [
        "fetch", "route", "row", "v1", "2", "src", "my", "file", "py",
    ]  # fmt: skip


def test_whole_identifiers_are_kept_in_lower_case_once() -> None:
    prepared = prepare_one("HookSessionEnd then hook_session_end, TestShadow_ResetSession, HookSessionEnd")
    assert prepared.identifiers == "hooksessionend testshadow_resetsession"


def test_runs_longer_than_a_term_are_blanked_and_what_stands_beside_them_stays() -> None:
    run = "aB3" * 40
    assert prepare_one(run).text.strip() == ""
    assert prepare_one(run).identifiers == ""
    assert terms_of(f"key_{run}_end of {run}/{'x' * 64} {'y' * 65}") == ["key", "end", "of", "x" * 64]
    assert terms_of(f"до {'я' * 40} {'ж' * 32} é_{'ü' * 33}") == ["до", "ж" * 32, "é"]


def test_a_long_identifier_with_underscores_is_still_taken_apart() -> None:
    name = "TestShadowBranch_" * 6 + "resetSession"
    assert terms_of(name)[-2:] == ["reset", "session"]


def test_a_sha256_is_one_term() -> None:
    digest = "0a1b2c3d" * 8
    assert terms_of(f"commit {digest}") == ["commit", digest]


def test_characters_of_scripts_without_spaces_are_terms() -> None:
    assert terms_of("検索abc 검색") == ["検", "索", "abc", "검", "색"]
    assert terms_of("привет Ελλάδα") == ["привет", "ελλάδα"]


def test_decomposed_accents_are_composed() -> None:
    assert terms_of("cafe\u0301") == ["café"]


def test_accents_fold_to_plain_letters() -> None:
    assert fold_accents("résumé") == "resume"
    assert latin_folds("Résumé of the Größe, plain hi") == {"resume"} | latin_folds("Größe")


def test_escaped_line_breaks_do_not_stick_to_words() -> None:
    assert terms_of(r"first\nsecond\tthird") == ["first", "second", "third"]


def test_windows_paths_keep_their_letters() -> None:
    assert terms_of(r"C:\new\table") == ["c", "new", "table"]


def test_terminal_colours_are_no_words() -> None:
    assert terms_of("\x1b[31merror\x1b[0m done") == ["error", "done"]


_WORDS = st.text("aAbBzZ09_ éÉßΣ検한ⅣＡ𝔸�-", max_size=150)
"""Words with what is taken apart, made small, and as long as a term or longer."""


@given(st.lists(st.text(max_size=200) | _WORDS, max_size=8))
def test_texts_are_prepared_alike_together_and_alone(texts: list[str]) -> None:
    pieces = [clean(text) for text in texts]
    assert prepare_many(pieces) == list(map(prepare, pieces))


def test_every_character_is_prepared_alike_together_and_alone() -> None:
    points = [point for point in range(0x32000) if not 0xD800 <= point < 0xE000]
    rows = (points[first : first + 512] for first in range(0, len(points), 512))
    pieces = [clean(" ".join(f"aB{chr(point)}Bc" for point in row)) for row in rows]
    assert prepare_many(pieces) == list(map(prepare, pieces))


@given(st.lists(st.text(max_size=14), max_size=20))
def test_preparing_any_text_without_long_words_keeps_all_but_separators(words: list[str]) -> None:
    data = clean(" ".join(words))
    kept = bytes(b for b in data if b >= 0x80 or chr(b).isalnum() or b == ord("_")).decode()
    small = "".join("i" if c == "İ" else c.lower() for c in kept)
    assert prepare(data).text.replace(" ", "") == small


def test_every_capital_becomes_small() -> None:
    capitals = [c for c in map(chr, range(0x20000)) if not 0xD800 <= ord(c) < 0xE000 and c.lower() != c and c != "İ"]
    pieces = [clean(c) for c in capitals]
    assert [prepare(piece).text for piece in pieces] == [piece.decode().lower() for piece in pieces]
    assert terms_of("ΟΔΟΣ İki") == ["οδοσ", "iki"]


@given(st.text(st.characters(), max_size=300))
def test_any_text_becomes_valid_json(text: str) -> None:
    assert "text" in _document(text + "x")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(1, 4))
def test_a_long_text_is_cut_without_loss(text: str, times: int) -> None:
    data = (text.encode() * (DOCUMENT_BYTES * times // len(text.encode()) + 1))[: DOCUMENT_BYTES * times + 7]
    data = data.decode("utf-8", "ignore").encode()
    pieces = split_text(data)
    assert b"".join(pieces) == data
    assert all(len(piece) <= DOCUMENT_BYTES for piece in pieces)
    assert all(piece.decode("utf-8") is not None for piece in pieces)


def test_a_cut_falls_between_words() -> None:
    pieces = split_text(b"needle " * 20_000)
    assert all(piece.split() == [b"needle"] * len(piece.split()) for piece in pieces)


def test_an_event_without_text_and_paths_has_no_document() -> None:
    builder = DocumentBuilder()
    builder.add("other", "", (), kind="lifecycle", tool="", ts=None)
    first = builder.add("talk", "word", (), kind="user_message", tool="", ts=3)
    assert first == 1
    documents = builder.finish()
    assert documents[0] == ()
    assert len(documents[1]) == 1


def test_paths_and_instructions_have_fields_of_their_own() -> None:
    builder = DocumentBuilder()
    builder.add("tool_input", "Read", ("/src/MyFile.py",), kind="tool_call", tool="Read", ts=None)
    builder.add("instructions", "be kind", (), kind="instructions", tool="", ts=None)
    (call,), (instructions,) = builder.finish()
    assert json.loads("{" + call)["paths"].split() == ["src", "my", "file", "py"]
    assert json.loads("{" + call)["tool"] == "read"
    assert "text" not in json.loads("{" + instructions)
