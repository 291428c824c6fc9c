"""The process that reads passages for questions: it loads the model once, serves everyone of one home, and ends by
itself when nobody asks for a while.

It listens on a port of this machine alone and knows its callers by a key, both in a file that only the owner can read.
Run by `client.py`; `python -m recollect.index.passages.process FOLDER`.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from pathlib import Path

from recollect.errors import EmbeddingUnavailable
from recollect.files import write_file
from recollect.index.passages.client import FILE_NAME
from recollect.index.passages.model import ContextualModel

IDLE_S = 120.0
"""So long it waits for the next question; loading the model again takes half a second."""
_LOOK_S = 2.0
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
        """Serve until nobody has asked for a while, or another process has taken the place."""
        key = secrets.token_bytes(32)
        with Listener(("127.0.0.1", 0), authkey=key) as listener:
            port: int = listener.address[1]
            address = {"port": port, "key": key.hex(), "pid": os.getpid()}
            write_file(self._path, json.dumps(address).encode(), durable=False)
            for _ in range(_ACCEPTING):  # a caller that says nothing keeps one busy
                threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            while time.monotonic() - self._asked_at < self._idle_s and self._is_mine(address):
                time.sleep(min(_LOOK_S, self._idle_s))
            with self._at_work:  # a question under way is answered
                if self._is_mine(address):
                    self._path.unlink(missing_ok=True)

    def _accept(self, listener: Listener) -> None:
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
