"""Asks the process that embeds passages, and starts it if needed. See `process.py`."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from recollect.errors import EmbeddingUnavailable
from recollect.files import write_file
from recollect.index.vectors.contextual import DIMENSIONS, ContextualModel, weights_path
from recollect.paths import make_private
from recollect.processes import own_command

if TYPE_CHECKING:
    from multiprocessing.connection import Connection, Listener

    from recollect.index.vectors.vector_index import Vectors


FILE_NAME = "reader.json"
START_S = 6.0
"""How long a question waits for the process to start."""
ANSWER_S = 4.0
"""How long a question waits for vectors."""
_LOOK_S = 0.02
_LONGEST_REASON = 200
INSTALL_HINT = "install it with: pip install 'recollect[models]'"


def is_at_work(folder: Path) -> bool:
    """Return whether a process has left its address, which it deletes when it ends by itself."""
    return (folder / FILE_NAME).exists()


class PassageReader:
    """One caller. Safe from many threads; a process that was killed is started again by the next question."""

    def __init__(self, folder: Path, *, may_start: bool = True) -> None:
        """folder: where the process keeps its address, `index/vectors` of a home. may_start: start one if none is
        running.
        """
        self._may_start = may_start
        self._folder = folder
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape (len(texts), DIMENSIONS).

        Raises:
            EmbeddingUnavailable: the model is not installed, cannot be used, or did not answer in time.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        with self._lock:
            for is_again in (False, True):
                try:
                    connection = self._connected()
                    connection.send_bytes(json.dumps(list(texts)).encode("utf-8", "surrogatepass"))
                    if not connection.poll(ANSWER_S + 0.5 * len(texts)):
                        self._drop()
                        raise EmbeddingUnavailable("the contextual model did not answer in time")
                    vectors = np.frombuffer(connection.recv_bytes(), "<f4")
                    break
                except (EOFError, OSError) as error:
                    self._drop()
                    if is_again:
                        raise EmbeddingUnavailable(f"the contextual model cannot be reached: {error}") from error
        if vectors.size != len(texts) * DIMENSIONS:
            raise EmbeddingUnavailable("the contextual model failed on a text")
        return vectors.reshape(len(texts), DIMENSIONS)

    def close(self) -> None:
        """Let go of the connection; the process ends by itself."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._reach() or self._start()
        return self._connection

    def _reach(self) -> Connection | None:
        """Return a connection to the process; None without one. Raises EmbeddingUnavailable if it does not answer."""
        found: list[Connection] = []
        # The handshake has no time limit of its own: a process that was stopped would hold the question for ever.
        greeting = threading.Thread(target=self._greet, args=(found,), daemon=True)
        greeting.start()
        greeting.join(ANSWER_S)
        if greeting.is_alive():
            raise EmbeddingUnavailable("the process of the contextual model does not answer")
        return found[0] if found else None

    def _greet(self, found: list[Connection]) -> None:
        from multiprocessing import AuthenticationError
        from multiprocessing.connection import Client

        with suppress(OSError, ValueError, KeyError, TypeError, AuthenticationError, EOFError):
            address = json.loads((self._folder / FILE_NAME).read_bytes())
            found.append(Client(("127.0.0.1", int(address["port"])), authkey=bytes.fromhex(address["key"])))

    def _start(self) -> Connection:
        if weights_path() is None:
            raise EmbeddingUnavailable("the contextual model is not installed", hint=INSTALL_HINT)
        if not self._may_start:
            raise EmbeddingUnavailable("the process of the contextual model has ended, and none may be started")
        import subprocess  # a search without vectors has this at hand, and starts nothing
        import tempfile

        apart = 0
        if sys.platform == "win32":
            apart = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        make_private(self._folder)
        with tempfile.TemporaryFile() as said:
            started = subprocess.Popen(  # noqa: S603  our own program
                own_command(str(self._folder), module="recollect.index.vectors.passage_process"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                cwd=self._folder,
                start_new_session=True,
                creationflags=apart,
            )
            # In a server that stays, an ended child must be waited for; a command that ends leaves that to the system.
            threading.Thread(target=started.wait, daemon=True, name="reader of passages").start()
            ends_at = time.monotonic() + START_S
            while time.monotonic() < ends_at and started.poll() is None:
                if (found := self._reach()) is not None:
                    return found
                time.sleep(_LOOK_S)
            raise EmbeddingUnavailable(f"the contextual model did not start{_last_words(said)}")


def _last_words(said: IO[bytes]) -> str:
    """Return the last line that a process wrote before it ended, behind a colon; "" for none."""
    said.seek(0)
    lines = [line.strip() for line in said.read().decode("utf-8", "replace").split("\n") if line.strip()]
    return f": {lines[-1][:_LONGEST_REASON]}" if lines else ""


IDLE_S = 120.0
"""So long it waits for the next question; loading the model again takes half a second."""
_IDLE_LOOK_S = 2.0
_ACCEPTING = 4


class PassageServer:
    """Answers lists of texts with their vectors, one caller after the other."""

    def __init__(self, folder: Path, *, idle_s: float = IDLE_S) -> None:
        """folder: where the address goes. Raises EmbeddingUnavailable."""
        self._path = folder / FILE_NAME
        self._idle_s = idle_s
        self._model = ContextualModel()
        self._at_work = threading.Lock()
        self._asked_at = time.monotonic()

    def run(self) -> None:
        """Serve until nobody has asked for a while, or another process has replaced this one."""
        import secrets
        from multiprocessing.connection import Listener

        key = secrets.token_bytes(32)
        with Listener(("127.0.0.1", 0), authkey=key) as listener:
            port: int = listener.address[1]
            address = {"port": port, "key": key.hex(), "pid": os.getpid()}
            write_file(self._path, json.dumps(address).encode(), durable=False)
            for _ in range(_ACCEPTING):  # a caller that says nothing keeps one busy
                threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            while time.monotonic() - self._asked_at < self._idle_s and self._is_mine(address):
                time.sleep(min(_IDLE_LOOK_S, self._idle_s))
            with self._at_work:  # a question under way is answered
                if self._is_mine(address):
                    self._path.unlink(missing_ok=True)

    def _accept(self, listener: Listener) -> None:
        from multiprocessing import AuthenticationError

        while True:
            try:
                connection = listener.accept()
            except (AuthenticationError, EOFError, ConnectionError):
                continue
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        with connection:
            while True:
                try:
                    texts = json.loads(connection.recv_bytes())
                    self._asked_at = time.monotonic()
                    with self._at_work:
                        answer = self._answer(texts)
                    self._asked_at = time.monotonic()
                    connection.send_bytes(answer)
                except (EOFError, OSError, ValueError):
                    return

    def _answer(self, texts: list[str]) -> bytes:
        """Return the vectors, row after row in float32; nothing where the model fails."""
        try:
            return self._model.embed(texts).astype("<f4").tobytes()
        except EmbeddingUnavailable:
            return b""

    def _is_mine(self, address: dict[str, object]) -> bool:
        try:
            return bool(json.loads(self._path.read_bytes()) == address)
        except (OSError, ValueError):
            return False


def main() -> int:
    """Serve the folder that the command line names; return the exit code."""
    try:
        PassageServer(Path(sys.argv[1])).run()
    except EmbeddingUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
