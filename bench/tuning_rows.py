"""The rows of bench_metaschedule, by name: Lathe's expression, and the operator as
peers/metaschedule.py reads it. The last six are not in the paper. The second input of all but
Matmul-1024 is a weight."""

from convolution_families import KERNELS, Shape, resnet


def convolution(shape):
    words = (f"X: f32{shape.input}; W: f32{shape.weight}; {shape.target()} = {shape.sum()}")
    return words, {"kind": "conv2d", "input": shape.input, "weight": shape.weight,
                   "stride": shape.stride, "pad": list(shape.pad), "dilation": shape.dilation}


def matmul(expression, m, n, k, transpose_a, transpose_b):
    return expression, {"kind": "matmul", "m": m, "n": n, "k": k, "transpose_a": transpose_a,
                        "transpose_b": transpose_b}


ROWS = {name: convolution(resnet(name)) for name in ("C2", "C6", "C7", "C9", "C12")} | {
    "Matmul-1024": matmul("A: f32[1024,1024]; B: f32[1024,1024]; C[i,j] = sum(k) A[k,i] * B[k,j]",
                          1024, 1024, 1024, True, False),
    "alexnet-5x5": convolution(KERNELS["alexnet-5x5"]),
    "inception-1x7": convolution(KERNELS["inception-1x7"]),
    "deeplab-3x3-dilated2": convolution(KERNELS["deeplab-3x3-dilated2"]),
    "stem-299-3x3-2": convolution(Shape(1, 3, 299, 299, 32, (3, 3), 2)),
    "pointwise-960-160-7": convolution(Shape(1, 960, 7, 7, 160, (1, 1))),
    "dense-bert-up": matmul("X: f32[128,768]; W: f32[3072,768]; Y[m,n] = sum(k) X[m,k] * W[n,k]",
                            128, 3072, 768, False, True),
}


def with_constants(name):
    """The row with weights that are known beforehand: Lathe's expression, and by the name of its
    tuner each operator that MetaSchedule may choose from."""
    expression, operator = ROWS[name]
    if name == "Matmul-1024":
        return expression, {"metaschedule": operator}
    operators = {"metaschedule": operator | {"constant": True}}
    plain = operator["kind"] == "conv2d" and operator["stride"] == operator["dilation"] == 1
    if plain and operator["weight"][2:] == [3, 3]:
        operators["metaschedule-winograd"] = operator | {"kind": "winograd"}
    return expression.replace("; W:", "; const W:"), operators
