"""What holds for every test: a home of its own, no network, no dependence on this machine's settings."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import settings

from recollect.index.vectors import contextual
from tests.examples import IS_CI, USUAL, tried

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("dev", deadline=None, max_examples=tried(USUAL))
settings.register_profile("ci", deadline=None, max_examples=tried(USUAL), derandomize=True, print_blob=True)
settings.load_profile("ci" if IS_CI else "dev")

# Many tests start the program. Where byte code is not kept, each start compiles all of it again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# As the program does: to look for garbage as often as Python does by default is a tenth of the time.
gc.set_threshold(20_000)

# What was started by `nohup` or in the background ignores these, and so would every program that a test sends them to.
# A handler that does nothing is not inherited: this process still outlives the terminal, the programs hear the signal.
_POLITE = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
for _number in _POLITE:
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else lambda *_: None)


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """Undo what a test did to the signals of this process, as a hook that runs in it does: programs inherit it."""
    before = {number: signal.getsignal(number) for number in _POLITE}
    yield
    for number, handler in before.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


_THIS_MACHINE = ("localhost", "::1", "::", "0.0.0.0")
_HOME_VARIABLES = {
    "HOME": ".",
    "USERPROFILE": ".",
    "APPDATA": "AppData/Roaming",
    "LOCALAPPDATA": "AppData/Local",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_RUNTIME_DIR": ".run",
    "RECOLLECT_HOME": "recollect",
    "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex",
}


_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 6 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory where there is room: on a disk, half of the suite's time is waiting for it."""
    if config.option.basetemp is None and "PYTEST_DEBUG_TEMPROOT" not in os.environ and _has_room(_MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Never look through modules and tests again: they stay."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """Have a worker more for every four cores with `-n auto`: many tests wait for servers and other processes."""
    cores = yield
    return cores if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else cores + (cores + 3) // 4


def _has_room(folder: Path) -> bool:
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    system = os.statvfs(folder)
    return not system.f_flag & os.ST_NOEXEC and system.f_bavail * system.f_frsize >= _ROOM_BYTES


class NetworkUsed(AssertionError):
    """A test tried to reach another machine."""


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return names of homes in a folder of their own: `mktemp` reads the folder of all the others for each."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def isolated_home(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Point every variable that says where things are to an empty folder, and give it; delete it afterwards.

    The folder itself exists; the places inside it don't, as on a new machine.
    """
    home = next(_homes)
    home.mkdir(mode=0o700)
    for variable, place in _HOME_VARIABLES.items():
        monkeypatch.setenv(variable, str(home / place) if place != "." else str(home))
    for variable in [name for name in os.environ if name.startswith("RECOLLECT_") and name not in _HOME_VARIABLES]:
        if variable not in ("RECOLLECT_SHARED", "RECOLLECT_UPDATE_GOLDENS"):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("RECOLLECT_BACKGROUND", "0")  # nothing outlives its test
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sockets reach this machine only."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def refuse_strangers(address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if host and host not in _THIS_MACHINE and not str(host).startswith("127."):
            raise NetworkUsed(f"a test tried to reach {host}")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        refuse_strangers(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        refuse_strangers(address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_strangers((host.decode() if isinstance(host, bytes) else host,))
        return getaddrinfo(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)


@pytest.fixture(autouse=True)
def _contextual_model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the contextual model to the tests that are marked for it: it reads a small memory for seconds."""
    if request.node.get_closest_marker("model") is None:
        monkeypatch.setattr(contextual, "_PACKAGES", ("no_package_has_this_name",))
    elif contextual.weights_path() is None:
        pytest.skip("the extra `models` is not installed")


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the repository."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared(repository: Path) -> Path:
    """Return the folder with the shared transcripts and benchmarks; tests that need it are skipped without it."""
    folder = Path(os.environ.get("RECOLLECT_SHARED", repository.parent / "shared"))
    if not (folder / "corpus" / "index.json").is_file():
        pytest.skip("no shared transcripts beside the repository (RECOLLECT_SHARED names another place)")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return a real Chromium, one for every test of a process."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine: `apt-get install chromium` runs the tests in a real browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        for module in (asyncio, anyio):  # Playwright's own loop stays running in this thread
            patch.setattr(module, "run", partial(_run_beside, module.run))
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


def _run_beside(run: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Run an event loop in a thread of its own."""
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(run, *arguments, **options).result()
