"""A graph of Dynamo's compiled by Inductor with Lathe's kernels inside, or without them."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch  # type: ignore[import-not-found, unused-ignore]
from torch._inductor.custom_graph_pass import (  # type: ignore[import-not-found, unused-ignore]
    CustomGraphPass,
)
from torch._inductor.exc import (  # type: ignore[import-not-found, unused-ignore]
    InductorError,
)

from .._errors import Error, is_of_files
from .._kernel import Kernel
from .._tune import machine_of
from . import _match, _tuning
from ._constants import Constants, placeholders, weights_of
from ._measure import Verdicts, beats_inductor, best_kernel, compiled, seconds_of
from ._operators import Placed

#: How much faster a whole graph must be than Inductor's to be taken.
WHOLE_MARGIN = 0.97

_said: set[str] = set()


def say_once(what: str) -> None:
    if what not in _said:
        _said.add(what)
        warnings.warn(f"lathe: {what}; this graph is Inductor's", stacklevel=3)


class Options(NamedTuple):
    """What the backend is told."""

    database: str | None = None
    always: bool = False
    numerics: str | None = None


class _Pass(CustomGraphPass):  # type: ignore[misc, unused-ignore]
    """Puts calls of Lathe's kernels in the place of groups that they compute faster."""

    places_kernels = True

    def __init__(
        self, weights: list[Any], inputs: int, faster: dict[str, Kernel], numerics: str | None
    ) -> None:
        self.weights, self.inputs, self.faster, self.numerics = weights, inputs, faster, numerics
        self.placed: list[Placed] = []

    def uuid(self) -> None:
        return None  # no cache: a kernel lives in this process, and the choice is this machine's

    def __call__(self, graph: Any) -> None:
        if len(placeholders(graph)) != len(self.weights) + self.inputs:
            return  # a part of the graph, as a branch: its first inputs are no weights
        constants = Constants(graph, self.weights)
        placed: dict[Any, Any] = {}  # calls, in place of the nodes whose values they are
        for group in _match.find(graph, constants, self.numerics):
            if group.workload.key not in self.faster:
                continue
            # A kernel of its own for each place, which holds that place's weights.
            kernel = Kernel(self.faster[group.workload.key]._library)
            self.placed.append(Placed(kernel))
            operator = self.placed[-1].operator
            with graph.inserting_before(group.output):
                inputs = tuple(placed.get(node, node) for node in group.inputs)
                call = placed[group.output] = graph.call_function(operator, inputs)
            call.meta.update(group.output.meta)
            group.output.replace_all_uses_with(call)
            for node in reversed(group.nodes):
                graph.erase_node(node)
        graph.eliminate_dead_code()


def _faster(groups: list[_match.Group], machine: Any, always: bool) -> dict[str, Kernel]:
    """Kernels that beat Inductor's code, by the keys of their workloads; or all."""
    verdicts = Verdicts()
    faster: dict[str, Kernel] = {}
    seen: set[str] = set()
    for group in groups:
        key = group.workload.key
        if key in seen:
            continue
        seen.add(key)
        try:
            kernel = best_kernel(group.workload, machine)
            kernel._use_threads_of_torch()  # as where it is placed
            if always or beats_inductor(group, kernel, machine.threads, verdicts):
                faster[key] = kernel
        except Error as error:
            if is_of_files(error):
                raise
        except InductorError:
            pass
        # else it stays Inductor's
    return faster


