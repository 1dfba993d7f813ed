#include "tuner/space/knob_meaning.h"

#include <fmt/format.h>

#include "compiler/te/algorithms.h"
#include "tuner/space/rules/again/again_space.h"
#include "tuner/space/rules/kinds.h"

namespace lathe::space {
namespace {

std::string algorithm_meaning() {
  std::string out;
  for (const te::Algorithm& row : te::algorithms()) out.append(row.meaning).append("; ");
  return out + "the knobs ct.* and st.* are those of these, the others the direct sum's";
}

std::string own_meaning(std::string_view name) {
  if (name == "algorithm") return algorithm_meaning();
  for (const KindRules& rules : rules_by_kind())
    if (const std::string_view own = rules.meaning(name); !own.empty()) return std::string(own);
  return "";
}

bool take(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string knob_meaning(std::string_view name) {
  if (take(name, kAgainPrefix)) return fmt::format("{}, where algebra.kept is again", name);
  if (const auto own = own_meaning(name); !own.empty()) return own;
  const bool matrix = take(name, "matrix.");
  const bool rows = take(name, "rows.");
  // What is before the name of a knob is that of a tensor: it may have dots, too.
  std::size_t begin = 0;
  while (begin != std::string_view::npos && own_meaning(name.substr(begin)).empty())
    if (const std::size_t dot = name.find('.', begin); dot == std::string_view::npos) return "";
    else begin = dot + 1;
  const std::string_view tensor = name.substr(0, begin == 0 ? 0 : begin - 1);
  const std::string_view knob = name.substr(begin);
  if (matrix && !rows && tensor.empty()) return own_meaning(knob);
  if (knob == "rows") return fmt::format("rows of the group of stages that ends with {}", tensor);
  return fmt::format(
      "{}{}{}{}", knob, tensor.empty() ? "" : fmt::format(" of the stage that computes {}", tensor),
      matrix ? ", where operands are matrices" : "", rows ? ", where rows go together" : "");
}

}  // namespace lathe::space
