"""The daemon's process: the keeper's loop in a thread, the socket of hooks and reads, HTTP in the main thread."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec

from recollect import __version__, wire
from recollect.errors import UsageError
from recollect.hook.answer_formats import MAX_CHARS, shortened, takes_context
from recollect.memory import ContextEvent, Memory
from recollect.model.ids import session_uid
from recollect.paths import SocketPath
from recollect.serve.answer_processes import Answerers, look_for_cycles_seldom
from recollect.serve.daemon_control import DaemonLog, leave_terminal
from recollect.serve.requests import Responder
from recollect.wire import MAX_QUESTION_BYTES, encoded, texts_of

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from recollect.memory import Keeper, LiveStatus, Place

PARALLEL = 8
WAITING = 64
READ_S = 1.0
"""A question is one small line: who takes longer to send it is no hook."""
_STEP_BYTES = 65_536

Answer = Callable[[Mapping[str, str]], str]
LineAnswer = Callable[[bytes, Callable[[bytes], None]], bytes]


class AskSocket:
    """Answers questions on a Unix socket that only its user can reach, in threads of its own, until it is closed.

    Systems without Unix sockets have none of this: hooks and reads then do by themselves what they need.
    """

    def __init__(
        self, path: Path, answers: Mapping[str, Answer], log: Callable[[str], None], *, request: LineAnswer
    ) -> None:
        """answers: by kind; the texts of the question are given, and what is raised becomes an empty text. request:
        answers the line of a request with a line, and may tell lines before it.

        The caller has made sure that the folder is private and that nobody else listens there. Raises OSError, also
        for a path that is longer than a socket's may be, where the system knows no way around that (`SocketPath`).
        """
        self._answers = answers
        self._request = request
        self._log = log
        self._threads = ThreadPoolExecutor(PARALLEL, thread_name_prefix="asked")
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._bind(path)
        self._listening.listen(WAITING)
        self._thread = threading.Thread(target=self._accept, name="asked", daemon=True)
        self._thread.start()

    @staticmethod
    def is_possible() -> bool:
        """Return whether this system has Unix sockets."""
        return hasattr(socket, "AF_UNIX")

    def close(self) -> None:
        """Answer no more. Questions under way may still be answered."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _bind(self, path: Path) -> None:
        before = os.umask(0o177)  # closed to others from the first instant
        try:
            with SocketPath(str(path)) as short:
                self._listening.bind(short)
        except OSError:
            self._listening.close()
            raise
        finally:
            os.umask(before)

    def _accept(self) -> None:
        while True:
            try:
                channel, _ = self._listening.accept()
            except OSError:
                return  # closed
            try:
                self._threads.submit(self._answer, channel)
            except RuntimeError:
                channel.close()
                return

    def _answer(self, channel: socket.socket) -> None:
        with channel:
            try:
                channel.settimeout(READ_S)
                channel.sendall(self._line(_read_line(channel), partial(_tell, channel)))
            except OSError:
                return  # whoever asked is gone, or never asked

    def _line(self, line: bytes, tell: Callable[[bytes], None]) -> bytes:
        question = texts_of(line)
        kind = question.get("kind", "")
        answer = self._answers.get(kind)
        try:
            if kind == wire.KIND_REQUEST:
                return self._request(line, tell)
            return encoded({"text": answer(question) if answer is not None else ""})
        except Exception as error:  # noqa: BLE001 - a hook: an agent never waits for, or fails by, its memory
            self._log(f"a question of kind {kind} was not answered: {type(error).__name__}")
            return encoded({"text": ""})


def _tell(channel: socket.socket, line: bytes) -> None:
    with suppress(OSError):  # whoever asked is gone; what he asked for is done all the same
        channel.sendall(line)


def _read_line(channel: socket.socket) -> bytes:
    line = b""
    while b"\n" not in line and len(line) <= MAX_QUESTION_BYTES:
        part = channel.recv(_STEP_BYTES)
        if not part:
            break
        line += part
    return line.partition(b"\n")[0]


_EVENTS = ("start", "compact", "prompt")


