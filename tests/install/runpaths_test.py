#!/usr/bin/env python3
"""runpaths.py finds each way in which a binary looks into somebody else's folder.

Usage: runpaths_test.py C-COMPILER
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import runpaths

COMPILER = sys.argv.pop() if len(sys.argv) > 1 else "cc"


class Faults(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        (self.folder / "empty.c").write_text("int f(void) { return 0; }\n")

    def faults_of(self, *options):
        library = self.folder / "made.so"
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, self.folder / "empty.c",
                        *options], check=True)
        count, found = runpaths.look(self.folder)
        self.assertEqual(count, 1)
        return found

    def faults_with(self, runpath, tags="--enable-new-dtags"):
        return self.faults_of(f"-Wl,{tags},-rpath,{runpath}")

    def test_none(self):
        (self.folder / "own").mkdir(mode=0o755)
        for fine in ("/usr/lib", "$ORIGIN/../lib", f"{self.folder}/own", "/no/such/folder"):
            self.assertEqual(self.faults_with(fine), [], fine)
        self.assertEqual(self.faults_of(), [])

    def test_the_current_folder(self):
        for runpath in ("/usr/lib:", ":/usr/lib", "/usr/lib::/lib", "lib", "."):
            for tags in ("--enable-new-dtags", "--disable-new-dtags"):
                self.assertEqual(len(self.faults_with(runpath, tags)), 1, runpath)

    def test_a_folder_for_all(self):
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        for runpath in (shared, shared / "not-yet", "/tmp", "/tmp/lathe-no-such-folder"):
            self.assertEqual(len(self.faults_with(runpath)), 1, runpath)

    def test_a_library_seen_from_the_current_folder(self):
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", "other.so", "empty.c"], check=True,
                       cwd=self.folder)
        before = Path.cwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", "made.so", "-Wl,--no-as-needed",
                        "./other.so", "empty.c"], check=True)
        count, found = runpaths.look(self.folder)
        self.assertEqual((count, len(found)), (2, 1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
