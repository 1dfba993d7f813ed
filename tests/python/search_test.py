"""The search alone, on workloads and on recordings; recordings as arrays."""

import json
import os
import pathlib
import signal
import threading
import time

import lathe
import numpy as np
from support import Case, floats, main

PRODUCT = "C[i,j] = sum(k) A[i,k] * B[k,j]"
SPACES = pathlib.Path(__file__).parents[2] / "bench" / "spaces"


class OfWorkloads(Case):
    def test_ask_and_tell(self) -> None:
        search = lathe.Search(PRODUCT, A=(16, 16), B=(16, 16), options={"batch": 4})
        seen = set()
        for _ in range(3):
            for proposal in search.ask(4):
                self.assertNotIn(proposal.id, seen)
                seen.add(proposal.id)
                self.assertIsInstance(proposal.config, dict)
                search.tell(proposal, 1e-6 * len(str(proposal.config)))
        a, b = floats(16, 16), floats(16, 16, seed=1)
        (proposal,) = search.ask()
        self.assert_near(search.compile(proposal)(a, b), a @ b)
        same = lathe.compile(PRODUCT, A=a, B=b, schedule=search.trace(proposal))
        self.assertEqual(same.trace, search.trace(proposal))
        self.assertLess(search.time(proposal, seconds=0.001), float("inf"))
        search.tell(proposal, float("inf"))
        self.refused("told before", lambda: search.tell(proposal, 1.0))
        self.refused("above 0", lambda: search.tell(search.ask()[0], -1))
        self.refused("one or more", lambda: search.ask(0))

    def test_a_choice_of_the_callers(self) -> None:
        search = lathe.Search(PRODUCT, A=(17, 64), B=(64, 19), options={"batch": 4})
        random = np.random.default_rng(5)
        a, b = floats(17, 64), floats(64, 19, seed=1)
        told, broken = [], 0
        for _ in range(60):
            drawn = {knob.name: random.choice(knob.values) if not knob.structural
                     else str(random.choice(knob.values)) for knob in search.knobs}
            proposal = search.propose(drawn)
            if proposal is None:
                broken += 1
                continue
            for name, value in proposal.config.items():
                self.assertIn(value, next(k.values for k in search.knobs if k.name == name))
            told.append(proposal)
            search.tell(proposal, 1e-6 * (1 + random.random()))
        self.assertGreater(len(told), 5)
        for proposal in told[:3]:
            self.assert_near(search.compile(proposal)(a, b), a @ b)
        known = [proposal.config for proposal in told]
        for proposal in search.ask(40):
            self.assertNotIn(proposal.config, known)
        self.refused("no knob colour", lambda: search.propose({**told[0].config, "colour": 1}))
        name = next(iter(told[0].config))
        self.refused(name, lambda: search.propose({**told[0].config, name: 12345678}))
        self.refused(name, lambda: search.propose({**told[0].config, name: [1]}))
        self.refused("dict", lambda: search.propose("tile.i=4"))
        self.refused("no number", lambda: search.propose({**told[0].config, name: object()}))
        missing = {k: v for k, v in told[0].config.items() if k != name}
        self.refused(name, lambda: search.propose(missing))

    def test_wrong_input(self) -> None:
        search = lathe.Search(PRODUCT, A=(16, 16), B=(16, 16))
        other = lathe.Search(PRODUCT, A=(16, 16), B=(16, 16))
        (proposal,) = search.ask()
        self.assertEqual(len({proposal, *search.ask(3)}), 4)
        for work in (search.time, search.trace, search.compile):
            for given in (None, 5, "a", proposal.config):
                self.refused("no proposal", lambda w=work, g=given: w(g))
            self.refused("another search's", lambda w=work: w(other.ask()[0]))
        self.refused("another search's", lambda: search.tell(other.ask()[0], 1e-3))
        self.refused("no proposal", lambda: search.tell(None, 1e-3))
        for seconds in (None, [1.0], {}):
            self.refused("in seconds", lambda s=seconds: search.tell(proposal, s))
        for wanted in (None, "3", 1.5, True, 0, 1 << 31):
            self.refused("one or more", lambda w=wanted: search.ask(w))
        name = next(iter(proposal.config))
        for value in (float("nan"), float("inf")):
            self.refused("finite", lambda v=value: search.propose({**proposal.config, name: v}))
        self.refused("dict", lambda: lathe.Search(PRODUCT, A=(3, 3), B=(3, 3), options=[1]))
        search.tell(proposal, np.float32(1e-3))

    def test_a_forked_child_searches(self) -> None:
        search = lathe.Search(PRODUCT, A=(24, 31), B=(31, 18), options={"batch": 8})
        for _ in range(2):
            for proposal in search.ask(8):
                search.tell(proposal, 1e-6 * (1 + proposal.id % 5))
        child = os.fork()
        if child == 0:
            try:
                for _ in range(3):
                    for proposal in search.ask(8):
                        search.tell(proposal, 1e-6 * (1 + proposal.id % 7))
                os._exit(0)
            finally:
                os._exit(1)
        for _ in range(600):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.1)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            self.fail("the child hangs")
        self.assertEqual(status, 0)

    def test_conditional_knobs(self) -> None:
        search = lathe.Search("conv2d", input=(1, 8, 14, 14), weight=(16, 8, 3, 3), pad=1)
        by_name = {knob.name: knob for knob in search.knobs}
        conditional = [knob for knob in search.knobs if knob.under is not None]
        self.assertTrue(conditional)
        for knob in conditional:
            self.assertTrue(set(knob.under_values) <= set(by_name[knob.under].values))
        for proposal in search.ask(20):
            for knob in conditional:
                acts = proposal.config.get(knob.under) in knob.under_values
                self.assertEqual(knob.name in proposal.config, acts, knob)
            everything = {**{k.name: k.values[-1] for k in search.knobs}, **proposal.config}
            self.assertEqual(search.propose(everything).config, proposal.config)

    def test_several_threads_search(self) -> None:
        search = lathe.Search(PRODUCT, A=(16, 16), B=(16, 16), options={"batch": 4})
        numbers: list[int] = []

        def work() -> None:
            for _ in range(5):
                for proposal in search.ask(3):
                    numbers.append(proposal.id)
                    search.tell(proposal, 1e-6)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(numbers)), len(numbers))


