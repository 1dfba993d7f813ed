#!/usr/bin/env python3
"""The default programs for cards of all rows of bench_families become PTX that NVIDIA's assembler
takes, 95 % of them without spills; those that are small enough are executed here and are right;
none but those listed here reads memory of the card by less than 16 bytes where 16 are possible, or
takes by the model of a card over four times the least that is possible. Of random configurations of
C1 to C12, and of a row of each other structure, for the first architecture, 99 % are assembled, and
95 % of these are without spills.

Usage: card_rows.py BENCH-FOLDER CARD-ROWS ARCHITECTURE... [--flops N] [--each N] [--table]
  --flops N executes what has at most N operations (2e6)
  --each N takes so many configurations of each of these (20; 500 where LATHE_TEST_LONG is set)
  --table prints what is known of each program
"""

import argparse
import math
import os
import subprocess
import sys

UNSPILLED, ASSEMBLED = 0.95, 0.99
MOST_OVER_LEAST = 4
#: Rows that take longer than that by the model, and why.
LONG = {
    "transposed-512-256-4": "transposed convolutions use no shared memory yet",
    "transposed-256-128-8": "transposed convolutions use no shared memory yet",
    "transposed-128-64-16": "transposed convolutions use no shared memory yet",
    "transposed-64-3-32": "transposed convolutions use no shared memory yet",
    "attention-12x128x64": "its products and rows are kernels one after the other",
    "softmax-64x32000": "64 rows are 64 blocks, and each exponential is computed twice",
    "layernorm-1x4096": "one row is one block",
    "sum-outer-inner-100x300x50": "not looked into",
    "vector-gpt2-up": "not looked into",
    "einsum-abij-acki-bckj": "not looked into",
    "einsum-abcd-ebad-ce": "not looked into",
    "kernel-alexnet-11x11-4": "not looked into",
}
#: Rows that read by less than 16 bytes where 16 are possible, and why.
NARROW = {
    "sum-all-1000000": "the partial results of a sum, some 200, are no whole vectors",
    "sum-all-10000000": "the partial results of a sum, some 200, are no whole vectors",
    "dot-100000": "the partial results of a sum, some 200, are no whole vectors",
    "fused-C2": "what is added to a result is read where groups' sums are added, one by one",
    "fused-C3": "what is added to a result is read where groups' sums are added, one by one",
    "fused-C4": "what is added to a result is read where groups' sums are added, one by one",
    "fused-C5": "what is added to a result is read where groups' sums are added, one by one",
    "fused-C6": "what is added to a result is read where groups' sums are added, one by one",
}
LAYERS = [f"plain-C{number}" for number in range(1, 13)]
OTHERS = ["softmax-1536x128", "layernorm-512x1024", "max-rows-1024x1000", "vector-gpt2-up",
          "depthwise-128x56-3x3-1", "maxpool-64x112-3-2", "gelu-128x3072"]


def lines_of(program, architecture, rows, flops, each=0):
    """The words of each line of the program, and what it says besides."""
    text = "".join(f"{name}\t{row.expression}\n" for name, row in rows.items())
    done = subprocess.run([program, architecture, flops, str(each)], input=text, text=True,
                          capture_output=True)
    return [line.split(" ", 9) for line in done.stdout.splitlines()], done.stderr


def is_assembled(words):
    return len(words) >= 8 and words[2].isdigit() and words[4].isdigit()


def median(numbers):
    return sorted(numbers)[len(numbers) // 2] if numbers else math.nan


def defaults(program, architecture, rows, flops):
    """What is wrong with the default programs."""
    found, errors = lines_of(program, architecture, rows, flops)
    if len(found) != len(rows):
        yield f"{architecture}: {len(found)} of {len(rows)} rows; {errors}"
    for words in found:
        if not is_assembled(words) or words[9] not in ("right", "left"):
            yield f"{architecture} {' '.join(words)}"
        elif words[7] != "-" and words[0] not in NARROW:
            yield f"{architecture} {words[0]} reads {words[7]} by less than 16 bytes"
        elif float(words[8]) > MOST_OVER_LEAST and words[0] not in LONG:
            yield f"{architecture} {words[0]} takes {words[8]} times its least by the model"
    spilled = [words[0] for words in found if is_assembled(words) and words[4] != "0"]
    if len(spilled) > (1 - UNSPILLED) * len(rows):
        yield f"{architecture}: {len(spilled)} rows spill: {', '.join(spilled)}"
    right = sum(words[-1] == "right" for words in found)
    times = [float(words[1]) for words in found if is_assembled(words)]
    print(f"{architecture}: {len(found)} rows, {len(spilled)} spill, {right} were executed and are "
          f"right; PTX takes {median(times):.1f} ms in the median")
    over = [float(words[8]) for words in found if is_assembled(words)]
    mean = math.exp(sum(map(math.log, over)) / len(over)) if over else math.nan
    print(f"{architecture}: by the model of a card {mean:.2f} times the least in the mean, "
          f"{sum(value > MOST_OVER_LEAST for value in over)} rows over {MOST_OVER_LEAST}")


def configurations(program, architecture, rows, each):
    """What is wrong with random configurations; the first line of each row is its default."""
    found, errors = lines_of(program, architecture, rows, "0", each)
    if len(found) != (each + 1) * len(rows):
        yield f"{architecture}: {len(found)} configurations of {len(rows)} rows; {errors}"
    assembled = [words for words in found if is_assembled(words)]
    others = [" ".join(words) for words in found if not is_assembled(words)]
    spilled = sum(words[4] != "0" for words in assembled)
    print(f"{architecture}: {len(found)} configurations of {len(rows)} rows, {len(assembled)} are "
          f"assembled, {spilled} of them spill; PTX takes "
          f"{median([float(words[1]) for words in assembled]):.1f} ms in the median")
    if len(others) > (1 - ASSEMBLED) * len(found):
        yield f"{len(others)} are not assembled: " + "\n".join(others[:10])
    if spilled > (1 - UNSPILLED) * len(assembled):
        yield f"{architecture}: {spilled} configurations spill"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bench")
    parser.add_argument("program")
    parser.add_argument("architectures", nargs="+")
    parser.add_argument("--flops", default="2e6")
    parser.add_argument("--each", type=int,
                        default=500 if os.environ.get("LATHE_TEST_LONG") else 20)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.bench)
    from families import ROWS

    layers = {name: ROWS[name] for name in LAYERS + OTHERS}
    if arguments.table:
        for architecture in arguments.architectures:
            for words in lines_of(arguments.program, architecture, ROWS, arguments.flops)[0]:
                print(architecture, *words)
        return
    wrong = []
    for architecture in arguments.architectures:
        wrong += defaults(arguments.program, architecture, ROWS, arguments.flops)
    wrong += configurations(arguments.program, arguments.architectures[0], layers, arguments.each)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
