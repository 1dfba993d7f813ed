"""Lathe finds fast programs for tensor operators by measuring candidates on this machine.

    import lathe, numpy as np
    a, b = np.random.rand(1000, 7, 7).astype("f4"), np.random.rand(1000, 7, 7).astype("f4")
    kernel = lathe.tune("C[n,i,j] = sum(k) A[n,i,k] * B[n,k,j]", A=a, B=b, seconds=10)
    c = kernel(a, b)
"""

import atexit as _atexit

from . import _load as _load
from . import _native
from ._einsum import einsum, tuning
from ._errors import Error, Failed, InvalidArgument
from ._kernel import Kernel, Tensor, load
from ._progress import Progress
from ._recording import Features, Knob, Recording, recordings
from ._report import import_records, report
from ._search import Proposal, Search
from ._tune import compile, tune

_atexit.register(_native.end_runs)

__all__ = [
    "Error",
    "Failed",
    "Features",
    "InvalidArgument",
    "Kernel",
    "Knob",
    "Progress",
    "Proposal",
    "Recording",
    "Search",
    "Tensor",
    "compile",
    "einsum",
    "import_records",
    "load",
    "recordings",
    "report",
    "tune",
    "tuning",
]
