"""Loads the extension, once, in the way it needs."""

import os
import sys

if sys.version_info < (3, 12):  # newer ones refuse it themselves
    import _xxsubinterpreters as _interpreters  # type: ignore[import-not-found, unused-ignore]

    if _interpreters.get_current() != _interpreters.get_main():
        raise ImportError("lathe works in the main interpreter of a process only")

# Idle OpenMP threads of XGBoost would spin beside what is measured. Their runtime reads this when
# it is loaded; the environment is given back as it was.
_NAME = "OMP_WAIT_POLICY"
_missing = _NAME not in os.environ
os.environ.setdefault(_NAME, "passive")
try:
    from . import _native as _native
finally:
    if _missing:
        del os.environ[_NAME]
