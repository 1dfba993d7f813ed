#!/usr/bin/env python3
"""scripts/tidy on a tiny tree: it names what is wrong, and skips what has passed before.

Usage: tidy_test.py ROOT
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOUND = """#include "base/a.h"
namespace lathe {
int twice(int x) { return x * 2; }
}  // namespace lathe
"""
HEADER = """#pragma once
namespace lathe {
int twice(int x);
}  // namespace lathe
"""


class Tidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name).resolve()
        for name in ("scripts/tidy", ".clang-tidy"):
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(Path(sys.argv[1]) / name, self.root / name)
        for name in ("src/base", "include", "build"):
            (self.root / name).mkdir(parents=True)
        self.write("src/base/a.h", HEADER)
        self.write("src/base/a.cpp", SOUND)
        self.write("src/base/b.cpp", "int four() { return 4; }\n")
        flags = f"-I{self.root}/src -Wall -Wno-restrict -std=c++23"
        self.write("build/compile_commands.json", json.dumps(
            [{"file": f"{self.root}/src/base/{name}.cpp", "directory": f"{self.root}/build",
              "command": f"g++ {flags} -o {name}.o -c {name}.cpp"} for name in "ab"]))

    def write(self, name, text):
        (self.root / name).write_text(text)

    def run_tidy(self):
        done = subprocess.run([self.root / "scripts/tidy", self.root / "build"],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def expect(self, *parts):
        status, said = self.run_tidy()
        self.assertEqual(status, 1, said)
        for part in parts:
            self.assertIn(part, said)

    def test_what_passed_is_skipped_until_a_header_of_it_changes(self):
        for unchanged in (0, 1):
            status, said = self.run_tidy()
            self.assertEqual(status, 0, said)
            self.assertIn(f"2 sources in 1 parts: {unchanged} unchanged", said)
        self.write("src/base/a.h", HEADER.replace("int x", "int TimesTwo"))
        self.expect("src/base/a.h:3", "readability-identifier-naming")

    def test_a_name(self):
        self.write("src/base/b.cpp", "int Four() { return 4; }\n")
        self.expect("src/base/b.cpp:1", "readability-identifier-naming")

    def test_a_long_function(self):
        self.write("src/base/b.cpp", "int four() {\n" + "\n" * 60 + "  return 4;\n}\n")
        self.expect("src/base/b.cpp:1", "readability-function-size")

    def test_a_mistake(self):
        self.write("src/base/b.cpp", "double half(int x) { return x / 2; }\n")
        self.expect("src/base/b.cpp:1", "bugprone-integer-division")

    def test_what_clang_warns_of_and_what_does_not_compile(self):
        self.write("src/base/b.cpp", "int four() { int x = 3; return 4; }\n")
        self.expect("src/base/b.cpp:1", "clang-diagnostic-unused-variable")
        self.write("src/base/b.cpp", "int four() { return five; }\n")
        self.expect("src/base/b.cpp:1", "clang-diagnostic-error")

    def test_a_folder_that_is_not_configured(self):
        (self.root / "build/compile_commands.json").unlink()
        self.expect("compile_commands.json is not there: configure that folder with cmake first")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
