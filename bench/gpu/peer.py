"""PyTorch in a process of its own: peer.py SECONDS [--eager] NAME...

For each row it makes graphs of a chain of 50 calls, of each way that PyTorch has to compute it, and
prints a line of JSON for each that is ready, then "ready"; --eager leaves Inductor out. Then it
times a program for each line "NUMBER REPEATS" that it reads, and prints the seconds of a call by
the card's clock."""

import json
import sys
import time

from rows import rows

CHAIN = 50


def tell(**words):
    print(json.dumps(words), flush=True)


def captured(torch, call):
    """A graph of a chain of calls, and the seconds of one of them."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(CHAIN):
                call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds():
        with torch.cuda.stream(stream):
            begin.record(stream)
            graph.replay()
            end.record(stream)
        end.synchronize()
        return 1e-3 * begin.elapsed_time(end) / CHAIN

    seconds()
    return seconds


def ways(torch, row, eager):
    """Calls by what they are; TF32 is off unless the name says so."""
    from torch.nn import functional

    def with_tf32(on, call):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = on
        call()

    code = compile(row.torch, row.name, "eval")
    for layout in ("NCHW", "NHWC") if row.convolution else ("",):
        names = {name: torch.rand(shape, device="cuda") - 0.5 for name, shape in row.inputs.items()}
        if layout == "NHWC":
            names = {name: value.to(memory_format=torch.channels_last)
                     for name, value in names.items()}
        scope = {"torch": torch, "F": functional, **names}

        def call(scope=scope):
            return eval(code, scope)  # pylint: disable=eval-used

        for tf32 in (False, True):
            name = " ".join(word for word in (layout, "TF32" if tf32 else "f32") if word)
            yield name, lambda tf32=tf32, call=call: with_tf32(tf32, call)
        if layout in ("", "NCHW") and not eager:
            compiled = torch.compile(call)
            yield "Inductor", lambda compiled=compiled: with_tf32(False, compiled)


def main():
    end = time.time() + float(sys.argv[1])
    names = [name for name in sys.argv[2:] if name != "--eager"]
    try:
        import torch
        torch.backends.cudnn.benchmark = True
        torch.zeros(1, device="cuda")
    except (ImportError, RuntimeError, AssertionError) as error:
        tell(error=f"PyTorch has no card: {error}")
        return
    programs, known = [], rows()
    for name in names:
        try:
            for kind, call in ways(torch, known[name], "--eager" in sys.argv):
                if time.time() > end:
                    break
                programs.append(captured(torch, call))
                tell(number=len(programs) - 1, row=name, kind=kind)
        except Exception as error:  # pylint: disable=broad-except
            tell(row=name, error=str(error)[:300])
    print("ready", flush=True)
    for line in sys.stdin:
        number, repeats = map(int, line.split())
        times = sorted(programs[number]() for _ in range(repeats))
        print(times[len(times) // 2], flush=True)


if __name__ == "__main__":
    main()
