#include "compiler/ops/grid_sample.h"

#include <array>

#include "compiler/ops/padding.h"
#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;
using Sizes = std::vector<std::int64_t>;

enum class Between { kLinear, kNearest, kCubic };
constexpr std::array<std::string_view, 3> kBetween = {"linear", "nearest", "cubic"};
enum class Around { kZeros, kBorder, kReflection };
constexpr std::array<std::string_view, 3> kAround = {"zeros", "border", "reflection"};

// An axis of the image: the stages that make the place of each element of the grid on it, and the
// taps around that.
class SampledAxis {
 public:
  SampledAxis(char letter, std::int64_t size, Between between, Around around, bool align_corners)
      : letter_(letter), size_(size), between_(between), around_(around), corners_(align_corners) {}

  // `coordinate`: from -1 to 1; `at`, `sized`: iterators of the grid.
  std::string stages(const std::string& coordinate, const std::string& at,
                     const std::string& sized) const {
    // What is no number counts as -1. One element alone lies at 0, without a rounding.
    const std::string known = fmt::format("select(isnan({0}), -1, {0})", coordinate);
    const std::string scaled =
        corners_ && size_ == 1 ? fmt::format("min(max({}, 0), 0)", known)
        : corners_ ? fmt::format("({} + 1) * {}", known, 0.5 * static_cast<double>(size_ - 1))
                   : fmt::format("(({} + 1) * {} - 1) * 0.5", known, size_);
    const bool nearest = between_ == Between::kNearest;
    const auto stage = [&](char name, const std::string& value) {
      return fmt::format("{}{}[{}] = {}\n", name, letter_, sized, value);
    };
    const std::string raw = fmt::format("R{}[{}]", letter_, at),
                      place = fmt::format("P{}[{}]", letter_, at);
    std::string out = stage('R', nearest ? "round(" + scaled + ")" : scaled);
    out += stage('P', inside(raw));
    // What is far outside stays so, but within the range of whole numbers.
    out += fmt::format("T{0}[{1}] = i32(min(max(floor({2}), -8), {3}))\n", letter_, sized, place,
                       size_ + 8);
    if (nearest) return out;
    return out + stage('F', fmt::format("{} - floor({})", place, place));
  }

  int taps() const {
    return between_ == Between::kNearest ? 1 : between_ == Between::kLinear ? 2 : 4;
  }

  // Where tap number s of the element lies.
  std::string place(int s, const std::string& at) const {
    const int offset = between_ == Between::kCubic ? s - 1 : s;
    std::string tap = fmt::format("T{}[{}] + {}", letter_, at, offset);
    if (around_ == Around::kZeros) return tap;
    if (around_ == Around::kBorder || size_ == 1)
      return fmt::format("min(max({}, 0), {})", tap, size_ - 1);
    // Mirrored at the elements at the ends, or between these and what is beyond.
    const std::int64_t period = corners_ ? 2 * (size_ - 1) : 2 * size_;
    const std::string along = fmt::format("(({0}) % {1} + {1}) % {1}", tap, period);
    return fmt::format("min(min({0}, {1} - ({0})), {2})", along, corners_ ? period : period - 1,
                       size_ - 1);
  }

  // Keys' cubic convolution with the coefficient -0.75.
  std::string weight(int s, const std::string& at) const {
    const std::string f = fmt::format("F{}[{}]", letter_, at);
    if (between_ == Between::kLinear) return s == 0 ? fmt::format("(1 - {})", f) : f;
    const std::string g = fmt::format("(1 - {})", f);
    const std::string& near = s == 1 ? f : g;
    if (s == 1 || s == 2) return fmt::format("((1.25 * {0} - 2.25) * {0} * {0} + 1)", near);
    const std::string& other = s == 0 ? g : f;  // the distance is 2 - `other`
    return fmt::format("(0.75 * {0} * {0} * ({0} - 1))", other);
  }

 private:
  // Coordinates beyond the ends, where they are not left alone. Of the border, it is enough for
  // cubic that taps are moved inside.
  std::string inside(const std::string& x) const {
    if (around_ == Around::kZeros || (corners_ && size_ == 1)) return x;
    if (around_ == Around::kBorder && between_ == Between::kCubic) return x;
    const double low = corners_ ? 0 : -0.5, high = static_cast<double>(size_ - 1) - low,
                 range = high - low;
    std::string other = fmt::format("min(max({}, 0), {})", x, size_ - 1);
    if (around_ == Around::kReflection)
      other = fmt::format("{0} - abs({1} - ({2} - {3} - {4} * floor(({2} - {3}) / {4})))", high,
                          range, x, low, 2 * range);
    return fmt::format("select({0} < {1} || {0} > {2}, {3}, {0})", x, low, high, other);
  }

