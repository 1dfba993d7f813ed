"""What a tuner had found after so many trials and after so many seconds, raced: the winners of all
checkpoints in a process each, interleaved. No time that a tuner has recorded is compared."""

import sys

from contest import Contestant, Refused


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def add_flags(parser, trials, at_trials, at_seconds, limit):
    parser.add_argument("--trials", type=int, default=trials, help="of each tuner")
    parser.add_argument("--limit", type=float, default=limit, metavar="SECONDS",
                        help="after which a tuner is ended with what it has")
    parser.add_argument("--at-trials", type=numbers, default=at_trials)
    parser.add_argument("--at-seconds", type=numbers, default=at_seconds)
    parser.add_argument("--seed", type=int, default=1)


def counts_of(run, options):
    """How many records count at each: by its trials, by its seconds, and at the end."""
    found = {("trials", at): at for at in options.at_trials if at <= run.trials}
    found |= {("seconds", at): run.done_by(at) for at in options.at_seconds}
    return found | {("end", 0): run.trials}


def contestants_of(tuner, counts, racing):
    """By number of records, the contestant that races their winner; equal winners race once."""
    found, by_winner = {}, {}
    for count in sorted(set(counts) - {0}):
        try:
            winner, command, environment = tuner.winner(count)
        except Refused as refusal:
            print(f"{tuner.name}, {count} trials: {refusal}", file=sys.stderr)
            continue
        if winner not in by_winner:
            by_winner[winner] = Contestant(f"{tuner.name}-{count}", command,
                                           environment=environment)
            racing.append(by_winner[winner])
        found[count] = by_winner[winner]
    return found
