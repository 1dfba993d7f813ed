"""The backend of torch.compile where something changes, fails, or is given wrongly."""

import os
import signal
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

    def test_weights_of_inference_mode(self) -> None:
        with torch.inference_mode():
            model, x = small(), torch.rand(1, 4, 9, 9)
            fast = compiled(model)
            for _ in range(3):
                self.assert_near(fast(x), model(x), 1e-4)
                model[0].weight.mul_(1.5)

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

        model, x = Counts().eval(), torch.ones(3, 6)
        lathe.torch.tune(model, x, seconds=1, progress=False)
        self.assertEqual(float(model.calls), 0)
        self.assertEqual(float(x.sum()), 18)

    def test_ctrl_c_ends_it(self) -> None:
        timer = threading.Timer(4, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        tuned = lathe.torch.tune(small(), torch.rand(1, 4, 9, 9), seconds=600, progress=False)
        timer.join()
        self.assertIsInstance(tuned, list)


if __name__ == "__main__":
    main()
