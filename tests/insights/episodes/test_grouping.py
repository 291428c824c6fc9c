"""One request's edits belong together; another request, place or day begins another episode."""

from __future__ import annotations

import pytest

from recollect.insights.episodes import EditGrouper
from recollect.insights.episodes.groups import MAX_EDITS
from recollect.insights.session_events import SessionEvents
from recollect.model.insights.nodes import Episode
from recollect.model.insights.signals import Signal
from recollect.model.payloads import FileEdit, Lifecycle, ToolCall
from tests.insights.episodes.stories import Story, ran_tests


def episodes_of(story: Story, *signals: Signal) -> list[Episode]:
    return EditGrouper().episodes(story.stream(), signals)


def test_a_session_without_edits_has_no_episode() -> None:
    story = Story()
    story.human("what does this do?")
    story.runs("ls -la")
    story.says("It lists.")
    assert episodes_of(story) == []
    assert EditGrouper().episodes(SessionEvents([]), ()) == []


def test_the_edits_of_one_request_are_one_episode() -> None:
    story = Story()
    story.starts(cwd="/w/shop", repo_root="/w/shop", git_branch="main", git_commit="a1b2c3d")
    story.human("add a cart")
    first = story.edits("/w/shop/cart.py", "class Cart:\n    pass", "")
    story.edits("/w/shop/app.py", "from cart import Cart", "import old")
    (episode,) = episodes_of(story)
    assert episode.paths == ("/w/shop/cart.py", "/w/shop/app.py")
    assert [(e.added, e.removed) for e in episode.edits] == [(2, 0), (1, 1)]
    assert (episode.cwd, episode.repo_root, episode.git_branch, episode.git_commit) == (
        "/w/shop", "/w/shop", "main", "a1b2c3d",
    )  # fmt: skip
    assert episode.location == first.location
    assert (episode.started_at, episode.ended_at) == (first.ts, story.events[-2].ts)
    assert (episode.status, episode.confidence, episode.features) == ("derived", 1.0, {"stated_edits": 1.0})


def test_what_failed_and_what_is_a_checkpoint_is_no_edit() -> None:
    story = Story()
    story.human("change it")
    story.edits("a.py", ok=False)
    story.happens(FileEdit("a.py", "checkpoint", backup="v1"))
    story.happens(FileEdit("", "modify", diff="+x"))
    assert episodes_of(story) == []
    story.edits("b.py", ok=None)
    assert [e.paths for e in episodes_of(story)] == [("b.py",)]


SAME = "<<<<<<< SEARCH\nx = 1\n=======\nx = 1\n>>>>>>> REPLACE\n"
OTHER = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    ("edit", "is_one"),
    [
        (FileEdit("a.py", before="x = 1", after="x = 1"), False),
        (FileEdit("a.py", "create", before="x = 1", after="x = 1"), False),
        (FileEdit("a.py", "create", before="", after=""), True),
        (FileEdit("a.py", before="x\ny", after="y\nx"), True),
        (FileEdit("a.py", "rename", before="x", after="x", new_path="b.py"), True),
        (
            FileEdit("a.py", before="[9 characters not available: gone]", after="[9 characters not available: gone]"),
            True,
        ),
        (FileEdit("a.py", diff="--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x\n+x\n y"), False),
        (FileEdit("a.py", diff="--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x\n y\n+x"), True),
        (FileEdit("a.py", diff="@@ -1,2 +1,3 @@\n x\n lost"), True),
        (FileEdit("a.py", diff=SAME), False),
        (FileEdit("a.py", diff=SAME + OTHER), True),
        (FileEdit("a.py"), True),
    ],
)
def test_an_edit_that_changes_nothing_is_in_no_episode(edit: FileEdit, *, is_one: bool) -> None:
    story = Story()
    story.human("change it")
    story.happens(edit)
    assert len(episodes_of(story)) == is_one


@pytest.mark.parametrize(
    ("reply", "is_one"),
    [
        (f"a.py\n```python\n{SAME}```", False),
        (f"```\nsrc/a.py\n{SAME}```\nand\n```\n{SAME}```", False),
        (f"a.py\n```python\n{SAME}```\n\na.py\n```\n{OTHER}```", True),
        (f"b.py\n```python\n{SAME}```", True),
        (f"a.py\n```python\n{SAME.partition('>')[0]}", True),
        ("nothing of it", True),
    ],
)
def test_a_reply_tells_that_an_edit_without_a_text_of_its_own_changes_nothing(reply: str, *, is_one: bool) -> None:
    story = Story()
    story.human("change it")
    story.says(reply)
    story.happens(FileEdit("src/a.py" if "src" in reply else "a.py"))
    assert len(episodes_of(story)) == is_one


