"""einsum by found programs."""

from __future__ import annotations

import contextlib
import contextvars
import math
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from . import _native
from ._arrays import arrays_of
from ._errors import Failed, InvalidArgument, invalid
from ._kernel import Kernel
from ._path import Pair, assumed_seconds, order_of
from ._progress import Progress
from ._subscripts import Contraction, from_lists, parse
from ._tune import (
    _options,
    best_of,
    compile_recorded,
    compile_workload,
    machine_of,
    threads_of,
    threads_text,
    tune_workload,
)
from ._workload import check_numerics, dtype_name, workload_of

_COMPUTED = ("f32", "f64", "f16", "bf16", "i32", "i64")


class _Tuning:
    """What a `tuning` block asks for, and which programs it tuned already."""

    def __init__(
        self, options: dict[str, Any], progress: bool | None, callback: Any, database: str | None
    ) -> None:
        self.options, self.progress, self.callback = options, progress, callback
        self.database = database
        self.done: set[_Program] = set()


_blocks = 0  # of tuning, that are open; in one, each call asks what is tuned
_generation = 0  # changes where a block begins or ends, for calls that began before
_tuning: contextvars.ContextVar[_Tuning | None] = contextvars.ContextVar("tuning", default=None)


@contextlib.contextmanager
def tuning(
    seconds: float | None = 5.0,
    *,
    trials: int = 512,
    progress: bool | None = None,
    callback: Callable[[Progress], object] | None = None,
    database: str | None = None,
    options: dict[str, Any] | None = None,
) -> Iterator[None]:
    """A block in which each new contraction of ``einsum`` is tuned when it is first called.

    Each of its programs gets ``seconds`` or ``trials``, whatever ends first. What is found is kept
    in ``database`` (the user's, by default), from which later calls, in other processes too, take
    it.
    """
    global _blocks, _generation
    given = {"seconds": seconds, "trials": trials, **(options or {})}
    _options(machine_of(1, database), given)  # it is refused here, not in a call
    token = _tuning.set(_Tuning(given, progress, callback, database))
    _blocks += 1
    _generation += 1
    einsum.forget()
    try:
        yield
    finally:
        _blocks -= 1
        _generation += 1
        einsum.forget()
        _tuning.reset(token)


class _How(NamedTuple):
    """In what type, with how many threads, and to which level of numerics it is computed."""

    dtype: str
    threads: int  # at most, where nobody asked for so many
    by_default: bool
    numerics: str | None


# Multiply-adds for which another thread is worth the time until all have begun and met again: one
# takes some microseconds for them.
_WORK_OF_A_THREAD = 100_000


