"""The table of a session: table.py RESULTS.jsonl"""

import json
import math
import sys

from rows import NINE


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def of_row(results, threads, row):
    """By contestant: what it computes the row fastest with."""
    best = {}
    for result in results:
        if result.get("threads") != threads or result.get("row") != row or "median" not in result:
            continue
        known = best.get(result["contestant"])
        if known is None or result["median"] < known["median"]:
            best[result["contestant"]] = result
    return best


def table(results):
    lines = []
    counts = sorted({r["threads"] for r in results if "median" in r}, reverse=True)
    for threads in counts:
        lines.append(f"{threads} threads; microseconds, median (fastest turn)")
        lines.append(f"{'row':14} {'reported':>9} {'called':>20} {'best peer':>20} "
                     f"{'peer / ours':>11} {'called / reported':>17} {'before / ours':>13}")
        rows, ratios, called = [], {}, []
        for result in results:
            if result.get("threads") == threads and "median" in result:
                if result["row"] not in rows:
                    rows.append(result["row"])
        for row in rows:
            best = of_row(results, threads, row)
            peers = [best[name] for name in best if name not in ("lathe", "before")]
            if "lathe" not in best or not peers:
                continue
            ours, peer = best["lathe"], min(peers, key=lambda result: result["median"])
            ratios[row] = peer["median"] / ours["median"]
            cells = [f"{1e6 * r['median']:10.1f} ({1e6 * r['least']:7.1f})" for r in (ours, peer)]
            said = ours.get("reported")
            if said:
                called.append(ours["median"] / said)
            before = best["before"]["median"] / ours["median"] if "before" in best else math.nan
            lines.append(
                f"{row:14} {1e6 * said if said else math.nan:9.1f} {cells[0]:>20} {cells[1]:>20} "
                f"{ratios[row]:11.2f} {called[-1] if said else math.nan:17.2f} {before:13.2f}")
        nine = [ratios[row] for row in NINE if row in ratios]
        lines.append(f"convolutions {mean(nine):.2f}, least {min(nine, default=math.nan):.2f}; all "
                     f"{mean(list(ratios.values())):.2f}; called over reported {mean(called):.2f}")
        lines.append("")
    lines += [f"failed: {json.dumps(r)}" for r in results if "error" in r]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(table([json.loads(line) for line in file]), end="")
