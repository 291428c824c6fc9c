"""Test runs: told by the command and by what is printed."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.commands import simple_commands
from recollect.insights.signals.runs import Framework, counts_in, frameworks, ran_by, says_failed
from tests.insights.signals.stories import Story

BY_NAME = {framework.name: framework for framework in frameworks()}

PRINTED = [
    ("pytest", "===== 2 failed, 10 passed, 1 skipped, 3 errors in 1.23s =====", (10, 2, 3, 1)),
    ("pytest", "10 passed, 4 warnings in 0.10s", (10, None, None, None)),
    ("pytest", "FAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed in 0.02s", (None, 1, None, None)),
    ("unittest", "Ran 12 tests in 0.003s\n\nFAILED (failures=2, errors=1, skipped=3)", (6, 2, 1, 3)),
    ("unittest", "Ran 5 tests in 0.001s\n\nOK", (5, None, None, None)),
    ("jest", "Tests:       1 failed, 2 skipped, 7 passed, 10 total\n", (7, 1, None, 2)),
    ("vitest", "      Tests  2 failed | 20 passed | 1 skipped (23)\n", (20, 2, None, 1)),
    ("mocha", "  12 passing (40ms)\n  2 pending\n  1 failing\n", (12, 1, None, 2)),
    ("node", "ℹ tests 9\nℹ pass 8\nℹ fail 1\nℹ skipped 0\n", (8, 1, None, 0)),
    ("go test", "--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\texample.com/x\t0.1s\n", (1, 1, None, None)),
    ("cargo", "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n"
              "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out", (8, 2, None, 1)),
    ("rspec", "10 examples, 2 failures, 1 pending\n", (7, 2, None, 1)),
    ("minitest", "8 runs, 20 assertions, 1 failures, 0 errors, 2 skips\n", (5, 1, 0, 2)),
    ("maven", "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n"
              "[ERROR] Tests run: 9, Failures: 1, Errors: 2, Skipped: 1\n", (5, 1, 2, 1)),
    ("junit", "[         4 tests successful      ]\n[         1 tests failed          ]\n", (4, 1, None, None)),
    ("gradle", "12 tests completed, 2 failed, 1 skipped\nBUILD FAILED in 3s\n", (9, 2, None, 1)),
    ("phpunit", "Tests: 8, Assertions: 20, Errors: 1, Failures: 2, Skipped: 1.\n", (4, 2, 1, 1)),
    ("phpunit", "OK (4 tests, 9 assertions)\n", (4, None, None, None)),
    ("dotnet test", "Passed!  - Failed:     0, Passed:    12, Skipped:     1, Total:    13, Duration: 1 s - x.dll\n",
     (12, 0, None, 1)),
    ("ctest", "90% tests passed, 1 tests failed out of 10\n", (9, 1, None, None)),
    ("googletest", "[  PASSED  ] 7 tests.\n[  FAILED  ] 2 tests, listed below:\n", (7, 2, None, None)),
    ("bats", "1..3\nok 1 a\nnot ok 2 b\nok 3 c # skip no\n", (1, 1, None, 1)),
    ("deno", "ok | 7 passed | 0 failed | 1 ignored (20ms)\n", (7, 0, None, 1)),
    ("bun", " 5 pass\n 1 fail\nRan 6 tests across 1 files.\n", (5, 1, None, None)),
    ("playwright", "  1 failed\n    [chromium] › a.spec.ts:3:1 › b\n  2 skipped\n  9 passed (5.0s)\n", (9, 1, None, 2)),
    ("cypress", "  │ Tests:        5 │\n  │ Passing:      4 │\n  │ Failing:      1 │\n", (4, 1, None, None)),
    ("swift test", "\t Executed 6 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds\n", (5, 1, None, None)),
    ("exunit", "3 doctests, 20 tests, 2 failures, 1 skipped\n", (17, 2, None, 1)),
    ("sbt", "[info] Tests: succeeded 8, failed 1, canceled 0, ignored 2, pending 0\n", (8, 1, None, 2)),
    ("dart", "00:03 +12 ~1 -2: Some tests failed.\n", (12, 2, None, 1)),
    ("busted", "3 successes / 1 failure / 0 errors / 0 pending : 0.1 seconds\n", (3, 1, 0, None)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "printed", "counts"), PRINTED)
def test_what_a_framework_printed_is_counted(
    name: str, printed: str, counts: tuple[int | None, int | None, int | None, int | None]
) -> None:
    story = Story()
    command = " ".join(word.strip("*") or "x" for word in (*BY_NAME[name].commands, "make test")[0].split())
    story.runs(command, printed, exit_code=1 if counts[1] or counts[2] else 0)
    [run] = story.signals("test_run")
    assert run.framework == name
    assert (run.passed, run.failed, run.errors, run.skipped) == counts
    assert run.ok is not bool(counts[1] or counts[2])


@pytest.mark.parametrize("framework", frameworks(), ids=lambda framework: framework.name)
def test_a_row_of_the_table_is_whole(framework: Framework) -> None:
    assert framework.name
    groups = {name for pattern in framework.summaries for name in re.compile(pattern).groupindex}
    assert groups <= {"passed", "failed", "errors", "skipped", "total"}
    assert bool(framework.summaries) <= bool(framework.stem)
    assert counts_in(framework, "") == {}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pytest -q", "pytest"),
        ("cd api && FOO=1 uv run pytest tests -x 2>&1 | tail -5", "pytest"),
        ("python3.12 -m pytest", "pytest"),
        ("./.venv/bin/python -m pytest tests/a.py::test_b", "pytest"),
        ("poetry run pytest", "pytest"),
        ("python -m unittest discover", "unittest"),
        ("python manage.py test", "unittest"),
        ("npx jest --ci", "jest"),
        ("pnpm exec vitest run", "vitest"),
        ("timeout 60 go test ./... -run TestA", "go test"),
        ("cargo test --workspace", "cargo"),
        ("bundle exec rspec spec/a_spec.rb", "rspec"),
        ("./gradlew :app:testDebug", "gradle"),
        ("mvn -q test", "maven"),
        ("./vendor/bin/phpunit", "phpunit"),
        ("dotnet test x.sln", "dotnet test"),
        ("ctest --output-on-failure", "ctest"),
        ("bats test/", "bats"),
        ("tox -e py311", "tox"),
        ("nox -s tests", "nox"),
        ("deno test", "deno"),
        ("bun test", "bun"),
        ("npx playwright test", "playwright"),
        ("npx cypress run", "cypress"),
        ("swift test", "swift test"),
        ("mix test", "exunit"),
        ("sbt test", "sbt"),
        ("npm test", None),
        ("npm run test:unit -- --watch=false", None),
        ("yarn test", None),
        ("make test", None),
        ("mise run test:ci 2>&1", None),
        ("just test", None),
        ("bash run_tests.sh", None),
        ("./scripts/test.sh", None),
    ],
)
def test_a_command_that_runs_tests_is_known(command: str, name: str | None) -> None:
    ran = ran_by(simple_commands(command))
    assert ran is not None
    assert (ran[0].name if ran[0] else None) == name


@pytest.mark.parametrize(
    "command",
    [
        "cat tests/test_a.py",
        "grep -rn pytest .",
        "git add tests/test_a.py && git commit -m 'add pytest'",
        "echo 'run pytest'",
        "pip install pytest",
        "ls tests",
        "pytest --version",
        "pytest --collect-only",
        "go test -c ./x",
        "cargo build",
        "npm install jest",
        "vim test.sh",
        "python -c 'import pytest'",
        "cat <<'EOF' > run.sh\npytest\nEOF",
        "make testdata",
    ],
)
def test_a_command_that_only_names_tests_is_no_run(command: str) -> None:
    story = Story()
    story.runs(command, "1 passed in 0.1s")
    assert story.signals("test_run") == []


def test_a_task_is_told_by_what_it_prints() -> None:
    story = Story()
    story.runs("make test", "go test ./...\nok  \texample.com/a\t0.012s\nok  \texample.com/b\t(cached)\n", exit_code=0)
    [run] = story.signals("test_run")
    assert (run.framework, run.ok, run.passed) == ("go test", True, None)


def test_output_that_is_cut_gives_no_counts_of_lines() -> None:
    story = Story()
    story.runs("go test -v ./... 2>&1 | tail -3", "--- PASS: TestZ (0.00s)\nPASS\nok  \texample.com/a\t0.012s\n")
    [run] = story.signals("test_run")
    assert (run.framework, run.passed, run.ok) == ("go test", None, True)


def test_output_in_a_file_gives_no_counts() -> None:
    story = Story()
    story.runs("pytest -q > out.txt 2>&1", "1 passed in 0.1s", exit_code=1)
    [run] = story.signals("test_run")
    assert (run.passed, run.failed, run.ok) == (None, None, False)


def test_the_end_of_a_pipe_does_not_say_that_tests_passed() -> None:
    story = Story()
    story.runs("npm test 2>&1 | tail -20", "some output that says nothing", exit_code=0)
    assert [run.ok for run in story.signals("test_run")] == [None]


def test_tests_that_could_not_be_started_did_not_run() -> None:
    story = Story()
    story.runs("pytest", "bash: pytest: command not found", exit_code=127)
    assert story.signals("test_run") == []
    assert len(story.signals("error")) == 1


def test_tests_that_were_not_allowed_did_not_run() -> None:
    story = Story()
    story.gets(story.calls("Bash", {"command": "pytest"}), "The tool use was rejected by the user", ok=False)
    story.calls("Bash", {"command": "pytest"})
    assert story.signals("test_run") == []


def test_a_tool_that_runs_tests_needs_no_command() -> None:
    story = Story()
    story.gets(story.calls("runTests", {"files": ["a.test.ts"]}), "Tests:       1 failed, 3 passed, 4 total\n", ok=True)
    [run] = story.signals("test_run")
    assert (run.framework, run.passed, run.failed, run.ok) == ("jest", 3, 1, False)


def test_a_run_cites_its_result_and_its_call() -> None:
    story = Story()
    result = story.runs("pytest", "1 passed in 0.1s")
    [run] = story.signals("test_run")
    assert [(e.event_id, e.role) for e in run.evidence] == [(result.event_id, "test"), ("e0", "command")]
    assert run.command == "pytest"


@pytest.mark.parametrize(
    "unit", ["=", " passed", "Tests: 1 ", "ok ", "1 failed, ", "\n= 1 passed", "(P<", "- Failed: 1, "]
)
def test_hostile_output_is_read_in_bounded_time(unit: str) -> None:
    story = Story()
    every_stem = " ".join(stem for framework in frameworks() for stem in framework.stem)
    for framework in frameworks():
        assert counts_in(framework, every_stem + unit * (60_000 // len(unit)) + every_stem) is not None
    story.runs("make test", every_stem + unit * (400_000 // len(unit)))
    assert len(story.signals("test_run")) == 1


_LINES = [
    *(line for _, printed, _ in PRINTED for line in printed.splitlines()),
    "FAILED tests/a.py::test_b", "ERROR tests/a.py::c", "E   assert 1 == 2", "!!!!! Interrupted: 1 error !!!!!",
    "an ERROR of ours", "error: test failed, to rerun", "error[E0308]: mismatched types", "error", "", "x in 0.1s",
]  # fmt: skip


@given(st.lists(st.sampled_from(_LINES), max_size=8).map("\n".join))
def test_lines_that_are_left_out_beforehand_tell_nothing(printed: str) -> None:
    for framework in frameworks():
        slow = msgspec.structs.replace(framework, line_stem=(), failing_stem=())
        assert counts_in(framework, printed) == counts_in(slow, printed)
        assert says_failed(framework, printed) is says_failed(slow, printed)
