"""Test frameworks as data: how each is started and what it prints at the end.

Sources: each framework's own documentation and output. A new one is a new row; nothing else knows a framework's name.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec


class Framework(msgspec.Struct, frozen=True):
    """commands: beginnings of the words of a simple command (wrappers such as `uv run`, `npx` or `python -m` are taken
    off before; a word that ends in "*" is a beginning, one that begins with it stands anywhere). summaries: regular
    expressions of summary lines with the named groups passed, failed, errors, skipped and total; matches are summed
    where `is_summed`, else the last counts. stem: pieces of text without any of which no summary matches. line_stem:
    pieces without any of which a line gives no count, where the summaries are dear to try at every place of an output;
    none: not known. lines: result lines to be counted where no total is printed. failing, passing: what is printed
    where words tell it; failing_stem: pieces without any of which `failing` matches in no line; none: not known.
    marks: what tells the framework by itself. not_running: options with which it only lists or builds."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    summaries: tuple[str, ...] = ()
    stem: tuple[str, ...] = ()
    line_stem: tuple[str, ...] = ()
    lines: tuple[tuple[str, str], ...] = ()
    failing: str = ""
    failing_stem: tuple[str, ...] = ()
    passing: str = ""
    marks: str = ""
    not_running: tuple[str, ...] = ()
    is_summed: bool = False


