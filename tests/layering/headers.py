#!/usr/bin/env python3
"""Compiles every header alone, with the flags of a source file near it.

A header that another includes may come before that one and give it nothing that it would not have.
So headers are read in chains, each included by the next: the first is alone, and the next is as
good as alone. A header that a source includes first is alone there, wherever sources are not joined
in a unity build; it is compiled here only if LATHE_TEST_LONG is set.

Usage: headers.py ROOT BUILD-FOLDER   (the build folder has compile_commands.json)
"""

import json
import os
import re
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


def included(headers, roots):
    """Header: all those that it includes, itself or by way of others."""
    direct = {}
    for header in headers:
        names = re.findall(r'^#include [<"](.+?)[>"]', header.read_text(), re.MULTILINE)
        direct[header] = [root / name for name in names for root in roots
                          if root / name in headers]
    found = {}

    def collect(header):
        if header not in found:
            found[header] = set()  # ends a circle
            found[header] = set(direct[header]).union(*map(collect, direct[header]))
        return found[header]

    for header in headers:
        collect(header)
    return found


def first_of_sources(sources, roots):
    """What a source includes before anything else."""
    found = set()
    for source in sources:
        first = re.search(r'^#include [<"](.+?)[>"]', source.read_text(), re.MULTILINE)
        found |= {root / first[1] for root in roots} if first else set()
    return found


def chains(left, below):
    """Lists of headers in which each includes all before it; every header of `left` is in one."""
    while left:
        chain, among = [], left
        while among:
            chain.append(max(among, key=lambda header: (len(below[header]), header)))
            left = left - {chain[-1]}
            among = left & below[chain[-1]]
        yield chain[::-1]


def compile_alone(chain, entries):
    command = flags_near(chain[-1], entries) + ["-fsyntax-only", "-x", "c++", "-"]
    text = "".join(f'#include "{header}"\n' for header in chain)
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    return f"{chain[-1]} or one that it includes does not compile alone:\n{done.stderr[:2000]}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if entry["file"].startswith(str(root / "src")) and entry["file"].endswith(".cpp")]
    roots = [root / "src", root / "include"]
    headers = {path for folder in roots for path in folder.rglob("*.h")}
    below = included(headers, roots)
    asked = set(headers)
    if not os.environ.get("LATHE_TEST_LONG"):
        asked -= first_of_sources((root / "src").rglob("*.cpp"), roots)
    together = list(chains(asked, below))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        broken = list(filter(None, pool.map(lambda chain: compile_alone(chain, entries),
                                            together)))
    print("\n".join(broken))
    print(f"{len(asked)} of {len(headers)} headers in {len(together)} chains, {len(broken)} do not "
          "compile")
    sys.exit(1 if broken or not asked else 0)


if __name__ == "__main__":
    main()