class OfRecordings(Case):
    def test_arrays_agree(self) -> None:
        for path in sorted(SPACES.glob("*.zst"))[:4]:
            recording = lathe.Recording(path)
            shape = (len(recording), len(recording.knobs))
            self.assertEqual(recording.positions.shape, shape)
            self.assertEqual(recording.values.shape, shape)
            self.assertEqual(recording.seconds.shape, shape[:1])
            worked = np.isfinite(recording.seconds)
            self.assertEqual([text == "" for text in recording.failures], list(worked))
            self.assertEqual(recording.seconds.min(), recording.best_seconds)
            for place in (0, len(recording) // 2, len(recording) - 1):
                config = recording.config(place)
                self.assertEqual(recording.find(config), place)
                for column, knob in enumerate(recording.knobs):
                    value = knob.values[recording.positions[place, column]]
                    if knob.name in config:
                        self.assertEqual(config[knob.name], value)
                    if not knob.structural:
                        self.assertEqual(recording.values[place, column], value)
            for array in (recording.positions, recording.values, recording.seconds):
                self.assertFalse(array.flags.writeable)

    def test_features(self) -> None:
        recording = lathe.Recording(SPACES / "C6.json.zst")
        for kind in ("context", "relation", "configuration"):
            names, rows = recording.features(kind)
            self.assertEqual(rows.shape, (len(recording), len(names)), kind)
            self.assertTrue(np.isfinite(rows).all(), kind)
            self.assertGreater(len(np.unique(rows, axis=0)), 100, kind)
        self.refused("crystals", lambda: recording.features("crystals"))

    def test_a_search_finds_the_best(self) -> None:
        recording = lathe.Recording(SPACES / "C6.json.zst")
        search = lathe.Search(recording, options={"batch": 16, "seed": 3, "jobs": 1})
        self.assertEqual([k.name for k in search.knobs], [k.name for k in recording.knobs])
        times = []
        for _ in range(12):
            for proposal in search.ask(16):
                times.append(search.time(proposal))
                self.assertEqual(times[-1], recording.seconds[recording.find(proposal.config)])
                search.tell(proposal, times[-1])
        self.assertLess(min(times), recording.best_seconds * 1.15)
        self.assertLess(np.median(times[-64:]), np.median(times[:64]))

    def test_it_ends_when_all_are_told(self) -> None:
        recording = lathe.Recording(SPACES / "C6.json.zst")
        search = lathe.Search(recording, options={"search": "random"})
        seen = {json.dumps(p.config) for p in search.ask(len(recording) + 100)}
        self.assertEqual(len(seen), len(recording))
        self.assertEqual(search.ask(1), [])

    def test_a_candidate_runs_here(self) -> None:
        recording = lathe.Recording(SPACES / "Matmul-1024.json.zst")
        search = lathe.Search(recording)
        (proposal,) = search.ask()
        kernel = search.compile(proposal)
        self.assertEqual(kernel.key, recording.key)
        self.assertEqual(kernel.threads, recording.threads)
        a, b = floats(1024, 1024), floats(1024, 1024, seed=1)
        self.assert_near(kernel(a, b), a.T @ b)
        free = lathe.Search(lathe.Recording(SPACES / "C6.json.zst"))
        self.refused("layouts of their own", lambda: free.compile(free.ask()[0]))

    def test_refusals(self) -> None:
        path = SPACES / "C6.json.zst"
        recording = lathe.Recording(path)
        self.refused("/no/such", lambda: lathe.Recording("/no/such"), lathe.Error)
        self.refused("search_test.py", lambda: lathe.Recording(__file__), lathe.Error)
        self.refused("options only", lambda: lathe.Search(recording, threads=2))
        self.refused("options only", lambda: lathe.Search(recording, A=(3, 3)))
        self.refused("options only", lambda: lathe.Search(recording, numerics="local"))
        self.refused("options only", lambda: lathe.Search(recording, ranges={"A": (0, 1)}))
        self.refused("search", lambda: lathe.Search(recording, options={"search": "luck"}))
        with self.assertRaises(IndexError):
            recording.config(len(recording))
        elsewhere = lathe.Search(PRODUCT, A=(16, 16), B=(16, 16)).ask()[0]
        search = lathe.Search(recording)
        self.refused("another search's", lambda: search.time(elsewhere))
        for jobs in (None, "2", 1.5, -1):
            self.refused("jobs is", lambda j=jobs: recording.features("context", j))
        self.refused("named by a text", lambda: recording.features(None))
        self.refused("no file has", lambda: lathe.Recording("a\0b"))


if __name__ == "__main__":
    main()
