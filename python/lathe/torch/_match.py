"""Groups of operations that one program of Lathe computes, found in a graph of ATen's operators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]

from .. import _native
from .._errors import Error
from . import _text
from ._anchors import anchored, is_plain, value_of
from ._constants import Constants
from ._text import Unsupported

aten = torch.ops.aten
Node = Any

_UNARY = {
    aten.relu.default: "relu({0})",
    aten.sigmoid.default: "sigmoid({0})",
    aten.tanh.default: "tanh({0})",
    aten.exp.default: "exp({0})",
    aten.expm1.default: "expm1({0})",
    aten.log.default: "log({0})",
    aten.log1p.default: "log1p({0})",
    aten.erf.default: "erf({0})",
    aten.abs.default: "abs({0})",
    aten.neg.default: "(-({0}))",
    aten.sqrt.default: "sqrt({0})",
    aten.rsqrt.default: "rsqrt({0})",
    aten.reciprocal.default: "(1 / ({0}))",
    aten.sin.default: "sin({0})",
    aten.cos.default: "cos({0})",
    aten.tan.default: "tan({0})",
    aten.floor.default: "floor({0})",
    aten.ceil.default: "ceil({0})",
    aten.round.default: "round({0})",
    # 0 of NaN, as in PyTorch
    aten.sign.default: "(select({0} > 0, 1.0, 0.0) - select({0} < 0, 1.0, 0.0))",
}
_BINARY = {
    aten.add.Tensor: "({0} + {1})",
    aten.sub.Tensor: "({0} - {1})",
    aten.mul.Tensor: "({0} * {1})",
    aten.div.Tensor: "({0} / {1})",
    aten.maximum.default: "max({0}, {1})",
    aten.minimum.default: "min({0}, {1})",
    aten.add.Scalar: "({0} + {1})",
    aten.sub.Scalar: "({0} - {1})",
    aten.mul.Scalar: "({0} * {1})",
    aten.div.Scalar: "({0} / {1})",
    aten.clamp_min.default: "max({0}, {1})",
    aten.clamp_max.default: "min({0}, {1})",
}
_SELECT = {aten.where.self: "select({0}, {1}, {2})"}
# Their values are bools, which no group has as its result.
_BOOLEAN = {
    aten.isnan.default: "isnan({0})",
    aten.isinf.default: "isinf({0})",
    aten.logical_not.default: "(!({0}))",
    aten.logical_and.default: "({0} && {1})",
    aten.logical_or.default: "({0} || {1})",
} | {
    getattr(getattr(aten, name), kind): f"({{0}} {sign} {{1}})"
    for name, sign in (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="), ("eq", "=="),
                       ("ne", "!="))
    for kind in ("Scalar", "Tensor")
}  # fmt: skip
_LOGIC = (aten.logical_not.default, aten.logical_and.default, aten.logical_or.default)
_PATTERNS = {**_UNARY, **_BINARY, **_SELECT, **_BOOLEAN}
_LONGEST = 4000  # characters of an expression


class Group:
    """Nodes that become one call, the node whose value it is, and the workload."""

    def __init__(self, nodes: list[Node], output: Node, inputs: list[Node],
                 constants: list[bool], workload: _native.Workload) -> None:
        self.nodes, self.output, self.inputs = nodes, output, inputs
        self.constants, self.workload = constants, workload


class _Epilogue:
    """The expression of what is done to the anchor's result."""

    def __init__(self, start: Node, bias: Node | None, by_channel: bool) -> None:
        self.shape = tuple(value_of(start).shape)
        self.others: list[Node] = []
        self._bools: set[Node] = set()
        text = self.plain = f"S[{','.join(self._places())}]"
        if bias is not None:
            text = f"({text} + {self._read(bias, 1 if by_channel else None)})"
        self.texts = {start: text}

    def _places(self) -> list[str]:
        return [f"d{n}" for n in range(len(self.shape))]

    def _read(self, node: Node, dimension: int | None = None) -> str:
        """An element of another tensor, broadcast; or along one dimension."""
        if not is_plain(node):
            raise Unsupported("an operand of another type")
        shape = tuple(value_of(node).shape)
        if not shape:
            raise Unsupported("an operand without dimensions")
        places = self._places()
        if dimension is not None:
            indices = [places[dimension]]
        else:
            skipped = len(self.shape) - len(shape)
            if skipped < 0 or any(s not in (1, t) for s, t in zip(shape, self.shape[skipped:])):
                raise Unsupported("an operand that makes the result larger")
            indices = [place if size > 1 else "0" for place, size in zip(places[skipped:], shape)]
        if node not in self.others:
            self.others.append(node)
        return f"E{self.others.index(node)}[{','.join(indices) or '0'}]"

    def _operand(self, given: Any, wants_bool: bool = False) -> str:
        if isinstance(given, bool) or given is None:
            raise Unsupported("an operand that is no number")
        if isinstance(given, (int, float)):
            if given != given or given in (float("inf"), float("-inf")):
                raise Unsupported("a number that is not finite")
            return f"({given!r})"
        if given.target is aten.full.default and not value_of(given).shape and not wants_bool:
            return self._operand(given.args[1])
        if (given in self._bools) != wants_bool:
            raise Unsupported("an operand of another type")
        return self.texts[given] if given in self.texts else self._read(given)

    def add(self, node: Node) -> None:
        """Takes a node whose value is of the anchor's shape; Unsupported if there is no text."""
        is_bool = node.target in _BOOLEAN
        if not (is_plain(node) or is_bool) or tuple(value_of(node).shape) != self.shape:
            raise Unsupported("a result of another shape or type")
        pattern = _PATTERNS.get(node.target)
        if node.target is aten.clamp.default:
            pattern = self._clamp(node)
        clamps = node.target is aten.clamp.default
        if pattern is None or (node.kwargs and not clamps):
            raise Unsupported("an operation that is not taken")
        count = 1 if clamps else 1 + max(n for n in range(3) if f"{{{n}}}" in pattern)
        if len(node.args) != count and not clamps:
            raise Unsupported("an operation with more operands")
        known = list(self.others)
        try:
            operands = [
                self._operand(a, node.target in _LOGIC or (node.target in _SELECT and n == 0))
                for n, a in enumerate(node.args[:count])
            ]
        except Unsupported:
            self.others = known
            raise
        text = pattern.format(*operands)
        if len(text) > _LONGEST:  # a value that is used twice stands there twice
            self.others = known
            raise Unsupported("an expression that is too long")
        self.texts[node] = text
        if is_bool:
            self._bools.add(node)

    def is_result(self, node: Node) -> bool:
        return node not in self._bools

    @staticmethod
    def _clamp(node: Node) -> str:
        bounds = [*node.args[1:], None, None]
        low = node.kwargs.get("min", bounds[0])
        high = node.kwargs.get("max", bounds[1])
        text = "{0}"
        for name, bound in (("max", low), ("min", high)):
            if bound is not None:
                text = f"{name}({text}, ({float(bound)!r}))"
        return text


