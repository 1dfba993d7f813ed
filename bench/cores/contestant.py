"""A library in a process of its own: contestant.py lathe|torch THREADS SECONDS-OF-TUNING NAME...

It prints a line of JSON for each program that is ready, then "ready". Then it times a program for
each line "NUMBER REPEATS" that it reads, and prints the seconds of a call. It begins no row that
would not be ready at LATHE_CONTEST_END, in seconds since 1970.
"""

import json
import os
import sys
import time

from rows import CONTRACTION, CONVOLUTIONS, LEFT, PRODUCTS, RIGHT, ROWS, SOFTMAX


def tell(**words):
    print(json.dumps(words), flush=True)


def lathe_program(name, threads, seconds):
    """A call of the tuned program with its output given, and what the tuner says of it."""
    import lathe
    import numpy

    how = {"seconds": seconds, "trials": 100_000, "threads": threads, "progress": False}
    begin = time.time()
    if name in CONVOLUTIONS:
        image, channels, results, size, stride, batch, groups = CONVOLUTIONS[name]
        kernel = lathe.tune("conv2d", input=(batch, channels, image, image), pad=size // 2,
                            weight=(results, channels // groups, size, size), stride=stride,
                            groups=groups, **how)
    elif name in PRODUCTS:
        m, k, n = PRODUCTS[name]
        kernel = lathe.tune("C[i,j] = sum(k) A[i,k] * B[k,j]", A=(m, k), B=(k, n), **how)
    elif name == CONTRACTION:
        kernel = lathe.tune("C[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]", A=LEFT, B=RIGHT, **how)
    else:
        kernel = lathe.tune("softmax", input=ROWS, **how)
    spent = time.time() - begin
    random = numpy.random.default_rng(0)
    inputs = [random.random(tensor.shape, dtype="f4") - 0.5 for tensor in kernel.inputs]
    out = kernel(*inputs)
    variable = {tensor.name: array for tensor, array in zip(kernel.inputs, inputs)
                if not tensor.constant}
    said = {"reported": kernel.seconds, "trials": kernel.trials, "failed": kernel.failed,
            "trials_a_second": kernel.trials / spent}
    return lambda: kernel(**variable, out=out), said


def torch_programs(name):
    """Calls by what they are: layouts, packed weights, outputs that are given."""
    import torch

    if name in PRODUCTS:
        m, k, n = PRODUCTS[name]
        a, b, out = torch.rand(m, k), torch.rand(k, n), torch.empty(m, n)
        return {"MKL, out given": lambda: torch.mm(a, b, out=out)}
    if name == CONTRACTION:
        a, b = torch.rand(*LEFT), torch.rand(*RIGHT)
        return {"einsum": lambda: torch.einsum("aebf,dfce->abcd", a, b)}
    if name == SOFTMAX:
        x, out = torch.rand(*ROWS), torch.empty(*ROWS)
        return {"softmax, out given": lambda: torch.softmax(x, 1, out=out)}
    image, channels, results, size, stride, batch, groups = CONVOLUTIONS[name]
    x = torch.rand(batch, channels, image, image) - 0.5
    w = torch.rand(results, channels // groups, size, size) - 0.5
    pad, ones = [size // 2] * 2, [1, 1]
    last = torch.channels_last
    calls = {}
    for layout, image_of, weight in [("NCHW", x, w), ("NHWC", x.to(memory_format=last),
                                                      w.to(memory_format=last))]:
        out = torch.ops.aten.convolution(image_of, weight, None, [stride] * 2, pad, ones, False,
                                         [0, 0], groups)
        calls[layout] = lambda i=image_of, f=weight: torch.ops.aten.convolution(
            i, f, None, [stride] * 2, pad, ones, False, [0, 0], groups)
        calls[layout + ", out given"] = lambda i=image_of, f=weight, o=out: (
            torch.ops.aten.convolution.out(i, f, None, [stride] * 2, pad, ones, False, [0, 0],
                                           groups, out=o))
    packed = torch.ops.mkldnn._reorder_convolution_weight(w, pad, [stride] * 2, ones, groups,
                                                          list(x.shape))
    for layout, image_of in [("NCHW", x), ("NHWC", x.to(memory_format=last))]:
        calls[layout + ", packed"] = lambda i=image_of: torch.ops.mkldnn._convolution_pointwise(
            i, packed, None, pad, [stride] * 2, ones, groups, "none", [], "")
    return calls


def ready_programs(library, threads, seconds, names):
    if library == "torch":
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
    end = float(os.environ.get("LATHE_CONTEST_END", "inf"))
    for name in names:
        if time.time() + seconds > end:
            tell(row=name, error="no time was left for it")
            continue
        try:
            if library == "lathe":
                call, said = lathe_program(name, threads, seconds)
                yield name, "", call, said
                continue
            for kind, call in torch_programs(name).items():
                call()
                yield name, kind, call, {}
        except Exception as error:  # a row that one library lacks is no reason to lose the others
            tell(row=name, error=repr(error)[:300])


def main():
    library, threads, seconds, names = (sys.argv[1], int(sys.argv[2]), float(sys.argv[3]),
                                        sys.argv[4:])
    calls = []
    for name, kind, call, said in ready_programs(library, threads, seconds, names):
        tell(row=name, kind=kind, number=len(calls), **said)
        calls.append(call)
    print("ready", flush=True)
    for line in sys.stdin:
        number, repeats = map(int, line.split())
        call = calls[number]
        call()
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        print((time.perf_counter() - begin) / repeats, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", sys.argv[2])
    main()
