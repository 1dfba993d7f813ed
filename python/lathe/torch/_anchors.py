"""Operations with which a group may begin: what a graph has of them, and their expressions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]

from . import _text
from ._text import Anchor

aten = torch.ops.aten
Node = Any

_PRODUCTS = (aten.mm.default, aten.bmm.default, aten.addmm.default)
_TURNS = (aten.t.default, aten.permute.default, aten.transpose.int)
_MAX_POOL = "prims._low_memory_max_pool_with_offsets.default"  # it is Inductor's own
_AVG_POOLS = (aten.avg_pool2d.default, aten.avg_pool3d.default)


class Anchored:
    """Nodes, of which the last has the value, and what makes their expression for a level.

    ``fuses_before``: Inductor's code computes what goes before on the way, if it is element by
    element.
    """

    def __init__(
        self, nodes: list[Node], anchor: Callable[[str | None], Anchor], bias: Node | None = None,
        inputs: tuple[Node, ...] = (), fuses_before: bool = False,
    ) -> None:
        self.nodes, self.anchor, self.bias = nodes, anchor, bias
        self.inputs, self.fuses_before = inputs, fuses_before


def value_of(node: Any) -> Any:
    return node.meta.get("val") if isinstance(node, torch.fx.Node) else None


def is_plain(node: Any) -> bool:
    """A tensor of f32 on the processor whose every size is known."""
    value = value_of(node)
    return (
        isinstance(value, torch.Tensor)
        and value.device.type == "cpu"
        and value.dtype == torch.float32
        and all(isinstance(size, int) and size > 0 for size in value.shape)
    )


def _turned(node: Node) -> tuple[Node, bool]:
    """Through a transposition of the last two dimensions to what is transposed."""
    if node.target not in _TURNS or not is_plain(node.args[0]):
        return node, False
    rank = len(value_of(node).shape)
    order = list(range(rank))
    if node.target is aten.permute.default:
        order = [d % rank for d in node.args[1]]
    elif node.target is aten.t.default:
        order = [1, 0]
    else:
        first, second = node.args[1] % rank, node.args[2] % rank
        order[first], order[second] = order[second], order[first]
    wanted = [*range(rank - 2), rank - 1, rank - 2]
    return (node.args[0], True) if order == wanted else (node, False)


def _convolution(node: Node) -> Anchored:
    x, w, bias, *how = node.args
    return Anchored([node], lambda level: _text.convolution(x, w, how, level), bias)


def _product(node: Node) -> Anchored:
    *bias, a, b = node.args
    turned = _turned(a), _turned(b)
    batched = node.target is aten.bmm.default
    return Anchored(
        [node], lambda level: _text.product(*turned, batched, level), bias[0] if bias else None
    )


def _of_operator(
    nodes: list[Node], name: str, inputs: list[Node], flags: dict[str, Any]
) -> Anchored:
    shape = tuple(value_of(inputs[0]).shape)

    def anchor(level: str | None) -> Anchor:
        return _text.of_operator(name, {"input": shape, **flags}, inputs, level)

    return Anchored(nodes, anchor, None, tuple(inputs), fuses_before=True)


def _dims(given: Any, rank: int) -> tuple[int, ...]:
    values = tuple(int(v) for v in given)
    return values * rank if len(values) == 1 else values


def _avg_pool(node: Node) -> Anchored | None:
    defaults: list[Any] = [[], 0, False, True, None]
    given: list[Any] = [*node.args, *defaults[len(node.args) - 2 :]]
    x, kernel, stride, padding, ceil_mode, with_pad, divisor = given
    rank = 2 if node.target is aten.avg_pool2d.default else 3
    if divisor is not None or len(value_of(x).shape) != rank + 2:
        return None
    padding = padding if isinstance(padding, (list, tuple)) else [padding]
    flags: dict[str, Any] = {"kernel": _dims(kernel, rank), "stride": _dims(stride or kernel, rank),
             "pad": _dims(padding, rank)}  # fmt: skip
    flags |= {"ceil_mode": True} if ceil_mode else {}
    flags |= {} if with_pad else {"inside_only": True}
    return _of_operator([node], f"avg_pool{rank}d", [x], flags)


def _max_pool(node: Node) -> Anchored | None:
    x, kernel, stride, padding, dilation, ceil_mode = node.args
    rank = len(kernel)
    users = list(node.users)
    if len(users) != 1 or users[0].target is not operator.getitem or users[0].args[1] != 0:
        return None  # the places are asked for
    if rank > 3 or len(value_of(x).shape) != rank + 2:
        return None
    flags: dict[str, Any] = {"kernel": _dims(kernel, rank), "stride": _dims(stride or kernel, rank),
             "pad": _dims(padding, rank), "dilation": _dims(dilation, rank)}  # fmt: skip
    flags |= {"ceil_mode": True} if ceil_mode else {}
    return _of_operator([node, users[0]], f"max_pool{rank}d", [x], flags)


def _only(node: Node, *targets: Any) -> Node | None:
    """The user of one of these kinds, where there is no other."""
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].target in targets else None


def _softmax(node: Node) -> Anchored | None:
    """amax, sub, exp, sum, div: as PyTorch takes softmax apart."""
    x, axes = node.args[:2]
    rank = len(value_of(x).shape)
    less = _only(node, aten.sub.Tensor)
    exp = None if less is None else _only(less, aten.exp.default)
    if less is None or exp is None or less.args != (x, node):
        return None
    if list(axes) not in ([-1], [rank - 1]):
        return None
    users = {user.target: user for user in exp.users}
    total, quotient = users.get(aten.sum.dim_IntList), users.get(aten.div.Tensor)
    if len(exp.users) != 2 or total is None or quotient is None or node.args[2:] != (True,):
        return None
    same = list(total.args[1]) in ([-1], [rank - 1]) and total.args[2:] == (True,)
    if not same or quotient.args != (exp, total) or len(total.users) != 1:
        return None
    if any(each.kwargs for each in (node, less, exp, total, quotient)):
        return None
    return _of_operator([node, less, exp, total, quotient], "softmax", [x], {})


def anchored(node: Node) -> Anchored | None:
    """What begins with a node; None: no group does."""
    known: dict[Any, Callable[[Node], Anchored | None]] = {
        aten.convolution.default: _convolution, **dict.fromkeys(_PRODUCTS, _product),
        **dict.fromkeys(_AVG_POOLS, _avg_pool), _MAX_POOL: _max_pool, aten.amax.default: _softmax,
    }  # fmt: skip
    made = known.get(node.target) or known.get(str(node.target))
    if made is None or node.op != "call_function" or node.kwargs:
        return None
    if not all(map(is_plain, node.all_input_nodes)):
        return None
    found = made(node)
    return found if found is not None and is_plain(found.nodes[-1]) else None
