"""Kernels as operators of PyTorch, one for each place in a graph: it holds its packed weights."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]

from .._errors import invalid
from .._kernel import Kernel

_library = torch.library.Library("lathe", "DEF")
_numbers = itertools.count()


def _tags() -> tuple[Any, ...]:
    names = ("needs_contiguous_strides", "pt2_compliant_tag")
    return tuple(getattr(torch.Tag, name) for name in names if hasattr(torch.Tag, name))


def operator_of(kernel: Kernel, name: str | None = None, *, frozen: bool = False) -> Any:
    """torch.ops.lathe.NAME: the kernel's inputs in, its output out.

    With ``frozen`` constant inputs are looked at in the first call only, for graphs whose weights
    do not change; else each call compares them with what was packed.
    """
    if len(kernel.outputs) != 1:
        raise invalid(f"the kernel has {len(kernel.outputs)} outputs; an operator has one")
    name = name or f"kernel{next(_numbers)}"
    inputs = ", ".join(f"Tensor x{n}" for n in range(len(kernel.inputs)))
    _library.define(f"{name}({inputs}) -> Tensor", tags=_tags())
    shape, dtype = kernel.outputs[0].shape, getattr(torch, _DTYPES[kernel.outputs[0].dtype])
    variable = [n for n, tensor in enumerate(kernel.inputs) if not tensor.constant]
    packed = False

    def compute(*tensors: Any) -> Any:
        nonlocal packed
        if packed:
            return kernel(*[tensors[n].contiguous() for n in variable])
        result = kernel(*[tensor.contiguous() for tensor in tensors])
        packed = frozen
        return result

    def fake(*tensors: Any) -> Any:
        return tensors[0].new_empty(shape, dtype=dtype)

    _library.impl(name, compute, "CPU")
    torch.library.register_fake(f"lathe::{name}", fake, lib=_library)
    operator = getattr(torch.ops.lathe, name).default
    if frozen:
        _lower(operator, kernel, f"lathe_{name}", variable)
    return operator


def _lower(operator: Any, kernel: Kernel, name: str, variable: Sequence[int]) -> None:
    """Inductor's code calls the kernel itself, with a result in memory that Inductor planned.

    A call through PyTorch's dispatcher costs some microseconds, and allocates. The constants are
    packed while the graph is compiled, and not in the graph any more.
    """
    from torch._inductor import (  # type: ignore[import-not-found, unused-ignore]
        ir,
        lowering,
        select_algorithm,
    )
    from torch._inductor.virtualized import V  # type: ignore[import-not-found, unused-ignore]

    dispatched = lowering.fallback_handler(operator, add_to_fallback_set=False)

    def lowered(*tensors: Any) -> Any:
        nodes = V.graph.current_node.args
        constants = [n for n in range(len(nodes)) if n not in variable]
        if V.graph.cpp_wrapper or any(nodes[n].op != "get_attr" for n in constants):
            return dispatched(*tensors)
        known = {
            kernel.inputs[n].name: _value_of(V.graph.module, nodes[n].target) for n in constants
        }
        if known:
            kernel.prepare(**known)
        setattr(select_algorithm.extern_kernels, name, kernel)
        value = V.graph.current_node.meta["val"]
        layout = ir.FixedLayout(value.device, value.dtype, list(value.shape))
        inputs = [
            ir.ExternKernel.require_contiguous_strides(ir.ExternKernel.realize_input(tensors[n]))
            for n in variable
        ]
        called = ir.ExternKernelOut(
            layout, inputs, python_kernel_name=f"extern_kernels.{name}", op_overload=operator
        )
        return ir.TensorBox.create(called)

    lowering.register_lowering(operator, type_promotion_kind=None)(lowered)


def _value_of(module: Any, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part)
    return module.detach().contiguous()


_DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16",
           "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64", "bool": "bool"}
