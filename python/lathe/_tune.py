"""Tuning and compiling."""

from __future__ import annotations

import json
import operator
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _native
from ._errors import Failed, file_name, invalid
from ._kernel import Kernel
from ._model import check_no_weights_type, compile_model, names_model, open_model, tune_model
from ._progress import Bar, Progress, listener_of
from ._workload import is_array, together, workload_of


_MOST_THREADS = 1024


def threads_of(given: int | None) -> int:
    """A number of threads that a caller gives; None: as many as this process should use."""
    if given is None:
        return _native.Machine.usual_threads()[0]
    try:
        number = -1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = -1
    if not 0 < number <= _MOST_THREADS:
        raise invalid(
            f"threads is {given!r}; give a number from 1 to {_MOST_THREADS}, or None for as many "
            "as this process should use"
        )
    return number


def has_threads(target: str) -> bool:
    return target.startswith("cpu:")


def threads_text(given: int | None, number: int) -> str:
    """How many threads a run uses, and why."""
    why = "as was asked for" if given is not None else _native.Machine.usual_threads()[1]
    return f"lathe: {number} thread{'' if number == 1 else 's'}: {why}"


def machine_of(
    threads: int | None, database: str | None, target: str = "cpu:host", cold_cache: bool = False
) -> _native.Machine:
    machine = _native.Machine()
    machine.target = target if ":" in target else f"{target}:host"
    if has_threads(machine.target):
        machine.threads = threads_of(threads)
    elif threads is not None:
        raise invalid(f"only programs of processors have threads, and the target is {target}")
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
            known = ", ".join(
                n for n in dir(options) if n[0] != "_" and n not in ("machine", "session")
            )
            raise invalid(f'there is no option "{name}"; options are {known}') from None
    return options


def _give_constants(kernel: Kernel, tensors: Mapping[str, Any]) -> None:
    known = {
        t.name: tensors[t.name]
        for t in kernel.inputs
        if t.constant and is_array(tensors.get(t.name))
    }
    # On a card all are packed at once; where some are unknown, the first call gives them.
    partly = kernel.on_card and len(known) < sum(t.constant for t in kernel.inputs)
    if known and not partly:
        kernel.prepare(**known)


def tune_workload(
    workload: _native.Workload,
    options: _native.TuneOptions,
    progress: bool | None,
    callback: Callable[[Progress], object] | None,
    first: str = "",
) -> Kernel:
    """Tunes and compiles the best. Ctrl-C ends the run, and the best so far is compiled.

    ``first`` is shown before anything else.
    """
    bar = Bar(options.trials, workload.flops, progress, first)
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
    kernel = compile_recorded(workload, best, options.machine)
    kernel.trials, kernel.failed = result["trials"], result["failed"]
    kernel.interrupted = result["interrupted"]
    return kernel


