"""The ONNX graph of a BERT or MPNet sentence encoder, fused for onnxruntime.

NOTE [packed tokens]: the interface is the usual one, `input_ids` and `attention_mask` of shape
(batch, length), but padding is dropped at once: every matrix product and normalisation works on
the (tokens, hidden) matrix of real tokens. Only attention needs the rectangle, and gathers it.

NOTE [no skip-layer-norm]: onnxruntime's SkipLayerNormalization runs over ten times slower on the
CPU than Add and LayerNormalization, so the graph uses these two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from framejudge.encoder.architecture import Architecture

__all__ = ["INPUTS", "OUTPUTS", "GraphBuilder", "relative_bias_table"]

INPUTS = ("input_ids", "attention_mask")
OUTPUTS = ("sentence_embedding", "pooled")
"""The L2-normalised embedding, and the same before normalisation; both (batch, hidden) float32."""

_OPSET = 17
_IR_VERSION = 8
_MAX_DISTANCE = 128
_TINY_NORM = 1e-12


def relative_bias_table(weight: NDArray[np.float32], length: int) -> NDArray[np.float32]:
    """Spread MPNet's bucketed attention bias over relative positions.

    Bucketing is that of T5 (Raffel et al. 2020, section 2.1): half of the buckets for each
    direction, exact for short distances, logarithmic up to 128, one bucket beyond.

    Args:
        weight: (buckets, heads) float32 learned bias.
        length: Longest sequence in tokens.

    Returns:
        (heads, 2 * length - 1) float32; column `key - query + length - 1`.

    Examples:
        >>> import numpy as np
        >>> weight = np.arange(32, dtype=np.float32)[:, None]
        >>> relative_bias_table(weight, 3)[0].tolist()
        [2.0, 1.0, 0.0, 17.0, 18.0]
    """
    half = weight.shape[0] // 2
    exact = half // 2
    offset = np.arange(-(length - 1), length)
    distance = np.abs(offset)
    # float32 all the way: where the logarithm meets a whole number, the bucket hangs on rounding.
    ratio = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact))
    scaled = ratio / np.float32(math.log(_MAX_DISTANCE / exact)) * np.float32(half - exact)
    far = np.minimum(exact + scaled.astype(np.int64), half - 1)
    bucket = np.where(distance < exact, distance, far) + np.where(offset > 0, half, 0)
    return np.ascontiguousarray(weight[bucket].T, dtype=np.float32)


class GraphBuilder:
    """Lays out one model's graph; weights are asked for by name and registered by the caller."""

    def __init__(
        self,
        architecture: Architecture,
        initializer: Callable[[str, NDArray[Any]], str],
        tensor: Callable[[str], NDArray[np.float32]],
    ) -> None:
        """Build for `architecture`.

        Args:
            architecture: The model.
            initializer: Stores an array under a name and returns the name.
            tensor: Loads a float32 weight by its name without the family's prefix.
        """
        self._arch = architecture
        self._store = initializer
        self._tensor = tensor
        self._nodes: list[Any] = []

    def build(self, name: str) -> Any:
        """Return the graph as an `onnx.ModelProto` without its weights' data."""
        from onnx import TensorProto, helper  # noqa: PLC0415

        hidden = self._embeddings()
        bias = self._attention_bias()
        for layer in range(self._arch.layers):
            hidden = self._layer(layer, hidden, bias)
        self._pooled(hidden)
        inputs = [
            helper.make_tensor_value_info(key, TensorProto.INT64, ["batch", "length"])
            for key in INPUTS
        ]
        outputs = [
            helper.make_tensor_value_info(key, TensorProto.FLOAT, ["batch", self._arch.hidden])
            for key in OUTPUTS
        ]
        graph = helper.make_graph(self._nodes, name, inputs, outputs)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="framejudge"
        )

    def _op(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Append a node of the ONNX standard and return its output's name."""
        from onnx import helper  # noqa: PLC0415

        self._nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def _fused(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Append a node of onnxruntime's own set and return its output's name."""
        return self._op(kind, inputs, output, domain="com.microsoft", **attributes)

    def _constant(self, name: str, value: Any) -> str:
        """Store a small int64 constant."""
        return self._store(name, np.asarray(value, dtype=np.int64))

    def _weight(self, name: str) -> str:
        """Store a weight as it is in the file."""
        return self._store(name, self._tensor(name))

    def _matrix(self, name: str) -> str:
        """Store a linear layer's weight as (in, out), which is how MatMul takes it."""
        return self._store(name, np.ascontiguousarray(self._tensor(name).T))

    def _product(self, linear: str, value: str, output: str) -> str:
        """Append a linear layer without its bias."""
        return self._op("MatMul", [value, self._matrix(f"{linear}.weight")], output)

    def _linear(self, linear: str, value: str, output: str) -> str:
        """Append a linear layer with its bias."""
        weight, bias = self._matrix(f"{linear}.weight"), self._weight(f"{linear}.bias")
        return self._op("Gemm", [value, weight, bias], output)

    def _embeddings(self) -> str:
        """Pack the tokens, look them up and normalise: (tokens, hidden)."""
        flat = self._constant("flat", [-1])
        first = self._constant("axis_0", [0])
        one = self._constant("one", 1)
        mask = self._op("Reshape", ["attention_mask", flat], "mask_flat")
        self._op("Squeeze", [self._op("NonZero", [mask], "real"), first], "slot_of_token")
        running = self._op("CumSum", [mask, self._constant("cumsum_flat", 0)], "running")
        running = self._op("Sub", [running, one], "running_0")
        running = self._op("Max", [running, self._constant("zero", 0)], "running_at_0")
        shape = self._op("Shape", ["attention_mask"], "mask_shape")
        self._op("Reshape", [running, shape], "token_of_slot")
        ids = self._pack_ids("input_ids", "ids")
        positions = self._pack_ids(self._positions(one), "positions")
        words = self._op(
            "Gather", [self._weight("embeddings.word_embeddings.weight"), ids], "word_vectors"
        )
        places = self._op("Gather", [self._position_table(), positions], "position_vectors")
        total = self._op("Add", [words, places], "embedding_sum")
        return self._normalized("embedded", "embeddings.LayerNorm", total)

    def _pack_ids(self, name: str, output: str) -> str:
        """Take the real tokens' entries out of a (batch, length) array."""
        flat = self._op("Reshape", [name, "flat"], f"{output}_flat")
        return self._op("Gather", [flat, "slot_of_token"], output)

    def _positions(self, one: str) -> str:
        """Return (batch, length) rows of the position table."""
        axis = self._constant("cumsum_row", 1)
        if self._arch.family == "bert":
            counted = self._op("CumSum", ["attention_mask", axis], "position_count")
            return self._op("Sub", [counted, one], "position_rows")
        # MPNet counts the tokens that are not padding, and a "<pad>" written in a text is padding.
        pad = self._constant("pad_id", self._arch.pad_id)
        padding = self._op("Equal", ["input_ids", pad], "is_pad")
        real = self._op("Not", [padding], "is_not_pad")
        real = self._op("Cast", [real], "is_not_pad_int", to=7)
        counted = self._op("CumSum", [real, axis], "position_count")
        counted = self._op("Mul", [counted, real], "position_count_real")
        return self._op("Add", [counted, pad], "position_rows")

    def _position_table(self) -> str:
        """Store the position table; BERT's has its only token type added."""
        table = self._tensor("embeddings.position_embeddings.weight")
        if self._arch.family == "bert":
            table = table + self._tensor("embeddings.token_type_embeddings.weight")[0]
        return self._store("embeddings.position_embeddings.weight", table)

    def _attention_bias(self) -> str:
        """Cast the mask for every layer's attention, and return MPNet's bias; BERT has none."""
        from onnx import TensorProto  # noqa: PLC0415

        self._op("Cast", ["attention_mask"], "key_mask", to=TensorProto.INT32)
        return self._relative_bias() if self._arch.buckets else ""

    def _relative_bias(self) -> str:
        """Return MPNet's (1, heads, length, length) bias."""
        arch = self._arch
        longest = arch.positions - arch.pad_id - 1
        table = self._store(
            "relative_bias",
            relative_bias_table(self._tensor("encoder.relative_attention_bias.weight"), longest),
        )
        length = self._op("Gather", ["mask_shape", self._constant("index_1", 1)], "length")
        places = self._op("Range", ["zero", length, "one"], "places")
        rows = self._op("Unsqueeze", [places, self._constant("axis_1", [1])], "query_places")
        shift = self._op("Sub", [places, rows], "key_minus_query")
        index = self._op("Add", [shift, self._constant("shift", longest - 1)], "bias_index")
        bias = self._op("Gather", [table, index], "bias_heads", axis=1)
        return self._op("Unsqueeze", [bias, "axis_0"], "attention_bias")

    def _names(self, layer: int) -> dict[str, str]:
        """Map the parts of a layer to the names its family gives them."""
        base = f"encoder.layer.{layer}"
        if self._arch.family == "mpnet":
            attention = f"{base}.attention.attn"
            own = {"q": "q", "k": "k", "v": "v"}
            out, norm = f"{attention}.o", f"{base}.attention.LayerNorm"
        else:
            attention = f"{base}.attention.self"
            own = {"q": "query", "k": "key", "v": "value"}
            out, norm = f"{base}.attention.output.dense", f"{base}.attention.output.LayerNorm"
        return {
            **{key: f"{attention}.{value}" for key, value in own.items()},
            "out": out,
            "norm": norm,
            "up": f"{base}.intermediate.dense",
            "down": f"{base}.output.dense",
            "last_norm": f"{base}.output.LayerNorm",
        }

    def _layer(self, layer: int, hidden: str, bias: str) -> str:
        """Append one transformer layer."""
        names = self._names(layer)
        context = self._attention(layer, names, hidden, bias)
        attended = self._residual(f"attended_{layer}", names["out"], names["norm"], context, hidden)
        wide = self._product(names["up"], attended, f"up_{layer}")
        wide = self._activation(layer, wide, f"{names['up']}.bias")
        return self._residual(f"layer_{layer}", names["down"], names["last_norm"], wide, attended)

    def _activation(self, layer: int, value: str, bias: str) -> str:
        """Append the exact Gelu of a value with its bias added."""
        return self._fused("BiasGelu", [value, self._weight(bias)], f"gelu_{layer}")

    def _attention(self, layer: int, names: dict[str, str], hidden: str, bias: str) -> str:
        """Append multi-head attention: packed in, packed out."""
        rectangles = []
        for key in ("q", "k", "v"):
            packed = self._product(names[key], hidden, f"{key}_{layer}")
            rectangles.append(self._op("Gather", [packed, "token_of_slot"], f"{key}_{layer}_rows"))
        context = self._context(layer, rectangles, names, bias)
        if layer == 0:
            self._constant("rows_hidden", [-1, self._arch.hidden])
        flat = self._op("Reshape", [context, "rows_hidden"], f"context_{layer}_flat")
        return self._op("Gather", [flat, "slot_of_token"], f"context_{layer}")

    def _context(self, layer: int, rectangles: list[str], names: dict[str, str], bias: str) -> str:
        """Append attention over the padded rectangles of queries, keys and values."""
        biases = [self._tensor(f"{names[key]}.bias") for key in ("q", "k", "v")]
        added = self._store(f"qkv_bias_{layer}", np.concatenate(biases))
        return self._fused(
            "MultiHeadAttention",
            [*rectangles, added, "key_mask", bias],
            f"context_{layer}_rows",
            num_heads=self._arch.heads,
        )

    def _residual(self, output: str, linear: str, norm: str, value: str, skip: str) -> str:
        """Append a linear layer whose result is added to `skip` and normalised."""
        product = self._linear(linear, value, f"{output}_product")
        return self._normalized(output, norm, self._op("Add", [product, skip], f"{output}_sum"))

    def _normalized(self, output: str, norm: str, value: str) -> str:
        """Append a layer normalisation; see NOTE [no skip-layer-norm]."""
        scale, shift = self._weight(f"{norm}.weight"), self._weight(f"{norm}.bias")
        epsilon = self._arch.epsilon
        return self._op("LayerNormalization", [value, scale, shift], output, epsilon=epsilon)

    def _pooled(self, hidden: str) -> None:
        """Append pooling over the real tokens and the L2 normalisation."""
        rows = self._op("Gather", [hidden, "token_of_slot"], "hidden_rows")
        if self._arch.pooling == "cls":
            start = self._constant("index_0", 0)
            pooled = self._op("Gather", [rows, start], OUTPUTS[1], axis=1)
        else:
            weights = self._op("Cast", ["attention_mask"], "mask_float", to=1)
            weights = self._op("Unsqueeze", [weights, self._constant("axis_2", [2])], "mask_rows")
            pooled = self._mean(rows, weights) if self._arch.pooling == "mean" else self._max(rows)
        norm = self._op("ReduceL2", [pooled], "norm", axes=[1], keepdims=1)
        tiny = self._store("tiny_norm", np.array(_TINY_NORM, np.float32))
        self._op("Div", [pooled, self._op("Max", [norm, tiny], "norm_floor")], OUTPUTS[0])

    def _mean(self, rows: str, weights: str) -> str:
        """Append the mean over real tokens."""
        axis = self._constant("token_axis", [1])
        masked = self._op("Mul", [rows, weights], "hidden_masked")
        total = self._op("ReduceSum", [masked, axis], "hidden_sum", keepdims=0)
        count = self._op("ReduceSum", [weights, axis], "token_count", keepdims=0)
        return self._op("Div", [total, count], OUTPUTS[1])

    def _max(self, rows: str) -> str:
        """Append the largest value over real tokens."""
        lowest = self._store("lowest", np.array(np.finfo(np.float32).min, np.float32))
        real = self._op("Cast", ["mask_rows"], "mask_bool", to=9)
        masked = self._op("Where", [real, rows, lowest], "hidden_masked")
        return self._op("ReduceMax", [masked], OUTPUTS[1], axes=[1], keepdims=0)
