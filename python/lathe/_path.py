"""In which order several operands are contracted, two at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable

# What a step costs that nothing is known of, in seconds: for a call, a multiply-add, an element
# that is read or written. They only rank orders of one contraction.
_CALL, _MULTIPLY, _ELEMENT = 2e-6, 2e-11, 4e-10
_ALL_ORDERS = 5  # operands; there are 180 orders of five, 2,700 of six

#: Two terms and their result, as letters.
Pair = tuple[str, str, str]


def result_of(first: str, second: str, rest: str) -> str:
    """Letters of two operands' product that the others or the result still need."""
    seen = dict.fromkeys(first + second)
    return "".join(letter for letter in seen if letter in rest)


def assumed_seconds(pair: Pair, sizes: dict[str, int]) -> float:
    def volume(letters: str) -> float:
        product = 1.0
        for letter in set(letters):
            product *= sizes[letter]
        return product

    first, second, result = pair
    moved = volume(first) + volume(second) + volume(result)
    return _CALL + _MULTIPLY * volume(first + second) + _ELEMENT * moved


def _steps(
    terms: tuple[str, ...], result: str, cost: Callable[[Pair], float], all_orders: bool
) -> tuple[float, list[tuple[int, int]]]:
    """The cheapest order: places of two operands, whose product goes to the end of the list."""
    if len(terms) < 2:
        return 0.0, []
    options = []
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            rest = tuple(t for k, t in enumerate(terms) if k not in (i, j))
            made = result if not rest else result_of(terms[i], terms[j], "".join(rest) + result)
            options.append((cost((terms[i], terms[j], made)), (i, j), (*rest, made)))
    if not all_orders:
        options = [min(options, key=lambda option: option[0])]
    best: tuple[float, list[tuple[int, int]]] = (float("inf"), [])
    for spent, pair, left in options:
        if spent >= best[0]:
            continue
        more, steps = _steps(left, result, cost, all_orders)
        if spent + more < best[0]:
            best = (spent + more, [pair, *steps])
    return best


def order_of(
    terms: tuple[str, ...], result: str, cost: Callable[[Pair], float]
) -> list[tuple[int, int]]:
    """The cheapest order of up to five operands; of more, the next cheapest pair each time."""
    if len(terms) == 2:
        return [(0, 1)]
    return _steps(terms, result, functools.cache(cost), len(terms) <= _ALL_ORDERS)[1]
