"""A group of operations of a graph as an index expression.

A group is an anchor, a convolution or a product of matrices, and what is done element by element to
its result. The anchor becomes a stage; the rest becomes one expression over it.
"""

from __future__ import annotations

import re
from typing import Any

from .. import _native
from .._workload import dtype_name, workload_of


class Unsupported(Exception):
    """A group that has no expression; it is left to Inductor."""


class Anchor:
    """A stage: its text, its name in it, its iterators with their extents, its inputs.

    ``places`` tells for each dimension of the result which index it has, as a text of iterators.
    """

    def __init__(self, text: str, iterators: list[tuple[str, int]], places: list[str],
                 inputs: list[tuple[str, Any]], layout: str = "") -> None:
        self.text, self.iterators, self.places = text, iterators, places
        self.inputs, self.layout = inputs, layout

    def indices(self, with_extents: bool) -> str:
        return ",".join(f"{name}:{size}" if with_extents else name
                        for name, size in self.iterators)


def _sizes(shape: Any) -> str:
    return ",".join(str(int(size)) for size in shape)


def product(a: tuple[Any, bool], b: tuple[Any, bool], batched: bool) -> Anchor:
    """A times B; each is an input with whether it is read transposed."""
    (left, left_turned), (right, right_turned) = a, b
    shape_a, shape_b = tuple(left.meta["val"].shape), tuple(right.meta["val"].shape)
    rows, terms = shape_a[-1 if left_turned else -2], shape_a[-2 if left_turned else -1]
    columns = shape_b[-2 if right_turned else -1]
    batch = "b," if batched else ""
    read_a = f"A[{batch}{'k,i' if left_turned else 'i,k'}]"
    read_b = f"B[{batch}{'j,k' if right_turned else 'k,j'}]"
    iterators = [("i", rows), ("j", columns)]
    if batched:
        iterators.insert(0, ("b", shape_a[0]))
    text = f"S[{{}}] = sum(k:{terms}) {read_a} * {read_b}"
    places = [name for name, _ in iterators]
    return Anchor(text, iterators, places, [("A", left), ("B", right)])


def _dims(given: Any, rank: int) -> list[int]:
    values = [int(v) for v in given]
    return values * rank if len(values) == 1 else values


def convolution(x: Any, w: Any, how: Any, numerics: str | None) -> Anchor:
    """By the operator of that name, whose expression is taken apart; ``how`` as ATen has it."""
    stride, padding, dilation, transposed, output_padding, groups = how
    rank = len(w.meta["val"].shape) - 2
    if rank not in (1, 2, 3) or len(x.meta["val"].shape) != rank + 2:
        raise Unsupported("a convolution of this rank")
    flags: dict[str, Any] = {
        "input": tuple(x.meta["val"].shape), "weight": tuple(w.meta["val"].shape),
        "stride": tuple(_dims(stride, rank)), "groups": int(groups),
        "pad": tuple(_dims(padding, rank)),
    }
    if transposed:
        if any(d != 1 for d in _dims(dilation, rank)):
            raise Unsupported("a transposed convolution with a dilation")
        if any(_dims(output_padding, rank)):
            raise Unsupported("a transposed convolution with more rows than it makes")
        name = f"conv_transpose{rank}d"
    else:
        flags["dilation"] = tuple(_dims(dilation, rank))
        name = f"conv{rank}d"
    key = workload_of(name, flags, numerics=numerics).key
    return _taken_apart(key, x, w)


def _taken_apart(key: str, x: Any, w: Any) -> Anchor:
    parts = [part.strip() for part in key.split(";")]
    statements = [p for p in parts if "=" in p]
    declared = next(p for p in parts if p.startswith("output"))
    match = re.fullmatch(r"output C: f32\[([\d,]+)\](?: as \[([\d,]+)\])?", declared)
    if len(statements) != 1 or match is None or not statements[0].startswith("C["):
        raise Unsupported("a convolution of several stages")
    left, right = statements[0].split(" = ", 1)
    iterators = [(name, int(size)) for name, size in re.findall(r"(\w+):(\d+)", left)]
    border = [int(size) for size in (match[2] or match[1]).split(",")]
    layout = f" as [{match[2]}]" if match[2] else ""
    return Anchor(f"S[{{}}] = {right}", iterators, _places(iterators, border),
                  [("A", x), ("B", w)], layout)


def _places(iterators: list[tuple[str, int]], border: list[int]) -> list[str]:
    """The index of each dimension of the border, which may be made of several iterators."""
    left = list(iterators)
    places = []
    for size in border:
        names: list[tuple[str, int]] = []
        while (product := _product(names)) < size or (left and left[0][1] == 1 and not names):
            if not left:
                raise Unsupported("an output whose dimensions are not its iterators")
            names.append(left.pop(0))
        if product != size:
            raise Unsupported("an output whose dimensions are not its iterators")
        index, below = "", 1
        for name, extent in reversed(names):
            index = (name if below == 1 else f"{below}*{name}") + (f" + {index}" if index else "")
            below *= extent
        places.append(index)
    return places


def _product(names: list[tuple[str, int]]) -> int:
    product = 1
    for _, size in names:
        product *= size
    return product


def workload(anchor: Anchor, epilogue: str, others: list[tuple[str, Any]],
             constants: list[str], numerics: str | None) -> _native.Workload:
    """``epilogue`` is an expression over ``S[...]``, whose indices are ``{}``; "" for none."""
    inputs = anchor.inputs + others
    lines = []
    for name, node in inputs:
        value = node.meta["val"]
        constant = "const " if name in constants else ""
        lines.append(f"{constant}{name}: {dtype_name(value.dtype)}[{_sizes(value.shape) or 1}]")
    shape = ",".join(str(size) for _, size in anchor.iterators)
    dtype = dtype_name(anchor.inputs[0][1].meta["val"].dtype)
    result = "Z" if epilogue else "S"
    lines.append(f"output {result}: {dtype}[{shape}]{anchor.layout}")
    lines.append(anchor.text.replace("{}", anchor.indices(True), 1))
    if epilogue:
        body = epilogue.replace("{}", anchor.indices(False))
        lines.append(f"Z[{anchor.indices(True)}] = {body}")
    return workload_of("\n".join(lines), {}, numerics=numerics)
