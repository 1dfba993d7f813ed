#include "base/known_names.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/dtype.h"
#include "base/split.h"

namespace lathe {
namespace {

constexpr std::size_t kMaxShown = 40, kMaxCompared = 64;

// Levenshtein's distance, where an edit counts 2 and a letter in the other case 1.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = 2 * j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = 2 * i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t other = a[i - 1] == b[j - 1]                 ? 0
                                : lower(a[i - 1]) == lower(b[j - 1]) ? 1
                                                                     : 2;
      row[j] = std::min({row[j] + 2, row[j - 1] + 2, diagonal + other});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// The greatest distance at which a name is taken for a slip.
std::size_t slip(std::string_view name) { return name.size() >= 5 ? 4 : name.size() >= 2 ? 2 : 1; }

// How much longer or shorter one is.
std::size_t difference_in_length(std::string_view a, std::string_view b) {
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size());
}

}  // namespace

std::string did_you_mean(const std::vector<std::string>& names, std::string_view name) {
  if (name.size() > kMaxCompared) return "";
  std::string nearest;
  auto best = std::tuple(slip(name) + 1, std::size_t{0});
  for (const std::string& known : names) {
    if (known.size() > kMaxCompared) continue;
    const auto how_far = std::tuple(distance(known, name), difference_in_length(known, name));
    if (how_far < best) best = how_far, nearest = known;
  }
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

std::string known_names(const std::vector<std::string>& names, std::string_view name) {
  if (names.empty()) return "none";
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMaxShown; ++i)
    out += (i == 0 ? "" : ", ") + names[i].substr(0, kMaxCompared);
  if (names.size() > kMaxShown) out += ", ...";
  return out + did_you_mean(names, name);
}

std::string known_names(std::string_view list, std::string_view name) {
  std::vector<std::string> names;
  for (const std::string& part : split(list, ','))
    names.push_back(part.substr(std::min(part.find_first_not_of(' '), part.size())));
  return std::string(list) + did_you_mean(names, name);
}

std::string known_dtypes(std::string_view name) {
  // As C, NumPy and PyTorch spell them.
  static constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
      {"float32", "f32"}, {"float", "f32"}, {"fp32", "f32"},      {"single", "f32"},
      {"float64", "f64"}, {"fp64", "f64"},  {"double", "f64"},    {"float16", "f16"},
      {"fp16", "f16"},    {"half", "f16"},  {"bfloat16", "bf16"}, {"int8", "i8"},
      {"uint8", "u8"},    {"int16", "i16"}, {"short", "i16"},     {"uint16", "u16"},
      {"uint32", "u32"},  {"uint", "u32"},  {"int32", "i32"},     {"int", "i32"},
      {"int64", "i64"},   {"long", "i64"},  {"boolean", "bool"}};
  for (const auto& [theirs, ours] : kElsewhere)
    if (theirs == name) return fmt::format("{}; did you mean {}?", known_dtypes(), ours);
  return known_names(known_dtypes(), name);
}

}  // namespace lathe
