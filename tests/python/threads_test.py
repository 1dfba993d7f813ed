"""Kernels in programs of several threads and processes, and what importing lathe does to others."""

import os
import re
import subprocess
import sys
import threading
import time

import lathe
import numpy as np
from support import Case, floats, main

PRODUCT = "C[i,j] = sum(k) A[i,k] * B[k,j]"


class Threads(Case):
    def test_share_a_kernel(self) -> None:
        a, b = floats(64, 300), floats(300, 40, seed=1)
        kernel = lathe.compile(PRODUCT, A=a, B=b, threads=2)
        wrong = []

        def work(scale: int) -> None:
            for _ in range(200):
                if not np.allclose(kernel(a * scale, b), a @ b * scale, atol=1e-3):
                    wrong.append(scale)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_others_go_on_meanwhile(self) -> None:
        a, b = floats(700, 700), floats(700, 700, seed=1)
        kernel = lathe.compile(PRODUCT, A=a, B=b, schedule="naive", check=False)
        done = threading.Event()
        thread = threading.Thread(target=lambda: (kernel(a, b), done.set()))
        begin = time.perf_counter()
        thread.start()
        turns = 0
        while not done.is_set() and time.perf_counter() - begin < 60:
            turns += 1
            time.sleep(0.001)
        thread.join()
        self.assertGreater(turns, 3)

    def test_a_child_that_is_forked_in_the_middle_of_a_call_calls(self) -> None:
        a, b = floats(500, 500), floats(500, 500, seed=1)
        kernel = lathe.compile(PRODUCT, A=a, B=b, constants=["B"], threads=2)
        want = kernel(a, b)
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                kernel(a)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(5):
                time.sleep(0.01)
                child = os.fork()
                if child == 0:
                    os._exit(0 if np.array_equal(kernel(a), want) else 1)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
        finally:
            stop.set()
            thread.join()

    def test_a_child_that_closed_its_files_compiles(self) -> None:
        kernel = lathe.compile("C[i] = A[i] * 2", A=(3,))
        ones = np.ones(3, "f4")
        child = os.fork()
        if child == 0:
            os.closerange(3, 1000)
            other = lathe.compile("C[i] = A[i] * 3", A=(3,), check=False)
            right = other(ones).tolist() == [3, 3, 3] and kernel(ones).tolist() == [2, 2, 2]
            os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_forked_child_calls(self) -> None:
        a, b = floats(64, 300), floats(300, 40, seed=1)
        kernel = lathe.compile(PRODUCT, A=a, B=b, threads=2)
        want = kernel(a, b)
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(kernel(a, b), want) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Import(Case):
    def test_openmp_of_others_stays_as_it_was(self) -> None:
        """Its threads would sleep between parallel regions, which take four times as long then."""
        environment = {**os.environ, "OMP_DISPLAY_ENV": "verbose"}
        for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
            environment.pop(name, None)
        done = subprocess.run(
            [sys.executable, "-c", "import lathe, os; assert 'OMP_WAIT_POLICY' not in os.environ"],
            env=environment, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        spins = re.search(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)
        if spins is None:
            self.skipTest("no libgomp that tells its settings is loaded")
        self.assertGreater(int(spins[1]), 0)


if __name__ == "__main__":
    main()
