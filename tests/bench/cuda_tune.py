#!/usr/bin/env python3
"""Tuning for a card, from the command, on a double of NVIDIA's driver: every trial is right, a run
that is killed goes on, and whatever the driver refuses is one sentence that costs no finished
trial.

Usage: cuda_tune.py LATHE DOUBLE
"""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LARGE = ["matmul", "--m", "64", "--n", "64", "--k", "64"]
PRODUCT = ["matmul", "--m", "16", "--n", "20", "--k", "12"]
WORKLOADS = [
    ["X: f32[37]; Y[i] = X[i]; Z[i] = X[i] + 1"],
    ["A: f32[33,17]; B: f32[17,29]; C[i,j] = sum(k) A[i,k] * B[k,j]; D[i,j] = max(C[i,j], 0)"],
    ["X: f32[1,5,9,11]; const W: f32[13,5,3,3]; "
     "Y[n:1,o:13,y:9,x:11] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]"],
    ["A: i64[101]; Y[i] = select(A[i] % 3 == 0, A[i] * A[i] - 7, abs(A[i]) / 5)"],
]
# Of instructions in a launch: what shows a card's peak takes an interpreter minutes.
MOST, MOST_OF_LARGE = "processors=2 most=1000000", "processors=2 most=3000000"
MOST_OF_PRODUCT = "processors=2 most=300000"
SECONDS = 120  # until a command counts as hanging
COUNTER = struct.Struct("56sq")  # as tests/support/fake_cuda/options.h has it


