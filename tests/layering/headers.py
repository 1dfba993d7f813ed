#!/usr/bin/env python3
"""Compiles every header alone, with the flags of a source file near it.

Usage: headers.py ROOT BUILD-FOLDER   (the build folder has compile_commands.json)
"""

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def flags_near(header, entries):
    """The compile command of the source that shares the longest path with the header, without input
    and output."""
    nearest = max(entries, key=lambda entry: len(os.path.commonpath([entry["file"], str(header)])))
    words = shlex.split(nearest["command"])
    while not Path(words[0]).name.startswith(("c++", "g++", "clang++", "x86_64", "aarch64")):
        words.pop(0)  # a launcher such as ccache
    kept, skip = [], False
    for word in words:
        if skip or word in ("-c", nearest["file"]):
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word not in ("-MD", "-MMD"):
            kept.append(word)
    return kept


def compile_alone(header, entries):
    command = flags_near(header, entries) + ["-fsyntax-only", "-x", "c++", "-"]
    done = subprocess.run(command, input=f'#include "{header}"\n', capture_output=True, text=True)
    if done.returncode == 0:
        return None
    return f"{header} does not compile alone:\n{done.stderr[:2000]}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if entry["file"].startswith(str(root / "src")) and entry["file"].endswith(".cpp")]
    headers = sorted(path for folder in ("src", "include") for path in (root / folder).rglob("*.h"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        broken = list(filter(None, pool.map(lambda header: compile_alone(header, entries),
                                            headers)))
    print("\n".join(broken))
    print(f"{len(headers)} headers, {len(broken)} do not compile alone")
    sys.exit(1 if broken or not headers else 0)


if __name__ == "__main__":
    main()
