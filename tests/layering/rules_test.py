#!/usr/bin/env python3
"""Each rule of the layering on a tiny tree that breaks it, and on one that does not."""

import tempfile
import unittest
from pathlib import Path

from rules import violations
from tree import Tree

HOUSE = {
    "include/lathe/lathe.h": "#pragma once\n#include <cstdint>\n",
    "src/base/CMakeLists.txt":
        "lathe_room(base SOURCES a.cpp EXPOSES fmt::fmt USES spdlog::spdlog)",
    "src/base/a.cpp": '#include "base/a.h"\n#include <spdlog/spdlog.h>\n',
    "src/base/a.h": "#include <fmt/format.h>\n",
    "src/compiler/CMakeLists.txt": "add_subdirectory(te)\nadd_subdirectory(codegen/llvm)",
    "src/compiler/te/CMakeLists.txt":
        "# a comment (with brackets)\n"
        "lathe_room(te\n  SOURCES te.cpp sub/more.cpp\n  LINKS base)",
    "src/compiler/te/te.cpp": '#include "compiler/te/te.h"\n#include "base/a.h"\n',
    "src/compiler/te/te.h": "#pragma once\n",
    "src/compiler/te/sub/more.cpp": '#include "compiler/te/sub/more.h"\n',
    "src/compiler/te/sub/more.h": '#include "compiler/te/te.h"\n',
    "src/compiler/codegen/llvm/CMakeLists.txt":
        "lathe_room(codegen SOURCES cg.cpp LINKS base te USES LLVM)\n"
        "lathe_program(lathe-builder main.cpp LINKS lathe_base)\n"
        "target_link_libraries(lathe-builder PRIVATE lathe_codegen)",
    "src/compiler/codegen/llvm/cg.cpp":
        '#include "compiler/codegen/llvm/inner.h"\n#include "compiler/te/te.h"\n',
    "src/compiler/codegen/llvm/inner.h": "#include <llvm/IR/IRBuilder.h>\n",
    "src/compiler/codegen/llvm/cg.h": "#pragma once\n",
    "src/compiler/codegen/llvm/main.cpp": '#include "compiler/codegen/llvm/cg.h"\n',
}


def check(changes):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**HOUSE, **changes}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return violations(Tree(folder))


class Rules(unittest.TestCase):
    def expect(self, changes, *parts):
        found = check(changes)
        self.assertTrue(any(all(part in sentence for part in parts) for sentence in found), found)

    def test_a_sound_tree_passes(self):
        self.assertEqual(check({}), [])

    def test_include_of_a_room_that_is_not_linked(self):
        self.expect({"src/base/a.cpp": '#include "compiler/te/te.h"\n'}, "src/base/a.cpp",
                    "te/te.h", "LINKS of base")

    def test_a_header_is_held_to_the_links_too(self):
        self.expect({"src/base/a.h": '#include "compiler/te/te.h"\n'}, "src/base/a.h",
                    "LINKS of base")

    def test_links_of_links_do_not_count(self):
        self.expect({"src/compiler/codegen/llvm/main.cpp": '#include "compiler/te/te.h"\n'},
                    "main.cpp", "LINKS of lathe-builder")

    def test_include_relative_to_the_file(self):
        self.expect({"src/base/a.cpp": '#include "../compiler/te/te.h"\n'}, "LINKS of base")

    def test_include_of_a_header_without_a_room(self):
        self.expect({"src/lost.h": "", "src/base/a.cpp": '#include "lost.h"\n'},
                    "belongs to no room")

    def test_header_without_a_room(self):
        self.expect({"src/compiler/lost/lost.h": ""}, "src/compiler/lost/lost.h belongs to no room")

    def test_circle(self):
        self.expect({"src/base/CMakeLists.txt":
                     "lathe_room(base SOURCES a.cpp LINKS codegen USES spdlog::spdlog)"},
                    "circle", "base", "codegen")

    def test_link_against_the_order_of_groups(self):
        self.expect({"src/base/CMakeLists.txt":
                     "lathe_room(base SOURCES a.cpp LINKS te USES spdlog::spdlog)"},
                    "room base of base/ may not link te of compiler/")

    def test_research_stands_between_tuner_and_api(self):
        def rooms(above, below):
            return {"src/tuner/space/CMakeLists.txt": f"lathe_room(space SOURCES s.cpp {below})",
                    "src/tuner/space/s.cpp": "",
                    "src/research/paper/CMakeLists.txt": f"lathe_room(paper SOURCES p.cpp {above})",
                    "src/research/paper/p.cpp": "",
                    "src/api/CMakeLists.txt": "lathe_room(api SOURCES a.cpp)", "src/api/a.cpp": ""}

        self.assertEqual(check(rooms("LINKS space", "")), [])
        self.expect(rooms("LINKS api", ""), "paper of research/ may not link api of api/")
        self.expect(rooms("", "LINKS paper"), "space of tuner/ may not link paper of research/")

    def test_tuner_and_graph_are_apart(self):
        self.expect({"src/tuner/space/CMakeLists.txt": "lathe_room(space SOURCES s.cpp)",
                     "src/tuner/space/s.cpp": "",
                     "src/graph/CMakeLists.txt": "lathe_room(graph SOURCES g.cpp LINKS space)",
                     "src/graph/g.cpp": ""},
                    "graph of graph/ may not link space of tuner/")

    def test_link_to_a_room_that_is_not_there(self):
        self.expect({"src/base/CMakeLists.txt": "lathe_room(base SOURCES a.cpp LINKS ghost)"},
                    "base links ghost")

    def test_library_used_by_two_rooms(self):
        self.expect({"src/compiler/te/CMakeLists.txt":
                     "lathe_room(te SOURCES te.cpp sub/more.cpp LINKS base USES LLVM)"},
                    "llvm is used by codegen and te")

    def test_library_included_without_a_word_in_the_list(self):
        self.expect({"src/compiler/te/te.cpp": "#include <llvm/IR/Module.h>\n"},
                    "llvm is used by codegen and te")

    def test_library_of_base_used_beside_it(self):
        self.expect({"src/compiler/te/CMakeLists.txt":
                     "lathe_room(te SOURCES te.cpp sub/more.cpp LINKS base USES fmt::fmt)"},
                    "fmt comes through base")

    def test_threads_and_googletest_are_for_everyone(self):
        names = [f"src/compiler/{room}/CMakeLists.txt" for room in ("te", "codegen/llvm")]
        more = "USES Threads::Threads GTest::gtest LINKS base"
        lists = {name: HOUSE[name].replace("LINKS base", more) for name in names}
        self.assertEqual([s for s in check(lists) if "used by" in s], [])

    def test_source_that_is_not_listed(self):
        self.expect({"src/compiler/te/extra.cpp": ""},
                    "te/extra.cpp is listed in no CMakeLists.txt")

    def test_public_header_that_shows_a_library(self):
        self.expect({
            "src/compiler/codegen/llvm/cg.h": '#include "compiler/codegen/llvm/inner.h"\n'},
                    "main.cpp", "cg.h, which shows llvm")

    def test_installed_header_that_shows_a_library(self):
        self.expect({"include/lathe/lathe.h": "#include <sqlite3.h>\n"}, "include/lathe/lathe.h",
                    "shows sqlite")


if __name__ == "__main__":
    unittest.main()
