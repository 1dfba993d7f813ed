#!/usr/bin/env python3
"""Tuning for this machine's device of OpenCL, from the command: every trial is right, a second
command goes on, and small devices get programs that fit them. Where no platform is there, what
lathe says of it is checked, and the rest is skipped.

Usage: opencl_tune.py LATHE
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

WORKLOADS = [
    "X: f32[37]; Y[i] = X[i]; Z[i] = X[i] + 1",
    "A: f32[33,17]; B: f32[17,29]; C[i,j] = sum(k) A[i,k] * B[k,j]; D[i,j] = max(C[i,j], 0)",
    "X: f32[1,5,9,11]; const W: f32[13,5,3,3]; "
    "Y[n:1,o:13,y:9,x:11] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
    "A: f32[3,9973]; S[i:3] = sum(j) A[i,j]",
    "A: i64[101]; Y[i] = select(A[i] % 3 == 0, A[i] * A[i] - 7, abs(A[i]) / 5)",
]
SMALL = {"compute_units": 1, "work_group_items": 7, "local_bytes": 0, "local_memory": "emulated",
         "vector_width": 4, "images": False, "fp16": False, "fp64": False}


def main():
    lathe = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:

        def run(*words):
            return subprocess.run([lathe, *words], capture_output=True, text=True)

        def tune(workload, trials):
            return run("tune", workload, "--target", "opencl:host", "--trials", str(trials), "--db",
                       f"{folder}/records.db", "--json")

        small = Path(folder) / "small.json"
        for limit in (1, 2, 7, 63):
            small.write_text(json.dumps(SMALL | {"work_group_items": limit}), encoding="utf-8")
            for workload in WORKLOADS[:4]:
                done = run("show", workload, "--target", f"opencl:{small}", "--what", "source")
                assert done.returncode == 0, (limit, workload, done.stderr)
        refused = run("show", WORKLOADS[2], "--target", "opencl:generic", "--algorithm", "strassen",
                      "--what", "space")
        assert "has no strassen on this kind of device" in refused.stderr, refused.stderr

        first = tune(WORKLOADS[0], 1)
        if first.returncode != 0:
            assert "OpenCL has no platform" in first.stderr or "libOpenCL" in first.stderr, first
            print(f"skipped: {first.stderr.strip()}")
            return
        for workload in WORKLOADS:
            for trials in (3, 5):
                done = tune(workload, trials)
                assert done.returncode == 0, (workload, done.stderr)
                found = json.loads(done.stdout.splitlines()[-1])
                assert found["failed"] == found["wrong"] == 0, (workload, found)
            assert found["exhausted"] or (found["trials"], found["resumed"]) == (5, 3), found


if __name__ == "__main__":
    main()