class Runs:
    def __init__(self, lathe, double, folder):
        self.lathe, self.double, self.folder = lathe, double, Path(folder)
        self.caches = 0

    def environment(self, told):
        return os.environ | {"LATHE_CUDA_LIBRARY": self.double, "LATHE_FAKE_CUDA": told,
                             "XDG_CACHE_HOME": f"{self.folder}/cache{self.caches}"}

    def words(self, workload, *more, database="records"):
        return [self.lathe, "tune", *workload, "--target", "cuda:host", "--jobs", "2", "--db",
                f"{self.folder}/{database}.db", "--json", *more]

    def run(self, words, told="", most=MOST_OF_PRODUCT):
        return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS,
                              env=self.environment(f"{most} {told}"))

    def tune(self, workload, *more, told="", database="records"):
        return self.run(self.words(workload, *more, database=database), told)

    def records(self, database="records"):
        done = subprocess.run([self.lathe, "export", "--db", f"{self.folder}/{database}.db"],
                              capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def kept(self, database="records"):
        return len(self.records(database))


def found_in(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check_all_right(runs):
    for number, workload in enumerate([LARGE, PRODUCT, *WORKLOADS]):
        most = MOST_OF_LARGE if workload is LARGE else MOST
        words = runs.words(workload, "--trials", "4", "--cache", ("warm", "cold")[number % 2])
        found = found_in(runs.run(words, most=most))
        assert found["failed"] == found["wrong"] == 0, (workload, found)
        assert found["trials"] == 4 or found["exhausted"], (workload, found)


def check_goes_on(runs):
    """A run that is killed in the midst of it, with its helpers, and then begun again."""
    words = runs.words(PRODUCT, "--trials", "24", "--seed", "3", "--batch-size", "4",
                       database="killed")
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=runs.environment(MOST_OF_PRODUCT), start_new_session=True)
    until = time.time() + SECONDS
    while runs.kept("killed") < 4 and process.poll() is None and time.time() < until:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = runs.kept("killed")
    assert kept >= 4, kept
    found = found_in(runs.run(words))
    assert found["trials"] == 24 and found["resumed"] >= min(kept, 4), (kept, found)
    records = runs.records("killed")
    assert len(records) == 24
    assert all(r["card"]["registers"] > 0 <= r["card"]["shared_bytes"] for r in records), records
    assert found["failed"] == found["wrong"] == 0, found


def sentence_of(done, words=""):
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode in (1, 2), (done.returncode, done.stderr)
    assert lines and words in lines[-1], (words, done.stderr)
    return lines[-1]


def check_bad_input(runs):
    for told, words in (("cards=0", "finds no card (CUDA_ERROR_NO_DEVICE)"),
                        ("version=11020", "NVIDIA's driver is too old"),
                        ("free=300000", "bytes are free (CUDA_ERROR_OUT_OF_MEMORY)")):
        sentence_of(runs.tune(PRODUCT, "--trials", "2", "--seed", "7", told=told), words)
    none = subprocess.run(runs.words(PRODUCT, "--trials", "2"), capture_output=True, text=True,
                          env=runs.environment("") | {"LATHE_CUDA_LIBRARY": "libnone.so"})
    sentence_of(none, "install NVIDIA's driver")
    done = runs.run([runs.lathe, "tune", *PRODUCT, "--target", "cuda:host:5", "--trials", "2"])
    sentence_of(done, "no card is called 5")
    done = runs.run([runs.lathe, "tune", *PRODUCT, "--target", "cuda:A100", "--trials", "2", "--db",
                     f"{runs.folder}/other.db"])
    sentence_of(done, "cannot be timed here, where the card is Fake H200")
    found = found_in(runs.run([runs.lathe, "tune", *PRODUCT, "--target", "cuda:host:1", "--trials",
                               "2", "--db", f"{runs.folder}/second.db", "--json"], "cards=2"))
    assert "number 1" in json.dumps(found), found


def counted(state):
    """How often each function of the driver was called."""
    bytes_ = Path(state).read_bytes()[16:]
    calls = {}
    for at in range(0, len(bytes_) - COUNTER.size + 1, COUNTER.size):
        name, count = COUNTER.unpack_from(bytes_, at)
        if name[0]:
            calls[name.split(b"\0")[0].decode()] = count
    return calls


def check_each_call(runs):
    """Each function of the driver fails once, in the midst of a run."""
    state = f"{runs.folder}/state"
    trials = ["--trials", "3", "--seed", "1", "--no-transfer"]
    found_in(runs.tune(PRODUCT, *trials, told=f"state={state}", database="counted"))
    calls = counted(state)
    assert len(calls) > 30 and calls["cuGraphLaunch"] > 3, calls
    for number, (name, count) in enumerate(sorted(calls.items())):
        code = (1, 719, 2, 999)[number % 4]
        runs.caches += 1
        state = f"{runs.folder}/state-{name}"
        told = f"state={state} fail={name}:{(count + 1) // 2}:{code}"
        done = runs.tune(PRODUCT, *trials, told=told, database=f"failed-{name}")
        kept = runs.kept(f"failed-{name}")
        if done.returncode == 0:
            assert found_in(done)["wrong"] == 0, (name, done.stdout)
            assert kept == 3, (name, kept)
        else:
            sentence_of(done)
        if number % 8 == 0:
            again = found_in(runs.tune(PRODUCT, *trials, database=f"failed-{name}"))
            assert again["trials"] == 3 and again["resumed"] == kept, (name, kept, again)


def check_lost(runs):
    state = f"{runs.folder}/lost"
    trials = ["--trials", "40", "--seed", "2", "--batch-size", "4"]
    done = runs.tune(PRODUCT, *trials, told=f"state={state} lost=600", database="lost")
    sentence_of(done, "finds no card")
    kept = runs.kept("lost")
    assert 0 < kept < 40, kept
    found = found_in(runs.tune(PRODUCT, *trials[2:], "--trials", str(kept + 2), database="lost"))
    assert found["resumed"] == kept, (kept, found)


def main():
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(sys.argv[1], sys.argv[2], folder)
        for check in (check_all_right, check_goes_on, check_bad_input, check_each_call, check_lost):
            begin = time.time()
            check(runs)
            print(f"{check.__name__}: {time.time() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
