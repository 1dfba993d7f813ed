"""What is shown while a workload is tuned."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """Where a run of the tuner stands. Times are in seconds; best_seconds is 0 before the first."""

    trials: int
    failed: int
    best_seconds: float
    elapsed_seconds: float
    left_seconds: float
    phase: str


def _is_shown() -> bool:
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()


class Bar:
    """A bar of tqdm, where that is installed; before it the line ``first``."""

    def __init__(self, total: int, flops: float, shown: bool | None, first: str = "") -> None:
        self._bar: Any = None
        self._flops = flops
        if shown is False or (shown is None and not _is_shown()):
            return
        if first and sys.stderr is not None:
            print(first, file=sys.stderr)
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            return
        self._bar = tqdm(total=total, unit="trial", desc="lathe")

    def __call__(self, progress: Progress) -> None:
        if self._bar is None:
            return
        if progress.best_seconds > 0:
            rate = self._flops / progress.best_seconds / 1e9
            self._bar.set_postfix_str(f"{rate:.4g} GFLOP/s, {progress.phase}", refresh=False)
        self._bar.n = min(progress.trials, self._bar.total)
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def listener_of(
    bar: Bar, callback: Callable[[Progress], object] | None
) -> Callable[..., None]:
    def hear(*event: Any) -> None:
        progress = Progress(*event)
        bar(progress)
        if callback is not None:
            callback(progress)

    return hear
