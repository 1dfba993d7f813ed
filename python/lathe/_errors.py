"""What Lathe raises."""

from __future__ import annotations

import os
import re


class Error(Exception):
    """Something that Lathe was asked for cannot be done; the text says why and what to do.

    ``kind`` is stable: "invalid-argument", "not-found", "timeout" and the like.
    """

    kind: str = "internal"

    def __init__(self, message: str, kind: str = "internal") -> None:
        super().__init__(message)
        self.kind = kind


class InvalidArgument(Error, ValueError):
    """What was given does not fit: an expression, a shape, a type, an option."""


class Failed(Error, RuntimeError):
    """What was given fits, and still it failed: a file, the machine, a program."""


# What flags of the command are called here.
_ARGUMENTS = {"db": "database", "time": "seconds", "range": "ranges"}


def _argument(flag: re.Match[str]) -> str:
    return _ARGUMENTS.get(flag[1], flag[1].replace("-", "_"))


def error_of(kind: str, message: str, place: str) -> Error:
    """The exception of a failure. Its words are the command's, whose flags are arguments here."""
    text = re.sub(r"--([a-z][a-z-]*)", _argument, f"{place}: {message}" if place else message)
    if kind in ("invalid-argument", "unsupported"):
        return InvalidArgument(text, kind)
    return Failed(text, kind)


def invalid(message: str) -> InvalidArgument:
    return InvalidArgument(message, "invalid-argument")


def is_of_files(error: Error) -> bool:
    """Whether the database or the disk is to blame, and no program."""
    return error.kind in ("io", "data-loss")


def file_name(given: str | os.PathLike[str], what: str) -> str:
    """The name of a file that a caller gives; ``what`` says which, as "the database"."""
    name = os.fsdecode(given)
    if not name:
        raise invalid(f"{what} has an empty name; give the name of a file")
    if "\0" in name:
        raise invalid(f"{what} has a name with a character that no file has")
    return name
