"""What the tests of the Python package share."""

import os
import tempfile
import unittest

# Before lathe is imported: no test reads or writes the user's records.
_folder = tempfile.TemporaryDirectory(prefix="lathe-python-")
os.environ["LATHE_DB"] = os.path.join(_folder.name, "records.db")

import lathe  # noqa: E402
import numpy as np  # noqa: E402

FEW = {"batch": 8}  # a short run measures a few programs at a time


def folder() -> str:
    return _folder.name


def floats(*shape: int, seed: int = 0, dtype: str = "f4") -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) - 0.5).astype(dtype)


class Case(unittest.TestCase):
    def refused(self, part: str, work, kind: type = lathe.InvalidArgument) -> None:
        """Work raises an error of Lathe whose text has the part."""
        with self.assertRaises(kind) as raised:
            work()
        self.assertIsInstance(raised.exception, lathe.Error)
        self.assertIn(part, str(raised.exception))

    def assert_near(self, got, want, error: float = 1e-5) -> None:
        got, want = np.asarray(got), np.asarray(want)
        self.assertEqual(got.shape, want.shape)
        largest = max(1.0, float(np.abs(want).max(initial=0)))
        self.assertLessEqual(float(np.abs(got - want).max(initial=0)), error * largest)


def main() -> None:
    unittest.main(verbosity=1)
