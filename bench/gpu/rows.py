"""The rows of a session on a card: the paper's convolutions, the product, and rows of families.

`lathe` are the words that say it to the command; `torch` a line of Python, for which `inputs` are
the shapes of what it names."""

import pathlib
import sys
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import families  # noqa: E402

#: name: image, channels, results, kernel, stride
CONVOLUTIONS = {
    "C1": (224, 3, 64, 7, 2), "C2": (56, 64, 64, 3, 1), "C3": (56, 64, 64, 1, 1),
    "C4": (56, 64, 128, 3, 2), "C5": (56, 64, 128, 1, 2), "C6": (28, 128, 128, 3, 1),
    "C7": (28, 128, 256, 3, 2), "C8": (28, 128, 256, 1, 2), "C9": (14, 256, 256, 3, 1),
    "C10": (14, 256, 512, 3, 2), "C11": (14, 256, 512, 1, 2), "C12": (7, 512, 512, 3, 1),
}
#: Rows of bench/families.py, listed before anything was measured on a card.
FAMILIES = [
    "depthwise-128x56-3x3-1", "depthwise-512x14-3x3-1", "maxpool-64x112-3-2",
    "avgpool-global-512x28", "softmax-16x1000", "layernorm-128x768", "rmsnorm-1x4096",
    "sum-rows-1024x1024", "sum-columns-1024x1024", "sum-all-10000000", "max-columns-5000x64",
    "argmax-rows-1024x1000", "transpose-1024x1024", "nchw-to-nhwc-64x56x56", "gelu-128x3072",
    "add-relu-256x56x56", "batch-1000x7x7x7", "batch-12x128x128x64", "vector-llama",
    "dense-bert-up",
]


@dataclass
class Row:
    name: str
    lathe: list
    torch: str
    inputs: dict
    convolution: bool = False


def of_convolution(name, image, channels, results, size, stride):
    return Row(name, [name], f"F.conv2d(X, W, stride={stride}, padding={size // 2})",
               {"X": [1, channels, image, image], "W": [results, channels, size, size]}, True)


def rows():
    out = [of_convolution(name, *sizes) for name, sizes in CONVOLUTIONS.items()]
    out.append(Row("product 1024", ["matmul-1024"], "A @ B",
                   {"A": [1024, 1024], "B": [1024, 1024]}))
    for name in FAMILIES:
        row = families.ROWS.get(name)
        if row is not None:
            out.append(Row(name, [row.expression], row.codes["torch"], row.inputs))
    return {row.name: row for row in out}
