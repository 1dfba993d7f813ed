"""Kernels on PyTorch's tensors, and the backend of torch.compile."""

import os
import random
import unittest
import unittest.mock
import warnings

import lathe
import torch
from lathe._tune import _options, machine_of, tune_workload
from support import Case, floats, folder, main
from torch import nn
from torch._inductor.select_algorithm import extern_kernels

import lathe.torch  # isort: skip
from lathe.torch._measure import best_kernel  # isort: skip

ROUNDS = 40 if os.environ.get("LATHE_TEST_LONG") else 8
ALWAYS = {"always": True}
torch.set_num_threads(1)
torch._inductor.config.compile_threads = 1


class Tensors(Case):
    def test_go_in_and_come_out(self) -> None:
        a, b = torch.rand(7, 13), torch.rand(13, 5)
        kernel = lathe.compile("C[i,j] = sum(k) A[i,k] * B[k,j]", A=a, B=b)
        c = kernel(a, b)
        self.assertIsInstance(c, torch.Tensor)
        self.assert_near(c, a @ b)
        out = torch.empty(7, 5)
        self.assertIs(kernel(a, b, out=out), out)
        self.assert_near(out, a @ b)
        self.assert_near(kernel(a.numpy(), b), a @ b)

    def test_are_refused(self) -> None:
        a, b = torch.rand(7, 13), torch.rand(13, 5)
        kernel = lathe.compile("C[i,j] = sum(k) A[i,k] * B[k,j]", A=a, B=b)
        self.refused("of f64, not of f32", lambda: kernel(a, b.double()))
        self.refused("row-major", lambda: kernel(a, torch.rand(5, 13).t()))
        self.refused("cannot be looked at", lambda: kernel(a.to("meta"), b))
        self.refused("cannot be looked at", lambda: kernel(a.to_sparse(), b))
        self.refused("requires a gradient", lambda: kernel(a, b.requires_grad_()))
        with torch.no_grad():
            self.assert_near(kernel(a, b), a @ b)
        negative = torch.conj(torch.complex(a, a)).imag.contiguous()
        self.assert_near(kernel(negative, b.detach()), -a @ b.detach())
        self.refused("negative", lambda: kernel(torch._neg_view(a), b.detach()))

    def test_einsum(self) -> None:
        x, y = torch.rand(16, 4, 8), torch.rand(16, 8)
        for _ in range(2):
            c = lathe.einsum("ac,abc->cb", y, x)
            self.assertIsInstance(c, torch.Tensor)
            self.assert_near(c, torch.einsum("ac,abc->cb", y, x))
        half = lathe.einsum("ij,jk->ik", x[0].bfloat16(), y.t()[:8, :3].bfloat16())
        self.assertEqual(half.dtype, torch.bfloat16)
        self.assert_near(half.float(), x[0] @ y.t()[:8, :3], 0.05)
        self.assert_near(lathe.einsum("i,i->", y[0], y[1]), y[0] @ y[1])
        weight = torch.rand(8, 3, requires_grad=True)
        lathe.einsum("ij,jk->ik", y, weight).sum().backward()
        self.assertIsNotNone(weight.grad)
        turned = torch._neg_view(y)
        for _ in range(2):
            self.assert_near(lathe.einsum("ij,ij->i", turned, y), -(y * y).sum(1))
            self.assert_near(lathe.einsum("ij,ij->i", y, y), (y * y).sum(1))

    def test_operators(self) -> None:
        a, b = torch.rand(7, 13), torch.rand(13, 5)
        kernel = lathe.compile("C[i,j] = sum(k) A[i,k] * B[k,j]", A=a, B=b)
        operator = lathe.torch.operator_of(kernel, "product_for_a_test")
        self.assert_near(torch.ops.lathe.product_for_a_test(a, b), a @ b)
        torch.library.opcheck(operator, (a, b))
        text = "Y[i,j] = sum(k) X[i,k] * W[k,j]"
        weighted = lathe.compile(text, X=a, W=b, constants=["W"])
        operator = lathe.torch.operator_of(weighted, "weighted_for_a_test")
        for w in (b, b * 2):  # each call has its own
            self.assert_near(operator(a, w), a @ w)
        two = lathe.compile("S[i] = sum(j) A[i,j]; M[i] = max(j) A[i,j]", A=a)
        self.refused("2 outputs", lambda: lathe.torch.operator_of(two))


