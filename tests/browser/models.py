"""A model of ONNX with many nodes, made up: layers with a way around each, as in ResNet, and some
records of its tasks."""

import json
import struct

from records import HOSTILE, record, run_of


def field(number, value):
    """A field of a message of Protobuf."""

    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(op, inputs, output):
    names = b"".join(field(1, name) for name in inputs)
    return field(1, names + field(2, output) + field(3, output + HOSTILE) + field(4, op))


def shaped(name, shape):
    sizes = b"".join(field(1, field(1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, sizes)))


def weight(name, rows, columns):
    data = struct.pack("<f", 0.125) * (rows * columns)
    return field(5, field(1, rows) + field(1, columns) + field(2, 1) + field(8, name)
                 + field(9, data))


def write(path, layers, sizes=(24, 40)):
    """In each layer, y = relu(x w) v + x; what is between has one of the sizes."""
    graph, x = b"", "x"
    for layer in range(layers):
        inner = sizes[layer % len(sizes)]
        w, v, a, b, c, y = (f"{name}{layer}" for name in "wvabcy")
        graph += weight(w, 32, inner) + weight(v, inner, 32)
        graph += node("MatMul", [x, w], a) + node("Relu", [a], b) + node("MatMul", [b, v], c)
        graph += node("Add", [c, x], y)
        x = y
    graph += field(2, "layers" + HOSTILE)
    graph += field(11, shaped("x", (16, 32))) + field(12, shaped(x, (16, 32)))
    with open(path, "wb") as file:
        file.write(field(1, 8) + field(7, graph) + field(8, field(2, 17)))


def write_records(path, keys, target):
    """A record for each of the keys, of the naive loops on another machine."""
    run = run_of(target=target)
    with open(path, "w", encoding="utf-8") as file:
        for number, key in enumerate(keys):
            line = record(key, run, 0, {"tile.p": 1}, 1e-4 * (number + 1), 0, number)
            file.write(json.dumps(line) + "\n")
