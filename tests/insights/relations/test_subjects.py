"""What words are about, in the one form in which they are compared."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.insights.subjects import (
    Vocabulary,
    ends_with_path,
    identifiers_in,
    is_distinctive,
    is_said,
    paths_in,
    phrase,
    vocabulary,
    words_in,
)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("the RingBuffers", "ring buffer"),
        ("a ring buffer", "ring buffer"),
        ("ring_buffer", "ring buffer"),
        ("Postgres", "postgre"),
        ("retries", "retry"),
        ("HTTPServer", "http server"),
        ("S3", "s3"),
        ("`GetAgent()`", "getagent"),
        ("使用 Postgres", "使用 postgre"),
        ("the first one", ""),
        ("option 2", ""),
        ("this approach", ""),
        ("", ""),
    ],
)
def test_an_option_is_one_key_however_it_is_written(text: str, key: str) -> None:
    assert phrase(text) == key


def test_an_option_is_said_as_one_name_or_by_all_its_words() -> None:
    words = vocabulary("class RingBuffer:\n    size = s3_client.get()")
    assert is_said(phrase("ring buffer"), words)
    assert is_said(phrase("ringbuffer"), words)
    assert not is_said(phrase("ring list"), words)
    assert not is_said("", words)


def test_names_of_code_are_found_and_names_of_products_are_not() -> None:
    said = "use `parse_file` and getUser(), not SessionStart; put it on GitHub as the README says, in `a b`"
    assert identifiers_in(said) == ("parsefile", "getuser", "sessionstart")


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("put it in `src/db/pool.py`, not utils.py.", ("src/db/pool.py", "utils.py")),
        ("see https://x.example/a.html and e.g. and/or 1.2.3", ()),
        ("main.go:12 and @docs/notes.md (./a/b.c)", ("main.go", "docs/notes.md", "a/b.c")),
        ("C:\\work\\notes.txt", ("C:\\work\\notes.txt",)),
    ],
)
def test_paths_are_found_in_prose(text: str, paths: tuple[str, ...]) -> None:
    assert paths_in(text) == paths


@pytest.mark.parametrize(
    ("path", "tail", "is_end"),
    [
        ("/r/src/db.py", "src/db.py", True),
        ("/r/src/db.py", "db.py", True),
        ("src\\db.py", "src/db.py", True),
        ("/r/asrc/db.py", "src/db.py", False),
        ("/r/more_db.py", "db.py", False),
        ("/r/src/db.py", "", False),
    ],
)
def test_a_path_ends_in_another_at_the_border_of_a_component(path: str, tail: str, is_end: bool) -> None:
    assert ends_with_path(path, tail) is is_end


def test_a_name_is_told_from_a_common_word() -> None:
    assert [is_distinctive(o) for o in ("Redis", "s3", "ring buffer", "list", "tabs")] == [
        True,
        True,
        True,
        False,
        False,
    ]


@example("aA000²")
@given(st.text(max_size=200))
def test_any_text_has_words_names_and_paths(text: str) -> None:
    key = phrase(text)
    assert not key or is_said(key, vocabulary(text))
    assert set(words_in(text)) <= vocabulary(text)
    assert all(name in vocabulary(text) or "/" in text for name in identifiers_in(text))
    assert all(path in text for path in paths_in(text))


@example("ΟΔΟΣ_ring retries s3_IES glass \u212a\u212a", "ring")
@given(st.text(st.sampled_from("abyies_SIES3 .ΣσςİK\u212aſé") | st.characters(), max_size=60), st.text(max_size=4))
def test_a_vocabulary_that_is_only_asked_for_words_is_the_same(text: str, other: str) -> None:
    words, asked = vocabulary(text), Vocabulary(text)
    assert all(word in asked for word in words)
    assert bool(asked) is bool(words)
    for word in (other, other.lower(), text[:3].lower(), "", "ring", 7):
        assert (word in asked) is (word in words)
