"""Models from ONNX files, tuned and compiled as a whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from . import _native
from ._errors import Failed, invalid
from ._kernel import Kernel
from ._progress import Bar, Progress, listener_of
from ._workload import is_array, max_error_of, shape_of


def names_model(what: object) -> bool:
    """Whether this is the name of a model's file: it ends in .onnx."""
    return isinstance(what, str) and what.endswith(".onnx") and not set("[=;\n") & set(what)


def check_no_weights_type(weights_type: str | None) -> None:
    if weights_type is not None:
        raise invalid("weights_type is for a model.onnx; dtypes give types of a workload's inputs")


def shapes_of(sizes: Mapping[str, Any]) -> dict[str, list[int]]:
    """Of a model's sizes, by their names, and of its inputs: a number, a shape or an array each."""
    return {
        name: list(value.shape) if is_array(value) else list(shape_of(name, value))
        for name, value in sizes.items()
    }


def check_weights_type(weights_type: str | None) -> None:
    if weights_type is not None and not isinstance(weights_type, str):
        raise invalid(f"weights_type is {weights_type!r}; give the name of a type, as \"f16\"")


def open_model(
    path: str,
    sizes: Mapping[str, Any],
    others: Mapping[str, Any],
    max_error: float | None,
    weights_type: str | None,
) -> _native.Model:
    """``sizes`` fix what the model leaves open; ``others`` are arguments that it does not take."""
    given = [name for name, value in others.items() if value]
    if given:
        raise invalid(f"a model does not take {', '.join(given)}; leave them out")
    shapes = shapes_of(sizes)
    error = max_error_of(max_error, "1e-4")
    check_weights_type(weights_type)
    return _native.Model.open(path, shapes, error, weights_type or "any")


def tune_model(
    model: _native.Model,
    options: _native.TuneOptions,
    progress: bool | None,
    callback: Callable[[Progress], object] | None,
    first: str,
) -> Kernel:
    bar = Bar(options.trials, model.flops, progress, first)
    try:
        result = model.tune(options, listener_of(bar, callback))
    finally:
        bar.close()
    best = sum(nodes * seconds for _, nodes, _, _, _, seconds, _ in result["tasks"])
    if result["signalled"] and not best:
        raise KeyboardInterrupt
    if not best:
        raise Failed("no trial succeeded before the time ended; give more seconds", "not-found")
    kernel = compile_model(model, "best", options.machine, True)
    kernel.trials = sum(task[2] for task in result["tasks"])
    kernel.failed = sum(task[3] for task in result["tasks"])
    kernel.interrupted = result["interrupted"]
    return kernel


def compile_model(
    model: _native.Model, schedule: str, machine: _native.Machine, check: bool
) -> Kernel:
    with tempfile.TemporaryDirectory(prefix="lathe-model-") as folder:
        path = os.path.join(folder, "model.so")
        model.write_library(path, schedule, machine, check)
        return Kernel(_native.Library.open(path))
