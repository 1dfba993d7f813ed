// Spaces of a convolution and of other texts, for tests of what they offer.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/targets.h"
#include "tuner/space/space.h"

namespace lathe::space {

inline constexpr const char* kConvolution =
    "layout free; X: f32[1,35,14,15]; const W: f32[33,35,3,3]; Y[n,o,y:14,x:15] = sum(c,r,s) "
    "X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]";

inline std::shared_ptr<const Space> space_of(const std::string& text, int threads = 1) {
  const auto workload = te::parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text();
  auto space = derive_space(*workload, test::avx512(threads), Flavour::kDefault);
  EXPECT_TRUE(space) << space.error().text();
  return std::move(*space);
}

inline int number_of(const Space& space, const std::string& name) {
  const auto found = std::ranges::find(space.knob_list(), name, &Knob::name);
  return found == space.knob_list().end() ? -1
                                          : static_cast<int>(found - space.knob_list().begin());
}

}  // namespace lathe::space
