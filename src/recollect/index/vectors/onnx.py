"""Builds the contextual model's graph: the package's weights, multiplied in int8.

The file of the package keeps its weights in int8 and multiplies in floats. Here activations are rounded to a byte too,
one scale a matrix, which takes half the time and moves a cosine by .010 on average
(docs/explanation/contextual-model.md). The
operations are onnxruntime's own, fused ones. A text is read by itself, so that its vector never depends on others.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


GRAPH = 2
"""Number of these operations; vectors made by others are made again."""
IDS = "ids"
VECTOR = "vector"
_LAYERS = 6
_HEADS = 12
_DIMENSIONS = 384
_EPSILON = 1e-12
_FUSED = "com.microsoft"
_WORDS = "inner.embeddings.word_embeddings.weight"
_PLACES = "inner.embeddings.position_embeddings.weight"
_SUMS = """<ir_version: 9, opset_import: ["": 18]>
sums (uint8[2, 64] a, int8[64, 16] b) => (int32[2, 16] c) { c = MatMulInteger(a, b) }"""


class _Graph:
    """A graph while it is built: every operation and every constant has the name of its result."""

    def __init__(self, path: Path) -> None:
        import onnx

        self._onnx = onnx
        package = onnx.load(str(path)).graph
        self._given = {one.name: onnx.numpy_helper.to_array(one) for one in package.initializer}
        products = (node.input[1] for node in package.node if node.op_type == "MatMul")
        self.products = [name for name in products if f"{name}_q" in self._given]
        """Names of the matrices, six a layer: query, key, value, output, up, down."""
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def weights(self, name: str) -> NDArray[Any]:
        return self._given[name]

    def codes(self, *names: str) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return matrices side by side in int8, and their scales."""
        import numpy as np

        codes = [self._given[f"{name}_q"] for name in names]
        scales = [self._given[f"{name}_scale"] for name in names]
        return np.concatenate(codes, 1), np.concatenate(scales, 1).astype(np.float32)

    def constant(self, name: str, value: NDArray[Any]) -> str:
        import numpy as np

        self._constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(
        self, operation: str, given: list[str], result: str, *more: str, domain: str = "", **attributes: Any
    ) -> str:
        made = self._onnx.helper.make_node(operation, given, [result, *more], domain=domain, **attributes)
        self._nodes.append(made)
        return result

    def product(self, given: str, matrices: list[str], biases: list[str], result: str) -> str:
        """Multiply with matrices side by side in int8, and add their biases."""
        import numpy as np

        codes, scales = self.codes(*matrices)
        bias = np.concatenate([self.weights(name) for name in biases]).astype(np.float32)
        operands = [
            given,
            self.constant(f"{result}_codes", codes),
            self.constant(f"{result}_scales", scales.reshape(-1)),
            self.constant(f"{result}_zeros", np.zeros(scales.size, np.int8)),
            self.constant(f"{result}_bias", bias),
        ]
        return self.add("DynamicQuantizeMatMul", operands, result, domain=_FUSED)

    def sum_of(self, a: str, b: str, norm: str, result: str) -> str:
        """Add two results and bring the sum to the norm of that name."""
        operands = [a, b, *(self.constant(f"{result}_{x}", self.weights(f"{norm}.{x}")) for x in ("weight", "bias"))]
        return self.add("SkipLayerNormalization", operands, result, domain=_FUSED, epsilon=_EPSILON)

    def bytes(self) -> bytes:
        """Return the model as ONNX."""
        helper, types = self._onnx.helper, self._onnx.TensorProto
        graph = helper.make_graph(
            self._nodes, "minilm",
            [helper.make_tensor_value_info(IDS, types.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info(VECTOR, types.FLOAT, [1, _DIMENSIONS])],
            self._constants,
        )  # fmt: skip
        operators = [helper.make_opsetid("", 18), helper.make_opsetid(_FUSED, 1)]
        made: bytes = helper.make_model(graph, opset_imports=operators, ir_version=9).SerializeToString()
        return made


def graph_of(path: Path) -> bytes:
    """Return the graph as ONNX, of the package's file. It takes `IDS`, int64 of shape (1, tokens), and gives `VECTOR`,
    the mean of the tokens' states, float32 of shape (1, 384).

    Raises ImportError without onnx; KeyError, ValueError for a file of another model.
    """
    import numpy as np

    graph = _Graph(path)
    if len(graph.products) != 6 * _LAYERS:
        raise ValueError(f"{path.name} has {len(graph.products)} matrices, not {6 * _LAYERS}")
    state = _embedded(graph)
    for layer in range(_LAYERS):
        state = _layer(graph, layer, state)
    graph.add("ReduceMean", [state, graph.constant("tokens", np.array([1]))], VECTOR, keepdims=0)
    return graph.bytes()


def _embedded(graph: _Graph) -> str:
    """Add what makes states of ids: words, places, and the first type of token. The table of words stays in int8."""
    import numpy as np

    codes, scales = graph.codes(_WORDS)
    graph.add("Gather", [graph.constant("word_codes", codes), IDS], "words_int8")
    graph.add("Cast", ["words_int8"], "words_float", to=1)
    graph.add("Gather", [graph.constant("word_scales", scales), IDS], "scales")
    graph.add("Mul", ["words_float", "scales"], "words")
    codes, scales = graph.codes(_PLACES)
    places = codes.astype(np.float32) * scales + graph.weights("inner.embeddings.token_type_embeddings.weight")[0]
    graph.add("Shape", [IDS], "length", start=1, end=2)
    first = [graph.constant("places", places.astype(np.float32)), graph.constant("none", np.array([0])), "length"]
    graph.add("Slice", first, "first_places")
    graph.add("Add", ["words", "first_places"], "embedded")
    norm = [graph.constant(f"norm_{x}", graph.weights(f"inner.embeddings.LayerNorm.{x}")) for x in ("weight", "bias")]
    return graph.add("LayerNormalization", ["embedded", *norm], "state", epsilon=_EPSILON)


def _layer(graph: _Graph, layer: int, state: str) -> str:
    """Add one layer; returns its result."""
    at = f"layer{layer}"
    inner = f"inner.encoder.layer.{layer}"
    query, key, value, output, up, down = graph.products[6 * layer : 6 * layer + 6]
    biases = [f"{inner}.attention.self.{name}.bias" for name in ("query", "key", "value")]
    graph.product(state, [query, key, value], biases, f"{at}_qkv")
    graph.add("Split", [f"{at}_qkv"], f"{at}_q", f"{at}_k", f"{at}_v", axis=2, num_outputs=3)
    graph.add("MultiHeadAttention", [f"{at}_{x}" for x in "qkv"], f"{at}_seen", domain=_FUSED, num_heads=_HEADS)
    told = graph.product(f"{at}_seen", [output], [f"{inner}.attention.output.dense.bias"], f"{at}_told")
    middle = graph.sum_of(state, told, f"{inner}.attention.output.LayerNorm", f"{at}_middle")
    graph.product(middle, [up], [f"{inner}.intermediate.dense.bias"], f"{at}_up")
    graph.add("Gelu", [f"{at}_up"], f"{at}_active", domain=_FUSED)
    down = graph.product(f"{at}_active", [down], [f"{inner}.output.dense.bias"], f"{at}_down")
    return graph.sum_of(middle, down, f"{inner}.output.LayerNorm", f"{at}_state")


def open_session(graph: Path | bytes, *, threads: int = 0) -> Any:
    """Return a session that runs a graph, a file or its bytes, on the processor. threads: 0: onnxruntime decides.

    Raises ImportError, and whatever onnxruntime raises for an unusable file.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when the library is loaded, so before the import
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # what Windows has of its own
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.enable_cpu_mem_arena = False  # it keeps the most that any batch ever took
    if _are_sums_cut_off(options):  # elsewhere this only costs time: half as much again
        options.add_session_config_entry("session.x64quantprecision", "1")
    given = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def _are_sums_cut_off(options: Any) -> bool:
    """Return whether the runtime cuts off sums of large bytes, as it does on processors that lack VNNI."""
    import numpy as np
    import onnx
    import onnxruntime

    graph = onnx.parser.parse_model(_SUMS).SerializeToString()
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    sums = session.run(None, {"a": np.full((2, 64), 255, np.uint8), "b": np.full((64, 16), 127, np.int8)})[0]
    return bool((sums != 64 * 255 * 127).any())
