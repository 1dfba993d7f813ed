"""Whether a program of Lathe beats Inductor's on this machine, measured in turns."""

from __future__ import annotations

import copy
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]

from .. import _native
from .._cache import own_cache
from .._errors import Error, is_of_files
from .._kernel import Kernel
from .._tune import best_of, compile_workload, machine_of
from ._match import Group
from ._operators import Placed

#: How much faster a group must be than Inductor's code to be taken.
MARGIN = 0.95


def compiled(module: Any, inputs: list[Any], **config: Any) -> Callable[..., Any]:
    """By Inductor, with weights frozen. The module is left as it is."""
    from torch._inductor.compile_fx import (  # type: ignore[import-not-found, unused-ignore]
        compile_fx,
    )

    copied = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    patches = {"freezing": True, **config}
    # This may be called while another graph is compiled, whose pass is not for this one.
    if getattr(torch._inductor.config.joint_custom_pre_pass, "places_kernels", False):
        patches.setdefault("joint_custom_pre_pass", None)
    with torch.no_grad():
        made: Callable[..., Any] = compile_fx(copied, list(inputs), config_patches=patches)
    return made


def seconds_of(calls: list[Callable[[], Any]], budget: float = 0.3) -> list[float]:
    """The median seconds of each call; they take turns, so that all see the same machine."""
    first = []
    for call in calls:
        call()
        begin = time.perf_counter()
        call()
        first.append(time.perf_counter() - begin)
    counts = [max(1, min(1000, int(1e-3 / max(seconds, 1e-7)))) for seconds in first]
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(times[0]) < 3:
        for call, count, kept in zip(calls, counts, times):
            begin = time.perf_counter()
            for _ in range(count):
                call()
            kept.append((time.perf_counter() - begin) / count)
    return [statistics.median(kept) for kept in times]


def best_kernel(workload: _native.Workload, machine: _native.Machine) -> Kernel:
    """The best on record for cold caches, else for warm ones, else the predicted one.

    Where there is only a record for fewer threads, the predicted one for all of them is timed in
    turns with it, and the faster is taken.
    """
    cold = best_of(workload, machine)
    if cold is None or cold["threads"] < machine.threads:
        usual = machine_of(machine.threads, machine.database or None)
        warm = best_of(workload, usual)
        if cold is None or (warm is not None and warm["threads"] > cold["threads"]):
            machine = usual
    kernel = compile_workload(workload, None, machine)
    if kernel.threads >= machine.threads:
        return kernel
    try:
        other = Kernel._compiled(workload, "predicted", machine, True)
    except Error as error:
        if is_of_files(error):
            raise
        return kernel
    turns = [(kernel.time(seconds=0.01), other.time(seconds=0.01)) for _ in range(3)]
    mine, theirs = (statistics.median(times) for times in zip(*turns))
    return kernel if mine <= theirs else other


def _random(node: Any) -> Any:
    value = node.meta["val"]
    return torch.rand(tuple(value.shape), dtype=value.dtype) + 0.1


def alone(group: Group) -> tuple[Any, list[Any], list[Any]]:
    """The group as a module with its constants inside; inputs of a call, and all inputs."""
    graph = torch.fx.Graph()
    root = torch.nn.Module()
    known: dict[Any, Any] = {}
    inputs, everything = [], []
    for number, (node, constant) in enumerate(zip(group.inputs, group.constants)):
        value = _random(node)
        everything.append(value)
        if constant:
            root.register_buffer(f"c{number}", value)
            known[node] = graph.get_attr(f"c{number}")
        else:
            inputs.append(value)
            known[node] = graph.placeholder(f"x{number}")

    def made(node: Any) -> Any:
        if node not in known:
            for operand in node.all_input_nodes:
                made(operand)
            known[node] = graph.node_copy(node, lambda n: known[n])
        return known[node]

    graph.output((made(group.output),))
    return torch.fx.GraphModule(root, graph), inputs, everything


class Verdicts:
    """What Inductor's code takes, kept between processes: compiling it to time it takes seconds."""

    def __init__(self) -> None:
        self._folder = own_cache()
        self._path = os.path.join(self._folder or "", "inductor-seconds.json")
        self._known: dict[str, float] = {}
        try:
            if self._folder:
                with open(self._path, encoding="utf-8") as file:
                    self._known = json.load(file)
        except (OSError, ValueError):
            pass

    def get(self, key: str) -> float | None:
        return self._known.get(key)

    def keep(self, key: str, seconds: float) -> None:
        self._known[key] = seconds
        try:
            if not self._folder:
                return
            with open(self._path + f".{os.getpid()}", "w", encoding="utf-8") as file:
                json.dump(self._known, file)
            os.replace(file.name, self._path)
        except OSError:
            pass  # it is measured again


