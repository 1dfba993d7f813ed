"""The table of a session on a card: table.py RESULTS.jsonl"""

import json
import math
import sys


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def probe_line(result):
    kept = {name: value for name, value in result.items()
            if name not in ("probe", "step", "at", "seconds")}
    said = ", ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                     for name, value in kept.items())
    return f"{result['probe']:20} {1e6 * result['seconds']:10.2f} us  {said}"


def best_of(results, row, contestants):
    """The least median of a row; TF32 is a row of its own kind and no peer of f32."""
    times = [r["median"] for r in results if r.get("row") == row and "median" in r
             and r.get("contestant") in contestants and "TF32" not in r.get("kind", "")]
    return min(times) if times else math.nan


def table(results):
    lines = [probe_line(r) for r in results if "probe" in r and "seconds" in r]
    rows = list(dict.fromkeys(r["row"] for r in results if "median" in r))
    lines.append(f"{'row':24} {'lathe us':>10} {'by hand us':>10} {'peer us':>10} {'peer/ours':>9} "
                 f"{'predicted':>9}")
    ratios, shares = [], []
    for row in rows:
        ours, hand = (best_of(results, row, (name,)) for name in ("lathe", "by hand"))
        peer = best_of(results, row, ("torch",))
        ratio = peer / (ours if ours == ours else hand)
        if ratio == ratio:
            ratios.append(ratio)
        share = ours / best_of(results, row, ("predicted",))  # of the tuned speed, untried
        if share == share:
            shares.append(share)
        lines.append(f"{row:24} " + " ".join(f"{1e6 * t:10.2f}" for t in (ours, hand, peer))
                     + f" {ratio:9.2f} {share:9.2f}")
    lines.append(f"geometric mean of the predicted schedule's share of the tuned speed over "
                 f"{len(shares)} rows: {mean(shares):.2f}")
    lines.append(f"geometric mean of peer/ours over {len(ratios)} rows: {mean(ratios):.2f}")
    wrong = [r for r in results if r.get("wrong")]
    errors = [r for r in results if "error" in r and "median" not in r]
    lines.append(f"{len(wrong)} wrong answers; {len(errors)} lines tell of errors")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(table([json.loads(line) for line in file]), end="")
