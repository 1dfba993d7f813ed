"""Programs as Python calls them."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, NamedTuple

from . import _native, _pickled
from ._errors import Failed, file_name, invalid


class Tensor(NamedTuple):
    """A tensor of a program. ``dtype`` is a name such as "f32"."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    constant: bool


class Kernel(_native.Kernel):
    """A compiled program: ``kernel(a, b)`` or ``kernel(a, b, out=c)``.

    Arguments are the inputs in order, or by name: arrays of NumPy, tensors of PyTorch, or anything
    with ``__dlpack__`` or the buffer protocol. They must be row-major and have the program's shapes
    and types (``inputs``, ``outputs``). Nothing is copied. The result is a new array of the
    framework that the inputs come from, or ``out``; a tuple where there are several outputs.

    Constant inputs are copied and packed when they are first given. Leave them out afterwards;
    where they are given again, they are compared, and packed again if they differ.

    A kernel for a card of NVIDIA (``on_card``) takes arrays on that card, by DLPack: PyTorch's,
    CuPy's and others. A call gives its work to a stream and returns. ``stream`` says which: a
    number, or a stream of PyTorch or CuPy; by default PyTorch's current one where PyTorch uses
    cards, else the default stream. A kernel serves one stream at a time. Where no input is
    PyTorch's, give ``out``. Constants are packed when they are first given, all at once; calls
    leave them out afterwards, and ``prepare`` packs others.

    Several threads may call one kernel; one runs at a time. Other threads of Python go on
    meanwhile. A forked child may use it, too.
    """

    _workload: _native.Workload | None = None
    _machine: _native.Machine | None = None
    _trace: str | None = None
    _check = True
    #: Of the best program, as tuning measured it; None where it was not tuned.
    seconds: float | None = None
    gflops: float | None = None
    #: Of the run that tuned it: trials, those of them that failed, and whether it was ended early.
    trials = 0
    failed = 0
    interrupted = False

    def __init__(self, library: _native.Library) -> None:
        super().__init__(library)
        self._library = library
        self.inputs = tuple(Tensor(*t) for t in library.inputs)
        self.outputs = tuple(Tensor(*t) for t in library.outputs)

    @classmethod
    def _compiled(
        cls, workload: _native.Workload, schedule: str, machine: _native.Machine, check: bool
    ) -> Kernel:
        trace = workload.trace(schedule, machine)
        kernel = cls(_library_of(workload, trace, machine, check))
        kernel._workload, kernel._machine, kernel._check = workload, machine, check
        kernel._trace = trace
        return kernel

    @property
    def on_card(self) -> bool:
        """Whether arrays are on a card of NVIDIA, and calls return before the card is done."""
        return self._library.on_card

    @property
    def threads(self) -> int:
        """The threads that a call may use, of which there are never more than processors."""
        return self._library.threads

    @property
    def key(self) -> str | None:
        """The workload's text in canonical names, under which records stand."""
        return self._workload.key if self._workload is not None else None

    @property
    def numerics(self) -> str | None:
        """How far roundings, NaN and infinity may spread: "componentwise", "local", "normwise".

        None where the kernel was loaded: the library's header says it.
        """
        return self._workload.numerics if self._workload is not None else None

    @property
    def trace(self) -> list[dict[str, Any]] | None:
        """The steps that lead from the naive loops to this program; None where it was loaded."""
        return json.loads(self._trace) if self._trace else None

    @property
    def records(self) -> list[dict[str, Any]]:
        """The trials on record for this workload, as ``lathe export`` writes them."""
        if self._workload is None or self._machine is None:
            return []
        return [json.loads(line) for line in self._workload.records(self._machine).splitlines()]

    def time(self, *inputs: Any, seconds: float = 0.2) -> float:
        """The median of the seconds that a call takes, over about ``seconds`` of calls.

        Without inputs, random ones are used.
        """
        if not seconds > 0:
            raise invalid(f"seconds is {seconds}; give more than 0")
        if inputs:
            return self._time(inputs, seconds)
        other = Kernel(self._library)  # which keeps this one's constants as they are
        return other._time(self._random(), seconds)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program as a library, with a C header and an example beside it.

        A kernel that was loaded is written as it was, without these. Libraries are linked by the
        system's linker, so binutils must be installed.
        """
        path = file_name(path, "the library")
        if self._workload is not None and self._machine is not None:
            self._workload.write_library(path, self._trace or "default", self._machine, self._check)
            return
        if self._library.is_module:
            raise invalid("a kernel that was pickled cannot be saved; save the one that was tuned")
        if self._library.weights:
            raise invalid(
                f"its weights are in {self._library.weights}; copy that file and the library"
            )
        try:
            with open(path, "wb") as file:
                file.write(self._library.data)
        except OSError as error:
            raise Failed(f"{path}: {error.strerror}", "io") from None

    def _random(self) -> tuple[Any, ...]:
        import numpy

        random = numpy.random.default_rng(0)
        arrays = []
        for tensor in self.inputs:
            if tensor.dtype not in _NUMPY:
                raise invalid(f"NumPy has no {tensor.dtype}; give arrays to time()")
            name = _NUMPY[tensor.dtype]
            if tensor.dtype.startswith("f"):
                arrays.append((random.random(tensor.shape) + 0.1).astype(name))
            else:
                arrays.append(random.integers(1, 2 if name == "bool" else 5, tensor.shape, name))
        return tuple(arrays)

    def __reduce__(self) -> Any:
        if self.on_card:
            raise invalid(
                "a kernel for a card cannot be pickled; save() it, and load() it in the other "
                "process"
            )
        if self._library.weights:
            raise invalid(
                "a library whose weights have a file of their own cannot be pickled; load() it in "
                "the other process"
            )
        library, module = self._library, self._library.is_module
        parts = _pickled.Parts(
            library.data,
            library.inputs if module else None,
            library.outputs if module else None,
            library.threads,
            _instructions() if module else frozenset(),
            self._constants(),
        )
        return (_unpickled, (_pickled.pack(parts),))

    def __repr__(self) -> str:
        def text(t: Tensor) -> str:
            constant = "const " if t.constant else ""
            return f"{constant}{t.name}: {t.dtype}{list(t.shape)}"

        inputs = ", ".join(map(text, self.inputs))
        outputs = ", ".join(map(text, self.outputs))
        threads = f", {self.threads} threads" if self.threads > 1 else ""
        numerics = f", numerics {self.numerics}" if self.numerics else ""
        return f"<lathe.Kernel ({inputs}) -> {outputs}{threads}{numerics}>"


def _library_of(
    workload: _native.Workload, trace: str, machine: _native.Machine, check: bool
) -> _native.Library:
    if machine.target.startswith("cpu:"):
        code = workload.module(trace, machine, check)
        return _native.Library.of_module(
            code, workload.inputs, workload.outputs, machine.threads
        )
    with tempfile.TemporaryDirectory(prefix="lathe-kernel-") as folder:
        path = os.path.join(folder, "kernel.so")
        workload.write_library(path, trace, machine, check)
        return _native.Library.open(path)


_NUMPY = {
    "f32": "float32", "f64": "float64", "f16": "float16", "i8": "int8", "u8": "uint8",
    "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64",
    "bool": "bool",
}  # fmt: skip


def _instructions() -> frozenset[str]:
    """The kinds of instructions of this processor, as the system lists them."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line for line in file if line.startswith(("flags", "Features"))]
    except OSError:
        return frozenset()
    words = lines[0].partition(":")[2].split() if lines else []
    kinds = ("avx", "fma", "f16c", "bmi", "movbe", "abm", "sve", "asimd")
    return frozenset(word for word in words if word.startswith(kinds))


def _unpickled(data: bytes) -> Kernel:
    parts = _pickled.unpack(data)
    missing = sorted(parts.needed - _instructions())
    if missing:
        raise Failed(
            f"the kernel was pickled on a processor with {', '.join(missing)}, which this one "
            "lacks; compile it here",
            "unsupported",
        )
    if parts.inputs is None or parts.outputs is None:
        library = _native.Library.of_bytes(parts.code)
    else:
        library = _native.Library.of_module(
            parts.code, parts.inputs, parts.outputs, parts.threads
        )
    kernel = Kernel(library)
    kernel._restore(parts.constants)
    return kernel


# The names that pickles of older versions call.
def _of_bytes(*_: Any) -> Kernel:
    raise _pickled.refuse_without_checksum()


_of_module = _of_bytes


def load(path: str | os.PathLike[str]) -> Kernel:
    """A kernel from a library that ``lathe compile`` or ``Kernel.save`` wrote.

    To load it is to run what is in it, so a file that another user can change is refused.
    """
    return Kernel(_native.Library.open(file_name(path, "the library")))
