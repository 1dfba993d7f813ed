"""A row of bench_families: one operator, said to each library that takes part."""

from dataclasses import dataclass, field


@dataclass
class Row:
    name: str
    family: str
    expression: str  # with its declarations
    inputs: dict  # name: shape
    codes: dict  # library: a line of Python (peers/python_peer.py tells what each may use)
    constants: tuple = ()  # inputs that are known beforehand
    # setup of peers/onednn.cpp and peers/openblas.cpp; {}: they take no part
    operator: dict = field(default_factory=dict)

    def setup(self, library, threads, cache):
        return {"inputs": self.inputs, "constants": self.constants, "code": self.codes[library],
                "threads": threads, "cache": cache, "library": library}


ROWS = {}


def add(name, family, statements, torch, numpy="", graph="", openvino="", packed="", constants=(),
        operator=None, **inputs):
    """`graph` is for ONNX Runtime and OpenVINO, unless `openvino` says it in OpenVINO's own
    operations; `packed` is for PyTorch with weights in oneDNN's layout. "": it takes no part."""
    declared = "; ".join(
        f"{'const ' if tensor in constants else ''}{tensor}: f32[{','.join(map(str, shape))}]"
        for tensor, shape in inputs.items())
    codes = {"torch": torch, "torch-packed": packed, "numpy": numpy, "onnxruntime": graph,
             "openvino": openvino or graph}
    ROWS[name] = Row(name, family, f"{declared}; {statements}", inputs,
                     {library: code for library, code in codes.items() if code}, tuple(constants),
                     operator or {})


def chosen(parser, words):
    """The rows whose names begin so, and those of families of that name; all where none is given.
    Where there is none, the parser's error lists the families."""
    rows = [row for row in ROWS.values() if not words or any(
        row.name.startswith(word) or row.family == word for word in words)]
    if not rows:
        parser.error(f"no row is called {' or '.join(words)}; the families are "
                     f"{', '.join(sorted({row.family for row in ROWS.values()}))}")
    return rows
