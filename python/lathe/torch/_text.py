"""A group of operations of a graph as an index expression.

A group is an anchor, a convolution or a product of matrices, and what is done element by element to
its result. Each is an expression of its own; they are put together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _native
from .._workload import dtype_name, workload_of


class Unsupported(Exception):
    """A group that has no expression; it is left to Inductor."""


class Anchor:
    """A workload of one output, and the nodes whose values its inputs are."""

    def __init__(self, workload: _native.Workload, inputs: list[Any]) -> None:
        self.workload, self.inputs = workload, inputs

    @property
    def names(self) -> list[str]:
        return [name for name, *_ in self.workload.inputs]


def _input(name: str, node: Any) -> str:
    value = node.meta["val"]
    sizes = ",".join(str(int(size)) for size in value.shape)
    return f"{name}: {dtype_name(value.dtype)}[{sizes or 1}]"


def product(
    a: tuple[Any, bool], b: tuple[Any, bool], batched: bool, numerics: str | None
) -> Anchor:
    """A times B; each is an input with whether it is read transposed."""
    (left, left_turned), (right, right_turned) = a, b
    batch = "b," if batched else ""
    read_a = f"A[{batch}{'k,i' if left_turned else 'i,k'}]"
    read_b = f"B[{batch}{'j,k' if right_turned else 'k,j'}]"
    lines = [_input("A", left), _input("B", right), f"S[{batch}i,j] = sum(k) {read_a} * {read_b}"]
    return Anchor(workload_of("\n".join(lines), {}, numerics=numerics), [left, right])


def _dims(given: Any, rank: int) -> tuple[int, ...]:
    values = tuple(int(v) for v in given)
    return values * rank if len(values) == 1 else values


def convolution(x: Any, w: Any, how: Any, numerics: str | None) -> Anchor:
    """By the operator of that name; ``how`` as ATen has it."""
    stride, padding, dilation, transposed, output_padding, groups = how
    rank = len(w.meta["val"].shape) - 2
    if rank not in (1, 2, 3) or len(x.meta["val"].shape) != rank + 2:
        raise Unsupported("a convolution of this rank")
    flags: dict[str, Any] = {
        "input": tuple(x.meta["val"].shape), "weight": tuple(w.meta["val"].shape),
        "stride": _dims(stride, rank), "groups": int(groups),
        "pad": _dims(padding, rank), "dilation": _dims(dilation, rank),
    }
    if transposed:
        flags["output_padding"] = _dims(output_padding, rank)
    name = f"conv_transpose{rank}d" if transposed else f"conv{rank}d"
    return Anchor(workload_of(name, flags, numerics=numerics), [x, w])


def of_operator(
    name: str, flags: dict[str, Any], inputs: list[Any], numerics: str | None
) -> Anchor:
    return Anchor(workload_of(name, flags, numerics=numerics), inputs)


def epilogue(shape: Sequence[int], body: str, others: list[tuple[str, Any]]) -> _native.Workload:
    """``body`` is an expression over ``S[...]``, which has this shape, and other tensors.

    Its iterators are d0, d1 ...; the types are those of the others, and f32.
    """
    sizes = ",".join(map(str, shape))
    extents = ",".join(f"d{n}:{size}" for n, size in enumerate(shape))
    lines = [f"S: f32[{sizes}]", *(_input(name, node) for name, node in others)]
    lines.append(f"Z[{extents}] = {body}")
    return workload_of("\n".join(lines), {})


def workload(
    anchor: Anchor, follows: _native.Workload | None, others: list[str], constants: list[bool]
) -> _native.Workload:
    """The anchor and what follows it as one; ``constants`` tells of all inputs which are."""
    names = list(anchor.names)
    whole = anchor.workload
    if follows is not None:
        output = anchor.workload.outputs[0][0]
        whole, called = _native.Workload.compose(
            [anchor.workload, follows], [((0, output), (1, "S"))], outputs=[(1, "Z")]
        )
        names = [called[0][name] for name in names] + [called[1][name] for name in others]
    return whole.with_constants([name for name, known in zip(names, constants) if known])
