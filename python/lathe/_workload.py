"""From what a caller writes to a workload: shapes and types are taken from arrays, or given."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any

from . import _native
from ._errors import invalid

_DTYPES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16",
    "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
    "int64": "i64", "bool": "bool",
}  # fmt: skip


def dtype_name(dtype: Any) -> str:
    """Lathe's name of an element type of NumPy, PyTorch or JAX, or of such a name."""
    if isinstance(dtype, type):  # numpy.float32
        dtype = dtype.__name__
    name = str(getattr(dtype, "name", dtype)).removeprefix("torch.")
    return _DTYPES.get(name, name)


def shape_of(name: str, given: Any) -> tuple[int, ...]:
    sizes = [given] if isinstance(given, int) else given
    try:
        if isinstance(given, str) or any(isinstance(size, bool) for size in sizes):
            raise TypeError
        shape = tuple(operator.index(size) for size in sizes)
    except TypeError:
        raise invalid(
            f'"{name}" is given as {type(given).__name__}; give an array or a shape, as '
            f"{name}=(256, 256)"
        ) from None
    if not shape:
        raise invalid(f'"{name}" has no dimensions; a number is a tensor of shape (1,)')
    return shape


def is_array(given: Any) -> bool:
    return hasattr(given, "shape") and hasattr(given, "dtype")


def _flag(given: Any) -> str:
    if isinstance(given, bool):
        return "true" if given else "false"
    if is_array(given):
        return ",".join(str(int(size)) for size in given.shape)
    if isinstance(given, Mapping):
        return ",".join(f"{name}={size}" for name, size in given.items())
    if isinstance(given, (tuple, list)):
        return ",".join(str(part) for part in given)
    return str(given)


def together(
    tensors: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> dict[str, Any]:
    """What is given by name and in ``tensors``."""
    for name in tensors or {}:
        if name in named:
            raise invalid(f'"{name}" is given twice, by itself and in tensors')
    return {**(tensors or {}), **named}


def _pairs(ranges: Any) -> dict[str, tuple[float, float]]:
    if not isinstance(ranges, Mapping):
        raise invalid(f'ranges are given as {ranges!r}; give them by name, as {{"X": (0, 1)}}')
    pairs = {}
    for name, given in ranges.items():
        try:
            low, high = given
            pairs[name] = (float(low), float(high))
        except (TypeError, ValueError):
            raise invalid(
                f'the range of "{name}" is given as {given!r}; give two numbers, as (0, 1)'
            ) from None
    return pairs


def max_error_of(given: float | None, usual: str) -> float:
    """What is allowed, as a number; 0 for None, the usual."""
    if given is None:
        return 0.0
    try:
        number = math.nan if isinstance(given, (str, bool)) else float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise invalid(f"max_error is {given!r}; give a number above 0, or None for {usual}")
    return number


def workload_of(
    what: str,
    tensors: Mapping[str, Any],
    dtypes: Mapping[str, Any] | None = None,
    constants: Iterable[str] = (),
    *,
    max_error: float | None = None,
    algorithm: str | None = None,
    numerics: str | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> _native.Workload:
    if not isinstance(what, str):
        raise invalid(f"what to compute is given as {type(what).__name__}; give a text")
    inputs = _native.Inputs()
    inputs.constants = [constants] if isinstance(constants, str) else list(constants)
    inputs.max_error = max_error_of(max_error, "2e-5")
    inputs.algorithm = algorithm or ""
    if numerics is not None and (not isinstance(numerics, str) or not numerics):
        raise invalid(f"numerics is {numerics!r}; name componentwise, local or normwise")
    inputs.numerics = numerics or ""
    inputs.ranges = _pairs(ranges or {})
    types = {name: dtype_name(dtype) for name, dtype in (dtypes or {}).items()}
    if "[" not in what:  # an operator's name; its flags are what the command calls so
        inputs.dtypes = types
        flags = {name.replace("_", "-"): _flag(given) for name, given in tensors.items()}
        return _native.Workload.named(what, flags, inputs)
    shapes = {}
    for name, given in tensors.items():
        if is_array(given):
            shapes[name] = list(shape_of(name, tuple(given.shape)))
            types.setdefault(name, dtype_name(given.dtype))
        else:
            shapes[name] = list(shape_of(name, given))
    inputs.shapes = shapes
    inputs.dtypes = types
    return _native.Workload.parse(what, inputs)


def check_numerics(level: str | None) -> None:
    """Refuses what is no level of numerics."""
    if level is not None:
        workload_of("Y[i] = X[i]", {"X": (1,)}, numerics=level)
