"""Random models of one operator each, with the results of ONNX Runtime, as ONNX's node tests are.

    python -m venv build/onnx && build/onnx/bin/pip install onnx onnxruntime
    build/onnx/bin/python tests/onnx/random_nodes.py build/nodes --count 2000 --seed 1
    LATHE_ONNX_TESTS=build/nodes build/release/bin/onnx_nodes_test
    LATHE_ONNX_TESTS=build/nodes build/release/bin/api_model_nodes_test

Shapes are awkward ones: primes, ones, and what leaves a rest everywhere. What ONNX Runtime refuses
is left out, and so are images of another size on which it and ONNX's own reference do not agree:
one rounds lengths, the other places.
"""
import argparse
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

SIZES = [1, 2, 3, 5, 7, 11, 13, 17]
FAMILIES = []


def family(function):
    FAMILIES.append(function)
    return function


class Case:
    """A node's inputs and attributes. What is in `known` is in the model itself."""

    def __init__(self, rng):
        self.rng = rng
        self.inputs, self.known, self.attributes = [], [], {}
        self.op, self.opset, self.outputs, self.label = "", 17, 1, ""

    def pick(self, *items):
        return items[self.rng.integers(len(items))]

    def coin(self, chance=0.5):
        return self.rng.random() < chance

    def size(self):
        return int(self.pick(*SIZES))

    def shape(self, least=1, most=4, elements=4000):
        while True:
            out = [self.size() for _ in range(self.rng.integers(least, most + 1))]
            if np.prod(out) <= elements:
                return out

    def array(self, shape, dtype=np.float32, low=-2.0, high=2.0):
        if dtype == np.bool_:
            return self.rng.random(shape) < 0.5
        if np.issubdtype(dtype, np.integer):
            low = 0 if np.issubdtype(dtype, np.unsignedinteger) else int(low * 5)
            return self.rng.integers(low, int(high * 5) + 1, shape).astype(dtype)
        return np.asarray(self.rng.uniform(low, high, shape)).astype(dtype)

    def add(self, array, known=None):
        """None: an input or a part of the model, by chance."""
        self.inputs.append(None if array is None else np.asarray(array))
        self.known.append(self.coin(0.3) if known is None else known)
        return self

    def broadcast(self, shape):
        out = [1 if self.coin(0.3) else size for size in shape]
        return out[self.rng.integers(0, len(out) + 1) if self.coin(0.3) else 0:]

    def model(self):
        names, inputs, constants = [], [], []
        for i, (array, known) in enumerate(zip(self.inputs, self.known)):
            name = "" if array is None else f"x{i}"
            names.append(name)
            if array is None:
                continue
            if known:
                constants.append(numpy_helper.from_array(array, name))
            else:
                kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
        outputs = [f"y{o}" for o in range(self.outputs)]
        node = helper.make_node(self.op, names, outputs, **self.attributes)
        infos = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph([node], "random", inputs, infos, constants)
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


@family
def unary(c):
    c.op = c.pick("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Sqrt", "Abs", "Softplus", "Softsign",
                  "HardSwish", "Sin", "Cos", "Sinh", "Cosh", "Asinh", "Floor", "Ceil", "Round",
                  "Sign", "Neg", "Reciprocal", "LeakyRelu", "Elu", "Celu", "Selu",
                  "ThresholdedRelu", "HardSigmoid", "Shrink", "IsNaN", "Identity", "Atanh",
                  "Acosh", "Log", "Tan", "Mish", "Asin", "Acos", "Atan")
    c.opset = 18 if c.op == "Mish" else 17
    low, high = {"Sqrt": (0, 9), "Log": (0.01, 9), "Atanh": (-0.99, 0.99), "Acosh": (1, 9),
                 "Asin": (-1, 1), "Acos": (-1, 1),
                 "Reciprocal": (0.1, 4)}.get(c.op, (-6, 6))
    if c.op in ("Tan", "Sinh", "Cosh", "Exp", "Atan") and c.coin():
        low, high = -20, 20
    c.add(c.array(c.shape(), low=low, high=high), False)
    if c.op in ("LeakyRelu", "Elu", "Celu", "ThresholdedRelu") and c.coin():
        c.attributes["alpha"] = float(c.rng.uniform(0.1, 2))
    if c.op == "HardSigmoid" and c.coin():
        c.attributes.update(alpha=0.3, beta=0.4)
    if c.op == "Shrink" and c.coin():
        c.attributes.update(lambd=1.5, bias=0.5)


