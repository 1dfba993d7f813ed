#!/usr/bin/env python3
"""The fastest programs that a search over generated CUDA C found on an H200 (bench/gpu/winners), as
configurations of Lathe's spaces: they become PTX that NVIDIA's assembler takes for sm_90 without
spills, with registers within 20 % of theirs and about as few other instructions for each
multiply-add in the innermost loop, and are right when this processor executes them, whole.

Their registers are those that winners.json tells, of NVIDIA's compiler on the H200, or those of
the PTX there.

Usage: card_winners.py BENCH-FOLDER CARD-WINNERS [--table] [--keep FOLDER]
  --table prints the numbers as a table of Markdown
  --keep FOLDER writes each program's PTX and trace there; `lathe show --trace` takes these
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

REGISTERS = 0.2  # more or less than theirs
OTHERS = 0.05    # more other instructions for each multiply-add than theirs
ARCHITECTURE = "sm_90"
PRODUCT = "A: f32[1024,1024]; B: f32[1024,1024]; C[i,j] = sum(k) A[i,k] * B[k,j]"


def asked(program, questions):
    text = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run([program, ARCHITECTURE], input=text, text=True, capture_output=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(questions):
        sys.exit(f"{len(answers)} answers to {len(questions)} questions: {done.stderr}")
    return answers


def blocks_of(ptx):
    """The labels and instructions of the kernels, by kernel."""
    kernels = {}
    for line in ptx.splitlines():
        line = line.split("//")[0].strip()
        if match := re.match(r"\.visible \.entry (\w+)\(", line):
            lines = kernels[match[1]] = []
        elif match := re.match(r"(\$L\w+):", line):
            lines.append(match[1] + ":")
        elif line.endswith(";") and not line.startswith("."):
            lines.append(line)
    return kernels


def loops_of(lines):
    """The instructions of the innermost loops."""
    place = {line[:-1]: at for at, line in enumerate(lines) if line.endswith(":")}
    spans = []
    for at, line in enumerate(lines):
        match = re.search(r"\bbra(?:\.uni)?\s+(\$L\w+)", line)
        if match and place.get(match[1], at) < at:
            spans.append((place[match[1]], at))
    for begin, end in spans:
        if not any((begin, end) != other and begin <= other[0] and other[1] <= end
                   for other in spans):
            yield [line for line in lines[begin:end + 1] if not line.endswith(":")]


def is_multiply_add(instruction):
    return re.search(r"\bfma\.rn\.f32", instruction) is not None


def shared_bytes(instruction):
    match = re.search(r"\bld\.shared(?:\.v(\d))?\.\w32", instruction)
    return 4 * int(match[1] or 1) if match else 0


class MainLoop:
    """Of the innermost loop with most multiply-adds: these, bytes that it loads from shared memory,
    all other instructions. Programs that write out their loops have none: then all of the kernel.
    """

    def __init__(self, ptx):
        kernels = blocks_of(ptx).values()
        loops = [loop for lines in kernels for loop in loops_of(lines)] or list(kernels)
        best = max(loops, key=lambda loop: sum(map(is_multiply_add, loop)))
        self.adds = sum(map(is_multiply_add, best))
        self.shared = sum(map(shared_bytes, best))
        self.others = sum(not is_multiply_add(i) and not shared_bytes(i) for i in best)

    def __str__(self):
        return f"{self.adds} / {self.shared} / {self.others}"


def expression(row):
    sys.path.insert(0, str(BENCH))
    from families import ROWS

    return PRODUCT if row.startswith("product") else ROWS[f"plain-{row}"].expression


def most(kernels):
    return max(kernel["registers"] for kernel in kernels if "prepare" not in kernel["kernel"])


def wrong_with(row, ours, theirs):
    if "error" in ours:
        yield ours["error"]
        return
    if ours["executed"] != "right":
        yield ours["executed"]
    if any(kernel["spilled"] for kernel in ours["kernels"]):
        yield "it spills"
    registers, wanted = most(ours["kernels"]), (row["registers"], most(theirs["kernels"]))
    if not any(abs(registers - other) <= REGISTERS * other for other in wanted):
        yield f"{registers} registers, theirs has {wanted}"
    own, other = MainLoop(ours["ptx"]), MainLoop(theirs["ptx"])
    if own.others / own.adds > other.others / other.adds + OTHERS:
        yield f"{own.others} instructions beside {own.adds} multiply-adds, theirs has {other}"
    if own.shared / own.adds > other.shared / other.adds:
        yield (f"{own.shared} bytes of shared memory for {own.adds} multiply-adds, "
               f"theirs has {other}")
    blocks = [launch[1] for launch in row["launches"]]
    if ours["launches"][0]["blocks"][0] * ours["launches"][0]["blocks"][1] != (
            blocks[0][0] * blocks[0][1]):
        yield f"its grid is {ours['launches'][0]['blocks']}, theirs {blocks[0]}"


def line_of(row, ours, theirs):
    return (f"| {row['row']} | {most(ours['kernels'])} | {row['registers']} / "
            f"{most(theirs['kernels'])} | {MainLoop(ours['ptx'])} | {MainLoop(theirs['ptx'])} | "
            f"{ours['launches'][0]['shared']} | {row['launches'][0][3]} |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("program")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    global BENCH
    BENCH = arguments.bench
    folder = arguments.bench / "gpu" / "winners"
    rows = json.loads((folder / "winners.json").read_text(encoding="utf-8"))
    texts = [(folder / row["ptx"]).read_text(encoding="ascii") for row in rows]
    ours = asked(arguments.program, [{"expression": expression(row["row"]),
                                      "config": row["config"], "run": True} for row in rows])
    theirs = asked(arguments.program, [{"ptx": text} for text in texts])
    wrong = []
    for row, own, other, text in zip(rows, ours, theirs, texts):
        other["ptx"] = text
        wrong += [f"{row['row']}: {fault}" for fault in wrong_with(row, own, other)]
        if arguments.table and "error" not in own:
            print(line_of(row, own, other))
        if arguments.keep:
            name = row["ptx"].removesuffix(".ptx")
            (arguments.keep / f"{name}.ptx").write_text(own["ptx"], encoding="ascii")
            (arguments.keep / f"{name}.json").write_text(json.dumps(own["trace"]),
                                                         encoding="ascii")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