def compiled(model: nn.Module, **options) -> nn.Module:
    torch._dynamo.reset()
    return torch.compile(model, backend=lathe.torch.backend, options=options or ALWAYS)


def kernels_called(work) -> int:
    """How often Inductor's code calls kernels of Lathe."""
    counted = 0

    def counting(kernel):
        def call(*arguments, **named):
            nonlocal counted
            counted += 1
            return kernel(*arguments, **named)
        return call

    known = {n: k for n, k in vars(extern_kernels).items() if n.startswith("lathe_")}
    vars(extern_kernels).update({name: counting(kernel) for name, kernel in known.items()})
    try:
        work()
    finally:
        vars(extern_kernels).update(known)
    return counted


class RandomGraph(nn.Module):
    """Convolutions of 6 channels; each reads the sum or the product of earlier results."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        chance = random.Random(seed)
        self.layers = nn.ModuleList()
        self.reads = []
        for n in range(7):
            size, groups = chance.choice([1, 3]), chance.choice([1, 1, 2, 6])
            self.layers.append(nn.Conv2d(6, 6, size, padding=size // 2, groups=groups,
                                         bias=chance.random() < 0.5))
            self.reads.append([chance.randrange(n + 1) for _ in range(chance.choice([1, 2]))])
        self.ends = [chance.choice([torch.relu, torch.sigmoid, torch.tanh, torch.clone])
                     for _ in self.layers]
        self.turns = [chance.random() < 0.2 for _ in self.layers]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = [x]
        for layer, reads, end, turns in zip(self.layers, self.reads, self.ends, self.turns):
            given = values[reads[0]] if len(reads) == 1 else values[reads[0]] * values[reads[1]]
            value = end(layer(given))
            values.append(value.flip(1) if turns else value)
        return values[-1] + values[-3]


class Backend(Case):
    def agrees(self, model: nn.Module, *inputs: torch.Tensor, calls: int | None = None) -> None:
        model = model.eval()
        with torch.no_grad():
            fast = compiled(model)
            for _ in range(2):
                self.assert_near(fast(*inputs), model(*inputs), 1e-4)
            if calls is not None:
                self.assertEqual(kernels_called(lambda: fast(*inputs)), calls)

    def test_a_convolution_with_all_that_follows_is_one_kernel(self) -> None:
        model = nn.Sequential(nn.Conv2d(6, 8, 5, padding=2, bias=False), nn.BatchNorm2d(8),
                              nn.ReLU(inplace=True))
        model[1].running_mean.uniform_()
        model[1].running_var.uniform_(0.5, 2)
        self.agrees(model, torch.rand(1, 6, 9, 11), calls=1)

    def test_kinds_of_convolutions(self) -> None:
        for layer, shape in [
            (nn.Conv2d(6, 9, 3, groups=3, padding=1), (2, 6, 7, 9)),
            (nn.Conv2d(6, 6, 3, groups=6, stride=2), (1, 6, 9, 9)),
            (nn.Conv2d(3, 4, (1, 5), padding=(0, 2), dilation=(1, 2)), (1, 3, 8, 11)),
            (nn.Conv2d(3, 4, 3, padding="same"), (1, 3, 8, 11)),
            (nn.Conv1d(5, 7, 3, stride=2, padding=1), (2, 5, 13)),
            (nn.Conv3d(2, 3, 3, padding=1), (1, 2, 5, 6, 7)),
            (nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1), (1, 4, 5, 7)),
            (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
             (1, 4, 5, 7)),
            (nn.ConvTranspose2d(4, 3, 3, stride=2, padding=2, output_padding=1, dilation=2),
             (1, 4, 5, 7)),
            (nn.ConvTranspose1d(4, 3, 3, stride=3, padding=1), (2, 4, 7)),  # of several stages
            (nn.ConvTranspose3d(4, 2, 3, stride=2, padding=1, output_padding=1), (1, 4, 3, 4, 5)),
        ]:
            with self.subTest(layer):
                self.agrees(nn.Sequential(layer, nn.SiLU()), torch.rand(*shape), calls=1)

    def test_functions_of_elements(self) -> None:
        class Follows(nn.Module):
            def __init__(self, function) -> None:
                super().__init__()
                self.layer, self.function = nn.Linear(5, 7), function

            def forward(self, x):
                return self.function(self.layer(x))

        for function in (
            lambda y: torch.sin(y) + torch.cos(y) * torch.tan(y),
            lambda y: torch.log1p(y.abs()) - torch.expm1(y) + torch.log(y.abs() + 1),
            lambda y: torch.sign(y) * torch.round(3 * y) + torch.floor(y) - torch.ceil(2 * y),
            lambda y: torch.where(y > 0.1, y, y * y),
            lambda y: torch.where((y <= 0.3) & (y != 0), y, torch.zeros_like(y)),
            lambda y: torch.where(torch.isnan(torch.sqrt(y)), 2.0, y),
            lambda y: torch.where(torch.isinf(y / 0.0), y, 1.0),
            nn.functional.softplus, nn.functional.elu, nn.functional.mish, nn.functional.leaky_relu,
        ):  # fmt: skip
            with self.subTest(function):
                self.agrees(Follows(function), torch.rand(6, 5) - 0.5, calls=1)

    def test_pools_and_softmax(self) -> None:
        class Rows(nn.Module):
            def forward(self, x):
                return torch.softmax(x, -1) * 2

        for layer, shape in [
            (nn.Sequential(nn.MaxPool2d(3, 2, 1), nn.SiLU()), (1, 3, 9, 10)),
            (nn.MaxPool2d(2, ceil_mode=True, dilation=2), (2, 3, 9, 10)),
            (nn.MaxPool3d(2), (1, 2, 4, 5, 6)),
            (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (1, 3, 9, 10)),
            (nn.AvgPool2d((3, 2), ceil_mode=True), (1, 3, 10, 11)),
            (nn.AvgPool3d(2, padding=1), (1, 2, 4, 5, 6)),
            (Rows(), (5, 13)),
        ]:
            with self.subTest(layer):
                self.agrees(layer, torch.rand(*shape) - 0.5, calls=1)

        def places(x):
            return nn.functional.max_pool2d(x, 2, return_indices=True)

        x = torch.rand(1, 2, 6, 6)
        for got, want in zip(compiled(places)(x), places(x)):
            self.assertTrue(torch.equal(got, want))

    def test_numbers_that_are_none(self) -> None:
        x = torch.tensor([[float("nan"), 0.0, float("inf"), -1.0]])
        with torch.no_grad():
            for function in (torch.sign, lambda y: torch.where(torch.isnan(y), 3.0, y)):
                layer = nn.Conv1d(1, 1, 1, bias=False)
                layer.weight.fill_(1)
                model = nn.Sequential(layer).eval()

                @torch.compile(backend=lathe.torch.backend, options=ALWAYS)
                def fast(given):
                    return function(model(given))  # noqa: B023

                self.assertTrue(torch.equal(fast(x[None]), function(model(x[None]))))

    def test_products(self) -> None:
        self.agrees(nn.Sequential(nn.Linear(13, 7), nn.GELU()), torch.rand(5, 13), calls=1)
        self.agrees(nn.Linear(13, 7, bias=False), torch.rand(1, 13), calls=1)

        class Attention(nn.Module):
            def forward(self, q, k, v):
                return torch.softmax(q @ k.transpose(1, 2) * 0.3, -1) @ v

        self.agrees(nn.TransformerEncoderLayer(16, 2, 24, batch_first=True), torch.rand(1, 5, 16))
        self.agrees(Attention(), *[torch.rand(3, 9, 8) for _ in range(3)])

    def test_a_value_that_is_used_twice(self) -> None:
        class Twice(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = nn.Linear(9, 9), nn.Linear(9, 9)

            def forward(self, x):
                y = self.first(x)
                return y + torch.relu(self.second(y)) * y.mean()

        self.agrees(Twice(), torch.rand(4, 9))

    def test_two_places_have_weights_of_their_own(self) -> None:
        model = nn.Sequential(nn.Linear(9, 9), nn.Linear(9, 9), nn.Linear(9, 9))
        self.agrees(model, torch.rand(4, 9), calls=3)

    def test_random_models(self) -> None:
        chance = random.Random(5)
        follow = [nn.ReLU, nn.SiLU, nn.GELU, nn.Sigmoid, nn.Tanh, nn.Hardswish, nn.ReLU6,
                  nn.Identity]
        for number in range(ROUNDS):
            channels = [chance.choice([1, 2, 3, 4, 6, 8]) for _ in range(3)]
            layers: list[nn.Module] = []
            for i, o in zip(channels, channels[1:]):
                taps = chance.choice([1, 2, 3, 5])
                groups = chance.choice([g for g in (1, 2, 3, i) if i % g == 0 and o % g == 0])
                layers.append(nn.Conv2d(i, o, taps, stride=chance.choice([1, 1, 2]),
                                        padding=chance.randint(0, taps // 2 + 1), groups=groups,
                                        bias=chance.random() < 0.5))
                if chance.random() < 0.5:
                    layers.append(nn.BatchNorm2d(o))
                layers.append(chance.choice(follow)())
            shape = (chance.choice([1, 2]), channels[0], chance.randint(6, 13),
                     chance.randint(6, 13))
            with self.subTest(number, model=layers, shape=shape):
                self.agrees(nn.Sequential(*layers), torch.rand(*shape))

    def test_instances_share_a_graph_and_not_their_weights(self) -> None:
        class Broken(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(9, 9)

            def forward(self, x):
                y = self.layer(x)
                torch._dynamo.graph_break()
                return torch.relu(y)

        self.agrees(nn.Sequential(Broken(), Broken()), torch.rand(4, 9))
        with torch.no_grad():
            torch._dynamo.reset()
            x = torch.rand(4, 9)
            for _ in range(10):
                model = nn.Linear(9, 9).eval()
                fast = torch.compile(model, backend=lathe.torch.backend, options=ALWAYS)
                self.assert_near(fast(x), model(x))

            @torch.compile(backend=lathe.torch.backend, options=ALWAYS)
            def product(x, w):
                return torch.relu(x @ w)

            for _ in range(2):
                w = nn.Parameter(torch.rand(9, 5))
                self.assert_near(product(x, w), torch.relu(x @ w))

    def test_what_changes_something_is_called_once(self) -> None:
        class Counts(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(9, 9)
                self.register_buffer("calls", torch.zeros(9))

            def forward(self, x):
                self.calls += 1
                return self.layer(x) + self.calls

        model = Counts().eval()
        x = torch.rand(4, 9)
        with torch.no_grad():
            fast = compiled(model)
            for calls in (1, 2, 3):
                got = fast(x)
                self.assertEqual(model.calls.tolist(), [calls] * 9)
                self.assert_near(got, model.layer(x) + calls)

            @torch.compile(backend=lathe.torch.backend, options=ALWAYS)
            def adds(x, w):
                return (x.add_(1)) @ w

            x, w = torch.zeros(4, 9), torch.ones(9, 5)
            self.assert_near(adds(x, w), torch.full((4, 5), 9))
            self.assertEqual(x.max().item(), 1)

    def test_what_has_no_expression_is_inductors(self) -> None:
        class Huge(nn.Module):
            def forward(self, x, w):
                y = (x @ w) * 1e-300
                for _ in range(12):
                    y = y * torch.sigmoid(y)
                return y

        self.agrees(Huge(), torch.rand(4, 9), torch.rand(9, 9))

    def test_layouts(self) -> None:
        model = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU()).eval()
        model = model.to(memory_format=torch.channels_last)
        x = torch.rand(2, 4, 6, 5).to(memory_format=torch.channels_last)
        with torch.no_grad():
            self.assertEqual(compiled(model)(x).stride(), model(x).stride())

    def test_inference_mode(self) -> None:
        model = nn.Sequential(nn.Linear(13, 7), nn.ReLU()).eval()
        with torch.inference_mode():
            x = torch.rand(5, 13)
            self.assert_near(compiled(model)(x), model(x))

    def test_what_is_inductors(self) -> None:
        model = nn.Sequential(nn.Linear(13, 7), nn.ReLU())
        x = torch.rand(5, 13)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            lathe.torch._choice._said.clear()
            fast = compiled(model)
            fast(x).sum().backward()
            fast(x)
        self.assertEqual(sum("gradients are on" in str(w.message) for w in said), 1)
        self.assertIsNotNone(model[0].weight.grad)

    def test_caches_are_not_mixed(self) -> None:
        model = nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU()).eval()
        x = torch.rand(1, 3, 9, 9)
        with torch.no_grad():
            for _ in range(2):
                fast = compiled(model)
                fast(x)
                self.assertEqual(kernels_called(lambda f=fast: f(x)), 1)
                torch._dynamo.reset()
                plain = torch.compile(model)
                plain(x)
                self.assertEqual(kernels_called(lambda p=plain: p(x)), 0)

    def test_random_graphs(self) -> None:
        for seed in range(12):
            torch.manual_seed(seed)
            model = RandomGraph(seed)
            x = torch.rand(1 + seed % 2, 6, 7, 5 + seed % 3)
            if seed % 3 == 1:
                x = x.to(memory_format=torch.channels_last)
            if seed % 3 == 2:
                x = x.repeat(1, 1, 1, 2)[..., ::2]
            with self.subTest(seed=seed):
                torch._dynamo.reset()
                self.agrees(model, x)

    def test_weights_that_are_computed(self) -> None:
        class Scaled(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.w = nn.Parameter(torch.rand(9, 4) - 0.5)
                self.scale = nn.Parameter(torch.rand(9, 1))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.relu(x @ (self.w * self.scale).t())

        self.agrees(Scaled(), torch.rand(5, 4), calls=1)

        class Turned(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.w = nn.Parameter(torch.rand(4, 9, 3, 3) - 0.5)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                w = self.w.permute(1, 0, 3, 2)
                return torch.relu(nn.functional.conv2d(x, w, padding=1))

        self.agrees(Turned(), torch.rand(1, 4, 6, 5), calls=1)

    def test_a_wrapper_in_cpp_goes_through_the_dispatcher(self) -> None:
        model = nn.Sequential(nn.Linear(12, 7), nn.ReLU()).eval()
        x = torch.rand(3, 12)
        with torch.no_grad(), torch._inductor.config.patch(cpp_wrapper=True):
            self.assert_near(compiled(model)(x), model(x), 1e-4)

    def test_measured(self) -> None:
        model = nn.Sequential(nn.Conv2d(4, 8, 5, padding=2), nn.ReLU()).eval()
        x = torch.rand(1, 4, 12, 12)
        database = os.path.join(folder(), "measured.db")
        with torch.no_grad():
            fast = compiled(model, database=database)
            self.assert_near(fast(x), model(x))

    def test_a_record_of_fewer_threads_is_timed(self) -> None:
        model = nn.Sequential(nn.Linear(37, 41), nn.ReLU()).eval()
        inputs = torch.rand(5, 37)
        path = os.path.join(folder(), "fewer.db")
        lathe.torch.tune(model, inputs, seconds=2, database=path, progress=False)
        with torch.no_grad():
            workload = lathe.torch._groups_in(model, inputs, None)[0].workload
        for faster in (1, 2):
            def time(kernel: lathe.Kernel, *, seconds: float, faster: int = faster) -> float:
                return 1.0 if kernel.threads == faster else 2.0

            with unittest.mock.patch.object(lathe.Kernel, "time", time):
                machine = machine_of(2, path, cold_cache=True)
                self.assertEqual(best_kernel(workload, machine).threads, faster)
        machine = machine_of(1, path, cold_cache=True)
        self.assertEqual(best_kernel(workload, machine).threads, 1)

    def test_records_of_warm_caches_serve(self) -> None:
        path = os.path.join(folder(), "warm.db")
        model, inputs = nn.Sequential(nn.Linear(31, 43), nn.ReLU()).eval(), torch.rand(7, 31)
        with torch.no_grad():
            workload = lathe.torch._groups_in(model, inputs, None)[0].workload
        options = _options(machine_of(1, path), {"seconds": 2, "trials": 4})
        warm = tune_workload(workload, options, False, None)
        found = best_kernel(workload, machine_of(1, path, cold_cache=True))
        self.assertEqual(found.trace, warm.trace)

    def test_tunes_what_a_model_contains(self) -> None:
        model = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU()).eval()
        database = os.path.join(folder(), "model.db")
        tuned = lathe.torch.tune(model, torch.rand(3, 24), seconds=2, database=database)
        self.assertEqual([t.calls for t in tuned], [2])
        self.assertLessEqual(tuned[0].after, tuned[0].before)
        self.assertGreater(os.path.getsize(database), 0)

    def test_each_part_of_a_model_has_a_turn(self) -> None:
        layers = [nn.Linear(41, 43), nn.ReLU(), nn.Linear(43, 37), nn.ReLU(), nn.Linear(37, 3)]
        database = os.path.join(folder(), "parts.db")
        for _ in range(2):  # it goes on from what is on record
            tuned = lathe.torch.tune(
                nn.Sequential(*layers).eval(), torch.rand(7, 41), seconds=6, database=database
            )
            self.assertEqual([t.calls for t in tuned], [1, 1, 1])
            for part in tuned:
                self.assertLessEqual(part.after, part.before)
                self.assertGreater(part.after, 0)


if __name__ == "__main__":
    unittest.util._MAX_LENGTH = 400
    main()
