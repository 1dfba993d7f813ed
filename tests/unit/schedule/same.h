// What nests compute, compared with the expression that they come from.
#pragma once

#include "oracle/nest_eval.h"
#include "unit/schedule/support.h"

namespace lathe::schedule {

// `errors`: how many times the rounding errors of a direct sum are allowed.
inline void expect_same(const te::Workload& workload, const ir::Nest& nest, double errors = 1) {
  Rng rng(7);
  const auto inputs = interp::random_inputs(workload, rng);
  const auto want = interp::evaluate(workload, inputs);
  ASSERT_TRUE(want) << want.error().text();
  const auto got = interp::evaluate(ir::SizedNest(nest, {}), inputs);
  ASSERT_TRUE(got) << got.error().text() << "\n" << ir::print(nest);
  ASSERT_EQ(want->size(), got->size());
  for (std::size_t i = 0; i < want->size(); ++i)
    EXPECT_EQ(interp::compare((*want)[i], (*got)[i].values, errors), "") << ir::print(nest);
}

}  // namespace lathe::schedule
