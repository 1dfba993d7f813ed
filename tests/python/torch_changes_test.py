"""The backend of torch.compile where something changes, fails, or is given wrongly."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings

import lathe
import torch
from support import Case, folder, main
from torch import nn

import lathe.torch  # isort: skip

torch.set_num_threads(1)
torch._inductor.config.compile_threads = 1


def compiled(model, **options):
    return torch.compile(model, backend=lathe.torch.backend, options={"always": True, **options})


def small() -> nn.Module:
    return nn.Sequential(nn.Conv2d(4, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 3, 3)).eval()


class Changes(Case):
    def setUp(self) -> None:
        torch._dynamo.reset()
        torch.manual_seed(4)

    def test_weights(self) -> None:
        model, x = small(), torch.rand(1, 4, 9, 9)
        with torch.no_grad():
            fast = compiled(model)
            for _ in range(12):  # more often than it compiles anew
                self.assert_near(fast(x), model(x), 1e-4)
                self.assert_near(fast(x), model(x), 1e-4)
                model[0].weight.mul_(1.5)
                model.load_state_dict(small().state_dict())
                self.assert_near(fast(x), model(x), 1e-4)
                model[2].bias.data = torch.rand(3)
                self.assert_near(fast(x), model(x), 1e-4)

    def test_weights_of_inference_mode(self) -> None:
        with torch.inference_mode():
            model, x = small(), torch.rand(1, 4, 9, 9)
            fast = compiled(model)
            for _ in range(3):
                self.assert_near(fast(x), model(x), 1e-4)
                model[0].weight.mul_(1.5)

    def test_a_graph_that_is_gone_leaves_no_kernels(self) -> None:
        from lathe.torch import _operators

        def call_one() -> None:
            model, x = small(), torch.rand(1, 4, 9, 9)
            with torch.no_grad():
                compiled(model)(x)

        call_one()
        torch._dynamo.reset()
        gc.collect()
        before = len(_operators._kernels)
        for _ in range(2):
            call_one()
            torch._dynamo.reset()
        gc.collect()
        self.assertEqual(len(_operators._kernels), before)

    def test_names_that_are_taken(self) -> None:
        kernel = lathe.compile("C[i] = A[i] * 2", A=(3,))
        for name in [f"{begin}{n}" for n in range(400) for begin in ("placed", "kernel")]:
            if not hasattr(torch.ops.lathe, name):
                lathe.torch.operator_of(kernel, name)
        self.refused("already", lambda: lathe.torch.operator_of(kernel, "placed1"))
        self.refused("no name", lambda: lathe.torch.operator_of(kernel, "a-b"))
        lathe.torch.operator_of(kernel)
        model, x = small(), torch.rand(1, 4, 9, 9)
        with torch.no_grad():
            self.assert_near(compiled(model)(x), model(x), 1e-4)

    def test_branches(self) -> None:
        class Branches(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = torch.relu(self.a(x))
                return torch.cond(y.sum() > 4, lambda v: v @ v.t(), lambda v: v @ (v + 1).t(), (y,))

        model = Branches().eval()
        with torch.no_grad():
            fast = compiled(model)
            for scale in (0.1, 1.0, 5.0, -3.0):
                x = torch.rand(6, 6) * scale
                self.assert_near(fast(x), model(x), 1e-4)

    def test_without_groups_weights_are_frozen_all_the_same(self) -> None:
        model, x = small().double(), torch.rand(1, 4, 9, 9, dtype=torch.float64)
        with torch.no_grad():
            fast = compiled(model)
            self.assert_near(fast(x), model(x), 1e-6)
            model[0].weight.mul_(1.5)
            self.assert_near(fast(x), model(x), 1e-6)
        scale = torch.rand(5)
        with torch.no_grad():
            self.assert_near(compiled(nn.ReLU())(scale - 0.5), torch.relu(scale - 0.5))

    def test_several_threads_call_first(self) -> None:
        for _ in range(2):
            torch._dynamo.reset()
            model, x = small(), torch.rand(1, 4, 9, 9)
            wrong = []
            fast = compiled(model)

            def work() -> None:
                try:
                    with torch.no_grad():
                        for _ in range(20):
                            if not torch.allclose(fast(x), model(x), atol=1e-4):
                                wrong.append("differs")
                except Exception as error:  # noqa: BLE001
                    wrong.append(repr(error))

            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_infinities_and_nans_are_results(self) -> None:
        class Masked(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a = nn.Linear(16, 16)
                self.register_buffer("mask", torch.ones(8, 16, dtype=torch.bool).triu(1))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.a(x).masked_fill(self.mask, float("-inf"))

        x = torch.randn(8, 16)
        missing = torch.randn(1, 4, 9, 9)
        missing[0, 0, 0, 0] = float("nan")
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            for model, given in ((Masked().eval(), x), (small(), missing)):
                torch._dynamo.reset()
                got, want = compiled(model)(given), model(given)
                self.assertTrue(torch.allclose(got, want, atol=1e-4, equal_nan=True))

    def test_what_inductor_cannot_freeze(self) -> None:
        class Scattered(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a = nn.Conv2d(6, 12, 5, padding=2)
                self.b = nn.Conv2d(12, 12, 5, padding=2)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = self.a(x)
                y[:, 0] = 3.0
                return self.b(y) + y

        model, x = Scattered().eval(), torch.randn(1, 6, 9, 9)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast = compiled(model)
            for _ in range(2):
                self.assert_near(fast(x), model(x), 1e-4)

    def test_wrong_options(self) -> None:
        model, x = small(), torch.rand(1, 4, 9, 9)
        table = os.path.join(folder(), "table.db")
        with open(table, "w", encoding="utf-8") as file:
            file.write("no database\n" * 100)
        for options, part in (
            ({"nope": 1}, "no option"),
            ({"always": "x"}, "True or False"),
            ({"database": 7}, "give a file"),
            ({"database": folder()}, "this is a folder"),
            ({"database": table}, "table.db"),
        ):
            torch._dynamo.reset()
            with self.subTest(options=options), torch.no_grad():
                with self.assertRaisesRegex(Exception, part):
                    compiled(model, **options)(x)


class Tuning(Case):
    def test_wrong_input(self) -> None:
        model, x = small(), torch.rand(1, 4, 9, 9)

        def tune(**given):
            return lambda: lathe.torch.tune(model, x, **given)

        for seconds in (0, -1, float("nan"), float("inf"), None, "a"):
            self.refused("more than 0", tune(seconds=seconds))
        self.refused("this is a folder", tune(seconds=2, database=folder()), lathe.Failed)
        self.refused("/proc", tune(seconds=2, database="/proc/x.db"), lathe.Failed)
        model.train()
        self.refused("eval()", tune(seconds=2))

    def test_leaves_inputs_and_buffers_as_they_are(self) -> None:
        class Counts(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a = nn.Linear(6, 6)
                self.register_buffer("calls", torch.zeros(()))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.calls += 1
                return self.a(x.mul_(2))

        class Rebinds(Counts):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.calls = self.calls + 1
                return self.a(x)

        for kind in (Counts, Rebinds):
            model, x = kind().eval(), torch.ones(3, 6)
            lathe.torch.tune(model, x, seconds=1, progress=False)
            self.assertEqual(float(model.calls), 0)
            self.assertEqual(float(x.sum()), 18)
        with torch.inference_mode():
            model = nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8)).eval()
            lathe.torch.tune(model, torch.rand(1, 4, 9, 9), seconds=1, progress=False)

    def test_a_child_forked_by_a_process_with_threads(self) -> None:
        code = """
            import os, signal, sys, torch, lathe
            torch.set_num_threads(2)
            (torch.rand(900, 900) @ torch.rand(900, 900)).exp().sum()
            child = os.fork()
            if child == 0:
                kernel = lathe.tune("C[i,j] = sum(k) A[i,k] * B[k,j]", A=(20, 21), B=(21, 22),
                                    trials=48, options={"batch": 8}, progress=False)
                os._exit(0 if kernel.trials == 48 else 1)
            signal.signal(signal.SIGALRM, lambda *_: (os.kill(child, signal.SIGKILL), sys.exit(3)))
            signal.alarm(120)
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
        environment = {**os.environ, "LATHE_DB": os.path.join(folder(), "forked.db")}
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment)
        self.assertEqual(done.returncode, 0)

    def test_ctrl_c_ends_it(self) -> None:
        timer = threading.Timer(4, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        tuned = lathe.torch.tune(small(), torch.rand(1, 4, 9, 9), seconds=600, progress=False)
        timer.join()
        self.assertIsInstance(tuned, list)


if __name__ == "__main__":
    main()
