#!/usr/bin/env python3
"""What pages name is there: paths in backticks, links to other pages and to headings in them, and
the files of lowering that docs/lowering.md lists. Pages of results begin with dates, machines and
commands, and docs/figures.md links each.

Usage: paths.py SOURCE-FOLDER
"""

import re
import sys
from pathlib import Path

FOLDERS = ("src/", "tests/", "bench/", "docs/", "scripts/", "include/", "python/", "cmake/",
           "examples/", "models/")
# Tells what was; only its links lead to what is there.
HISTORY = "CHANGELOG.md"
LOWERING, LOWERING_FILES = "docs/lowering.md", "src/compiler/lower/expand"
# `lathe paper` writes the last.
RESULTS, FIGURES, WRITTEN = "bench/results", "docs/figures.md", "paper.md"
HEAD = "| date | machine | command |"
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def blank(match):
    return "\n" * match.group().count("\n")


def pages_of(root):
    found = [*root.glob("*.md"), *(root / "examples").rglob("*.md")]
    for folder in ("docs", "bench", "tests"):
        found += (root / folder).rglob("*.md")
    return sorted(found)


def named_paths(text):
    """(line, path) of what is in backticks and names a file or folder; `NAME` and `*` stand for any
    name."""
    text = FENCE.sub(blank, text)
    for number, line in enumerate(text.splitlines(), 1):
        for code in re.findall(r"`([^`]+)`", line):
            for word in code.split():
                if word.startswith(FOLDERS):
                    yield number, word.rstrip(".,;:")


def is_there(root, path):
    if re.search(r"[{$<]|\.\.\.", path):
        return True
    pattern = re.sub(r"\b[A-Z]{4,}\b", "*", path).rstrip("/")
    if "*" in pattern:
        return any(root.glob(pattern))
    return (root / pattern).exists()


def anchors_of(text):
    """Of the headings of a page, as GitHub makes them."""
    anchors = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub(blank, text), re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", heading.lower())
        anchors.add(kept.strip().replace(" ", "-"))
    return anchors


def broken_links(page, text):
    for number, line in enumerate(FENCE.sub(blank, text).splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            to = (page.parent / path) if path else page
            if not to.exists():
                yield number, f"links {target}, which is not there"
            elif anchor and to.suffix == ".md" and anchor not in anchors_of(to.read_text()):
                yield number, f"links {target}: no heading is called so"


def unlisted(text, files):
    """What a page's table of files and a folder do not have in common: (missing, unnamed)."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    named = {name for row in rows for name in re.findall(r"`(\w+\.(?:h|cpp))`", row)}
    return sorted(named - files), sorted(files - named)


def faults_of_results(root):
    figures = (root / FIGURES).read_text()
    for page in sorted((root / RESULTS).glob("*.md")):
        if f"{RESULTS}/{page.name})" not in figures:
            yield f"{FIGURES} does not link {RESULTS}/{page.name}"
        if page.name != WRITTEN and page.read_text().splitlines()[2:3] != [HEAD]:
            yield f"{RESULTS}/{page.name}:3: the page does not begin with \"{HEAD}\""


def faults(root):
    for page in pages_of(root):
        name, text = page.relative_to(root), page.read_text()
        for number, path in named_paths(text):
            if page.name != HISTORY and not is_there(root, path):
                yield f"{name}:{number}: there is no {path}"
        for number, what in broken_links(page, text):
            yield f"{name}:{number}: {what}"
    yield from faults_of_results(root)
    files = {file.name for file in (root / LOWERING_FILES).iterdir()}
    missing, unnamed = unlisted((root / LOWERING).read_text(), files)
    for file in missing:
        yield f"{LOWERING}: there is no {LOWERING_FILES}/{file}"
    for file in unnamed:
        yield f"{LOWERING}: its table does not name {file}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(faults(Path(sys.argv[1]).resolve()))
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
