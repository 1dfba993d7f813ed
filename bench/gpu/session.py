"""A session on a machine with a card; scripts/gpu-session runs it.

It writes a line of JSON into FOLDER/results.jsonl as soon as it knows something, and what it tunes
into FOLDER/records.db, so that nothing is lost when it is killed; the same command goes on. At the
end of each step it writes FOLDER/table.txt."""

import argparse
import contextlib
import json
import lzma
import os
import pathlib
import platform
import select
import shutil
import signal
import subprocess
import sys
import time

from rows import rows
from table import table

HERE = pathlib.Path(__file__).resolve().parent
TARGET = ["--target", "cuda:host"]
MOST_BYTES = 16 << 20  # of the folder
PROCESSES = 3  # of PyTorch, for the convolutions
GRACE = 5  # seconds beyond its limit until a command is killed
#: What device tests tune: awkward sizes, several kernels, sums to one number, whole numbers.
AWKWARD = [
    "X: f32[37]; Y[i] = X[i]; Z[i] = X[i] + 1",
    "A: f32[33,17]; B: f32[17,29]; C[i,j] = sum(k) A[i,k] * B[k,j]; D[i,j] = max(C[i,j], 0)",
    "X: f32[1,5,9,11]; const W: f32[13,5,3,3]; "
    "Y[n:1,o:13,y:9,x:11] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
    "A: f32[3,9973]; S[i:3] = sum(j) A[i,j]",
    "A: i64[101]; Y[i] = select(A[i] % 3 == 0, A[i] * A[i] - 7, abs(A[i]) / 5)",
]


class Session:
    def __init__(self, options):
        self.folder = pathlib.Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lathe = options.lathe
        self.begin = time.time()
        self.step = ""
        path = self.folder / "results.jsonl"
        self.results = []
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # a kill may have cut the last one
                    self.results.append(json.loads(line))
        self._file = open(path, "a", encoding="utf-8")
        self._errors = open(self.folder / "errors.txt", "a", encoding="utf-8")
        self.records = self.folder / "records.db"
        kept = self.folder / "records.jsonl.xz"
        if kept.exists() and not self.records.exists():
            self._take_in(kept)

    def _take_in(self, kept):
        plain = self.folder / "records.jsonl"
        with lzma.open(kept) as source, open(plain, "wb") as target:
            shutil.copyfileobj(source, target)
        if self.command(["import", str(plain), "--db", str(self.records)], 120) is not None:
            kept.unlink()
        plain.unlink()

    def tell(self, **words):
        words = {"step": self.step, **words, "at": round(time.time() - self.begin, 1)}
        self.results.append(words)
        self._file.write(json.dumps(words) + "\n")
        self._file.flush()

    def done(self, **words):
        """Whether an earlier start has told this without an error."""
        words["step"] = self.step
        return any(all(r.get(name) == value for name, value in words.items()) and "error" not in r
                   for r in self.results)

    def show(self):
        text = table(self.results)
        (self.folder / "table.txt").write_text(text, encoding="utf-8")
        return text

    def run(self, words, limit):
        """A command to its end, or None with the reason told; it is killed when it is late."""
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        try:
            out, errors = process.communicate(timeout=max(1, limit) + GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self.tell(command=words[:3], error="it was late and is killed")
            return None
        self._errors.write(errors)
        self._errors.flush()
        if process.returncode:
            self.tell(command=words[:3], error=errors.strip()[-400:], code=process.returncode)
            return None
        return out

    def command(self, words, limit):
        return self.run([self.lathe, *words], limit)

    def command_json(self, words, limit):
        out = self.command([*words, "--db", str(self.records), "--json"], limit)
        if out is None:
            return None
        try:
            return json.loads(out.splitlines()[-1])
        except (IndexError, ValueError):
            self.tell(command=words[:3], error=f"not understood: {out[-200:]}")
            return None

    def pack(self):
        """At most MOST_BYTES: a larger database becomes lines that `lathe import` takes."""
        total = sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file())
        if total <= MOST_BYTES or not self.records.exists():
            return
        lines = self.command(["export", "--db", str(self.records)], 120)
        if lines is None:
            return
        with lzma.open(self.folder / "records.jsonl.xz", "wt", encoding="utf-8") as file:
            file.write(lines)
        self.records.unlink()


