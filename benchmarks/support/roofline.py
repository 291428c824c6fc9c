"""What the unavoidable parts of an ingest cost by themselves on the same files, one after the other in one process."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from benchmarks.support.measuring import usable_cores

CHUNK_BYTES = 256 * 1024
PARTS = ("read", "split and hash", "decode", "compress", "seal")


def roofline(files: Sequence[Path]) -> dict[str, Any]:
    """Measure reading, splitting into records and hashing each, decoding (msgspec), zstd level 3, and AES-256-GCM.

    Returns seconds and MB/s per part; zstd and AES work on chunks of 256 KiB. `bound_mb_per_s`: what all cores
    would reach if an ingest did these parts and nothing else.
    """
    seconds = dict.fromkeys(PARTS, 0.0)
    total_bytes = sealed_bytes = 0
    decode = msgspec.json.Decoder().decode
    compress = zstandard.ZstdCompressor(level=3).compress
    seal = AESGCM(os.urandom(32)).encrypt
    nonce = os.urandom(12)
    for path in files:
        clock = [time.perf_counter()]
        data = path.read_bytes()
        clock.append(time.perf_counter())
        records = data.split(b"\n")
        for record in records:
            hashlib.sha256(record).digest()
        clock.append(time.perf_counter())
        for record in records:
            _decode_or_nothing(decode, record)
        clock.append(time.perf_counter())
        packed = [compress(data[i : i + CHUNK_BYTES]) for i in range(0, len(data), CHUNK_BYTES)]
        clock.append(time.perf_counter())
        sealed_bytes += sum(len(seal(nonce, chunk, None)) for chunk in packed)
        clock.append(time.perf_counter())
        total_bytes += len(data)
        for part, start, end in zip(PARTS, clock[:-1], clock[1:], strict=True):
            seconds[part] += end - start
    megabytes, spent = total_bytes / 1e6, sum(seconds.values())
    return {
        "seconds": {part: round(s, 3) for part, s in seconds.items()},
        "mb_per_s": {part: round(megabytes / s) if s else None for part, s in seconds.items()},
        "compressed_share": round(sealed_bytes / max(1, total_bytes), 4),
        "one_core_mb_per_s": round(megabytes / spent, 1) if spent else None,
        "cores": usable_cores(),
        "bound_mb_per_s": round(megabytes / spent * usable_cores(), 1) if spent else None,
    }


def _decode_or_nothing(decode: object, record: bytes) -> None:
    if record and callable(decode):
        try:
            decode(record)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return
