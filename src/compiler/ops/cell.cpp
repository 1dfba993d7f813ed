#include "compiler/ops/cell.h"

#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {

bool Cell::narrow() const { return te::is_narrow(dtype); }

std::string Cell::read(const std::string& element) const {
  return narrow() ? fmt::format("{}({})", name_of(te::accumulator_of(dtype)), element) : element;
}

std::string Cell::wide(const std::string& name, const std::vector<std::int64_t>& shape) const {
  return narrow() ? typed(shaped(name, shape), te::accumulator_of(dtype)) + "\n" : "";
}

std::string Cell::weights() const {
  std::string out;
  const auto constant = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::vector<std::int64_t> border = {gates * hidden};
    border.insert(border.end(), shape.begin() + 2, shape.end());
    out += "const " + typed(shaped(name, shape, border), dtype) + "\n";
  };
  constant("w_ih", {gates, hidden, inputs});
  constant("w_hh", {gates, hidden, hidden});
  if (bias) constant("b_ih", {gates, hidden});
  if (bias) constant("b_hh", {gates, hidden});
  return out;
}

std::string Cell::rows_of_weights(const std::string& suffix) const {
  std::string out;
  const auto constant = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
    out += "const " + typed(shaped(name + suffix, shape), dtype) + "\n";
  };
  constant("w_ih", {gates * hidden, inputs});
  constant("w_hh", {gates * hidden, hidden});
  if (bias) constant("b_ih", {gates * hidden});
  if (bias) constant("b_hh", {gates * hidden});
  return out;
}

Result<Cell> cell_of(const Values& values, std::int64_t gates) {
  return Cell{LATHE_TRY(float_of(values)),
              LATHE_TRY(values.size("batch")),
              LATHE_TRY(values.size("input-size")),
              LATHE_TRY(values.size("hidden-size")),
              gates,
              !values.flag("no-bias")};
}

std::vector<Parameter> cell_parameters() {
  using Kind = Parameter::Kind;
  return {{Kind::kInt, "batch", "", "rows of the input and of the state"},
          {Kind::kInt, "input-size", "", "elements of a row of the input"},
          {Kind::kInt, "hidden-size", "", "elements of a row of the state"},
          {Kind::kFlag, "no-bias", "false", "without the constant summands"},
          float_parameter()};
}

}  // namespace lathe::ops
