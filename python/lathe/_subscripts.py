"""The subscripts of einsum, as NumPy reads them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ._errors import invalid

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Contraction(NamedTuple):
    """Letters of each operand's dimensions and of the result's, and how long each letter is."""

    terms: tuple[str, ...]
    result: str
    sizes: dict[str, int]


def _numbers_of(given: Any, place: str) -> list[Any]:
    """A list of numbers, and of an Ellipsis perhaps."""
    try:
        if isinstance(given, (str, bytes)):
            raise TypeError
        return [x if x is Ellipsis else operator.index(x) for x in given]
    except TypeError:
        raise invalid(
            f"the subscripts of {place} are given as {given!r}; give a list of whole numbers, as "
            "in einsum(a, [0, 1], b, [1, 2], [0, 2])"
        ) from None


def from_lists(given: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """A text of subscripts, and the operands, of ``a, [0, 1], b, [1, 2], [0, 2]``.

    The last list, of the result, may be missing. Letters have the order of the numbers.
    """
    operands = tuple(given[0:-1:2])
    terms = [_numbers_of(x, f"operand {n}") for n, x in enumerate(given[1::2])]
    result = _numbers_of(given[-1], "the result") if len(given) % 2 else None
    used = sorted({x for term in [*terms, result or []] for x in term if x is not Ellipsis})
    if used and used[0] < 0:
        raise invalid(f"{used[0]} stands among the subscripts; give numbers from 0 on")
    if len(used) > len(_LETTERS):
        raise invalid(
            f"the subscripts have {len(used)} different numbers; {len(_LETTERS)} are the most"
        )
    letters = dict(zip(used, sorted(_LETTERS)))

    def text(term: Iterable[Any]) -> str:
        return "".join("..." if x is Ellipsis else letters[x] for x in term)

    right = "" if result is None else "->" + text(result)
    return ",".join(map(text, terms)) + right, operands


def _check_letters(term: str, subscripts: str) -> None:
    for letter in term:
        if letter not in _LETTERS:
            raise invalid(f'"{letter}" in "{subscripts}" is no letter; write as in "ij,jk->ik"')


def _spread(
    terms: list[str], result: str | None, ranks: Sequence[int], subscripts: str
) -> tuple[list[str], str]:
    """Letters in place of "..." in the terms, and the longest such row of letters."""
    free = [x for x in _LETTERS if not any(x in term for term in [*terms, result or ""])]
    named = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks)]
    longest = max((n for n, term in zip(named, terms) if "..." in term), default=0)
    if longest > len(free):
        raise invalid(
            f'"{subscripts}" has more dimensions than there are letters; give operands fewer of '
            "them"
        )
    row = "".join(free[: max(longest, 0)])
    out = []
    for term, count, rank in zip(terms, named, ranks):
        if count < 0 or ("..." not in term and count > 0):
            raise invalid(
                f'"{term}" in "{subscripts}" names {len(term.replace("...", ""))} dimensions, and '
                f'its operand has {rank}; write a letter for each, or "..." for those between'
            )
        out.append(term.replace("...", row[len(row) - count :]))
    return out, row


def _split(subscripts: str, operands: int) -> tuple[list[str], str | None]:
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    for term in [*terms, right]:
        if term.count("...") > 1 or "." in term.replace("...", ""):
            raise invalid(
                f'"{subscripts}" has a point that is no "..."; write three, once in an operand'
            )
        _check_letters(term.replace("...", ""), subscripts)
    if len(terms) != operands:
        raise invalid(
            f'"{subscripts}" is for {len(terms)} operands, and {operands} are given; commas part '
            "the subscripts of operands"
        )
    return terms, right if arrow else None


def _sizes(terms: list[str], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes):
        own = {letter: size for letter, size in zip(term, shape)}
        for letter, size in zip(term, shape):
            if own[letter] != size:
                raise invalid(
                    f'"{letter}" is {size} and {own[letter]} long in the operand "{term}"; a '
                    "letter that stands there twice needs equal lengths"
                )
            known = sizes.get(letter, 1)
            if known not in (1, size) and size != 1:
                raise invalid(
                    f'"{letter}" is {known} long in one operand and {size} in "{term}"; give equal '
                    "lengths, or one of 1"
                )
            sizes[letter] = max(known, size) if 0 not in (known, size) else 0
    return sizes


def parse(subscripts: str, shapes: Sequence[Sequence[int]]) -> Contraction:
    """Checks subscripts against the operands' shapes, and fills in what they leave open."""
    terms, result = _split(subscripts, len(shapes))
    ranks = [len(shape) for shape in shapes]
    terms, row = _spread(terms, result, ranks, subscripts)
    if result is None:
        letters = sorted(set("".join(terms)) - set(row))
        result = row + "".join(x for x in letters if "".join(terms).count(x) == 1)
    elif row and "..." not in result:
        raise invalid(
            f'the result of "{subscripts}" lacks the "..." that its operands have; write it there'
        )
    else:
        result = result.replace("...", row)
    for letter in result:
        if result.count(letter) > 1:
            raise invalid(f'"{letter}" stands twice in the result of "{subscripts}"; name it once')
        if not any(letter in term for term in terms):
            raise invalid(
                f'"{letter}" in the result of "{subscripts}" is in no operand; take it away'
            )
    return Contraction(tuple(terms), result, _sizes(terms, shapes))
