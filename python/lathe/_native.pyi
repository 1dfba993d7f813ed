"""Types of the extension; tensors are (name, type, shape, constant), with shapes as callers see
them. Inner shapes are those of the expression."""

from collections.abc import Callable
from typing import Any, TypedDict

TensorTuple = tuple[str, str, tuple[int, ...], bool]
PlaceTuple = tuple[int, str]  # the number of a part, and a tensor's name there

class ScheduleDict(TypedDict):
    seconds: float
    gflops: float
    trace: str
    config: str
    threads: int

class TuneDict(TypedDict):
    trials: int
    failed: int
    seconds: float
    interrupted: bool
    signalled: bool
    exhausted: bool
    unverified: bool
    best: ScheduleDict | None

class Machine:
    target: str
    threads: int
    database: str
    cold_cache: bool
    def __init__(self) -> None: ...
    @staticmethod
    def usual_threads() -> tuple[int, str]: ...

class Session:
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
    prior: bool
    global_model: str
    machine: Machine
    session: Session | None
    def __init__(self) -> None: ...

class Inputs:
    shapes: dict[str, list[int]]
    dtypes: dict[str, str]
    constants: list[str]
    max_error: float
    algorithm: str
    numerics: str
    ranges: dict[str, tuple[float, float]]
    def __init__(self) -> None: ...

class Workload:
    @staticmethod
    def parse(text: str, inputs: Inputs, /) -> Workload: ...
    @staticmethod
    def named(name: str, flags: dict[str, str], inputs: Inputs, /) -> Workload: ...
    @staticmethod
    def compose(
        parts: list[Workload],
        edges: list[tuple[PlaceTuple, PlaceTuple]],
        alike: list[tuple[PlaceTuple, PlaceTuple]] = ...,
        outputs: list[PlaceTuple] = ...,
    ) -> tuple[Workload, list[dict[str, str]]]: ...
    def with_constants(self, names: list[str], /) -> Workload: ...
    @property
    def inner_inputs(self) -> list[tuple[int, ...]]: ...
    @property
    def inner_outputs(self) -> list[tuple[int, ...]]: ...
    @property
    def key(self) -> str: ...
    @property
    def numerics(self) -> str: ...
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

ModelTaskTuple = tuple[str, int, int, int, float, float, str]

class ModelTuneDict(TypedDict):
    seconds: float
    interrupted: bool
    signalled: bool
    tasks: list[ModelTaskTuple]
    keys: list[str]  # of the tasks' workloads

def tune_together(
    workloads: list[tuple[Workload, int]],
    options: TuneOptions,
    listener: Callable[..., object] | None,
) -> ModelTuneDict: ...

class Model:
    @staticmethod
    def open(
        path: str, shapes: dict[str, list[int]], max_error: float, weights_type: str, /
    ) -> Model: ...
    @property
    def flops(self) -> float: ...
    @property
    def inputs(self) -> list[TensorTuple]: ...
    @property
    def outputs(self) -> list[TensorTuple]: ...
    def tune(
        self, options: TuneOptions, listener: Callable[..., object] | None
    ) -> ModelTuneDict: ...
    def write_library(
        self, path: str, schedule: str, machine: Machine, check: bool, /
    ) -> None: ...

KnobTuple = tuple[str, list[int], list[str], int, list[int]]

class Recording:
    @staticmethod
    def load(path: str, /) -> Recording: ...
    @property
    def name(self) -> str: ...
    @property
    def workload(self) -> Workload: ...
    @property
    def target(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def machine(self) -> str: ...
    @property
    def cold_cache(self) -> bool: ...
    @property
    def peak_flops(self) -> float: ...
    @property
    def knobs(self) -> list[KnobTuple]: ...
    @property
    def positions(self) -> bytes: ...
    @property
    def seconds(self) -> bytes: ...
    @property
    def failures(self) -> list[str]: ...
    @property
    def best_seconds(self) -> float: ...
    def config(self, place: int, /) -> str: ...
    def find(self, config: str, /) -> int | None: ...
    def features(self, kind: str, jobs: int, /) -> tuple[list[str], bytes]: ...

class Search:
    @staticmethod
    def of_workload(workload: Workload, options: TuneOptions, /) -> Search: ...
    @staticmethod
    def of_recording(recording: Recording, options: TuneOptions, /) -> Search: ...
    @property
    def knobs(self) -> list[KnobTuple]: ...
    def ask(self, wanted: int, /) -> list[tuple[int, str]]: ...
    def propose(self, config: str, /) -> tuple[int, str] | None: ...
    def trace(self, config: str, /) -> str: ...
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
    def on_card(self) -> bool: ...
    @property
    def weights(self) -> str: ...
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
    def _constants(self) -> dict[int, bytes]: ...
    def _use_threads_of_torch(self) -> bool: ...
    def _restore(self, constants: dict[int, bytes], /) -> None: ...
    def _time(self, inputs: tuple[Any, ...], seconds: float, /) -> float: ...

class Einsum:
    def __init__(self, otherwise: Callable[..., Any], /) -> None: ...
    def __call__(
        self,
        subscripts: Any,
        *operands: Any,
        out: Any = None,
        threads: int | None = None,
        numerics: str | None = None,
        optimize: Any = None,
    ) -> Any: ...
    def remember(
        self,
        subscripts: str,
        operands: tuple[Any, ...],
        numerics: str | None,
        kernel: Kernel,
        orders: list[list[int]],
        threads: int | None = None,
        /,
    ) -> None: ...
    def forget(self) -> None: ...

def end_runs() -> None: ...