def test_a_reply_tells_nothing_of_the_next_turn() -> None:
    story = Story()
    story.human("change it")
    story.says(f"a.py\n```python\n{SAME}```")
    story.human("again")
    story.happens(FileEdit("a.py"))
    assert len(episodes_of(story)) == 1


def test_the_next_request_begins_another_episode() -> None:
    story = Story()
    story.human("add a cart")
    story.edits("cart.py")
    story.human("now the login page, please")
    story.edits("login.py")
    assert [e.paths for e in episodes_of(story)] == [("cart.py",), ("login.py",)]


def test_a_short_correction_of_the_same_files_goes_on_with_the_episode() -> None:
    story = Story()
    story.human("add a cart")
    story.edits("cart.py")
    story.edits("app.py")
    story.human("no, name it Basket")
    story.edits("cart.py")
    (episode,) = episodes_of(story)
    assert [e.path for e in episode.edits] == ["cart.py", "app.py", "cart.py"]


@pytest.mark.parametrize("why", ["another file too", "long words", "much later", "committed", "two messages"])
def test_what_is_more_than_a_correction_begins_another_episode(why: str) -> None:
    story = Story()
    story.human("add a cart")
    story.edits("cart.py")
    if why == "committed":
        story.runs("git commit -am cart", text="[main 1a2b3c4] cart\n 1 file changed")
    if why == "much later":
        story.minutes(16)
    if why == "two messages":
        story.human("what is a basket?")
        story.says("A cart.")
    story.human("no, name it Basket" + (" because of this and that" * 20 if why == "long words" else ""))
    story.edits("cart.py")
    if why == "another file too":
        story.edits("basket.py")
    assert len(episodes_of(story)) == 2


def test_a_long_pause_and_another_place_split_a_request() -> None:
    story = Story()
    story.starts(cwd="/w/shop", git_branch="main")
    story.human("do all of it")
    story.edits("/w/shop/a.py")
    story.minutes(121)
    story.edits("/w/shop/b.py")
    story.moves(branch="feature")
    story.edits("/w/shop/c.py")
    story.moves(cwd="/w/other")
    story.edits("/w/other/d.py")
    story.moves(cwd="/w/other/sub")
    story.edits("/w/other/sub/e.py")
    found = episodes_of(story)
    assert [len(e.edits) for e in found] == [1, 1, 1, 2]
    assert [(e.cwd, e.git_branch) for e in found] == [
        ("/w/shop", "main"), ("/w/shop", "main"), ("/w/shop", "feature"), ("/w/other", "feature"),
    ]  # fmt: skip


def test_commands_tests_and_commits_up_to_the_end_of_the_turn_belong_to_the_episode() -> None:
    story = Story()
    story.human("fix the sum")
    story.runs("cat sum.py")
    story.edits("sum.py")
    story.runs("ls")
    run = story.runs("pytest -q", text="1 passed")
    story.runs("pip install rich", exit_code=0)
    story.runs("git add -A && git commit -m fix", text="[main (root-commit) 0a1b2c3d] fix\n 1 file changed")
    story.human("thanks, push it")
    story.runs("git push")
    (episode,) = episodes_of(story, ran_tests(run, ok=True))
    assert [c.command for c in episode.commands] == ["pip install rich", "git add -A && git commit -m fix"]
    assert [(t.framework, t.ok, t.evidence.role) for t in episode.tests] == [("pytest", True, "test")]
    assert episode.commits == ("0a1b2c3d",)
    assert (episode.outcome, episode.outcome_reasons) == ("success", ("tests passed after the last edit: pytest",))


def test_a_commit_that_only_an_answer_mentions_is_none() -> None:
    story = Story()
    story.human("fix the sum")
    story.edits("sum.py")
    story.runs("cat notes.txt", text="[main 1a2b3c4] not a commit of ours")
    story.runs("git commit -m x", ok=False, text="[main 2b3c4d5] not made")
    assert episodes_of(story)[0].commits == ()


