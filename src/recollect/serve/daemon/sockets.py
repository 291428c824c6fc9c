"""The daemon's socket: hooks ask it for context and tell it of ends, reads wait for it, `up --status` asks how it is.

The protocol is in `recollect.wire`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from recollect.paths import SocketPath
from recollect.wire import MAX_QUESTION_BYTES, encoded, texts_of

PARALLEL = 8
WAITING = 64
READ_S = 1.0
"""A question is one small line: who takes longer to send it is no hook."""
_STEP_BYTES = 65_536

Answer = Callable[[Mapping[str, str]], str]


class AskSocket:
    """Answers questions on a Unix socket that only its user can reach, in threads of its own, until it is closed.

    Systems without Unix sockets have none of this: hooks and reads then do by themselves what they need.
    """

    def __init__(self, path: Path, answers: Mapping[str, Answer], log: Callable[[str], None]) -> None:
        """answers: by kind; the texts of the question are given, and what is raised becomes an empty text.

        The caller has made sure that the folder is private and that nobody else listens there. Raises OSError, also
        for a path that is longer than a socket's may be, where the system knows no way around that (`SocketPath`).
        """
        self._answers = answers
        self._log = log
        self._threads = ThreadPoolExecutor(PARALLEL, thread_name_prefix="asked")
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._bind(path)
        self._listening.listen(WAITING)
        self._thread = threading.Thread(target=self._accept, name="asked", daemon=True)
        self._thread.start()

    @staticmethod
    def is_possible() -> bool:
        """Tell whether this system has Unix sockets."""
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
                question = texts_of(_read_line(channel))
                text = self._text(question)
                channel.sendall(encoded({"text": text}))
            except OSError:
                return  # whoever asked is gone, or never asked

    def _text(self, question: Mapping[str, str]) -> str:
        answer = self._answers.get(question.get("kind", ""))
        if answer is None:
            return ""
        try:
            return answer(question)
        except Exception as error:  # noqa: BLE001 - a hook: an agent never waits for, or fails by, its memory
            self._log(f"a question of kind {question['kind']} was not answered: {type(error).__name__}")
            return ""


def _read_line(channel: socket.socket) -> bytes:
    line = b""
    while b"\n" not in line and len(line) <= MAX_QUESTION_BYTES:
        part = channel.recv(_STEP_BYTES)
        if not part:
            break
        line += part
    return line.partition(b"\n")[0]
