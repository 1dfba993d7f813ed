#include "graph/import/element_wise.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "compiler/te/types.h"

namespace lathe::graph {
namespace {

bool is_narrow_float(Dtype dtype) { return dtype == Dtype::kF16 || dtype == Dtype::kBF16; }

// Whether the value may stand in a formula as a number.
bool is_number(const Value& value) {
  if (!value.constant || value.elements() != 1 || value.dtype == Dtype::kBool) return false;
  const double number = numbers_of(value)[0];
  return !std::isnan(number) && std::abs(number) <= 0x1p53;
}

struct Operands {
  std::vector<std::string> texts;  // by operand
  std::vector<int> read;           // the values that are read, once each
  std::string declarations;
};

// By operand: whether it stands in the formula as a number. Another operand of its type must not.
std::vector<bool> numbers_among(const Site& site, const std::vector<int>& ids) {
  std::vector<bool> number(ids.size(), false);
  for (std::size_t k = 0; k < ids.size(); ++k)
    for (std::size_t other = 0; other < ids.size(); ++other)
      if (is_number(site.value(ids[k])) && !site.value(ids[other]).constant &&
          site.value(ids[other]).dtype == site.value(ids[k]).dtype)
        number[k] = true;
  return number;
}

Operands operands_of(const Site& site, const std::vector<int>& ids, const Shape& shape) {
  Operands out;
  const std::vector<bool> number = numbers_among(site, ids);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const Value& value = site.value(ids[k]);
    if (number[k]) {
      out.texts.push_back("(" + number_text(numbers_of(value)[0]) + ")");
      continue;
    }
    auto place = std::ranges::find(out.read, ids[k]);
    const std::string name = fmt::format("X{}", place - out.read.begin());
    if (place == out.read.end()) {
      out.read.push_back(ids[k]);
      out.declarations += declared(name, value.dtype, value.shape) + "\n";
    }
    const std::string read = fmt::format("{}[{}]", name, read_indices(value.shape, shape));
    out.texts.push_back(is_narrow_float(value.dtype) ? "f32(" + read + ")" : read);
  }
  return out;
}

std::string filled(std::string formula, const std::vector<std::string>& texts) {
  std::string out;
  for (std::size_t at = 0; at < formula.size(); ++at) {
    if (formula[at] == '{' && at + 2 < formula.size() && formula[at + 2] == '}') {
      out += texts[static_cast<std::size_t>(formula[at + 1] - '0')];
      at += 2;
    } else {
      out += formula[at];
    }
  }
  return out;
}

}  // namespace

Result<Shape> broadcast(const Site& site, const std::vector<int>& ids) {
  Shape out;
  for (const int id : ids) {
    const Shape& shape = site.value(id).shape;
    if (shape.size() > out.size()) out.insert(out.begin(), shape.size() - out.size(), 1);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& size = out[out.size() - shape.size() + d];
      if (size != shape[d] && size != 1 && shape[d] != 1)
        return site.wrong("its inputs '{}' and '{}' are {} and {}, which do not fit together",
                          site.value(ids[0]).name, site.value(id).name,
                          typed(site.value(ids[0]).dtype, site.value(ids[0]).shape),
                          typed(site.value(id).dtype, shape));
      if (size == 1) size = shape[d];
    }
  }
  return out;
}

Shape at_least_1d(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }

std::string read_indices(const Shape& shape, const Shape& to) {
  if (shape.empty()) return "0";
  std::vector<std::string> indices;
  for (std::size_t d = 0; d < shape.size(); ++d)
    indices.push_back(shape[d] == 1 ? "0" : fmt::format("i{}", to.size() - shape.size() + d));
  return fmt::format("{}", fmt::join(indices, ","));
}

std::string declared(std::string_view name, Dtype dtype, const Shape& shape) {
  return fmt::format("{}: {}", name, typed(dtype, at_least_1d(shape)));
}

std::string iterators(const Shape& shape) {
  std::vector<std::string> texts;
  const Shape all = at_least_1d(shape);
  for (std::size_t d = 0; d < all.size(); ++d) texts.push_back(fmt::format("i{}:{}", d, all[d]));
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string number_text(double number) {
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  return fmt::format("{:.17g}", number);
}

Made element_wise(Site& site, const std::string& formula, const std::vector<int>& ids,
                  std::optional<Dtype> result) {
  const Shape shape = LATHE_TRY(broadcast(site, ids));
  const Operands operands = operands_of(site, ids, shape);
  const Dtype dtype = result.value_or(site.value(ids[0]).dtype);
  std::string value = filled(formula, operands.texts);
  if (is_narrow_float(dtype)) value = fmt::format("{}({})", name_of(dtype), value);
  return site.write(fmt::format("{}output {}\nY[{}] = {}\n", operands.declarations,
                                declared("Y", dtype, shape), iterators(shape), value),
                    operands.read, shape);
}

}  // namespace lathe::graph
