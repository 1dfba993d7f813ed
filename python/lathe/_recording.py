"""Spaces that were measured whole, as arrays."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._errors import Error, file_name, invalid

if TYPE_CHECKING:
    import numpy


class Knob(NamedTuple):
    """One choice of a space.

    ``values`` are numbers, or labels where the choice is ``structural``: it picks another nest of
    loops. A conditional knob has an effect only while the knob called ``under`` has an effect and
    one of ``under_values``.
    """

    name: str
    values: tuple[int | str, ...]
    structural: bool
    under: str | None
    under_values: tuple[int | str, ...]


class Features(NamedTuple):
    """A row of floats for each program; ``names`` are those of the columns."""

    names: list[str]
    rows: numpy.ndarray


def knobs_of(native: _native.Recording | _native.Search) -> tuple[Knob, ...]:
    given = native.knobs
    choices: list[tuple[int | str, ...]] = [
        tuple(labels or values) for _, values, labels, _, _ in given
    ]
    out = []
    for (name, _, labels, under, places), values in zip(given, choices):
        above = given[under][0] if under >= 0 else None
        under_values = tuple(choices[under][place] for place in places) if under >= 0 else ()
        out.append(Knob(name, values, bool(labels), above, under_values))
    return tuple(out)


def _plain(value: Any) -> Any:
    """A scalar of NumPy as a number of Python."""
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return value.item()
    raise invalid(f"a configuration has the value {value!r}, which is no number and no label")


def text_of(config: Mapping[str, Any]) -> str:
    if not isinstance(config, Mapping):
        raise invalid(f"a configuration is a dict with a value for each knob, not {config!r}")
    try:
        return json.dumps(dict(config), default=_plain, allow_nan=False)
    except ValueError as error:
        if isinstance(error, Error):
            raise
        raise invalid("a configuration has a value that is no finite number") from None


def recordings() -> dict[str, str]:
    """The recordings that come with Lathe: their files by name."""
    root = os.path.join(os.path.dirname(os.path.abspath(_native.__file__ or "")), "spaces")
    ending = ".json.zst"
    found = []
    for folder, _, files in os.walk(root):
        found += [os.path.join(folder, file) for file in files if file.endswith(ending)]
    return {os.path.relpath(file, root)[: -len(ending)]: file for file in sorted(found)}


class Recording:
    """The times of all configurations of a small space on one machine.

    ``path`` is a file that ``lathe space record`` wrote. Arrays have a row or an element for each
    configuration, all in one order; they cannot be written. A search runs on it without hardware:
    ``lathe.Search(recording)``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._native = _native.Recording.load(file_name(path, "the recording"))
        self.name = self._native.name
        #: The workload's text in canonical names.
        self.key = self._native.workload.key
        self.target = self._native.target
        self.threads = self._native.threads
        #: The processor it was recorded on.
        self.machine = self._native.machine
        self.cold_cache = self._native.cold_cache
        #: FLOP a second that the machine reaches in registers, on the target's threads.
        self.peak_flops = self._native.peak_flops
        #: FLOP of one call.
        self.flops = self._native.workload.flops
        self.knobs = knobs_of(self._native)
        #: Of the fastest.
        self.best_seconds = self._native.best_seconds
        self._features: dict[str, Features] = {}

    def __len__(self) -> int:
        return len(self.seconds)

    @cached_property
    def positions(self) -> numpy.ndarray:
        """uint16, a column for each knob: which of its values, counted from 0.

        A knob without effect has its first.
        """
        import numpy

        array = numpy.frombuffer(self._native.positions, numpy.uint16)
        return array.reshape(-1, len(self.knobs))

    @cached_property
    def values(self) -> numpy.ndarray:
        """int64, a column for each knob: its value, or of a label the position."""
        import numpy

        array = numpy.empty(self.positions.shape, numpy.int64)
        for column, knob in enumerate(self.knobs):
            known = range(len(knob.values)) if knob.structural else knob.values
            array[:, column] = numpy.array(known, numpy.int64)[self.positions[:, column]]
        array.flags.writeable = False
        return array

    @cached_property
    def seconds(self) -> numpy.ndarray:
        """float64: the time of one call; infinity where it failed.

        The fastest were timed again in races, whose times count.
        """
        import numpy

        return numpy.frombuffer(self._native.seconds, numpy.float64)

    @cached_property
    def failures(self) -> list[str]:
        """What kind of failure each met, as "wrong-answer"; "" where it worked."""
        return self._native.failures

    def features(self, kind: str = "context", jobs: int = 0) -> Features:
        """What the cost models see of each program; ``kind`` as for ``lathe tune --features``.

        ``jobs`` threads compute it; 0: one for each core.
        """
        if not isinstance(jobs, int) or not 0 <= jobs <= 1024:
            raise invalid(f"jobs is {jobs!r}; give the number of threads, or 0 for all")
        if not isinstance(kind, str):
            raise invalid(f'features are named by a text, as "context", not by {kind!r}')
        if kind not in self._features:
            import numpy

            names, rows = self._native.features(kind, jobs)
            array = numpy.frombuffer(rows, numpy.float32).reshape(len(self), -1)
            self._features[kind] = Features(names, array)
        return self._features[kind]

    def config(self, place: int) -> dict[str, Any]:
        """The configuration at a place of the arrays; knobs without effect are left out."""
        text: dict[str, Any] = json.loads(self._native.config(range(len(self))[place]))
        return text

    def find(self, config: Mapping[str, Any]) -> int | None:
        """The place of a configuration; None if the space does not have it."""
        return self._native.find(text_of(config))

    def _seconds_of(self, text: str) -> float:
        place = self._native.find(text)
        if place is None:
            raise invalid(f"the recording of {self.name} has no configuration {text}")
        return float(self.seconds[place])

    def __repr__(self) -> str:
        return f"<lathe.Recording {self.name}: {len(self)} configurations, {self.machine}>"
