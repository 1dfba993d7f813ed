#include "compiler/ops/index_texts.h"
#include "compiler/ops/rows.h"
#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

struct RowTexts {
  Dtype dtype;
  IndexTexts texts;
  std::string x, term, m;  // an element, a term of a reduction, the largest of the row

  bool narrow() const { return te::is_narrow(dtype); }
  // Declares a tensor that is written, where its type does not follow.
  std::string wide(const std::string& name, const std::vector<std::int64_t>& shape) const {
    return narrow() ? typed(shaped(name, shape), te::accumulator_of(dtype)) + "\n" : "";
  }
  std::string output(const std::vector<std::int64_t>& shape) const {
    return narrow() ? typed(shaped("Y", shape), dtype) + "\n" : "";
  }
};

Result<RowTexts> row_texts_of(const Values& values) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  const auto& shape = values.numbers("input");
  IndexTexts texts(shape, LATHE_TRY(values.axes("axes", shape)));
  const std::string x = fmt::format("X[{}]", texts.whole()),
                    term = fmt::format("X[{}]", texts.term()),
                    m = fmt::format("m[{}]", texts.kept());
  return RowTexts{dtype, std::move(texts), x, term, m};
}

Result<std::vector<Algorithm>> build_softmax(const Values& values) {
  const RowTexts r = LATHE_TRY(row_texts_of(values));
  const IndexTexts& a = r.texts;
  return direct(parsed(
      "softmax",
      typed(shaped("X", a.shape()), r.dtype) + "\n" + r.wide("E", a.shape()) + r.output(a.shape()) +
          fmt::format("E[{0}] = exp({1} - (max({2}) {3}))\n", a.whole(), r.x, a.over(), r.term) +
          fmt::format("Y[{0}] = E[{0}] / (sum({1}) E[{2}])\n", a.whole(), a.over(), a.term())));
}

Result<std::vector<Algorithm>> build_log_softmax(const Values& values) {
  const RowTexts r = LATHE_TRY(row_texts_of(values));
  const IndexTexts& a = r.texts;
  return direct(parsed(
      "log_softmax",
      typed(shaped("X", a.shape()), r.dtype) + "\n" + r.wide("D", a.shape()) + r.output(a.shape()) +
          fmt::format("D[{0}] = {1} - (max({2}) {3})\n", a.whole(), r.x, a.over(), r.term) +
          fmt::format("Y[{0}] = D[{0}] - log(sum({1}) exp(D[{2}]))\n", a.whole(), a.over(),
                      a.term())));
}

// An infinite maximum is not subtracted: infinity minus infinity would be NaN.
Result<std::vector<Algorithm>> build_logsumexp(const Values& values) {
  const RowTexts r = LATHE_TRY(row_texts_of(values));
  const IndexTexts& a = r.texts;
  const bool keep = values.flag("keep-dims");
  return direct(parsed(
      "logsumexp", typed(shaped("X", a.shape()), r.dtype) + "\n" + r.wide("m", a.kept_shape()) +
                       r.output(a.kept_shape(keep)) +
                       fmt::format("l[{}] = max({}) {}\n", a.kept_iters(), a.over(), r.term) +
                       fmt::format("m[{}] = select(abs(l[{}]) < inf, l[{}], 0)\n", a.kept_iters(),
                                   a.kept(), a.kept()) +
                       fmt::format("Y[{}] = {} + log(sum({}) exp({} - {}))\n", a.kept_iters(keep),
                                   r.m, a.over(), r.term, r.m)));
}

std::vector<Parameter> row_parameters() {
  return {{Kind::kDims, "input", "", "shape of the input"},
          {Kind::kAxes, "axes", "-1", "dimensions that make a row: 0 is the first, -1 the last"},
          float_parameter()};
}

}  // namespace

Operator softmax() {
  return {"softmax", "exp(X) over its sum along each row of X", row_parameters(), build_softmax};
}

Operator log_softmax() {
  return {"log_softmax", "X minus the logarithm of the sum of exp(X) along each row",
          row_parameters(), build_log_softmax};
}

Operator logsumexp() {
  std::vector<Parameter> parameters = row_parameters();
  parameters.insert(parameters.begin() + 2, {Kind::kFlag, "keep-dims", "false",
                                             "these dimensions stay in the output, as 1"});
  return {"logsumexp", "logarithm of the sum of exp(X) along each row", std::move(parameters),
          build_logsumexp};
}

}  // namespace lathe::ops