@family
def binary(c):
    c.op = c.pick("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Less", "LessOrEqual",
                  "Greater", "GreaterOrEqual", "Equal", "Mod", "PRelu", "And", "Or", "Xor",
                  "BitShift", "Mean", "Sum")
    shape = c.shape()
    dtype = c.pick(np.float32, np.float32, np.int32, np.int64, np.float64)
    if c.op in ("And", "Or", "Xor"):
        dtype = np.bool_
    if c.op in ("PRelu", "Mean", "Sum"):
        dtype = np.float32
    if c.op == "BitShift":
        dtype = c.pick(np.uint8, np.uint32)
        c.attributes["direction"] = c.pick("LEFT", "RIGHT")
    a, b = c.array(shape, dtype), c.array(c.broadcast(shape), dtype)
    if c.op == "BitShift":
        b %= 9
    if c.op in ("Div", "Mod"):
        b = np.where(b == 0, np.ones_like(b), b)
    if c.op == "Mod":
        c.attributes["fmod"] = 1 if np.issubdtype(dtype, np.floating) or c.coin() else 0
        if dtype in (np.float32, np.float64) and c.coin():  # near to whole quotients
            a, b = (np.round(a * 10) / 10).astype(dtype), np.full_like(b, 0.1)
    if c.op == "Pow":
        a = np.abs(a) + (0 if np.issubdtype(dtype, np.integer) else dtype(0.1))
        b = c.array(b.shape, c.pick(np.float32, np.int32, np.int64, dtype))
        if np.issubdtype(dtype, np.integer):
            b = np.abs(b)
        if np.issubdtype(b.dtype, np.integer):
            b = b % 6
    if c.coin() and c.op not in ("PRelu", "Pow", "Mod", "BitShift", "Div"):
        a, b = b, a
    c.add(a, False).add(b)


@family
def ternary(c):
    c.op = c.pick("Where", "Clip")
    shape = c.shape()
    if c.op == "Where":
        dtype = c.pick(np.float32, np.int64, np.int32, np.uint8)
        c.add(c.array(c.broadcast(shape), np.bool_), False)
        c.add(c.array(shape, dtype)).add(c.array(c.broadcast(shape), dtype))
        return
    dtype = c.pick(np.float32, np.int32, np.int64, np.float64)
    c.add(c.array(shape, dtype), False)
    c.add(np.array(-1, dtype) if c.coin(0.7) else None).add(np.array(1, dtype))


@family
def casts(c):
    c.op = "Cast"
    dtype = c.pick(np.float32, np.float64, np.int32, np.int64, np.uint8, np.int8, np.bool_,
                   np.float16)
    c.add(c.array(c.shape(), dtype), False)
    c.attributes["to"] = int(c.pick(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32,
                                    TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16))