FRAMEWORKS: tuple[Framework, ...] = (
    Framework(
        "pytest",
        (("pytest",), ("py.test",), ("ptw",), ("pytest-watch",)),
        (
            r"^={0,100} ?(?=[^\n]{0,200}\bin [\d.]+ ?s)(?:[^\n]{0,120}?(?P<failed>\d+) failed)?",
            r"^={0,100} ?(?=[^\n]{0,200}\bin [\d.]+ ?s)(?:[^\n]{0,120}?(?P<passed>\d+) passed)?",
            r"^={0,100} ?(?=[^\n]{0,200}\bin [\d.]+ ?s)(?:[^\n]{0,120}?(?P<errors>\d+) errors?\b)?",
            r"^={0,100} ?(?=[^\n]{0,200}\bin [\d.]+ ?s)(?:[^\n]{0,120}?(?P<skipped>\d+) skipped)?",
        ),
        (" passed", " failed", " error", " skipped", "no tests ran"),
        (" passed", " failed", " error", " skipped"),
        failing=r"^(?:FAILED|ERROR) \S+::|^E {3,}\S|!{3,} Interrupted",
        failing_stem=("FAILED ", "ERROR ", "E   ", "!!! Interrupted"),
        marks=r"^=+ test session starts =+$",
        not_running=("--markers", "--fixtures", "--collect-only", "--co", "--setup-plan"),
    ),
    Framework(
        "unittest",
        (
            ("unittest",),
            ("manage.py", "test"),
            ("./manage.py", "test"),
            ("python*", "manage.py", "test"),
            ("nose2",),
            ("trial",),
        ),
        (
            r"^Ran (?P<total>\d+) tests? in [\d.]+s",
            r"^FAILED \([^)\n]*?failures=(?P<failed>\d+)",
            r"^FAILED \([^)\n]*?errors=(?P<errors>\d+)",
            r"^(?:OK|FAILED) \([^)\n]*?skipped=(?P<skipped>\d+)",
        ),
        ("Ran ",),
        failing=r"^FAILED \(",
        passing=r"^OK\b",
    ),
    Framework(
        "jest",
        (("jest",), ("react-scripts", "test")),
        (
            r"^Tests:[ \t][^\n]{0,200}?(?P<failed>\d+) failed",
            r"^Tests:[ \t][^\n]{0,200}?(?P<passed>\d+) passed",
            r"^Tests:[ \t][^\n]{0,200}?(?P<skipped>\d+) skipped",
            r"^Tests:[ \t][^\n]{0,200}?(?P<total>\d+) total",
        ),
        ("Tests:",),
        failing=r"^Test Suites:[ \t][^\n]{0,200}?\d+ failed",
        not_running=("--listTests", "--showConfig"),
    ),
    Framework(
        "vitest",
        (("vitest",),),
        (
            r"^[ \t]*Tests[ \t]{2,}[^\n]{0,200}?(?P<failed>\d+) failed",
            r"^[ \t]*Tests[ \t]{2,}[^\n]{0,200}?(?P<passed>\d+) passed",
            r"^[ \t]*Tests[ \t]{2,}[^\n]{0,200}?(?P<skipped>\d+) skipped",
            r"^[ \t]*Tests[ \t]{2,}[^\n]{0,200}?\((?P<total>\d+)\)",
        ),
        ("Tests  ",),
        failing=r"^[ \t]*Test Files[ \t]{2,}[^\n]{0,200}?\d+ failed",
    ),
    Framework(
        "mocha",
        (("mocha",), ("_mocha",), ("nyc", "mocha")),
        (
            r"^[ \t]*(?P<passed>\d+) passing\b",
            r"^[ \t]*(?P<failed>\d+) failing\b",
            r"^[ \t]*(?P<skipped>\d+) pending\b",
        ),
        (" passing", " failing"),
    ),
    Framework(
        "node",
        (("node", "--test"), ("tsx", "--test"), ("node", "--import", "*", "--test"), ("borp",)),
        (
            r"^(?:#|ℹ) tests (?P<total>\d+)",
            r"^(?:#|ℹ) pass (?P<passed>\d+)",
            r"^(?:#|ℹ) fail (?P<failed>\d+)",
            r"^(?:#|ℹ) skipped (?P<skipped>\d+)",
        ),
        ("# pass ", "ℹ pass "),
    ),
    Framework(
        "ava",
        (("ava",),),
        (
            r"^[ \t]*(?P<passed>\d+) tests? passed",
            r"^[ \t]*(?P<failed>\d+) tests? failed",
            r"^[ \t]*(?P<skipped>\d+) tests? skipped",
        ),
        (" test",),
    ),
    Framework(
        "go test",
        (("go", "test"), ("gotestsum",), ("ginkgo",), ("richgo", "test")),
        (
            r"^DONE (?P<total>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, (?P<failed>\d+) failures?)?",
            r"^(?:Ran \d+ of (?P<total>\d+) Specs|(?:SUCCESS|FAIL)! -- (?P<passed>\d+) Passed \|"
            r" (?P<failed>\d+) Failed)",
        ),
        ("DONE ", "Specs in", "! -- "),
        lines=(("passed", r"^--- PASS: "), ("failed", r"^--- FAIL: "), ("skipped", r"^--- SKIP: ")),
        failing=r"^(?:FAIL\b|--- FAIL|panic: )",
        passing=r"^(?:ok[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))|PASS$)",
        marks=r"^ok[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))|^--- (?:PASS|FAIL): Test",
        not_running=("-c", "-list"),
    ),
    Framework(
        "cargo",
        (("cargo", "test"), ("cargo", "nextest"), ("cargo", "t"), ("cross", "test"), ("cargo-nextest",)),
        (
            r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored",
            r"^[ \t]*Summary \[[^\]\n]{0,40}\] \d+(?:/\d+)? tests? run: (?P<passed>\d+) passed[^,\n]{0,80}(?:,"
            r" (?P<failed>\d+) failed)?"
            r"(?:, (?P<skipped>\d+) skipped)?",
        ),
        ("test result:", " tests run:", " test run:"),
        failing=r"^error: test failed|^error(?:\[E\d+\])?: ",
        failing_stem=("error: ", "error[E"),
        marks=r"^running \d+ tests?$",
        not_running=("--no-run",),
        is_summed=True,
    ),
    Framework(
        "rspec",
        (("rspec",), ("bin/rspec",), ("rails", "spec"), ("rake", "spec")),
        (
            r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?"
            r"(?:, (?P<errors>\d+) errors? occurred)?",
        ),
        (" example",),
    ),
    Framework(
        "minitest",
        (("rails", "test"), ("bin/rails", "test"), ("rake", "test"), ("ruby", "-Itest"), ("minitest",)),
        (
            r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors"
            r"(?:, (?P<skipped>\d+) skips)?",
        ),
        (" assertions, ",),
    ),
    Framework(
        "maven",
        (
            ("mvn", "test"),
            ("mvn", "verify"),
            ("mvn", "*", "test"),
            ("mvnw", "test"),
            ("mvnw", "verify"),
            ("mvn", "surefire*"),
        ),
        (
            r"^(?:\[\w+\][ \t]*)?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), "
            r"Skipped: (?P<skipped>\d+)",
        ),
        ("Tests run:",),
        failing=r"^\[INFO\] BUILD FAILURE|^\[ERROR\] ",
        passing=r"^\[INFO\] BUILD SUCCESS",
    ),
    Framework(
        "junit",
        (("junit",), ("junit-platform*",), ("java", "-jar", "junit*")),
        (
            r"^\[[ \t]*(?P<passed>\d+) tests successful[ \t]*\]",
            r"^\[[ \t]*(?P<failed>\d+) tests failed[ \t]*\]",
            r"^\[[ \t]*(?P<skipped>\d+) tests skipped[ \t]*\]",
            r"^OK \((?P<passed>\d+) tests?\)",
            r"^Tests run: (?P<total>\d+),[ \t]+Failures: (?P<failed>\d+)$",
        ),
        ("tests successful", "OK (", "Tests run:"),
    ),
    Framework(
        "gradle",
        (
            ("gradle", "test"),
            ("gradlew", "test"),
            ("gradlew", "*test*"),
            ("gradle", "*test*"),
            ("gradlew", "check"),
            ("gradle", "check"),
            ("gradlew", "connected*"),
        ),
        (r"^(?P<total>\d+) tests? completed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?",),
        ("tests completed", "test completed", "BUILD "),
        failing=r"^BUILD FAILED",
        passing=r"^BUILD SUCCESSFUL",
    ),
    Framework(
        "phpunit",
        (
            ("phpunit",),
            ("pest",),
            ("artisan", "test"),
            ("php", "artisan", "test"),
            ("php", "*phpunit*"),
            ("paratest",),
            ("composer", "test"),
        ),
        (
            r"^OK \((?P<passed>\d+) tests?, \d+ assertions?\)",
            r"^Tests: (?P<total>\d+), Assertions: \d+",
            r"^Tests: \d+,[^\n]{0,120}?Failures: (?P<failed>\d+)",
            r"^Tests: \d+,[^\n]{0,120}?Errors: (?P<errors>\d+)",
            r"^Tests: \d+,[^\n]{0,120}?Skipped: (?P<skipped>\d+)",
            r"^[ \t]*Tests:[ \t]{2,}[^\n]{0,80}?(?P<failed>\d+) failed",
            r"^[ \t]*Tests:[ \t]{2,}[^\n]{0,80}?(?P<passed>\d+) passed",
        ),
        ("OK (", "Tests:"),
        failing=r"^(?:FAILURES|ERRORS)!",
    ),
    Framework(
        "dotnet test",
        (("dotnet", "test"), ("dotnet", "vstest"), ("vstest.console",)),
        (
            r"^(?:Passed|Failed)![ \t]+- Failed:[ \t]*(?P<failed>\d+), Passed:[ \t]*(?P<passed>\d+),"
            r" Skipped:[ \t]*(?P<skipped>\d+), "
            r"Total:[ \t]*(?P<total>\d+)",
            r"^[ \t]*(?:Total tests|total): (?P<total>\d+)$",
            r"^[ \t]*(?:Passed|succeeded): (?P<passed>\d+)$",
            r"^[ \t]*(?:Failed|failed): (?P<failed>\d+)$",
            r"^[ \t]*(?:Skipped|skipped): (?P<skipped>\d+)$",
            r"^Test summary: total: (?P<total>\d+), failed: (?P<failed>\d+), succeeded: (?P<passed>\d+),"
            r" skipped: (?P<skipped>\d+)",
        ),
        ("Passed", "Failed", "succeeded", "Total tests"),
        is_summed=True,
    ),
    Framework(
        "ctest",
        (("ctest",), ("cmake", "--build", "*", "--target", "test"), ("ninja", "test"), ("meson", "test")),
        (
            r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)",
            r"^Ok:[ \t]+(?P<passed>\d+)",
            r"^Fail:[ \t]+(?P<failed>\d+)",
            r"^Skipped:[ \t]+(?P<skipped>\d+)",
        ),
        ("tests passed,", "Ok:"),
    ),
    Framework(
        "googletest",
        (),
        (r"^\[[ \t]+PASSED[ \t]+\] (?P<passed>\d+) tests?", r"^\[[ \t]+FAILED[ \t]+\] (?P<failed>\d+) tests?,"),
        ("  PASSED  ]", "  FAILED  ]"),
    ),
    Framework(
        "bats",
        (("bats",),),
        (r"^(?P<total>\d+) tests?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) skipped)?",),
        (" failure",),
        lines=(("passed", r"^ok \d+ (?!.*# skip)"), ("failed", r"^not ok \d+ "), ("skipped", r"^ok \d+ .*# skip")),
    ),
    Framework("tox", (("tox",),), failing=r"^[ \t]*\S+: FAIL|evaluation failed", passing=r"^[ \t]*congratulations :\)"),
    Framework(
        "nox",
        (("nox",),),
        failing=r"^nox > Session \S+ failed|^nox > \* .*: failed",
        passing=r"^nox > Session \S+ was successful",
    ),
    Framework(
        "deno",
        (("deno", "test"), ("deno", "task", "test*")),
        (
            r"^(?:ok|FAILED) \| (?P<passed>\d+) passed[^|\n]{0,60}\| (?P<failed>\d+) failed(?:[^|\n]{0,40}\|"
            r" (?P<skipped>\d+) ignored)?",
        ),
        (" passed",),
    ),
    Framework(
        "bun",
        (("bun", "test"), ("bun", "run", "test*")),
        (r"^[ \t]*(?P<passed>\d+) pass$", r"^[ \t]*(?P<failed>\d+) fail$", r"^[ \t]*(?P<skipped>\d+) skip$"),
        (" pass\n", " fail\n"),
    ),
    Framework(
        "playwright",
        (("playwright", "test"), ("@playwright/test",)),
        (
            r"^[ \t]{2}(?P<passed>\d+) passed\b",
            r"^[ \t]{2}(?P<failed>\d+) failed$",
            r"^[ \t]{2}(?P<skipped>\d+) skipped$",
        ),
        (" passed", " failed"),
    ),
    Framework(
        "cypress",
        (("cypress", "run"),),
        (
            r"^[ \t]*│?[ \t]*Passing:[ \t]+(?P<passed>\d+)",
            r"^[ \t]*│?[ \t]*Failing:[ \t]+(?P<failed>\d+)",
            r"^[ \t]*│?[ \t]*(?:Pending|Skipped):[ \t]+(?P<skipped>\d+)",
            r"^[ \t]*│?[ \t]*Tests:[ \t]+(?P<total>\d+)",
        ),
        ("Passing:", "Failing:"),
    ),
    Framework(
        "swift test",
        (("swift", "test"), ("xcodebuild", "test"), ("xcodebuild", "*", "test")),
        (
            r"^[ \t]*Executed (?P<total>\d+) tests?, with (?:\d+ tests? skipped and )?(?P<failed>\d+) failures?",
            r"^. Test run with (?P<total>\d+) tests?[^\n]{0,60}? failed after [^\n]{0,40} with (?P<failed>\d+) issues?",
            r"^. Test run with (?P<passed>\d+) tests?[^\n]{0,60}? passed",
        ),
        ("Executed ", "Test run with"),
        failing=r"^\*\* TEST FAILED \*\*",
        passing=r"^\*\* TEST SUCCEEDED \*\*",
    ),
    Framework(
        "exunit",
        (("mix", "test"), ("elixir", "-S", "mix", "test")),
        (
            r"^(?:\d+ doctests?, )?(?:\d+ propert(?:y|ies), )?(?P<total>\d+) tests?, (?P<failed>\d+) failures?"
            r"(?:, (?:\d+ excluded, )?(?P<skipped>\d+) skipped)?",
        ),
        (" failure",),
    ),
    Framework(
        "sbt",
        (("sbt", "test"), ("sbt", "*test*"), ("sbt", "*", "test"), ("mill", "*test*")),
        (
            r"^(?:\[\w+\][ \t]*)?Tests: succeeded (?P<passed>\d+), failed (?P<failed>\d+), canceled \d+, ignored"
            r" (?P<skipped>\d+)",
            r"^(?:\[\w+\][ \t]*)?(?:Passed|Failed): Total (?P<total>\d+), Failed (?P<failed>\d+), Errors"
            r" (?P<errors>\d+), Passed (?P<passed>\d+)",
        ),
        ("Tests: succeeded", ": Total "),
    ),
    Framework(
        "dart",
        (("flutter", "test"), ("dart", "test"), ("dart", "run", "test")),
        (
            r"^\d\d:\d\d \+(?P<passed>\d+)(?: ~(?P<skipped>\d+))?(?: -(?P<failed>\d+))?: (?:All tests passed"
            r"|Some tests failed)",
        ),
        ("tests passed!", "tests failed."),
    ),
    Framework(
        "perl",
        (("prove",),),
        (r"^Files=\d+, Tests=(?P<total>\d+),",),
        ("Files=",),
        failing=r"^Result: FAIL",
        passing=r"^Result: PASS|^All tests successful",
    ),
    Framework(
        "zig", (("zig", "test"), ("zig", "build", "test")), (r"^All (?P<passed>\d+) tests passed",), ("tests passed",)
    ),
    Framework(
        "busted",
        (("busted",),),
        (r"^(?P<passed>\d+) success(?:es)? / (?P<failed>\d+) failures? / (?P<errors>\d+) errors?",),
        (" success",),
    ),
    Framework(
        "lein",
        (("lein", "test"), ("clj", "*test*"), ("clojure", "*test*")),
        (r"^(?P<failed>\d+) failures, (?P<errors>\d+) errors\.", r"^Ran (?P<total>\d+) tests containing"),
        (" failures,",),
    ),
    Framework(
        "haskell",
        (("stack", "test"), ("cabal", "test"), ("cabal", "new-test")),
        (r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?",),
        (" example",),
        failing=r"^Test suite \S+: FAIL",
        passing=r"^Test suite \S+: PASS",
    ),
    Framework(
        "bazel",
        (("bazel", "test"), ("bazelisk", "test"), ("buck2", "test"), ("pants", "test")),
        (r"^Executed \d+ out of (?P<total>\d+) tests?:",),
        ("Executed ",),
        failing=r"\bFAILED in |^//\S+[ \t]+FAILED",
        passing=r"tests? pass\.|^//\S+[ \t]+PASSED",
    ),
)


@cache
def summaries_of(framework: Framework) -> tuple[re.Pattern[str], ...]:
    """Return the compiled summaries of a framework."""
    return tuple(re.compile(pattern, re.MULTILINE) for pattern in framework.summaries)
