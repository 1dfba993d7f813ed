#!/usr/bin/env python3
"""Proves that the rooms of a source tree keep to the layering that their CMake lists declare.

Usage: layering.py ROOT
"""

import sys

from rules import violations
from tree import Tree


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tree = Tree(sys.argv[1])
    found = violations(tree)
    for sentence in found:
        print(sentence)
    print(f"{len(tree.rooms)} rooms and programs, {len(tree.files)} files, {len(found)} violations")
    sys.exit(1 if found or not tree.rooms else 0)


if __name__ == "__main__":
    main()
