"""`redact` as a filter: any text, in bounded memory, the secrets found wherever windows are cut."""

from __future__ import annotations

import io

from hypothesis import example, given
from hypothesis import strategies as st

from recollect.memory import redact_stream
from recollect.privacy import redact

KEY = "AKIA" + "Z7Q2" * 4
"""Synthetic: the shape of a cloud key."""
PEM = "-----BEGIN PRIVATE KEY-----\n" + ("QUJD" * 16 + "\n") * 12 + "-----END PRIVATE KEY-----\n"


class Slow(io.BytesIO):
    """Gives at most `window` bytes at a time, as a pipe does."""

    def __init__(self, data: bytes, window: int) -> None:
        super().__init__(data)
        self.window = window

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self.window if size is None or size < 0 else min(size, self.window))


def redacted(data: bytes, *, window: int = 4 * 1024 * 1024) -> tuple[bytes, dict[str, int]]:
    out = io.BytesIO()
    found = redact_stream(Slow(data, window), out)
    return out.getvalue(), found


def test_secrets_are_replaced_and_counted_and_everything_else_stays() -> None:
    data = f"a line\r\nkey {KEY} here\n\tend".encode()
    out, found = redacted(data)
    assert KEY.encode() not in out
    assert out.startswith(b"a line\r\nkey ")
    assert out.endswith(b" here\n\tend")
    assert sum(found.values()) == 1


def test_a_key_of_several_lines_is_found_across_windows() -> None:
    data = (("x" * 70 + "\n") * 40 + PEM + "after\n").encode()
    for window in (100, 701, 2_900, 3_001):
        out, _ = redacted(data, window=window)
        assert b"QUJDQUJD" not in out
        assert out.endswith(b"after\n")


def test_a_line_without_an_end_is_cut_and_still_searched() -> None:
    data = b"x " * 200_000 + KEY.encode() + b" y" * 200_000
    out, _ = redacted(data, window=65_536)
    assert KEY.encode() not in out
    assert len(out) > 700_000


@given(data=st.binary(max_size=400))
@example(b"\xff\xfe caf\xc3\xa9 \xed\xa0\x80")
def test_bytes_without_a_secret_pass_unchanged_also_where_they_are_no_text(data: bytes) -> None:
    out, found = redacted(data, window=7)
    if not found:
        assert out == data


def test_what_is_kept_back_is_bounded() -> None:
    assert redact._CARRIED_BYTES < redact._WINDOW_BYTES
    endless = b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 64 * 1024 + b"\n" * 3
    assert redact._cut(b"x\n" * 100_000 + endless) >= 100_000
