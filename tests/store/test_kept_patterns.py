"""What a process compiled of expressions, the next one takes over: the same expressions, or none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recollect.late import KeptPatterns
from recollect.privacy.detectors import DEFAULT
from recollect.store import meta as kept
from recollect.wire import RUN_FOLDER

SOURCES: tuple[tuple[str | bytes, int], ...] = (
    (r"(?P<day>\d\d)[./](?P<month>\d\d)", 0),
    ("[\ud800-\udfff]|ß", re.IGNORECASE),
    (rb"\x1b\[[0-9;]*m", re.DOTALL),
    (r"(?x) a  b | c", re.ASCII),
    *((detector.pattern.pattern, detector.pattern.flags & ~re.UNICODE) for detector in DEFAULT),
)


def in_a_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Compile all in what stands for a process of its own; return whether that is anything new."""
    patterns = KeptPatterns()
    monkeypatch.setattr(kept, "PATTERNS", patterns)
    kept.use_kept_patterns(home)
    for source, flags in SOURCES:
        assert patterns.compile(source, flags) == re.compile(source, flags)
    path = home / RUN_FOLDER / kept.FILE_NAME
    before = path.stat().st_ino if path.exists() else 0
    kept.keep_patterns(home)
    return path.stat().st_ino != before


def test_an_expression_is_compiled_once_and_is_the_same_in_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert in_a_process(tmp_path, monkeypatch)
    assert not in_a_process(tmp_path, monkeypatch)


@pytest.mark.parametrize("what", ["torn", "a bit is wrong", "of another Python"])
def test_what_cannot_be_used_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    in_a_process(tmp_path, monkeypatch)
    path = tmp_path / RUN_FOLDER / kept.FILE_NAME
    data = bytearray(path.read_bytes())
    if what == "torn":
        path.write_bytes(data[:100])
    elif what == "a bit is wrong":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    else:
        monkeypatch.setattr(kept, "ENGINE", "another Python")
    assert in_a_process(tmp_path, monkeypatch)
    assert not in_a_process(tmp_path, monkeypatch)


def test_a_python_that_offers_nothing_to_keep_compiles_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.late._COMPILER", None)
    monkeypatch.setattr("recollect.late._ENGINE", None)
    patterns = KeptPatterns()
    patterns.use(lambda: {"0 'a'": (32, 0, {}, b"\0\0\0\0")})
    assert patterns.compile("a") == re.compile("a")
    assert patterns.to_keep() == {}
