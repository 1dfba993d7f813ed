"""Time shared among the workloads of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch  # type: ignore[import-not-found, unused-ignore]

from .. import _native
from .._progress import Bar, listener_of
from .._tune import _options, best_of
from . import _match
from ._constants import Constants, placeholders, weights_of

_MOST_TRIALS = 1 << 16  # in one call: the time ends it


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


def share(
    found: list[_match.Group],
    seconds: float,
    machine: _native.Machine,
    progress: bool | None,
) -> list[Tuned]:
    """Tunes the groups' workloads as tasks of a model: by what is expected to be gained."""
    workloads: dict[str, _native.Workload] = {}
    calls: dict[str, int] = {}
    for group in found:
        workloads.setdefault(group.workload.key, group.workload)
        calls[group.workload.key] = calls.get(group.workload.key, 0) + 1
    if not workloads:
        return []
    before = {key: _recorded(workload, machine) for key, workload in workloads.items()}
    known = sum(len(w.records(machine).splitlines()) for w in workloads.values())
    options = _options(machine, {"seconds": seconds, "trials": known + _MOST_TRIALS})
    flops = sum(calls[key] * workload.flops for key, workload in workloads.items())
    bar = Bar(options.trials, flops, progress)
    try:
        result = _native.tune_together(
            [(workload, calls[key]) for key, workload in workloads.items()],
            options,
            listener_of(bar, None),
        )
    finally:
        bar.close()
    return [
        Tuned(key, nodes, before[key] or first or best, best)
        for key, (_, nodes, _, _, first, best, _) in zip(result["keys"], result["tasks"])
        if best > 0
    ]


def _recorded(workload: _native.Workload, machine: _native.Machine) -> float:
    """Seconds of the best program on record, for as many threads; 0 if there is none."""
    best = best_of(workload, machine)
    return best["seconds"] if best is not None and best["threads"] == machine.threads else 0.0
