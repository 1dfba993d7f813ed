// Tensors with dimensions in another order hold the same numbers.
#include "compiler/te/permute.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "oracle/te_eval.h"
#include "support/random_workload.h"

namespace lathe::te {
namespace {

using Order = std::vector<int>;

bool reads_itself(const Workload& workload) {
  return std::ranges::any_of(workload.stages, [](const Stage& stage) {
    return std::ranges::count(ir::tensors_of(stage.body), stage.tensor) > 0;
  });
}

Order shuffled(std::size_t rank, Rng& rng) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t d = rank; d > 1; --d) std::swap(order[d - 1], order[rng.below(d)]);
  return order;
}

// A tensor of `shape`, with its dimensions in this order.
std::vector<double> moved(const std::vector<double>& values, const std::vector<std::int64_t>& shape,
                          const Order& order) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  std::vector<double> out;
  for (std::size_t e = 0; e < values.size(); ++e) {
    auto rest = static_cast<std::int64_t>(e);
    std::int64_t from = 0;
    for (std::size_t d = order.size(); d-- > 0;) {
      const auto dim = static_cast<std::size_t>(order[d]);
      from += rest % shape[dim] * strides[dim];
      rest /= shape[dim];
    }
    out.push_back(values[static_cast<std::size_t>(from)]);
  }
  return out;
}

TEST(Permute, KeepsWhatRandomProgramsCompute) {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    Rng rng(seed);
    const Workload before = random_workload(rng);
    if (reads_itself(before)) continue;
    Workload after = before;
    std::vector<Order> seen;  // by tensor
    for (std::size_t t = 0; t < before.tensors.size(); ++t) {
      const Tensor& tensor = before.tensors[t];
      seen.push_back(shuffled(tensor.shape_at_border().size(), rng));
      if (tensor.role == TensorRole::kLiteral || rng.chance(0.4)) std::ranges::sort(seen.back());
      else permute_dims(after, static_cast<int>(t), order_inside(tensor, seen.back()));
      changed += std::ranges::is_sorted(seen.back()) ? 0 : 1;
    }
    SCOPED_TRACE(
        fmt::format("seed {}\n{}\n{}", seed, print_workload(before), print_workload(after)));
    const Status sound = validate(after);
    ASSERT_TRUE(sound) << sound.error().text();
    const auto order_of = [&](int t) { return seen[static_cast<std::size_t>(t)]; };
    auto inputs = interp::random_inputs(before, rng);
    const auto want = interp::evaluate(before, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& tensor = before.tensors[static_cast<std::size_t>(before.inputs()[i])];
      inputs[i].values =
          moved(inputs[i].values, tensor.shape_at_border(), order_of(before.inputs()[i]));
      inputs[i].shape = after.tensors[static_cast<std::size_t>(after.inputs()[i])].shape;
    }
    const auto got = interp::evaluate(after, inputs);
    ASSERT_TRUE(want && got);
    for (std::size_t o = 0; o < want->size(); ++o) {
      const int t = before.outputs()[o];
      interp::Tensor wanted = (*want)[o];
      const auto& shape = before.tensors[static_cast<std::size_t>(t)].shape_at_border();
      wanted.values = moved(wanted.values, shape, order_of(t));
      wanted.bounds = moved(wanted.bounds, shape, order_of(t));
      EXPECT_EQ(interp::compare(wanted, (*got)[o].values, 1), "");
    }
  }
  EXPECT_GT(changed, 200);
}

TEST(Permute, GroupsOfChannelsStayTogether) {
  Workload grouped = *parse_workload(
      "X: f32[1,4,5,5]; const W: f32[2,3,2]; output Y: f32[1,2,3,5,5] as [1,6,5,5]; "
      "Y[n,g,o,y,x] = sum(c) X[n,2*g+c,y,x] * W[g,o,c]");
  const int y = grouped.find("Y");
  permute_dims(grouped, y,
               order_inside(grouped.tensors[static_cast<std::size_t>(y)], {0, 2, 3, 1}));
  const Tensor& made = grouped.tensors[static_cast<std::size_t>(y)];
  EXPECT_EQ(made.shape, (std::vector<std::int64_t>{1, 5, 5, 2, 3}));
  EXPECT_EQ(made.border_shape, (std::vector<std::int64_t>{1, 5, 5, 6}));
  EXPECT_TRUE(validate(grouped));
}

TEST(Permute, ZeroAlongOneElementIsTheIteratorOfTheKey) {
  const auto key = [](const std::string& index) {
    return workload_key(*parse_workload(
        "X: f32[1,4]; const W: f32[1,4]; S[n:1,c:4] = X[n,c] * W[0,c]; Y[n:1,c:4] = max(S[" +
        index + ",c], 0)"));
  };
  EXPECT_EQ(key("0"), key("n"));
}

}  // namespace
}  // namespace lathe::te