def _grown(epilogue: _Epilogue, anchor: list[Node]) -> list[Node]:
    """The anchor's nodes and those that follow, as many as make a group with one value."""
    start = anchor[-1]
    group, best = list(anchor), list(anchor)
    reach = {start}
    for node in _after(start):
        if not any(a in reach for a in node.all_input_nodes):
            continue
        try:
            epilogue.add(node)
        except Unsupported:
            continue
        group.append(node)
        reach.add(node)
        outputs = _outputs(group)
        if len(outputs) == 1 and epilogue.is_result(outputs[0]):
            best = list(group)
        if len(group) > 40 or len(epilogue.others) > 6:
            break
    return best


def _after(node: Node) -> Iterable[Node]:
    node = node.next
    while node.op != "output":
        yield node
        node = node.next


def _outputs(group: list[Node]) -> list[Node]:
    inside = set(group)
    return [node for node in group if any(user not in inside for user in node.users)]


def find(graph: Any, constants: Constants, numerics: str | None) -> list[Group]:
    """The groups of a graph, none of whose nodes is in another, to a level of numerics."""
    groups = []
    taken: set[Node] = set()
    for node in list(graph.nodes):
        if node in taken:
            continue
        try:
            group = _group(node, constants, taken, numerics)
        except (Unsupported, Error):
            continue  # Error: no expression, as for a number that no f32 holds
        if group is not None:
            taken.update(group.nodes)
            groups.append(group)
    return groups


