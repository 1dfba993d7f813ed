"""What the command does for the package: its page about a database, and importing records."""

from __future__ import annotations

import html
import os
import shutil
import subprocess

from ._errors import Failed, error_of, file_name


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


def report(database: str | os.PathLike[str] | None = None) -> Report:
    """What a database holds (the user's, by default): curves, knobs, models, failures, programs."""
    return Report(_output_of(["report", "-o", "-"], database))


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
