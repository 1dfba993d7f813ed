"""Types of the extension; tensors are (name, type, shape, constant)."""

from collections.abc import Callable
from typing import Any, TypedDict

TensorTuple = tuple[str, str, tuple[int, ...], bool]

class ScheduleDict(TypedDict):
    seconds: float
    gflops: float
    trace: str
    config: str

class TuneDict(TypedDict):
    trials: int
    failed: int
    seconds: float
    interrupted: bool
    signalled: bool
    exhausted: bool
    best: ScheduleDict | None

class Machine:
    target: str
    threads: int
    database: str
    cold_cache: bool
    def __init__(self) -> None: ...

class TuneOptions:
    trials: int
    seconds: float
    jobs: int
    seed: int
    search: str
    model: str
    features: str
    acquisition: str
    batch: int
    chains: int
    steps: int
    epsilon: float
    diversity: float
    alpha: float
    temperature: float
    global_trials: float
    elite: float
    thrift: float
    space: str
    fresh: bool
    transfer: bool
    global_model: str
    machine: Machine
    def __init__(self) -> None: ...

class Inputs:
    shapes: dict[str, list[int]]
    dtypes: dict[str, str]
    constants: list[str]
    max_error: float
    algorithm: str
    def __init__(self) -> None: ...

class Workload:
    @staticmethod
    def parse(text: str, inputs: Inputs, /) -> Workload: ...
    @staticmethod
    def named(name: str, flags: dict[str, str], inputs: Inputs, /) -> Workload: ...
    @property
    def key(self) -> str: ...
    @property
    def flops(self) -> float: ...
    @property
    def inputs(self) -> list[TensorTuple]: ...
    @property
    def outputs(self) -> list[TensorTuple]: ...
    def tune(
        self, options: TuneOptions, listener: Callable[..., object] | None
    ) -> TuneDict: ...
    def best(self, machine: Machine, /) -> ScheduleDict | None: ...
    def trace(self, schedule: str, machine: Machine, /) -> str: ...
    def module(self, schedule: str, machine: Machine, check: bool, /) -> bytes: ...
    def write_library(
        self, path: str, schedule: str, machine: Machine, check: bool, /
    ) -> None: ...
    def records(self, machine: Machine, /) -> str: ...

class Search:
    @staticmethod
    def make(workload: Workload, options: TuneOptions, /) -> Search: ...
    def ask(self, wanted: int, /) -> list[tuple[int, str, str]]: ...
    def tell(self, number: int, seconds: float, /) -> None: ...

class Library:
    @staticmethod
    def open(path: str, /) -> Library: ...
    @staticmethod
    def of_bytes(data: bytes, /) -> Library: ...
    @staticmethod
    def of_module(
        code: bytes, inputs: list[TensorTuple], outputs: list[TensorTuple], threads: int, /
    ) -> Library: ...
    @property
    def is_module(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def inputs(self) -> list[TensorTuple]: ...
    @property
    def outputs(self) -> list[TensorTuple]: ...
    @property
    def data(self) -> bytes: ...

class Kernel:
    def __init__(self, library: Library, /) -> None: ...
    def __call__(self, *inputs: Any, out: Any = None, **named: Any) -> Any: ...
    def prepare(self, **constants: Any) -> None: ...
    def _time(self, inputs: tuple[Any, ...], seconds: float, /) -> float: ...

class Einsum:
    def __init__(self, otherwise: Callable[..., Any], /) -> None: ...
    def __call__(
        self,
        subscripts: str,
        *operands: Any,
        out: Any = None,
        threads: int = 1,
        optimize: Any = None,
    ) -> Any: ...
    def remember(
        self, subscripts: str, operands: tuple[Any, ...], kernel: Kernel, orders: list[list[int]], /
    ) -> None: ...
    def forget(self) -> None: ...

def end_runs() -> None: ...
