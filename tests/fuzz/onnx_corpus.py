#!/usr/bin/env python3
"""Writes the first inputs of fuzz_onnx, small models, without ONNX's package.

Usage: onnx_corpus.py FOLDER
"""

import struct
import sys
from pathlib import Path

FLOAT, INT64 = 1, 7


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, values, kind=INT64):
    head = b"".join(field(1, dim) for dim in dims) + field(2, kind) + field(8, name)
    if kind == INT64:
        return head + b"".join(field(7, value) for value in values)
    return head + field(9, struct.pack(f"<{len(values)}f", *values))


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, bytes):
        return field(1, name) + field(6, value) + field(20, 5)
    return field(1, name) + b"".join(field(8, each) for each in value) + field(20, 7)


def node(op, inputs, outputs, **attributes):
    return (b"".join(field(1, each) for each in inputs) +
            b"".join(field(2, each) for each in outputs) + field(4, op) +
            b"".join(field(5, attribute(*each)) for each in attributes.items()))


def info(name, dims):
    shape = b"".join(field(1, field(1 if isinstance(dim, int) else 2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))


def graph_of(nodes, constants, inputs, outputs):
    return (b"".join(field(1, each) for each in nodes) + field(2, "g") +
            b"".join(field(5, each) for each in constants) +
            b"".join(field(11, info(*each)) for each in inputs) +
            b"".join(field(12, info(*each)) for each in outputs))


def model(nodes, constants, inputs, outputs, opset=17):
    graph = graph_of(nodes, constants, inputs, outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))


