"""The outermost frame: help, exit codes, errors in text and JSON, interruption, a closed pipe."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from recollect.cli import main as frame
from recollect.cli import results
from recollect.cli.commands import config as config_command
from recollect.cli.commands.config import result_types
from recollect.cli.main import group, run
from recollect.cli.results import ResultKind
from recollect.errors import StoreLocked
from recollect.verbs import GROUPS, VERBS, function_name

NAMES = [verb.name for verb in VERBS]
assert result_types(), "which loads every command"
OUTPUTS = {
    f"{one.schema or one.kind} {getattr(one.text, '__name__', one.text)}": one
    for one in results.OUTPUTS
    if one.kind and one.text
}


def failing(error: BaseException) -> click.Command:
    """A verb that fails."""

    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    def command(as_json: bool) -> int:
        raise error

    return command


@pytest.fixture
def fail_with(monkeypatch: pytest.MonkeyPatch) -> Any:
    def plant(error: BaseException) -> None:
        monkeypatch.setattr(config_command, "config", failing(error))

    return plant


def command_of(verb: str) -> click.Command:
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    return command


@pytest.mark.parametrize("verb", VERBS, ids=NAMES)
def test_the_help_table_says_what_the_verb_says(verb: Any) -> None:
    assert (command_of(verb.name).help or "").splitlines()[0] == verb.line


def test_every_command_is_a_verb_and_every_module_has_one(repository: Path) -> None:
    folder = repository / "src" / "recollect" / "cli" / "commands"
    modules = {p.stem for p in folder.glob("*.py")} - {"__init__"}
    assert modules == {verb.module for verb in VERBS}
    for name in modules:
        module = importlib.import_module(f"recollect.cli.commands.{name}")
        commands = {key: value for key, value in vars(module).items() if isinstance(value, click.Command)}
        below = {
            one for value in commands.values() if isinstance(value, click.Group) for one in value.commands.values()
        }
        own = {key for key, value in commands.items() if value not in below}
        assert own == {function_name(verb.name) for verb in VERBS if verb.module == name}


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_what_a_command_gives_is_printed_by_a_function_for_its_type(output: ResultKind) -> None:
    kind = output.kind.rpartition(":")[2].removeprefix("Published")  # of a digest JSON has the form that is promised
    assert output.result_type() is not None
    value = list(inspect.signature(output.printer()).parameters.values())[1]
    assert re.search(rf"\b{kind}\b", value.annotation), value.annotation
    assert ("Sequence[" in value.annotation or "tuple[" in value.annotation) == bool(output.listed)


@pytest.mark.parametrize("name", NAMES)
def test_every_verb_takes_json_and_shows_an_example(name: str) -> None:
    command = command_of(name)
    own = [command] if not isinstance(command, click.Group) else []  # subcommands: see test_groups.py
    assert all("--json" in [opt for param in one.params for opt in param.opts] for one in own)
    assert "Example" in (command.help or "")
    assert f"recollect {name}" in (command.help or "")


def test_the_help_is_grouped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [g for g in GROUPS if f"\n{g}:\n" in shown] == list(GROUPS)
    assert all(verb.line in shown for verb in VERBS)


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "maintain:" in capsys.readouterr().out


def test_the_help_loads_neither_the_engine_nor_the_renderer() -> None:
    heavy = {"msgspec", "rich", "apsw", "tantivy", "numpy", "recollect.memory", "recollect.cli.commands.sessions"}
    code = (
        f"import sys; from recollect.cli.main import run; run(['--help']); sys.exit(bool({heavy} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_without_the_extras_every_command_has_its_help_and_schema() -> None:
    extras = ("distributed", "psycopg", "psycopg_pool", "onnx", "onnxruntime", "tokenizers", "model2vec")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({extras}))\n"
        "from recollect.cli.commands.config import result_types, schema_of\n"
        "from scripts.generate_docs import cli_reference\n"
        "assert all(schema_of(kind) for kind in result_types().values()) and cli_reference()"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_package_itself_loads_the_standard_library_only() -> None:
    code = (
        "import sys; import recollect, recollect.paths; sys.exit(any(m in sys.modules for m in ('msgspec', 'click')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "argv",
    [
        ["frob"],
        ["search"],
        ["search", "x", "--limt", "3"],
        ["sessions", "--limit", "0"],
        ["up", "--once", "--stop"],
        ["show", "a#b"],
    ],
)
def test_a_wrong_request_is_two_lines_on_stderr_and_exit_code_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    first, second = shown.err.splitlines()
    assert first.startswith("recollect: ")
    assert second.startswith("hint: ")


def test_a_misspelt_option_is_no_word_of_the_query(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "x", "--no-snyc"]) == 2
    assert "--no-snyc" in capsys.readouterr().err


def test_an_argument_that_is_written_as_an_option_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--session", "claude:5f0c"]) == 2
    assert "no such option '--session'; write recollect export SESSION\n" in capsys.readouterr().err


def test_with_json_an_error_is_one_object_on_stdout(capsys: pytest.CaptureFixture[str], fail_with: Any) -> None:
    fail_with(StoreLocked("another process is writing", hint="try again"))
    assert run(["config", "--json"]) == 3
    shown = capsys.readouterr()
    assert shown.err == ""
    expected = {"code": "store_locked", "message": "another process is writing", "hint": "try again", "retryable": True}
    assert json.loads(shown.out) == {"error": expected}


def test_an_error_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str], fail_with: Any) -> None:
    fail_with(StoreLocked("\x1b[2Jgone"))
    run(["config"])
    assert "\x1b" not in capsys.readouterr().err


def test_an_interruption_is_one_line_and_130(capsys: pytest.CaptureFixture[str], fail_with: Any) -> None:
    fail_with(KeyboardInterrupt())
    assert run(["config"]) == 130
    assert capsys.readouterr().err == "recollect: interrupted; what is stored stays\n"


def test_a_bug_is_one_line_and_a_log_that_quotes_nothing(
    capsys: pytest.CaptureFixture[str], isolated_home: Path, fail_with: Any
) -> None:
    fail_with(ZeroDivisionError("content of a transcript"))
    assert run(["config"]) == 3
    shown = capsys.readouterr()
    log = isolated_home / "recollect" / "logs" / "failures.log"
    assert shown.err.startswith("recollect: unexpected ZeroDivisionError in test_main.py")
    assert str(log) in shown.err
    assert "raise error" in log.read_text()
    assert "content of a transcript" not in log.read_text() + shown.err


def test_a_bug_is_told_even_where_no_log_can_be_written(
    capsys: pytest.CaptureFixture[str], isolated_home: Path, fail_with: Any
) -> None:
    (isolated_home / "recollect").write_text("a file in its place")
    fail_with(ZeroDivisionError())
    assert run(["config"]) == 3
    assert "please report this" in capsys.readouterr().err


def test_a_log_that_grew_large_is_set_aside(
    isolated_home: Path, fail_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.cli.failures.MAX_LOG_BYTES", 10)
    fail_with(ZeroDivisionError())
    for _ in range(2):
        run(["config"])
    assert sorted(p.name for p in (isolated_home / "recollect" / "logs").iterdir()) == [
        "failures.log",
        "failures.old.log",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is another error there")
@pytest.mark.parametrize("words", [("config", "--reference"), ("agents",)], ids=["plain", "table"])
def test_a_reader_that_has_seen_enough_is_no_failure(words: tuple[str, ...]) -> None:
    program = [sys.executable, "-m", "recollect", *words]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(program, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    from recollect import __version__

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"recollect {__version__}\n"


def test_verbs_are_listed_for_completion_in_the_order_of_the_table() -> None:
    assert group.list_commands(click.Context(group)) == NAMES
    assert frame.INTERRUPTED == 130
