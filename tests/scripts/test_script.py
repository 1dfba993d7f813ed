#!/usr/bin/env python3
"""scripts/test where something cannot be installed, with an install, a CMake and a CTest that only
note what they are asked to do.

Usage: test_script.py ROOT
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

INSTALL = """#!/bin/sh
echo "install $*" >>asked
for option in $UNAVAILABLE; do
  case " $* " in *" $option "*) exit 100 ;; esac
done
"""
TOOL = """#!/bin/sh
echo "${0##*/} $*" >>asked
echo '100% tests passed, 0 tests failed out of 1'
"""


class Script(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        for name in ("scripts", "tools"):
            (self.root / name).mkdir()
        shutil.copy(Path(sys.argv[1]) / "scripts/test", self.root / "scripts/test")
        for name, text in {"scripts/install": INSTALL, "tools/cmake": TOOL,
                           "tools/ctest": TOOL}.items():
            (self.root / name).write_text(text)
            (self.root / name).chmod(0o755)

    def run_test(self, *words, unavailable=""):
        """Exit status, what is said, what the others were asked to do."""
        environment = {**os.environ, "UNAVAILABLE": unavailable,
                       "PATH": f"{self.root}/tools:{os.environ['PATH']}"}
        done = subprocess.run([self.root / "scripts/test", *words], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        asked = self.root / "asked"
        return done.returncode, done.stdout, asked.read_text() if asked.exists() else ""

    def test_all_is_there(self):
        status, said, asked = self.run_test()
        self.assertEqual(status, 0, said)
        self.assertNotIn("Not tested", said)
        for part in ("install --paper --onnx\n", "install --torch\n", "install --python\n",
                     "install --opencl\n", "install --ptxas\n",
                     "cmake --preset release", "ctest --test-dir build/tsan"):
            self.assertIn(part, asked)
        self.assertNotIn("--frameworks", asked)
        self.assertNotIn("Python=1", asked)

    def test_what_cannot_be_installed_is_a_failure_at_the_end(self):
        for option, flag in (("--python", "--without-python"), ("--torch", "--without-torch"),
                             ("--opencl", "--without-opencl"),
                             ("--ptxas", "--without-ptxas")):
            status, said, asked = self.run_test(unavailable=option)
            self.assertEqual(status, 1, said)
            self.assertIn("== Not tested: ", said.splitlines()[-1])
            self.assertIn(f"could not be installed; {flag} leaves it out", said.splitlines()[-1])
            self.assertIn("ctest --test-dir build/tsan", asked)

    def test_what_is_left_out_is_none(self):
        status, said, asked = self.run_test("--without-torch", "--without-python",
                                            "--without-opencl", "--without-ptxas",
                                            unavailable="--python --torch --opencl --ptxas")
        self.assertEqual(status, 0, said)
        self.assertNotIn("install --python", asked)
        self.assertNotIn("install --torch", asked)
        self.assertIn("FIND_PACKAGE_Python=1", asked)
        self.assertIn("FIND_PACKAGE_Torch=1", asked)
        self.assertIn("WITHOUT_PTXAS=1", asked)

    def test_frameworks_are_for_all(self):
        status, said, asked = self.run_test("--all", unavailable="--frameworks")
        self.assertEqual(status, 1, said)
        self.assertIn("PyTorch and JAX", said.splitlines()[-1])

    def test_without_a_compiler_nothing_is_built(self):
        status, said, asked = self.run_test(unavailable="--paper")
        self.assertEqual(status, 1, said)
        self.assertIn("nothing was tested", said.splitlines()[-1])
        self.assertNotIn("cmake", asked)

    def test_words_it_does_not_know(self):
        status, said, asked = self.run_test("--without-everything")
        self.assertEqual((status, asked), (2, ""))
        self.assertIn("Usage: scripts/test", said)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
