"""ONNX graphs written by hand: what a row calls becomes a node, a row's inputs the graph's.

`build(code, inputs, constants)` evaluates the line of Python `code`, in which the inputs' names are
tensors that know `+` and `*`, and each method of Graph is a function.
"""

import numpy
from onnx import TensorProto, helper, numpy_helper

OPSET = 23


class Tensor:
    def __init__(self, graph, name):
        self.graph, self.name = graph, name

    def __add__(self, other):
        return self.graph.op("Add", self, other)

    def __mul__(self, other):
        return self.graph.op("Mul", self, other)


def pair(number):
    return list(number) if isinstance(number, tuple) else [number, number]


def window(stride, pad, dilation=1):
    """Attributes of a convolution or a pool."""
    return {"strides": pair(stride), "pads": pair(pad) * 2, "dilations": pair(dilation)}


class Graph:
    def __init__(self, inputs, constants):
        self.arrays = dict(inputs)  # what is fed, and the constants, by name
        self.constants, self.nodes, self.literals = set(constants), [], []

    def op(self, kind, *operands, **attributes):
        name = f"t{len(self.nodes)}"
        names = [self.named(operand) for operand in operands]
        self.nodes.append(helper.make_node(kind, names, [name], **attributes))
        return Tensor(self, name)

    def named(self, operand):
        if isinstance(operand, Tensor):
            return operand.name
        if operand is None:
            return ""  # an optional operand that is left out
        return self.literal(numpy.asarray(operand, numpy.float32)).name

    def literal(self, array):
        name = f"c{len(self.literals)}"
        self.literals.append(numpy_helper.from_array(array, name))
        return Tensor(self, name)

    def view(self, tensor, *shape):
        """An input under another shape. It is fed so, which costs nothing."""
        self.arrays[tensor.name] = self.arrays[tensor.name].reshape(shape)
        return tensor

    def conv(self, X, W, bias=None, add=None, stride=1, pad=0, dilation=1, groups=1, relu=False):
        Y = self.op("Conv", X, W, *([bias] if bias else []), group=groups,
                    **window(stride, pad, dilation))
        Y = Y + add if add else Y
        return self.op("Relu", Y) if relu else Y

    def conv_transpose(self, X, W, stride, pad):
        return self.op("ConvTranspose", X, W, **window(stride, pad))

    def max_pool(self, X, size, stride, pad=0):
        return self.op("MaxPool", X, kernel_shape=pair(size), **window(stride, pad))

    def average_pool(self, X, size, stride, pad=0):
        return self.op("AveragePool", X, kernel_shape=pair(size), **window(stride, pad))

    def global_average(self, X):
        return self.op("GlobalAveragePool", X)

    def matmul(self, A, B):
        return self.op("MatMul", A, B)

    def gemm(self, X, W):
        """Weights lie as PyTorch's, a row an output."""
        return self.op("Gemm", X, W, transB=1)

    def einsum(self, equation, A, B):
        return self.op("Einsum", A, B, equation=equation)

    def transpose(self, X, *order):
        return self.op("Transpose", X, perm=list(order))

    def softmax(self, X):
        return self.op("Softmax", X, axis=-1)

    def gelu(self, X):
        return self.op("Gelu", X)

    def layer_norm(self, X, scale, bias, epsilon):
        return self.op("LayerNormalization", X, scale, bias, axis=-1, epsilon=epsilon)

    def rms_norm(self, X, scale, epsilon):
        return self.op("RMSNormalization", X, scale, axis=-1, epsilon=epsilon)

    def group_norm(self, X, scale, bias, groups, epsilon):
        return self.op("GroupNormalization", X, scale, bias, num_groups=groups, epsilon=epsilon)

    def reduce(self, kind, X, *axes):
        axes = self.literal(numpy.array(axes, numpy.int64))
        return self.op("Reduce" + kind, X, axes, keepdims=0)

    def argmax(self, X, axis):
        return self.op("ArgMax", X, axis=axis, keepdims=0)

    def functions(self):
        return {name: getattr(self, name) for name in dir(self)
                if not name.startswith("_") and callable(getattr(self, name))}

    def model(self, result):
        kind = TensorProto.INT64 if self.nodes[-1].op_type == "ArgMax" else TensorProto.FLOAT
        fed = [helper.make_tensor_value_info(name, TensorProto.FLOAT, self.arrays[name].shape)
               for name in self.arrays if name not in self.constants]
        known = [numpy_helper.from_array(self.arrays[name], name) for name in self.constants]
        graph = helper.make_graph(self.nodes, "row", fed,
                                  [helper.make_tensor_value_info(result.name, kind, None)],
                                  known + self.literals)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                 ir_version=10)


def build(code, inputs, constants):
    """The model's bytes, and the arrays to feed it, by name."""
    graph = Graph(inputs, constants)
    tensors = {name: Tensor(graph, name) for name in inputs}
    model = graph.model(eval(code, {**graph.functions(), **tensors}))
    return model.SerializeToString(), {name: array for name, array in graph.arrays.items()
                                       if name not in graph.constants}