def tune(
    what: str,
    *,
    trials: int = 512,
    seconds: float | None = None,
    threads: int | None = None,
    target: str = "cpu:host",
    constants: Iterable[str] = (),
    tensors: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    database: str | None = None,
    cold_cache: bool = False,
    max_error: float | None = None,
    weights_type: str | None = None,
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

    ``what`` may be the file of a model, too: ``tune("model.onnx", batch=1, seconds=90)``. Sizes
    that the model leaves open are given by their names, or all those of an input as its shape.

    ``max_error`` is the largest error that is allowed, relative to the largest output: 2e-5 by
    default, of a model 1e-4. A model that may have 5e-4 and more can keep weights in f16 or bf16
    where that gains time; ``weights_type="f16"`` or "bf16" keeps all weights of its products so,
    "f32" none. ``compile`` finds what ``tune`` found with the same ones.

    ``constants`` names inputs that are known beforehand, as weights; those that are given as arrays
    are packed at once, and calls may leave them out.

    ``numerics`` says how far roundings, NaN and infinity may spread: "componentwise", not at all;
    "local", the default, among neighbouring results, as by Cook-Toom algorithms; "normwise", over
    whole matrices, as by Strassen's. ``ranges={"X": (0, 1)}`` says between which numbers inputs
    lie, for the checks.

    ``threads`` is how many a call uses; by default as many as this process should: the physical
    cores of one NUMA node that it may run on, fewer where OMP_NUM_THREADS or the quota of a
    container says less. Where progress is shown, its first line tells the number and why.

    ``target`` is what the program is for: this machine's processor, or ``"cuda:host"``, its card,
    whose kernels take arrays on the card.

    The run ends after ``trials`` programs or ``seconds``, at Ctrl-C with the best so far, or when
    ``callback``, which gets a Progress at least twice a second, raises. Every trial is kept in
    ``database`` (the user's, by default), so the same call later goes on. ``options`` are the
    tuner's others, by their names in TuneOptions of lathe.h.

    Raises InvalidArgument or Failed, both of them Error.
    """
    machine = machine_of(threads, database, target, cold_cache)
    named = together(tensors, named)
    if names_model(what):
        others = {
            "constants": tuple(constants), "dtypes": dtypes, "algorithm": algorithm,
            "numerics": numerics, "ranges": ranges,
        }  # fmt: skip
        model = open_model(what, named, others, max_error, weights_type)
        given = {"trials": trials, "seconds": seconds, **(options or {})}
        first = threads_text(threads, machine.threads)
        return tune_model(model, _options(machine, given), progress, callback, first)
    check_no_weights_type(weights_type)
    workload = workload_of(
        what, named, dtypes, constants,
        max_error=max_error, algorithm=algorithm, numerics=numerics, ranges=ranges,
    )  # fmt: skip
    given = {"trials": trials, "seconds": seconds, **(options or {})}
    first = (
        threads_text(threads, machine.threads)
        if has_threads(machine.target)
        else f"lathe: programs run on {machine.target}"
    )
    kernel = tune_workload(workload, _options(machine, given), progress, callback, first)
    _give_constants(kernel, named)
    return kernel


def compile(
    what: str,
    *,
    schedule: str | list[Any] | None = None,
    threads: int | None = None,
    target: str = "cpu:host",
    constants: Iterable[str] = (),
    tensors: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    database: str | None = None,
    max_error: float | None = None,
    weights_type: str | None = None,
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

    ``threads`` is as for ``tune``. Where nothing is on record for so many, the best on record for
    fewer is taken, with a warning: its kernel uses fewer (``Kernel.threads``). So is ``target``.
    """
    machine = machine_of(threads, database, target)
    named = together(tensors, named)
    if names_model(what):
        others = {
            "constants": tuple(constants), "dtypes": dtypes, "algorithm": algorithm,
            "numerics": numerics, "ranges": ranges, "a list of steps": isinstance(schedule, list),
        }  # fmt: skip
        which = schedule if isinstance(schedule, str) else "best"
        model = open_model(what, named, others, max_error, weights_type)
        return compile_model(model, which, machine, check)
    check_no_weights_type(weights_type)
    workload = workload_of(
        what, named, dtypes, constants,
        max_error=max_error, algorithm=algorithm, numerics=numerics, ranges=ranges,
    )  # fmt: skip
    if isinstance(schedule, list):
        schedule = json.dumps(schedule)
    kernel = compile_workload(workload, schedule, machine, check)
    if kernel.threads < machine.threads:
        warnings.warn(
            f"lathe.compile: nothing for {machine.threads} threads is on record; the best for "
            f"{kernel.threads} is taken, and runs with {kernel.threads}",
            stacklevel=2,
        )
    _give_constants(kernel, named)
    return kernel


def compile_recorded(
    workload: _native.Workload,
    best: _native.ScheduleDict,
    machine: _native.Machine,
    check: bool = True,
) -> Kernel:
    """What is on record, with as many threads as it was measured with."""
    own = _native.Machine()
    own.target, own.database, own.cold_cache = machine.target, machine.database, machine.cold_cache
    own.threads = best["threads"] if has_threads(own.target) else 0
    kernel = Kernel._compiled(workload, best["trace"], own, check)
    kernel.seconds, kernel.gflops = best["seconds"], best["gflops"]
    return kernel


def best_of(
    workload: _native.Workload, machine: _native.Machine
) -> _native.ScheduleDict | None:
    """The best on record, if there is one, and a database; of fewer threads where need be."""
    if machine.database and not os.path.exists(machine.database):
        return None
    return workload.best(machine)


def compile_workload(
    workload: _native.Workload, schedule: str | None, machine: _native.Machine, check: bool = True
) -> Kernel:
    best = best_of(workload, machine) if schedule in (None, "best") else None
    if best is None:
        return Kernel._compiled(workload, schedule or "predicted", machine, check)
    return compile_recorded(workload, best, machine, check)
