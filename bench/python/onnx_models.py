#!/usr/bin/env python3
"""Times whole models: libraries of `lathe compile` beside ONNX Runtime, OpenVINO and Inductor.

Usage: bench/python/onnx_models.py [--threads N] [--seconds S] [--tune S] [--db FILE] [--dynamo]
         [MODEL ...]

It runs in the environment of scripts/bench, build/peers. Weights are random, with batch-norm
statistics set by one pass. Each contestant runs in a process of its own, which is stopped between
its turns. A row tells the medians and the fastest of all turns, in ms, and the median ratio of
neighbouring turns: that of the faster peer over Lathe.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

STATE = {"h": (2, 1, 650), "c": (2, 1, 650)}  # of two layers
SHAPES: dict[str, Any] = {  # of x, or of all inputs by name; a list: indices of words
    "lstm1": {"x": [1, 1], **STATE}, "lstm35": {"x": [35, 1], **STATE},
    "resnet18": (1, 3, 224, 224), "mobilenet1": (1, 3, 224, 224), "dqn": (1, 4, 84, 84),
    "dcgan": (1, 100, 1, 1), "mobilenet2": (1, 3, 224, 224), "shufflenet": (1, 3, 224, 224),
    "efficientnet": (1, 3, 224, 224), "squeezenet": (1, 3, 224, 224), "resnet50": (1, 3, 224, 224),
    "vgg11": (1, 3, 224, 224), "densenet121": (1, 3, 224, 224), "unet": (1, 3, 256, 256),
    "yolo": (1, 3, 640, 640),
}  # fmt: skip
TURN = 0.3  # seconds
WORDS = 10000


def module(name: str) -> Any:
    import torch
    from torch import nn

    torch.manual_seed(0)
    made = _made(name)
    made.train()
    for layer in made.modules():
        if isinstance(layer, nn.Dropout):
            layer.eval()
    if isinstance(SHAPES[name], tuple):
        with torch.no_grad():
            made(torch.randn(4, *SHAPES[name][1:]))
    return made.eval()


def inputs_of(name: str) -> dict[str, Any]:
    import numpy as np

    random = np.random.default_rng(0)
    shapes = SHAPES[name] if isinstance(SHAPES[name], dict) else {"x": SHAPES[name]}
    return {
        key: random.integers(0, WORDS, shape) if isinstance(shape, list)
        else random.standard_normal(shape).astype(np.float32)
        for key, shape in shapes.items()
    }  # fmt: skip


def _made(name: str) -> Any:
    import torchvision
    from torch import nn

    def conv(i: int, o: int, k: int, s: int, g: int = 1) -> list[Any]:
        return [nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(o), nn.ReLU()]

    def up(i: int, o: int, s: int, p: int) -> list[Any]:
        return [nn.ConvTranspose2d(i, o, 4, s, p, bias=False), nn.BatchNorm2d(o), nn.ReLU()]

    if name == "mobilenet1":
        layers = conv(3, 32, 3, 2)
        sizes = [(32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1),
                 (256, 512, 2), *[(512, 512, 1)] * 5, (512, 1024, 2), (1024, 1024, 1)]  # fmt: skip
        for i, o, s in sizes:
            layers += conv(i, i, 3, s, i) + conv(i, o, 1, 1)
        head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000)]
        return nn.Sequential(*layers, *head)
    if name == "dqn":
        return nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(),
            nn.Linear(512, 18))  # fmt: skip
    if name == "dcgan":
        return nn.Sequential(
            *up(100, 512, 1, 0), *up(512, 256, 2, 1), *up(256, 128, 2, 1), *up(128, 64, 2, 1),
            nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())  # fmt: skip
    if name.startswith("lstm"):
        return language_model()
    if name in ("unet", "yolo"):
        import image_models

        return image_models.UNet() if name == "unet" else image_models.Yolo()
    known = {
        "mobilenet2": "mobilenet_v2", "shufflenet": "shufflenet_v2_x1_0",
        "efficientnet": "efficientnet_b0", "squeezenet": "squeezenet1_1",
    }  # fmt: skip
    return getattr(torchvision.models, known.get(name, name))()


def language_model() -> Any:
    from torch import nn

    class LanguageModel(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, width)
            self.cells, self.scores = nn.LSTM(width, width, 2), nn.Linear(width, WORDS)

        def forward(self, x: Any, h: Any, c: Any) -> Any:
            y, state = self.cells(self.words(x), (h, c))
            return self.scores(y), *state

    return LanguageModel(STATE["h"][-1])


def export(name: str, folder: Path, dynamo: bool = False) -> Path:
    import torch

    path = folder / f"{name}.onnx"
    given = inputs_of(name)
    torch.onnx.export(module(name), tuple(map(torch.from_numpy, given.values())), str(path),
                      dynamo=dynamo, input_names=list(given))  # fmt: skip
    return path


# Contestants: what makes a function of an input.


def onnxruntime_of(path: str, threads: int) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    return lambda *x: session.run(None, dict(zip(names, x, strict=True)))[0]


def openvino_of(path: str, threads: int) -> Any:
    import openvino

    options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
               "INFERENCE_PRECISION_HINT": "f32"}  # fmt: skip
    model = openvino.Core().compile_model(path, "CPU", options)
    request = model.create_infer_request()
    return lambda *x: request.infer(dict(enumerate(x)), share_inputs=True)[0]


def inductor_of(path: str, threads: int) -> Any:
    import torch
    import torch._inductor.config as config

    torch.set_num_threads(threads)
    config.freezing = True
    compiled = torch.compile(module(Path(path).stem), mode="max-autotune-no-cudagraphs")

    def run(*x: Any) -> Any:
        with torch.no_grad():
            made = compiled(*map(torch.from_numpy, x))
        return (made[0] if isinstance(made, tuple) else made).numpy()

    return run


def lathe_of(path: str, threads: int) -> Any:
    import lathe

    kernel = lathe.load(str(Path(path).with_suffix(".so")))

    def run(*x: Any) -> Any:
        made = kernel(*x)
        return made[0] if isinstance(made, (list, tuple)) else made

    return run


CONTESTANTS = {"lathe": lathe_of, "onnxruntime": onnxruntime_of, "openvino": openvino_of,
               "inductor": inductor_of}  # fmt: skip


def serve(who: str, path: str, threads: int) -> None:
    """Answers each line with the times of the calls of a turn."""
    import numpy as np

    x = list(inputs_of(Path(path).stem).values())
    call = CONTESTANTS[who](path, threads)
    for _ in range(3):
        y = np.asarray(call(*x))
    print(json.dumps(y.ravel()[:4096].tolist()), flush=True)
    for _ in sys.stdin:
        times, end = [], time.perf_counter() + TURN
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            call(*x)
            times.append(time.perf_counter() - start)
        print(json.dumps(times), flush=True)


class Contestant:
    def __init__(self, who: str, path: Path, threads: int) -> None:
        command = [sys.executable, __file__, "--serve", who, "--threads", str(threads), str(path)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)})  # fmt: skip
        self.answer = self._line()
        self.medians: list[float] = []
        self.fastest = float("inf")

    def _line(self) -> list[float]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        os.kill(self.process.pid, signal.SIGSTOP)
        if not line:
            raise SystemExit("a contestant ended; see above")
        return list(json.loads(line))

    def turn(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        times = self._line()
        self.medians.append(statistics.median(times))
        self.fastest = min(self.fastest, *times)

    def end(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)
        self.process.kill()


def race(path: Path, threads: int, seconds: float, peers: list[str]) -> str:
    racers = {who: Contestant(who, path, threads) for who in ["lathe", *peers]}
    want = racers[peers[0]].answer
    largest = max(abs(v) for v in want)
    error = max(abs(a - b) for a, b in zip(racers["lathe"].answer, want, strict=True)) / largest
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for racer in racers.values():
            racer.turn()
    for racer in racers.values():
        racer.end()
    ours = racers["lathe"].medians
    best = min(peers, key=lambda who: statistics.median(racers[who].medians))
    pairs = zip(racers[best].medians, ours, strict=True)
    ratio = statistics.median(b / a for b, a in pairs)
    fast = min(racers[who].fastest for who in peers) / racers["lathe"].fastest
    cells = [f"{statistics.median(r.medians) * 1e3:.3f} ({r.fastest * 1e3:.3f})"
             for r in racers.values()]  # fmt: skip
    row = [path.stem, *cells, f"{ratio:.2f}", f"{fast:.2f}", f"{error:.0e}"]
    return "| " + " | ".join(row) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(SHAPES)[:6])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="of each race")
    parser.add_argument("--tune", type=float, default=90, help="seconds; 0: default programs")
    parser.add_argument("--db", help="database of records (default: one of this run)")
    parser.add_argument("--lathe", default="lathe", help="the command")
    parser.add_argument("--dynamo", action="store_true", help="the exporter of torch.export")
    parser.add_argument("--peers", nargs="+", choices=list(CONTESTANTS)[1:],
                        default=list(CONTESTANTS)[1:])  # fmt: skip
    parser.add_argument("--serve", choices=list(CONTESTANTS), help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.serve:
        serve(flags.serve, flags.models[0], flags.threads)
        return
    unknown = [name for name in flags.models if name not in SHAPES]
    if unknown:
        parser.error(f"unknown models {', '.join(unknown)}; known are {', '.join(SHAPES)}")
    peers = flags.peers
    print(f"| model | lathe | {' | '.join(peers)} | ratio | of the fastest | error |")
    print("|---" * (len(peers) + 5) + "|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        database = flags.db or str(Path(folder) / "records.db")
        for name in flags.models:
            path = export(name, Path(folder), flags.dynamo)
            common = [str(path), "--threads", str(flags.threads), "--db", database]
            if flags.tune > 0:
                subprocess.run([flags.lathe, "tune", *common, "--time", str(flags.tune)],
                               check=True, stdout=sys.stderr)  # fmt: skip
            which = "best" if flags.tune > 0 else "default"
            subprocess.run([flags.lathe, "compile", *common, "--schedule", which,
                            "-o", str(path.with_suffix(".so"))], check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            print(race(path, flags.threads, flags.seconds, peers), flush=True)


if __name__ == "__main__":
    main()
