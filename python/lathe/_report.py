"""The command, and its page about a database."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
from typing import Any

from ._errors import Failed


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
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.page)
        except OSError as error:
            raise Failed(f"{os.fspath(path)}: {error.strerror}", "io") from None

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" style="width:100%;height:40em;border:0">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return f"<lathe.Report of {len(self.page)} characters; save() writes it>"


def report(database: str | os.PathLike[str] | None = None) -> Report:
    """What a database holds (the user's, by default): curves, knobs, models, failures, programs."""
    words: list[Any] = [command(), "report", "-o", "-"]
    if database is not None:
        words += ["--db", os.fspath(database)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(done.stderr.strip().removeprefix("lathe: "), "failed")
    return Report(done.stdout)