def has_infinite_weights(graph: Any, constants: Constants) -> bool:
    """Whether a convolution has some: packed ones are not multiplied by what pads are."""
    return any(
        node.target is aten.convolution.default and constants.may_be_infinite(node.args[1])
        for node in graph.nodes
    )


def _level(node: Node, constants: Constants, numerics: str | None) -> str | None:
    """Infinities and NaNs that are the module's own stay where they are, whatever is allowed."""
    operands = node.all_input_nodes
    if node.target is aten.convolution.default:
        if constants.may_be_infinite(node.args[1]):
            raise Unsupported("infinite weights")
        operands = node.args[:1]
    elif numerics != "normwise":
        return numerics  # no other level mixes results of a product
    return "componentwise" if any(map(constants.may_be_infinite, operands)) else numerics


_VIEWS = (aten.view.default, aten.reshape.default, aten.unsqueeze.default)
_KEPT = (
    aten.convolution.default, aten.mm.default, aten.bmm.default, aten.addmm.default,
)  # fmt: skip


def _is_in_memory(node: Node, taken: set[Node]) -> bool:
    """Whether Inductor's code would not compute it where it is read: then it may be an input."""
    while node.target in _VIEWS:
        node = node.args[0]
    return node.op == "placeholder" or node.target in _KEPT or node in taken


def _group(
    node: Node, constants: Constants, taken: set[Node], numerics: str | None
) -> Group | None:
    found = anchored(node)
    if found is None:
        return None
    if found.fuses_before and not _is_in_memory(found.inputs[0], taken):
        return None
    level = _level(node, constants, numerics)
    anchor = found.anchor(level)
    epilogue = _Epilogue(found.nodes[-1], found.bias, node.target is aten.convolution.default)
    nodes = _grown(epilogue, found.nodes)
    if taken.intersection(nodes):
        return None
    outputs = _outputs(nodes)
    if len(outputs) != 1 or not value_of(outputs[0]).is_contiguous():
        return None  # kernels' results are row-major
    # Only what the group reads is an input; texts of dropped nodes may have asked for more.
    text = epilogue.texts[outputs[0]]
    others = [(f"E{n}", other) for n, other in enumerate(epilogue.others) if f"E{n}[" in text]
    inputs = anchor.inputs + [other for _, other in others]
    flags = [given in constants for given in inputs]
    follows = None if text == epilogue.plain else _text.epilogue(epilogue.shape, text, others)
    workload = _text.workload(anchor, follows, [name for name, _ in others], flags)
    return Group(nodes, outputs[0], inputs, flags, workload)


def _drops_nothing(node: Node) -> bool:
    """Attention draws random numbers for its dropout alone."""
    for number, argument in enumerate(node.target._schema.arguments):
        if argument.name == "dropout_p":
            given = node.args[number] if number < len(node.args) else argument.default_value
            return bool(node.kwargs.get("dropout_p", given) == 0)
    return False


def has_state(graph: Any) -> bool:
    """Whether a call changes something: an input or a buffer, or the random numbers to come."""
    for node in graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        if torch.Tag.nondeterministic_seeded in node.target.tags and not _drops_nothing(node):
            return True
        if node.target._schema.is_mutable:
            return True
    return False