def models():
    x, y = [("x", ["n", 3, 6, 6])], [("y", [])]
    yield "convolution", model(
        [node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
         node("Relu", ["c"], ["r"]), node("MaxPool", ["r"], ["y"], kernel_shape=[2, 2])],
        [tensor("w", [2, 3, 3, 3], [0.5] * 54, FLOAT), tensor("b", [2], [1.0, 2.0], FLOAT)], x, y)
    yield "shapes", model(
        [node("Shape", ["x"], ["s"]), node("Slice", ["s", "a", "b"], ["n"]),
         node("Concat", ["n", "m"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])],
        [tensor("a", [1], [0]), tensor("b", [1], [1]), tensor("m", [1], [-1])], x, y)
    yield "moves", model(
        [node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1]), node("Pad", ["t", "p"], ["q"]),
         node("Split", ["q"], ["y", "z"], axis=1), node("Gather", ["z", "i"], ["g"], axis=2),
         node("Softmax", ["g"], ["u"])],
        [tensor("p", [8], [0, 1, 0, 0, 0, 1, 0, 0]), tensor("i", [2], [-1, 0])], x,
        [("y", []), ("u", [])], 13)
    yield "products", model(
        [node("Flatten", ["x"], ["f"]), node("Gemm", ["f", "w"], ["g"], transB=1, alpha=0.5),
         node("ReduceMean", ["g"], ["m"], axes=[1]), node("Einsum", ["g", "m"], ["y"],
                                                          equation="ij,ik->kj")],
        [tensor("w", [4, 108], [0.25] * 432, FLOAT)], x, y)
    yield "resize", model(
        [node("Resize", ["x", "", "s"], ["r"], mode="linear"), node("LayerNormalization",
                                                                    ["r", "w"], ["y"])],
        [tensor("s", [4], [1.0, 1.0, 2.0, 1.5], FLOAT), tensor("w", [9], [1.0] * 9, FLOAT)], x, y)
    yield "crop", model(
        [node("Resize", ["x", "r", "", "s"], ["y"], mode="cubic", exclude_outside=1,
              coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=2.0)],
        [tensor("r", [8], [0.0, 0.0, 0.2, 0.1, 1.0, 1.0, 0.8, 1.2], FLOAT),
         tensor("s", [4], [2, 3, 5, 4])], x, y)
    yield "recurrent", model(
        [node("LSTM", ["x", "w", "r", "b", "n", "h", "", "p"], ["y", "h_n", "c_n"],
              direction="bidirectional", hidden_size=2, layout=1),
         node("GRU", ["x", "v", "q"], ["z"], linear_before_reset=1)],
        [tensor("w", [2, 8, 3], [0.5] * 48, FLOAT), tensor("r", [2, 8, 2], [0.25] * 32, FLOAT),
         tensor("b", [2, 16], [0.1] * 32, FLOAT), tensor("n", [2], [4, 4]),
         tensor("h", [2, 2, 2], [1.0] * 8, FLOAT), tensor("p", [2, 6], [0.3] * 12, FLOAT),
         tensor("v", [1, 6, 3], [0.5] * 18, FLOAT), tensor("q", [1, 6, 2], [0.5] * 12, FLOAT)],
        [("x", ["n", 4, 3])], [("y", []), ("c_n", []), ("z", [])])
    yield "places", model(
        [node("ArgMax", ["x"], ["a"], axis=-1, select_last_index=1),
         node("OneHot", ["a", "d", "v"], ["o"], axis=1), node("Hardmax", ["o"], ["h"], axis=2),
         node("Atan", ["h"], ["y"])],
        [tensor("d", [], [3]), tensor("v", [2], [-1.0, 2.0], FLOAT)], x, y)
    step = graph_of(
        [node("Add", ["v", "x"], ["n"]), node("Identity", ["c"], ["m"]),
         node("Identity", ["v"], ["w"])], [], [("i", []), ("c", []), ("v", [])],
        [("m", []), ("n", []), ("w", [])])
    row = graph_of([node("Add", ["s", "r"], ["t"]), node("Identity", ["t"], ["u"])], [],
                   [("s", [2]), ("r", [2])], [("t", [2]), ("u", [2])])
    branches = [graph_of([node(op, ["y", "x"], ["z"])], [], [], [("z", [])])
                for op in ("Add", "Mul")]
    yield "control", model(
        [node("Loop", ["k", "", "x"], ["y", "all"], body=step),
         node("If", ["k"], ["q"], then_branch=branches[0], else_branch=branches[1]),
         node("Scan", ["zero", "q"], ["f", "g"], body=row, num_scan_inputs=1, scan_input_axes=[1],
              scan_output_axes=[1], scan_input_directions=[1])],
        [tensor("k", [], [3]), tensor("zero", [2], [0.0, 0.0], FLOAT)], [("x", [2, 3])],
        [("all", []), ("f", []), ("g", [])])
    yield "changes", model(
        [node("Pad", ["x", "p"], ["a"], mode="reflect"),
         node("TopK", ["a", "k"], ["v", "i"], axis=1, largest=0),
         node("ScatterElements", ["a", "i", "v"], ["b"], axis=1, reduction="add"),
         node("ScatterND", ["b", "at", "u"], ["y"], reduction="mul"),
         node("NonZero", ["k"], ["z"])],
        [tensor("p", [4], [0, 1, 1, 2]), tensor("k", [1], [3]), tensor("at", [2, 1], [1, -1]),
         tensor("u", [2, 8], [1.0] * 16, FLOAT)], [("x", [2, 5])], [("y", []), ("z", [])], 18)
    yield "samples", model(
        [node("GridSample", ["x", "g"], ["a"], mode="cubic", padding_mode="reflection",
              align_corners=1),
         node("RoiAlign", ["a", "r", "b"], ["y"], output_height=2, output_width=2,
              sampling_ratio=2),
         node("MaxPool", ["a"], ["p", "q"], kernel_shape=[2, 2], pads=[1, 0, 0, 1]),
         node("Einsum", ["p"], ["e"], equation="...ii->...i"),
         node("DFT", ["g"], ["w"], onesided=1)],
        [tensor("b", [2], [0, 0])],
        [("x", [1, 2, 3, 4]), ("g", [1, 3, 3, 2]), ("r", [2, 4])],
        [("y", []), ("q", []), ("e", []), ("w", [])], 20)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, text in models():
        (Path(sys.argv[1]) / name).write_bytes(text)


if __name__ == "__main__":
    main()
