// The examples of docs/steps.md are what the steps do. LATHE_REFRESH_DOCS=1 writes the nests anew.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "unit/schedule/support.h"

namespace lathe::schedule {
namespace {

// Copies the page, with the text of every "before" and "after" block as computed from the "program"
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
  int examples() const { return examples_; }

 private:
  std::string block(const std::string& kind, std::istream& in) {
    std::string text, line;
    while (std::getline(in, line) && line != "```") text += line + "\n";
    if (kind == "program") {
      program_ = text;
    } else if (kind == "steps") {
      const auto json = parse_json(text);
      EXPECT_TRUE(json.has_value()) << text;
      const auto trace = json ? trace_from_json(*json) : Trace{};
      EXPECT_TRUE(trace.has_value()) << trace.error().text() << "\n" << text;
      trace_ = trace ? *trace : Trace{};
    } else if (kind == "before") {
      return after(program_, {trace_.begin(), trace_.end() - 1});
    } else if (kind == "after") {
      ++examples_;
      return after(program_, trace_);
    }
    return text;
  }

  std::string program_;
  Trace trace_;
  int examples_ = 0;
};

TEST(Docs, ExamplesOfStepsAreTrue) {
  std::ifstream in(LATHE_STEPS_PAGE);
  std::stringstream page;
  page << in.rdbuf();
  Page rewriter;
  const std::string computed = rewriter.rewritten(page);
  EXPECT_GE(rewriter.examples(), static_cast<int>(std::variant_size_v<Step>));
  if (std::getenv("LATHE_REFRESH_DOCS") != nullptr) {
    std::ofstream(LATHE_STEPS_PAGE) << computed;
    return;
  }
  EXPECT_EQ(computed, page.str());
  for (const ir::Intrinsic& row : ir::intrinsics())
    EXPECT_NE(computed.find(fmt::format("\n| `{}` |", row.name)), std::string::npos) << row.name;
}

}  // namespace
}  // namespace lathe::schedule
