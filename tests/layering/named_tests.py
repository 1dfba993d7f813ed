#!/usr/bin/env python3
"""Every line of a page's tables names tests, and those are there.

Usage: named_tests.py SOURCE-FOLDER PAGE
"""

import re
import sys
from pathlib import Path

UNIT = re.compile(r"^TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
CHECK = re.compile(r"^\s*(?:lathe_(?:check|test|fuzz)|python_check)\(\s*(\w+)", re.MULTILINE)
PYTHON = re.compile(r"^    def (test_\w+)\(", re.MULTILINE)


def known(tests):
    """The names of all tests: `Suite.Name`, `file.py::test_name`, and those that ctest knows."""
    names = set()
    for path in tests.rglob("*.cpp"):
        names |= {".".join(pair) for pair in UNIT.findall(path.read_text())}
    for path in tests.rglob("*_test.py"):
        names |= {f"{path.name}::{name}" for name in PYTHON.findall(path.read_text())}
    for path in tests.rglob("CMakeLists.txt"):
        names |= set(CHECK.findall(path.read_text()))
    return names


def rows(text):
    """(number, last cell) of each line of a table, without its head."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        head = number < len(lines) and set(lines[number]) <= set("|-: ") and lines[number]
        if line.startswith("|") and not head and not set(line) <= set("|-: "):
            yield number, line.rstrip("| ").rsplit("|", 1)[-1]


def faults(text, names):
    found = []
    count = 0
    for number, cell in rows(text):
        count += 1
        tests = re.findall(r"`([^`]+)`", cell)
        if not tests:
            found.append(f"{number}: names no test")
        found += [f"{number}: there is no test {test}" for test in tests if test not in names]
    return found if count else ["there is no table"]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    page = Path(sys.argv[2])
    found = faults(page.read_text(), known(Path(sys.argv[1]) / "tests"))
    if found:
        sys.exit("\n".join(f"{page}:{fault}" for fault in found))


if __name__ == "__main__":
    main()
