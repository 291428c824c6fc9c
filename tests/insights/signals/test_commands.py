"""What a shell command says: its simple commands, what runs them, where output goes, what it is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.commands import READ_CHARS, command_of, program_of, simple_commands, subject_of
from recollect.model.payloads import Json
from tests.insights.signals.stories import Story


def words(command: str) -> list[tuple[str, ...]]:
    return [simple.words for simple in simple_commands(command)]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("ls -la", [("ls", "-la")]),
        ("a && b || c; d | e & f", [("a",), ("b",), ("c",), ("d",), ("e",), ("f",)]),
        ("git commit -m 'a; b' -m \"c && d\"", [("git", "commit", "-m", "a; b", "-m", "c && d")]),
        ("FOO=1 BAR='x y' sudo -E env make -j4", [("make", "-j4")]),
        ("timeout 60 uv run --extra dev pytest -q", [("dev", "pytest", "-q")]),
        ("python3.12 -m pytest -q", [("pytest", "-q")]),
        ("npx jest # the tests; all of them", [("jest",)]),
        ("echo a\\;b", [("echo", "a;b")]),
        ("(cd x; make)", [("cd", "x"), ("make",)]),
        ("cat <<'EOF' > f.txt\nrm -rf /; x\nEOF\nls", [("cat",), ("ls",)]),
        ("cat <<A <<-B\n1\nA\n2\n\tB\nls", [("cat",), ("ls",)]),
        ("cat <<EOF\nnever closed; ls", [("cat",)]),
        ("echo 'never closed; ls", [("echo", "never closed; ls")]),
        ("command -v node", [("command", "-v", "node")]),
        ("", []),
        ("&& ; |", []),
    ],
)
def test_a_line_is_taken_apart(command: str, found: list[tuple[str, ...]]) -> None:
    assert words(command) == found


_PLAIN = "ls uv run pytest && & || | |& ; cd FOO=1 sudo -E timeout 60 python3 -m $x {a} é".split()


@given(st.lists(st.sampled_from([*_PLAIN, " ", "  ", "\t", "\r", "\x0b", "\u00a0"]), max_size=12).map("".join))
def test_a_plain_command_is_read_as_one_with_a_comment_is(command: str) -> None:
    """A comment is read piece by piece, a command without signs of its own at once."""
    assert simple_commands(command) == simple_commands(f"{command} # nothing")


@pytest.mark.parametrize(
    ("command", "to_file"),
    [
        ("make > out.txt", "out.txt"),
        ("make >> out.txt 2>&1", "out.txt"),
        ("make &> out.txt", "out.txt"),
        ("make 2> err.txt", ""),
        ("make 2>&1", ""),
        ("make < in.txt", ""),
        ("make", ""),
    ],
)
def test_where_output_goes_is_seen(command: str, to_file: str) -> None:
    [simple] = simple_commands(command)
    assert (simple.words, simple.to_file) == (("make",), to_file)


def test_what_stands_between_commands_is_kept() -> None:
    joints = [(simple.program, simple.joint) for simple in simple_commands("a && b || c | d; e\nf")]
    assert joints == [("a", "&&"), ("b", "||"), ("c", "|"), ("d", ";"), ("e", ";"), ("f", "")]


@pytest.mark.parametrize(
    ("command", "subject"),
    [
        ("cd /w && git -C x commit -m y", "git commit"),
        ("npm run build -- --x", "npm build"),
        ("python hoge.py", "python hoge.py"),
        ("./gradlew test", "gradlew test"),
        ("export A=1; C:\\tools\\node.exe app.js", "node app.js"),
        ("'C:\\tools\\node.exe' app.js", "node app.js"),
        ("grep -rn x .", "grep"),
        ("cd /w", "cd"),
        ("", ""),
    ],
)
def test_what_a_line_is_about(command: str, subject: str) -> None:
    assert subject_of(simple_commands(command)) == subject


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ({"command": "ls"}, "ls"),
        ({"cmd": ["bash", "-lc", "ls; pwd"]}, "ls; pwd"),
        ({"command": ["ls", "-l"]}, "ls -l"),
        ({"script": "ls"}, "ls"),
        ("ls", "ls"),
        ({"path": "x"}, ""),
        ({"command": 3}, ""),
        (None, ""),
        ([1], ""),
    ],
)
def test_the_command_of_a_call(arguments: Json, command: str) -> None:
    story = Story()
    story.calls("Bash", arguments)
    assert command_of(story.stream(), story.events[0]) == command


def test_programs_have_names_without_folders() -> None:
    assert program_of("/usr/bin/python3") == "python3"
    assert program_of("Git.EXE") == "Git"


@given(st.text(alphabet="ab '\"\\;&|<>()#$`\n\t=-EOF", max_size=200))
def test_any_text_is_taken_apart(command: str) -> None:
    for simple in simple_commands(command):
        assert simple.words or simple.runs_for
        assert simple.joint in ("", "&&", "||", "|", ";")


@pytest.mark.parametrize("unit", ["'", '"', "\\", "(", "a ", "<<E\n", "; ", "&& a ", "#", "a='"])
def test_hostile_commands_are_read_in_bounded_time(unit: str) -> None:
    found = simple_commands(unit * 200_000)
    assert sum(len(simple.words) for simple in found) <= READ_CHARS
