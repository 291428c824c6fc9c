"""A pass over a folder brings its collection in step: nothing doubled, nothing lost, nothing read without need."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.archive.keys import home_keys
from recollect.config import Config
from recollect.config.settings import PrivacyConfig, SecretPatternConfig
from recollect.ingest import collections as taking
from recollect.ingest import documents as refreshing
from recollect.ingest.documents import Bounds, RefreshContext, is_due, refresh_collection
from recollect.ingest.report import CollectionReport
from recollect.model.marker import PRIVATE_MARKER
from recollect.store.documents import Collection, DocumentStore, forget_document, path_mark, place_of
from recollect.store.entries import unpack_part
from recollect.store.home import Home
from tests.examples import tried

KEYS = home_keys(b"k" * 32)
OLD_NS = 1_700_000_000_000_000_000
SECRET = "tok-" + "0123456789abcdef" * 4
TOKENS = SecretPatternConfig(name="token", pattern="tok-[0-9a-f]{64}")


class Desk(NamedTuple):
    """A folder that is a collection, and the memory that has it."""

    folder: Path
    home: Path
    config: Config = Config()

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def run(self, bounds: Bounds = refreshing.ALL, **options: Any) -> CollectionReport:
        desk = RefreshContext(Home(self.home), self.config, KEYS, lambda: 1_800_000_000_000_000, **options)
        with DocumentStore(self.home) as store:
            known = {one.name: one for one in store.collections()}
            if "c" not in known:
                known["c"] = Collection(name="c", folder=str(self.folder), repo="r", added_at=1)
                with store.transaction():
                    store.save_collection(known["c"])
            return refresh_collection(desk, store, known["c"], bounds)

    def found(self) -> dict[str, str]:
        """Return the whole text of every entry, by path."""
        texts: dict[str, str] = {}
        with DocumentStore(self.home, "read") as store:
            rows: Any = store.db.execute(
                "SELECT uid, text FROM entry JOIN entry_part ON entry = number WHERE kind = 'document' ORDER BY 1, part"
            )
            for uid, text in rows:
                path = uid.removeprefix("document:c/")
                texts[path] = texts.get(path, "") + unpack_part(text)
        return texts

    def rows(self) -> dict[str, Any]:
        with DocumentStore(self.home, "read") as store:
            return dict(store.documents("c"))

    def changes(self) -> int:
        """Return how often an entry was written or removed so far."""
        with DocumentStore(self.home, "read") as store:
            return int(store.db.execute("SELECT coalesce(max(id), 0) FROM entry_change").get)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    return Desk(tmp_path / "project", tmp_path / "home")


def test_documents_are_taken_and_the_second_pass_writes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refreshing, "_MOMENT_US", 10**12)  # a look that takes long is written down
    desk.write("README.md", "# Hello\n\nzebra\n")
    desk.write("docs/a.rst", "Title\n=====\n\nokapi\n")
    desk.write("main.py", "quagga = 1\n")
    report = desk.run()
    assert (report.state, report.new, report.parts) == ("done", 2, 2)
    assert desk.found() == {"README.md": "# Hello\n\nzebra\n", "docs/a.rst": "Title\n=====\n\nokapi\n"}
    before, changes = (desk.home / "memory.db").read_bytes(), desk.changes()
    again = desk.run()
    assert (again.unchanged, again.has_changed, again.bytes) == (2, False, 0)
    assert ((desk.home / "memory.db").read_bytes(), desk.changes()) == (before, changes)


def test_a_touched_file_is_read_but_not_written_again(desk: Desk) -> None:
    file = desk.write("a.md", "words\n")
    desk.run()
    changes = desk.changes()
    os.utime(file, ns=(OLD_NS, OLD_NS))
    report = desk.run()
    assert (report.unchanged, report.changed, desk.changes()) == (1, 0, changes)
    assert desk.rows()["a.md"].mtime_ns == OLD_NS


def test_other_bytes_of_the_same_size_and_time_are_noticed(desk: Desk) -> None:
    file = desk.write("a.md", "one\n")
    os.utime(file, ns=(OLD_NS, OLD_NS))
    desk.run()
    file.write_text("two\n")
    os.utime(file, ns=(OLD_NS, OLD_NS))
    assert desk.run().changed == 1
    assert desk.found() == {"a.md": "two\n"}


def test_changed_deleted_and_renamed_files_are_replaced_in_place(desk: Desk) -> None:
    for name in ("keep", "change", "go", "move"):
        desk.write(f"{name}.md", f"# {name}\n")
    desk.run()
    desk.write("change.md", "# changed\n")
    (desk.folder / "go.md").unlink()
    (desk.folder / "sub").mkdir()
    (desk.folder / "move.md").rename(desk.folder / "sub/moved.md")
    report = desk.run()
    assert (report.new, report.changed, report.removed, report.unchanged) == (1, 1, 2, 1)
    assert desk.found() == {"keep.md": "# keep\n", "change.md": "# changed\n", "sub/moved.md": "# move\n"}


def test_secrets_and_private_spans_are_replaced_before_the_text_is_cut(desk: Desk) -> None:
    # The secret stands where a part ends: cut first, neither half of it would be told.
    desk = desk._replace(config=Config(privacy=PrivacyConfig(patterns=(TOKENS,))))
    desk.write("a.md", "w " * 1_990 + SECRET + "\n\n<private>nobody\n\nreads</private> this\n")
    report = desk.run()
    assert (report.redactions, report.parts) == (2, 2)
    text = desk.found()["a.md"]
    assert SECRET not in text
    assert "nobody" not in text
    assert f"{PRIVATE_MARKER} this" in text
    everything = b"".join(path.read_bytes() for path in desk.home.rglob("*") if path.is_file())
    assert SECRET.encode()[:30] not in everything


def test_what_is_no_text_empty_or_too_large_is_listed_with_its_reason(desk: Desk) -> None:
    desk.write("binary.md", b"a\x00b")
    desk.write("latin.txt", b"caf\xe9")
    desk.write("empty.md", " \n")
    desk.write("huge.md", b"x" * (Config().documents.max_file_bytes + 1))
    desk.write("fine.md", "fine\n")
    report = desk.run()
    assert (report.state, report.new, report.listed) == ("done", 1, 4)
    reasons = {left.path: left.reason for left in report.not_taken}
    assert reasons["binary.md"] == "is binary"
    assert reasons["latin.txt"] == "is not UTF-8 text"
    assert reasons["empty.md"] == "is empty"
    assert reasons["huge.md"].startswith("is larger than")
    assert {path: row.state for path, row in desk.rows().items() if row.state != "taken"} == dict.fromkeys(
        reasons, "listed"
    )
    changes = desk.changes()
    assert desk.run().listed == 4
    assert desk.changes() == changes
    desk.write("binary.md", "now it is text\n")
    assert desk.run().new == 1
    desk.write("fine.md", b"\x00")
    assert desk.run().removed == 1
    assert set(desk.found()) == {"binary.md"}


def test_a_larger_limit_takes_what_was_only_listed(desk: Desk) -> None:
    small = desk._replace(config=Config(documents=msgspec.structs.replace(Config().documents, max_file_bytes=1024)))
    desk.write("a.md", "x" * 2000)
    assert small.run().listed == 1
    assert desk.run().new == 1
    assert small.run().removed == 1


def test_a_folder_that_vanished_or_is_empty_loses_nothing(desk: Desk, tmp_path: Path) -> None:
    desk.write("a.md", "words\n")
    desk.run()
    desk.folder.rename(tmp_path / "elsewhere")
    report = desk.run()
    assert (report.state, report.removed) == ("absent", 0)
    desk.folder.mkdir()  # where a volume was
    assert desk.run().state == "absent"
    with DocumentStore(desk.home, "read") as store:
        assert store.collections()[0].absent_since is not None
    assert set(desk.found()) == {"a.md"}
    desk.folder.rmdir()
    (tmp_path / "elsewhere").rename(desk.folder)
    assert desk.run().state == "done"
    with DocumentStore(desk.home, "read") as store:
        assert store.collections()[0].absent_since is None


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="rights do not bind root"
)
def test_what_cannot_be_read_now_stays_as_it_was_by_its_rights(desk: Desk) -> None:
    file = desk.write("a.md", "words\n")
    desk.write("sub/b.md", "more\n")
    desk.run()
    file.write_text("other\n")
    file.chmod(0)
    (desk.folder / "sub").chmod(0)
    report = desk.run()
    (desk.folder / "sub").chmod(0o700)
    assert (report.state, report.failed) == ("failed", 2)
    assert desk.found() == {"a.md": "words\n", "sub/b.md": "more\n"}


def test_what_cannot_be_read_now_stays_as_it_was(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("a.md", "words\n")
    desk.run()
    desk.write("a.md", "others\n")
    read = taking.read_document

    def failing(*arguments: Any, **options: Any) -> Any:
        raise taking_error

    from recollect.errors import SourceUnavailable

    taking_error = SourceUnavailable("cannot be read: Input/output error")
    monkeypatch.setattr(taking, "read_document", failing)
    for _ in range(2):
        report = desk.run()
        assert (report.state, report.failed) == ("failed", 1)
        assert desk.found() == {"a.md": "words\n"}
        assert desk.rows()["a.md"].state == "failed"
    monkeypatch.setattr(taking, "read_document", read)
    assert (desk.run().changed, desk.rows()["a.md"].state) == (1, "taken")
    assert desk.found() == {"a.md": "others\n"}


def test_a_file_that_vanishes_between_the_walk_and_the_read_is_gone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("a.md", "words\n")
    desk.run()
    desk.write("a.md", "others\n")
    read = taking.read_document

    def vanishing(folder: str, relative: str, **options: Any) -> Any:
        os.unlink(os.path.join(folder, relative))
        return read(folder, relative, **options)

    monkeypatch.setattr(taking, "read_document", vanishing)
    assert (desk.run().removed, desk.found()) == (1, {})


def test_other_redaction_rules_take_everything_again(desk: Desk) -> None:
    desk.write("a.md", "our code name is bluebird\n")
    desk.run()
    changes = desk.changes()
    pattern = SecretPatternConfig(name="code-name", pattern="bluebird")
    strict = desk._replace(config=Config(privacy=PrivacyConfig(patterns=(pattern,))))
    assert strict.run().changed == 1
    assert "bluebird" not in strict.found()["a.md"]
    assert strict.changes() > changes
    assert strict.run().unchanged == 1


def test_only_what_changed_is_looked_at(desk: Desk) -> None:
    for path in ("a.md", "sub/b.md", "sub/c.md", "sub0.md"):
        desk.write(path, f"{path}\n")
    desk.run()
    for path in ("a.md", "sub/b.md", "sub0.md"):
        desk.write(path, "changed\n")
    shutil.rmtree(desk.folder / "sub")
    assert desk.run(Bounds(only=["sub"])).removed == 2
    assert desk.found() == {"a.md": "a.md\n", "sub0.md": "sub0.md\n"}
    assert desk.run(Bounds(only=["a.md", "not-there.md"])).changed == 1
    assert desk.found() == {"a.md": "changed\n", "sub0.md": "sub0.md\n"}


def test_a_dry_run_writes_nothing(desk: Desk) -> None:
    desk.write("a.md", "words\n")
    desk.run()
    desk.write("b.md", "words\n")
    (desk.folder / "a.md").unlink()
    changes, rows = desk.changes(), desk.rows()
    report = desk.run(Bounds(is_dry_run=True))
    assert (report.new, report.removed, report.files) == (1, 1, ["b.md"])
    assert (desk.changes(), desk.rows()) == (changes, rows)


def test_a_forgotten_document_is_not_taken_in_again(desk: Desk) -> None:
    desk.write("a.md", "words\n")
    desk.write("b.md", "words\n")
    desk.run()
    with DocumentStore(desk.home) as store:
        place = place_of(store.db, "document:c/a.md")
        assert place == ("c", str(desk.folder), "a.md")
        with store.transaction():
            mark = path_mark(KEYS.forget_key, str(desk.folder / "a.md"))
            assert forget_document(store.db, "document:c/a.md", mark=mark, at=1)
            assert not forget_document(store.db, "document:c/a.md", mark=mark, at=1)
    desk.write("a.md", "other words\n")
    report = desk.run()
    assert (report.kept_out, report.new) == (1, 0)
    assert set(desk.found()) == set(desk.rows()) == {"b.md"}
    with DocumentStore(desk.home) as store, store.transaction():
        store.remove_collection("c")
    assert desk.run().kept_out == 1  # also as a new collection


def test_a_document_that_is_forgotten_during_a_pass_stays_out(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("a.md", "words\n")
    read = taking.read_document

    def forgetting(*arguments: Any, **options: Any) -> Any:
        data = read(*arguments, **options)
        with DocumentStore(desk.home) as store, store.transaction():
            mark = path_mark(KEYS.forget_key, str(desk.folder / "a.md"))
            store.db.execute("INSERT INTO document_kept_out VALUES (?, 1)", (mark,))
        return data

    monkeypatch.setattr(taking, "read_document", forgetting)
    desk.run()
    assert (desk.found(), desk.rows()) == ({}, {})


def test_a_collection_that_is_removed_during_a_pass_does_not_come_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("a.md", "words\n")
    desk.run()
    desk.write("a.md", "others\n")
    read = taking.read_document

    def removing(*arguments: Any, **options: Any) -> Any:
        with DocumentStore(desk.home) as store, store.transaction():
            store.remove_collection("c")
        return read(*arguments, **options)

    monkeypatch.setattr(taking, "read_document", removing)
    desk.run()
    assert desk.found() == {}
    with DocumentStore(desk.home, "read") as store:
        assert store.collections() == []


def test_a_pass_that_is_stopped_removes_nothing_and_the_next_goes_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshing, "_GROUP_FILES", 2)
    for number in range(9):
        desk.write(f"{number}.md", f"{number}\n")
    asked = iter(range(1000))
    report = desk.run(should_stop=lambda: next(asked) >= 5)
    assert (report.state, len(desk.found())) == ("interrupted", report.new)
    assert 0 < report.new < 9
    assert desk.run().new == 9 - report.new
    (desk.folder / "8.md").unlink()
    asked = iter(range(1000))
    assert desk.run(should_stop=lambda: next(asked) >= 5).removed == 0
    assert desk.run().removed == 1


def test_a_bound_leaves_the_rest_for_the_next_pass(desk: Desk) -> None:
    for number in range(4):
        desk.write(f"{number}.md", "x" * 100)
    states = [desk.run(Bounds(max_bytes=250)).state for _ in range(3)]
    assert states == ["partly", "done", "done"]
    assert len(desk.found()) == 4


def test_more_documents_than_are_held_in_memory_are_left_out_and_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshing, "MOST_DOCUMENTS", 3)
    for number in range(5):
        desk.write(f"{number}.md", f"{number}\n")
    report = desk.run()
    assert (report.state, report.new) == ("done", 3)
    assert report.notes == ["left out: 2 files beyond the first 3"]
    desk.write("00.md", "first\n")
    assert desk.run().removed == 1
    assert set(desk.found()) == {"0.md", "00.md", "1.md"}


def test_a_read_looks_seldom_where_a_look_takes_long() -> None:
    quick = Collection(name="c", folder="/c", checked_at=1_000_000_000, check_us=1_000)
    slow = msgspec.structs.replace(quick, check_us=1_000_000)
    assert is_due(quick, quick.checked_at)
    assert not is_due(slow, slow.checked_at + 19_000_000)
    assert is_due(slow, slow.checked_at + 20_000_000)
    assert is_due(slow, slow.checked_at - 1)  # the clock was set back


class Failing:
    """Counts the statements of a connection, and lets one of them fail as a full disk does."""

    def __init__(self, at: int) -> None:
        self.at, self.seen = at, 0

    def __call__(self, *_: Any) -> bool:
        self.seen += 1
        if self.seen == self.at:
            raise apsw.FullError("no space")
        return True


@pytest.mark.parametrize("at", range(2, 40, 4))
def test_a_pass_that_fails_at_any_statement_is_finished_by_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(refreshing, "_GROUP_FILES", 2)
    for number in range(6):
        desk.write(f"{number}.md", f"# {number}\n")
    desk.run()
    for number in range(3):
        desk.write(f"{number}.md", f"# changed {number}\n")
    (desk.folder / "5.md").unlink()
    made = DocumentStore.__init__

    def failing(self: DocumentStore, *arguments: Any) -> None:
        made(self, *arguments)
        self.db.exec_trace = Failing(at)

    monkeypatch.setattr(DocumentStore, "__init__", failing)
    from recollect.errors import RecollectError

    with_failure = True
    try:
        desk.run()
        with_failure = False
    except RecollectError:
        pass
    monkeypatch.setattr(DocumentStore, "__init__", made)
    between = desk.found()
    assert all(text in (f"# {path[0]}\n", f"# changed {path[0]}\n") for path, text in between.items())
    assert len(between) >= 5
    desk.run()
    assert desk.found() == {f"{n}.md": f"# changed {n}\n" if n < 3 else f"# {n}\n" for n in range(5)}
    assert set(desk.rows()) == set(desk.found()), with_failure


def test_two_passes_at_once_come_to_the_same(desk: Desk) -> None:
    for number in range(30):
        desk.write(f"{number}.md", f"# {number}\n")
    desk.run()
    for number in range(30):
        desk.write(f"{number}.md", f"# changed {number}\n")
    for number in range(0, 30, 7):
        (desk.folder / f"{number}.md").unlink()
    failures: list[Exception] = []

    def one() -> None:
        try:
            desk.run()
        except Exception as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert desk.found() == {f"{n}.md": f"# changed {n}\n" for n in range(30) if n % 7}


names = st.sampled_from([f"{folder}{name}.md" for folder in ("", "a/", "a/b/") for name in "xy"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), names, st.text("ab\n#", min_size=1, max_size=8)),
        st.tuples(st.just("delete"), names, st.just("")),
        st.tuples(st.just("pass"), st.just(""), st.just("")),
        st.tuples(st.just("partly"), names, st.just("")),
    ),
    max_size=14,
)


@settings(max_examples=tried(30, floor=10), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=steps)
def test_after_any_history_a_pass_finds_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any]
) -> None:
    top = tmp_path_factory.mktemp("history")
    desk = Desk(top / "project", top / "home")
    desk.write("always.md", "here\n")
    files = {"always.md": "here\n"}
    for step, name, text in history:
        if step == "write":
            desk.write(name, text)
            files[name] = text
        elif step == "delete" and files.pop(name, None) is not None:
            (desk.folder / name).unlink()
        elif step == "pass":
            desk.run()
        elif step == "partly":
            desk.run(Bounds(only=[name]))
    desk.run()
    assert desk.found() == {name: text for name, text in files.items() if text.strip()}


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    count = 0
    read = taking.read_document

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        return read(*arguments, **options)

    monkeypatch.setattr(taking, "read_document", counted)
    return lambda: count


def test_an_unchanged_file_is_not_opened(desk: Desk, counting: Callable[[], int]) -> None:
    for number in range(20):
        desk.write(f"{number}.md", f"{number}\n")
    desk.write("binary.md", b"\x00")
    desk.run()
    desk.run()
    assert counting() == 21
