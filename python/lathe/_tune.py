"""Tuning and compiling."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _native
from ._errors import Failed, file_name, invalid
from ._kernel import Kernel
from ._progress import Bar, Progress, listener_of
from ._workload import is_array, together, workload_of


def machine_of(
    threads: int, database: str | None, target: str = "cpu:host", cold_cache: bool = False
) -> _native.Machine:
    machine = _native.Machine()
    machine.target = target
    machine.threads = threads
    machine.database = "" if database is None else file_name(database, "the database")
    machine.cold_cache = cold_cache
    return machine


def _options(machine: _native.Machine, given: Mapping[str, Any]) -> _native.TuneOptions:
    options = _native.TuneOptions()
    options.machine = machine
    seconds = given.get("seconds")
    if isinstance(seconds, (int, float)) and not seconds > 0:
        raise invalid(f"seconds is {seconds}; give more than 0, or None for no limit")
    for name, value in given.items():
        if value is None:
            continue
        if name == "global_model":
            value = file_name(value, "the global model")
        try:
            setattr(options, name, value)
        except TypeError:
            raise invalid(f"{name} is given as {value!r}, which is no value for it") from None
        except AttributeError:
            known = ", ".join(n for n in dir(options) if not n.startswith("_") and n != "machine")
            raise invalid(f'there is no option "{name}"; options are {known}') from None
    return options


def _give_constants(kernel: Kernel, tensors: Mapping[str, Any]) -> None:
    known = {
        t.name: tensors[t.name]
        for t in kernel.inputs
        if t.constant and is_array(tensors.get(t.name))
    }
    if known:
        kernel.prepare(**known)


def tune_workload(
    workload: _native.Workload,
    options: _native.TuneOptions,
    progress: bool | None,
    callback: Callable[[Progress], object] | None,
    check: bool = True,
) -> Kernel:
    """Tunes and compiles the best. Ctrl-C ends the run, and the best so far is compiled."""
    bar = Bar(options.trials, workload.flops, progress)
    try:
        result = workload.tune(options, listener_of(bar, callback))
    finally:
        bar.close()
    best = result["best"]
    if best is None:
        if result["signalled"]:
            raise KeyboardInterrupt
        if result["unverified"]:
            why = (
                "no trial was verified in time: the reference that trials are compared with was "
                "not there yet; give more seconds"
            )
        elif result["trials"]:
            why = "no trial succeeded"
        else:
            why = "the time ended before the first trial"
        raise Failed(why, "not-found")
    kernel = Kernel._compiled(workload, best["trace"], options.machine, check)
    kernel.seconds, kernel.gflops = best["seconds"], best["gflops"]
    kernel.trials, kernel.failed = result["trials"], result["failed"]
    kernel.interrupted = result["interrupted"]
    return kernel


def tune(
    what: str,
    *,
    trials: int = 512,
    seconds: float | None = None,
    threads: int = 1,
    constants: Iterable[str] = (),
    tensors: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    database: str | None = None,
    cold_cache: bool = False,
    max_error: float | None = None,
    algorithm: str | None = None,
    numerics: str | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    progress: bool | None = None,
    callback: Callable[[Progress], object] | None = None,
    options: Mapping[str, Any] | None = None,
    **named: Any,
) -> Kernel:
    """Finds a fast program for a workload on this machine.

    ``what`` is an index expression, as ``"C[i,j] = sum(k) A[k,i] * B[k,j]"``, with an array or a
    shape for each input (``A=a, B=(256, 64)``), or an operator's name with its flags
    (``"conv2d", input=(1, 64, 56, 56), weight=(64, 64, 3, 3), pad=1``; ``python -m lathe tune
    conv2d --help`` lists them). Types come from arrays, or from ``dtypes={"A": "f16"}``; f32 else.
    ``tensors`` takes what keywords cannot, as a tensor called trials.

    ``constants`` names inputs that are known beforehand, as weights; those that are given as arrays
    are packed at once, and calls may leave them out.

    ``numerics`` says how far roundings, NaN and infinity may spread: "componentwise", not at all;
    "local", the default, among neighbouring results, as by Cook-Toom algorithms; "normwise", over
    whole matrices, as by Strassen's. ``ranges={"X": (0, 1)}`` says between which numbers inputs
    lie, for the checks.

    The run ends after ``trials`` programs or ``seconds``, at Ctrl-C with the best so far, or when
    ``callback``, which gets a Progress at least twice a second, raises. Every trial is kept in
    ``database`` (the user's, by default), so the same call later goes on. ``options`` are the
    tuner's others, by their names in TuneOptions of lathe.h.

    Raises InvalidArgument or Failed, both of them Error.
    """
    machine = machine_of(threads, database, cold_cache=cold_cache)
    named = together(tensors, named)
    workload = workload_of(
        what, named, dtypes, constants,
        max_error=max_error, algorithm=algorithm, numerics=numerics, ranges=ranges,
    )  # fmt: skip
    given = {"trials": trials, "seconds": seconds, **(options or {})}
    kernel = tune_workload(workload, _options(machine, given), progress, callback)
    _give_constants(kernel, named)
    return kernel


def compile(
    what: str,
    *,
    schedule: str | list[Any] | None = None,
    threads: int = 1,
    constants: Iterable[str] = (),
    tensors: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    database: str | None = None,
    max_error: float | None = None,
    algorithm: str | None = None,
    numerics: str | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    check: bool = True,
    **named: Any,
) -> Kernel:
    """Compiles a workload without tuning it; ``what`` and tensors are given as to ``tune``.

    ``schedule`` is "best" (on record), "predicted" (the models' choice, or the default where they
    choose badly), "default", "naive" or a trace, as a kernel or a search has it. By default it is
    the best on record, else the predicted one. A program is checked against a reference once on a
    machine, unless ``check`` is False.
    """
    machine = machine_of(threads, database)
    named = together(tensors, named)
    workload = workload_of(
        what, named, dtypes, constants,
        max_error=max_error, algorithm=algorithm, numerics=numerics, ranges=ranges,
    )  # fmt: skip
    if isinstance(schedule, list):
        schedule = json.dumps(schedule)
    kernel = compile_workload(workload, schedule, machine, check)
    _give_constants(kernel, named)
    return kernel


def best_of(
    workload: _native.Workload, machine: _native.Machine
) -> _native.ScheduleDict | None:
    """The best on record, if there is one, and a database."""
    if machine.database and not os.path.exists(machine.database):
        return None
    return workload.best(machine)


def compile_workload(
    workload: _native.Workload, schedule: str | None, machine: _native.Machine, check: bool = True
) -> Kernel:
    best = best_of(workload, machine) if schedule in (None, "best") else None
    if best is None:
        return Kernel._compiled(workload, schedule or "predicted", machine, check)
    kernel = Kernel._compiled(workload, best["trace"], machine, check)
    kernel.seconds, kernel.gflops = best["seconds"], best["gflops"]
    return kernel
