"""In which order several operands are contracted, two at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable

# What a step costs that nothing is known of, in seconds: for a call, a multiply-add, an element
# that is read or written. They only rank orders of one contraction.
_CALL, _MULTIPLY, _ELEMENT = 2e-6, 2e-11, 4e-10
_ALL_ORDERS = 8  # operands; they have 3,025 ways to be shared out in two, sets of them included

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


class _Orders:
    """The cheapest order of each set of operands, from the sets that it is made of."""

    def __init__(
        self, terms: tuple[str, ...], result: str, cost: Callable[[Pair], float]
    ) -> None:
        self._terms, self._result, self._cost = terms, result, cost
        self._known: dict[int, tuple[float, str, tuple[int, int] | None]] = {
            1 << n: (0.0, term, None) for n, term in enumerate(terms)
        }

    def _made(self, chosen: int, first: str, second: str) -> str:
        rest = [t for n, t in enumerate(self._terms) if not chosen >> n & 1]
        return result_of(first, second, "".join(rest) + self._result) if rest else self._result

    def best(self, chosen: int) -> tuple[float, str, tuple[int, int] | None]:
        """Seconds, the letters that are left, and the two sets that are multiplied last."""
        if chosen in self._known:
            return self._known[chosen]
        found: tuple[float, str, tuple[int, int] | None] | None = None
        lowest = chosen & -chosen
        rest = chosen ^ lowest
        other = rest
        while other:  # each way to share out the set, its lowest operand in the first part
            parts = (chosen ^ other, other)
            (before, first, _), (more, second, _) = map(self.best, parts)
            made = self._made(chosen, first, second)
            spent = before + more + self._cost((first, second, made))
            if found is None or spent < found[0]:
                found = (spent, made, parts)
            other = (other - 1) & rest
        assert found is not None
        self._known[chosen] = found
        return found

    def pairs(self, chosen: int) -> list[tuple[int, int]]:
        parts = self.best(chosen)[2]
        return [] if parts is None else [*self.pairs(parts[0]), *self.pairs(parts[1]), parts]


def _cheapest_pair(
    terms: tuple[str, ...], result: str, cost: Callable[[Pair], float]
) -> tuple[float, tuple[int, int], str]:
    options = []
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            rest = "".join(t for k, t in enumerate(terms) if k not in (i, j)) + result
            made = result_of(terms[i], terms[j], rest)
            options.append((cost((terms[i], terms[j], made)), (i, j), made))
    return min(options, key=lambda option: option[0])


def order_of(
    terms: tuple[str, ...], result: str, cost: Callable[[Pair], float]
) -> list[tuple[int, int]]:
    """The cheapest order: places of two operands, whose product goes to the end of the list.

    Of many operands the cheapest pair goes first, until there are few of them.
    """
    if len(terms) == 2:
        return [(0, 1)]
    cost = functools.cache(cost)
    order: list[tuple[int, int]] = []
    while len(terms) > _ALL_ORDERS:
        _, (i, j), made = _cheapest_pair(terms, result, cost)
        order.append((i, j))
        terms = (*(t for k, t in enumerate(terms) if k not in (i, j)), made)
    left = [1 << n for n in range(len(terms))]
    orders = _Orders(terms, result, cost)
    for first, second in orders.pairs((1 << len(terms)) - 1):
        i, j = sorted((left.index(first), left.index(second)))
        order.append((i, j))
        left = [*(s for k, s in enumerate(left) if k not in (i, j)), first | second]
    return order
