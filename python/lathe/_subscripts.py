"""The subscripts of einsum, as NumPy reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ._errors import invalid

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Contraction(NamedTuple):
    """Letters of each operand's dimensions and of the result's, and how long each letter is."""

    terms: tuple[str, ...]
    result: str
    sizes: dict[str, int]


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
        raise invalid(f'"{subscripts}" has more dimensions than there are letters')
    row = "".join(free[: max(longest, 0)])
    out = []
    for term, count, rank in zip(terms, named, ranks):
        if count < 0 or ("..." not in term and count > 0):
            raise invalid(
                f'"{term}" names {len(term.replace("...", ""))} dimensions, and its operand has '
                f"{rank}"
            )
        out.append(term.replace("...", row[len(row) - count :]))
    return out, row


def _split(subscripts: str, operands: int) -> tuple[list[str], str | None]:
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    for term in [*terms, right]:
        if term.count("...") > 1 or "." in term.replace("...", ""):
            raise invalid(f'"{subscripts}" has a point that is no "..."')
        _check_letters(term.replace("...", ""), subscripts)
    if len(terms) != operands:
        raise invalid(
            f'"{subscripts}" is for {len(terms)} operands, and {operands} are given'
        )
    return terms, right if arrow else None


def _sizes(terms: list[str], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes):
        own = {letter: size for letter, size in zip(term, shape)}
        for letter, size in zip(term, shape):
            if own[letter] != size:
                raise invalid(f'"{letter}" is {size} and {own[letter]} long in one operand')
            known = sizes.get(letter, 1)
            if known not in (1, size) and size != 1:
                raise invalid(f'"{letter}" is {known} long in one operand and {size} in another')
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
        raise invalid(f'the result of "{subscripts}" lacks the "..." that its operands have')
    else:
        result = result.replace("...", row)
    for letter in result:
        if result.count(letter) > 1:
            raise invalid(f'"{letter}" stands twice in the result of "{subscripts}"')
        if not any(letter in term for term in terms):
            raise invalid(f'"{letter}" in the result of "{subscripts}" is in no operand')
    return Contraction(tuple(terms), result, _sizes(terms, shapes))