class DaemonAnswers:
    """The answers of one daemon. Safe from many threads."""

    def __init__(self, memory: Memory, keeper: Keeper, status: Callable[[], LiveStatus]) -> None:
        self._memory = memory
        self._keeper = keeper
        self._status = status

    def by_kind(self) -> Mapping[str, Answer]:
        """Return what answers each kind of question."""
        return {
            wire.KIND_CONTEXT: self._context,
            wire.KIND_FLUSH: self._notice,
            wire.KIND_ENDED: partial(self._notice, has_ended=True),
            wire.KIND_SETTLE: lambda _: "\n".join(self._keeper.settle()),
            wire.KIND_STATUS: lambda _: msgspec.json.encode(self._status()).decode(),
        }

    def _notice(self, question: Mapping[str, str], *, has_ended: bool = False) -> str:
        self._keeper.notice_agent(question.get("agent", ""), has_ended=has_ended)
        self._keeper.answered_hook()
        return ""

    def _context(self, question: Mapping[str, str]) -> str:
        agent, event = question.get("agent", ""), question.get("event", "")
        if event not in _EVENTS or not takes_context(agent, event):
            return ""
        if event == "prompt" and not self._memory.config.context.per_prompt:
            return ""
        began = time.perf_counter_ns()
        native = question.get("session", "")
        session = session_uid(agent, native) if native else ""
        facet = self._memory.context_facet
        with self._keeper.questions.answering():
            block = facet.block(
                cwd=question.get("cwd", ""),
                event=cast("ContextEvent", event),
                session=session,
                prompt=question.get("prompt", ""),
                budget=self._memory.config.context.budget_tokens,
                agent=agent,
            )
        shown = block.cut_to(shortened(block.text, MAX_CHARS))
        self._keeper.answered_hook()
        took_us = (time.perf_counter_ns() - began) // 1000
        facet.record(shown, agent=agent, event=event, session=session, took_us=took_us)
        return shown.text


STOP_S = 1.5
"""How long work under way may take after a signal. Then it is killed, which loses nothing that was stored."""
SWITCH_S = 0.0005
"""How long a thread that computes keeps others out. With Python's 5 ms a hook's question waits that long at each of its
steps while something is being analysed."""
GUARD_EVERY_S = 2.0
PORT_AGAIN_S = (2.0, 60.0)
"""A port that is taken is tried again after so long, then after ever longer, up to so long."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Started(NamedTuple):
    """What a daemon says when it has begun. url: "" where nothing listens, http then says why."""

    pid: int
    home: str
    url: str
    token_file: str
    http: str


def run_daemon(memory: Memory, *, port: int | None, tell: Callable[[Started], None]) -> None:
    """Keep a memory fresh and serve it until SIGINT or SIGTERM. Blocks; call it in the main thread.

    port: in place of the configured one. tell: called once it has begun. Raises StoreLocked naming the daemon that is
    at work already, StoreError where the home cannot be written.
    """
    place = memory.live.take_place()
    log = DaemonLog(memory.home / "logs")
    try:
        _Daemon(memory, place, log).run(port, tell)
    finally:
        place.leave()


class _Daemon:
    """The parts of one daemon while it runs."""

    def __init__(self, memory: Memory, place: Place, log: DaemonLog) -> None:
        self._memory = memory
        self._place = place
        self._log = log
        self._keeper: Keeper = memory.live.make_keeper(log)
        self._url = ""
        self._http = ""
        self._no_socket = ""
        self._answerers: Answerers | None = None
        self._has_begun = False
        self._stopped_at = 0.0
        self._ended = threading.Event()

    def run(self, port: int | None, tell: Callable[[Started], None]) -> None:
        """Run until a signal comes, then stop within two seconds."""
        self._log(f"started, version {__version__}")
        sys.setswitchinterval(SWITCH_S)
        wanted = self._memory.config.daemon.port if port is None else port
        has_http = self._memory.config.daemon.http or port is not None
        bound = self._listen(wanted) if has_http else None
        if not has_http:
            self._http = "switched off ([daemon] http)"
        # An earlier signal than HTTP is ready for ends it just the same.
        before = {number: signal.signal(number, lambda *_: self._stopping()) for number in _SIGNALS}
        hangup = getattr(signal, "SIGHUP", None)
        if hangup is not None and signal.getsignal(hangup) == signal.SIG_DFL:
            before[hangup] = signal.signal(hangup, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        asked = self._open_socket()
        threading.Thread(target=self._guard, name="guarding", daemon=True).start()
        # Imports what it needs before a second thread imports: where one imports a package and another a module of it,
        # Python hands out what is half made.
        self.status()
        try:
            self._keeper.start()
            if bound is None:
                self._begin(None, tell)
                bound = self._wait(wanted if has_http else None)
            if bound is not None:
                self._serve(bound, tell)
        finally:
            if asked is not None:
                asked.close()
            if self._answerers is not None:
                self._answerers.close()
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)

    def status(self) -> LiveStatus:
        """Return how it is now."""
        return self._keeper.status(url=self._url, http=self._http)

    def _listen(self, port: int) -> socket.socket | None:
        """Return a socket that listens, None (and say why) where the port is somebody else's."""
        from recollect.serve.loopback import listen

        try:
            bound = listen(port)
        except UsageError as taken:
            self._is_taken(str(taken))
            return None
        try:
            bound.listen()  # two may be bound to a port; only one can listen
        except OSError as error:
            bound.close()
            self._is_taken(f"cannot listen on port {port}: {error.strerror}")
            return None
        self._http = ""
        return bound

    def _is_taken(self, why: str) -> None:
        # Somebody else's program must not keep the memory from being fresh.
        http = f"{why}; it is tried again now and then; name another with [daemon] port"
        if http != self._http:
            self._log(http)
        self._http = http

    def _wait(self, port: int | None) -> socket.socket | None:
        """Wait for the end, or (port: of HTTP that could not have it) until the port is free; None at the end."""
        again_s, most_s = PORT_AGAIN_S
        at = time.monotonic() + again_s
        while not self._ended.wait(1.0):  # a wait without an end would keep signals out on some systems
            if port is None or time.monotonic() < at:
                continue
            bound = self._listen(port)
            if bound is not None:
                return bound
            again_s = min(most_s, 2 * again_s)
            at = time.monotonic() + again_s
        return None

    def _open_socket(self) -> AskSocket | None:
        if not AskSocket.is_possible():
            return None
        try:
            answers = DaemonAnswers(self._memory, self._keeper, self.status)
            requests = Responder(self._memory, self._keeper.started_at, has_looked=self._keeper.has_looked)
            self._answerers = Answerers(requests, self._memory, self._keeper, self._log)
            return AskSocket(self._place.socket, answers.by_kind(), self._log, request=self._answerers.answer)
        except OSError as error:
            self._no_socket = f"{self._place.socket}: {error.strerror or error}"
            self._log(f"no socket for hooks and reads: {self._no_socket}")
            return None

    def _begin(self, bound: socket.socket | None, tell: Callable[[Started], None]) -> None:
        """Say that it has begun, or once more when HTTP came later."""
        from recollect.memory import Card
        from recollect.serve.token import NAME

        port, token_file, is_later = 0, "", self._has_begun
        if bound is not None:
            host, port = bound.getsockname()[:2]
            self._url, token_file = f"http://{host}:{port}", str(self._memory.home / NAME)
        started_at = self.status().started_at
        self._place.show(Card(os.getpid(), __version__, started_at, port, token_file, self._no_socket))
        if is_later:
            self._log(f"the port is free now: MCP and status on {self._url}")
            return
        self._has_begun = True
        look_for_cycles_seldom()
        leave_terminal(self._memory.home)
        tell(Started(os.getpid(), str(self._memory.home), self._url, token_file, self._http))

    def _serve(self, bound: socket.socket, tell: Callable[[Started], None]) -> None:
        from recollect.serve.loopback import serve

        with bound:
            app, close = _make_app(
                self._memory, self.status, lambda: self._begin(bound, tell), is_ending=self._ended.is_set
            )
            serve(app, bound, has_lifespan=True, stopping=self._stopping, is_stopped=self._ended.is_set)
            close()

    def _guard(self) -> None:
        """Stop where the home was deleted: what is written there now is nobody's, or another daemon's."""
        while not self._ended.wait(GUARD_EVERY_S):
            if not self._place.is_mine():
                self._log("the home was taken away")
                signal.raise_signal(signal.SIGTERM)
                return

    def _stopping(self) -> None:
        if not self._ended.is_set():
            self._stopped_at = time.monotonic()
            self._ended.set()
            self._keeper.ask_to_stop()

    def _end(self) -> None:
        self._stopping()
        left = STOP_S - (time.monotonic() - self._stopped_at)
        is_ended = self._keeper.stop(max(0.1, left))
        self._log("stopped" if is_ended else "stopped in the middle of a step: the next start goes on with it")
        if is_ended:
            self._memory.close()
        self._place.leave()
        if not is_ended or _has_others():
            # Everything is on the disk or will be ingested again: what hangs must not keep the system waiting.
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(0)


