// Nests from expressions, and steps that must be legal or refused.
#pragma once

#include <gtest/gtest.h>

#include "compiler/ir/nest/nest.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"

namespace lathe::schedule {

inline te::Workload program(std::string_view text) {
  auto parsed = te::parse_workload(text);
  if (!parsed) throw std::runtime_error(parsed.error().text());
  return *parsed;
}
inline ir::Nest nest_of(std::string_view text) { return te::naive_nest(program(text)); }

inline constexpr std::string_view kMatmul =
    "A: f32[10, 7]; B: f32[7, 33]\nC[i,j] = sum(k) A[i,k] * B[k,j]";

// Applies the steps; each must be legal and leave a sound nest, and the trace must come back from
// JSON unchanged.
inline void must_apply(ir::Nest& nest, const Trace& trace, bool free_layout = false) {
  for (const Step& step : trace) {
    const auto done = apply(nest, step, free_layout);
    ASSERT_TRUE(done.has_value()) << print(step) << "\n"
                                  << done.error().text() << "\n"
                                  << ir::print(nest);
    const Status sound = ir::verify(nest);
    ASSERT_TRUE(sound.has_value()) << print(step) << "\n"
                                   << sound.error().text() << "\n"
                                   << ir::print(nest);
  }
}

inline std::string after(std::string_view text, const Trace& trace, bool free_layout = false) {
  ir::Nest nest = nest_of(text);
  must_apply(nest, trace, free_layout);
  return ir::print(nest);
}

// The refusal of the last step after the others were applied; the nest must be as it was.
inline Refusal refusal(std::string_view text, const Trace& trace, bool free_layout = false) {
  ir::Nest nest = nest_of(text);
  for (std::size_t i = 0; i + 1 < trace.size(); ++i) must_apply(nest, {trace[i]}, free_layout);
  const std::string before = ir::print(nest);
  const auto done = apply(nest, trace.back(), free_layout);
  EXPECT_EQ(ir::print(nest), before);
  EXPECT_FALSE(done.has_value()) << print(trace.back()) << " was legal";
  if (done) return Refusal::kBadNumber;
  EXPECT_FALSE(done.error().text().empty());
  return done.error().refusal;
}

}  // namespace lathe::schedule
