#include "compiler/te/algorithms.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace lathe::te {
namespace {

bool has_no_variant(std::string_view) { return false; }

// F and numbers with x between them, of a few digits each.
bool names_tiles(std::string_view word) {
  if (!word.starts_with('F')) return false;
  constexpr int kMostDigits = 4;
  int digits = 0;
  for (const char c : word.substr(1)) {
    const bool digit = c >= '0' && c <= '9';
    if (digit ? digits == kMostDigits : (c != 'x' || digits == 0)) return false;
    digits = digit ? digits + 1 : 0;
  }
  return digits > 0;
}

constexpr Algorithm kRows[] = {
    {"direct", "", has_no_variant, Numerics::kComponentwise, "",
     "direct: the sum as it is written"},
    {"cook_toom", "F4, F4x4", names_tiles, Numerics::kLocal, "cook_toom",
     "F(m x n): a Cook-Toom algorithm, which computes m by n results together with fewer products"},
    {"strassen", "", has_no_variant, Numerics::kNormwise, "strassen",
     "strassen: Strassen's algorithm, which computes a product from 7/8 of the multiplications"},
};

std::string all_words() {
  std::vector<std::string_view> words;
  for (const Algorithm& row : kRows) {
    words.push_back(row.word);
    if (!row.variants.empty()) words.push_back(row.variants);
  }
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out.append(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ").append(words[i]);
  return out;
}

template <class Holds>
const Algorithm* first_that(Holds&& holds) {
  const auto found = std::ranges::find_if(kRows, holds);
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace

std::span<const Algorithm> algorithms() { return kRows; }

const Algorithm* algorithm_named(std::string_view word) {
  return first_that([&](const Algorithm& row) { return row.word == word || row.is_variant(word); });
}

const Algorithm* algorithm_of_step(std::string_view step) {
  return first_that([&](const Algorithm& row) { return !row.step.empty() && row.step == step; });
}

const std::string& algorithm_words() {
  static const std::string words = all_words();
  return words;
}

}  // namespace lathe::te
