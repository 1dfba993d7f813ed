#!/usr/bin/env python3
"""TVM's MetaSchedule on one operator, as bench_metaschedule asks for it; OPERATOR is JSON.

    metaschedule.py tune OPERATOR FOLDER TRIALS SEED JOBS   # records go to FOLDER as they come
    metaschedule.py build OPERATOR FOLDER COUNT FILE.so     # the best of the first COUNT records
    metaschedule.py serve OPERATOR FILE.so                  # a contestant (docs/benchmarks.md)

OPERATOR has `kind`: `conv2d` with `input`, `weight`, `stride`, `pad` (two), `dilation`, all
row-major, or `winograd` with the same, for F(4x4) of weights that are transformed beforehand; or
`matmul` with `m`, `n`, `k`, `transpose_a`, `transpose_b`. With `constant`, the second input is
laid out beforehand as a candidate reads it. One thread throughout.
"""

import json
import sys
from pathlib import Path


def skip_other_intrinsics():
    """TVM reads the intrinsics of every device in each of its workers, which takes it longer than
    building a program. Those of x86 remain."""
    import types

    for device in ("cuda", "metal", "rocm", "hexagon", "riscv_cpu", "arm_cpu"):
        name = f"tvm.s_tir.tensor_intrin.{device}"
        sys.modules.setdefault(name, types.ModuleType(name))


def convolution(about):
    from tvm import te, topi

    X, W = te.placeholder(about["input"], name="X"), te.placeholder(about["weight"], name="W")
    Y = topi.nn.conv2d_nchw(X, W, about["stride"], about["pad"], about["dilation"])
    return te.create_prim_func([X, W, Y])


def winograd(about):
    from tvm import te, topi

    X, W = (te.placeholder(shape, name=name) for shape, name in zip(shapes(about), "XW"))
    Y = topi.nn.conv2d_winograd_nchw_without_weight_transform(X, W, about["stride"], about["pad"],
                                                              about["dilation"], "float32")
    return te.create_prim_func([X, W, Y])


def matmul(about):
    from tvm import te

    m, n, k = about["m"], about["n"], about["k"]
    turned_a, turned_b = about["transpose_a"], about["transpose_b"]
    A = te.placeholder((k, m) if turned_a else (m, k), name="A")
    B = te.placeholder((n, k) if turned_b else (k, n), name="B")
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((m, n), lambda i, j: te.sum((A[r, i] if turned_a else A[i, r])
                                               * (B[j, r] if turned_b else B[r, j]), axis=r),
                   name="C")
    return te.create_prim_func([A, B, C])


def function(about):
    made = {"conv2d": convolution, "winograd": winograd, "matmul": matmul}[about["kind"]](about)
    return made.with_attr("layout_free_buffers", [1]) if about.get("constant") else made


def this_target():
    import tvm

    cpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    return tvm.target.Target({"kind": "llvm", "mcpu": str(cpu), "num-cores": 1})


def tune(about, folder, trials, seed, jobs):
    from tvm.s_tir import meta_schedule as ms

    ms.tune_tir(function(about), this_target(), folder, max_trials_global=int(trials),
                num_trials_per_iter=min(64, int(trials)), num_tuning_cores=int(jobs),
                seed=int(seed),
                builder=ms.builder.LocalBuilder(max_workers=int(jobs),
                                                initializer=skip_other_intrinsics),
                runner=ms.runner.LocalRunner(initializer=skip_other_intrinsics))


def believed(record):
    """Mean of its times; failed ones have 1e10."""
    seconds = [float(time) for time in record.run_secs or [1e10]]
    return sum(seconds) / len(seconds)


def shapes(about):
    """Of the inputs and, last, the output."""
    if about["kind"] == "matmul":
        m, n, k = about["m"], about["n"], about["k"]
        return [(k, m) if about["transpose_a"] else (m, k),
                (n, k) if about["transpose_b"] else (k, n), (m, n)]
    reach = [about["dilation"] * (taps - 1) + 1 for taps in about["weight"][2:]]
    sizes = [(size + 2 * pad - taps) // about["stride"] + 1
             for size, pad, taps in zip(about["input"][2:], about["pad"], reach)]
    filters, channels = about["weight"][:2]
    weight = [6, 6, channels, filters] if about["kind"] == "winograd" else about["weight"]
    return about["input"], weight, [about["input"][0], filters, *sizes]


def tensors_of(all_shapes):
    """Random inputs, and the output, which is last."""
    import numpy
    import tvm

    random = numpy.random.default_rng(1)
    return [tvm.runtime.tensor(random.uniform(-1, 1, shape).astype("f4"))
            for shape in all_shapes]


def error_of(module, about, target):
    """Largest difference from the program without any schedule, of the largest output."""
    import numpy
    import tvm

    results = []
    for each in (module, tvm.compile(function(about), target)):
        tensors = tensors_of(shapes(about))
        each["main"](*tensors)
        results.append(tensors[-1].numpy().astype("f8"))
    return float(numpy.abs(results[0] - results[1]).max() / numpy.abs(results[1]).max())


def build(about, folder, count, path):
    """Prints its believed time and its error as JSON."""
    import tvm
    from tvm.s_tir import Schedule, meta_schedule as ms

    database = ms.database.JSONDatabase(f"{folder}/database_workload.json",
                                        f"{folder}/database_tuning_record.json")
    # those of the file, in its order: the database's own is by time
    lines = [json.loads(line) for line in open(f"{folder}/database_tuning_record.json")]
    workload = database.get_all_tuning_records()[0].workload
    records = [ms.database.TuningRecord.from_json(line[1], workload)
               for line in lines[:int(count)]]
    best = min(records, key=believed)
    if believed(best) >= 1e9:
        sys.exit(f"none of the first {count} candidates worked")
    schedule = Schedule(workload.mod)
    best.trace.apply_to_schedule(schedule, remove_postproc=False)
    target = this_target()
    error = error_of(tvm.compile(schedule.mod, target), about, target)
    # As its own runner does, the program is timed without laying the constant out.
    served = tvm.s_tir.transform.RemoveWeightLayoutRewriteBlock(True)(schedule.mod)
    tvm.compile(served, target).export_library(path)
    info = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
    Path(f"{path}.shapes").write_text(json.dumps([list(map(int, each.shape)) for each in info]))
    print(json.dumps({"recorded_us": believed(best) * 1e6, "error": error}))


def serve(_, path):
    import tvm

    from python_peer import warm

    run, tensors = tvm.runtime.load_module(path)["main"], tensors_of(json.loads(
        Path(f"{path}.shapes").read_text()))
    run(*tensors)
    print("ready", f"TVM {tvm.__version__}", flush=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "quit":
            return
        print(warm(lambda: run(*tensors), float(rest)), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("tune", "build", "serve"):
        sys.exit(__doc__)
    skip_other_intrinsics()
    {"tune": tune, "build": build, "serve": serve}[sys.argv[1]](json.loads(sys.argv[2]),
                                                              *sys.argv[3:])
