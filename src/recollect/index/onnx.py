"""onnxruntime, which is told to report nothing.

Official builds from 1.29 on send trace events to their maker, and write an id of the machine into the user's folder. We
ask for earlier ones, and switch it off in all.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def open_session(graph: Path | bytes, *, threads: int = 0) -> Any:
    """Return what runs a graph, a file or its bytes, on the processor. threads: 0 leaves the number to onnxruntime.

    Raises ImportError, and whatever onnxruntime raises for a file that it cannot use.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when the library is loaded, so before the import
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # what Windows has of its own
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.enable_cpu_mem_arena = False  # it keeps the most that any batch ever took
    # Without it, processors that lack VNNI cut off the sums of large bytes.
    options.add_session_config_entry("session.x64quantprecision", "1")
    given = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
