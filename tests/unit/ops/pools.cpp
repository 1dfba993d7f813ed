// Pooling against plain loops: every window is cut out of the input, and counted as PyTorch does.
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

struct Pool {
  Index input, kernel, stride, pad, dilation = {};  // pad: for each axis, or the ends, too
  bool ceil = false;

  std::size_t rank() const { return input.size() - 2; }
  std::int64_t before(std::size_t a) const { return pad[a]; }
  std::int64_t after(std::size_t a) const { return pad[pad.size() > rank() ? rank() + a : a]; }
  std::int64_t step(std::size_t a) const { return stride.empty() ? kernel[a] : stride[a]; }
  std::int64_t spread(std::size_t a) const { return dilation.empty() ? 1 : dilation[a]; }

  // The windows that fit into the padded input one after the other. With `ceil`, one more that
  // begins before the input's end.
  std::int64_t windows(std::size_t a) const {
    const std::int64_t in = input[2 + a], reach = spread(a) * (kernel[a] - 1) + 1;
    std::int64_t count = 0;
    while (count * step(a) + reach <= before(a) + in + after(a)) ++count;
    const bool rest = (count - 1) * step(a) + reach < before(a) + in + after(a);
    if (ceil && rest && count * step(a) < before(a) + in) ++count;
    return count;
  }
};

Evaluation run_pool(const char* kind, const Pool& t, Arguments more) {
  more["input"] = list(t.input);
  more["kernel"] = list(t.kernel);
  if (!t.stride.empty()) more["stride"] = list(t.stride);
  if (!t.dilation.empty()) more["dilation"] = list(t.dilation);
  if (t.ceil) more["ceil-mode"] = "";
  more["pad"] = list(t.pad);
  return run(built(fmt::format("{}_pool{}d", kind, t.rank()), more), 9);
}

struct Window {
  std::vector<double> inside;     // its elements of the input
  std::int64_t with_padding = 0;  // how many places of it are in the input or its padding
};

void check_pool(const Evaluation& r, const Pool& t,
                const std::function<double(const Window&)>& value) {
  SCOPED_TRACE(fmt::format("input {} kernel {} stride {} pad {} dilation {} ceil {}", t.input,
                           t.kernel, t.stride, t.pad, t.dilation, t.ceil));
  Index shape = {t.input[0], t.input[1]};
  for (std::size_t a = 0; a < t.rank(); ++a) shape.push_back(t.windows(a));
  expect_output(
      r, shape,
      [&](const Index& y) {
        Window window;
        each_index(t.kernel, [&](const Index& k) {
          Index place = {y[0], y[1]};
          bool inside = true, padded = true;
          for (std::size_t a = 0; a < t.rank(); ++a) {
            const std::int64_t x = y[2 + a] * t.step(a) + k[a] * t.spread(a) - t.before(a);
            inside &= x >= 0 && x < t.input[2 + a];
            padded &= x < t.input[2 + a] + t.after(a);
            place.push_back(x);
          }
          window.with_padding += padded;
          if (inside) window.inside.push_back(at(r.inputs[0], place));
        });
        return value(window);
      },
      1e-6);
}

const std::vector<Pool>& pools() {
  static const std::vector<Pool> all = {
      {{1, 1, 1, 1}, {1, 1}, {}, {0, 0}},
      {{2, 3, 7, 5}, {2, 2}, {}, {0, 0}},
      {{2, 3, 7, 5}, {2, 2}, {}, {0, 0}, {}, true},
      {{1, 3, 11, 13}, {3, 3}, {2, 2}, {1, 1}},
      {{1, 3, 12, 13}, {3, 3}, {2, 2}, {1, 1}, {}, true},
      {{1, 3, 6, 7}, {3, 3}, {2, 2}, {0, 0}, {}, true},
      {{1, 2, 8, 9}, {3, 2}, {1, 3}, {1, 0}},
      {{1, 2, 5, 17}, {4, 5}, {3, 2}, {2, 2}},
      {{1, 2, 5, 17}, {4, 5}, {3, 2}, {2, 2}, {}, true},
      {{1, 2, 7, 8}, {3, 4}, {2, 3}, {0, 1, 2, 0}},
      {{1, 2, 7, 8}, {3, 4}, {2, 3}, {2, 0, 0, 3}, {}, true},
      {{1, 2, 9, 4}, {2, 3}, {5, 4}, {0, 0}, {}, true},
      {{1, 3, 17}, {3}, {2}, {1}},
      {{1, 3, 2}, {3}, {2}, {0}, {}, true},  // larger than the input
      {{2, 1, 16}, {5}, {4}, {0, 3}, {}, true},
      {{1, 2, 5, 4, 6}, {2, 3, 2}, {}, {1, 1, 1}},
      {{1, 2, 5, 4, 7}, {3, 2, 3}, {2, 1, 2}, {1, 0, 1, 0, 1, 0}, {}, true}};
  return all;
}

