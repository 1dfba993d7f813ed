// What docs/lowering.md shows is what lowering does. LATHE_REFRESH_DOCS=1 writes it anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/targets.h"

namespace lathe::lower {
namespace {

// Copies the page, with the text of every "nest" and "flat" block as computed from the "program"
// and the "steps" before it.
class Page {
 public:
  std::string rewritten(std::istream& in) {
    std::string line, out;
    while (std::getline(in, line)) {
      out += line + "\n";
      if (!line.starts_with("```") || line == "```") continue;
      out += block(line.substr(3), in) + "```\n";
    }
    return out;
  }
  int programs() const { return programs_; }

 private:
  std::string block(const std::string& kind, std::istream& in) {
    std::string text, line;
    while (std::getline(in, line) && line != "```") text += line + "\n";
    if (kind == "program") program_ = text;
    if (kind == "steps") steps_ = text;
    if (kind == "nest") return ir::print(ir::SizedNest(scheduled(), {}));
    if (kind == "flat") return lowered();
    return text;
  }
  ir::Nest scheduled() const {
    const auto workload = te::parse_workload(program_);
    LATHE_CHECK(workload.has_value(), "{}", program_);
    ir::Nest nest = te::naive_nest(*workload);
    const auto json = parse_json(steps_);
    LATHE_CHECK(json.has_value(), "{}", steps_);
    const auto trace = schedule::trace_from_json(*json);
    LATHE_CHECK(trace.has_value(), "{}", trace.error().text());
    const auto applied = schedule::apply(nest, *trace, false);
    LATHE_CHECK(applied.has_value(), "{}", applied.error().text());
    return nest;
  }
  std::string lowered() {
    ++programs_;
    const ir::Nest nest = scheduled();
    const auto flat = lower(ir::SizedNest(nest, {}), test::avx512());
    return flat ? flat::print(*flat) : flat.error().text();
  }

  std::string program_, steps_;
  int programs_ = 0;
};

TEST(LoweringDocument, ShowsWhatLoweringDoes) {
  std::ifstream in(LATHE_LOWERING_PAGE);
  std::stringstream page;
  page << in.rdbuf();
  Page rewriter;
  const std::string computed = rewriter.rewritten(page);
  EXPECT_GE(rewriter.programs(), 2);
  if (std::getenv("LATHE_REFRESH_DOCS") != nullptr) {
    std::ofstream(LATHE_LOWERING_PAGE) << computed;
    return;
  }
  EXPECT_EQ(computed, page.str());
}

}  // namespace
}  // namespace lathe::lower
