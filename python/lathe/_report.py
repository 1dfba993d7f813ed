"""What the command does for the package: its page about a database or a model, and importing
records.
"""

from __future__ import annotations

import html
import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from ._errors import Failed, error_of, file_name, invalid
from ._model import check_no_weights_type, check_weights_type, names_model, shapes_of
from ._tune import machine_of
from ._workload import max_error_of


def command() -> str:
    """The path of the command ``lathe``: the package's own, else the one of $LATHE_COMMAND."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "lathe")
    found = own if os.path.exists(own) else os.environ.get("LATHE_COMMAND") or shutil.which("lathe")
    if found is None:
        raise Failed("the command lathe is not in the package and not on the PATH", "not-found")
    return found


class Report:
    """What a database holds, as a page. A notebook shows it."""

    def __init__(self, page: str) -> None:
        self.page = page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page as a file of HTML."""
        name = file_name(path, "the page")
        try:
            with open(name, "w", encoding="utf-8") as file:
                file.write(self.page)
        except OSError as error:
            raise Failed(f"{name}: {error.strerror}", "io") from None

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" style="width:100%;height:40em;border:0">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return f"<lathe.Report of {len(self.page)} characters; save() writes it>"


def _output_of(words: list[str], database: str | os.PathLike[str] | None) -> str:
    if database is not None:
        words = [*words, "--db", file_name(database, "the database")]
    done = subprocess.run([command(), *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise error_of("failed", done.stderr.strip().removeprefix("lathe: "), "")
    return done.stdout


def report(
    what: str | os.PathLike[str] | None = None,
    /,
    *,
    database: str | os.PathLike[str] | None = None,
    floors: bool = False,
    threads: int | None = None,
    target: str | None = None,
    max_error: float | None = None,
    weights_type: str | None = None,
    **sizes: Any,
) -> Report:
    """A page for people: ``save`` writes it, a notebook shows it.

    ``report()`` tells what a database holds, the user's or the one that is named: curves, knobs,
    models, failures, programs.

    ``report("model.onnx", batch=1)`` tells where the time of a model goes, by the records of
    ``database``. Sizes are given as to ``tune``, and so are ``threads``, ``target``, ``max_error``
    and ``weights_type``: with the arguments that it was tuned with, it is the model that was tuned.
    ``floors`` measures for a moment how fast each node could be.
    """
    name = None if what is None else file_name(what, "what is reported on")
    if name is None or not names_model(name):
        check_no_weights_type(weights_type)
        of_model = {"floors": floors or None, "threads": threads, "target": target,
                    "max_error": max_error, **sizes}  # fmt: skip
        return _report_of_database(name, database, of_model)
    machine = machine_of(threads, None, target or "cpu:host")
    words = ["report", name, "-o", "-", "--target", machine.target]
    for size, shape in shapes_of(sizes).items():
        words += ["--shape", f"{size}={','.join(map(str, shape))}"]
    if threads is not None:
        words += ["--threads", str(machine.threads)]
    if max_error is not None:
        words += ["--max-error", repr(max_error_of(max_error, "1e-4"))]
    check_weights_type(weights_type)
    if weights_type is not None:
        words += ["--weights-type", weights_type]
    return Report(_output_of([*words, *(["--floors"] if floors else [])], database))


def _report_of_database(
    name: str | None,
    database: str | os.PathLike[str] | None,
    of_model: Mapping[str, Any],
) -> Report:
    given = [argument for argument, value in of_model.items() if value is not None]
    if given:
        raise invalid(f"{', '.join(given)}: for the file of a model, as report(\"model.onnx\")")
    if name is not None and database is not None:
        raise invalid(f"two databases are given, {name} and {os.fsdecode(database)}; choose one")
    return Report(_output_of(["report", "-o", "-"], database if name is None else name))


def _records_of_this_processor() -> str:
    """The records that come with Lathe for this kind of processor."""
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.path.join(here, "records")
    if not os.path.isdir(folder):  # in a checkout
        source = os.path.dirname(os.path.realpath(__file__))
        folder = os.path.join(source, "..", "..", "bench", "records")
    words: dict[str, str] = {}
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            name, _, value = line.partition(":")
            words.setdefault(name.strip(), value.strip())
    vendor = "amd" if "AMD" in words.get("vendor_id", "") else "intel"
    numbers = "-".join(words.get(key, "?") for key in ("cpu family", "model", "stepping"))
    path = os.path.join(folder, f"{vendor}-{numbers}.jsonl")
    if not os.path.exists(path):
        known = ", ".join(sorted(os.listdir(folder))) if os.path.isdir(folder) else "none"
        raise Failed(
            f"no records came for this processor, {vendor} {numbers}; there are {known}, one of "
            "which may be given",
            "not-found",
        )
    return path


def import_records(
    path: str | os.PathLike[str] | None = None,
    database: str | os.PathLike[str] | None = None,
) -> str:
    """Adds records, as ``lathe export`` writes them, to a database; tells what was added.

    By default they are those that come with Lathe for this kind of processor: the best programs of
    the operators that it is compared on.
    """
    if database is not None:
        database = file_name(database, "the database")
    given = (
        file_name(path, "the file of records")
        if path is not None
        else _records_of_this_processor()
    )
    return _output_of(["import", given], database).strip()
