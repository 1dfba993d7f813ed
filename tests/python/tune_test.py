"""Runs of the tuner: what they return, keep and refuse, and how they end."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import lathe
import numpy as np
from support import FEW, Case, floats, folder, main

PRODUCT = "C[i,j] = sum(k) A[i,k] * B[k,j]"


class Tune(Case):
    def test_finds_keeps_and_goes_on(self) -> None:
        a, b = floats(31, 64), floats(64, 29, seed=1)
        heard = []
        kernel = lathe.tune(PRODUCT, A=a, B=b, trials=12, options=FEW, callback=heard.append)
        self.assert_near(kernel(a, b), a @ b)
        self.assertEqual(kernel.trials, 12)
        self.assertFalse(kernel.interrupted)
        self.assertGreater(kernel.seconds, 0)
        self.assertEqual(len(kernel.records), 12)
        self.assertIsInstance(kernel.trace, list)
        self.assertIsInstance(heard[-1], lathe.Progress)
        again = lathe.tune(PRODUCT, A=a, B=b, trials=12, options=FEW)
        self.assertEqual(again.trials, 12)
        self.assertEqual(len(again.records), 12)
        best = lathe.compile(PRODUCT, A=a, B=b)
        self.assertEqual(best.trace, kernel.trace)
        self.assertIsNotNone(best.seconds)

    def test_an_operator_by_name(self) -> None:
        kernel = lathe.tune("conv2d", input=(1, 8, 9, 9), weight=(4, 8, 3, 3), pad=1, trials=4,
                            options=FEW)
        x, w = floats(1, 8, 9, 9), floats(4, 8, 3, 3, seed=1)
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        self.assert_near(kernel(x, w), np.einsum("ncyxrs,ocrs->noyx", windows, w))

    def test_tensors_of_any_name(self) -> None:
        a = floats(9)
        kernel = lathe.tune("Y[i] = trials[i] * 2", tensors={"trials": a}, trials=2, options=FEW)
        self.assert_near(kernel(a), a * 2)

    def test_refusals(self) -> None:
        self.refused("no option", lambda: lathe.tune(PRODUCT, A=(3, 3), B=(3, 3),
                                                     options={"tries": 3}))
        self.refused("trials", lambda: lathe.tune("C[i] = A[i] * 2", A=(3,), trials="many"))
        self.refused("trials", lambda: lathe.tune("C[i] = A[i] * 2", A=(3,), trials=-1))
        self.refused("model", lambda: lathe.tune("C[i] = A[i] * 2", A=(3,),
                                                 options={"model": "crystal"}))
        self.refused("more than 0", lambda: lathe.tune("C[i] = A[i]", A=(3,), seconds=0))
        self.refused("twice", lambda: lathe.tune("C[i] = A[i]", A=(3,), tensors={"A": (4,)}))
        self.refused("thread", lambda: lathe.tune("C[i] = A[i] * 2", A=(3,), threads=-2))
        self.refused("max_error is 0", lambda: lathe.tune("C[i] = A[i]", A=(3,), max_error=0))
        self.refused("the least that can be asked for is 6e-08",
                     lambda: lathe.tune("C[i] = A[i]", A=(3,), max_error=1e-44))
        self.refused("did you mean conv2d?", lambda: lathe.compile("conv2", input=(3,)))
        self.refused("shapes are fixed numbers",
                     lambda: lathe.compile("A: f32[n,16]; C[i,j] = A[i,j]"))
        nowhere = "/no/folder/records.db"
        self.refused("/no/folder", lambda: lathe.tune("C[i] = A[i] * 2", A=(3,), trials=2,
                                                      database=nowhere), lathe.Failed)

    def test_a_file_without_a_name_is_refused(self) -> None:
        text = "C[i] = A[i] * 2"
        kernel = lathe.compile(text, schedule="default", A=(3,))
        for work in (
            lambda: lathe.tune(text, A=(3,), database=""),
            lambda: lathe.tune(text, A=(3,), options={"global_model": ""}),
            lambda: lathe.compile(text, A=(3,), database=""),
            lambda: lathe.Search(text, A=(3,), database=""),
            lambda: lathe.Recording(""),
            lambda: lathe.load(""),
            lambda: lathe.report(""),
            lambda: lathe.import_records(""),
            lambda: lathe.import_records(None, ""),
            lambda: kernel.save(""),
        ):
            self.refused("has an empty name; give the name of a file", work)

    def test_a_callback_that_raises_ends_it(self) -> None:
        def refuse(progress: lathe.Progress) -> None:
            raise KeyError("enough")

        with self.assertRaisesRegex(KeyError, "enough"):
            lathe.tune(PRODUCT, A=(64, 64), B=(64, 64), trials=100000, callback=refuse)

    def test_ctrl_c_gives_the_best_so_far(self) -> None:
        def press(progress: lathe.Progress) -> None:
            if progress.best_seconds > 0:
                signal.raise_signal(signal.SIGINT)

        a, b = floats(64, 64), floats(64, 64, seed=1)
        begin = time.monotonic()
        kernel = lathe.tune(PRODUCT, A=a, B=b, trials=100000, callback=press, options=FEW)
        self.assertTrue(kernel.interrupted)
        self.assertLess(time.monotonic() - begin, 60)
        self.assert_near(kernel(a, b), a @ b)

    def test_in_another_thread(self) -> None:
        found = []
        text = "C[i] = A[i] * 5"
        thread = threading.Thread(
            target=lambda: found.append(lathe.tune(text, A=(300,), trials=4, options=FEW))
        )
        thread.start()
        thread.join()
        self.assert_near(found[0](np.ones(300, "f4")), np.full(300, 5))

    def test_a_child_that_was_forked_meanwhile_ends(self) -> None:
        done = run_python("import tune_test; tune_test.fork_in_a_run()")
        self.assertEqual(done.returncode, 0, done.stderr)


def fork_in_a_run() -> None:
    """A thread forks while another tunes; the child ends as an interpreter does."""
    thread = threading.Thread(
        target=lambda: lathe.tune(PRODUCT, A=(64, 64), B=(64, 64), trials=40, options=FEW)
    )
    thread.start()
    time.sleep(0.5)
    child = os.fork()
    if child == 0:
        import atexit

        atexit._run_exitfuncs()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    thread.join()


def run_python(code: str, **more) -> subprocess.CompletedProcess:
    words = [sys.executable, "-c", textwrap.dedent(code)]
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(words, cwd=here, capture_output=True, text=True, timeout=120, **more)


class Threads(Case):
    """How many a kernel uses."""

    A, B = (31, 64), (64, 29)

    def setUp(self) -> None:
        before = os.environ.pop("OMP_NUM_THREADS", None)
        if before is not None:
            self.addCleanup(os.environ.__setitem__, "OMP_NUM_THREADS", before)
        self.addCleanup(os.environ.pop, "OMP_NUM_THREADS", None)

    def compiled(self, **more) -> lathe.Kernel:
        return lathe.compile(PRODUCT, A=self.A, B=self.B, **more)

    def test_by_default(self) -> None:
        usual, why = lathe._native.Machine.usual_threads()
        self.assertLessEqual(usual, len(os.sched_getaffinity(0)))
        self.assertIn("this process may use", why)
        self.assertEqual(self.compiled(schedule="default", check=False).threads, usual)
        self.assertEqual(self.compiled(schedule="default", check=False, threads=3).threads, 3)
        two = self.compiled(schedule="default", check=False, threads=np.int64(2))
        self.assertEqual(two.threads, 2)
        os.environ["OMP_NUM_THREADS"] = "1"
        self.assertEqual(self.compiled(schedule="default", check=False).threads, 1)
        for value in ("abc", "0", "", "1000"):
            os.environ["OMP_NUM_THREADS"] = value
            self.assertEqual(self.compiled(schedule="default", check=False).threads, usual, value)

    def test_what_is_no_number_is_refused(self) -> None:
        a = floats(5, 5)
        for wrong in (0, -1, 1025, "two", True, 1.5, [1]):
            part = f"threads is {wrong!r}; give a number from 1 to 1024"
            for work in (
                lambda: lathe.tune(PRODUCT, A=a, B=a, threads=wrong),
                lambda: lathe.compile(PRODUCT, A=a, B=a, threads=wrong),
                lambda: lathe.Search(PRODUCT, A=a, B=a, threads=wrong),
                lambda: lathe.einsum("ij,jk->ik", a, a, threads=wrong),
            ):
                self.refused(part, work)
        many = len(os.sched_getaffinity(0)) + 1
        self.refused(f"{many} threads cannot be timed on the ",
                     lambda: lathe.tune(PRODUCT, A=a, B=a, threads=many))
        self.assertEqual(self.compiled(schedule="default", check=False, threads=many).threads, many)

    def test_records_of_fewer_serve(self) -> None:
        path = os.path.join(folder(), "fewer.db")
        tuned = lathe.tune(PRODUCT, A=self.A, B=self.B, trials=4, options=FEW, threads=1,
                           database=path)
        with self.assertWarnsRegex(UserWarning, "nothing for 5 threads is on record; the best for "
                                                "1 is taken, and runs with 1"):
            kernel = self.compiled(threads=5, database=path)
        self.assertEqual((kernel.threads, kernel.trace), (1, tuned.trace))
        self.assertEqual(kernel.seconds, tuned.seconds)
        self.assertEqual(len(kernel.records), 4)
        a, b = floats(*self.A), floats(*self.B, seed=1)
        self.assert_near(kernel(a, b), a @ b)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(self.compiled(threads=1, database=path).threads, 1)
        saved = os.path.join(folder(), "fewer.so")
        kernel.save(saved)
        self.assertEqual(lathe.load(saved).threads, 1)

    def test_the_first_line_tells_them(self) -> None:
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            lathe.tune("C[i] = A[i] * 3", A=(7,), trials=2, options=FEW, threads=1, progress=True)
        self.assertTrue(shown.getvalue().startswith("lathe: 1 thread: as was asked for\n"))
        os.environ["OMP_NUM_THREADS"] = "1"
        with contextlib.redirect_stderr(shown):
            lathe.tune("C[i] = A[i] * 3", A=(7,), trials=2, options=FEW, progress=True)
        self.assertIn("lathe: 1 thread: ", shown.getvalue()[10:])


class Interpreters(Case):
    def test_one_that_ends_during_a_run_ends(self) -> None:
        done = run_python("""
            import threading, time, support, lathe
            begun = threading.Event()
            def hear(progress):
                begun.set()
            work = dict(A=(200, 200), B=(200, 200), trials=100000, callback=hear)
            text = "C[i,j] = sum(k) A[i,k] * B[k,j]"
            threading.Thread(target=lambda: lathe.tune(text, **work), daemon=True).start()
            begun.wait(60)
            print("ends")
        """)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ends\n", ""))

    def test_one_that_ends_during_a_callback_ends(self) -> None:
        done = run_python("""
            import threading, support, lathe, numpy as np
            begun = threading.Event()
            a = np.ones((200, 200), "f4")
            kernel = lathe.compile("C[i,j] = sum(k) A[i,k] * B[k,j]", A=a, B=a)
            def hear(progress):
                begun.set()
                kernel.time(a, a, seconds=0.3)
                kernel(a, a)
            work = dict(A=a, B=a, trials=100000, callback=hear)
            text = "C[i,j] = sum(k) A[i,k] * B[k,j]"
            threading.Thread(target=lambda: lathe.tune(text, **work), daemon=True).start()
            begun.wait(60)
            print("ends")
        """)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ends\n", ""))

    def test_one_that_ends_during_calls_ends(self) -> None:
        for call in ("kernel(a, a)", 'lathe.einsum("ij,jk->ik", a, a)', "kernel.time(a, a)"):
            done = run_python(f"""
                import threading, time, support, lathe, numpy as np
                a = np.ones((200, 200), "f4")
                kernel = lathe.compile("C[i,j] = sum(k) A[i,k] * B[k,j]", A=a, B=a)
                def work():
                    while True:
                        {call}
                threading.Thread(target=work, daemon=True).start()
                time.sleep(0.3)
                print("ends")
            """)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ends\n", ""))

    def test_ctrl_c_ends_a_block_of_tuning(self) -> None:
        done = run_python("""
            import signal, support, lathe, numpy as np
            a = np.ones((40, 40), "f4")
            def press(progress):
                if progress.best_seconds > 0:
                    signal.raise_signal(signal.SIGINT)
            try:
                with lathe.tuning(seconds=60, trials=100000, callback=press, options={"batch": 8}):
                    lathe.einsum("ij,jk->ik", a, a)
            except KeyboardInterrupt:
                print("ends", lathe.einsum("ij,jk->ik", a, a)[0, 0])
        """)
        self.assertEqual((done.returncode, done.stdout), (0, "ends 40.0\n"), done.stderr)

    def test_two_processes_tune_one_contraction(self) -> None:
        code = textwrap.dedent("""
            import os, sys
            import numpy as np, lathe
            a = np.ones((41, 40), "f4"); b = np.ones((40, 39), "f4")
            with lathe.tuning(seconds=2, options={"batch": 8}):
                print(lathe.einsum("ij,jk->ik", a, b)[0, 0])
        """)
        environment = {**os.environ, "LATHE_DB": os.path.join(folder(), "shared.db")}
        both = [subprocess.Popen([sys.executable, "-c", code], env=environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in "ab"]
        for process in both:
            said, errors = process.communicate(timeout=120)
            self.assertEqual((process.returncode, said), (0, "40.0\n"), errors)

    def test_a_second_one_is_told_so(self) -> None:
        done = run_python("""
            import support, lathe
            try:
                import _xxsubinterpreters as interpreters
                run = lambda text: interpreters.run_string(interpreters.create(), text)
            except ImportError:
                import _interpreters as interpreters
                run = lambda text: interpreters.exec(interpreters.create(), text)
            run("try:\\n    import lathe\\nexcept ImportError:\\n    pass\\n")
            print("goes on", lathe.compile("C[i] = A[i] * 2", A=(3,)))
        """)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("goes on", done.stdout)

    def test_the_command(self) -> None:
        done = subprocess.run([sys.executable, "-m", "lathe", "--version"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("lathe", done.stdout)


class Report(Case):
    def test_shows_a_database(self) -> None:
        lathe.tune("C[i] = A[i] * 7", A=(50,), trials=2, options=FEW)
        report = lathe.report()
        self.assertIn("<html", report.page)
        self.assertIn("iframe", report._repr_html_())
        path = os.path.join(folder(), "report.html")
        report.save(path)
        self.assertGreater(os.path.getsize(path), 1000)
        self.refused("no database", lambda: lathe.report("/no/records.db"), lathe.Failed)

    def test_imports_records(self) -> None:
        kernel = lathe.tune("C[i] = A[i] * 9", A=(51,), trials=2, options=FEW)
        lines, database = os.path.join(folder(), "lines.jsonl"), os.path.join(folder(), "to.db")
        with open(lines, "w") as file:
            file.writelines(json.dumps(record) + "\n" for record in kernel.records)
        lathe.import_records(lines, database)
        best = lathe.compile("C[i] = A[i] * 9", A=(51,), database=database)
        self.assertEqual(best.trace, kernel.trace)
        self.refused("no/such", lambda: lathe.import_records("/no/such.jsonl"), lathe.Failed)
        try:
            self.assertIn("trial", lathe.import_records(database=database))
        except lathe.Failed as none_for_this_processor:
            self.assertIn("no records came", str(none_for_this_processor))


if __name__ == "__main__":
    main()
