"""Time shared among the workloads of a model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch  # type: ignore[import-not-found, unused-ignore]

from .. import _native
from .._errors import Error, is_of_files
from .._tune import _options, best_of, tune_workload
from . import _match
from ._constants import Constants, placeholders, weights_of

_LONGEST, _SHORTEST, _LEAST_TURN = 4.0, 1.5, 0.5  # seconds for one workload at a time
_LEAST_GAIN = 0.02  # that is expected of a workload after turns that gained nothing
_USUAL = 5e10  # FLOP a second, until a workload's program was timed


class Tuned(NamedTuple):
    """A workload of a model, how often it is called, seconds a call before and after tuning."""

    key: str
    calls: int
    before: float
    after: float


class Found:
    """Groups, as they are found, and to which level of numerics."""

    def __init__(self, numerics: str | None) -> None:
        self.numerics = numerics
        self.groups: list[_match.Group] = []
        self.infinite_weights = False  # of a convolution


def found_in(module: Any, inputs: list[Any], numerics: str | None) -> Found | None:
    """What is in a module, as Inductor will see it; None if a call changes something."""
    found = Found(numerics)
    frozen: list[bool] = []
    _traced(module, inputs, found, frozen)
    return found if frozen and all(frozen) else None


def _traced(
    module: Any, inputs: list[Any], found: Found, frozen: list[bool]
) -> Callable[..., Any]:
    """Lists the groups of graphs in which nothing changes, and for each graph whether that is so.

    Returns what runs the module as it is.
    """
    weights = weights_of(module)
    from torch._dynamo.backends.common import (  # type: ignore[import-not-found, unused-ignore]
        aot_autograd,
    )
    from torch._inductor.decomposition import (  # type: ignore[import-not-found, unused-ignore]
        select_decomp_table,
    )

    def look(graph_module: Any, _: Any) -> Any:
        graph = graph_module.graph
        whole = len(placeholders(graph)) == len(weights) + len(inputs)
        frozen.append(whole and not _match.has_state(graph))
        if frozen[-1]:
            constants = Constants(graph, weights)
            found.groups.extend(_match.find(graph, constants, found.numerics))
            found.infinite_weights |= _match.has_infinite_weights(graph, constants)
        return graph_module

    with torch.no_grad():
        run: Callable[..., Any] = aot_autograd(
            fw_compiler=look,
            inference_compiler=look,
            decompositions=select_decomp_table(),
            keep_inference_input_mutations=True,
        )(module, inputs)
    return run


def collector(module: Any, frozen: list[bool], found: Found) -> Callable[..., Any]:
    """Runs a graph as it is, and lists its groups when it is first called."""
    run: Callable[..., Any] | None = None

    def call(*given: Any) -> Any:
        nonlocal run
        inputs = [value for value, static in zip(given, frozen) if not static]
        if run is None:
            run = _traced(module, inputs, found, [])
        return run(*inputs)

    return call


class _Task:
    """A workload of the model; it is looked at when its turn comes, which takes a moment."""

    def __init__(self, workload: _native.Workload) -> None:
        self.workload, self.calls = workload, 0
        self.before = self.after = 0.0
        self.turn = _LONGEST
        self.gain = 0.3  # expected of the next turn, as a part of its time
        self.seconds = workload.flops / _USUAL  # a call

    def begin(self, machine: _native.Machine) -> None:
        """From what is on record; without that the first turn tells where it began."""
        best = best_of(self.workload, machine)
        if best is not None and best["threads"] == machine.threads:
            self.before = self.after = self.seconds = best["seconds"]

    def end_turn(self, machine: _native.Machine, seconds: float) -> None:
        if self.before == 0:
            trials = map(json.loads, self.workload.records(machine).splitlines())
            first = [t["seconds"] for t in trials if t["index"] == 0 and t["seconds"] > 0]
            self.before = self.after = self.seconds = max([seconds, *first])
        self.after = self.seconds = min(self.after, seconds)

    def expected(self) -> float:
        return self.calls * self.seconds * self.gain


def share(
    found: list[_match.Group],
    seconds: float,
    machine: _native.Machine,
    progress: bool | None,
) -> list[Tuned]:
    tasks: dict[str, _Task] = {}
    session = _native.Session()
    end = time.monotonic() + seconds
    for group in found:
        tasks.setdefault(group.workload.key, _Task(group.workload)).calls += 1
    for task in tasks.values():
        task.turn = min(_LONGEST, max(_SHORTEST, seconds / (2 * len(tasks))))
    try:
        while tasks and end - time.monotonic() > _LEAST_TURN:
            task = max(tasks.values(), key=_Task.expected)
            if task.expected() <= 0 or not _spend(
                task, end, machine, session, progress
            ):
                break
    except KeyboardInterrupt:
        pass  # what was found is kept
    return [Tuned(key, t.calls, t.before, t.after) for key, t in tasks.items() if t.before > 0]


def _spend(
    task: _Task,
    end: float,
    machine: _native.Machine,
    session: _native.Session,
    progress: bool | None,
) -> bool:
    """One turn of a task, which ends at ``end`` at the latest. False where Ctrl-C ended it."""
    try:
        if task.before == 0:
            task.begin(machine)
        trials = len(task.workload.records(machine).splitlines())
        left = min(task.turn, end - time.monotonic())
        if left < _LEAST_TURN:
            return True
        options = _options(machine, {"seconds": left, "trials": trials + 4096, "session": session})
        kernel = tune_workload(task.workload, options, progress, None)
        before = task.after
        task.end_turn(machine, kernel.seconds or task.after)
    except Error as error:
        if is_of_files(error):
            raise
        if error.kind == "not-found" and task.turn < _LONGEST:
            task.turn = min(2 * task.turn, _LONGEST)  # too short for a program to be measured
        else:
            task.gain = 0.0  # it stays Inductor's
        return True
    before = before or task.before
    if kernel.trials <= trials and task.turn < _LONGEST:
        task.turn = min(2 * task.turn, _LONGEST)  # too short for a program to be measured
        return not kernel.interrupted
    gained = (before - task.after) / before if before > 0 else 0.0
    task.gain = max(gained, task.gain / 2)
    if task.gain < _LEAST_GAIN or kernel.trials <= trials:
        task.gain = 0.0
    return not kernel.interrupted