def facts(session, _):
    if session.done(fact="system"):
        return
    helper = str(pathlib.Path(session.lathe).resolve().parent.parent / "libexec/lathe")
    runners = [os.environ.get("LATHE_LIBEXEC", ""), helper, os.path.dirname(session.lathe)]
    runner = next((f"{folder}/lathe-cuda-runner" for folder in runners
                   if folder and os.path.exists(f"{folder}/lathe-cuda-runner")),
                  "lathe-cuda-runner")
    for name, words in {"card": [runner, "--devices"], "nvidia-smi": ["nvidia-smi", "-q"],
                        "lathe": [session.lathe, "--version"], "lscpu": ["lscpu"]}.items():
        try:
            told = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
            session.tell(fact=name, text=(told.stdout + told.stderr)[:20000])
        except (OSError, subprocess.TimeoutExpired) as error:
            session.tell(fact=name, text=repr(error))
    session.tell(fact="system", text=platform.platform(), processors=len(os.sched_getaffinity(0)))


def check(session, until):
    for workload in AWKWARD:
        if time.time() > until or session.done(workload=workload):
            continue
        found = session.command_json(["tune", workload, *TARGET, "--trials", "8"],
                                     until - time.time())
        if found:
            session.tell(workload=workload, trials=found["trials"], failed=found["failed"],
                         wrong=found["wrong"])
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None or time.time() > until or session.done(workload="compute-sanitizer"):
        return
    words = [sanitizer, "--target-processes", "all", "--error-exitcode", "9", session.lathe, "tune",
             AWKWARD[1], *TARGET, "--trials", "2", "--seed", "9", "--db", str(session.records)]
    if session.run(words, until - time.time()) is not None:
        session.tell(workload="compute-sanitizer", failed=0)


def own(name, session, until):
    """A part of this folder in a process of its own: a card that is broken breaks that alone."""
    process = subprocess.Popen([sys.executable, "-B", "-u", str(HERE / "own.py"), name, str(until)],
                               stdout=subprocess.PIPE, stderr=session._errors, text=True,
                               start_new_session=True)
    text = ""
    while (left := until + GRACE - time.time()) > 0:
        if not select.select([process.stdout], [], [], left)[0]:
            break
        more = os.read(process.stdout.fileno(), 65536).decode()
        if not more:
            break
        text += more
        while "\n" in text:
            line, text = text.split("\n", 1)
            session.tell(**json.loads(line))
    else:
        session.tell(error=f"{name} was late and is killed")
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.wait() not in (0, -signal.SIGKILL):
        session.tell(error=f"{name} ended with {process.returncode}; errors.txt has more")


def probe(session, until):
    if not session.done(probe="copy"):
        own("probes", session, until)


def winners(session, until):
    if not session.done(row="product 1024", contestant="by hand"):
        own("made", session, until)


def rows_in_time(session, until, least=1):
    """Each row with its name and an equal part of the time that is left."""
    known = rows()
    for number, (name, row) in enumerate(known.items()):
        left = until - time.time()
        if left < least:
            session.tell(error=f"no time was left for {len(known) - number} rows")
            return
        yield name, row, left / (len(known) - number)


def tuned(session, until, words, kind):
    """The same run goes on."""
    for name, row, each in rows_in_time(session, until):
        each = max(1.0, each)
        found = session.command_json(["tune", *row.lathe, *TARGET, *words, "--time", f"{each:.1f}"],
                                     each)
        if found:
            told = {key: found.get(key) for key in ("trials", "resumed", "failed", "wrong",
                                                    "seconds", "spent")}
            best = (found.get("best") or {}).get("seconds")
            session.tell(row=name, kind=kind, best=best, **told)


def sample(session, until):
    """Configurations drawn evenly, for models to learn from."""
    tuned(session, until, ["--search", "random", "--model", "none", "--trials", "100000"], "random")


def predict(session, until):
    """What models choose untried, from what the sample has of other workloads."""
    for name, row, _ in rows_in_time(session, until):
        if session.done(row=name, contestant="predicted"):
            continue
        found = session.command_json(["bench", *row.lathe, *TARGET, "--schedule", "predicted"],
                                     until - time.time())
        if found:
            session.tell(row=name, contestant="predicted", median=found["seconds"])


def tune(session, until):
    tuned(session, until, ["--trials", "100000"], "annealing")


