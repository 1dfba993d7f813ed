"""`lathe` as the comparisons of its own searches run it: tuning, and races between what different
runs found."""

import subprocess
import sys
from pathlib import Path

from contest import Contestant, race

ROOT = Path(__file__).resolve().parent.parent


def add_build_flag(parser):
    parser.add_argument("--build", type=Path, default=ROOT / "build/release",
                        help="folder with the programs")


def add_race_flags(parser):
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turn-ms", type=float, default=8)


def program(options):
    path = options.build / "bin/lathe"
    if not path.exists():
        sys.exit(f"{path} is not there; build it, or name another folder with --build")
    return str(path)


def onednn_environment(options):
    """The newest oneDNN, built for SYCL, reaches the processor through OpenCL; the others do not
    ask."""
    return {"OCL_ICD_FILENAMES": str(options.build.parent / "onednn-newest/lib/libintelocl.so")}


def with_threads(words):
    """Words that name a workload to `lathe`, on one thread unless they say another number."""
    said = any(word == "--threads" or "threads=" in word for word in words)
    return [*words] if said else [*words, "--threads", "1"]


def pass_on_warnings(text):
    """What a run that worked has to say all the same: that another program was timing something
    beside it."""
    for line in text.splitlines():
        if line.startswith("lathe: ") and not line.endswith("as --threads says"):
            print(line, file=sys.stderr)


def tune(options, *words):
    """A run to its end; where it fails, its own sentence ends this program."""
    command = [program(options), "tune", *with_threads(words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    pass_on_warnings(done.stderr)


def raced_seconds(options, workload, programs, threads=1):
    """Medians by name, raced in a process each. `workload`: the words that name it; `programs`: by
    name, those that choose one; `threads`: processors that each may use."""
    contestants = []
    try:
        for name, words in programs.items():
            all_words = with_threads([*workload, *words])
            contestants.append(Contestant(name, [program(options), "bench", *all_words, "--serve"],
                                          threads=threads))
        race(contestants, options.rounds, options.turn_ms / 1000)
        return {contestant.name: contestant.median for contestant in contestants}
    finally:
        for contestant in contestants:
            contestant.close()
