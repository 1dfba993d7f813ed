"""Lathe's programs inside torch.compile, and the tuning of what a model contains.

    model = torch.compile(model.eval(), backend="lathe")
    lathe.torch.tune(model, inputs, seconds=600)   # beforehand, once on a machine
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

try:
    import torch  # type: ignore[import-not-found, unused-ignore]
except ImportError as missing:
    raise ImportError("lathe.torch needs PyTorch: pip install torch") from missing

from .._errors import file_name, invalid
from .._tune import machine_of
from .._workload import check_numerics
from . import _match, _tuning
from ._choice import Compiled, Options, say_once, with_weights_inside
from ._operators import operator_of

__all__ = ["backend", "operator_of", "tune"]

def _is_static(node: Any, value: Any) -> bool:
    """A parameter or buffer of the model, as Dynamo marks what it lifts to inputs."""
    if isinstance(value, torch.nn.Parameter):
        return True
    words = node.meta.get("tensor_dict") or {}
    return "_dynamo_static_input_type" in words or hasattr(value, "_dynamo_static_input_type")


def _frozen_inputs(module: Any, inputs: Sequence[Any]) -> list[bool]:
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    return [
        isinstance(value, torch.Tensor) and _is_static(node, value)
        for node, value in zip(nodes, inputs)
    ]


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


def _checked(given: Any) -> Options:
    for name, value in given.items():
        if name not in Options._fields:
            known = ", ".join(Options._fields)
            raise invalid(f'the backend has no option "{name}"; options are {known}')
        if name == "always" and not isinstance(value, bool):
            raise invalid(f"always is {value!r}; give True or False")
        if name == "database" and not isinstance(value, (str, os.PathLike, type(None))):
            raise invalid(f"database is {value!r}; give a file")
        if name == "database" and value is not None:
            file_name(value, "the database")
        if name == "numerics":
            if not isinstance(value, (str, type(None))):
                raise invalid(f"numerics is {value!r}; give the name of a level")
            check_numerics(value)
    return Options(**given)


def backend(module: Any, inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend "lathe" of torch.compile.

    A convolution or a product of matrices with what follows it element by element becomes a program
    of Lathe, the best on record or the predicted one, where that beats Inductor's code, measured on
    this machine when the graph is first called. All else is Inductor's, with weights frozen; so is
    a graph that is not faster as a whole, or that is trained, dynamic, or on another device.
    ``options={"database": FILE}`` tells where records are; with ``"always": True`` every group is
    taken, and nothing is measured. ``"numerics"`` is a level, as ``lathe.tune`` has it: with
    "componentwise" an infinity or a NaN in what a call is given goes where eager takes it; by
    default it may reach neighbouring results of a convolution, too.
    """
    from torch._inductor.compile_fx import (  # type: ignore[import-not-found, unused-ignore]
        compile_fx,
    )

    checked = _checked(options.get("options") or {})
    why = _why_not(module, inputs)
    if why is not None:
        say_once(why)
        made: Callable[..., Any] = compile_fx(module, list(inputs))
        return made
    frozen = _frozen_inputs(module, inputs)
    if _collected is not None:
        placed = with_weights_inside(module, inputs, frozen)
        return _tuning.collector(placed, frozen, _collected)
    return Compiled(module, frozen, checked).short_way()


_collected: _tuning.Found | None = None  # what is listed instead of compiled


def tune(
    model: Any,
    inputs: Any,
    *,
    seconds: float = 600.0,
    database: str | None = None,
    numerics: str | None = None,
    progress: bool | None = None,
) -> list[_tuning.Tuned]:
    """Tunes what a model contains that Lathe covers, so that ``backend="lathe"`` finds it.

    ``inputs`` is a tensor or a tuple of them, as for ``model(*inputs)``. Each part has a turn in
    ``seconds``; then turns go where most is expected: by how often the model calls a part, how long
    it takes, and how much its last turns gained. Returns what was tuned; calling it again goes on.
    Ctrl-C ends it with what was found. ``numerics`` is what the backend will be told. The model is
    run once, and all that torch.compile made in this process is compiled anew when it is next
    called.
    Programs are timed with cold caches: between two calls of one a model runs all others.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not (
        0 < seconds < math.inf
    ):
        raise invalid(f"seconds is {seconds!r}; give more than 0")
    if getattr(model, "training", False):
        raise invalid("the model is in training mode; call its eval() first")
    threads = torch.get_num_threads()
    machine = machine_of(threads, database, cold_cache=True)
    check_numerics(numerics)
    return _tuning.share(_groups_in(model, inputs, numerics), seconds, machine, progress)


def _groups_in(model: Any, inputs: Any, numerics: str | None) -> list[_match.Group]:
    """The groups of all graphs that a call of the model runs."""
    arguments = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    own = [a.detach().clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    buffers = _buffers_of(model)
    global _collected
    found = _tuning.Found(numerics)
    torch._dynamo.reset()
    _collected = found
    try:
        with torch.no_grad():
            torch.compile(getattr(model, "_orig_mod", model), backend=backend)(*own)
    finally:
        _collected = None
        torch._dynamo.reset()
        _restore(buffers)
    return found.groups


def _buffers_of(model: Any) -> list[tuple[Any, str, Any, Any]]:
    """Of each buffer its module, name, tensor and elements."""
    if not isinstance(model, torch.nn.Module):
        return []
    return [
        (module, name, buffer, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]


def _restore(buffers: list[tuple[Any, str, Any, Any]]) -> None:
    for module, name, buffer, before in buffers:
        module._buffers[name] = buffer
        same = (buffer == before) | (buffer != buffer) & (before != before)
        if not bool(same.all()):
            with torch.no_grad(), torch.inference_mode(buffer.is_inference()):
                buffer.copy_(before)