class Peer:
    """peer.py with its programs; of none where PyTorch has no card."""

    def __init__(self, session, names, until, eager=False):
        self.programs = []
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-u", str(HERE / "peer.py"), str(max(1, until - time.time())),
             *(["--eager"] if eager else []), *names],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=session._errors, text=True,
            bufsize=1, start_new_session=True)
        while (line := self._line(until + GRACE)) not in (None, "ready"):
            words = json.loads(line)
            if "number" in words:
                self.programs.append(words)
            else:
                session.tell(contestant="torch", **words)

    def _line(self, until):
        if not select.select([self._process.stdout], [], [], max(0, until - time.time()))[0]:
            return None
        return self._process.stdout.readline().strip() or None

    def seconds(self, number, until):
        self._process.stdin.write(f"{number} 5\n")
        line = self._line(until)
        return float(line) if line else None

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


def race(session, until):
    """Ours and PyTorch's in turns: PyTorch, ours, PyTorch; the medians of both.

    cuDNN chooses anew in each process, so the convolutions are in PROCESSES of them."""
    names = list(rows())
    convolutions = [name for name, row in rows().items() if row.convolution]
    peers = []
    try:
        for process in range(PROCESSES):
            part = 0.4 if process == 0 else 0.1
            peers.append(Peer(session, names if process == 0 else convolutions,
                              time.time() + part * (until - time.time()), eager=process > 0))
        for name, _, each in rows_in_time(session, until, least=2):
            raced(session, peers, name, max(1.0, 0.7 * each), until)
    finally:
        for peer in peers:
            peer.close()


def raced(session, peers, name, limit, until):
    programs = [(peer, program) for peer in peers for program in peer.programs
                if program["row"] == name]
    before = [peer.seconds(program["number"], until + GRACE) for peer, program in programs]
    words = ["race", *rows()[name].lathe, *TARGET, "--time", f"{limit:.1f}"]
    found = session.command_json(words, limit)
    after = [peer.seconds(program["number"], until + GRACE) for peer, program in programs]
    times = [racer["raced_seconds"] for racer in (found or {}).get("racers", [])
             if racer.get("raced_seconds")]
    if times:
        session.tell(row=name, contestant="lathe", median=min(times), raced=len(times),
                     disturbed=found["disturbed"])
    for (_, program), first, second in zip(programs, before, after):
        if first and second:
            session.tell(row=name, contestant="torch", kind=program["kind"],
                         median=(first + second) / 2, least=min(first, second))


#: name: what does it, the share of the time that it gets, and the least seconds that are of use
STEPS = {
    "facts": (facts, 0.02, 5), "check": (check, 0.08, 20), "probe": (probe, 0.05, 10),
    "winners": (winners, 0.10, 30), "sample": (sample, 0.25, 60), "predict": (predict, 0.06, 40),
    "tune": (tune, 0.28, 120), "race": (race, 0.16, 60),
}


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="steps, and the least seconds of each: " + ", ".join(
            f"{name} {least}" for name, (_, _, least) in STEPS.items()))
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--steps", default=",".join(STEPS), help="some of the steps, with commas")
    parser.add_argument("--folder", default="gpu", help="where results go; an earlier one goes on")
    parser.add_argument("--lathe", default=os.environ.get("LATHE", "lathe"), help="the command")
    options = parser.parse_args()
    options.steps = [step for step in options.steps.split(",") if step]
    unknown = [step for step in options.steps if step not in STEPS]
    if unknown or not options.steps:
        parser.error(f"unknown step {unknown[0] if unknown else ''}; known are {', '.join(STEPS)}")
    if not 0 < options.minutes < 1e6:
        parser.error(f"--minutes is {options.minutes}; give more than 0")
    found = shutil.which(options.lathe)
    if found is None:
        parser.error(f"there is no command {options.lathe}; --lathe names it")
    options.lathe = found
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    if told.returncode:
        parser.error(f"{found} does not start: {told.stderr.strip()[-400:]}")
    return options


def main():
    options = parse_options()
    session = Session(options)
    end = session.begin + 60 * options.minutes
    shares = sum(STEPS[step][1] for step in options.steps)
    for step in [name for name in STEPS if name in options.steps]:
        work, share, least = STEPS[step]
        session.step = step
        until = min(end, time.time() + max(share / shares * (end - time.time()), 1))
        shares -= share
        print(f"{step}: {until - time.time():.0f} of at least {least} seconds", flush=True)
        try:
            work(session, until)
        except Exception as error:  # pylint: disable=broad-except
            session.tell(error=f"{type(error).__name__}: {error}")
        print(session.show(), flush=True)
    session.pack()


if __name__ == "__main__":
    main()
