"""The search alone: ask for candidates, tell their times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from . import _native
from ._errors import invalid
from ._kernel import Kernel
from ._tune import _options, machine_of
from ._workload import together, workload_of


class Proposal(NamedTuple):
    """A candidate: its number, a value for each knob, and the steps that make its program."""

    id: int
    config: dict[str, Any]
    trace: str


class Search:
    """Proposes candidates of a workload's space, for callers who measure by themselves.

    Arguments are those of ``tune``. It begins with what records of other workloads teach, unless
    ``options={"fresh": True}``.
    """

    def __init__(
        self,
        what: str,
        *,
        threads: int = 1,
        constants: Iterable[str] = (),
        tensors: Mapping[str, Any] | None = None,
        dtypes: Mapping[str, Any] | None = None,
        database: str | None = None,
        max_error: float | None = None,
        algorithm: str | None = None,
        options: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> None:
        self._machine = machine_of(threads, database)
        named = together(tensors, named)
        self._workload = workload_of(what, named, dtypes, constants, max_error, algorithm)
        self._search = _native.Search.make(self._workload, _options(self._machine, options or {}))

    def ask(self, wanted: int = 1) -> list[Proposal]:
        """The next candidates: none twice, and fewer than wanted when the space is exhausted."""
        if wanted < 1:
            raise invalid(f"{wanted} candidates are asked for; ask for one or more")
        return [Proposal(i, json.loads(c), t) for i, c, t in self._search.ask(wanted)]

    def tell(self, proposal: Proposal | int, seconds: float) -> None:
        """A candidate's time a call; ``float("inf")`` where it failed."""
        number = proposal.id if isinstance(proposal, Proposal) else proposal
        self._search.tell(number, seconds)

    def compile(self, proposal: Proposal, check: bool = True) -> Kernel:
        """The candidate's program."""
        return Kernel._compiled(self._workload, proposal.trace, self._machine, check)