def test_a_commit_that_the_agent_states_belongs_to_the_episode() -> None:
    story = Story()
    story.human("fix the sum")
    story.edits("sum.py")
    story.happens(Lifecycle("commit", "fix: sum", {"commit": "d0ffbf1"}))
    story.human("now the product")
    story.edits("product.py")
    assert [(e.commits, e.git_commit) for e in episodes_of(story)] == [(("d0ffbf1",), ""), ((), "d0ffbf1")]


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ([("pytest", True, True)], "success"),
        ([("pytest", True, True), ("pytest", False, True)], "fail"),
        ([("pytest", False, True), ("npm run build", True, False)], "fail"),
        ([("npm run build", False, False), ("npm run build", True, False)], "success"),
        ([("cargo clippy", False, False)], "fail"),
        ([("npm install", False, False)], "unknown"),
        ([("pytest", None, True)], "unknown"),
        ([], "unknown"),
    ],
)
def test_the_last_check_after_the_last_edit_decides_how_it_came_out(
    after: list[tuple[str, bool | None, bool]], outcome: str
) -> None:
    story = Story()
    story.human("fix the sum")
    signals = [ran_tests(story.runs("pytest"), ok=False)]
    story.edits("sum.py")
    for command, ok, is_test in after:
        call = story.runs(command, ok=ok)
        if is_test:
            signals.append(ran_tests(call, ok=ok))
    (episode,) = episodes_of(story, *signals)
    assert episode.outcome == outcome
    assert episode.outcome_reasons


def test_edits_by_shell_are_told_from_the_command_and_marked() -> None:
    story = Story()
    story.starts(cwd="/w/shop")
    story.human("rename it")
    call = story.runs("git mv cart.py basket.py && sed -i 's/Cart/Basket/' app.py")
    story.edits("docs.md")
    (episode,) = episodes_of(story)
    assert [(e.path, e.operation, e.evidence.role) for e in episode.edits] == [
        ("cart.py", "rename", "command"), ("app.py", "modify", "command"), ("docs.md", "modify", "edit"),
    ]  # fmt: skip
    assert episode.paths == ("cart.py", "basket.py", "app.py", "docs.md")
    assert episode.features == {"stated_edits": 0.33, "edits_told_from_shell": 0.53}
    assert episode.confidence == 0.86
    assert episode.edits[0].evidence.event_id == call.event_id


def test_a_shell_call_edits_only_where_it_succeeded_and_the_agent_does_not_say_so_itself() -> None:
    story = Story()
    story.human("write it")
    story.runs("echo hi > a.txt", ok=False)
    story.runs("echo hi > b.txt", ok=None, exit_code=1)
    story.happens(ToolCall("open", "Bash", "shell", {"command": "echo hi > c.txt"}))
    patched = story.runs("apply_patch <<'P'\n*** Begin Patch\n*** Add File: d.txt\n+hi\n*** End Patch\nP")
    story.happens(FileEdit("d.txt", "create", after="hi", call_id=getattr(patched.payload, "call_id", "")))
    (episode,) = episodes_of(story)
    assert [(e.path, e.evidence.role) for e in episode.edits] == [("d.txt", "edit")]


def test_edits_without_end_are_cut_into_episodes_of_a_bounded_size() -> None:
    story = Story(timed=False)
    story.human("generate everything")
    for number in range(3 * MAX_EDITS):
        story.happens(FileEdit(f"f{number}.py", "create", after="x"))
    found = episodes_of(story)
    assert [len(e.edits) for e in found] == [MAX_EDITS] * 3
    assert len({e.id for e in found}) == 3


def test_an_episode_keeps_its_id_when_the_session_goes_on() -> None:
    story = Story()
    story.human("add a cart")
    story.edits("cart.py")
    (before,) = episodes_of(story)
    story.edits("app.py")
    story.human("and a login")
    story.edits("login.py")
    assert episodes_of(story)[0].id == before.id


def test_edits_without_a_session_start_times_or_turns_are_still_grouped() -> None:
    story = Story(timed=False)
    story.edits("a.py")
    story.edits("b.py")
    (episode,) = episodes_of(story)
    assert (episode.ts, episode.started_at, episode.cwd, episode.turn_index) == (None, None, "", 0)
    assert episode.paths == ("a.py", "b.py")
