"""Random models of several nodes, with the results of ONNX Runtime, as ONNX's node tests are.

They are used as those of random_nodes.py. Views of views, values that several nodes read, several
outputs, and nodes whose results nobody reads are among them.
"""
import argparse
import pathlib
import shutil

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper

from random_nodes import Case, write


class Chain:
    def __init__(self, rng):
        self.rng, self.case = rng, Case(rng)
        self.nodes, self.constants, self.values, self.inputs = [], {}, {}, []
        for _ in range(rng.integers(1, 3)):
            name = f"in{len(self.inputs)}"
            self.inputs.append(name)
            self.values[name] = self.case.array(self.start())

    def start(self):
        small = lambda *sizes: int(self.case.pick(*sizes))
        if self.case.coin(0.6):
            return [small(1, 2, 3), small(1, 3, 4, 8), small(5, 7, 8), small(5, 6, 9)]
        last = [small(4, 8, 13)] if self.case.coin() else []
        return [small(1, 2, 5, 7), small(3, 5, 16)] + last

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def ints(self, values):
        return self.constant(np.array([int(v) for v in values], np.int64))

    def add(self, op, inputs, outputs=1, **attributes):
        """Adds a node and computes it by itself; nothing where that is refused or too large."""
        names = [f"v{len(self.values)}_{o}" for o in range(outputs)]
        node = helper.make_node(op, inputs, names, **attributes)
        reads = {name for name in inputs if name}
        feeds = {name: self.values[name] for name in reads if name in self.values}
        model = self.model([node], feeds, {n: a for n, a in self.constants.items() if n in reads},
                           names)
        try:
            results = run(model, feeds)
        except Exception:  # of several types, by what is refused
            return
        if any(r.size == 0 or r.size > 20000 or not np.all(np.isfinite(r)) for r in results):
            return
        if any(np.abs(r).max() > 1e3 for r in results):
            return
        self.nodes.append(node)
        self.values.update(zip(names, results))

    @staticmethod
    def model(nodes, inputs, constants, outputs):
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype),
                                               a.shape) for name, a in inputs.items()]
        graph = helper.make_graph(
            nodes, "random", infos, [helper.make_empty_tensor_value_info(o) for o in outputs],
            [numpy_helper.from_array(a, name) for name, a in constants.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def step(self):
        c, rng = self.case, self.rng
        names = list(self.values)
        x = names[-1] if c.coin(0.6) else c.pick(*names)
        shape = list(self.values[x].shape)
        rank = len(shape)
        if rank == 0:
            return self.add("Unsqueeze", [x, self.ints([0])])
        axis = int(rng.integers(-rank, rank))
        alike = [n for n in names if self.values[n].shape == self.values[x].shape]
        kind = c.pick("unary", "unary", "binary", "binary", "constant", "move", "move", "move",
                      "row", "reduce", "product", "image", "image", "image", "choose")
        if kind == "unary":
            self.add(c.pick("Relu", "Sigmoid", "Tanh", "Abs", "HardSwish", "Neg", "Softplus",
                            "Identity", "Erf"), [x])
        elif kind == "binary":
            self.add(c.pick("Add", "Mul", "Sub", "Max"), [x, c.pick(*alike)])
        elif kind == "constant":
            pair = [x, self.constant(c.array(c.broadcast(shape)))]
            self.add(c.pick("Add", "Mul"), pair if c.coin() else pair[::-1])
        elif kind == "row":
            self.add(c.pick("Softmax", "LogSoftmax"), [x], axis=axis)
        elif kind == "reduce":
            self.add(c.pick("ReduceMean", "ReduceMax", "ReduceL2"), [x], axes=[axis],
                     keepdims=int(c.coin(0.7)))
        elif kind == "product":
            self.add("MatMul", [x, self.constant(c.array([shape[-1], c.size()]))])
        elif kind == "choose":
            self.add("Greater", [x, self.constant(np.float32(0.1))])
            self.add("Where", [list(self.values)[-1], x, c.pick(*alike)])
        elif kind == "move":
            self.move(x, shape, axis)
        elif rank == 4:
            self.image(x, shape)

    def move(self, x, shape, axis):
        c, rng, rank = self.case, self.rng, len(shape)
        op = c.pick("Transpose", "Reshape", "Flatten", "Slice", "Concat", "Split", "Pad", "Gather",
                    "Unsqueeze", "Squeeze", "Expand", "Tile")
        if op == "Transpose":
            self.add(op, [x], perm=[int(d) for d in rng.permutation(rank)])
        elif op == "Reshape":
            self.add(op, [x, self.ints(list(rng.permutation(shape)) + [1] * int(c.coin(0.2)))])
        elif op == "Flatten":
            self.add(op, [x], axis=int(rng.integers(0, rank + 1)))
        elif op == "Slice":
            self.add(op, [x, self.ints([c.pick(0, 1, -1)]), self.ints([c.pick(-9, 9, 3)]),
                          self.ints([axis]), self.ints([c.pick(1, 2, -1)])])
        elif op == "Concat":
            alike = [n for n in self.values if self.values[n].shape == self.values[x].shape]
            own = self.values[x].dtype
            alike = [n for n in alike if self.values[n].dtype == own]
            self.add(op, [x] + [c.pick(*alike) for _ in range(rng.integers(1, 3))], axis=axis)
        elif op == "Split":
            first = int(rng.integers(0, shape[axis])) if shape[axis] > 1 else 0
            if first:
                self.add(op, [x, self.ints([first, shape[axis] - first])], 2, axis=axis)
        elif op == "Pad":
            self.add(op, [x, self.ints(c.pick(0, 0, 1, 2) for _ in range(2 * rank))])
        elif op == "Gather":
            self.add(op, [x, self.ints(rng.integers(-shape[axis], shape[axis], 3))], axis=axis)
        elif op == "Unsqueeze":
            self.add(op, [x, self.ints([axis])])
        elif op == "Squeeze":
            self.add(op, [x])
        elif op == "Expand":
            self.add(op, [x, self.ints([2] + shape)])
        else:
            self.add(op, [x, self.ints(c.pick(1, 1, 2) for _ in shape)])

    def image(self, x, shape):
        c = self.case
        channels = shape[1]
        op = c.pick("Conv", "Conv", "Conv", "MaxPool", "AveragePool", "BatchNormalization",
                    "GlobalAveragePool", "ConvTranspose", "Resize", "DepthToSpace")
        if op in ("Conv", "ConvTranspose"):
            k, s, outs = int(c.pick(1, 3)), int(c.pick(1, 2)), int(c.pick(1, 4, 5, 8))
            weight = [outs, channels] if op == "Conv" else [channels, outs]
            operands = [x, self.constant(c.array(weight + [k, k], low=-1, high=1))]
            if c.coin():
                operands.append(self.constant(c.array([outs])))
            self.add(op, operands, pads=[k // 2] * 4, strides=[s, s])
        elif op in ("MaxPool", "AveragePool"):  # ONNX Runtime takes windows that are too large
            kernel = min(int(c.pick(2, 3)), *shape[2:])
            self.add(op, [x], kernel_shape=[kernel] * 2, strides=[int(c.pick(1, 2))] * 2)
        elif op == "BatchNormalization":
            self.add(op, [x] + [self.constant(c.array([channels], low=0.2)) for _ in range(4)])
        elif op == "Resize":
            scales = np.array([1, 1, 2, c.pick(1, 2)], np.float32)
            self.add(op, [x, "", self.constant(scales)], mode=c.pick("nearest", "linear"))
        elif op == "DepthToSpace":
            self.add(op, [x], blocksize=2)
        else:
            self.add(op, [x])

    def outputs(self):
        made = [name for node in self.nodes for name in node.output]
        rest = [n for n in made if self.case.coin(0.15)] + made[-1:]
        return list(dict.fromkeys(rest))


def run(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=12)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    for number in range(arguments.count):
        chain = Chain(np.random.default_rng([arguments.seed, number]))
        for _ in range(chain.rng.integers(2, arguments.steps + 1)):
            chain.step()
        if not chain.nodes:
            continue
        feeds = {name: chain.values[name] for name in chain.inputs}
        model = Chain.model(chain.nodes, feeds, chain.constants, chain.outputs())
        results = run(model, feeds)
        for info, result in zip(model.graph.output, results):
            kind = helper.np_dtype_to_tensor_dtype(result.dtype)
            info.CopyFrom(helper.make_tensor_value_info(info.name, kind, result.shape))
        write(arguments.folder / f"test_model_{number}", model, list(feeds.values()), results)


if __name__ == "__main__":
    main()