@family
def reductions(c):
    c.op = c.pick("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                  "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
    c.opset = c.pick(13, 17, 18)
    shape = c.shape()
    dtype = c.pick(np.float32, np.float32, np.int32, np.float64)
    if c.op in ("ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"):
        dtype = c.pick(np.float32, np.float64)
    positive = c.op == "ReduceLogSum"
    c.add(c.array(shape, dtype, 1 if positive else -2, 2), False)
    axes = sorted(c.rng.choice(len(shape), c.rng.integers(1, len(shape) + 1), replace=False))
    axes = [int(a - len(shape) if c.coin() else a) for a in axes]
    c.attributes["keepdims"] = int(c.coin())
    if c.coin(0.2):
        return
    if c.opset >= 18 or c.op == "ReduceSum":
        c.add(np.array(axes, np.int64), True)
    else:
        c.attributes["axes"] = axes


@family
def extremes(c):
    c.op = c.pick("ArgMax", "ArgMin", "TopK", "CumSum", "Hardmax")
    shape = c.shape()
    axis = int(c.rng.integers(-len(shape), len(shape)))
    whole = c.coin()
    x = c.array(shape, c.pick(np.float32, np.int32) if whole else np.float32)
    if whole:
        x = np.round(x)  # ties
    if c.op == "TopK" and c.coin(0.3):
        x.flat[c.rng.integers(x.size)] = -9
    if c.op == "Hardmax":
        x = x.astype(np.float32)
    c.add(x, False)
    if c.op == "CumSum":
        c.add(np.array(axis, np.int64), True)
        c.attributes.update(exclusive=int(c.coin()), reverse=int(c.coin()))
        return
    c.attributes["axis"] = axis
    if c.op == "TopK":
        c.outputs = 2
        c.attributes["largest"] = int(c.coin())
        c.add(np.array([c.rng.integers(1, shape[axis] + 1)], np.int64), True)
    elif c.op != "Hardmax":
        c.attributes.update(keepdims=int(c.coin()), select_last_index=int(c.coin()))


@family
def rows(c):
    c.op = c.pick("Softmax", "LogSoftmax", "LayerNormalization")
    shape = c.shape()
    axis = int(c.rng.integers(-len(shape), len(shape)))
    c.attributes["axis"] = axis
    c.add(c.array(shape, high=9), False)
    if c.op == "LayerNormalization":
        row = shape[axis:]
        c.add(c.array(row))
        if c.coin():
            c.add(c.array(row))
        c.outputs = int(c.pick(1, 1, 3))
    else:
        c.opset = int(c.pick(11, 13, 17))


@family
def norms(c):
    c.op = c.pick("BatchNormalization", "InstanceNormalization", "LRN")
    shape = c.shape(3, 4)
    c.add(c.array(shape), False)
    if c.op == "LRN":
        c.attributes.update(size=int(c.pick(1, 2, 3, 4, 5)), alpha=0.5, beta=0.6, bias=1.5)
        return
    known = c.coin(0.7)
    for _ in range(2):
        c.add(c.array([shape[1]]), known)
    if c.op == "BatchNormalization":
        c.add(c.array([shape[1]]), known).add(c.array([shape[1]], low=0.1), known)
    if c.coin():
        c.attributes["epsilon"] = 0.01


@family
def products(c):
    c.op = c.pick("MatMul", "Gemm", "Einsum")
    m, n, k = c.size(), c.size(), c.size()
    if c.op == "Gemm":
        ta, tb = c.coin(), c.coin()
        c.attributes.update(transA=int(ta), transB=int(tb))
        if c.coin():
            c.attributes["alpha"] = 0.5
        if c.coin():
            c.attributes["beta"] = float(c.pick(0.25, 0.0))
        c.add(c.array([k, m] if ta else [m, k]), False).add(c.array([n, k] if tb else [k, n]))
        if c.coin(0.7):
            c.add(c.array(c.pick([m, n], [1, n], [m, 1], [n], [1], [], [1, 1])))
        return
    if c.op == "Einsum":
        c.attributes["equation"] = c.pick("ab,bc->ac", "abc,acd->abd", "ab,ab->", "abc->cab",
                                          "ab,cb,b->ac", "ij,jk", "bij,bjk->bik", "ab->b", "aa->a",
                                          "abcd,aecd->eb", "...ab,...bc->...ac", "...ii->...i",
                                          "...a,a")
        sizes = {letter: int(c.pick(1, 2, 3, 5, 7)) for letter in "abcdeijk"}
        dots = c.shape(0, 2, 10) if c.coin(0.7) else []
        for word in c.attributes["equation"].split("->")[0].split(","):
            own = c.broadcast(dots) if word.startswith("...") and dots else []
            own += [sizes[letter] for letter in word.lstrip(".")]
            c.add(c.array(own), len(c.inputs) > 0 and c.coin(0.3))
        return
    batch = c.shape(0, 3, 30) if c.coin(0.7) else []
    a, b = c.broadcast(batch) if batch else [], c.broadcast(batch) if batch else []
    dtype = c.pick(np.float32, np.float32, np.int32)
    a, b = a + [m, k], b + [k, n]
    if c.coin(0.1):
        a = [k]
    if c.coin(0.1):
        b = [k]
    c.add(c.array(a, dtype), False).add(c.array(b, dtype))


def window(c, rank, shape, dilated):
    kernel = [int(c.pick(1, 2, 3, 4, 5)) for _ in range(rank)]
    c.attributes["kernel_shape"] = kernel
    stride = [int(c.pick(1, 1, 2, 3)) for _ in range(rank)]
    c.attributes["strides"] = stride
    dilation = [int(c.pick(1, 1, 2)) if dilated else 1 for _ in range(rank)]
    if dilated:
        c.attributes["dilations"] = dilation
    return kernel, stride, dilation


@family
def convolutions(c):
    c.op = c.pick("Conv", "Conv", "ConvTranspose")
    rank = int(c.pick(1, 2, 2, 3))
    groups = int(c.pick(1, 1, 2, 3))
    ins, outs = groups * int(c.pick(1, 2, 3, 4)), groups * int(c.pick(1, 2, 3, 5))
    spatial = [int(c.pick(1, 5, 7, 8, 11) if rank < 3 else c.pick(3, 4, 5)) for _ in range(rank)]
    kernel, stride, dilation = window(c, rank, spatial, True)
    # ONNX Runtime makes less than SAME of transposed windows that are smaller than their stride.
    fits = c.op == "Conv" or all((k - 1) * d + 1 >= s for k, s, d in zip(kernel, stride, dilation))
    if fits and c.coin(0.3):
        c.attributes["auto_pad"] = c.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    elif c.coin(0.8):
        c.attributes["pads"] = [int(c.pick(0, 1, 2)) for _ in range(2 * rank)]
    c.attributes["group"] = groups
    if c.op == "ConvTranspose" and c.coin(0.3) and "auto_pad" not in c.attributes:
        c.attributes["output_padding"] = [
            int(c.rng.integers(0, s)) for s in c.attributes["strides"]]
    known = c.coin(0.8)
    weight = [outs, ins // groups] if c.op == "Conv" else [ins, outs // groups]
    c.add(c.array([int(c.pick(1, 2, 3)), ins] + spatial), False)
    c.add(c.array(weight + kernel), known)
    if c.coin():
        c.add(c.array([outs]), known)


@family
def pools(c):
    c.op = c.pick("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")
    rank = int(c.pick(1, 2, 2, 3))
    spatial = [int(c.pick(5, 7, 8, 11) if rank < 3 else c.pick(4, 5)) for _ in range(rank)]
    c.add(c.array([int(c.pick(1, 2)), int(c.pick(1, 3, 5))] + spatial), False)
    if c.op.startswith("Global"):
        return
    # ONNX Runtime forgets dilations where it follows auto_pad.
    padded = c.coin(0.3)
    kernel, _, dilation = window(c, rank, spatial, c.op == "MaxPool" and not padded)
    # It takes windows that are larger than the image, too.
    c.attributes["kernel_shape"] = kernel = [
        min(k, (size - 1) // d + 1) for k, size, d in zip(kernel, spatial, dilation)]
    if padded:
        c.attributes["auto_pad"] = c.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    elif c.coin(0.8):
        c.attributes["pads"] = [int(c.rng.integers(0, k)) for k in kernel + kernel]
    c.attributes["ceil_mode"] = int(c.coin())
    if c.op == "AveragePool":
        c.attributes["count_include_pad"] = int(c.coin())


@family
def movement(c):
    c.op = c.pick("Transpose", "Slice", "Pad", "Expand", "Tile", "Concat", "Split", "Reshape",
                  "Flatten", "Unsqueeze", "DepthToSpace", "SpaceToDepth", "Trilu",
                  "ReverseSequence")
    shape = c.shape()
    dtype = c.pick(np.float32, np.float32, np.int64, np.bool_, np.uint8, np.float16)
    rank = len(shape)
    x = c.array(shape, dtype)
    ints = lambda values: np.array([int(v) for v in values], np.int64)
    if c.op == "Transpose":
        c.attributes["perm"] = [int(d) for d in c.rng.permutation(rank)]
        c.add(x, False)
    elif c.op == "Slice":
        axes = c.rng.choice(rank, c.rng.integers(1, rank + 1), replace=False)
        begin = [c.rng.integers(-shape[a] - 2, shape[a] + 2) for a in axes]
        end = [c.pick(-(2**40), 2**40, int(c.rng.integers(-20, 20))) for _ in axes]
        step = [c.pick(1, 2, 3, -1, -2, 5) for _ in axes]
        c.add(x, False)
        for part in (begin, end, axes, step):
            c.add(ints(part), True)
    elif c.op == "Pad":
        mode = c.attributes["mode"] = c.pick("constant", "constant", "edge", "reflect", "wrap")
        c.opset = 19 if mode == "wrap" else c.pick(13, 18)
        x = c.array(shape, c.pick(np.float32, np.int32, np.int64))
        most = [size - 1 - (size > 3) if mode == "reflect" else 3 for size in shape]
        pads = [[int(c.pick(-1, 0, 0, 1, 2, 3)) for _ in shape] for _ in range(2)]
        for d, size in enumerate(shape):
            for side in pads:
                side[d] = min(max(side[d], -1 if size > 3 else 0), most[d])
        c.add(x, False)
        c.add(ints(pads[0] + pads[1]), True)
        if c.coin() and mode == "constant":
            c.add(np.array(7, x.dtype), True)
    elif c.op == "Expand":
        c.add(c.array(c.broadcast(shape), dtype), False).add(ints(shape), True)
    elif c.op == "Tile":
        c.add(x, False).add(ints(c.pick(1, 2, 3) for _ in shape), True)
    elif c.op == "Concat":
        axis = int(c.rng.integers(-rank, rank))
        c.attributes["axis"] = axis
        for i in range(c.rng.integers(1, 6)):
            own = list(shape)
            own[axis] = c.size()
            c.add(c.array(own, dtype), i > 0 and c.coin(0.3))
    elif c.op == "Split":
        axis = int(c.rng.integers(-rank, rank))
        c.attributes["axis"] = axis
        parts, left = [], shape[axis]
        while left > 0 and len(parts) < 4:
            parts.append(int(c.rng.integers(1, left + 1)))
            left -= parts[-1]
        parts[-1] += left
        c.outputs = len(parts)
        c.add(x, False).add(ints(parts), True)
    elif c.op == "Reshape":
        to = [int(d) for d in c.rng.permutation(shape)] + [1]
        if c.coin():
            to[c.rng.integers(len(to))] = -1
        c.add(x, False).add(ints(to), True)
    elif c.op == "Flatten":
        c.attributes["axis"] = int(c.rng.integers(-rank, rank + 1))
        c.add(x, False)
    elif c.op == "Unsqueeze":
        c.add(x, False).add(ints([c.rng.integers(-rank - 1, rank + 1)]), True)
    elif c.op in ("DepthToSpace", "SpaceToDepth"):
        b, n, h, w = int(c.pick(1, 2, 3)), c.size() % 3 + 1, c.size() % 5 + 1, c.size() % 7 + 1
        c.attributes["blocksize"] = b
        if c.op == "DepthToSpace":
            c.attributes["mode"] = c.pick("DCR", "CRD")
            c.add(c.array([n, 3 * b * b, h, w]), False)
        else:
            c.add(c.array([n, 3, h * b, w * b]), False)
    elif c.op == "Trilu":
        shape = c.shape(2, 4)
        c.attributes["upper"] = int(c.coin())
        c.add(c.array(shape, c.pick(np.float32, np.int64)), False)
        c.add(np.array(c.rng.integers(-3, 4), np.int64), True)
    else:
        shape = c.shape(2, 4)
        time, batch = (0, 1) if c.coin() else (1, 0)
        c.attributes.update(time_axis=time, batch_axis=batch)
        c.add(c.array(shape), False)
        c.add(c.rng.integers(1, shape[time] + 1, shape[batch]).astype(np.int64), False)


@family
def lookups(c):
    c.op = c.pick("Gather", "GatherElements", "GatherND", "OneHot", "Compress")
    shape = c.shape()
    rank = len(shape)
    axis = int(c.rng.integers(-rank, rank))
    kind = c.pick(np.int64, np.int32)
    x = c.array(shape, c.pick(np.float32, np.int64, np.bool_))
    if c.op == "Gather":
        c.attributes["axis"] = axis
        c.add(x, False).add(c.rng.integers(-shape[axis], shape[axis], c.shape(0, 2)).astype(kind))
    elif c.op == "GatherElements":
        c.attributes["axis"] = axis
        at = [c.size() if d == axis % rank else int(c.rng.integers(1, size + 1))
              for d, size in enumerate(shape)]
        c.add(x, False).add(c.rng.integers(-shape[axis], shape[axis], at).astype(kind))
    elif c.op == "GatherND":
        depth = int(c.rng.integers(1, rank + 1))
        index = np.stack([c.rng.integers(-size, size, [3, 2]) for size in shape[:depth]], -1)
        c.add(x, False).add(index.astype(np.int64))
    elif c.op == "Compress":
        flat = c.coin(0.3)
        if not flat:
            c.attributes["axis"] = axis
        size = int(np.prod(shape)) if flat else shape[axis]
        condition = c.rng.random(int(c.rng.integers(1, size + 1))) < 0.6
        condition[c.rng.integers(condition.size)] = True
        c.add(x, False).add(condition, True)
    else:
        depth = c.size()
        kind = c.pick(np.int64, np.int32, np.float32)
        index = c.rng.integers(-depth, depth, shape).astype(kind)
        c.attributes["axis"] = int(c.rng.integers(-rank - 1, rank + 1))
        c.add(index, False).add(np.array(depth, np.int64), True)
        c.add(c.array([2], c.pick(np.float32, np.int64)))


@family
def changes(c):
    """Where places are equal, ONNX Runtime takes the updates one after the other, too."""
    c.op = c.pick("ScatterElements", "ScatterND")
    c.opset = int(c.pick(16, 18))
    change = c.pick("none", "add", "mul") if c.opset == 16 else c.pick("none", "add", "mul", "max",
                                                                       "min")
    shape = c.shape(1, 4, 1000)
    rank = len(shape)
    dtype = c.pick(np.float32, np.float32, np.int64, np.int32)
    x = c.array(shape, dtype)
    if change != "none":
        c.attributes["reduction"] = change
    if c.op == "ScatterElements":
        axis = int(c.rng.integers(-rank, rank))
        c.attributes["axis"] = axis
        at = [c.size() if d == axis % rank else int(c.rng.integers(1, size + 1))
              for d, size in enumerate(shape)]
        kind = c.pick(np.int64, np.int32)
        c.add(x, False).add(c.rng.integers(-shape[axis], shape[axis], at).astype(kind))
        c.add(c.array(at, dtype))
        return
    depth = int(c.rng.integers(1, rank + 1))
    leading = [int(c.pick(1, 2, 3, 7)) for _ in range(c.rng.integers(1, 3))]
    index = np.stack([c.rng.integers(-size, size, leading) for size in shape[:depth]], -1)
    c.add(x, False).add(index.astype(np.int64)).add(c.array(leading + shape[depth:], dtype))


@family
def samples(c):
    c.op = "GridSample"
    c.opset = int(c.pick(16, 20))
    rank = 3 if c.opset == 20 and c.coin(0.4) else 2
    modes = ["linear", "nearest", "cubic"] if c.opset == 20 else ["bilinear", "nearest", "bicubic"]
    c.attributes["mode"] = c.pick(*modes[:2]) if rank == 3 else c.pick(*modes)
    c.attributes["padding_mode"] = c.pick("zeros", "border", "reflection")
    c.attributes["align_corners"] = int(c.coin())
    n = int(c.pick(1, 2))
    c.add(c.array([n, int(c.pick(1, 3))] + [int(c.pick(2, 3, 5, 7)) for _ in range(rank)]), False)
    c.add(c.array([n] + [int(c.pick(1, 3, 5)) for _ in range(rank)] + [rank], low=-1.6, high=1.6))


@family
def regions(c):
    c.op = "RoiAlign"
    c.opset = int(c.pick(10, 16))
    n, count = int(c.pick(1, 2)), int(c.pick(1, 3, 5))
    c.attributes.update(output_height=int(c.pick(1, 2, 3)), output_width=int(c.pick(1, 2, 5)),
                        sampling_ratio=int(c.pick(1, 2, 3)), spatial_scale=float(c.pick(1, 0.5)))
    if c.opset == 16:
        c.attributes["coordinate_transformation_mode"] = c.pick("half_pixel", "output_half_pixel")
    c.add(c.array([n, int(c.pick(1, 3)), int(c.pick(1, 5, 7)), int(c.pick(2, 5))]), False)
    c.add(c.array([count, 4], low=-3, high=12), False)
    c.add(c.rng.integers(0, n, count).astype(np.int64))


@family
def resizes(c):
    c.op = "Resize"
    c.opset = int(c.pick(13, 17, 19))
    rank = int(c.pick(1, 2))
    mode = c.pick("nearest", "linear", "cubic" if rank == 2 else "linear")
    c.attributes["mode"] = mode
    how = c.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                 "tf_crop_and_resize")
    if c.opset == 19 and c.coin(0.3):
        how = "half_pixel_symmetric"
    c.attributes["coordinate_transformation_mode"] = how
    if mode == "nearest":
        c.attributes["nearest_mode"] = c.pick("round_prefer_floor", "round_prefer_ceil", "floor",
                                              "ceil")
    if mode == "cubic":
        c.attributes["exclude_outside"] = int(c.coin())
    shape = [int(c.pick(1, 2)), int(c.pick(1, 3))] + [int(c.pick(2, 4, 5, 7)) for _ in range(rank)]
    c.add(c.array(shape), False)
    crop = how == "tf_crop_and_resize"
    roi = [0.0] * 2 + [0.25] * rank + [1.0] * 2 + [0.75] * rank
    c.add(np.array(roi, np.float32) if crop else None, True)
    if c.coin():
        scales = [1.0, 1.0] + [
            float(c.pick(0.5, 0.6, 0.75, 1.5, 2.0, 2.5, 3.0)) for _ in range(rank)]
        c.add(np.array(scales, np.float32), True)
    else:
        c.add(None).add(np.array(shape[:2] + [c.size() for _ in range(rank)], np.int64), True)


@family
def networks(c):
    c.op = c.pick("LSTM", "GRU", "RNN")
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[c.op]
    length, batch, inputs, hidden = (int(c.pick(1, 2, 3, 5)) for _ in range(4))
    direction = c.pick("forward", "reverse", "bidirectional")
    d = 2 if direction == "bidirectional" else 1
    c.attributes.update(direction=direction, hidden_size=hidden)
    if c.op == "GRU":
        c.attributes["linear_before_reset"] = int(c.coin())
    known = c.coin(0.7)
    c.add(c.array([length, batch, inputs]), False)
    c.add(c.array([d, gates * hidden, inputs]), known)
    c.add(c.array([d, gates * hidden, hidden]), known)
    c.add(c.array([d, 2 * gates * hidden]) if c.coin() else None, known)
    c.add(np.full(batch, length, np.int32) if c.coin(0.3) else None, True)
    c.add(c.array([d, batch, hidden]) if c.coin() else None, False)
    c.outputs = 2
    if c.op == "LSTM":
        c.outputs = 3
        c.add(c.array([d, batch, hidden]) if c.coin() else None, False)
        if c.coin(0.3):
            c.add(c.array([d, 3 * hidden]), known)


@family
def quantized(c):
    c.op = c.pick("QuantizeLinear", "DequantizeLinear", "MatMulInteger", "ConvInteger",
                  "QLinearMatMul", "QLinearConv", "DynamicQuantizeLinear")
    kind = c.pick(np.uint8, np.int8)
    if c.op == "DynamicQuantizeLinear":
        c.outputs = 3
        c.add(c.array(c.shape(), np.float32, c.pick(-9, 1), 9), False)
        return
    if c.op.endswith("MatMulInteger") or c.op == "QLinearMatMul":
        m, n, k = c.size(), c.size(), c.size()
        a, b = c.array([m, k], kind, -9, 9), c.array([k, n], kind, -9, 9)
        if c.op == "MatMulInteger":
            c.add(a, False).add(b)
            c.add(np.array(3, kind), True).add(np.array(2, kind), True)
            return
        columns = [n] if c.coin() else []
        c.add(a, False).add(np.array(0.05, np.float32), True).add(np.array(3, kind), True)
        c.add(b).add(c.array(columns, np.float32, 0.01, 0.1), True)
        c.add(np.full(columns, 2, kind), True)
        c.add(np.array(0.3, np.float32), True).add(np.array(5, kind), True)
        return
    if c.op in ("ConvInteger", "QLinearConv"):
        kind = np.uint8
        ins, outs = int(c.pick(1, 2, 3)), int(c.pick(1, 2, 5))
        window(c, 2, None, True)
        c.attributes["pads"] = [int(c.pick(0, 1, 2)) for _ in range(4)]
        spatial = [int(c.pick(9, 11)) for _ in range(2)]
        x = c.array([1, ins] + spatial, kind, 0, 25)
        w = c.array([outs, ins] + c.attributes["kernel_shape"], kind, 0, 25)
        if c.op == "ConvInteger":
            c.add(x, False).add(w).add(np.array(7, kind), True).add(np.array(3, kind), True)
            return
        channels = [outs] if c.coin() else []
        c.add(x, False).add(np.array(0.05, np.float32), True).add(np.array(7, kind), True)
        c.add(w, True).add(c.array(channels, np.float32, 0.01, 0.1), True)
        c.add(np.full(channels, 3, kind), True)
        c.add(np.array(2.5, np.float32), True).add(np.array(90, kind), True)
        if c.coin():
            c.add(c.array([outs], np.int32, -20, 20), True)
        return
    shape = c.shape(2, 4)
    axis = int(c.rng.integers(0, len(shape)))
    c.attributes["axis"] = axis
    own = [shape[axis]] if c.coin() else []
    x = c.array(shape, np.float32, -9, 9) if c.op[0] == "Q" else c.array(shape, kind)
    c.add(x, False).add(c.array(own, np.float32, 0.05, 0.5)).add(c.array(own, kind))


@family
def losses(c):
    c.op = c.pick("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
    shape = c.shape(2, 4)
    c.attributes["reduction"] = c.pick("none", "mean", "sum")
    if c.coin(0.3):
        c.attributes["ignore_index"] = 0
    c.add(c.array(shape), False)
    c.add(c.rng.integers(0, shape[1], shape[:1] + shape[2:]).astype(np.int64), False)
    if c.coin():
        c.add(c.array([shape[1]], low=0.1))


def computed(case):
    """The model and its results; nothing where ONNX Runtime refuses it, or nothing is left."""
    model = case.model()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    feeds = {f"x{i}": array for i, (array, known) in enumerate(zip(case.inputs, case.known))
             if array is not None and not known}
    results = session.run(None, feeds)
    if any(result.size == 0 for result in results):
        raise ValueError("nothing is left")
    if case.op == "Resize":
        others = ReferenceEvaluator(model).run(None, feeds)
        if (others[0].shape != results[0].shape or
                not np.allclose(others[0], results[0], 1e-3, 1e-3)):
            raise ValueError("ONNX Runtime and ONNX's reference differ")
    for info, result in zip(model.graph.output, results):
        kind = helper.np_dtype_to_tensor_dtype(result.dtype)
        info.CopyFrom(helper.make_tensor_value_info(info.name, kind, result.shape))
    return model, list(feeds.values()), results


def write(folder, model, inputs, outputs):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, array in enumerate(arrays):
            tensor = numpy_helper.from_array(np.asarray(array))
            (data / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", help="one of " + ", ".join(f.__name__ for f in FAMILIES))
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    families = [f for f in FAMILIES if arguments.family in (None, f.__name__)]
    refused = {}
    for number in range(arguments.count):
        case = Case(np.random.default_rng([arguments.seed, number]))
        families[number % len(families)](case)
        try:
            made = computed(case)
        except Exception as error:  # of several types, by what is refused
            refused.setdefault(case.op, []).append(str(error).splitlines()[0][:150])
            continue
        write(arguments.folder / f"test_{case.op}_{number}", *made)
    for op, reasons in sorted(refused.items()):
        print(f"{op}: {len(reasons)} refused, as {reasons[0]}")


if __name__ == "__main__":
    main()
