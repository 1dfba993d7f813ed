"""einsum against NumPy's: fixed cases, random ones, and what both refuse."""

import os
import random
import unittest.mock

import lathe
import numpy as np
from lathe._path import assumed_seconds, order_of, result_of
from support import FEW, Case, floats, folder, main

ROUNDS = 400 if os.environ.get("LATHE_TEST_LONG") else 40


class Einsum(Case):
    def agree(self, subscripts: str, *operands: np.ndarray) -> None:
        exact = [o.astype("f8") if o.dtype.kind == "f" else o for o in operands]
        want = np.einsum(subscripts, *exact)
        lathe.einsum(subscripts, *operands)
        got = lathe.einsum(subscripts, *operands)  # the short way, where there is one
        self.assertEqual(np.asarray(got).dtype, np.result_type(*operands), subscripts)
        self.assert_near(got, want, 1e-2 if np.asarray(got).dtype == "f2" else 1e-4)

    def test_two_operands(self) -> None:
        a, b = floats(7, 5), floats(5, 9, seed=1)
        self.agree("ij,jk->ik", a, b)
        self.agree("ij,jk", a, b)
        self.agree(" i j , j k -> k i ", a, b)
        self.agree("i,j->ij", floats(4), floats(6))
        self.agree("i,i->", floats(9), floats(9))
        self.agree("ij,k->k", a, floats(4))
        self.agree("ac,abc->cb", floats(5, 6), floats(5, 4, 6))
        self.agree("ij,jk->k", a, b)

    def test_one_operand(self) -> None:
        a = floats(7, 5)
        for subscripts in ("ij->i", "ij->", "ij->ji", "ij"):
            self.agree(subscripts, a)
        for subscripts in ("ii->i", "ii", "ii->"):
            self.agree(subscripts, floats(5, 5))

    def test_more_operands(self) -> None:
        self.agree("ij,jk,kl->il", floats(7, 5), floats(5, 9), floats(9, 3))
        self.agree("ij,jk,kl", floats(7, 5), floats(5, 9), floats(9, 3))
        self.agree("a,b,c,d,e,f->", *[floats(n) for n in range(2, 8)])
        self.agree("ab,bc,cd,de,ef->af", *[floats(n, n + 1) for n in range(3, 8)])

    def test_points_and_lengths_of_one(self) -> None:
        self.agree("...ij,...jk->...ik", floats(2, 3, 4, 5), floats(3, 5, 6))
        self.agree("...ij,jk", floats(2, 3, 4, 5), floats(5, 6))
        self.agree("i...->...", floats(3, 4, 5))
        self.agree("ij,ij->i", floats(7, 1), floats(7, 5))
        self.agree(",i->i", np.array(3, "f4"), floats(4))
        self.agree(",->", np.array(3, "f4"), np.array(2, "f4"))

    def test_layouts(self) -> None:
        a, b = floats(10, 8), floats(8, 6, seed=1)
        self.agree("ij,jk->ik", np.asfortranarray(a), b)
        self.agree("ij,jk->ik", a[:, ::2], b[::2])
        self.agree("ij,jk->ik", a[::-1], b[:, ::-1])
        self.agree("ji,jk->ik", a.T, b)
        self.agree("ij,jk->ik", np.broadcast_to(floats(8), (10, 8)), b)
        odd = np.zeros(8 * 6 * 4 + 1, "u1")[1:].view("f4").reshape(8, 6)
        odd[:] = b
        self.agree("ij,jk->ik", a, odd)
        self.agree("abc,cd->abd", floats(4, 5, 6).transpose(1, 0, 2), floats(6, 7))

    def test_types(self) -> None:
        a, b = floats(7, 5) * 9, floats(5, 9) * 9
        for pair in ("f8 f4", "f2 f2", "i4 i4", "i8 i4", "i2 i2"):
            left, right = pair.split()
            self.agree("ij,jk->ik", a.astype(left), b.astype(right))
        self.agree("ij,jk->ik", floats(0, 5), b)

    def test_output(self) -> None:
        a, b = floats(7, 5), floats(5, 9, seed=1)
        square = floats(7, 7)
        want = square @ square
        for out in (np.empty((7, 7), "f8"), square):  # of another type, an operand's memory
            lathe.einsum("ij,jk->ik", square.copy() if out is not square else square, square,
                         out=out)
            self.assert_near(out, want)
        for out in (np.empty((7, 9), "f4"), np.empty((9, 7), "f4").T):
            for _ in range(2):
                out[:] = 0
                self.assertIs(lathe.einsum("ij,jk->ik", a, b, out=out), out)
                self.assert_near(out, a @ b)

    def test_refusals(self) -> None:
        a, b = floats(7, 5), floats(5, 9)
        for part, subscripts, operands in [
            ("for 2 operands, and 1", "ij,jk->ik", [a]),
            ('"z" in the result', "ij,jk->iz", [a, b]),
            ('"j" is 5 long', "ij,kj->ik", [a, b]),
            ("names 3 dimensions", "ijk,jk->ik", [a, b]),
            ("no letter", "i1,jk->ik", [a, b]),
            ("twice in the result", "ij,jk->ii", [a, b]),
            ("point", "..ij,jk->ik", [a, b]),
            ("needs operands", "ij", []),
            ('lacks the "..."', "...,...->a", [a, a]),
            ("3 and 1 long", "ii,i->i", [floats(3, 1), floats(3)]),
            ('lacks the "..."', "...i->i", [a]),
            ("given as list", [[0]], [a]),
            ("given as int", 3, [a]),
            ("operand 0 are given as 'ij'", a, ["ij"]),
            ("operand 1 are given as [0.5]", a, [[0, 1], b, [0.5]]),
            ("the result are given as", a, [[0, 1], b, [1, 2], [None]]),
            ("-1 stands among", a, [[0, -1]]),
            ("53 different numbers", np.ones((1,) * 53, "f4"), [list(range(53))]),
            ('"B" in the result', a, [[0, 2], [1]]),
            ("no letter", "ij-jk->ik", [a, b]),
            ("no letter", "ij,jk->i->k", [a, b]),
        ]:
            self.refused(part, lambda s=subscripts, o=operands: lathe.einsum(s, *o))
        out = np.empty((3, 3), "f4")
        self.refused("shape (3, 3)", lambda: lathe.einsum("ij,jk->ik", a, b, out=out))
        self.refused("given as list", lambda: lathe.einsum("ij,jk->ik", a, b, out=[1]))
        with self.assertRaisesRegex(lathe.InvalidArgument, "more than 0"):
            with lathe.tuning(seconds=-1):
                pass

    def test_many_letters(self) -> None:
        self.agree("abcdefghi,a->bcdefghi", np.ones((2,) * 9, "f4"), np.ones(2, "f4"))
        self.agree("abcdefghij->", floats(*(2,) * 10))

    def test_without_a_database(self) -> None:
        path = os.environ["LATHE_DB"]
        os.environ["LATHE_DB"] = __file__
        try:
            a = floats(5, 23)
            with self.assertWarnsRegex(UserWarning, "without records"):
                self.assert_near(lathe.einsum("ij,kj->ik", a, a), a @ a.T)
        finally:
            os.environ["LATHE_DB"] = path

    def test_random(self) -> None:
        seeded = random.Random(7)
        done = 0
        while done < ROUNDS:
            sizes = {letter: seeded.choice([1, 1, 2, 3, 4, 5, 7]) for letter in "abcdef"}
            terms = [
                "".join(seeded.choice("abcdef") for _ in range(seeded.randint(0, 4)))
                for _ in range(seeded.randint(1, 4))
            ]
            seen = sorted(set("".join(terms)))
            result = "".join(seeded.sample(seen, seeded.randint(0, len(seen))))
            operands = []
            for n, term in enumerate(terms):
                shape = [1 if seeded.random() < 0.1 else sizes[letter] for letter in term]
                order = list(range(len(shape)))
                seeded.shuffle(order)
                operand = floats(*[shape[d] for d in order], seed=n)
                operands.append(operand.transpose(np.argsort(order)) if order else operand)
            subscripts = ",".join(terms) + "->" + result
            try:
                np.einsum(subscripts, *operands)
            except ValueError:
                continue
            done += 1
            with self.subTest(subscripts, shapes=[o.shape for o in operands]):
                self.agree(subscripts, *operands)

    def lists_agree(self, *given) -> None:
        exact = [x.astype("f8") if getattr(x, "dtype", None) == "f4" else x for x in given]
        for _ in range(2):
            got = lathe.einsum(*given)
            self.assert_near(got, np.einsum(*exact), 1e-4)

    def test_lists_of_numbers(self) -> None:
        a, b = floats(7, 5), floats(5, 9, seed=1)
        self.lists_agree(a, [0, 1], b, [1, 2], [0, 2])
        self.lists_agree(a, [0, 1], b, [1, 2])
        self.lists_agree(a, [30, 3], b, (3, 27))  # the numbers' order is that of the result
        self.lists_agree(a, [0, 1], [])
        self.lists_agree(floats(5, 5), [4, 4], [4])
        self.lists_agree(floats(2, 7, 5), [..., 0, 1], b, [1, 2], [..., 2, 0])
        self.lists_agree(a, np.array([0, 1]), b, np.array([1, 2]), np.array([2, 0]))
        out = np.empty((7, 9), "f4")
        self.assertIs(lathe.einsum(a, [0, 1], b, [1, 2], [0, 2], out=out, threads=1), out)
        self.assert_near(out, a @ b)

    def test_random_forms(self) -> None:
        """Points, repeated letters, lengths of 1, spaces, lists, results that are not told."""
        seeded = random.Random(11)
        done = 0
        while done < ROUNDS:
            sizes = {letter: seeded.choice([1, 2, 3, 4, 5]) for letter in "abcdeZ"}
            row = [seeded.choice([1, 2, 3]) for _ in range(seeded.randint(0, 2))]
            terms, operands = [], []
            for n in range(seeded.randint(1, 5)):
                term = [seeded.choice("abcdeZ") for _ in range(seeded.randint(0, 3))]
                term += [seeded.choice(term)] if term and seeded.random() < 0.2 else []
                shape = [1 if seeded.random() < 0.1 else sizes[letter] for letter in term]
                if seeded.random() < 0.4:
                    place = seeded.randint(0, len(term))
                    own = row[seeded.randint(0, len(row)) :]
                    term.insert(place, "...")
                    shape[place:place] = [1 if seeded.random() < 0.2 else x for x in own]
                terms.append(term)
                operands.append(floats(*shape, seed=n))
            seen = sorted({letter for term in terms for letter in term})
            result = seeded.sample(seen, seeded.randint(0, len(seen)))
            told = seeded.random() < 0.7
            space = seeded.choice(["", " "])
            text = (space + ",").join(space.join(term) for term in terms)
            text += f"{space}->{space}" + "".join(result) if told else ""
            numbers = {"...": ..., **{x: n for n, x in enumerate("Zabcde")}}
            lists = [x for o, t in zip(operands, terms) for x in (o, [numbers[y] for y in t])]
            lists += [[numbers[x] for x in result]] if told else []
            try:
                np.einsum(text, *operands)
            except ValueError:
                continue
            done += 1
            with self.subTest(text, shapes=[o.shape for o in operands]):
                self.agree(text, *operands)
                self.lists_agree(*lists)

    def test_orders_cost_least(self) -> None:
        """No order of pairs costs less than the one that is found."""

        def every(terms: tuple[str, ...], result: str) -> float:
            if len(terms) == 1:
                return 0
            costs = []
            for i in range(len(terms)):
                for j in range(i + 1, len(terms)):
                    rest = tuple(t for k, t in enumerate(terms) if k not in (i, j))
                    made = result_of(terms[i], terms[j], "".join(rest) + result) if rest else result
                    costs.append(cost((terms[i], terms[j], made)) + every((*rest, made), result))
            return min(costs)

        seeded = random.Random(5)
        for _ in range(30):
            sizes = {letter: seeded.randint(1, 40) for letter in "abcdefg"}
            terms = tuple(
                "".join(seeded.sample("abcdefg", seeded.randint(1, 3)))
                for _ in range(seeded.randint(3, 5))
            )
            seen = sorted(set("".join(terms)))
            result = "".join(seeded.sample(seen, seeded.randint(0, len(seen))))

            def cost(pair: tuple[str, str, str]) -> float:
                return assumed_seconds(pair, sizes)

            left, spent = list(terms), 0.0
            for i, j in order_of(terms, result, cost):
                first, second = left[i], left[j]
                left = [t for k, t in enumerate(left) if k not in (i, j)]
                made = result_of(first, second, "".join(left) + result) if left else result
                spent += cost((first, second, made))
                left.append(made)
            self.assertAlmostEqual(spent, every(terms, result), delta=1e-9 * spent)

    def test_a_callback_may_call_it(self) -> None:
        a, b = floats(9, 21), floats(21, 10, seed=1)
        got = []
        with lathe.tuning(trials=4, seconds=None, options=FEW,
                          callback=lambda _: got.append(lathe.einsum("ij,jk->ik", a, b))):
            lathe.einsum("ij,jk->ik", a, b)
        self.assert_near(got[0], a @ b)

    def test_databases_of_blocks(self) -> None:
        a, b = floats(9, 22), floats(22, 10, seed=1)
        lathe.einsum("ij,jk->ik", a, b)
        path = os.path.join(folder(), "block.db")
        with lathe.tuning(trials=4, seconds=None, options=FEW, database=path):
            lathe.einsum("ij,jk->ik", a, b)
        self.assertTrue(os.path.exists(path))

    def test_small_work_has_fewer_threads(self) -> None:
        with unittest.mock.patch("lathe._einsum.threads_of", lambda given: given or 4):
            for rows, asked, used in ((51, None, 1), (301, None, 3), (701, None, 4), (52, 3, 3),
                                      (702, 1, 1)):
                a, b = floats(rows, 20), floats(20, 50, seed=1)
                for _ in range(3):  # the long way, then the short one
                    told = {} if asked is None else {"threads": asked}
                    self.assert_near(lathe.einsum("ij,jk->ik", a, b, **told), a @ b)
                program = list(lathe._einsum._programs.values())[-1]
                self.assertEqual(program.kernel.threads, used, (rows, asked))

    def test_records_of_more_threads_than_small_work_needs_serve(self) -> None:
        a, b = floats(9, 24), floats(24, 10, seed=1)
        path = os.environ["LATHE_DB"]
        os.environ["LATHE_DB"] = os.path.join(folder(), "more.db")
        try:
            kernel = lathe.tune("Y[d0,d2] = sum(d1) X0[d0,d1] * X1[d1,d2]", X0=a, X1=b, trials=4,
                                options=FEW)
            self.assert_near(lathe.einsum("ij,jk->ik", a, b), a @ b)
            program = list(lathe._einsum._programs.values())[-1]
            self.assertEqual(program.kernel.trace, kernel.trace)
            self.assertEqual(program.kernel.threads, kernel.threads)
        finally:
            os.environ["LATHE_DB"] = path

    def test_tuned_and_kept(self) -> None:
        a, b = floats(19, 23), floats(19, 11, 23, seed=1)
        heard = []
        with lathe.tuning(trials=8, seconds=None, callback=heard.append, options=FEW):
            first = lathe.einsum("ac,abc->cb", a, b)
            again = len(heard)
            self.assertGreater(again, 0)
            lathe.einsum("ac,abc->cb", a, b)
            self.assertEqual(len(heard), again)  # it is tuned once
        self.assert_near(first, np.einsum("ac,abc->cb", a, b))


if __name__ == "__main__":
    main()