class _Program:
    """The program of one contraction of one or two operands; tuning replaces its kernel."""

    def __init__(
        self, workload: _native.Workload, how: _How, work: int, database: str | None
    ) -> None:
        self.workload = workload
        worth = how.threads
        if how.by_default:
            worth = min(worth, max(1, work // _WORK_OF_A_THREAD))
        self.machine = machine_of(worth, database)
        #: Where records are looked for next: of more threads, which small work does not need.
        self.otherwise = machine_of(how.threads, database) if worth < how.threads else None
        self.by_default = how.by_default
        self.kernel: Kernel | None = None
        self.lock = threading.Lock()
        self.is_tuned = False  # just now

    def _best(self) -> _native.ScheduleDict | None:
        best = best_of(self.workload, self.machine)
        if best is None and self.otherwise is not None:
            best = best_of(self.workload, self.otherwise)
        return best

    def known_seconds(self) -> float | None:
        try:
            best = self._best()
        except Failed:
            return None  # it is said where the program is compiled
        return best["seconds"] if best else None

    def ready(self) -> Kernel:
        wanted = _tuning.get()
        kernel = self.kernel
        if kernel is not None and (wanted is None or self in wanted.done):
            return kernel
        if self.is_tuned:  # another thread, or a callback, does not wait for the tuner
            return kernel or self._compiled()
        with self.lock:
            if wanted is not None and self not in wanted.done:
                self.is_tuned = True
                try:
                    self._tune(wanted)
                finally:
                    self.is_tuned = False
            if self.kernel is None:
                self.kernel = self._compiled()
            return self.kernel

    def _compiled(self) -> Kernel:
        """By records, if there is a database that can be read."""
        try:
            best = self._best()
            if best is not None:
                return compile_recorded(self.workload, best, self.machine)
            return compile_workload(self.workload, "predicted", self.machine)
        except Failed as failure:
            warnings.warn(f"lathe.einsum goes on without records: {failure}", stacklevel=2)
            return compile_workload(self.workload, "default", self.machine)

    def _tune(self, wanted: _Tuning) -> None:
        options = _options(self.machine, wanted.options)
        number = self.machine.threads
        first = threads_text(None if self.by_default else number, number)
        if self.otherwise is not None:
            first += "; the work is small"
        try:
            tuned = tune_workload(self.workload, options, wanted.progress, wanted.callback, first)
        except Failed as failure:
            if failure.kind != "busy":
                raise
            return  # another process tunes it; what is known will do meanwhile
        self.kernel = tuned
        if tuned.interrupted:
            raise KeyboardInterrupt  # what was found is kept
        wanted.done.add(self)


_MOST = 4096  # shapes that are remembered; then it begins anew
_programs: dict[tuple[Any, ...], _Program] = {}
_plans: dict[tuple[Any, ...], Callable[..., Any]] = {}


def _text(terms: Sequence[str], result: str) -> str:
    names = {letter: f"d{n}" for n, letter in enumerate(dict.fromkeys("".join(terms)))}

    def indices(term: str) -> str:
        return ",".join(names[letter] for letter in term) or "0"

    summed = [names[letter] for letter in names if letter not in result]
    product = " * ".join(f"X{n}[{indices(term)}]" for n, term in enumerate(terms))
    over = f"sum({','.join(summed)}) " if summed else ""
    left = indices(result) if result else "one:1"
    return f"Y[{left}] = {over}{product}"


def _program(terms: tuple[str, ...], result: str, sizes: dict[str, int], how: _How) -> _Program:
    wanted = _tuning.get()
    database = wanted.database if wanted is not None else None
    shapes = tuple(tuple(sizes[letter] for letter in term) or (1,) for term in terms)
    key = (terms, result, shapes, how, database)
    if key not in _programs:
        tensors = {f"X{n}": shape for n, shape in enumerate(shapes)}
        types = dict.fromkeys(tensors, how.dtype)
        workload = workload_of(_text(terms, result), tensors, types, numerics=how.numerics)
        work = math.prod(sizes[letter] for letter in set("".join(terms)))
        _programs[key] = _Program(workload, how, work, database)
    return _programs[key]


class _Plan:
    """What one call does: operands brought into order, then programs one after the other."""

    def __init__(
        self, frame: Any, parsed: Contraction, arrays: list[Any], how: _How
    ) -> None:
        self._frame = frame
        self._sizes, self._how = parsed.sizes, how
        self._ways: list[tuple[tuple[int, ...], list[int] | None]] = []
        terms = [self._way(term, array) for term, array in zip(parsed.terms, arrays)]
        self._steps: list[tuple[tuple[int, ...], _Program]] = []
        self._plan(terms, parsed.result)
        self._shape = tuple(parsed.sizes[letter] for letter in parsed.result)

    def _way(self, term: str, array: Any) -> str:
        """How an operand becomes row-major: what is broadcast left out, dimensions reordered."""
        kept = [d for d, letter in enumerate(term) if array.shape[d] == self._sizes[letter]]
        strides = self._frame.strides(array)
        order = sorted(kept, key=lambda d: -strides[d] if array.shape[d] > 1 else 0)
        if not all(strides[d] > 0 or array.shape[d] == 1 for d in kept):
            order = kept  # negative strides, or none: it is copied
        self._ways.append((tuple(array.shape[d] for d in order), self._permutation(order, term)))
        return "".join(term[d] for d in order)

    @staticmethod
    def _permutation(order: list[int], term: str) -> list[int] | None:
        if order == list(range(len(term))):
            return None
        return order + [d for d in range(len(term)) if d not in order]

    def _plan(self, terms: list[str], result: str) -> None:
        # What a single operand sums over is summed first.
        for place, term in enumerate(terms):
            others = "".join(t for n, t in enumerate(terms) if n != place) + result
            kept = "".join(letter for letter in dict.fromkeys(term) if letter in others)
            if len(terms) == 1 or set(kept) == set(term):
                continue
            terms = [*terms[:place], kept, *terms[place + 1 :]]
            self._steps.append(((place,), self._made((term,), kept)))
        if len(terms) == 1:
            self._steps.append(((0,), self._made((terms[0],), result)))
            return
        left = list(terms)
        for i, j in order_of(tuple(terms), result, self._cost):
            first, second = left[i], left[j]
            left = [t for k, t in enumerate(left) if k not in (i, j)]
            rest = "".join(left) + result
            made = "".join(x for x in dict.fromkeys(first + second) if x in rest)
            made = made if left else result
            self._steps.append(((i, j), self._made((first, second), made)))
            left.append(made)

    def _made(self, terms: tuple[str, ...], result: str) -> _Program:
        return _program(terms, result, self._sizes, self._how)

    def _cost(self, pair: Pair) -> float:
        first, second, result = pair
        known = self._made((first, second), result).known_seconds()
        return assumed_seconds(pair, self._sizes) if known is None else known

    def short_way(self, arrays: list[Any]) -> tuple[Kernel, list[list[int]]] | None:
        """The kernel that is all of the call, if there is one, and its inputs' dimensions."""
        if len(self._steps) > 1 or not self._shape:
            return None
        places, program = self._steps[0]
        if places != tuple(range(len(arrays))):
            return None
        orders = []
        for array, (shape, permutation) in zip(arrays, self._ways):
            order = list(range(len(array.shape))) if permutation is None else permutation
            if not self._frame.is_contiguous(self._frame.permute(array, order)):
                return None  # it is copied
            orders.append(order[: len(shape)])
        return program.ready(), orders

    def _ordered(self, array: Any, way: tuple[tuple[int, ...], list[int] | None]) -> Any:
        shape, permutation = way
        if permutation is not None:
            array = self._frame.permute(array, permutation).reshape(shape or (1,))
        elif not shape:
            array = array.reshape(1)
        return array if self._frame.is_contiguous(array) else self._frame.contiguous(array)

    def __call__(self, arrays: list[Any], out: Any) -> Any:
        if out is None:
            return self._result(arrays, None)
        if tuple(out.shape) != self._shape:
            raise invalid(f"out has the shape {tuple(out.shape)}, the result {self._shape}")
        if self._shape and self._frame.is_contiguous(out):
            try:
                return self._result(arrays, out)
            except InvalidArgument:
                pass  # of another type, or an operand's memory: it is copied to
        self._frame.copy_to(out, self._result(arrays, None))
        return out

    def _result(self, arrays: list[Any], out: Any) -> Any:
        left = [self._ordered(array, way) for array, way in zip(arrays, self._ways)]
        for number, (places, program) in enumerate(self._steps):
            last = number + 1 == len(self._steps)
            given = [left[place] for place in places]
            made = program.ready()(*given, out=out if last else None)
            if len(places) == 1:
                left[places[0]] = made
            else:
                left = [a for k, a in enumerate(left) if k not in places] + [made]
        return made if self._shape else self._frame.scalar(made)


def _moves_only(parsed: Contraction) -> bool:
    """One operand whose elements are all in the result: a view, which frameworks make at once."""
    return len(parsed.terms) == 1 and set(parsed.terms[0]) == set(parsed.result)


def _planned(
    frame: Any, subscripts: str, arrays: list[Any], threads: int | None, numerics: str | None
) -> Callable[..., Any]:
    check_numerics(numerics)
    parsed = parse(subscripts, [array.shape for array in arrays])
    dtype = dtype_name(arrays[0].dtype)
    if dtype not in _COMPUTED or 0 in parsed.sizes.values() or _moves_only(parsed):

        def by_framework(given: list[Any], out: Any) -> Any:
            result = frame.einsum(subscripts, given)
            if out is None:
                return result if tuple(result.shape) else frame.scalar(result)
            frame.copy_to(out, result)
            return out

        return by_framework
    how = _How(dtype, threads_of(threads), threads is None, numerics)
    return _Plan(frame, parsed, arrays, how)


def _einsum(
    subscripts: Any,
    *operands: Any,
    out: Any = None,
    threads: int | None = None,
    numerics: str | None = None,
    optimize: Any = None,
) -> Any:
    """``numpy.einsum`` by programs that Lathe found: ``einsum("ac,abc->cb", a, c)``.

    Operands are arrays of NumPy or tensors of PyTorch, and so is the result; ``out`` takes it where
    given. Several operands are contracted two at a time, in the order that costs least, by what is
    on record. The first call of a shape compiles the best program on record, else the predicted
    one; in a ``tuning`` block it is tuned. Types that are not f64, f32, f16, bf16, i64 or i32, and
    what only moves elements, are left to the framework.

    Rows are computed one by one, so that a large one, or a NaN in it, leaves others as they are.
    With ``numerics="normwise"`` roundings may spread over whole matrices, as by Strassen's
    algorithm.

    ``threads`` is as for ``tune``; by default small work gets fewer of them. The first call of a
    shape settles it.

    An operand that is not row-major under some order of its dimensions is copied. ``optimize`` is
    there for code that was written for NumPy; it changes nothing. NumPy's ``dtype``, ``order`` and
    ``casting`` are not taken. Subscripts may be lists of numbers after each operand, and at the end
    those of the result: ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.
    """
    if not isinstance(subscripts, str):
        if len(operands) < 1 or not hasattr(subscripts, "shape"):
            raise invalid(
                f"subscripts are given as {type(subscripts).__name__}; give a text, as in "
                "einsum('ij,jk->ik', a, b), or an array and a list of numbers"
            )
        text, given = from_lists((subscripts, *operands))
        told = {"out": out, "threads": threads, "numerics": numerics}
        return einsum(text, *given, **{name: x for name, x in told.items() if x is not None})
    if out is not None and not hasattr(out, "shape"):
        raise invalid(f"out is given as {type(out).__name__}; give an array")
    if not operands:
        raise invalid("einsum needs operands, as in einsum('ij,jk->ik', a, b)")
    if threads is not None:
        threads = threads_of(threads)
    generation = _generation
    frame = arrays_of(operands)
    arrays = [frame.take(operand) for operand in operands]
    if frame.needs_gradient(arrays):
        check_numerics(numerics)
        return frame.einsum(subscripts, arrays)
    if len({array.dtype for array in arrays}) > 1:
        arrays = frame.common(arrays)
    block = _tuning.get()
    key = (
        subscripts, threads, numerics, frame.name, arrays[0].dtype,
        block.database if block else None,
        tuple((tuple(array.shape), frame.strides(array)) for array in arrays),
    )  # fmt: skip
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= _MOST:
            _plans.clear()
            _programs.clear()
        plan = _plans[key] = _planned(frame, subscripts, arrays, threads, numerics)
    result = plan(arrays, out)
    if _blocks == 0 and generation == _generation and isinstance(plan, _Plan):
        way = plan.short_way(arrays)
        if way is not None and all(a is o for a, o in zip(arrays, operands)):
            einsum.remember(subscripts, operands, numerics, *way, threads)
    return result


class _Einsum(_native.Einsum):
    __doc__ = _einsum.__doc__
    __name__ = __qualname__ = "einsum"
    __wrapped__ = staticmethod(_einsum)


einsum = _Einsum(_einsum)