def _convolution(node: Any) -> list[Callable[[], Any]]:
    """A convolution with packed weights, by both layouts: what Inductor calls when it is frozen."""
    x, w = _random(node.args[0]), _random(node.args[1])
    stride, pad, dilation, transposed, _, groups = node.args[3:]
    if transposed or x.dim() != 4:
        return []
    sizes = [[int(v) for v in given] for given in (pad, stride, dilation)]
    packed = torch.ops.mkldnn._reorder_convolution_weight(w, *sizes, groups, list(x.shape))
    by_channels = x.to(memory_format=torch.channels_last)

    def call(given: Any) -> Callable[[], Any]:
        return lambda: torch.ops.mkldnn._convolution_pointwise.default(
            given, packed, None, *sizes, groups, "none", [], ""
        )

    return [call(x), call(by_channels)]


def _product(node: Any) -> list[Callable[[], Any]]:
    """A product of matrices by the libraries that Inductor calls, where the right one is packed."""
    a, b = (_random(operand) for operand in node.args[-2:])
    if a.dim() == 3:
        return [lambda: torch.bmm(a, b)] if min(a.shape[1], b.shape[2]) > 1 else []
    if not torch.backends.mkl.is_available() or min(a.shape[0], b.shape[1]) == 1:
        return []
    w = b.t().contiguous()
    packed = torch.ops.mkl._mkl_reorder_linear_weight(w, a.shape[0])
    return [
        lambda: torch.mm(a, b),
        lambda: torch.ops.mkl._mkl_linear.default(a, packed, w, None, a.shape[0]),
    ]


def _beats_its_first_operation(group: Group, kernel: Callable[[], Any]) -> bool:
    """Whether it is faster than the group's first operation alone, by the libraries' functions.

    No code of Inductor's takes less than that, and it needs no compilation. False if it is unknown.
    """
    node = group.nodes[0]
    try:
        if node.target is torch.ops.aten.convolution.default:
            calls = _convolution(node)
        elif node.target in (torch.ops.aten.mm.default, torch.ops.aten.bmm.default,
                             torch.ops.aten.addmm.default):
            calls = _product(node)
        else:
            return False
        mine, *others = seconds_of([kernel, *calls], 0.1)
    except (RuntimeError, AttributeError, NotImplementedError):
        return False  # this PyTorch was built without that library
    return bool(others) and mine < MARGIN * min(others)


#: Seconds beside which those of a call's way do not count.
_LONG = 2e-4


def _called(kernel: Kernel, everything: list[Any]) -> Callable[[], Any]:
    """The kernel as Inductor's code calls it."""
    out = kernel(*everything)
    inputs = [value for value, tensor in zip(everything, kernel.inputs) if not tensor.constant]
    return lambda: kernel(*inputs, out=out)


def _inside_a_graph(group: Group, operator: Any, everything: list[Any]) -> Callable[[], Any]:
    """A graph of the kernel alone, compiled as models are."""
    graph = torch.fx.Graph()
    root = torch.nn.Module()
    values, inputs = [], []
    for number, (value, constant) in enumerate(zip(everything, group.constants)):
        if constant:
            root.register_buffer(f"c{number}", value)
        else:
            inputs.append(value)
        values.append(graph.get_attr(f"c{number}") if constant else graph.placeholder(f"x{number}"))
    graph.output((graph.call_function(operator, tuple(values)),))
    ours = compiled(torch.fx.GraphModule(root, graph), inputs, fx_graph_cache=False)
    return lambda: ours(*inputs)


def beats_inductor(group: Group, kernel: Kernel, threads: int, verdicts: Verdicts) -> bool:
    """Whether the kernel is faster than Inductor's code by the margin.

    That is compiled and timed in turns with it where its time is not known from before, and the
    group's first operation alone does not take as long.
    """
    module, inputs, everything = alone(group)
    key = f"{torch.__version__}; {threads} threads; {group.workload.key}"
    with torch.no_grad():
        ours = _called(kernel, everything)
        if _beats_its_first_operation(group, ours):
            return True
        if seconds_of([ours], 0.02)[0] > _LONG:
            return _beats(ours, module, inputs, key, verdicts)
        placed = Placed(kernel)
        try:
            ours = _inside_a_graph(group, placed.operator, everything)
            return _beats(ours, module, inputs, key, verdicts)
        finally:
            placed.forget()


def _beats(
    ours: Callable[[], Any], module: Any, inputs: list[Any], key: str, verdicts: Verdicts
) -> bool:
    known = verdicts.get(key)
    mine = seconds_of([ours], 0.05)[0]
    if known is not None and not 0.7 * MARGIN < mine / known < 1.4 * MARGIN:
        return mine < known * MARGIN
    theirs = compiled(module, inputs)
    mine, seconds = seconds_of([ours, lambda: theirs(*inputs)])
    verdicts.keep(key, seconds)
    return mine < seconds * MARGIN
