"""A contest between processes: each contestant computes in its turn and is stopped in others, for
threads of OpenBLAS and libgomp spin for 20 ms and longer after a call."""

import json
import os
import random
import signal
import statistics
import subprocess
import tempfile


class Refused(Exception):
    """A contestant cannot take part, or not go on; the text says why."""


class Declined(Refused):
    """It says itself that it has nothing for this."""


class Contestant:
    """A process that speaks the line protocol of README.md."""

    def __init__(self, name, command, setup=None, environment=None, threads=1):
        self.name, self.times, self.ended = name, [], False
        cores = sorted(os.sched_getaffinity(0))
        # The same for all contestants; this script keeps to the first core where it can.
        mine = set(cores[-threads:])
        self.complaints = tempfile.TemporaryFile("w+")
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaints,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), **(environment or {})},
                process_group=0,  # with its children; they go on and end if this script dies
                preexec_fn=lambda: os.sched_setaffinity(0, mine))
        except OSError as error:
            raise Refused(f"{command[0]} cannot be started: {error.strerror}") from None
        if setup is not None:
            self.say("setup " + json.dumps(setup))
        answer = self.hear()
        if not answer.startswith("ready"):
            self.close()
            why = answer.removeprefix("error").strip()
            raise Refused(f"{name}: {why}") if self.ended else Declined(why)
        self.detail = answer.removeprefix("ready").strip()
        self.stop()

    def stop(self):
        """It and its children compute nothing more, until go_on()."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def go_on(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGCONT)

    def say(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # hear() tells why it ended

    def hear(self):
        line = self.process.stdout.readline()
        if line:
            return line.strip()
        self.ended = True
        self.process.wait()
        self.complaints.seek(0)
        said = self.complaints.read().strip().splitlines()
        reason = said[-1] if said else "it said nothing"
        return f"error ended with status {self.process.returncode}: {reason}"

    def turn(self, seconds):
        self.go_on()
        self.say(f"run {seconds}")
        answer = self.hear()
        if not self.ended:
            self.stop()
        try:
            self.times.append(float(answer))
        except ValueError:
            raise Refused(f"{self.name}: {answer.removeprefix('error').strip()}") from None

    def close(self):
        self.go_on()
        self.say("quit")
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def median(self):
        return statistics.median(self.times)

    @property
    def spread(self):
        """Interquartile range over the median."""
        low, _, high = statistics.quantiles(self.times, n=4)
        return (high - low) / self.median


def race(contestants, rounds, turn_seconds, seed=0, absent=None):
    """Every round gives each contestant one turn, in an order drawn anew. The first round is
    practice. Where `absent` is given, one that fails is left out from then on, and `absent` tells
    why by its name; else its failure ends the race."""
    order = random.Random(seed)
    for index in range(rounds + 1):
        for contestant in order.sample(contestants, len(contestants)):
            if absent is not None and contestant.name in absent:
                continue
            try:
                contestant.turn(turn_seconds)
            except Refused as refusal:
                if absent is None:
                    raise
                absent[contestant.name] = str(refusal)
        if index == 0:
            for contestant in contestants:
                contestant.times.clear()
