"""What einsum needs of the arrays of a framework: NumPy's and PyTorch's, others as NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class NumpyArrays:
    name = "numpy"

    def __init__(self) -> None:
        import numpy

        self.numpy = numpy

    def take(self, given: Any) -> Any:
        return self.numpy.asarray(given)

    def strides(self, array: Any) -> Any:
        return array.strides

    def permute(self, array: Any, order: Sequence[int]) -> Any:
        return array.transpose(order)

    def contiguous(self, array: Any) -> Any:
        return self.numpy.require(array, requirements=["C", "A"])

    def is_contiguous(self, array: Any) -> Any:
        flags = array.flags
        return flags.c_contiguous and flags.aligned and array.dtype.isnative

    def needs_gradient(self, arrays: list[Any]) -> bool:
        return False

    def common(self, arrays: list[Any]) -> list[Any]:
        dtype = self.numpy.result_type(*arrays)
        return [array.astype(dtype, copy=False) for array in arrays]

    def einsum(self, subscripts: str, arrays: list[Any]) -> Any:
        return self.numpy.einsum(subscripts, *arrays, optimize=len(arrays) > 2)

    def scalar(self, array: Any) -> Any:
        return array.reshape(())[()]

    def copy_to(self, out: Any, result: Any) -> None:
        self.numpy.copyto(out, result)


class TorchArrays:
    name = "torch"

    def __init__(self) -> None:
        import torch  # type: ignore[import-not-found, unused-ignore]

        self.torch = torch

    def take(self, given: Any) -> Any:
        tensor = given if isinstance(given, self.torch.Tensor) else self.torch.as_tensor(given)
        return tensor.resolve_neg()

    def needs_gradient(self, arrays: list[Any]) -> bool:
        enabled: bool = self.torch.is_grad_enabled()
        return enabled and any(array.requires_grad for array in arrays)

    def strides(self, array: Any) -> Any:
        return array.stride()

    def permute(self, array: Any, order: Sequence[int]) -> Any:
        return array.permute(*order)

    def contiguous(self, array: Any) -> Any:
        return array.contiguous()

    def is_contiguous(self, array: Any) -> Any:
        return array.is_contiguous()

    def common(self, arrays: list[Any]) -> list[Any]:
        dtype = arrays[0].dtype
        for array in arrays[1:]:
            dtype = self.torch.promote_types(dtype, array.dtype)
        return [array.to(dtype) for array in arrays]

    def einsum(self, subscripts: str, arrays: list[Any]) -> Any:
        return self.torch.einsum(subscripts, *arrays)

    def scalar(self, array: Any) -> Any:
        return array.reshape(())

    def copy_to(self, out: Any, result: Any) -> None:
        out.copy_(result)


_known: dict[str, Any] = {}


def arrays_of(operands: Sequence[Any]) -> Any:
    """PyTorch's if one of the operands is a tensor of it, else NumPy's."""
    name = "numpy"
    for operand in operands:
        if type(operand).__module__.partition(".")[0] == "torch":
            name = "torch"
    if name not in _known:
        _known[name] = TorchArrays() if name == "torch" else NumpyArrays()
    return _known[name]
