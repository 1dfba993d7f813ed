"""The search alone: ask for candidates, tell their times."""

from __future__ import annotations

import itertools
import json
import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, SupportsIndex

from . import _native
from ._errors import Failed, invalid, is_of_files
from ._kernel import Kernel
from ._recording import Knob, Recording, knobs_of, text_of
from ._tune import _options, machine_of
from ._workload import together, workload_of


_numbers = itertools.count()


class Proposal(NamedTuple):
    """A candidate: its number, a value for each knob that has an effect, and which search's."""

    id: int
    config: dict[str, Any]
    search: int

    def __hash__(self) -> int:
        return hash((self.id, self.search))


class Search:
    """Proposes candidates of a space, for callers who measure by themselves.

    The space is a workload's, and arguments are those of ``tune``; or it is a recording's, for
    experiments without hardware. On a workload it begins with what records of other workloads
    teach, unless ``options={"fresh": True}``; on a recording with nothing.

    Other searches may choose, too: ``knobs`` is what there is to choose, ``propose`` takes a
    choice. Several threads may use one search.
    """

    def __init__(
        self,
        what: str | Recording,
        *,
        threads: int | None = None,
        constants: Iterable[str] = (),
        tensors: Mapping[str, Any] | None = None,
        dtypes: Mapping[str, Any] | None = None,
        database: str | None = None,
        max_error: float | None = None,
        algorithm: str | None = None,
        numerics: str | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        options: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> None:
        self._number = next(_numbers)
        self._machine = machine_of(threads, database)
        if not isinstance(options or {}, Mapping):
            raise invalid(f"options are given as {options!r}; give a dict of them")
        own = _options(self._machine, options or {})
        named = together(tensors, named)
        self._recording = what if isinstance(what, Recording) else None
        if isinstance(what, Recording):
            self._machine.threads = what.threads
            own_words = (named, dtypes, constants, max_error, algorithm, numerics, ranges)
            if any(own_words) or threads is not None or database:
                raise invalid("a recording has its own workload and machine; give options only")
            self._workload = what._native.workload
            self._search = _native.Search.of_recording(what._native, own)
        else:
            self._workload = workload_of(
                what, named, dtypes, constants,
                max_error=max_error, algorithm=algorithm, numerics=numerics, ranges=ranges,
            )  # fmt: skip
            self._search = _native.Search.of_workload(self._workload, own)
        self.knobs: tuple[Knob, ...] = knobs_of(self._search)

    def ask(self, wanted: int = 1) -> list[Proposal]:
        """The next candidates: none twice, and fewer than wanted when the space is exhausted."""
        if isinstance(wanted, bool) or not isinstance(wanted, int) or not 0 < wanted < 1 << 31:
            raise invalid(f"{wanted!r} candidates are asked for; ask for one or more")
        return [self._proposal(*found) for found in self._search.ask(wanted)]

    def propose(self, config: Mapping[str, Any]) -> Proposal | None:
        """A candidate of the caller's own: a value for each knob, as ``knobs`` lists them.

        Knobs without effect may be there or not. None where a constraint of the space is broken:
        there is no such program. ``ask`` does not come up with it once its time was told.
        """
        found = self._search.propose(text_of(config))
        return None if found is None else self._proposal(*found)

    def tell(self, proposal: Proposal | SupportsIndex, seconds: float) -> None:
        """A candidate's time a call; ``float("inf")`` where it failed.

        Of a program that is proposed and told again, the first time counts.
        """
        if isinstance(proposal, SupportsIndex):
            number = operator.index(proposal)
        else:
            number = self._own(proposal).id
        try:
            seconds = float(seconds)
        except (TypeError, ValueError):
            raise invalid(f"the time is {seconds!r}; tell it in seconds") from None
        self._search.tell(number, seconds)

    def time(self, proposal: Proposal, seconds: float = 0.05) -> float:
        """A candidate's time a call; infinity where it fails.

        A recording tells it. Otherwise the program is compiled, checked, and called for about
        ``seconds``.
        """
        if self._recording is not None:
            return self._recording._seconds_of(text_of(self._own(proposal).config))
        self._own(proposal)
        try:
            return self.compile(proposal).time(seconds=seconds)
        except Failed as error:
            if is_of_files(error):
                raise
            return float("inf")

    def trace(self, proposal: Proposal) -> list[dict[str, Any]]:
        """The steps that make a candidate's program, as ``lathe.compile(schedule=...)`` takes."""
        steps: list[dict[str, Any]] = json.loads(self._trace(proposal))
        return steps

    def compile(self, proposal: Proposal, check: bool = True) -> Kernel:
        """The candidate's program, on this machine.

        Of a recording it can be made where the workload's tensors lie row-major.
        """
        if self._recording is not None and "layout free" in self._recording.key:
            raise invalid(
                f"the programs of the recording {self._recording.name} store tensors in layouts of "
                "their own, so they take no arrays; time() tells their times"
            )
        return Kernel._compiled(self._workload, self._trace(proposal), self._machine, check)

    def _trace(self, proposal: Proposal) -> str:
        return self._search.trace(text_of(self._own(proposal).config))

    def _proposal(self, number: int, text: str) -> Proposal:
        return Proposal(number, json.loads(text), self._number)

    def _own(self, proposal: Any) -> Proposal:
        if not isinstance(proposal, Proposal):
            raise invalid(f"{proposal!r} is no proposal; give one of ask() or propose()")
        if proposal.search != self._number:
            raise invalid("the proposal is another search's")
        return proposal
