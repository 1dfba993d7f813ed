"""Runs the code of a page or of a notebook, block after block as one program.

Usage: document.py PAGE [other-sizes | NAME=VALUE...]
  other-sizes  runs it again with other sizes
  NAME=VALUE   runs it with other values where the code says NAME = ...
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

# Sizes of the page, and what they are in the second run.
OTHER_SIZES = {"1000": "57", "512": "77", "256": "91", "64": "33", "7, 7": "5, 5"}


def blocks(path: Path) -> list[str]:
    text = path.read_text()
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def with_other_sizes(code: str) -> str:
    for size, other in OTHER_SIZES.items():
        code = re.sub(rf"\b{size}\b", other, code)
    return code


def with_values(code: list[str], given: list[str]) -> list[str]:
    for text in given:
        name, _, value = text.partition("=")
        changed = [re.sub(rf"^{name} = .*$", f"{name} = {value}", block, flags=re.MULTILINE)
                   for block in code]
        if changed == code:
            sys.exit(f"the code has no line {name} = ..., or has {value} there")
        code = changed
    return code


def run(code: list[str], names: dict) -> None:
    for number, block in enumerate(code, 1):
        exec(compile(block, f"block {number}", "exec"), names)


def main() -> None:
    values = sys.argv[2:] if sys.argv[2:] != ["other-sizes"] else []
    if len(sys.argv) < 2 or not all("=" in value for value in values):
        sys.exit(__doc__)
    code = with_values(blocks(Path(sys.argv[1])), values)
    if not code:
        sys.exit("the page has no code")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LATHE_DB"] = os.path.join(folder, "records.db")
        os.environ["MPLBACKEND"] = "agg"
        os.chdir(folder)
        run(code, {})
        if sys.argv[2:] == ["other-sizes"]:
            run([with_other_sizes(block) for block in code], {})
        os.chdir("/")
    print(f"{len(code)} blocks ran")


if __name__ == "__main__":
    main()
