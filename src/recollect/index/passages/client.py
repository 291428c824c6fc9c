"""Asks the process that reads passages, and starts it where it doesn't run. See `process.py`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import IO, TYPE_CHECKING

from recollect.errors import EmbeddingUnavailable
from recollect.index.passages.model import DIMENSIONS, weights_path
from recollect.paths import make_private
from recollect.processes import own_command

if TYPE_CHECKING:
    from recollect.index.vectors.embedder import Vectors

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
        """folder: where the process keeps its address, `index/vectors` of a home. may_start: where none is at work."""
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
        """Return a connection to the process; None where there is none. Raises EmbeddingUnavailable where one is there
        and does not answer."""
        found: list[Connection] = []
        # The handshake has no time limit of its own: a process that was stopped would hold the question for ever.
        greeting = threading.Thread(target=self._greet, args=(found,), daemon=True)
        greeting.start()
        greeting.join(ANSWER_S)
        if greeting.is_alive():
            raise EmbeddingUnavailable("the process of the contextual model does not answer")
        return found[0] if found else None

    def _greet(self, found: list[Connection]) -> None:
        with suppress(OSError, ValueError, KeyError, TypeError, AuthenticationError, EOFError):
            address = json.loads((self._folder / FILE_NAME).read_bytes())
            found.append(Client(("127.0.0.1", int(address["port"])), authkey=bytes.fromhex(address["key"])))

    def _start(self) -> Connection:
        if weights_path() is None:
            raise EmbeddingUnavailable("the contextual model is not installed", hint=INSTALL_HINT)
        if not self._may_start:
            raise EmbeddingUnavailable("the process of the contextual model has ended, and none may be started")
        make_private(self._folder)
        with tempfile.TemporaryFile() as said:
            started = subprocess.Popen(  # noqa: S603  our own program
                own_command(str(self._folder), module="recollect.index.passages.process"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                cwd=self._folder,
                start_new_session=True,
                creationflags=_APART,
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


if sys.platform == "win32":
    _APART = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _APART = 0
