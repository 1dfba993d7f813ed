"""The tuners of bench_metaschedule: a watched run of each on one operator, and the winner among its
first trials as a contestant."""

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import lathe_runs
from contest import Refused
from watched_run import Watched

SCRIPT = str(Path(__file__).resolve().parent / "peers/metaschedule.py")


def failure_of(run):
    """Why a tuner ended with an error, else None."""
    said = run.said.strip().splitlines()
    return (said[-1] if said else "it said nothing") if run.failed else None


def before_the_race(record):
    return {name: value for name, value in record.items() if name != "standing"} | {
        "race_seconds": None, "race": None}


class Lathe:
    name = "lathe"

    def __init__(self, workload, options, folder):
        """`workload`: the words that name it."""
        self.workload = lathe_runs.with_threads(workload)
        self.folder, self.error = folder, None
        self.program, self.database = lathe_runs.program(options), folder / "lathe.db"
        self.run = Watched([self.program, "tune", *self.workload, "--trials", str(options.trials),
                            "--seed", str(options.seed), "--time", str(options.limit), "--db",
                            str(self.database)], self.trials, options.limit + 60)

    def trials(self):
        if not self.database.exists():
            return 0
        try:
            with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=1) as store:
                return store.execute("select count(*) from records").fetchone()[0]
        except sqlite3.Error:
            return 0  # it has no table yet

    def lines(self):
        done = subprocess.run([self.program, "export", "--db", str(self.database)],
                              capture_output=True, text=True)
        return done.stdout.splitlines()

    def winner(self, count):
        """The program that `--schedule best` takes where only these trials are on record and the
        run has ended with them, which it does with a race. What the race of the whole run said
        counts at its end alone."""
        lines = [json.loads(line) for line in self.lines()]
        lines.sort(key=lambda record: record["index"])
        records = lines[:count]
        if not any(record["error"] is None for record in records):
            raise Refused("no program works yet")
        if count < len(lines):
            records = [before_the_race(record) for record in records]
        path = self.folder / f"lathe-{count}.db"
        text = "".join(json.dumps(record) + "\n" for record in records)
        done = subprocess.run([self.program, "import", "-", "--db", str(path)], input=text,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(done.stderr.strip())
        if count < len(lines):
            self.race(path, count)
        return self.best_of(path), [self.program, "bench", *self.workload, "--db", str(path),
                                    "--schedule", "best", "--serve"], {}

    def race(self, database, count):
        """As many as race where a run ends with so many trials (tune/final_race.cpp). Without it
        the best may be one whose time was short by chance."""
        racers = min(6 + count // 100, 24)
        done = subprocess.run([self.program, "race", *self.workload, "--db", str(database),
                               "--count", str(racers), "--time", "10"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(done.stderr.strip())

    def best_of(self, database):
        """Its trial's number."""
        done = subprocess.run([self.program, "best", *self.workload, "--db", str(database),
                               "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(done.stderr.strip())
        best = json.loads(done.stdout)
        self.error = best["numerical_error"]
        return best["index"]


class MetaSchedule:
    environment = {"TVM_NUM_THREADS": "1"}

    def __init__(self, name, operator, options, folder):
        self.name, self.error = name, None
        self.words, self.folder = json.dumps(operator), folder / name
        self.python = [str(options.python), "-B", SCRIPT]
        self.run = Watched([*self.python, "tune", self.words, str(self.folder),
                            str(options.trials), str(options.seed),
                            str(len(os.sched_getaffinity(0)))],
                           lambda: len(self.records()), options.limit, self.environment)

    def records(self):
        """Lines of its file that are complete."""
        try:
            text = (self.folder / "database_tuning_record.json").read_text()
        except OSError:
            return []
        return [line for line in text.split("\n")[:-1] if line]

    def winner(self, count):
        path = self.folder / f"{count}.so"
        done = subprocess.run([*self.python, "build", self.words, str(self.folder), str(count),
                               str(path)], capture_output=True, text=True,
                              env={**os.environ, **self.environment})
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            raise Refused(said[-1] if said else "it said nothing")
        about = json.loads(done.stdout.splitlines()[-1])
        self.error = about["error"]
        return (about["recorded_us"], [*self.python, "serve", self.words, str(path)],
                self.environment)
