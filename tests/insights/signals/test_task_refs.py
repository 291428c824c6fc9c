"""What a session worked on: where it is looked for, and what only looks like it."""

from __future__ import annotations

import pytest

from recollect.errors import ConfigError
from recollect.insights.digests import session_of
from recollect.insights.task_refs import EVIDENCE_CHARS, compile_patterns, task_ref_of
from recollect.model.insights.digests import TaskRef
from tests.insights.signals.stories import Story


def ref_of(story: Story, *patterns: str) -> TaskRef | None:
    stream = story.stream()
    return task_ref_of(stream, session_of(stream.events), patterns or None)


def named(story: Story) -> tuple[str, str] | None:
    found = ref_of(story)
    return (found.ref, found.found_in) if found else None


def everywhere() -> Story:
    story = Story()
    story.starts(cwd="/w/PATH-5/demo", git_branch="feature/BRANCH-1-login")
    story.notes("title", title="TITLE-2: the login")
    story.asks("please do PROMPT-3")
    story.runs("git commit -m 'COMMIT-4: fix'", "[main 1234567] COMMIT-4: fix")
    return story


def test_places_are_looked_at_in_order() -> None:
    story = everywhere()
    assert named(story) == ("BRANCH-1", "branch")
    story.events[0] = everywhere().starts(cwd="/w/PATH-5/demo", git_branch="main")
    assert named(story) == ("TITLE-2", "title")
    del story.events[1]
    assert named(story) == ("PROMPT-3", "first_prompt")
    del story.events[1]
    assert named(story) == ("COMMIT-4", "commit")
    del story.events[1:]
    assert named(story) == ("PATH-5", "path")


def test_an_edited_path_names_a_task() -> None:
    story = Story()
    story.edits("/w/demo/ABC-7/notes.md")
    assert named(story) == ("ABC-7", "path")


@pytest.mark.parametrize(
    ("branch", "ref"),
    [
        ("ABC-123", "ABC-123"),
        ("ABC-123-fix", "ABC-123"),
        ("user/ABC2-1", "ABC2-1"),
        ("gh-42", "#42"),
        ("fix/issue-42-login", "#42"),
        ("issues/42", "#42"),
        ("#42", "#42"),
    ],
)
def test_branches_name_tasks(branch: str, ref: str) -> None:
    story = Story()
    story.starts(git_branch=branch)
    assert named(story) == (ref, "branch")


@pytest.mark.parametrize(
    ("prompt", "ref"),
    [
        ("let's debug - ENT-207 in linear", "ENT-207"),
        ("fixes #12", "#12"),
        ("look at issue #12, please", "#12"),
        ("see (#12)", "#12"),
        ("https://github.com/acme/shop/issues/99", "acme/shop#99"),
        ("review https://github.com/acme/shop/pull/7/files", "acme/shop#7"),
        ("https://gitlab.example.com/acme/shop/-/merge_requests/3", "acme/shop#3"),
        ("GH-8 is back", "#8"),
    ],
)
def test_prompts_name_tasks(prompt: str, ref: str) -> None:
    story = Story()
    story.asks(prompt)
    assert named(story) == (ref, "first_prompt")


@pytest.mark.parametrize(
    "prompt",
    [
        "read it as UTF-8",
        "hash with SHA-256 or MD-5",
        "dates in ISO-8601",
        "as RFC-2119 says",
        "patch CVE-2024-1234",
        "make it #fff or #333",
        "the colour is #123456",
        "#1 do this #2 do that",
        "use GPT-4 for it",
        "PHASE-2 of the plan",
        "in 2024-10 or at A-1",
        "id 3F2504E0-4F89-11D3",
        "version V-2",
        "COVID-19",
        "x86-64",
        "AAA-0",
    ],
)
def test_what_only_looks_like_a_task_is_none(prompt: str) -> None:
    story = Story()
    story.asks(prompt)
    assert named(story) is None


def test_a_false_friend_does_not_hide_the_task_behind_it() -> None:
    story = Story()
    story.asks("encode as UTF-8, that is ABC-9")
    assert named(story) == ("ABC-9", "first_prompt")


def test_only_the_beginning_of_the_first_prompt_is_read() -> None:
    story = Story()
    story.asks("translate this: " + "word " * 200 + "ABC-9")
    story.asks("and ABC-10")
    assert named(story) is None


def test_commits_and_pull_requests_name_tasks() -> None:
    story = Story()
    story.runs("git log --oneline", "1234567 ABC-1: old")
    story.runs("cd x && gh pr create --fill", "https://github.com/acme/shop/pull/70")
    assert named(story) == ("acme/shop#70", "commit")


def test_notes_of_commits_name_tasks() -> None:
    story = Story()
    story.notes("commit", "fix: the login (#77)")
    assert named(story) == ("#77", "commit")


def test_the_evidence_is_the_text_around_it_on_one_line() -> None:
    story = Story()
    story.asks("a " * 100 + "\nplease fix\nABC-9 today " + "b " * 100)
    found = ref_of(story)
    assert found is not None
    assert "fix ABC-9 today" in found.evidence
    assert len(found.evidence) <= EVIDENCE_CHARS


def test_patterns_are_configurable() -> None:
    story = Story()
    story.asks("work on T1234, not ABC-9")
    found = ref_of(story, r"\bT\d{4}\b")
    assert found is not None
    assert found.ref == "T1234"
    found = ref_of(story, r"\bT(?P<number>\d{4})\b")
    assert found is not None
    assert found.ref == "#1234"


def test_own_patterns_add_to_those_that_ship() -> None:
    story = Story()
    story.asks("work on ABC-9")
    found = ref_of(story, r"\bT\d{4}\b")
    assert found is not None
    assert found.ref == "ABC-9"


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("do HELIX-WP-0012-T03 now", "HELIX-WP-0012-T03"),
        ("fix/HELIX-WP-0012-T03-login", "HELIX-WP-0012-T03"),
        ("see XHELIX-WP-12-T3 please", None),
    ],
)
def test_a_task_of_a_work_package_is_named_whole(text: str, ref: str | None) -> None:
    story = Story()
    story.asks(text)
    found = named(story)
    assert found == (None if ref is None else (ref, "first_prompt"))


def test_a_pattern_that_is_no_regular_expression_is_an_error_that_names_it() -> None:
    with pytest.raises(ConfigError, match=r"distill\.task_patterns: .*\(\[") as raised:
        compile_patterns(("([",))
    assert raised.value.key == "distill.task_patterns"