def _make_app(
    memory: Memory, status: Callable[[], LiveStatus], begun: Callable[[], None], *, is_ending: Callable[[], bool]
) -> tuple[Starlette, Callable[[], None]]:
    """Return the application of MCP and pages, and what ends it. begun: called once it answers."""
    from recollect.serve.mcp.sdk import load

    load(with_http=True)
    from starlette.applications import Starlette

    from recollect.serve.mcp.freshness import Freshness
    from recollect.serve.mcp.http import McpRoute
    from recollect.serve.mcp.server import Admission, MemoryServer
    from recollect.serve.token import home_token
    from recollect.serve.web.access import Visitors
    from recollect.serve.web.api import api_routes
    from recollect.serve.web.pages import Pages

    token = home_token(memory.home)
    admission = Admission()
    writes = memory.config.mcp.writing_tools
    mcp = McpRoute(MemoryServer(Freshness(lambda: memory), admission=admission, writes=writes), token)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with mcp.lifespan(app):
            begun()
            yield

    visitors = Visitors(token)
    routes = [mcp.route, *api_routes(visitors, memory), *Pages(visitors, memory, status, is_ending).routes]
    return Starlette(routes=routes, lifespan=lifespan), admission.close


def _has_others() -> bool:
    """Return whether threads are at work that the interpreter would wait for at its end."""
    mine = threading.current_thread()
    return any(t.is_alive() and not t.daemon and t is not mine for t in threading.enumerate())
