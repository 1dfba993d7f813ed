#!/usr/bin/env python3
"""A rehearsal of scripts/gpu-session on a double of NVIDIA's driver: its folder is small, a kill
loses nothing that was finished, the same command goes on, and a driver that refuses everything
leaves sentences.

Usage: gpu_session.py ROOT LATHE DOUBLE
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The double stops a launch after so many instructions: what is larger comes out wrong.
MOST = "processors=2 most=1000000"


class Rehearsal:
    def __init__(self, root, lathe, double, folder):
        self.script, self.lathe = f"{root}/scripts/gpu-session", lathe
        self.double, self.folder = double, Path(folder)

    def start(self, folder, minutes, steps="", told=MOST):
        environment = os.environ | {
            "LATHE_CUDA_LIBRARY": self.double, "LATHE_FAKE_CUDA": told,
            "XDG_CACHE_HOME": f"{self.folder}/cache", "PYTHON": sys.executable,
            "LATHE_LIBEXEC": os.path.dirname(self.lathe)}
        words = [self.script, "--minutes", str(minutes), "--folder", f"{self.folder}/{folder}",
                 "--lathe", self.lathe] + (["--steps", steps] if steps else [])
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=environment, start_new_session=True)

    def run(self, *words, **more):
        process = self.start(*words, **more)
        out, _ = process.communicate(timeout=600)
        return process.returncode, out

    def results(self, folder):
        path = self.folder / folder / "results.jsonl"
        if not path.exists():
            return []
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]

    def records(self, folder):
        done = subprocess.run([self.lathe, "export", "--db", f"{self.folder}/{folder}/records.db"],
                              capture_output=True, text=True)
        return len(done.stdout.splitlines())


def check_whole(rehearsal):
    code, out = rehearsal.run("whole", 0.7)
    assert code == 0, out
    results = rehearsal.results("whole")
    assert "geometric mean" in out, out
    files = [path for path in (rehearsal.folder / "whole").iterdir()]
    assert len(files) <= 8 and sum(path.stat().st_size for path in files) < 16 << 20, files
    assert any(r.get("fact") == "card" and "Fake H200" in r["text"] for r in results), results
    steps = {r["step"] for r in results}
    assert steps == {"facts", "check", "probe", "winners", "sample", "predict", "tune",
                     "race"}, steps
    assert any(r.get("probe") == "empty node" and r["seconds"] > 0 for r in results)
    assert any(r.get("workload") and r["wrong"] == r["failed"] == 0 for r in results), results
    small = [r for r in results if r["step"] == "check"]
    assert small and not any(r.get("wrong") or r.get("failed") for r in small), small


def check_goes_on(rehearsal):
    process = rehearsal.start("killed", 3, "tune")
    until = time.time() + 120
    while rehearsal.records("killed") < 3 and time.time() < until and process.poll() is None:
        time.sleep(0.3)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = rehearsal.records("killed")
    assert kept >= 3, kept
    code, out = rehearsal.run("killed", 0.3, "facts,tune")
    assert code == 0, out
    assert rehearsal.records("killed") >= kept


def check_refused(rehearsal):
    code, out = rehearsal.run("refused", 0.2, told="cards=0")
    assert code == 0, out
    results = rehearsal.results("refused")
    said = [r["error"] for r in results if "error" in r]
    assert any("finds no card" in error for error in said), said
    assert any("cuInit: CUDA_ERROR_NO_DEVICE" in error for error in said), said
    assert not any("median" in r for r in results), results


def check_wrong_words(rehearsal):
    for words, said in ((["--steps", "no"], "unknown step no"), (["--minutes", "0"], "more than 0"),
                        (["--lathe", "/nothing"], "no command /nothing"),
                        (["--lathe", "false"], "false does not start")):
        done = subprocess.run([rehearsal.script, "--lathe", rehearsal.lathe, *words],
                              capture_output=True, text=True, cwd=rehearsal.folder)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        rehearsal = Rehearsal(*sys.argv[1:4], folder)
        for check in (check_wrong_words, check_whole, check_goes_on, check_refused):
            begin = time.time()
            check(rehearsal)
            print(f"{check.__name__}: {time.time() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
