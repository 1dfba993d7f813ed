"""Loads the extension, once, in the way it needs."""

import sys

if sys.version_info < (3, 12):  # newer ones refuse it themselves
    import _xxsubinterpreters as _interpreters  # type: ignore[import-not-found, unused-ignore]

    if _interpreters.get_current() != _interpreters.get_main():
        raise ImportError("lathe works in the main interpreter of a process only")

from . import _native as _native
