"""The lines that an edit put in and took out, and when its whole event is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.edit_lines import NOTHING_KNOWN, lines_of, whole_edit
from recollect.insights.episodes import EditGrouper
from recollect.model.payloads import FileEdit
from tests.insights.episodes.stories import Story, lightened


@pytest.mark.parametrize(
    ("edit", "lines"),
    [
        (FileEdit("a", before="x\ny", after="x\nz\nz"), (("z", "z"), ("y",))),
        (FileEdit("a", before="x\ny", after="y\nx"), ((), ())),
        (FileEdit("a", before="", after="x"), (("x",), ())),
        (FileEdit("a", "create", after="x\ny\n"), (("x", "y"), ())),
        (FileEdit("a", after="x"), (("x",), None)),
        (FileEdit("a", "delete"), ((), None)),
        (FileEdit("a", "delete", before="x\ny"), ((), ("x", "y"))),
        (FileEdit("a", "rename", new_path="b"), NOTHING_KNOWN),
        (FileEdit("a"), NOTHING_KNOWN),
        (FileEdit("a", "create", after="[2,345 characters not available: evicted]"), NOTHING_KNOWN),
        (FileEdit("a", diff="--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z"), (("y",), ("x",))),
        (FileEdit("a", diff="@@\n--- old comment\n++ counter"), (("+ counter",), ("-- old comment",))),
        (FileEdit("a", diff="<<<<<<< SEARCH\nx\n=======\ny\nz\n>>>>>>> REPLACE"), (("y", "z"), ("x",))),
        (
            FileEdit("a", diff="  11 same\n+12 def f():\n+13     pass\n-12 def g():"),
            (("def f():", "    pass"), ("def g():",)),
        ),
        (FileEdit("a", diff="+12 monkeys\n-none"), (("12 monkeys",), ("none",))),
    ],
)
def test_lines_are_told_from_what_the_event_says(edit: FileEdit, lines: tuple[object, object]) -> None:
    assert tuple(lines_of(edit)) == tuple(lines)


_TEXTS = st.none() | st.text("ab\n", max_size=40)


@given(
    st.builds(
        FileEdit, st.just("a"), st.sampled_from(["create", "modify", "delete"]), _TEXTS, _TEXTS, st.text("+-@ a\n")
    )
)
def test_what_was_added_and_removed_balances_the_text(edit: FileEdit) -> None:
    added, removed = lines_of(edit)
    if edit.before is not None and edit.after is not None:
        assert added is not None
        assert removed is not None
        assert len(edit.before.splitlines()) + len(added) == len(edit.after.splitlines()) + len(removed)


@given(
    edits=st.lists(
        st.builds(
            FileEdit,
            st.sampled_from(["a.py", "b.py"]),
            st.sampled_from(["create", "modify", "delete", "rename"]),
            _TEXTS,
            _TEXTS,
            st.sampled_from(["", "+a\n-b", "+a\n" * 9]),
        ),
        max_size=6,
    ),
    limit=st.integers(1, 30),
)
def test_light_and_whole_events_give_the_same_episodes(edits: list[FileEdit], limit: int) -> None:
    story = Story()
    story.human("do it")
    story.runs("cat > c.py <<EOF\n" + "x = 1\n" * 5 + "EOF")
    for edit in edits:
        story.happens(edit)
    light = lightened(story.events, limit)
    assert EditGrouper().episodes(light, ()) == EditGrouper().episodes(story.stream(), ())


def test_an_event_that_is_no_edit_has_no_lines() -> None:
    story = Story()
    with pytest.raises(TypeError):
        whole_edit(story.stream(), story.human("hello"))
