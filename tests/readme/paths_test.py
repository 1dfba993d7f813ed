#!/usr/bin/env python3
"""paths.py and words.py find what they look for."""

import tempfile
import unittest
from pathlib import Path

from paths import broken_links, is_there, named_paths, unlisted
from words import first_day


class Paths(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        (self.root / "docs").mkdir()
        (self.root / "docs/a.md").write_text("# A page, called `a`\n\n## Two words\n")

    def test_paths_in_backticks(self):
        text = ("`docs/a.md`, `bench/x --y docs/b.md`\ndocs/c.md `a/docs/d.md`\n"
                "```sh\n`docs/e`\n```\n")
        self.assertEqual(list(named_paths(text)),
                         [(1, "docs/a.md"), (1, "bench/x"), (1, "docs/b.md")])

    def test_what_is_there(self):
        for path in ("docs/a.md", "docs/", "docs/*.md", "docs/NAME.md", "docs/{a,b}.md"):
            self.assertTrue(is_there(self.root, path), path)
        for path in ("docs/b.md", "docs/*.txt", "src/NAME", "docs/a"):
            self.assertFalse(is_there(self.root, path), path)

    def test_links(self):
        page = self.root / "docs/b.md"
        text = "[a](a.md) [b](a.md#two-words) [c](a.md#a-page-called-a) [d](https://e.f) [g](x.md)"
        self.assertEqual(list(broken_links(page, "# G\n" + text)),
                         [(2, "links x.md, which is not there")])
        self.assertEqual(list(broken_links(page, "x\n[a](a.md#three)")),
                         [(2, "links a.md#three: no heading is called so")])

    def test_lists_of_files(self):
        self.assertEqual(unlisted("`x.h`\n| a | `a.h`, `gone.cpp` |\n", {"a.h", "new.cpp"}),
                         (["gone.cpp"], ["new.cpp"]))


class FirstDay(unittest.TestCase):
    def test_is_the_column_of_what_is_read(self):
        text = ("# H\n## The first day\n\n| hour | read | open |\n|---|---|---|\n"
                "| 1 | [R](R.md) | [x](x.md) |\n| 2 | a [D](docs/d.md#e), [F](f.md) | |\n\n"
                "Later: [l](l.md)\n\n## Else\n| 1 | [z](z.md) | |\n")
        self.assertEqual(first_day(text), ["HACKING.md", "R.md", "docs/d.md", "f.md"])


if __name__ == "__main__":
    unittest.main()
