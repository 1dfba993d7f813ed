"""A tuning command as it runs: how many trials are done at what time, and the memory that it and
all processes below it hold."""

import os
import signal
import subprocess
import time
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


def parents():
    """Process: the one that started it."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
            # the name, which may hold anything, ends at the last bracket
            found[int(folder.name)] = int(text.rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    return found


def tree(root):
    started_by = parents()
    members, grew = {root}, True
    while grew:
        below = {pid for pid, parent in started_by.items() if parent in members}
        grew = not below <= members
        members |= below
    return members


def resident(pid):
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


class Watched:
    """Ended with all its processes after `limit` seconds, if it still runs then. `trials` tells how
    many are done."""

    def __init__(self, command, trials, limit, environment=None, interval=0.25):
        began = time.monotonic()
        self.progress, self.peak_bytes, self.ended_early = [], 0, False
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, process_group=0,
                                   env={**os.environ, **(environment or {})})
        while True:
            try:
                self.said, _ = process.communicate(timeout=interval)
                break
            except subprocess.TimeoutExpired:
                pass
            past = time.monotonic() - began
            self.peak_bytes = max(self.peak_bytes, sum(map(resident, tree(process.pid))))
            self.note(past, trials())
            if past > limit and not self.ended_early:
                self.ended_early = True
                for pid in tree(process.pid):  # a worker may have a group of its own
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        self.seconds = time.monotonic() - began
        self.note(self.seconds, trials())
        self.failed = process.returncode != 0 and not self.ended_early

    def note(self, past, trials):
        if trials and (not self.progress or trials > self.progress[-1][1]):
            self.progress.append((past, trials))

    @property
    def trials(self):
        return self.progress[-1][1] if self.progress else 0

    def done_by(self, seconds):
        """Trials that were done then."""
        return max((trials for past, trials in self.progress if past <= seconds), default=0)
