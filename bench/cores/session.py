"""A session on a machine with many cores; scripts/cores-session runs it.

It writes a line of JSON into FOLDER/results.jsonl as soon as it knows something, so that nothing is
lost when it is killed, and a table into FOLDER/table.txt at the end of each step.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

from contest import Contestant, Late, race
from rows import NAMES, NINE
from table import table

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["ResNet-18", "MobileNet v1"]
GRACE = 40  # seconds beyond its limit until a contestant is given up


class Session:
    def __init__(self, options):
        self.folder = pathlib.Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.options = options
        self.begin = time.time()
        self.end = self.begin + 60 * options.minutes
        self.results = []
        self._file = open(self.folder / "results.jsonl", "a", encoding="utf-8")

    def tell(self, **words):
        words["at"] = round(time.time() - self.begin, 1)
        self.results.append(words)
        self._file.write(json.dumps(words) + "\n")
        self._file.flush()

    def show(self):
        text = table(self.results)
        (self.folder / "table.txt").write_text(text, encoding="utf-8")
        return text

    def contestant(self, name, script, arguments, wheel, end):
        environment = {"OMP_NUM_THREADS": arguments[0], "PYTHONDONTWRITEBYTECODE": "1",
                       "LATHE_CONTEST_END": str(end),
                       "LATHE_DB": str(self.folder / f"{name}-{arguments[0]}.sqlite")}
        if wheel:
            environment["PYTHONPATH"] = str(pathlib.Path(wheel).resolve())
        library = "lathe" if name == "before" else name
        command = [sys.executable, "-u", str(HERE / script), library, *arguments]
        return Contestant(name, command, environment, self.folder / "errors.txt", self.tell)

    def facts(self):
        facts = {"python": sys.version.split()[0], "system": platform.platform(),
                 "processors": os.cpu_count(), "allowed": len(os.sched_getaffinity(0))}
        for name, command in {"lscpu": ["lscpu"], "cgroup": ["cat", "/proc/self/cgroup"],
                              "doctor": [sys.executable, "-m", "lathe", "doctor"]}.items():
            environment = {**os.environ, "PYTHONPATH": str(self.options.wheel or "")}
            try:
                facts[name] = subprocess.run(command, capture_output=True, text=True, timeout=30,
                                             env=environment, check=False).stdout
            except (OSError, subprocess.TimeoutExpired) as error:
                facts[name] = repr(error)
        self.tell(facts=facts)

    def operators(self, threads, names, limit):
        """All contestants get ready one after the other, then each row is raced."""
        end = time.time() + limit
        libraries = [("torch", None), ("lathe", self.options.wheel)]
        if self.options.before:
            libraries.append(("before", self.options.before))
        tuned = len(libraries) - 1
        each = max(0.5, 0.7 * limit / tuned / len(names) - 0.3)  # seconds of tuning
        ready = []
        for name, wheel in libraries:
            one = self.contestant(name, "contestant.py", [str(threads), f"{each:.2f}", *names],
                                  wheel, end - 0.25 * limit)
            try:
                one.get_ready(end + GRACE)
                ready.append(one)
            except (Late, OSError) as error:
                self.tell(threads=threads, contestant=name, error=str(error))
                one.close()
        self._race(ready, threads, names, end + GRACE)
        for one in ready:
            one.close()

    def _race(self, ready, threads, names, end):
        for row in names:
            programs = [(one, program) for one in ready for program in one.programs
                        if program["row"] == row]
            try:
                times = race([(one, program["number"]) for one, program in programs], 11,
                             end) if programs else []
            except (Late, OSError, ValueError) as error:
                self.tell(threads=threads, row=row, error=str(error))
                return  # who is late cannot be asked again
            for (one, program), (median, least) in zip(programs, times):
                self.tell(threads=threads, row=row, contestant=one.name, kind=program["kind"],
                          median=median, least=least, reported=program.get("reported"),
                          trials_a_second=program.get("trials_a_second"))

    def model(self, name, threads, limit):
        ready = []
        for library in ("lathe", "inductor", "eager"):
            wheel = self.options.wheel if library == "lathe" else None
            one = self.contestant(library, "model.py", [str(threads), f"{0.4 * limit:.1f}", name],
                                  wheel, time.time() + limit)
            try:
                one.get_ready(time.time() + limit + GRACE)
                ready.append(one)
            except (Late, OSError) as error:  # Inductor needs a compiler, which may not be there
                self.tell(threads=threads, row=name, contestant=library, error=str(error))
                one.close()
        self._race(ready, threads, [name], time.time() + limit + GRACE)
        for one in ready:
            one.close()


def thread_counts():
    """All processors, three quarters, half of them, and one."""
    every = len(os.sched_getaffinity(0))
    return every, sorted({every, max(1, 3 * every // 4), max(1, every // 2), 1}, reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--wheel", help="folder of the unpacked wheel; without it: what is there")
    parser.add_argument("--before", help="folder of an unpacked wheel to compare with")
    parser.add_argument("--folder", default="cores")
    options = parser.parse_args()
    if not options.minutes > 0:
        parser.error(f"--minutes is {options.minutes}; give more than 0")
    for flag, wheel in [("--wheel", options.wheel), ("--before", options.before)]:
        if wheel and not (pathlib.Path(wheel) / "lathe" / "__init__.py").is_file():
            parser.error(f"{flag}: {wheel} is no folder of an unpacked wheel of Lathe")
    session = Session(options)
    session.facts()
    every, counts = thread_counts()
    whole = 60 * options.minutes
    # What is wanted most comes first, and gets most.
    shares = {every: 0.4, counts[min(2, len(counts) - 1)]: 0.2}
    for threads in sorted(counts, key=lambda count: -shares.get(count, 0.1)):
        names = NAMES if threads != 1 else NINE[3:]
        session.operators(threads, names, whole * shares.get(threads, 0.1))
        print(session.show(), flush=True)
        if threads == every:
            for name in MODELS:
                session.model(name, every, 0.1 * whole)
            print(session.show(), flush=True)


if __name__ == "__main__":
    main()
