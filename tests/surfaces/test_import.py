"""`recollect import`, from the file that a user names to what a search finds: exports, archives, and neither."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.capture import unzip
from recollect.capture.containers.export import elements_of, lines_of_element
from recollect.cli.main import run
from recollect.testing.builders import ClaudeTranscript
from tests.examples import IS_THOROUGH

AT = 1_785_574_800
EXPORT_BYTES, MOST_MEMORY = (60_000_000, 450_000_000) if IS_THOROUGH else (24_000_000, 260_000_000)
"""Of any one process, which takes about 160 MB for the smaller export. Its texts as objects would add 100 MB."""
MOST_READING = EXPORT_BYTES // 3
"""Of what reads an export: a few steps of it, a third of the export as a whole."""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)

    def line(self, slug: str) -> Any:
        return self.data["agents"][slug]


Recollect = Callable[..., Outcome]


@pytest.fixture
def recollect(capfd: pytest.CaptureFixture[str]) -> Recollect:
    def call(*argv: object) -> Outcome:
        capfd.readouterr()
        code = run([str(word) for word in argv])
        sys.stdout.flush()
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture
def spool(isolated_home: Path) -> Path:
    """Return the folder in which nothing may stay."""
    return isolated_home / "recollect" / "spool"


def left_in(spool: Path) -> list[Path]:
    return list(spool.rglob("*")) if spool.exists() else []


# Exports


def chatgpt(name: str, *said: str) -> dict[str, Any]:
    """Return a conversation in which user and model speak in turn."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    last = "root"
    for n, words in enumerate(said):
        key = f"{name}-{n}"
        author = {"role": "assistant" if n % 2 else "user", "name": None, "metadata": {}}
        content = {"content_type": "text", "parts": [words]}
        body = {"id": key, "author": author, "create_time": AT + n, "content": content, "recipient": "all"}
        mapping[last]["children"].append(key)
        mapping[key] = {"id": key, "message": body, "parent": last, "children": []}
        last = key
    return {"title": name, "create_time": AT, "mapping": mapping, "current_node": last, "conversation_id": name}


def claudeai(name: str, *said: str) -> dict[str, Any]:
    messages = [
        {
            "uuid": f"{name}-{n}", "sender": "assistant" if n % 2 else "human", "text": words,
            "content": [{"type": "text", "text": words}], "created_at": f"2026-08-01T09:00:{n:02d}Z",
        }
        for n, words in enumerate(said)
    ]  # fmt: skip
    return {"uuid": name, "name": name, "created_at": "2026-08-01T09:00:00Z", "chat_messages": messages}


def slack(*said: str, day: int = 1) -> list[dict[str, Any]]:
    return [
        {"type": "message", "user": "U0AAA1", "text": words, "ts": f"{AT + day * 86400 + n}.000100", "team": "T012AB"}
        for n, words in enumerate(said)
    ]


BESIDE_CHATGPT: dict[str, Any] = {
    "user.json": {"id": "user-1", "email": "somebody@example.org"},
    "message_feedback.json": [{"message_id": "m", "conversation_id": "c", "rating": "thumbsUp"}],
    "shared_conversations.json": [{"id": "s", "conversation_id": "c", "title": "Shared", "is_anonymous": True}],
}
BESIDE_CLAUDE: dict[str, Any] = {
    "users.json": [{"uuid": "u", "full_name": "Example Person", "email_address": "somebody@example.org"}],
    "projects.json": [{"uuid": "p", "name": "Maps", "description": "", "docs": []}],
    "memories.json": [{"conversations_memory": "Likes maps.", "account_uuid": "u"}],
}


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return path


def zipped(path: Path, files: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, str | bytes) else json.dumps(value))
    return path


def found(recollect: Recollect, words: str) -> int:
    """Return how many hits a search has."""
    outcome = recollect("search", words, "--json")
    return len(outcome.data["hits"]) if outcome.code == 0 else 0


class Kind(NamedTuple):
    """An export: whose, how a conversation is written in it, and what lies beside the conversations."""

    slug: str
    conversation: Callable[..., Any]
    beside: dict[str, Any]


KINDS = (Kind("chatgpt", chatgpt, BESIDE_CHATGPT), Kind("claudeai", claudeai, BESIDE_CLAUDE))


