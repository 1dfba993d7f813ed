#!/usr/bin/env python3
"""What scripts/demo says of the order of two contestants, from times that are given.

Usage: demo_order.py SCRIPTS-FOLDER
"""

import random
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
import demo_table  # noqa: E402


def times(factor, rounds=21, noise=0.0, seed=1):
    """Of two contestants, the second `factor` times as slow; in each round the machine has a speed
    that both meet."""
    draw = random.Random(seed)
    speeds = [1 + draw.random() for _ in range(rounds)]
    return ([speed * (1 + noise * draw.random()) for speed in speeds],
            [speed * factor * (1 + noise * draw.random()) for speed in speeds])


class Order(unittest.TestCase):
    def test_a_disturbed_machine_does_not_hide_it(self):
        fast, slow = times(1.15, noise=0.03)
        self.assertEqual(demo_table.order(fast, slow), -1)
        self.assertEqual(demo_table.order(slow, fast), 1)

    def test_equals_are_as_fast(self):
        self.assertEqual(demo_table.order(*times(1, noise=0.01)), 0)

    def test_noise_is_not_taken_for_a_difference(self):
        certain = [demo_table.order(*times(1, noise=0.5, seed=seed)) for seed in range(200)]
        self.assertLess(sum(found in (-1, 1) for found in certain), 8)

    def test_what_the_table_would_contradict_is_not_certain(self):
        fast, slow = times(1.05)
        slow[0] /= 100  # its fastest is less
        self.assertIsNone(demo_table.order(fast, slow))

    def test_remarks(self):
        fast, slow = times(1.15)
        self.assertEqual(list(demo_table.remarks({"a": fast, "b": slow})), [])
        same = list(demo_table.remarks({"a": fast, "b": fast}))
        self.assertEqual(same, ["a and b are as fast, within 2 %"])
        noisy = list(demo_table.remarks(dict(zip("ab", times(1, noise=0.5)))))
        self.assertEqual(len(noisy), 1)
        self.assertIn("is not certain", noisy[0])


if __name__ == "__main__":
    unittest.main()
