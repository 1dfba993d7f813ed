"""Contestants in processes of their own, of which one runs at a time."""

import json
import os
import select
import signal
import statistics
import subprocess
import time


class Late(Exception):
    """A contestant did not answer in time, or ended."""


class Contestant:
    """A process that serves a program, stopped between its turns."""

    def __init__(self, name, command, environment, log, tell):
        self.name = name
        self._log = open(log, "ab")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._log, env={**os.environ, **environment})
        self._text = b""
        self._tell = tell
        self.programs = []

    def _line(self, end):
        while b"\n" not in self._text:
            left = end - time.time()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise Late(f"{self.name} did not answer in time")
            more = os.read(self._process.stdout.fileno(), 65536)
            if not more:
                raise Late(f"{self.name} ended")
            self._text += more
        line, self._text = self._text.split(b"\n", 1)
        return line.decode()

    def get_ready(self, end):
        """Takes what is ready until `end`; a contestant that is late keeps nothing."""
        while (line := self._line(end)) != "ready":
            if not line.startswith("{"):
                continue
            words = json.loads(line)
            self._tell(contestant=self.name, **words)
            if "number" in words:
                self.programs.append(words)
        self._process.send_signal(signal.SIGSTOP)

    def seconds(self, number, repeats, end):
        self._process.send_signal(signal.SIGCONT)
        self._process.stdin.write(f"{number} {repeats}\n".encode())
        self._process.stdin.flush()
        seconds = float(self._line(end))
        self._process.send_signal(signal.SIGSTOP)
        return seconds

    def close(self):
        self._process.kill()
        self._process.wait()
        self._log.close()


def race(programs, rounds, end):
    """[(contestant, number)] in turns; median and least seconds of each. Fewer rounds if late."""
    repeats = []
    for contestant, number in programs:
        once = contestant.seconds(number, 2, end)
        repeats.append(max(2, min(2000, int(4e-3 / max(once, 1e-7)))))
    times = [[] for _ in programs]
    for turn in range(rounds):
        order = list(range(len(programs)))
        order = order[turn % len(order):] + order[:turn % len(order)]
        for i in order:
            contestant, number = programs[i]
            times[i].append(contestant.seconds(number, repeats[i], end))
    return [(statistics.median(kept), min(kept)) for kept in times]
