"""The workloads that operators are compared on: the convolutions of ResNet-18 at batch 1, and a
matrix product.

Each knows how to say itself to a contestant (peers/serve.h) and to the `lathe` command.
"""

from dataclasses import dataclass

# name: height and width, input channels, output channels, kernel, stride; padding keeps the size up
# to the stride
CONVOLUTIONS = {
    "C1": (224, 3, 64, 7, 2), "C2": (56, 64, 64, 3, 1), "C3": (56, 64, 64, 1, 1),
    "C4": (56, 64, 128, 3, 2),
    "C5": (56, 64, 128, 1, 2), "C6": (28, 128, 128, 3, 1), "C7": (28, 128, 256, 3, 2),
    "C8": (28, 128, 256, 1, 2),
    "C9": (14, 256, 256, 3, 1), "C10": (14, 256, 512, 3, 2), "C11": (14, 256, 512, 1, 2),
    "C12": (7, 512, 512, 3, 1),
}


@dataclass
class Workload:
    name: str
    kind: str  # "conv2d" or "matmul"
    layout: str  # the layout of comparisons, unless another is named: "free" or "plain"
    flops: int
    setup: dict  # for peers
    words: list  # for `lathe`


def convolution(name):
    size, channels, filters, kernel, stride = CONVOLUTIONS[name]
    pad = kernel // 2
    out = (size + 2 * pad - kernel) // stride + 1
    shape, weight = [1, channels, size, size], [filters, channels, kernel, kernel]
    words = ["conv2d", "--input", ",".join(map(str, shape)), "--weight", ",".join(map(str, weight))]
    if stride > 1:
        words += ["--stride", str(stride)]
    if pad > 0:
        words += ["--pad", str(pad)]
    setup = {"kind": "conv2d", "input": shape, "weight": weight, "stride": stride, "pad": pad}
    return Workload(name, "conv2d", "free", 2 * out * out * filters * channels * kernel * kernel,
                    setup, words)


def matmul(name, n):
    setup = {"kind": "matmul", "m": n, "n": n, "k": n, "transpose_a": True,
             "transpose_b": False}
    words = ["C[i,j] = sum(k) A[k,i] * B[k,j]", "--shape", f"A={n},{n}", "--shape", f"B={n},{n}"]
    return Workload(name, "matmul", "plain", 2 * n**3, setup, words)


WORKLOADS = {name: convolution(name)
             for name in CONVOLUTIONS} | {"Matmul-1024": matmul("Matmul-1024", 1024)}
