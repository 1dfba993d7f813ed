"""Levels of numerics: errors element by element beside NumPy's in f64, where one row, column,
channel or image is a million times as large as the others, and where one is NaN."""

import os
import random

import lathe
import numpy as np
from convolutions import Convolution, bound, random_convolution
from support import FEW, Case, floats, folder, main

ROUNDS = 2000 if os.environ.get("LATHE_TEST_LONG") else 30
LARGE = 1e6
LEVELS = (None, "componentwise")


class Within(Case):
    def assert_within(self, got: np.ndarray, want: np.ndarray, allowed: np.ndarray) -> None:
        self.assertEqual(got.shape, want.shape)
        beyond = np.abs(got.astype("f8") - want) / np.maximum(allowed, np.finfo("f4").tiny)
        self.assertLessEqual(float(beyond.max(initial=0)), 1.0)


def large_slice(chance: random.Random, array: np.ndarray) -> np.ndarray:
    """Of any axis; one element of an axis of one is all of it, and so it is left as it is."""
    axis = chance.randrange(array.ndim)
    made = array.copy()
    if made.shape[axis] > 1:
        made[(slice(None),) * axis + (chance.randrange(made.shape[axis]),)] *= LARGE
    return made


def einsum_bound(subscripts: str, *operands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The result in f64, and what it may be off."""
    exact = [operand.astype("f8") for operand in operands]
    want = np.einsum(subscripts, *exact)
    terms = int(np.einsum(subscripts, *map(np.ones_like, exact)).max())
    return want, bound(terms, np.einsum(subscripts, *map(np.abs, exact)))


PRODUCT = "C[i,j] = sum(k) A[i,k] * B[k,j]"


class Words(Case):
    def compiled(self, **given) -> lathe.Kernel:
        return lathe.compile(PRODUCT, A=(8, 9), B=(9, 7), **given)

    def test_levels(self) -> None:
        for level in ("componentwise", "local", "normwise"):
            self.assertEqual(self.compiled(numerics=level).numerics, level)
        self.assertEqual(self.compiled(algorithm="direct").numerics, "componentwise")
        self.assertEqual(self.compiled(algorithm="direct", numerics="local").numerics,
                         "componentwise")
        text = f"{PRODUCT}; numerics normwise"
        self.assertEqual(lathe.compile(text, A=(8, 9), B=(9, 7)).numerics, "normwise")
        self.assertIn("numerics componentwise", self.compiled(numerics="componentwise").key)
        self.assertEqual(self.compiled().key, self.compiled(numerics="local").key)

    def test_levels_of_searches_and_runs(self) -> None:
        search = lathe.Search(PRODUCT, A=(200, 200), B=(200, 200), numerics="componentwise")
        self.assertEqual(search.compile(search.ask()[0]).numerics, "componentwise")
        tuned = lathe.tune(PRODUCT, A=(8, 9), B=(9, 7), numerics="normwise", trials=2,
                           options=FEW)
        self.assertEqual(tuned.numerics, "normwise")
        self.assertIn("numerics normwise", tuned.records[0]["workload"])

    def test_a_loaded_kernel_does_not_know(self) -> None:
        path = os.path.join(folder(), "product.so")
        kernel = self.compiled(numerics="componentwise")
        kernel.save(path)
        with open(path.replace(".so", ".h"), encoding="utf-8") as header:
            self.assertIn("numerics are componentwise", " ".join(header.read().split()))
        self.assertIsNone(lathe.load(path).numerics)
        self.assertNotIn("numerics", repr(lathe.load(path)))

    def test_wrong_levels(self) -> None:
        part = '"exact" is no level of numerics; name componentwise, local or normwise'
        a = floats(3, 4)
        for work in (
            lambda: self.compiled(numerics="exact"),
            lambda: lathe.tune(PRODUCT, A=(8, 9), B=(9, 7), numerics="exact"),
            lambda: lathe.Search(PRODUCT, A=(8, 9), B=(9, 7), numerics="exact"),
            lambda: lathe.einsum("ij,kj->ik", a, a, numerics="exact"),
            lambda: lathe.einsum("ij->ji", a, numerics="exact"),  # which is the framework's
        ):
            self.refused(part, work)
        lathe.einsum("ij,kj->ik", a, a)
        self.refused(part, lambda: lathe.einsum("ij,kj->ik", a, a, numerics="exact"))
        self.refused("algorithm strassen is normwise",
                     lambda: self.compiled(algorithm="strassen", numerics="local"))

    def test_levels_of_einsum_have_programs_of_their_own(self) -> None:
        from lathe import _einsum

        a, b = floats(21, 22), floats(22, 23, seed=1)
        for _ in range(2):
            for level in (None, "componentwise", "normwise", "local"):
                self.assert_near(lathe.einsum("ij,jk->ik", a, b, numerics=level), a @ b)
                out = np.empty((21, 23), "f4")
                self.assertIs(lathe.einsum("ij,jk->ik", a, b, out=out, numerics=level), out)
                self.assert_near(out, a @ b)
        own = [p for key, p in _einsum._programs.items() if key[2] == ((21, 22), (22, 23))]
        self.assertEqual(sorted(program.workload.numerics for program in own),
                         ["componentwise", "local", "local", "normwise"])

    def test_the_short_way_knows_levels(self) -> None:
        called = []

        def long_way(*operands, **named) -> None:
            called.append(named)

        short = lathe._native.Einsum(long_way)
        a = floats(5, 6)
        texts = {level: f"C[i,j] = sum(k) A[i,k] * B[j,k] * {factor}"
                 for factor, level in enumerate((None, "local", "normwise"), 1)}
        for level, text in texts.items():
            kernel = lathe.compile(text, A=a, B=a)
            short.remember("ik,jk->ij", (a, a), level, kernel, [[0, 1], [0, 1]])
        for factor, level in enumerate(texts, 1):
            self.assert_near(short("ik,jk->ij", a, a, numerics=level), factor * (a @ a.T))
        self.assert_near(short("ik,jk->ij", a, a), a @ a.T)
        self.assertEqual(called, [])
        kernel = lathe.compile("C[i,j] = sum(k) A[i,k] * B[j,k] * 5", A=a, B=a)
        short.remember("ik,jk->ij", (a, a), None, kernel, [[0, 1], [0, 1]], 2)
        self.assert_near(short("ik,jk->ij", a, a, threads=2), 5 * (a @ a.T))
        self.assert_near(short("ik,jk->ij", a, a, threads=None), a @ a.T)
        out = np.empty((5, 5), "f4")
        short("ik,jk->ij", a, a, threads=2, numerics=None, out=out)
        self.assert_near(out, 5 * (a @ a.T))
        self.assertEqual(called, [])
        for named in ({"numerics": "componentwise"}, {"numerics": 3}, {"threads": 3},
                      {"threads": 0}, {"threads": True}, {"threads": 1 << 70}, {"threads": "2"},
                      {"threads": 2, "numerics": "local"}, {"threads": 2, "optimize": True}):
            short("ik,jk->ij", a, a, **named)
            self.assertEqual(called.pop(), named)


class Ranges(Case):
    TEXT = "Y[i] = 1 / (X[i] - 1)"

    def test_are_part_of_the_workload(self) -> None:
        kernel = lathe.compile(self.TEXT, X=(1000,), ranges={"X": (2, 3)})
        self.assertIn("in 2..3", kernel.key)
        x = floats(1000) + 2.5
        self.assert_near(kernel(x), 1 / (x - 1))
        same = lathe.compile("X: f32[1000] in 2..3; " + self.TEXT)
        self.assertEqual(same.key, kernel.key)
        search = lathe.Search(self.TEXT, X=(1000,), ranges={"X": [2, np.float32(3)]})
        self.assertEqual(search.compile(search.ask()[0]).key, kernel.key)
        tuned = lathe.tune(self.TEXT, X=(1000,), ranges={"X": (2, 3)}, trials=2, options=FEW)
        self.assertEqual(tuned.key, kernel.key)
        below = lathe.compile(self.TEXT, X=(1000,), ranges={"X": (-0.5, 0.1)})
        self.assertIn("in -0.5..0.1", below.key)

    def test_of_operators(self) -> None:
        name = lathe.compile("matmul", m=8, n=8, k=8).inputs[0].name
        kernel = lathe.compile("matmul", m=8, n=8, k=8, ranges={name: (0, 1)})
        self.assertIn("in 0..1", kernel.key)

    def test_wrong_ones(self) -> None:
        for part, ranges in (
            ("given for Z, which is no input", {"Z": (0, 1)}),
            ("no smaller", {"X": (1, 0)}),
            ("two numbers", {"X": 1}),
            ("two numbers", {"X": (1, 2, 3)}),
            ("two numbers", {"X": ("a", "b")}),
            ("by name", [("X", 0, 1)]),
        ):
            self.refused(part, lambda r=ranges: lathe.compile(self.TEXT, X=(9,), ranges=r))
        for end in (float("inf"), float("nan")):
            self.refused("ranges", lambda e=end: lathe.compile(self.TEXT, X=(9,),
                                                               ranges={"X": (0, e)}))


class Products(Within):
    """A product that Strassen's algorithm would compute faster."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.a, cls.b = floats(900, 800), floats(700, 800, seed=1).T.copy()
        cls.a[0] *= LARGE
        cls.want, cls.allowed = einsum_bound("ik,kj->ij", cls.a, cls.b)

    def test_each_row_by_itself(self) -> None:
        for numerics in LEVELS:
            for _ in range(2):  # the second call is the short way
                got = lathe.einsum("ik,kj->ij", self.a, self.b, numerics=numerics)
                self.assert_within(got, self.want, self.allowed)
        for schedule in ("default", "predicted"):
            kernel = lathe.compile(PRODUCT, A=self.a, B=self.b, schedule=schedule)
            self.assertEqual(kernel.numerics, "local")
            self.assert_within(kernel(self.a, self.b), self.want, self.allowed)

    def test_nan_stays_in_its_row(self) -> None:
        a = self.a.copy()
        a[3, 5] = np.nan
        got = lathe.einsum("ik,kj->ij", a, self.b)
        self.assertEqual(np.flatnonzero(np.isnan(got).any(1)).tolist(), [3])
        rest = np.arange(len(a)) != 3
        self.assert_within(got[rest], self.want[rest], self.allowed[rest])

    def test_strassen_mixes_rows_where_asked_for(self) -> None:
        # Else the bounds above would say nothing.
        kernel = lathe.compile(PRODUCT, A=self.a, B=self.b, algorithm="strassen",
                               schedule="default")
        self.assertEqual(kernel.numerics, "normwise")
        error = np.abs(kernel(self.a, self.b) - self.want)
        self.assertGreater(float((error / self.allowed).max()), 10)
        self.assertLess(float(error.max()), 2e-5 * np.abs(self.want).max())


class Random(Within):
    """Of each kind a part of the rounds."""

    def rounds(self, part: float) -> range:
        return range(max(1, int(ROUNDS * part)))

    def check_einsum(self, chance: random.Random, subscripts: str, sizes: dict[str, int],
                     numerics: str | None) -> None:
        seed = chance.randrange(1 << 30)
        operands = [
            floats(*[sizes[letter] for letter in term], seed=seed + n)
            for n, term in enumerate(subscripts.partition("->")[0].split(","))
        ]
        place = chance.randrange(len(operands))
        operands[place] = large_slice(chance, operands[place])
        want, allowed = einsum_bound(subscripts, *operands)
        got = lathe.einsum(subscripts, *operands, numerics=numerics)
        self.assert_within(np.asarray(got), want, allowed)

    def test_products(self) -> None:
        for seed in self.rounds(0.25):
            chance = random.Random(seed)
            sizes = dict(zip("ijk", [chance.choice([1, 7, 33, 128, 200, 257]) for _ in "ijk"]))
            a, b = chance.choice(["ik", "ki"]), chance.choice(["kj", "jk"])
            with self.subTest(seed=seed, sizes=sizes):
                self.check_einsum(chance, f"{a},{b}->ij", sizes, chance.choice(LEVELS))

    def test_contractions(self) -> None:
        for seed in self.rounds(0.25):
            chance = random.Random(seed)
            sizes = {letter: chance.choice([1, 2, 3, 5, 8, 12, 17]) for letter in "abcdef"}
            shared = "".join(chance.sample("abcd", chance.randint(1, 2)))
            terms = ["".join(chance.sample("abcd", 4)), shared + "ef"]
            kept = [x for x in "abcdef" if x not in shared or chance.random() < 0.3]
            result = "".join(chance.sample(kept, len(kept)))
            subscripts = f"{','.join(terms)}->{result}"
            with self.subTest(seed=seed, subscripts=subscripts, sizes=sizes):
                self.check_einsum(chance, subscripts, sizes, chance.choice(LEVELS))

    def test_rows(self) -> None:
        for seed in self.rounds(0.2):
            chance = random.Random(seed)
            sizes = {"i": chance.choice([1, 3, 20, 65]), "j": chance.choice([1, 9, 100, 1000])}
            subscripts = chance.choice(["ij,j->i", "ij,ij->i", "ij->i", "ij->j", "ij,i->j"])
            with self.subTest(seed=seed, subscripts=subscripts, sizes=sizes):
                self.check_einsum(chance, subscripts, sizes, chance.choice(LEVELS))

    def test_convolutions(self) -> None:
        for seed in self.rounds(0.3):
            chance = random.Random(seed)
            drawn = random_convolution(chance)
            if chance.random() < 0.8:
                drawn.x = large_slice(chance, drawn.x)
            else:
                drawn.w = large_slice(chance, drawn.w)
            with self.subTest(seed=seed, **drawn.flags, **drawn.how):
                kernel = drawn.kernel()
                self.assert_within(kernel(drawn.x, drawn.w), *drawn.expected(kernel.numerics))


class Neighbours(Within):
    def test_a_tile_is_mixed_and_nothing_beyond_it(self) -> None:
        x, w = floats(1, 16, 40, 24), floats(16, 16, 3, 3, seed=1)
        x[:, :, 0] *= LARGE
        convolution = Convolution(x, w, {"algorithm": "F4x4", "schedule": "default"}, pad=[1, 1])
        kernel = convolution.kernel()
        self.assertEqual(kernel.numerics, "local")
        got, (want, allowed) = kernel(x, w), convolution.expected("componentwise")
        error = np.abs(got - want) / allowed
        self.assertGreater(float(error[:, :, :6].max()), 10)
        self.assertLess(float(error[:, :, 6:].max()), 1)
        self.assert_within(got, *convolution.expected("local"))


class Nans(Case):
    def test_componentwise_convolutions_keep_them_where_a_tap_is(self) -> None:
        for seed in range(max(4, ROUNDS // 20)):
            chance = random.Random(1000 + seed)
            drawn = random_convolution(chance)
            drawn.how = {"numerics": "componentwise"}
            flat = drawn.x.reshape(-1)
            for value in (np.nan, np.inf, -np.inf):
                flat[chance.randrange(flat.size)] = value
            with self.subTest(seed=seed, **drawn.flags), np.errstate(invalid="ignore"):
                got = drawn.kernel()(drawn.x, drawn.w)
                want = drawn.summed(drawn.padded(drawn.x), drawn.w)
                self.assertTrue(np.array_equal(np.isnan(got), np.isnan(want)))
                self.assertTrue(np.array_equal(np.isinf(got), np.isinf(want)))


if __name__ == "__main__":
    main()
