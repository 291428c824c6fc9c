"""What Recollect gave to an agent never becomes a memory: it is kept, shown, and not found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.model.own import BLOCK_TAG
from tests.ingest.conftest import World

FACT = "the zebrafish migration runs before the quokka index"
BLOCK = f"<{BLOCK_TAG}>\nQuoted history.\n- 2026-08-01 claude: {FACT} (claude:a#1)\n</{BLOCK_TAG}>"
ANSWER = f"claude:a#1 user_message 2026-08-01\n{FACT}"


def found(memory: Memory, query: str) -> list[str]:
    """The sessions and seqs that a search finds."""
    return [f"{hit.session_uid}#{hit.seq}" for hit in memory.search(query, limit=50, sync=False).hits]


def test_recalled_text_given_back_ten_times_neither_grows_nor_outranks_the_original(world: World) -> None:
    original = world.claude("original")
    original.user(FACT)
    original.assistant("noted")
    for number in range(10):
        later = world.claude(f"later-{number}")
        later.user(f"{BLOCK}\nplease go on with chapter {number}")
        later.tool("mcp__recollect__search", {"query": "zebrafish quokka"}, ANSWER)
        later.tool("Bash", {"command": "recollect search 'zebrafish migration' --limit 3"}, ANSWER)
        later.assistant("done")
    world.memory.sync()
    assert found(world.memory, "zebrafish quokka") == [f"{original.uid}#{_seq_of(world.memory, original.uid, FACT)}"]
    assert len(found(world.memory, "chapter")) == 10


def _seq_of(memory: Memory, uid: str, text: str) -> int:
    return next(e.seq for e in memory.events(uid) if getattr(e.payload, "text", "") == text)


def test_what_is_our_own_is_kept_and_shown(world: World) -> None:
    session = world.claude()
    session.user("what was it again?")
    session.tool("mcp__recollect__search", {"query": "zebrafish"}, ANSWER)
    world.memory.sync()
    results = [e for e in world.memory.events(session.uid) if e.kind == "tool_result"]
    assert [e.payload.text for e in results] == [ANSWER]  # type: ignore[union-attr]
    assert world.memory.session(session.uid).kind_counts["tool_call"] == 1


def test_a_result_that_comes_with_a_later_sync_is_joined_to_its_call(world: World) -> None:
    session = world.claude()
    session.user("look it up")
    session.tool("mcp__recollect__open", {"citation": "claude:a#1"}, ANSWER)
    whole = session.path.read_bytes().splitlines(keepends=True)
    session.path.write_bytes(b"".join(whole[:-1]))
    world.memory.sync()
    session.path.write_bytes(b"".join(whole))
    world.memory.sync()
    assert found(world.memory, "zebrafish") == []


def test_the_same_call_id_used_again_by_another_tool_is_not_ours(world: World) -> None:
    session = world.claude()
    session.user("look it up")
    for name, text in (("mcp__recollect__search", ANSWER), ("Read", "a file about wombats")):
        call = {"type": "tool_use", "id": "call_0", "name": name, "input": {"file_path": "x"}}
        session._message("assistant", {"role": "assistant", "id": f"m{name}", "model": "m", "content": [call]}, {})
        block = {"type": "tool_result", "tool_use_id": "call_0", "content": text}
        session._message("user", {"role": "user", "content": [block]}, {})
    world.memory.sync()
    assert found(world.memory, "zebrafish") == []
    assert len(found(world.memory, "wombats")) == 1


def test_a_prompt_is_known_by_the_persons_words_and_not_by_the_block_before_them(world: World) -> None:
    session = world.claude()
    session.user(f"{BLOCK}\nfix the wombat counter")
    session.assistant("ok")
    world.memory.sync()
    known = world.memory.session(session.uid)
    assert known.title == "fix the wombat counter"
    first = next(e for e in world.memory.events(session.uid) if e.kind == "user_message")
    assert (first.summary, first.payload.text.startswith("<")) == ("fix the wombat counter", True)  # type: ignore[union-attr]


def test_a_message_that_is_a_block_alone_is_nobodys_turn(world: World) -> None:
    session = world.claude()
    session.user(BLOCK)
    session.user("count the wombats")
    world.memory.sync()
    known = world.memory.session(session.uid)
    assert (known.turn_count, known.title) == (1, "count the wombats")


def test_codex_calls_and_results_are_told_by_the_same_rule(world: World) -> None:
    session = world.codex()
    session.turn("look it up", "I will")
    for call_id, name, arguments in (
        ("call_a", "mcp__recollect__search", {"query": "zebrafish"}),
        ("call_b", "shell", {"command": ["bash", "-lc", "recollect search zebrafish"]}),
        ("call_c", "shell", {"command": ["bash", "-lc", "cat wombats.txt"]}),
    ):
        call = {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": call_id}
        session.line("response_item", call)
        text = "wombats are marsupials" if call_id == "call_c" else ANSWER
        session.line("response_item", {"type": "function_call_output", "call_id": call_id, "output": text})
    world.memory.sync()
    assert found(world.memory, "zebrafish") == []
    assert len(found(world.memory, "marsupials")) == 1


def test_a_session_in_the_memorys_own_folder_is_not_remembered(world: World) -> None:
    inside = world.claude("inside", cwd=str(world.memory.home / "work"))
    inside.user("extract the lesson about wombats")
    beside = world.claude("beside", cwd=f"{world.memory.home}-backup")
    beside.user("a note about wombats")
    world.memory.sync()
    assert [uid.partition("#")[0] for uid in found(world.memory, "wombats")] == [beside.uid]
    assert [e.payload.text for e in world.memory.events(inside.uid) if e.kind == "user_message"] == [  # type: ignore[union-attr]
        "extract the lesson about wombats"
    ]


@pytest.mark.parametrize("what", ["index", "all"])
def test_a_rebuild_leaves_the_same_out(world: World, what: str) -> None:
    session = world.claude()
    session.user(f"{BLOCK}\nwhere are the wombats?")
    session.tool("mcp__recollect__search", {"query": "zebrafish"}, ANSWER)
    inside = world.claude("inside", cwd=str(world.memory.home))
    inside.user("zebrafish")
    world.memory.sync()
    world.memory.maintenance.rebuild(what)  # type: ignore[arg-type]
    assert (found(world.memory, "zebrafish"), len(found(world.memory, "wombats"))) == ([], 1)


def test_what_an_older_version_indexed_of_our_own_leaves_the_index_with_the_next_sync(world: World) -> None:
    import apsw

    session = world.claude()
    session.user("where?")
    session.tool("mcp__recollect__search", {"query": "zebrafish"}, ANSWER)
    world.memory.sync()
    world.memory.close()
    db = apsw.Connection(str(world.memory.home / "memory.db"))
    db.execute(f"UPDATE event SET bits = bits & ~{64 << 10}").fetchall()
    db.execute("DELETE FROM own_call").fetchall()
    db.execute("UPDATE source SET parser_version = parser_version & 0xffffffff").fetchall()
    db.close()
    with world.again(Config()) as memory:
        memory.maintenance.rebuild("index")
        assert found(memory, "zebrafish") == []


def test_a_result_that_arrives_in_another_source_before_its_call_leaves_the_index(world: World, tmp_path: Path) -> None:
    """Two files of one session, each with half of it: the one with the result is taken in first."""
    session = world.claude()
    session.user("look it up")
    session.tool("mcp__recollect__search", {"query": "zebrafish"}, ANSWER)
    lines = session.path.read_bytes().splitlines(keepends=True)
    session.path.write_bytes(lines[0] + lines[2])
    world.memory.sync()
    assert len(found(world.memory, "zebrafish")) == 1
    other = session.path.parent.parent / "-w-other" / session.path.name
    other.parent.mkdir()
    other.write_bytes(lines[1])
    world.memory.sync()
    assert found(world.memory, "zebrafish") == []


def test_what_a_hook_put_beside_the_conversation_is_not_found(world: World) -> None:
    session = world.claude()
    session.user("count the wombats")
    attachment = {"type": "hook_additional_context", "content": [BLOCK], "hookName": "SessionStart", "toolUseID": "x"}
    record = {"type": "attachment", "uuid": "a-1", "sessionId": session.session, "attachment": attachment,
              "timestamp": "2026-08-01T09:01:00.000Z", "cwd": "/w/demo"}  # fmt: skip
    session.raw(json.dumps(record).encode() + b"\n")
    world.memory.sync()
    assert any(FACT in json.dumps(str(e.payload)) for e in world.memory.events(session.uid))
    assert found(world.memory, "zebrafish") == []
