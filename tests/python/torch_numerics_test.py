"""Infinities and NaNs inside torch.compile: where eager PyTorch has them."""

import os
import random
import warnings

import lathe
import torch
from support import Case, main
from torch import nn

import lathe.torch  # isort: skip

ROUNDS = 12 if os.environ.get("LATHE_TEST_LONG") else 3
INF, NAN = float("inf"), float("nan")
torch.set_num_threads(1)
torch._inductor.config.compile_threads = 1


class Each(nn.Module):
    """Layers side by side, each with an input of its own."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(layer(x) for layer, x in zip(self.layers, inputs))


def random_layer(chance: random.Random) -> tuple[nn.Module, tuple[int, ...]]:
    """A convolution or a product, and the shape of its input."""
    ins, outs = chance.choice([3, 8, 16, 32]), chance.choice([5, 8, 16, 32])
    if chance.random() < 0.25:
        return nn.Linear(ins, outs), (chance.choice([3, 7, 20]), ins)
    taps = chance.choice([1, 2, 3, 3, 5])
    groups = chance.choice([1, 1, 2]) if ins % 2 == 0 and outs % 2 == 0 else 1
    kind, rank = chance.choice([(nn.Conv2d, 2), (nn.Conv2d, 2), (nn.Conv1d, 1), (nn.Conv3d, 3)])
    layer = kind(ins, outs, taps, stride=chance.choice([1, 1, 2]), groups=groups,
                 padding=chance.randint(0, taps // 2 + 1), dilation=chance.choice([1, 1, 2]))
    sizes = [chance.randint(9, {1: 40, 2: 20, 3: 10}[rank]) for _ in range(rank)]
    return layer, (chance.choice([1, 2]), ins, *sizes)


def with_specials(chance: random.Random, x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    for value in chance.choices([INF, -INF, NAN], k=chance.randint(1, 3)):
        x.view(-1)[chance.randrange(x.numel())] = value
    return x


class Alike(Case):
    def setUp(self) -> None:
        torch._dynamo.reset()
        torch.manual_seed(3)

    def assert_alike(self, got: torch.Tensor, want: torch.Tensor) -> None:
        self.assertEqual(got.shape, want.shape)
        for which in (torch.isnan, torch.isposinf, torch.isneginf):
            self.assertTrue(torch.equal(which(got), which(want)), which.__name__)
        finite = want.isfinite()
        self.assert_near(got[finite], want[finite], 1e-4)

    def agrees(self, model: nn.Module, *calls: tuple[torch.Tensor, ...], **options) -> None:
        """In each of the calls; none makes the backend give a graph up."""
        model = model.eval()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            fast = torch.compile(model, backend=lathe.torch.backend,
                                 options={"always": True, **options})
            for inputs in calls:
                got, want = fast(*inputs), model(*inputs)
                for a, b in zip(*(y if isinstance(y, tuple) else (y,) for y in (got, want))):
                    self.assert_alike(a, b)


class Given(Alike):
    """What a call is given."""

    def test_a_pixel_that_is_infinite(self) -> None:
        model = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())
        x = torch.randn(1, 32, 28, 28)
        infinite = x.clone()
        infinite[0, 3, 5, 5] = INF
        self.agrees(model, (x,), (infinite,), numerics="componentwise")

    def test_transposed_convolutions(self) -> None:
        chance = random.Random(4)
        layers = [nn.ConvTranspose2d(8, 16, taps, stride=stride, padding=pad)
                  for taps, stride, pad in ((3, 2, 1), (4, 2, 1), (3, 1, 1), (5, 3, 0))]
        layers.append(nn.ConvTranspose1d(8, 16, 7, stride=3, padding=6))
        inputs = [torch.randn(1, 8, 9, 9) for _ in range(4)] + [torch.randn(1, 8, 15)]
        calls = [tuple(with_specials(chance, x) for x in inputs) for _ in range(4)]
        self.agrees(Each(layers), tuple(inputs), *calls, numerics="componentwise")

    def test_random_layers(self) -> None:
        for seed in range(ROUNDS):
            chance = random.Random(seed)
            torch._dynamo.reset()
            layers, shapes = zip(*(random_layer(chance) for _ in range(6)))
            inputs = [torch.randn(*shape) for shape in shapes]
            calls = [tuple(with_specials(chance, x) for x in inputs) for _ in range(4)]
            with self.subTest(seed=seed, layers=layers, shapes=shapes):
                self.agrees(Each(list(layers)), tuple(inputs), *calls, numerics="componentwise")


class Own(Alike):
    """The module's own infinities, at the level that is the default."""

    def test_weights(self) -> None:
        layers = [nn.Conv2d(32, 32, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1, groups=16),
                  nn.Conv2d(32, 32, 3), nn.Linear(40, 24), nn.Linear(40, 24)]
        with torch.no_grad():
            for layer, value in zip(layers, (INF, NAN, -INF, INF, NAN)):
                layer.weight.view(-1)[5] = value
        shapes = [(1, 32, 20, 20), (1, 16, 20, 20), (1, 32, 20, 20), (7, 40), (7, 40)]
        self.agrees(Each(layers), tuple(torch.randn(*shape) for shape in shapes))

    def test_biases_and_what_follows(self) -> None:
        # Eager has NaN for GELU of infinity, and Inductor infinity.
        ends = [nn.ReLU(), nn.Sigmoid(), nn.Tanh(), nn.Hardtanh(), nn.Identity(),
                nn.SiLU(), nn.ReLU6()]
        layers = []
        for end in ends:
            layer = nn.Conv2d(16, 8, 3, padding=1)
            with torch.no_grad():
                layer.bias[:3] = torch.tensor([INF, -INF, NAN])
            layers.append(nn.Sequential(layer, end))
        self.agrees(Each(layers), tuple(torch.randn(1, 16, 12, 12) for _ in ends))

    def test_masks(self) -> None:
        class Attention(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.q, self.k, self.v = (nn.Linear(24, 24) for _ in range(3))
                self.register_buffer("mask", torch.full((9, 9), -INF).triu(1))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                scores = self.q(x) @ self.k(x).transpose(1, 2) * 0.2 + self.mask
                return torch.softmax(scores, -1) @ self.v(x)

        class Fills(Attention):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                scores = self.q(x) @ self.k(x).transpose(1, 2)
                scores = scores.masked_fill(self.mask.isinf(), -INF)
                return torch.softmax(scores, -1) @ self.v(x)

        x = torch.randn(2, 9, 24)
        for kind in (Attention, Fills):
            torch._dynamo.reset()
            self.agrees(kind(), (x,))

    def test_pixels_that_a_mask_makes_infinite(self) -> None:
        class Masked(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a, self.b = nn.Conv2d(32, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)
                mask = torch.zeros(20, 20)
                mask[4, 7] = INF
                self.register_buffer("mask", mask)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.b(torch.relu(self.a(x)) + self.mask)

        self.agrees(Masked(), (torch.randn(1, 32, 20, 20),))


class Levels(Alike):
    """Which level the groups of a model get."""

    def levels(self, model: nn.Module, *inputs: torch.Tensor, numerics: str | None = None):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            groups = lathe.torch._groups_in(model.eval(), inputs, numerics)
        return [group.workload.numerics for group in groups]

    def test_follow_the_constants(self) -> None:
        model = nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
        x = torch.randn(1, 4, 9, 9)
        self.assertEqual(self.levels(model, x), ["local"] * 2)
        self.assertEqual(self.levels(model, x, numerics="normwise"), ["normwise"] * 2)
        with torch.no_grad():
            model[0].bias[1] = INF
        for numerics in (None, "normwise"):  # which reaches the second
            self.assertEqual(self.levels(model, x, numerics=numerics)[1], "componentwise")
        with torch.no_grad():
            model[0].weight[0, 0, 0, 0] = NAN
        self.assertEqual(self.levels(model, x), ["componentwise"])  # the first is Inductor's
        product = nn.Sequential(nn.Linear(9, 9), nn.Linear(9, 9))
        with torch.no_grad():
            product[1].weight[0, 0] = INF
        x = torch.randn(3, 9)
        self.assertEqual(self.levels(product, x), ["local"] * 2)
        self.assertEqual(self.levels(product, x, numerics="normwise"),
                         ["normwise", "componentwise"])

    def test_of_a_tuned_model_are_found(self) -> None:
        model, x = nn.Sequential(nn.Linear(9, 9), nn.ReLU()).eval(), torch.randn(3, 9)
        tuned = lathe.torch.tune(model, x, seconds=1, numerics="componentwise", progress=False)
        self.assertIn("numerics componentwise", tuned[0].key)

    def test_wrong_names(self) -> None:
        model, x = nn.Linear(9, 9).eval(), torch.randn(3, 9)
        part = "no level of numerics; name componentwise, local or normwise"
        self.refused(part, lambda: lathe.torch.tune(model, x, numerics="exact"))
        for given, said in (("exact", part), (3, "give the name of a level")):
            torch._dynamo.reset()
            with torch.no_grad(), self.assertRaisesRegex(Exception, said):
                self.agrees(model, (x,), numerics=given)


if __name__ == "__main__":
    main()
