// Prints Table 2 of one program.
#include <cmath>

#include "compiler/analysis/footprint.h"
#include "tuner/feature/feature.h"

namespace lathe::feature {
namespace {

// Prints four significant digits, but whole numbers in full.
std::string number(double x) {
  if (x == std::floor(x)) return fmt::format("{:.0f}", x);
  return x < 1000 ? fmt::format("{:.3g}", x) : fmt::format("{:.0f}", x);
}

std::string render(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width(rows[0].size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      out += c == 0 ? fmt::format("{:<{}}", row[c], width[c])
                    : fmt::format("  {:>{}}", row[c], width[c]);
    out += "\n";
  }
  return out;
}

}  // namespace

std::string context_table(const ir::SizedNest& sized) {
  const ir::Nest& nest = *sized.nest;
  const ir::BlockId block = analysis::main_block(nest);
  if (block < 0) return "the program has no block\n";
  const analysis::FootprintPlan plan(nest, block);
  analysis::Footprint f;
  plan.evaluate(sized.values, f);
  std::vector<std::vector<std::string>> rows = {
      {"loop", "kind", "length", "top-down", "bottom-up"}};
  for (const auto& slot : plan.slots())
    rows[0].push_back(nest.buffers[slot.buffer].name + " touch / reuse / stride");
  for (int l = f.loops; l-- > 0;) {
    const ir::Loop& loop = nest.loops[plan.chain()[l]];
    rows.push_back({loop.name, ir::name_of(loop.kind), number(f.length[l]), number(f.top_down[l]),
                    number(f.bottom_up[l])});
    for (int s = 0; s < f.slots; ++s)
      rows.back().push_back(fmt::format("{} / {} / {}", number(f.touch[l][s]),
                                        number(f.reuse(l, s)), number(f.stride[l][s])));
  }
  return render(rows);
}

}  // namespace lathe::feature
