#!/usr/bin/env python3
"""The README and what a newcomer reads before a first change are short enough. HACKING.md's table
"The first day" is the way; pages that it says to read come from its column `read`.

Usage: words.py SOURCE-FOLDER
Prints how many words there are, of all pages and of what was measured, too.
"""

import re
import sys
from pathlib import Path

MOST_OF_README, MOST_TO_READ = 1200, 6000
MEASURED = "bench/results/"


def words_in(text):
    return len(text.split())


def first_day(hacking):
    """The pages of the column `read`, the page itself among them."""
    section = hacking.split("## The first day", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("|")]
    read = " ".join(cells[2] for cells in rows[2:])
    return ["HACKING.md", *re.findall(r"\]\(([^)#]+)[^)]*\)", read)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])

    def count(page):
        return words_in((root / page).read_text())

    way = first_day((root / "HACKING.md").read_text())
    to_read = sum(count(page) for page in way)
    pages = [str(page.relative_to(root)) for page in
             [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "bench").rglob("*.md")]]
    measured = sum(count(page) for page in pages if page.startswith(MEASURED))
    everything = sum(count(page) for page in pages)
    readme = count("README.md")
    print(f"README.md: {readme} words of at most {MOST_OF_README}")
    print(f"before a first change: {to_read} words of at most {MOST_TO_READ}, in {', '.join(way)}")
    print(f"all documents: {everything} words, {measured} of them in {MEASURED}")
    sys.exit(1 if readme > MOST_OF_README or to_read > MOST_TO_READ or len(way) < 2 else 0)


if __name__ == "__main__":
    main()
