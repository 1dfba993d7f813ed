"""Lathe's programs inside torch.compile, and the tuning of what a model contains.

    model = torch.compile(model.eval(), backend="lathe")
    lathe.torch.tune(model, inputs, seconds=600)   # beforehand, once on a machine
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

try:
    import torch  # type: ignore[import-not-found, unused-ignore]
except ImportError as missing:
    raise ImportError("lathe.torch needs PyTorch: pip install torch") from missing

from torch._inductor.custom_graph_pass import (  # type: ignore[import-not-found, unused-ignore]
    CustomGraphPass,
)

from .._errors import Error
from .._kernel import Kernel
from .._tune import compile_workload, machine_of
from . import _match, _tuning
from ._measure import Verdicts, beats_inductor, compiled, seconds_of
from ._operators import Placed, operator_of

__all__ = ["backend", "operator_of", "tune"]

#: How much faster a whole graph must be than Inductor's to be taken.
WHOLE_MARGIN = 0.97

_said: set[str] = set()


def _say_once(what: str) -> None:
    if what not in _said:
        _said.add(what)
        warnings.warn(f"lathe: {what}; this graph is Inductor's", stacklevel=3)


class _Pass(CustomGraphPass):  # type: ignore[misc, unused-ignore]
    """Puts calls of Lathe's kernels in the place of groups that they compute faster."""

    def __init__(self, parameters: int, faster: dict[str, Kernel]) -> None:
        self.parameters, self.faster = parameters, faster

    def uuid(self) -> None:
        return None  # no cache: a kernel lives in this process, and the choice is this machine's

    def __call__(self, graph: Any) -> None:
        is_constant = _match.constants_of(graph, self.parameters)
        placed: dict[Any, Any] = {}  # calls, in place of the nodes whose values they are
        for group in _match.find(graph, is_constant, set()):
            if group.workload.key not in self.faster:
                continue
            # A kernel of its own for each place, which holds that place's weights.
            kernel = Kernel(self.faster[group.workload.key]._library)
            operator = Placed(kernel).operator
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
            kernel = compile_workload(group.workload, None, machine)
            if always or beats_inductor(group, kernel, machine.threads, verdicts):
                faster[key] = kernel
        except Error:
            continue  # it stays Inductor's
    return faster


class _Compiled:
    """A graph of Dynamo's, with its weights among the inputs.

    For each set of weights that it is called with, it is compiled both ways, and the faster is
    kept: several models may share one graph. Beyond a few sets it is Inductor's, not frozen.
    """

    _MOST = 8

    def __init__(
        self, module: Any, frozen: list[bool], database: str | None, always: bool
    ) -> None:
        self._module, self._frozen = module, frozen
        self._database, self._always = database, always
        self._known: dict[tuple[int, ...], tuple[list[Any], Callable[..., Any] | None]] = {}
        self._plain: Callable[..., Any] | None = None
        #: The weights of the last call and what computes it, as the short way looks at them.
        self.last: list[Any] = [[object()] * sum(frozen), None]

    def short_way(self) -> Callable[..., Any]:
        """Calls with the weights of the last one go straight on; it costs less than a list."""
        names = [f"x{n}" for n in range(len(self._frozen))]
        weights = [name for name, frozen in zip(names, self._frozen) if frozen]
        inputs = [name for name, frozen in zip(names, self._frozen) if not frozen]
        same = " and ".join(f"{name} is w[{n}]" for n, name in enumerate(weights)) or "f"
        code = (
            f"def call({', '.join(names)}):\n"
            f"    w, f = last\n"
            f"    return f({', '.join(inputs)}) if {same} else otherwise({', '.join(names)})\n"
        )
        found: dict[str, Any] = {"last": self.last, "otherwise": self}
        exec(code, found)
        call: Callable[..., Any] = found["call"]
        return call

    def __call__(self, *given: Any) -> Any:
        weights = [value for value, frozen in zip(given, self._frozen) if frozen]
        inputs = [value for value, frozen in zip(given, self._frozen) if not frozen]
        key = tuple(map(id, weights))
        if key not in self._known:
            if len(self._known) >= self._MOST:
                return self._unfrozen(given)
            placed = _with_weights_inside(self._module, given, self._frozen)
            # The weights are held, so that no others get their ids.
            self._known[key] = (weights, self._choose(placed, inputs))
        call = self._known[key][1]
        if call is None:
            return self._unfrozen(given)
        self.last[:] = self._known[key]
        return call(*inputs)

    def _unfrozen(self, given: Sequence[Any]) -> Any:
        if self._plain is None:
            self._plain = compiled(self._module, list(given), freezing=False)
        return self._plain(*given)

    def _choose(self, module: Any, inputs: list[Any]) -> Callable[..., Any] | None:
        """The faster of both; None where nothing is frozen, as a call changes something."""
        machine = machine_of(torch.get_num_threads(), self._database)
        groups = _tuning.groups_of(module, inputs)
        if not groups:
            return None
        faster = _faster(groups, machine, self._always)
        inductor = compiled(module, inputs)
        if not faster:
            return inductor
        placed = _Pass(_tuning.parameters_of(module), faster)
        ours = compiled(module, inputs, joint_custom_pre_pass=placed, fx_graph_cache=False)
        with torch.no_grad():
            if not _agree(ours(*inputs), inductor(*inputs)):
                warnings.warn("lathe: a graph's results differ; it is Inductor's", stacklevel=2)
                return inductor
            if self._always:
                return ours
            mine, theirs = seconds_of([lambda: ours(*inputs), lambda: inductor(*inputs)], 1.0)
        return ours if mine < theirs * WHOLE_MARGIN else inductor


