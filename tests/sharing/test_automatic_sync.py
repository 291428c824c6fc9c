"""A real daemon syncs by itself with the folder whose key is remembered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from tests.sharing.conftest import Computer

PATIENCE_S = 150.0
"""After this a test fails instead of waiting on."""


def test_the_daemon_takes_and_gives_once_the_key_is_remembered(computer: Callable[..., Computer]) -> None:
    laptop, desk = computer("laptop"), computer("desk")
    laptop.session("zero", "The first of all")
    laptop.sync(is_remembered=True)
    there = desk.session("one", "Why does the checkoutWorker leak?").uid
    desk.sync()
    here = laptop.session("two", "The invoices are late").uid
    daemon = subprocess.Popen(
        [sys.executable, "-m", "recollect", "up", "--port", "0"], env={**os.environ, **laptop.env},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        ends = time.monotonic() + PATIENCE_S
        while there not in laptop.uids() or here not in desk.uids():
            assert time.monotonic() < ends
            time.sleep(0.5)
            desk.sync()
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(60)


def test_nothing_is_synced_once_the_key_is_not_remembered(computer: Callable[..., Computer]) -> None:
    from recollect.sharing.membership import read_folder_state

    laptop = computer("laptop")
    laptop.sync(is_remembered=True)
    assert read_folder_state(laptop.home).folder == str(laptop.shared)
    laptop.sync(is_remembered=False)
    assert (read_folder_state(laptop.home).folder, read_folder_state(laptop.home).keys) == ("", {})