  char letter_;
  std::int64_t size_;
  Between between_;
  Around around_;
  bool corners_;
};

// The sum over the taps of all axes, the outermost first: a sum along an axis of those along the
// axes inside of it.
// `read` makes the element at an index.
template <class Read>
std::string sum_of_taps(const std::vector<SampledAxis>& axes, const std::string& at,
                        std::vector<std::string>& index, const Read& read) {
  const std::size_t a = index.size() - 2;
  if (a == axes.size()) return read(fmt::format("{}", fmt::join(index, ",")));
  std::vector<std::string> terms;
  for (int s = 0; s < axes[a].taps(); ++s) {
    index.push_back(axes[a].place(s, at));
    const std::string inner = sum_of_taps(axes, at, index, read);
    index.pop_back();
    terms.push_back(axes[a].taps() == 1 ? inner
                                        : fmt::format("{} * {}", axes[a].weight(s, at), inner));
  }
  return axes[a].taps() == 1 ? terms[0] : fmt::format("({})", fmt::join(terms, " + "));
}

Status check_shapes(const Sizes& input, const Sizes& grid, Between between) {
  if (input.size() < 4 || input.size() > 5)
    return Values::error("input", "4 or 5 dimensions are needed, [{}] has {}",
                         fmt::join(input, ","), input.size());
  if (grid.size() != input.size() || grid[0] != input[0] || grid.back() != std::ssize(input) - 2)
    return Values::error("grid",
                         "[{}] is needed for [{}]: as many images, and {} coordinates for each "
                         "element; [{}] is given",
                         input.size() == 4 ? "n,h,w,2" : "n,d,h,w,3", fmt::join(input, ","),
                         input.size() - 2, fmt::join(grid, ","));
  if (between == Between::kCubic && input.size() == 5)
    return Values::error("mode", "cubic is for images of two axes; [{}] has three",
                         fmt::join(input, ","));
  return {};
}

Result<std::vector<Algorithm>> build_grid_sample(const Values& values) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  const Between between = LATHE_TRY(one_of<Between>(values, "mode", kBetween));
  const Around around = LATHE_TRY(one_of<Around>(values, "around", kAround));
  const Sizes &input = values.numbers("input"), &grid = values.numbers("grid");
  LATHE_TRY_STATUS(check_shapes(input, grid, between));
  const std::size_t rank = input.size() - 2;
  const std::string_view letters = letters_of(rank);
  const Dtype computed = dtype == Dtype::kF64 ? dtype : Dtype::kF32;
  std::string at = "n", sized = fmt::format("n:{}", input[0]), tail;
  Sizes output = {input[0], input[1]};
  for (std::size_t a = 0; a < rank; ++a) {
    at += fmt::format(",{}", letters[a]);
    tail += fmt::format(",{}:{}", letters[a], grid[1 + a]);
    output.push_back(grid[1 + a]);
  }
  sized += tail;
  std::string text = typed(shaped("X", input), dtype) + "\n" + typed(shaped("G", grid), dtype) +
                     "\noutput " + typed(shaped("Y", output), dtype) + "\n";
  std::vector<SampledAxis> axes;
  for (std::size_t a = 0; a < rank; ++a) {
    // The first coordinate is that along the last axis.
    const std::string coordinate = fmt::format("{}(G[{},{}])", name_of(computed), at, rank - 1 - a);
    axes.emplace_back(letters[a], input[2 + a], between, around, values.flag("align-corners"));
    text += axes.back().stages(coordinate, at, sized);
  }
  std::vector<std::string> index = {"n", "c"};
  const std::string value = sum_of_taps(axes, at, index, [&](const std::string& place) {
    return fmt::format("{}(X[{}{}])", name_of(computed), place,
                       around == Around::kZeros ? " else 0" : "");
  });
  return direct(parsed("grid_sample", text + fmt::format("Y[n:{},c:{}{}] = {}({})\n", input[0],
                                                         input[1], tail, name_of(dtype), value)));
}

}  // namespace

Operator grid_sample() {
  return {"grid_sample",
          "elements of images X[n,c,...] at the places that a grid of coordinates gives",
          {{Kind::kDims, "input", "", "shape of the input: n,c,h,w or n,c,d,h,w"},
           {Kind::kDims, "grid", "",
            "shape of the coordinates: n, the axes of the output, and 2 or 3 of an element, that "
            "of the last axis first; -1 and 1 are the ends of an axis"},
           {Kind::kText, "mode", "linear", "between elements: linear, nearest or cubic"},
           {Kind::kText, "around", "zeros",
            "beyond the ends: zeros, border (the nearest element) or reflection (mirrored)"},
           {Kind::kFlag, "align-corners", "false",
            "-1 and 1 are the middles of the elements at the ends, not their outer sides"},
           float_parameter()},
          build_grid_sample};
}

}  // namespace lathe::ops