@pytest.mark.parametrize("how", ["file", "folder", "archive", "folder in archive"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.slug)
def test_an_export_is_taken_once_and_a_newer_one_adds_only_what_is_new(
    recollect: Recollect, tmp_path: Path, spool: Path, kind: Kind, how: str
):
    slug, conversation, beside = kind

    def export(number: int, *conversations: Any) -> Path:
        files = {**beside, "conversations.json": list(conversations)}
        if how == "file":
            return written(tmp_path / f"{number}" / "conversations.json", files["conversations.json"])
        if how == "folder":
            for name, value in files.items():
                written(tmp_path / f"{number}" / name, value)
            return tmp_path / f"{number}"
        prefix = f"export {number}/" if how == "folder in archive" else ""
        return zipped(tmp_path / f"export-{number}.zip", {prefix + name: value for name, value in files.items()})

    old = [conversation("one", "Where is the aqueduct?", "Near Trier."), conversation("two", "And the amphitheatre?")]
    first = export(1, *old)
    outcome = recollect("import", first, "--json")
    assert outcome.code == 0
    assert outcome.line(slug)["found"] == outcome.line(slug)["sessions"] == 2
    assert [line for line in outcome.data["agents"] if outcome.line(line)["found"]] == [slug]
    assert found(recollect, "aqueduct") == 1

    again = recollect("import", first, "--json")
    assert (again.code, again.line(slug)["events"], again.data["bytes"]) == (0, 0, 0)
    assert again.line(slug)["unchanged"] == 2

    newer = export(2, conversation("one", "Where is the aqueduct?", "Near Trier.", "How long is it?"), old[1])
    added = recollect("import", newer, "--json")
    assert (added.code, added.line(slug)["events"], added.line(slug)["sessions"]) == (0, 1, 1)
    assert found(recollect, "aqueduct") == 1
    assert found(recollect, "how long is it") == 1
    assert left_in(spool) == []
    assert recollect("verify").code == 0


def test_a_newer_export_over_the_old_file_adds_only_what_is_new(recollect: Recollect, tmp_path: Path):
    path = written(tmp_path / "conversations.json", [chatgpt("one", "Where?", "Here.")])
    recollect("import", path)
    written(path, [chatgpt("zero", "Before."), chatgpt("one", "Where?", "Here.", "Thanks.")])
    line = recollect("import", path, "--json").line("chatgpt")
    assert (line["new"], line["changed"]) == (1, 1)
    assert (line["events"], line["replays"]) == (4, 4)


def test_an_older_export_after_a_newer_one_takes_nothing_back(recollect: Recollect, tmp_path: Path):
    path = written(tmp_path / "conversations.json", [chatgpt("one", "Where?", "Here.", "Thanks.")])
    recollect("import", path)
    written(path, [chatgpt("one", "Where?", "Here.")])
    assert recollect("import", path, "--json").line("chatgpt")["events"] == 0
    assert found(recollect, "thanks") == 1


def test_two_archives_of_one_name_are_both_taken(recollect: Recollect, tmp_path: Path, spool: Path):
    paths = []
    for n in (1, 2):
        (tmp_path / f"{n}").mkdir()
        files = {"conversations.json": [chatgpt(f"c{n}", f"Question {n}")]}
        paths.append(zipped(tmp_path / f"{n}" / "export.zip", files))
    assert recollect("import", *paths, "--json").line("chatgpt")["sessions"] == 2
    assert left_in(spool) == []


def test_a_path_that_is_named_twice_or_lies_in_another_is_taken_once(recollect: Recollect, tmp_path: Path):
    path = written(tmp_path / "all" / "conversations.json", [chatgpt("one", "Where?")])
    archive = zipped(tmp_path / "all" / "a.zip", {"conversations.json": [chatgpt("two", "Who?")]})
    line = recollect("import", path, path, tmp_path / "all", archive, archive, "--json").line("chatgpt")
    assert (line["found"], line["sessions"]) == (2, 2)


def test_conversations_in_several_files_and_alone_are_told_by_content(recollect: Recollect, tmp_path: Path):
    written(tmp_path / "conversations-000.json", [chatgpt("one", "Where?")])
    written(tmp_path / "conversations-001.json", {"conversations": [chatgpt("two", "Who?")]})
    written(tmp_path / "saved by hand.json", chatgpt("three", "When?"))
    written(tmp_path / "other.json", [claudeai("four", "What?")])
    outcome = recollect("import", tmp_path, "--json")
    assert {slug: line["sessions"] for slug, line in outcome.data["agents"].items() if line["found"]} == {
        "chatgpt": 3, "claudeai": 1,
    }  # fmt: skip


def test_a_conversation_that_stands_twice_in_a_file_is_stored_once(recollect: Recollect, tmp_path: Path):
    longer = chatgpt("one", "Where?", "Here.", "Thanks.")
    path = written(tmp_path / "c.json", [chatgpt("one", "Where?"), chatgpt("one", "Where?"), longer])
    line = recollect("import", path, "--json").line("chatgpt")
    assert (line["found"], line["sessions"]) == (2, 1)
    assert recollect("import", path, "--json").line("chatgpt")["unchanged"] == 2


def test_a_broken_title_renames_no_conversation(recollect: Recollect, tmp_path: Path):
    text = json.dumps([chatgpt("one", "cut \ud83d", "Here.")])
    path = tmp_path / "conversations.json"
    path.write_text(text, "ascii")
    assert recollect("import", path, "--json").line("chatgpt")["sessions"] == 1
    assert recollect("sessions", "--json").data["sessions"][0]["session_uid"] == "chatgpt:one"
    assert found(recollect, "cut") == 1


def test_an_export_that_is_cut_off_gives_what_is_whole_and_keeps_the_rest(recollect: Recollect, tmp_path: Path):
    whole = json.dumps([chatgpt("one", "Where?", "Here."), chatgpt("two", "The drawbridge?")])
    path = tmp_path / "conversations.json"
    path.write_text(whole[:-40], "utf-8")
    outcome = recollect("import", path, "--json")
    assert (outcome.code, outcome.line("chatgpt")["found"]) == (0, 2)
    assert found(recollect, "drawbridge") == 1
    assert recollect("verify").code == 0


@pytest.mark.parametrize("how", ["folder", "archive", "deeper"])
def test_channels_of_slack_are_sessions_and_a_later_day_adds_its_messages(
    recollect: Recollect, tmp_path: Path, spool: Path, how: str
):
    def export(number: int, days: int) -> Path:
        files: dict[str, Any] = {"users.json": [{"id": "U0AAA1", "real_name": "Example Person"}], "channels.json": []}
        for day in range(1, days + 1):
            files[f"general/2026-08-{day:02d}.json"] = slack(f"Standup {day}", "Done", day=day)
        files["random/2026-08-01.json"] = slack("Lunch", day=1)
        if how == "archive":
            return zipped(tmp_path / f"{number}.zip", files)
        prefix = "exports/of mine/" if how == "deeper" else ""
        for name, value in files.items():
            written(tmp_path / f"{number}" / f"{prefix}{name}", value)
        return tmp_path / f"{number}"

    first = export(1, 1)
    outcome = recollect("import", first, "--json")
    assert (outcome.code, outcome.line("slack")["sessions"]) == (0, 2)
    again = recollect("import", first, "--json")
    assert (again.line("slack")["events"], again.data["bytes"]) == (0, 0)
    added = recollect("import", export(2, 2), "--json").line("slack")
    assert (added["events"], added["sessions"]) == (2, 1)
    assert found(recollect, "standup") == 2
    assert found(recollect, "Example Person") == 0
    assert left_in(spool) == []


def test_one_day_of_a_channel_says_what_to_name(recollect: Recollect, tmp_path: Path):
    path = written(tmp_path / "general" / "2026-08-01.json", slack("Hello"))
    for named in (path, path.parent):
        outcome = recollect("import", named)
        assert outcome.code == 1
        assert "name that folder" in outcome.out


def test_transcripts_of_an_agent_come_in_by_the_same_door(recollect: Recollect, tmp_path: Path, spool: Path):
    session = ClaudeTranscript(tmp_path / "agent", "one")
    session.user("Where is the aqueduct?")
    archive = tmp_path / "transcripts.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.write(session.path, "backup/one.jsonl")
    assert recollect("import", archive, "--json").line("claude")["sessions"] == 1
    again = recollect("import", archive, "--json")
    assert (again.line("claude")["events"], again.data["bytes"]) == (0, 0)
    assert found(recollect, "aqueduct") == 1
    assert left_in(spool) == []


def test_what_the_content_does_not_tell_is_taken_where_the_user_says_whose_it_is(recollect: Recollect, tmp_path: Path):
    bare = {"mapping": chatgpt("one", "Where?")["mapping"]}
    path = written(tmp_path / "saved.json", bare)
    assert recollect("import", path).code == 1
    assert recollect("import", "--as", "chatgpt", path, "--json").line("chatgpt")["sessions"] == 1


# What is neither


def one_line(outcome: Outcome) -> str:
    """Return the line that says what is wrong; a hint may follow it, nothing else may."""
    lines = outcome.err.splitlines()
    assert outcome.out == ""
    assert lines[0].startswith("recollect: ")
    assert all(line.startswith("hint: ") for line in lines[1:])
    assert "Traceback" not in outcome.err
    assert "unexpected" not in outcome.err
    return lines[0]


def test_a_path_that_is_not_there(recollect: Recollect, tmp_path: Path, spool: Path):
    outcome = recollect("import", tmp_path / "missing.zip")
    assert (outcome.code, "does not exist" in one_line(outcome)) == (3, True)
    assert left_in(spool) == []


@pytest.mark.parametrize("argv", [("--min-messages", "-1"), ("--as", "nobody", ".")])
def test_a_request_that_cannot_be(recollect: Recollect, argv: tuple[str, ...]):
    outcome = recollect("import", *argv)
    assert outcome.code == 2
    one_line(outcome)


def test_a_folder_of_something_else(recollect: Recollect, tmp_path: Path, spool: Path):
    written(tmp_path / "here" / "package.json", {"name": "something else"})
    (tmp_path / "here" / "notes.txt").write_text("hello")
    (tmp_path / "here" / "empty.json").write_bytes(b"")
    outcome = recollect("import", tmp_path / "here")
    assert outcome.code == 1
    first, *files = outcome.out.splitlines()
    assert first == f"nothing in {tmp_path / 'here'} belongs to a known agent or export"
    listed = {f"  {tmp_path / 'here' / name}" for name in ("notes.txt", "package.json")}
    empty = f"not taken {tmp_path / 'here' / 'empty.json'}: is empty"
    assert set(files) == {empty, "not taken 2, each belongs to no known agent:", *listed}
    assert left_in(spool) == []


def test_many_files_of_something_else_are_counted(recollect: Recollect, tmp_path: Path):
    for n in range(30):
        written(tmp_path / "here" / f"{n}.json", {"n": n})
    lines = recollect("import", tmp_path / "here").out.splitlines()
    assert lines[1] == "not taken 30, each belongs to no known agent:"
    assert lines[-1] == "  27 more; --json lists them"
    assert len(lines) == 6


def test_an_archive_of_something_else_names_its_files_as_they_are_in_it(recollect: Recollect, tmp_path: Path):
    archive = zipped(tmp_path / "a.zip", {"data/package.json": {"name": "x"}, "picture.png": b"\x89PNG"})
    outcome = recollect("import", archive)
    assert outcome.code == 1
    assert f"not taken {archive}/data/package.json: belongs to no known agent" in outcome.out


def test_an_empty_folder_and_an_empty_archive(recollect: Recollect, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    assert recollect("import", tmp_path / "empty").code == 1
    assert recollect("import", zipped(tmp_path / "empty.zip", {})).code == 1


def bomb(path: Path) -> Path:
    return zipped(path, {"conversations.json": b"[" + b" " * 40_000_000 + b"]"})


def test_a_bomb(recollect: Recollect, tmp_path: Path, spool: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unzip, "MAX_RATIO", 20)
    outcome = recollect("import", bomb(tmp_path / "bomb.zip"))
    assert (outcome.code, "far more than expected" in one_line(outcome)) == (3, True)
    assert left_in(spool) == []


def test_a_bomb_that_states_a_small_size(
    recollect: Recollect, tmp_path: Path, spool: Path, monkeypatch: pytest.MonkeyPatch
):
    path = bomb(tmp_path / "bomb.zip")
    data = path.read_bytes()
    stated = (40_000_002).to_bytes(4, "little")
    assert data.count(stated) == 2
    path.write_bytes(data.replace(stated, (1000).to_bytes(4, "little")))
    monkeypatch.setattr(unzip, "MAX_RATIO", 20)
    outcome = recollect("import", path)
    assert outcome.code == 3
    one_line(outcome)
    assert left_in(spool) == []


@pytest.mark.parametrize(
    "name",
    [
        "../conversations.json",
        "a/../../conversations.json",
        "/conversations.json",
        "..\\conversations.json",
        "C:\\x.json",
    ],
)
def test_an_archive_that_leaves_its_folder(recollect: Recollect, tmp_path: Path, spool: Path, name: str):
    archive = zipped(tmp_path / "a.zip", {"conversations.json": [chatgpt("one", "Where?")], name: []})
    outcome = recollect("import", archive)
    assert (outcome.code, "leaves its folder" in one_line(outcome)) == (3, True)
    assert left_in(spool) == []
    assert not list(spool.parent.parent.rglob("conversations.json"))
    assert recollect("sessions", "--json").data["sessions"] == []


def damaged(path: Path, how: str) -> Path:
    noise = random.Random(7).randbytes(60_000).hex()
    data = bytearray(zipped(path, {"conversations.json": [chatgpt("one", noise)]}).read_bytes())
    if how == "cut off":
        del data[len(data) // 2 :]
    elif how == "overwritten":
        data[5000:20_000] = bytes(15_000)
    else:
        data[6] |= 1  # the flag of an encrypted file, in the file's own head and in the list of files
        data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("how", ["cut off", "overwritten", "encrypted"])
def test_a_damaged_archive(recollect: Recollect, tmp_path: Path, spool: Path, how: str):
    outcome = recollect("import", damaged(tmp_path / "a.zip", how))
    assert (outcome.code, "cannot unpack" in one_line(outcome)) == (3, True)
    assert left_in(spool) == []


def test_a_failure_is_one_object_for_programs(recollect: Recollect, tmp_path: Path):
    outcome = recollect("import", damaged(tmp_path / "a.zip", "cut off"), "--json")
    assert (outcome.code, outcome.data["error"]["code"], outcome.err) == (3, "source_unavailable", "")


def test_a_file_that_cannot_be_read_is_a_failure(recollect: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = written(tmp_path / "conversations.json", [chatgpt("one", "Where?")])

    def refuse(path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("recollect.ingest.sources.read_head", refuse)
    outcome = recollect("import", path)
    assert (outcome.code, "Permission denied" in outcome.out) == (3, True)


def test_what_a_killed_import_left_behind_is_removed_by_the_next(recollect: Recollect, tmp_path: Path, spool: Path):
    written(spool / "import" / "left" / "conversations.json", [chatgpt("left", "Where?")])
    assert recollect("import", zipped(tmp_path / "a.zip", {"conversations.json": [chatgpt("one", "Who?")]})).code == 0
    assert left_in(spool) == []


def test_files_that_macos_hides_in_archives_are_not_looked_at(recollect: Recollect, tmp_path: Path):
    files = {"conversations.json": [chatgpt("one", "Where?")], "__MACOSX/._conversations.json": b"\x00\x05\x16\x07"}
    outcome = recollect("import", zipped(tmp_path / "a.zip", files), "--json")
    assert (outcome.code, outcome.data["untaken"]) == (0, [])


# Size


class Export(NamedTuple):
    path: Path
    conversations: int


@pytest.fixture(scope="module")
def large_export(tmp_path_factory: pytest.TempPathFactory) -> Export:
    """Return an export of many conversations of different lengths."""
    path = tmp_path_factory.mktemp("large") / "conversations.json"
    rng = random.Random(11)
    words = [f"{rng.getrandbits(40):x}" for _ in range(4000)]
    count = size = 0
    with path.open("w", encoding="utf-8") as out:
        out.write("[")
        while size < EXPORT_BYTES:
            turns = [" ".join(rng.choices(words, k=rng.randrange(5, 800))) for _ in range(rng.randrange(2, 60))]
            text = json.dumps(chatgpt(f"c{count}", *turns))
            out.write(("," if count else "") + text)
            size += len(text)
            count += 1
        out.write("]")
    return Export(path, count)


def test_a_large_export_is_read_in_steps(large_export: Export):
    tracemalloc.start()
    try:
        elements = elements_of(str(large_export.path), ("conversation_id",))
        longest = max(elements, key=lambda element: element.length_bytes)
        assert sum(map(len, lines_of_element(str(large_export.path), longest))) > longest.length_bytes
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(elements) == large_export.conversations
    assert most < MOST_READING


MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "recollect", *sys.argv[1:]], capture_output=True, text=True)
sys.stderr.write(done.stderr)
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({"code": done.returncode, "most": most, "report": json.loads(done.stdout)}))
"""
"""Runs the program in a process of its own and tells what the largest of its processes took."""


@pytest.mark.skipif(sys.platform == "win32", reason="the platform does not tell what a process took")
def test_a_large_export_takes_bounded_memory(large_export: Export):
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "import", str(large_export.path), "--json"],
        capture_output=True, text=True, check=True, timeout=280,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["code"] == 0
    assert told["report"]["agents"]["chatgpt"]["sessions"] == large_export.conversations
    assert told["most"] < MOST_MEMORY


def test_short_sessions_are_kept_out_where_that_is_asked_for_and_listed(
    recollect: Recollect, isolated_home: Path
) -> None:
    short, long = (ClaudeTranscript(isolated_home / ".claude", name) for name in ("short", "long"))
    short.user("Where is the amphitheatre?")
    for words in ("Where is the aqueduct?", "And the bridge?"):
        long.user(words)
        long.assistant("Near Trier.")
    dry = recollect("import", "--min-messages", "3", "--dry-run")
    assert dry.code == 0
    assert f"new {long.uid} (4 messages)" in dry.out
    assert f"skipped {short.uid} (1 message): fewer than 3 messages: archived, but not indexed" in dry.out
    assert "1 new, 0 changed, 1 skipped" in dry.out
    assert not (isolated_home / "recollect" / "memory.db").exists()
    done = recollect("import", "--min-messages", "3", "--json")
    assert [(one["session_uid"], one["messages"]) for one in done.data["imported"]] == [(short.uid, 1)]
    assert (found(recollect, "aqueduct"), found(recollect, "amphitheatre")) == (1, 0)
    again = recollect("import", "--min-messages", "3")
    assert again.code == 0
    assert "0 new events" in again.out
    one = recollect("import", "--session", short.uid, "--json")
    assert one.code == 0
    assert found(recollect, "amphitheatre") == 1


@pytest.mark.parametrize("verb", ["sync", "import"])
def test_short_sessions_are_searchable_unless_the_configuration_says_otherwise(
    verb: str, recollect: Recollect, isolated_home: Path
) -> None:
    short = ClaudeTranscript(isolated_home / ".claude", "short")
    short.user("Where is the amphitheatre?")
    assert recollect(verb).code == 0
    assert found(recollect, "amphitheatre") == 1
    (isolated_home / "recollect" / "config.toml").write_text("[ingest]\nmin_messages = 3\n")
    other = ClaudeTranscript(isolated_home / ".claude", "other")
    other.user("Where is the aqueduct?")
    assert recollect(verb).code == 0
    assert (found(recollect, "aqueduct"), found(recollect, "amphitheatre")) == (0, 1)
    other.assistant("Near Trier.")
    other.user("And the bridge?")
    assert recollect(verb).code == 0
    assert (found(recollect, "aqueduct"), found(recollect, "amphitheatre")) == (1, 1)


def test_a_time_that_is_none_and_a_session_that_is_nowhere(recollect: Recollect, isolated_home: Path) -> None:
    ClaudeTranscript(isolated_home / ".claude", "one").user("Where is the aqueduct?")
    assert recollect("import", "--since", "whenever").code == 2
    missing = recollect("import", "--session", "claude:nobody", "--dry-run")
    assert missing.code == 2
    assert "no session called" in missing.err
    ClaudeTranscript(isolated_home / ".claude", "two").user("Where is the viaduct?")
    several = recollect("import", "--session", "claude:", "--dry-run")
    assert (several.code, several.err.splitlines()[-1]) == (2, "hint: write more of it")
    assert "recollect: several sessions begin like 'claude:': " in several.err
    old = recollect("import", "--since", "2026-09-01", "--dry-run", "--json")
    assert [one["state"] for one in old.data["imported"]] == ["skipped", "skipped"]


def test_the_value_of_vs_codes_interactive_sessions_is_read_by_session(recollect: Recollect, tmp_path: Path) -> None:
    def session(name: str) -> dict[str, Any]:
        asked = {"requestId": name, "message": {"text": f"Tell me of {name}."}, "response": [{"value": "A queue."}]}
        return {"version": 3, "sessionId": name, "creationDate": AT * 1000, "requests": [asked]}

    path = tmp_path / "interactive_sessions.json"
    path.write_text(json.dumps([session("kafkette"), session("rabbitlet")], indent=2), "utf-8")
    assert recollect("import", path, "--json").line("vscode")["sessions"] == 2
    (hit,) = recollect("search", "rabbitlet", "--json", "--no-sync").data["hits"]
    assert hit["session_uid"] == "vscode:rabbitlet"
    again = recollect("import", path, "--json").line("vscode")
    assert (again["new"], again["events"]) == (0, 0)
