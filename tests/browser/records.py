"""Trials as `lathe import` reads them, made up: a search that finds faster programs as it goes, and
a model that learns."""

import json
import math
import random

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&amp;<!--"

MATMUL = (
    "A: f32[512,384]; B: f32[512,200]; output C: f32[384,200]; "
    "C[i:384,j:200] = sum(k:512) A[k,i] * B[k,j]; "
          "layout plain; max_error 2e-05")
COPY = "A: f32[1031]; output B: f32[1031]; B[i:1031] = A[i]; layout plain; max_error 2e-05"
# As a virtual machine has it that hides some of its processor.
LONG_TARGET = (
    "cpu:rocketlake,+amx-bf16,+amx-int8,+amx-tile,+avx10.1-256,+avx512bf16,+avx512fp16,+avxvnni,"
    "-adx,-lzcnt;"
               "threads=2")
ORDERS = ("KPV.pv", "PKV.pv", "PVK.vp", "VPK.pv")


def config_of(rng):
    return {"order": rng.choice(ORDERS), "tile.p": rng.randint(1, 40),
            "tile.v": rng.choice((1, 2, 4)), "unroll": rng.choice((1, 2, 4, 8)),
            "vector": rng.choice(("i", "j")), HOSTILE: rng.choice((HOSTILE, "plain"))}


def seconds_of(config, rng):
    slow = 1 + 2 * (config["order"] != "PKV.pv") + abs(math.log2(config["tile.p"] / 12)) + (
        config["vector"] == "i")
    return 1e-4 * slow * rng.lognormvariate(0, 0.03)


def record(workload, run, index, config, seconds, score, clock, error=None):
    return {
        "workload": workload, "target": run["target"], "cache": "warm",
        "run": {"space": "default", "space_hash": "00ff", "search": run["search"],
                "model": run["model"], "seed": run["seed"]},
        "batch": index // 32, "index": index, "seconds": 0 if error else seconds,
        "race_seconds": None, "error": error, "config": config, "trace": [],
        "visits": [] if error else [{"visit": v, "seconds": [seconds * f], "sentinel": 1e-4}
                                    for v, f in enumerate((1, 1.01, 0.99))],
        "dropped_early": False, "spills": 0, "numerical_error": 3e-7, "predicted_score": score,
        "spent": {"build": 0.03, "run": 0.02, "model": 0.004, "search": 0.006},
        "space_hash": "00ff", "program_hash": f"{index:x}",
        "codegen_version": 5, "fingerprint": "A machine (6/143/8) cores=2", "cpu": "6/143/8",
        "time": f"2026-08-01T{10 + clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}.250Z",
    }


def trials(workload, run, count, seed=0):
    """Each trial is the best of a few random ones, by a score that is better the more trials there
    were."""
    rng = random.Random(seed)
    for index in range(count):
        guided = run["search"] == "annealing"
        known = index / count if guided else 0
        guesses = []
        for _ in range(1 + 7 * guided):
            config = config_of(rng)
            seconds = seconds_of(config, rng)
            guesses.append((-math.log(seconds) * known + rng.gauss(0, 0.3), seconds, config))
        score, seconds, config = max(guesses, key=lambda guess: guess[0])
        error = None
        if index % 29 == 28:
            error = {"kind": "timeout", "message": "took longer than 5 s", "place": "runner"}
        elif index % 97 == 96:
            error = {"kind": "wrong-answer", "message": HOSTILE, "place": HOSTILE}
        yield record(workload, run, index, config, seconds, score if guided else 0, index // 12,
                     error)


def run_of(search="annealing", model="xgb-rank", seed=0, target="cpu:sapphirerapids;threads=1"):
    return {"search": search, "model": model, "seed": seed, "target": target}


def write(path, *runs):
    with open(path, "w", encoding="utf-8") as file:
        for run in runs:
            for trial in run:
                file.write(json.dumps(trial) + "\n")
