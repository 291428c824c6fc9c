"""Which edit put a line there: told from what the edits hold, or not told at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.memory import parse_file
from recollect.model.events import Event
from recollect.model.payloads import FileEdit, ToolCall
from recollect.recall.blame import MAX_EDITS, Blame, BoundDecision, RecordedEdit, blame, blame_lines
from recollect.testing.builders import CodexRollout
from tests.insights.episodes.stories import Story

DECISION = BoundDecision("decision:1", "use addition", "adopt", 0.7)


class History:
    """The edits of stories, newest first, as a store would give them."""

    def __init__(self, events: Iterable[Event], folder: str = "") -> None:
        self._edits = [RecordedEdit(e, folder) for e in events if isinstance(e.payload, FileEdit | ToolCall)]
        self.asked: list[str] = []

    def edits(self, file_name: str) -> Iterable[RecordedEdit]:
        self.asked.append(file_name)
        return reversed(self._edits)

    def decisions(self, event: Event) -> Sequence[BoundDecision]:
        return (DECISION,) if event.turn_index == 1 else ()


def ask(story: Story, line: str | None, path: str = "src/sum.py", around: Sequence[str] = ()) -> Blame:
    return blame(path, line, History(story.events), around=around)


def test_the_edit_that_added_the_line_is_told_with_its_turn_and_decision() -> None:
    story = Story()
    story.human("fix the sum")
    edit = story.edits("/w/shop/src/sum.py", "    return a + b", "    return a - b")
    story.human("and the docs")
    story.edits("/w/shop/src/sum.py", '    """Add."""')
    story.edits("/w/shop/docs/sum.py", "    return a + b")
    answer = ask(story, "    return a + b  ")
    assert answer.found is not None
    assert (answer.found.event_id, answer.found.turn_index, answer.found.seq) == (edit.event_id, 1, edit.seq)
    assert (answer.found.how, answer.found.path) == ("added", "/w/shop/src/sum.py")
    assert answer.found.decisions == (DECISION,)
    assert answer.looked_at == 2


def test_a_later_edit_that_took_the_line_out_and_put_it_in_again_wins() -> None:
    story = Story()
    story.edits("src/sum.py", "total = 0")
    story.edits("src/sum.py", "", "total = 0")
    again = story.edits("src/sum.py", "total = 0\ncount = 0", "count = 0")
    answer = ask(story, "total = 0")
    assert answer.found is not None
    assert answer.found.event_id == again.event_id


def test_a_line_that_was_removed_later_is_not_proved_by_who_added_it() -> None:
    story = Story()
    story.edits("src/sum.py", "total = 0")
    story.edits("src/sum.py", "", "total = 0")
    answer = ask(story, "total = 0")
    assert answer.found is None
    assert answer.reason == "no proof: a later recorded edit removed this line"


@pytest.mark.parametrize(
    ("later", "reason"),
    [
        (FileEdit("src/sum.py", "delete"), "deleted this file"),
        (FileEdit("src/sum.py", "create", after="other = 1"), "rewrote this file without this line"),
    ],
)
def test_a_file_that_was_deleted_or_written_anew_ends_the_search(later: FileEdit, reason: str) -> None:
    story = Story()
    story.edits("src/sum.py", "total = 0")
    story.happens(later)
    assert reason in ask(story, "total = 0").reason


def test_an_edit_is_called_later_only_where_an_older_one_is_recorded() -> None:
    story = Story()
    story.happens(FileEdit("src/sum.py", "create", after="other = 1"))
    assert "later recorded edit" not in ask(story, "total = 0").reason


def test_nothing_recorded_is_no_proof() -> None:
    story = Story()
    story.edits("src/other.py", "total = 0")
    story.edits("src/mysum.py", "total = 0")
    assert ask(story, "total = 0") == Blame(
        "src/sum.py", "total = 0", None, "no proof: no recorded edit of this file", 0, 0
    )
    assert ask(story, None).reason == "no proof: no recorded edit of this file"


def test_edits_without_content_prove_nothing_and_are_counted() -> None:
    story = Story()
    story.happens(FileEdit("src/sum.py"))
    answer = ask(story, "total = 0")
    assert (answer.found, answer.looked_at, answer.without_content) == (None, 1, 1)
    assert "of 1 of them the content is not recorded" in answer.reason


def test_a_line_that_is_everywhere_is_told_only_by_what_stands_beside_it() -> None:
    story = Story()
    first = story.edits("src/sum.py", "def add():\n    pass\n}")
    story.edits("src/sum.py", "def sub():\n    fail()\n}")
    assert ask(story, "}").found is None
    assert "too common" in ask(story, "}").reason
    answer = ask(story, "}", around=("    pass", "def sub():"))
    assert answer.found is not None
    assert answer.found.event_id == first.event_id


def test_a_file_written_whole_proves_only_that_the_line_was_in_it() -> None:
    story = Story()
    added = story.edits("src/sum.py", "total = 0")
    whole = story.happens(FileEdit("src/sum.py", after="total = 0\ncount = 1"))
    assert getattr(ask(story, "total = 0").found, "event_id", "") == added.event_id
    answer = ask(story, "count = 1")
    assert answer.found is not None
    assert (answer.found.event_id, answer.found.how) == (whole.event_id, "rewritten")


def test_a_renamed_file_is_followed_to_its_old_name() -> None:
    story = Story()
    edit = story.edits("src/plus.py", "total = 0")
    story.happens(FileEdit("src/plus.py", "rename", new_path="src/sum.py"))
    story.edits("src/plus.py", "total = 0")
    story.edits("src/sum.py", "count = 1")
    answer = ask(story, "total = 0")
    assert answer.found is not None
    assert (answer.found.event_id, answer.found.path) == (edit.event_id, "src/plus.py")


def test_an_edit_by_shell_is_evidence_too() -> None:
    story = Story()
    call = story.runs("cat > src/sum.py <<'EOF'\ntotal = 0\nEOF")
    answer = ask(story, "total = 0")
    assert answer.found is not None
    assert (answer.found.event_id, answer.found.how) == (call.event_id, "rewritten")


def test_a_relative_path_belongs_to_the_folder_that_was_in_force() -> None:
    story = Story()
    story.edits("sum.py", "total = 0")
    assert blame("src/sum.py", "total = 0", History(story.events, "/w/shop/src")).found is not None
    assert blame("src/sum.py", "total = 0", History(story.events, "/w/shop/lib")).found is None
    assert blame("src/sum.py", "total = 0", History(story.events)).found is None


def test_without_a_line_the_last_edit_is_told() -> None:
    story = Story()
    story.edits("src/sum.py", "a")
    last = story.edits("src/sum.py", "b")
    answer = ask(story, None)
    assert answer.found is not None
    assert (answer.found.event_id, answer.found.how) == (last.event_id, "last_edit")


def test_endless_edits_are_bounded_and_the_answer_says_so() -> None:
    story = Story(timed=False)
    for number in range(MAX_EDITS + 5):
        story.happens(FileEdit("src/sum.py", diff=f"+line {number}"))
    answer = ask(story, "line 1")
    assert (answer.found, answer.looked_at) == (None, MAX_EDITS)
    assert "only the newest 2,000 were looked at" in answer.reason


def test_renames_in_a_circle_end() -> None:
    story = Story()
    for old, new in [("a.py", "b.py"), ("b.py", "a.py")] * 20:
        story.happens(FileEdit(old, "rename", new_path=new))
    assert ask(story, "total = 0", "a.py").found is None


def test_a_patch_of_a_real_transcript_is_evidence(tmp_path: Path) -> None:
    written = CodexRollout(tmp_path, "sum")
    written.turn("fix it", "ok")
    patch = "*** Begin Patch\n*** Update File: sum.py\n@@\n-    return a - b\n+    return a + b\n*** End Patch"
    call = {"type": "custom_tool_call", "status": "completed", "call_id": "c1", "name": "apply_patch", "input": patch}
    written.line("response_item", call)
    written.line("response_item", {"type": "custom_tool_call_output", "call_id": "c1", "output": "Success."})
    edits = [e for e in parse_file(written.path) if isinstance(e.payload, FileEdit)]
    answer = blame("sum.py", "    return a + b", History(edits, "/w/demo"))
    assert answer.found is not None
    assert answer.found.session_uid == written.uid
    assert blame("sum.py", "    return a - b", History(edits, "/w/demo")).found is None


_LINES = st.sampled_from(["one line", "two lines", "three lines", "}"])


@given(
    edits=st.lists(st.tuples(st.lists(_LINES, max_size=3), st.lists(_LINES, max_size=3)), max_size=8),
    line=_LINES,
)
def test_what_is_proved_was_added_by_that_edit_and_by_no_later_one(
    edits: list[tuple[list[str], list[str]]], line: str
) -> None:
    story = Story()
    for added, removed in edits:
        story.happens(FileEdit("a.py", before="\n".join(removed), after="\n".join(added)))
    answer = ask(story, line, "a.py")
    balance = [added.count(line) - removed.count(line) for added, removed in edits]
    newest = max((i for i, change in enumerate(balance) if change), default=-1)
    if answer.found is not None:
        assert line != "}"
        assert answer.found.seq == newest
        assert balance[newest] > 0
    elif line != "}":
        assert newest == -1 or balance[newest] < 0


def test_a_whole_file_is_told_as_each_line_of_it_alone() -> None:
    story = Story()
    story.human("write it")
    story.edits("src/sum.py", "def total(items):\n    return 0\n")
    story.edits("src/sum.py", "    return sum(items)\n", "    return 0\n")
    story.human("log it")
    story.edits("src/sum.py", "    log(items)\n}\n")
    history = History(story.events)
    lines = ("def total(items):", "    log(items)", "}", "    return sum(items)", "    return 0", "# by hand")
    told = blame_lines("src/sum.py", lines, history)
    assert history.asked == ["sum.py"], "the edits are read once"
    assert told == [
        blame("src/sum.py", line, History(story.events), around=(*lines[max(0, n - 1) : n], *lines[n + 1 : n + 2]))
        for n, line in enumerate(lines)
    ]
    assert [one.found is not None for one in told] == [True, True, True, True, False, False]
