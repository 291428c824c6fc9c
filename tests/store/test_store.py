"""One store a home: its readers share their connections, and each is loaded when it is first asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recollect.config import Config
from recollect.errors import StoreError, StoreLocked
from recollect.store.home import Store
from recollect.store.rows import EventFilter
from tests.store.slices import Line, make_slices, write_all


def test_every_reader_of_a_store_sees_what_its_writer_wrote(home: Path) -> None:
    with Store(home) as store:
        with store.writer(domains={"alpha": "work"}) as writer:
            write_all(writer, make_slices([Line("a"), Line("b")]))
        sessions, total = store.reader.sessions(EventFilter())
        assert (total, [one.session_uid for one in sessions]) == (1, ["claude:one"])
        assert store.feed.sessions_newest_first() == [1]


def test_a_closed_store_says_so_and_may_be_closed_again(home: Path) -> None:
    with Store(home) as store:
        assert store.reader.stats().agents == ()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.reader.stats()


def test_a_store_has_one_writer(home: Path) -> None:
    with Store(home) as store, store.writer(), pytest.raises(StoreLocked):
        store.writer()


def test_what_is_not_asked_for_is_neither_loaded_nor_opened(home: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom recollect.store.home import Store\n"
        "store = Store(Path(sys.argv[1]))\nstore.close()\n"
        "print([m for m in ('reader', 'writer', 'insights', 'notes') if f'recollect.store.{m}' in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(home)], capture_output=True, text=True, check=True)
    assert (ran.stdout, home.exists()) == ("[]\n", False)


def test_texts_come_from_the_archive_of_the_home_that_is_named(home: Path, tmp_path: Path) -> None:
    from recollect.store.home import Home

    with Store.open(home, Config().privacy, texts_of=Home(tmp_path / "other")) as store:
        assert store.reader.stats().agents == ()
