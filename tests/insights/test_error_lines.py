"""Errors: what counts as one, and what of it is kept."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.error_lines import SAMPLE_CHARS, fingerprint_of, normalised, sample_of, telling_line
from recollect.insights.signals.calls import EXPECTED_EXITS, is_denial, is_interruption
from tests.insights.signals.stories import Story

TRACEBACK = """Traceback (most recent call last):
  File "/w/demo/app.py", line 3, in <module>
    main()
  File "/w/demo/app.py", line 2, in main
    raise KeyError("x")
KeyError: 'x'
"""


def test_a_failed_result_is_an_error() -> None:
    story = Story()
    call = story.calls("Read", {"file_path": "/w/demo/none.py"})
    result = story.gets(call, "File does not exist.", ok=False)
    [error] = story.signals("error")
    assert (error.source, error.tool, error.sample, error.exit_code) == ("result", "read", "File does not exist.", None)
    assert [e.event_id for e in error.evidence] == [result.event_id, "e0"]


def test_a_non_zero_exit_is_an_error() -> None:
    story = Story()
    story.runs("make build", "cc: error: no input files", exit_code=2)
    [error] = story.signals("error")
    assert (error.source, error.exit_code, error.sample) == ("exit", 2, "cc: error: no input files")


def test_a_non_zero_exit_is_an_error_where_the_agent_does_not_say_how_it_went() -> None:
    story = Story()
    story.gets(story.calls("Bash", {"command": "make"}), "make: *** No targets.", ok=None, exit_code=2)
    assert [e.source for e in story.signals("error")] == ["exit"]


def test_an_error_of_the_api_is_an_error() -> None:
    story = Story()
    story.notes("api_error", "kind: rate_limit\nmessage: Rate limit exceeded")
    [error] = story.signals("error")
    assert (error.source, error.tool, error.sample) == ("api", "", "Rate limit exceeded")


def test_an_error_of_the_api_that_an_agent_only_prints_is_an_error() -> None:
    story = Story()
    story.notes("notice", "Model: m-1\nlitellm.BadRequestError: unexpected value in the request")
    assert [e.sample for e in story.signals("error")] == ["litellm.BadRequestError: unexpected value in the request"]


def test_a_notice_that_tells_of_no_failure_is_no_error() -> None:
    story = Story()
    story.notes("notice", "Tokens: 5,071 sent, 275 received. Cost: $0.02 request, $0.02 session.\nlimit: 200k")
    assert story.signals("error") == []


def test_a_failed_update_is_an_error_of_its_own_source() -> None:
    story = Story()
    story.edits(ok=False, text="<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>")
    [error] = story.signals("error")
    assert (error.source, error.tool, error.sample) == ("update", "edit", "String to replace not found in file.")


def test_a_denied_permission_is_no_error() -> None:
    story = Story()
    story.edits(ok=False, text="The user doesn't want to proceed with this tool use. The tool use was rejected.")
    assert story.signals("error") == []


def test_a_result_without_a_call_is_an_error_still() -> None:
    story = Story()
    story.gets("nobody", "ModuleNotFoundError: No module named 'x'", ok=False, name="Bash")
    [error] = story.signals("error")
    assert (error.tool, error.sample) == ("shell", "ModuleNotFoundError: No module named 'x'")


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        ("grep -rn needle src", 1),
        ("cd src && rg needle", 1),
        ("cat a | grep -c needle", 1),
        ("diff a b", 1),
        ("cmp a b; diff a b", 1),
        ("[ -f a ] && echo there", 1),
        ("test -d build", 1),
        ("git diff --exit-code", 1),
        ("git --no-pager grep needle", 1),
        ("which golangci-lint", 1),
        ("command -v node", 1),
        ("robocopy a b", 3),
    ],
)
def test_an_exit_that_only_answers_a_question_is_no_error(command: str, exit_code: int) -> None:
    story = Story()
    story.runs(command, exit_code=exit_code)
    assert story.signals("error") == []


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        ("grep -rn needle none", 2),
        ("make && grep needle out.txt", 1),
        ("grep needle a && make", 1),
        ("git commit -m grep", 1),
        ("diff a b", 2),
        ("./grep_all.sh", 1),
        ("echo grep; false", 1),
    ],
)
def test_any_other_exit_is_an_error(command: str, exit_code: int) -> None:
    story = Story()
    story.runs(command, exit_code=exit_code)
    assert len(story.signals("error")) == 1


def test_only_known_programs_may_exit_with_an_answer() -> None:
    assert set(EXPECTED_EXITS) >= {"grep", "rg", "diff", "cmp", "test", "["}
    assert all(0 not in codes for codes in EXPECTED_EXITS.values())


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (TRACEBACK, "KeyError: 'x'"),
        ("Exit code 1\n\x1b[31mError: boom\x1b[0m\n  at main (app.js:3:5)", "Error: boom"),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nerror: target not found", "error: target not found"),
        ("src/a.ts(1,2): error TS2345: bad\nsrc/b.ts(3,4): error TS2304: worse", "src/a.ts(1,2): error TS2345: bad"),
        (
            "test x ... FAILED\nthread 'main' panicked at src/lib.rs:3:5:\nboom",
            "thread 'main' panicked at src/lib.rs:3:5:",
        ),
        ("running\nE       assert 1 == 2\nE        +  where 1 = f()", "E       assert 1 == 2"),
        ("compiled, 0 errors\nlinking\nld: symbol not found", "ld: symbol not found"),
        ("--------\nall is quiet\nmore", "all is quiet"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("Exit code 1", ""),
        ("", ""),
    ],
)
def test_the_telling_line_is_chosen(output: str, line: str) -> None:
    assert telling_line(output) == line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("line 12: expected 3 got 4", "line 7: expected 30 got 41"),
        ("cannot open /home/a/x/app.py", "cannot open /srv/b/app.py"),
        ("cannot open C:\\Users\\a\\app.py", "cannot open D:\\b\\app.py"),
        ("no attribute 'size' on 0x7f3a", "no attribute 'length' on 0xdead10"),
        (
            "request req_011CQabcdef failed at 2026-08-01T09:00:00Z",
            "request req_022XYabcdef failed at 2026-09-02T10:11:12Z",
        ),
        ("commit 3f2a9bc is not signed", "commit 0011aa22bb33 is not signed"),
        ("\x1b[31merror\x1b[0m at 09:00:01", "error at 10:11"),
        (
            "session 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is gone",
            "session 6fa459ea-ee8a-3ca4-894e-db77e160355e is gone",
        ),
        ("timeout after 30s", "timeout after 60s"),
    ],
)
def test_errors_that_differ_only_in_details_have_one_fingerprint(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    assert fingerprint_of(one) == fingerprint_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cannot open /a/app.py", "cannot open /a/main.py"),
        ("KeyError: 'x'", "ValueError: 'x'"),
        ("the user doesn't exist, and the group isn't there", "the group doesn't exist, and the user isn't there"),
    ],
)
def test_different_errors_have_different_fingerprints(one: str, other: str) -> None:
    assert fingerprint_of(one) != fingerprint_of(other)


@given(st.text(alphabet=string.printable, max_size=500))
def test_any_line_has_a_fingerprint_and_a_short_sample(line: str) -> None:
    assert len(fingerprint_of(line)) == 16
    assert len(sample_of(line)) <= SAMPLE_CHARS
    assert "\n" not in sample_of(line)


@given(st.text(max_size=400))
def test_the_telling_line_stands_in_the_output(output: str) -> None:
    line = telling_line(output)
    assert "\n" not in line
    assert line == "" or "<" in output or "\x1b" in output or line in output


@pytest.mark.parametrize(
    "unit", ["(" * 3000, "'" * 3000, "a/" * 3000, "E " * 3000, "\x1b[" * 3000, "error " * 3000, "=" * 9000]
)
def test_hostile_output_is_read_in_bounded_time(unit: str) -> None:
    line = telling_line("x\n" + unit * 40)
    assert len(normalised(line)) <= 3 * len(line) + 20


@pytest.mark.parametrize(
    "text",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit).",
        "Command execution rejected by user",
        "Claude requested permissions to use WebSearch, but you haven't granted it yet.",
        "Permission for this action has been denied. Reason: no",
    ],
)
def test_a_denial_is_told_by_its_words(text: str) -> None:
    assert is_denial(text)


@pytest.mark.parametrize(
    "text", ["[Operation Cancelled] Reason: User cancelled the operation.", "sleeping\n\n\nCommand aborted"]
)
def test_an_interruption_is_told_by_its_words(text: str) -> None:
    assert is_interruption(text)


@pytest.mark.parametrize(
    "text", ["bash: /etc/shadow: Permission denied", "error: permission denied by the server (publickey)"]
)
def test_a_denial_by_the_machine_is_none(text: str) -> None:
    assert not is_interruption(text)
    assert not is_denial(text)
