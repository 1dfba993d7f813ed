"""Runs the code of a page, block after block as one program.

Usage: document.py PAGE [other-sizes]
  other-sizes runs it again with other sizes
"""

import os
import re
import sys
import tempfile
from pathlib import Path

# Sizes of the page, and what they are in the second run.
OTHER_SIZES = {"1000": "57", "512": "77", "256": "91", "64": "33", "7, 7": "5, 5"}


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def with_other_sizes(code: str) -> str:
    for size, other in OTHER_SIZES.items():
        code = re.sub(rf"\b{size}\b", other, code)
    return code


def run(code: list[str], names: dict) -> None:
    for number, block in enumerate(code, 1):
        exec(compile(block, f"block {number}", "exec"), names)


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["other-sizes"]):
        sys.exit(__doc__)
    code = blocks(Path(sys.argv[1]).read_text())
    if not code:
        sys.exit("the page has no code")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LATHE_DB"] = os.path.join(folder, "records.db")
        os.chdir(folder)
        run(code, {})
        if sys.argv[2:]:
            run([with_other_sizes(block) for block in code], {})
        os.chdir("/")
    print(f"{len(code)} blocks ran")


if __name__ == "__main__":
    main()
