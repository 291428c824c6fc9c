"""Content blocks: readable text out, opaque bytes never."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.kit.content import (
    base64_part,
    block_text,
    content_parts,
    content_text,
    media_part,
    without_opaque,
)

_anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["text", "image", "base64", "url"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "source", "data", "content", "input"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(_anything)
def test_any_content_has_a_text_and_parts(content: Any) -> None:
    assert isinstance(content_text(content), str)
    assert isinstance(content_parts(content)[0], tuple)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "text", "text": "said"}, "said"),
        ({"type": "thinking", "thinking": "thought", "signature": "c" * 90}, "thought"),
        ({"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}, "Bash\ncommand: ls"),
        ({"type": "tool_result", "content": [{"type": "text", "text": "out"}]}, "out"),
        ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "page"}}, "page"),
        ({"type": "image", "source": {"type": "base64", "data": "QUJD" * 30}}, ""),
        ({"type": "comet", "data": "Z" * 90, "tail": "bright"}, "tail: bright"),
        ("bare", "bare"),
    ],
)
def test_a_block_gives_its_readable_text(block: Any, text: str) -> None:
    assert block_text(block) == text


def test_one_block_of_text_is_the_same_object_so_that_it_is_stored_once() -> None:
    said = "a long answer"
    assert content_text([{"type": "text", "text": said}]) is said


def test_a_media_block_gives_hash_and_size_of_its_bytes() -> None:
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    part, _, is_readable = media_part(block)
    assert (part.bytes, part.media_type, is_readable) == (5, "image/png", True)
    assert part.sha256 == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def test_a_media_block_by_address_keeps_the_address() -> None:
    part, _, is_readable = media_part(
        {"type": "image", "source": {"type": "url", "url": "https://example.invalid/x.png"}}
    )
    assert (part.url, is_readable) == ("https://example.invalid/x.png", True)


@pytest.mark.parametrize("data", ["a", "é", None, 3])
def test_data_that_is_no_base64_is_said_so(data: object) -> None:
    part, is_readable = base64_part("image", "image/png", data)
    assert (part.sha256, is_readable) == ("", False)


def test_short_words_under_an_opaque_key_stay() -> None:
    assert without_opaque({"data": "a word", "signature": "def f(x): ..." + " " * 60}) != {}
    assert without_opaque({"signature": "c" * 90, "kept": [{"base64": "Z" * 90}]}) == {"kept": [{}]}
