// Losses: a number for each row of logarithms of probabilities, and what joins these.
#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

// Classes stand in dimension 1 of the input; the target has the others.
Status check_target(const Site& site) {
  const Shape& input = site.shape(0);
  Shape rest = input;
  if (rest.size() >= 2) rest.erase(rest.begin() + 1);
  if (input.size() < 2 || site.shape(1) != rest)
    return site.wrong("its input is {}, its target {}", typed(site.dtype(0), input),
                      typed(site.dtype(1), site.shape(1)));
  if (site.dtype(1) != Dtype::kI64 && site.dtype(1) != Dtype::kI32)
    return site.wrong("its target is {}", name_of(site.dtype(1)));
  if (site.dtype(0) != Dtype::kF32 && site.dtype(0) != Dtype::kF64)
    return site.unsupported("its input is {}", name_of(site.dtype(0)));
  if (site.has(2) && (site.shape(2) != Shape{input[1]} || site.dtype(2) != site.dtype(0)))
    return site.wrong("its weights are {}, of {} classes", typed(site.dtype(2), site.shape(2)),
                      input[1]);
  return {};
}

// `id` has the logarithms. A target that is to be ignored weighs nothing.
Made loss(Site& site, int id) {
  const std::string join = LATHE_TRY(site.text("reduction", "mean"));
  if (join != "none" && join != "sum" && join != "mean")
    return site.wrong("its attribute reduction is '{}'", join);
  const Shape &shape = site.shape(1), &input = site.shape(0);
  std::vector<std::string> all, sized;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    all.push_back(fmt::format("i{}", d));
    sized.push_back(fmt::format("i{}:{}", d, shape[d]));
  }
  const std::string at = fmt::format("{}", fmt::join(all, ",")),
                    target = fmt::format("i64(T[{}])", at),
                    place = fmt::format("min(max({}, 0), {})", target, input[1] - 1);
  std::vector<std::string> index = all;
  index.insert(index.begin() + 1, place);
  std::vector<int> ids{id, site.input(1)};
  std::string text =
      declared("X", site.dtype(0), input) + "\n" + declared("T", site.dtype(1), shape) + "\n";
  std::string weight = fmt::format("{}(1)", name_of(site.dtype(0)));
  if (site.has(2)) {
    ids.push_back(site.input(2));
    text += declared("V", site.dtype(2), site.shape(2)) + "\n";
    weight = fmt::format("V[{}]", place);
  }
  const std::int64_t ignored = LATHE_TRY(site.integer("ignore_index", -1));
  if (site.given("ignore_index"))
    weight = fmt::format("select({} == {}, 0, {})", target, ignored, weight);
  text += fmt::format("W[{}] = {}\n", fmt::join(sized, ","), weight);
  const std::string term = fmt::format("-X[{}] * W[{}]", fmt::join(index, ","), at);
  if (join == "none")
    return site.write(text + fmt::format("Y[{}] = {}\n", fmt::join(sized, ","), term), ids, shape);
  std::string value = fmt::format("(sum({}) ({}))", at, term);
  if (join == "mean") value += fmt::format(" / (sum({0}) W[{0}])", at);
  return site.write(text + fmt::format("Y[one:1] = {}\n", value), ids, Shape{});
}

Made negative_log_likelihood(Site& site) {
  LATHE_TRY_STATUS(check_target(site));
  return loss(site, site.input(0));
}

Made softmax_cross_entropy(Site& site) {
  LATHE_TRY_STATUS(check_target(site));
  const int logarithms =
      LATHE_TRY(site.call("log_softmax",
                          {{"input", fmt::format("{}", fmt::join(site.shape(0), ","))},
                           {"axes", "1"},
                           {"dtype", std::string(name_of(site.dtype(0)))}},
                          {site.input(0)}, site.shape(0)))[0];
  auto ids = LATHE_TRY(loss(site, logarithms));
  ids.push_back(logarithms);
  return ids;
}

}  // namespace

std::vector<Row> loss_rows() {
  return {{"NegativeLogLikelihoodLoss", 12, 2, negative_log_likelihood},
          {"SoftmaxCrossEntropyLoss", 12, 2, softmax_cross_entropy}};
}

}  // namespace lathe::graph