class Compiled:
    """A graph of Dynamo's, with its weights among the inputs.

    For each set of weights that it is called with, it is compiled both ways, and the faster is
    kept: several models may share one graph. Weights that were changed are another set. Beyond a
    few sets it is Inductor's, not frozen.
    """

    _MOST = 8

    def __init__(self, module: Any, frozen: list[bool], options: Options) -> None:
        self._module, self._frozen, self._options = module, frozen, options
        #: By the weights' ids: the weights, their states, and what computes the graph.
        self._known: dict[tuple[int, ...], tuple[list[Any], list[Any], Any]] = {}
        self._placed: dict[tuple[int, ...], list[Placed]] = {}
        self._sets = 0
        self._gave_up = False
        self._plain: Callable[..., Any] | None = None
        #: Of the last call, as the short way looks at them.
        self.last: list[Any] = [[object()] * sum(frozen), [], None]
        weakref.finalize(self, _forget_all, self._placed).atexit = False

    def short_way(self) -> Callable[..., Any]:
        """Calls with the weights of the last one go straight on; it costs less than a list."""
        names = [f"x{n}" for n in range(len(self._frozen))]
        weights = [name for name, frozen in zip(names, self._frozen) if frozen]
        inputs = [name for name, frozen in zip(names, self._frozen) if not frozen]
        same = [f"{name} is w[{n}]" for n, name in enumerate(weights)]
        same += [f"({w}._version, {w}.data_ptr()) == s[{n}]" for n, w in enumerate(weights)]
        code = (
            f"def call({', '.join(names)}):\n"
            f"    w, s, f = last\n"
            f"    if {' and '.join(same) or 'f'}:\n"
            f"        return f({', '.join(inputs)})\n"
            f"    return otherwise({', '.join(names)})\n"
        )
        found: dict[str, Any] = {"last": self.last, "otherwise": self}
        exec(code, found)
        call: Callable[..., Any] = found["call"]
        return call

    def __call__(self, *given: Any) -> Any:
        weights = [value for value, frozen in zip(given, self._frozen) if frozen]
        inputs = [value for value, frozen in zip(given, self._frozen) if not frozen]
        # Nothing tells whether tensors of inference mode were changed.
        if self._gave_up or any(value.is_inference() for value in weights):
            return self._unfrozen(given)
        key = tuple(map(id, weights))
        states = [(value._version, value.data_ptr()) for value in weights]
        known = self._known.get(key)
        if known is None or known[1] != states:
            with _lock():
                known = self._known.get(key)
                if known is None or known[1] != states:
                    known = self._compile(key, weights, states, given, inputs)
        if known is None:
            return self._unfrozen(given)
        self.last[:] = known
        return known[2](*inputs)

    def _compile(
        self, key: tuple[int, ...], weights: list[Any], states: list[Any], given: Any, inputs: Any
    ) -> tuple[list[Any], list[Any], Any] | None:
        """For a new set of weights; None where the graph is not frozen."""
        if self._sets >= self._MOST:
            return None
        self._sets += 1
        call, placed = self._choose(with_weights_inside(self._module, given, self._frozen), inputs)
        if call is None:
            self._gave_up = True
            return None
        self._known[key] = (weights, states, call)  # held, so that no others get the weights' ids
        _forget(self._placed.pop(key, []))
        self._placed[key] = placed
        return self._known[key]

    def _unfrozen(self, given: Sequence[Any]) -> Any:
        if self._plain is None:
            with _lock():
                self._plain = compiled(self._module, list(given), freezing=False)
        return self._plain(*given)

    def _choose(
        self, module: Any, inputs: list[Any]
    ) -> tuple[Callable[..., Any] | None, list[Placed]]:
        """The faster of both, with its kernels; None where nothing is frozen: a call changes
        something, or Inductor cannot freeze the graph.
        """
        machine = machine_of(torch.get_num_threads(), self._options.database, cold_cache=True)
        found = _tuning.found_in(module, inputs, self._options.numerics)
        if found is None or not (found.groups or any(self._frozen)):
            return None, []
        if found.infinite_weights:
            return compiled(module, inputs, freezing=False), []
        faster = _faster(found.groups, machine, self._options.always)
        try:
            inductor = compiled(module, inputs)
        except (InductorError, RuntimeError):  # the second while it folds constants
            say_once("Inductor fails on a graph with frozen weights")
            return None, []
        if not faster:
            return inductor, []
        placing = _Pass(weights_of(module), len(inputs), faster, self._options.numerics)
        try:
            ours = compiled(module, inputs, joint_custom_pre_pass=placing, fx_graph_cache=False)
            if self._is_better(ours, inductor, module, inputs):
                return ours, placing.placed
        except InductorError:
            pass
        _forget(placing.placed)
        return inductor, []

    def _is_better(self, ours: Any, inductor: Any, module: Any, inputs: list[Any]) -> bool:
        with torch.no_grad():
            if not _agree(ours(*inputs), module(*inputs)):
                warnings.warn("lathe: a graph's results differ; it is Inductor's", stacklevel=2)
                return False
            if self._options.always:
                return True
            mine, theirs = seconds_of([lambda: ours(*inputs), lambda: inductor(*inputs)], 1.0)
        return bool(mine < theirs * WHOLE_MARGIN)


def _forget(placed: list[Placed]) -> None:
    for one in placed:
        one.forget()
    placed.clear()


def _forget_all(sets: dict[tuple[int, ...], list[Placed]]) -> None:
    for placed in sets.values():
        _forget(placed)


def _lock() -> Any:
    """Dynamo's own: what Inductor is told for one graph counts for the whole process."""
    from torch._dynamo.convert_frame import (  # type: ignore[import-not-found, unused-ignore]
        compile_lock,
    )

    return compile_lock


def _agree(mine: Any, theirs: Any) -> bool:
    for a, b in zip(mine, theirs):
        if not isinstance(a, torch.Tensor):
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if not a.dtype.is_floating_point or a.numel() == 0:
            continue
        differ = ~((a == b) | (a.isnan() & b.isnan()))  # infinities and NaNs may be meant
        largest = b.double().where(b.isfinite(), 0).abs().max().item()
        error = (a.double() - b.double()).where(differ, 0).abs().max().item()
        if not error <= 1e-3 * max(largest, 1e-6):
            return False
    return True


def with_weights_inside(module: Any, inputs: Sequence[Any], frozen: list[bool]) -> Any:
    """The graph with lifted weights as attributes."""
    graph = torch.fx.Graph()
    root = torch.nn.Module()
    copied: dict[Any, Any] = {}
    places = iter(zip(inputs, frozen))
    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        _set(root, name, value)
    for node in module.graph.nodes:
        if node.op == "get_attr" and not hasattr(root, node.target.partition(".")[0]):
            setattr(root, node.target, getattr(module, node.target))
        if node.op == "call_module":
            root.add_submodule(node.target, module.get_submodule(node.target))
        if node.op == "placeholder":
            value, is_frozen = next(places)
            if is_frozen:
                name = f"frozen{len(copied)}"
                root.register_buffer(name, value.detach())
                copied[node] = graph.get_attr(name)
                continue
        copied[node] = graph.node_copy(node, lambda n: copied[n])
    return torch.fx.GraphModule(root, graph)


def _set(root: Any, name: str, value: Any) -> None:
    *path, last = name.split(".")
    for part in path:
        if not hasattr(root, part):
            root.add_module(part, torch.nn.Module())
        root = getattr(root, part)
    root.register_buffer(last, value.detach())
