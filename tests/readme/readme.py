#!/usr/bin/env python3
"""Runs the example commands of the README, or of another page, as they stand there, in an empty
folder with an empty database.

Usage: readme.py PAGE FOLDER-WITH-LATHE
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def commands(text):
    """Lines of the fenced `sh` blocks; a `cd`, an `export` or a script of the repository is not for
    here."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("lathe ")]


def run_all(lines, programs, folder):
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}",
                   "XDG_DATA_HOME": f"{folder}/data", "XDG_CACHE_HOME": f"{folder}/cache"}
    environment.pop("LATHE_DB", None)
    failed = 0
    for line in lines:
        done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True,
                              text=True, timeout=600)
        if done.returncode != 0 or not done.stdout.strip():
            failed += 1
            print(f"$ {line}\n{done.stdout}{done.stderr}exit status {done.returncode}\n")
    return failed


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lines = commands(Path(sys.argv[1]).read_text())
    with tempfile.TemporaryDirectory() as folder:
        failed = run_all(lines, Path(sys.argv[2]).resolve(), folder)
    print(f"{len(lines)} commands, {failed} failed")
    sys.exit(1 if failed or not lines else 0)


if __name__ == "__main__":
    main()
