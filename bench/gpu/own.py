"""Probes or programs made by hand, in a process of their own: own.py probes|made UNTIL

It prints a line of JSON for each result; UNTIL is in seconds since 1970."""

import json
import sys

import made
import probes
from card import Card, CardError


def tell(**words):
    print(json.dumps(words), flush=True)


def main():
    try:
        card = Card()
        if sys.argv[1] == "probes":
            probes.probes(card, tell)
        else:
            made.made(card, tell, float(sys.argv[2]))
    except CardError as error:
        tell(error=str(error))


if __name__ == "__main__":
    main()
