"""What of a graph is known before it is called: weights, and what is computed of them alone."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]

Node = Any


def weights_of(module: Any) -> list[Any]:
    """A module's weights in the order in which they come first among its traced graph's inputs."""
    return [
        *(value for _, value in module.named_parameters(remove_duplicate=False)),
        *(value for _, value in module.named_buffers(remove_duplicate=False)),
    ]


def placeholders(graph: Any) -> list[Node]:
    """A graph's inputs, its weights among them."""
    return [node for node in graph.nodes if node.op == "placeholder"]


def without_modes() -> Any:
    """While a graph is compiled, tensors have no elements; in this block they do."""
    from torch.utils._python_dispatch import (  # type: ignore[import-not-found, unused-ignore]
        _disable_current_modes,
    )

    return _disable_current_modes()


class Constants:
    """The constants of a traced graph, and which values have infinities or NaNs because of them."""

    def __init__(self, graph: Any, weights: list[Any]) -> None:
        self._graph = graph
        self._weights = dict(zip(placeholders(graph), weights))
        self._known: set[Node] = set(self._weights)
        self._finite: dict[Node, bool] = {}  # constants
        self._infinite: set[Node] | None = None  # all else
        for node in graph.nodes:
            if node.op == "get_attr":
                self._known.add(node)
            elif node.op == "call_function":
                inputs, target = node.all_input_nodes, node.target
                pure = isinstance(target, torch._ops.OpOverload) or target is operator.getitem
                if inputs and pure and self._known.issuperset(inputs):
                    self._known.add(node)

    def __contains__(self, node: Node) -> bool:
        return node in self._known

    def may_be_infinite(self, node: Node) -> bool:
        """Whether a constant that is not finite, or such a number in the code, is in its value."""
        if node in self._known:
            return not self._is_finite(node)
        if self._infinite is None:
            self._infinite = set()
            for each in self._graph.nodes:
                if each not in self._known and self._takes_infinity(each, self._infinite):
                    self._infinite.add(each)
        return node in self._infinite

    def _takes_infinity(self, node: Node, known: set[Node]) -> bool:
        if any(not math.isfinite(number) for number in _numbers((node.args, node.kwargs))):
            return True
        return any(
            not self._is_finite(each) if each in self._known else each in known
            for each in node.all_input_nodes
        )

    def _is_finite(self, node: Node) -> bool:
        if node not in self._finite:
            with torch.no_grad(), without_modes():
                self._finite[node] = _is_finite(self._computed(node))
        return self._finite[node]

    def _computed(self, node: Node) -> Any:
        if node.op == "placeholder":
            return self._weights[node].detach()
        if node.op == "get_attr":
            return operator.attrgetter(node.target)(self._graph.owning_module)
        arguments = torch.fx.map_arg((node.args, node.kwargs), self._computed)
        return node.target(*arguments[0], **arguments[1])


def _numbers(given: Any) -> Iterator[float]:
    if isinstance(given, float):
        yield given
    elif isinstance(given, dict):
        yield from _numbers(tuple(given.values()))
    elif isinstance(given, (tuple, list)):
        for each in given:
            yield from _numbers(each)


def _is_finite(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
        return True
    low, high = torch.aminmax(value)  # NaN, where one is there
    return math.isfinite(low) and math.isfinite(high)
