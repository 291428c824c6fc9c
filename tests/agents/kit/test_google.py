"""Content in Google's "Part" shape, and what agents built on it show of commands, edits and tokens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from recollect.agents.kit.google_chat import (
    Counts,
    content_text,
    display_of,
    edit_of,
    media_part,
    read_content,
    response_failed,
    response_text,
    unwrap_shell,
    usage_of,
)
from recollect.model.payloads import FileEdit
from recollect.testing.strategies import any_json


def test_a_content_is_sorted_by_kind() -> None:
    pieces = read_content(
        [
            "plain",
            {"text": "said"},
            {"text": "thought", "thought": True},
            {"text": "aloud", "thought": False},
            {"functionCall": {"name": "glob"}},
            {"functionResponse": {"name": "glob"}},
            {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
            {"codeExecutionResult": {"outcome": "OK", "output": "2"}},
            {"thoughtSignature": "c2ln"},
            {"future": 1},
            7,
            None,
        ]
    )
    assert pieces.said == "plain\nsaid\naloud\n1 + 1\nPYTHON\n2\nOK"
    assert pieces.thoughts == ["thought"]
    assert pieces.calls == pieces.responses == [{"name": "glob"}]
    assert pieces.others == [{"future": 1}, 7]


def test_one_part_or_a_text_is_a_content_too() -> None:
    assert read_content({"text": "x"}).texts == read_content("x").texts == ["x"]
    assert read_content(None).texts == []


def test_a_file_elsewhere_is_kept_by_its_place() -> None:
    part, is_whole = media_part({"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/a.pdf"}})
    assert (part.type, part.url, is_whole) == ("file", "gs://b/a.pdf", True)


def test_bytes_never_become_text() -> None:
    data = "QUJD" * 40
    assert data not in content_text([{"inlineData": {"mimeType": "image/png", "data": data}}, {"new": {"data": data}}])


@pytest.mark.parametrize(
    ("response", "said", "failed"),
    [
        ({"output": "a"}, "a", False),
        ({"error": "b"}, "b", True),
        ({"output": "a", "error": "b"}, "a", False),
        ({"answer": "c"}, "answer: c", False),
        ("plain", "plain", False),
        (None, "", False),
    ],
)
def test_a_response_says_its_output_or_its_error(response: Any, said: str, failed: bool) -> None:
    assert response_text({"response": response}) == said
    assert response_failed({"response": response}) is failed


def test_only_a_shell_has_a_wrapping() -> None:
    assert unwrap_shell("read_file", "Output: x\nExit Code: 1") is None
    assert unwrap_shell("run_shell_command", "Exit Code: 1") is None
    assert unwrap_shell("run_shell_command", "Command: x\nno output") is None


def test_an_empty_output_is_empty_and_an_error_is_kept() -> None:
    found = unwrap_shell(
        "run_shell_command", "Command: a\nb\nDirectory: d\nOutput: (empty)\nError: bad\nExit Code: (none)"
    )
    assert found is not None
    assert (found.output, found.exit_code, found.facts) == ("", None, {"directory": "d", "error": "bad"})


def test_what_was_shown_is_kept_only_beyond_what_was_said() -> None:
    screen = [[{"text": "a", "bold": True}, {"text": "b  "}], [{"text": "c"}]]
    assert display_of("x", "xyz") == ("x", None)
    assert display_of(screen, "") == ("ab\nc", "ab\nc")
    assert display_of({"todos": [1], "empty": ""}, "") == ("", {"todos": [1]})
    assert display_of({"fileDiff": "d", "fileName": "a"}, "") == ("", None)
    assert display_of([1], "") == ("", [1])


def test_a_shortened_display_gives_the_texts_that_it_has() -> None:
    shown = {
        "fileDiff": "short",
        "fileName": "a.py",
        "originalContent": "o",
        "newContent": "n",
        "fileDiffTruncated": True,
    }
    assert edit_of("edit", {"file_path": "/w/a.py"}, shown, "c") == FileEdit("/w/a.py", "modify", "o", "n", call_id="c")


def test_a_call_that_writes_a_file_is_an_edit_and_others_are_none() -> None:
    assert edit_of("write_file", {"file_path": "a", "content": "x"}, None, "c") == FileEdit("a", after="x", call_id="c")
    assert edit_of("replace", {"file_path": "a", "old_string": "", "new_string": "x"}, None, "c") == FileEdit(
        "a", "create", after="x", call_id="c"
    )
    assert edit_of("read_file", {"file_path": "a", "content": "x"}, None, "c") is None
    assert edit_of("replace", {"file_path": "a"}, None, "c") is None


@pytest.mark.parametrize(
    ("counts", "apart", "found"),
    [
        (Counts(900, 20, 600, 15, 0, 935), False, (300, 35, 15)),
        (Counts(900, 35, 600, 15, 0, 935), True, (300, 35, 15)),
        (Counts(100, 10, 0, 5, 7, 122), False, (107, 15, 5)),
        (Counts(100, 10, 0, 5), True, (100, 15, 5)),
        (Counts(100, 10, 0, 5), False, (100, 10, 5)),
        (Counts(5, 1, 9), False, (0, 1, 0)),
    ],
)
def test_the_total_tells_whether_thoughts_are_counted_apart(
    counts: Counts, apart: bool, found: tuple[int, ...]
) -> None:
    usage = usage_of(counts, "m", "k", thoughts_are_apart=apart)
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == found


@given(value=any_json(), other=any_json())
def test_any_json_is_read_without_raising(value: Any, other: Any) -> None:
    assert isinstance(content_text(value), str)
    pieces = read_content([value, other])
    for response in pieces.responses:
        response_text(response)
    display_of(value, "")
    edit_of("replace", value, other, "c")
