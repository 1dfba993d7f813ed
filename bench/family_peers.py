"""Who takes part in bench_families beside Lathe, and how each is started."""

import math
import re
import subprocess
from pathlib import Path

import lathe_runs
import openblas_runs
from contest import Contestant, Refused

HERE = Path(__file__).resolve().parent
PYTHON = ["torch", "torch-packed", "numpy", "onnxruntime", "openvino"]
ONEDNN = ["onednn-debian", "onednn-pypi", "onednn-newest"]
WINOGRAD = "onednn-debian-winograd"
OPENBLAS = ["openblas-debian", "openblas-pypi"]
KNOWN = PYTHON + ONEDNN + [WINOGRAD] + OPENBLAS
BYTES = {"f32": 4, "i32": 4, "i64": 8, "f64": 8}


def chosen(text):
    """Names from a list with commas; one that is not known is refused."""
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        raise ValueError(f"unknown peer {unknown[0]}; the known ones are {', '.join(KNOWN)}")
    return names


def takes_part(name, row):
    if name in PYTHON:
        return name in row.codes
    only = "conv2d" if name == WINOGRAD else "matmul" if name in OPENBLAS else None
    return bool(row.operator) and only in (None, row.operator["kind"])


def python_contestant(row, library, options, code_of=None):
    """`code_of`: whose line of Python `library` computes, if not its own."""
    setup = row.setup(code_of or library, options.threads, options.cache) | {"library": library}
    return Contestant(library, [str(options.python), "-B", str(HERE / "peers/python_peer.py")],
                      setup, threads=options.threads)


def program_contestant(name, program, setup, options, words=(), environment=None):
    path = options.build / "bin" / program
    if not path.exists():
        raise Refused(f"{path} is not there; scripts/bench builds it")
    setup = setup | {"threads": options.threads, "cache": options.cache}
    return Contestant(name, [str(path), *words], setup, environment, threads=options.threads)


def start(name, row, options):
    if name in PYTHON:
        return python_contestant(row, name, options)
    if name in OPENBLAS:
        words = openblas_runs.libraries(options.build).get(name)
        if not words:
            raise Refused("it is not installed; scripts/bench installs it")
        return program_contestant(name, "peer-openblas", row.operator, options, words,
                                  openblas_runs.environment())
    setup = row.operator | {"algorithm": "winograd" if name == WINOGRAD else "direct"}
    program = "peer-" + name.removesuffix("-winograd")
    return program_contestant(name, program, setup, options,
                              environment=lathe_runs.onednn_environment(options))


def shown(row, options):
    """What `lathe show` says of a row."""
    command = [lathe_runs.program(options), "show", row.expression]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(done.stderr.strip())
    return done.stdout


def size(kind, shape):
    return BYTES[kind] * math.prod(shape)


def traffic(row, text):
    """Bytes that a row reads and writes at the least, buffer by buffer. `text`: what `lathe show`
    says of it."""
    outputs = re.findall(r"^output \w+: (\w+)\[([\d,]+)\]", text, re.MULTILINE)
    return {"reads": [size("f32", shape) for shape in row.inputs.values()],
            "writes": [size(kind, map(int, shape.split(","))) for kind, shape in outputs]}


def bytes_moved(row, text):
    return sum(map(sum, traffic(row, text).values()))


def start_probe(row, options):
    return program_contestant("probe", "peer-probe", traffic(row, shown(row, options)), options)