def _agree(mine: Any, theirs: Any) -> bool:
    for a, b in zip(mine, theirs):
        if not isinstance(a, torch.Tensor):
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.is_floating_point and a.numel() > 0:
            largest = b.double().abs().max().item()
            if not (a.double() - b.double()).abs().max().item() <= 1e-3 * max(largest, 1e-6):
                return False
    return True


def _is_static(node: Any, value: Any) -> bool:
    """A parameter or buffer of the model, as Dynamo marks what it lifts to inputs."""
    if isinstance(value, torch.nn.Parameter):
        return True
    words = node.meta.get("tensor_dict") or {}
    return "_dynamo_static_input_type" in words or hasattr(value, "_dynamo_static_input_type")


def _with_weights_inside(module: Any, inputs: Sequence[Any], frozen: list[bool]) -> Any:
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


def _frozen_inputs(module: Any, inputs: Sequence[Any]) -> list[bool]:
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    return [
        isinstance(value, torch.Tensor) and _is_static(node, value)
        for node, value in zip(nodes, inputs)
    ]


def _set(root: Any, name: str, value: Any) -> None:
    *path, last = name.split(".")
    for part in path:
        if not hasattr(root, part):
            root.add_module(part, torch.nn.Module())
        root = getattr(root, part)
    root.register_buffer(last, value.detach())


def _why_not(module: Any, inputs: Sequence[Any]) -> str | None:
    """Why a graph is left to Inductor; None if it is not."""
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    if torch.is_grad_enabled():
        return "gradients are on (use torch.no_grad() or torch.inference_mode())"
    if any(isinstance(value, torch.SymInt) for value in inputs) or any(
        isinstance(size, torch.SymInt) for value in tensors for size in value.shape
    ):
        return "shapes are dynamic"
    if any(value.device.type != "cpu" for value in tensors):
        return "tensors are on another device"
    return None


def backend(module: Any, inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend "lathe" of torch.compile.

    A convolution or a product of matrices with what follows it element by element becomes a program
    of Lathe, the best on record or the predicted one, where that beats Inductor's code, measured on
    this machine when the graph is first called. All else is Inductor's, with weights frozen; so is
    a graph that is not faster as a whole, or that is trained, dynamic, or on another device.
    ``options={"database": FILE}`` tells where records are; with ``"always": True`` every group is
    taken, and nothing is measured.
    """
    from torch._inductor.compile_fx import (  # type: ignore[import-not-found, unused-ignore]
        compile_fx,
    )

    given = options.get("options") or {}
    why = _why_not(module, inputs)
    if why is not None:
        _say_once(why)
        made: Callable[..., Any] = compile_fx(module, list(inputs))
        return made
    frozen = _frozen_inputs(module, inputs)
    if _collected is not None:
        placed = _with_weights_inside(module, inputs, frozen)
        return _tuning.collector(placed, frozen, _collected)
    made_both = _Compiled(module, frozen, given.get("database"), bool(given.get("always")))
    return made_both.short_way()


_collected: list[_match.Group] | None = None  # what is listed instead of compiled


def tune(
    model: Any,
    inputs: Any,
    *,
    seconds: float = 600.0,
    database: str | None = None,
    progress: bool | None = None,
) -> list[_tuning.Tuned]:
    """Tunes what a model contains that Lathe covers, so that ``backend="lathe"`` finds it.

    ``inputs`` is a tensor or a tuple of them, as for ``model(*inputs)``. ``seconds`` are shared by
    what is expected to gain most: by how often the model calls it, how long it takes, and how much
    the last seconds spent on it gained. Returns what was tuned; calling it again goes on.
    """
    arguments = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    global _collected
    found: list[_match.Group] = []
    torch._dynamo.reset()
    _collected = found
    try:
        with torch.no_grad():
            torch.compile(getattr(model, "_orig_mod", model), backend=backend)(*arguments)
    finally:
        _collected = None
    torch._dynamo.reset()
    threads = torch.get_num_threads()
    return _tuning.share(found, seconds, machine_of(threads, database), progress)
