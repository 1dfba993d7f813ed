#!/usr/bin/env python3
"""named_tests.py finds lines without a test and tests that are not there."""

import unittest

from named_tests import faults

PAGE = ("# Page\n\n| what | can | test |\n|---|---|---|\n"
        "| a `thing` | nothing | {} |\n| b | x | `Ok.Ok` |\n")
NAMES = {"Ok.Ok", "some_check", "some_test.py::test_it"}


class Faults(unittest.TestCase):
    def test_none(self):
        for cell in ("`Ok.Ok`", "`some_check`, `some_test.py::test_it`"):
            self.assertEqual(faults(PAGE.format(cell), NAMES), [])

    def test_a_line_without_a_test(self):
        for cell in ("", "Ok.Ok", "see above"):
            self.assertEqual(faults(PAGE.format(cell), NAMES), ["5: names no test"])

    def test_a_test_that_is_not_there(self):
        for name in ("Ok.Gone", "some_test.py::test_gone", "Ok"):
            self.assertEqual(faults(PAGE.format(f"`Ok.Ok`, `{name}`"), NAMES),
                             [f"5: there is no test {name}"])

    def test_a_page_without_lines(self):
        self.assertEqual(faults("# Page\n", NAMES), ["there is no table"])


if __name__ == "__main__":
    unittest.main()
