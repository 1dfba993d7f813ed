"""Kernels as operators of PyTorch, one for each place in a graph: it holds its packed weights."""

from __future__ import annotations

import itertools
import keyword
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]

from .._errors import invalid
from .._kernel import Kernel
from ._constants import without_modes

_library = torch.library.Library("lathe", "DEF")
_numbers = itertools.count()
_kernels: dict[str, Kernel] = {}  # by the names of their operators


def _tags() -> tuple[Any, ...]:
    names = ("needs_contiguous_strides", "pt2_compliant_tag")
    return tuple(getattr(torch.Tag, name) for name in names if hasattr(torch.Tag, name))


def operator_of(kernel: Kernel, name: str | None = None) -> Any:
    """torch.ops.lathe.NAME: the kernel's inputs in, its output out.

    Each call compares constant inputs with what was packed.
    """
    if not isinstance(kernel, Kernel):
        raise invalid(f"{kernel!r} is no kernel; lathe.tune and lathe.compile make one")
    name = name or _free_name("kernel")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise invalid(f'"{name}" is no name for an operator; use letters, digits and _')
    if hasattr(torch.ops.lathe, name):
        raise invalid(f"there is an operator {name} already; give another name")
    return _define(kernel, name, frozen=False)


def _free_name(begin: str) -> str:
    while hasattr(torch.ops.lathe, name := f"{begin}{next(_numbers)}"):
        pass
    return name


def _define(kernel: Kernel, name: str, frozen: bool) -> Any:
    """With ``frozen`` constant inputs are looked at in the first call only."""
    if len(kernel.outputs) != 1:
        raise invalid(f"the kernel has {len(kernel.outputs)} outputs; an operator has one")
    inputs = ", ".join(f"Tensor x{n}" for n in range(len(kernel.inputs)))
    _library.define(f"{name}({inputs}) -> Tensor", tags=_tags())
    shape, dtype = kernel.outputs[0].shape, getattr(torch, _DTYPES[kernel.outputs[0].dtype])
    variable = [n for n, tensor in enumerate(kernel.inputs) if not tensor.constant]
    packed = False
    # Two sets of threads that wait by spinning would take each other's processors.
    kernel._use_threads_of_torch()
    _kernels[name] = kernel

    def compute(*tensors: Any) -> Any:
        nonlocal packed
        if packed:
            return _kernels[name](*[tensors[n].contiguous() for n in variable])
        result = _kernels[name](*[tensor.contiguous() for tensor in tensors])
        packed = frozen
        return result

    def fake(*tensors: Any) -> Any:
        return tensors[0].new_empty(shape, dtype=dtype)

    _library.impl(name, compute, "CPU")
    torch.library.register_fake(f"lathe::{name}", fake, lib=_library)
    return getattr(torch.ops.lathe, name).default


class Placed:
    """A kernel for one place in a graph, whose weights do not change.

    Inductor's code calls the kernel itself, with a result in memory that Inductor planned: a call
    through PyTorch's dispatcher costs some microseconds, and allocates. Constants are packed while
    the graph is compiled. Such code means nothing in another process, so no cache may keep it.
    """

    def __init__(self, kernel: Kernel) -> None:
        from torch._inductor import lowering  # type: ignore[import-not-found, unused-ignore]

        self.name = _free_name("placed")
        self.operator = _define(kernel, self.name, frozen=True)
        setattr(_extern(), f"lathe_{self.name}", kernel)
        lower = _lowered(self.operator, kernel, f"lathe_{self.name}")
        lowering.register_lowering(self.operator, type_promotion_kind=None)(lower)

    def forget(self) -> None:
        """Lets the kernel go, where no graph calls it any more."""
        from torch._inductor import lowering

        lowering.lowerings.pop(self.operator, None)
        delattr(_extern(), f"lathe_{self.name}")
        del _kernels[self.name]


def _extern() -> Any:
    """What Inductor's code knows as extern_kernels."""
    from torch._inductor import select_algorithm  # type: ignore[import-not-found, unused-ignore]

    return select_algorithm.extern_kernels


def _lowered(operator: Any, kernel: Kernel, name: str) -> Any:
    from torch._inductor import ir, lowering
    from torch._inductor.virtualized import V  # type: ignore[import-not-found, unused-ignore]

    dispatched = lowering.fallback_handler(operator, add_to_fallback_set=False)

    def lower(*tensors: Any) -> Any:
        nodes = V.graph.current_node.args
        constants = [n for n, tensor in enumerate(kernel.inputs) if tensor.constant]
        if V.graph.cpp_wrapper or any(nodes[n].op != "get_attr" for n in constants):
            return dispatched(*tensors)
        known = {
            kernel.inputs[n].name: _value_of(V.graph.module, nodes[n].target) for n in constants
        }
        if known:
            kernel.prepare(**known)
        value = V.graph.current_node.meta["val"]
        layout = ir.FixedLayout(value.device, value.dtype, list(value.shape))
        inputs = [
            ir.ExternKernel.require_contiguous_strides(ir.ExternKernel.realize_input(tensor))
            for n, tensor in enumerate(tensors)
            if n not in constants
        ]
        called = ir.ExternKernelOut(
            layout, inputs, python_kernel_name=f"extern_kernels.{name}", op_overload=operator
        )
        return ir.TensorBox.create(called)

    return lower


def _value_of(module: Any, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part)
    with without_modes():
        return module.detach().contiguous()


_DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16",
           "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32",
           "u32": "uint32", "i64": "int64", "bool": "bool"}