double largest(const Window& w) { return *std::ranges::max_element(w.inside); }

TEST(MaxPool, WindowsAtEdgesHoldWhatIsInside) {
  for (const Pool& t : pools())
    for (const char* dtype : {"f32", "i8", "u8", "i16", "u16", "u32", "i32", "bf16"})
      check_pool(run_pool("max", t, {{"dtype", dtype}}), t, largest);
}

TEST(MaxPool, Dilation) {
  for (const Pool& t : {Pool{{1, 2, 9, 11}, {3, 2}, {2, 1}, {2, 1}, {2, 3}},
                        Pool{{1, 2, 10, 11}, {3, 2}, {2, 3}, {2, 1}, {2, 3}, true},
                        Pool{{2, 1, 13}, {3}, {4}, {4, 0}, {3}, true},
                        Pool{{1, 1, 5, 6, 7}, {2, 2, 2}, {1, 2, 2}, {1, 0, 2}, {2, 3, 3}}})
    check_pool(run_pool("max", t, {}), t, largest);
}

TEST(AvgPool, PaddingCountsOrDoesNot) {
  const auto sum = [](const Window& w) {
    double s = 0;
    for (const double x : w.inside) s += x;
    return s;
  };
  for (const Pool& t : pools())
    for (const char* dtype : {"f32", "f64", "f16"}) {
      check_pool(run_pool("avg", t, {{"dtype", dtype}}), t,
                 [&](const Window& w) { return sum(w) / static_cast<double>(w.with_padding); });
      const Evaluation inside = run_pool("avg", t, {{"dtype", dtype}, {"inside-only", ""}});
      EXPECT_EQ(inside.output.dtype, *dtype_from_name(dtype));
      check_pool(inside, t,
                 [&](const Window& w) { return sum(w) / static_cast<double>(w.inside.size()); });
    }
}

// What PyTorch gives: torch.nn.functional.avg_pool1d(torch.arange(1., 7.), 3, 2, 1, ceil_mode=True)
// is [1, 3, 5, 3]: the last window has one element and one of padding, and a place beyond it.
TEST(AvgPool, TheDivisorOfCeilModeLeavesOutWhatIsBeyondThePadding) {
  const te::Workload p = built(
      "avg_pool1d",
      {{"input", "1,1,6"}, {"kernel", "3"}, {"stride", "2"}, {"pad", "1"}, {"ceil-mode", ""}});
  const Evaluation r = evaluated(p, {{Dtype::kF32, {1, 1, 6}, {1, 2, 3, 4, 5, 6}, {}}});
  EXPECT_EQ(r.output.values, (std::vector<double>{1, 3, 5, 3}));
}

TEST(MaxPool, NanAndInfinitiesAreKept) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const te::Workload p =
      built("max_pool1d", {{"input", "1,1,7"}, {"kernel", "3"}, {"stride", "2"}, {"pad", "1"}});
  const Evaluation r =
      evaluated(p, {{Dtype::kF32, {1, 1, 7}, {-inf, -inf, 1, nan, 2, inf, 3}, {}}});
  EXPECT_EQ(r.output.values[0], -inf);
  EXPECT_TRUE(std::isnan(r.output.values[1]) && std::isnan(r.output.values[2]));
  EXPECT_EQ(r.output.values[3], inf);
}

}  // namespace
}  // namespace lathe::ops
