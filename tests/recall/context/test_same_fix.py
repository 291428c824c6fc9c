"""A context, a retrospective and the learnings tell the same fix of a failure."""

from __future__ import annotations

import pytest

from tests.recall.context.conftest import Session, Shop


def replace(session: Session, path: str, before: str, after: str) -> None:
    session.tool("Edit", {"file_path": path, "old_string": before, "new_string": after}, "edited",
                 toolUseResult={"filePath": path, "oldString": before, "newString": after})  # fmt: skip


def told(shop: Shop) -> tuple[str, list[str], list[str]]:
    """What the context says made it pass, the fixes of a retrospective, and what was learned of failures."""
    block = shop.context().text
    retro = shop.memory.retro(since=0, until=4_000_000_000_000_000)
    learned = [one.text for one in shop.memory.learn.learnings() if " failed: " in one.text]
    return block, [fix.what for line in retro.errors for fix in line.fixes], learned


def test_an_edit_that_was_taken_back_fixed_nothing(shop: Shop) -> None:
    session = shop.session("one")
    session.user("Make the test green")
    test, settings = f"{shop.path}/tests/test_manifest.py", f"{shop.path}/tests/conftest.py"
    session.shell("uv run pytest tests/test_manifest.py", "E  assert 3 == 4\n1 failed in 0.1s", fails=True)
    replace(session, test, "3 == 4", "3 == 3")
    replace(session, settings, "n = 3", "n = 4")
    session.user("No, don't bend the test.")
    replace(session, test, "3 == 3", "3 == 4")
    session.shell("uv run pytest tests/test_manifest.py", "1 passed in 0.1s")
    session.assistant("Green.")
    block, fixes, learned = told(shop)
    assert fixes == ["tests/conftest.py"]
    assert "it passed after editing tests/conftest.py [" in block
    assert ["`tests/conftest.py`" in text for text in learned] == [True]
    assert "test_manifest.py`" not in learned[0]


@pytest.mark.parametrize("fix", ["terraform force-unlock -force 8f2", "aws sso login"])
def test_what_a_deployment_was_waiting_for_is_told_by_all(shop: Shop, fix: str) -> None:
    session = shop.session("one")
    session.user("Apply the plan")
    session.shell("terraform apply", "Error: the state is locked, or nobody is signed in", fails=True)
    session.shell(fix, "ok")
    session.shell("terraform apply", "Apply complete! Resources: 1 added")
    session.assistant("Applied.")
    block, fixes, learned = told(shop)
    assert fixes == [fix]
    assert f"`{fix}`" in block
    assert [f"It passed after `{fix}`." in text for text in learned] == [True]
    assert len(shop.memory.learn.learnings()) == 1  # nothing tells an agent to deploy


def test_what_another_tool_of_its_kind_solved_is_no_open_failure(shop: Shop) -> None:
    session = shop.session("one")
    session.user("Add respx")
    session.shell("pip install respx", "error: externally-managed-environment", fails=True)
    session.shell("npm install express", "npm error: no such registry", fails=True)
    session.shell("uv add respx", "Installed 1 package")
    session.assistant("Added.")
    block = shop.context().text
    assert "pip install respx" not in block
    assert "`npm install express` failed" in block


def test_what_a_person_ruled_out_is_no_open_failure(shop: Shop) -> None:
    session = shop.session("one")
    session.user("Add respx")
    session.shell("pip install respx", "error: externally-managed-environment", fails=True)
    session.assistant("pip refuses.")
    shop.memory.sync()
    assert "not seen to pass since:\n- 2026-08-01 `pip install respx` failed" in shop.context().text
    session.user("Never use pip here.")
    session.assistant("Ok.")
    assert "`pip install respx` failed" not in shop.context().text
