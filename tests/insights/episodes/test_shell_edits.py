"""Files that a shell script writes are told from its text; what only looks like it is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.commands import simple_commands
from recollect.insights.episodes.shell_edits import MAX_CHARS, MAX_EDITS, edits_of_script, folder_of
from recollect.model.payloads import ToolCall

PATCH = """apply_patch <<'EOF'
*** Begin Patch
*** Update File: src/app.py
@@ def main
-old
+new
+newer
*** Add File: src/new.py
+first
*** Delete File: src/gone.py
*** Update File: src/here.py
*** Move to: src/there.py
@@
-a
+b
*** End Patch
EOF"""


@pytest.mark.parametrize(
    ("script", "edits"),
    [
        ("sed -i 's/a>b/c/' x.py", [("modify", "x.py")]),
        ("sed -i '' -e 's/a/b/' a.ts b.ts", [("modify", "a.ts"), ("modify", "b.ts")]),
        ("sed -i.bak 's/a/b/' a.ts", [("modify", "a.ts")]),
        ("sed -Ei 's/a/b/' a.ts", [("modify", "a.ts")]),
        ("perl -pi -e 's/a/b/' q.c r.c", [("modify", "q.c"), ("modify", "r.c")]),
        ("cat > f/g.py <<'EOF'\nhello > x\nEOF\n", [("create", "f/g.py")]),
        ("echo hi >> notes.md 2>&1", [("modify", "notes.md")]),
        ("printf '%s' x >out.txt", [("create", "out.txt")]),
        ("echo a | tee -a one.txt two.txt > /dev/null", [("modify", "one.txt"), ("modify", "two.txt")]),
        ("git mv a.py b.py", [("rename", "a.py")]),
        ("git -C sub mv a.py b.py", [("rename", "sub/a.py")]),
        ("git rm -f old.py", [("delete", "old.py")]),
        ("mv a.py lib/", [("rename", "a.py")]),
        ("cp a.py b.py", [("create", "b.py")]),
        ("rm -f a.py b.py", [("delete", "a.py"), ("delete", "b.py")]),
        ("cd src && echo x > a.py", [("create", "src/a.py")]),
        ("cd src; cd ..; cd lib; echo x > ../a.py", [("create", "a.py")]),
        ("bash -lc 'cd src && echo x > a.py'", [("create", "src/a.py")]),
        ("FOO=1 sudo tee /etc/demo.conf <<< x", [("create", "/etc/demo.conf")]),
        ("if [ -f a ]; then rm a.py; fi", [("delete", "a.py")]),
        ("sed -i s/a/b/ a.py; sed -i s/b/c/ a.py", [("modify", "a.py")]),
        ("echo x > C:\\work\\a.txt", [("create", "C:\\work\\a.txt")]),
        (
            "git apply <<'E'\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/new.py\n+c\nE",
            [("modify", "x.py"), ("create", "new.py")],
        ),
        (
            PATCH,
            [("modify", "src/app.py"), ("create", "src/new.py"), ("delete", "src/gone.py"), ("rename", "src/here.py")],
        ),
    ],
)
def test_edits_are_told_from_a_script(script: str, edits: list[tuple[str, str]]) -> None:
    assert [(e.operation, e.path) for e in edits_of_script(script)] == edits


@pytest.mark.parametrize(
    "script",
    [
        "",
        "grep '>' a.py",
        'grep "a > b" a.py | wc -l',
        "sed -n 's/a/b/p' a.py",
        "ls > /dev/null 2>&1",
        "pytest -q > result.txt",
        "echo x > /tmp/scratch.txt",
        "echo started >> server.log",
        "rm -rf build dist",
        "rm *.pyc",
        'for f in *.py; do sed -i s/a/b/ "$f"; done',
        "cat $(ls) > $OUT",
        "git commit -m 'mv a b > c'",
        "git rm --cached a.py",
        "# rm a.py",
        "rm .git/index.lock",
        "cat 'open quote > a.py",
        "diff <(cat a) <(cat b)",
        "echo 'sed -i s/a/b/ c.py'",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF",
        "git apply <<'EOF'\nno diff\nEOF",
        "patch -p1 <<'EOF'\n--- a/x.py\nEOF",
        "apply_patch",
    ],
)
def test_what_only_looks_like_an_edit_is_none(script: str) -> None:
    assert edits_of_script(script) == []


def test_scratch_files_count_where_the_work_is_done_in_a_scratch_folder() -> None:
    assert [e.path for e in edits_of_script("echo x > /tmp/demo/a.py", "/tmp/demo")] == ["/tmp/demo/a.py"]
    assert edits_of_script("echo x > /tmp/else.py", "/tmp/demo") == []


def test_texts_of_documents_and_patches_are_the_lines_of_their_edits() -> None:
    (written,) = edits_of_script("cat > a.py <<EOF\none\ntwo\nEOF")
    assert (written.lines.added, written.lines.removed) == (("one", "two"), None)
    (appended,) = edits_of_script("cat >> a.py <<EOF\nthree\nEOF")
    assert (appended.lines.added, appended.lines.removed) == (("three",), ())
    patched = {e.path: e.lines for e in edits_of_script(PATCH)}
    assert patched["src/app.py"] == (("new", "newer"), ("old",))
    assert patched["src/gone.py"] == ((), None)


def test_the_second_document_belongs_to_the_second_command() -> None:
    first, second = simple_commands("cat <<A > a\n1\nA\ncat <<'B' > b\n2\nB")
    assert (first.document, second.document) == ("1", "2")
    assert (first.outputs[0].path, second.outputs[0].path) == ("a", "b")


def test_a_folder_of_the_call_is_read() -> None:
    assert folder_of(ToolCall(arguments={"command": "ls", "workdir": "/w"})) == "/w"
    assert folder_of(ToolCall(arguments=["ls"])) == ""


@given(st.text(alphabet="ab ><|&;()'\"\\\n$<<EOF-{}#*/.", max_size=300))
def test_any_script_is_read_to_some_end(script: str) -> None:
    for edit in edits_of_script(script):
        assert edit.path
        assert "\n" not in edit.path
    assert all(isinstance(word, str) for step in simple_commands(script) for word in step.words)


_PIECES = (
    "apply_patch", "git apply", "git mv", "patch", "sed -i", "perl -pi -e", "tee -a", "cat", "cp", "mv", "rm", "cd",
    "bash -c", "<<EOF", "EOF", "*** Update File: a.py", "*** Add File: ", "*** Begin Patch", "--- a/x", "@@",
    "+++ /dev/null", "-old", "+new", ">", ">>", "|", ";", "--", "-i", "-r", "''", "'", '"', "a.py", "/", "../b", "",
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(_PIECES), st.sampled_from((" ", "\n"))), max_size=30))
def test_any_script_of_writing_commands_is_read_to_some_end(pieces: list[tuple[str, str]]) -> None:
    for edit in edits_of_script("".join(word + blank for word, blank in pieces)):
        assert edit.path


def test_hostile_scripts_are_bounded() -> None:
    assert len(edits_of_script("echo x > a;" * 10_000)) == 1
    assert len(edits_of_script("\n".join(f"echo x > f{i}.txt" for i in range(5_000)))) == MAX_EDITS
    for script in ("'" * MAX_CHARS, "<<A" * 20_000, "(" * MAX_CHARS, '"\\' * MAX_CHARS, "> " * MAX_CHARS, "a" * 10**6):
        assert len(edits_of_script(f"rm {script}")) <= 1
