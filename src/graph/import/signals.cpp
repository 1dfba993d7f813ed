// Signals: windows, which are known from their size, and sums of waves.
#include <cmath>
#include <numbers>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

constexpr std::int64_t kMostOfTable = 1 << 22;

// A sum of cosines with these factors, of a window of a size.
Row window(const char* name, double first, double second, double third) {
  return {name, 17, 1, [=](Site& site) -> Made {
            const auto size = LATHE_TRY(site.known_integers(0, "sizes"));
            if (size.size() != 1 || size[0] < 1 || size[0] > 1 << 20)
              return site.wrong("its size is [{}]", fmt::join(size, ","));
            const std::int64_t type = LATHE_TRY(site.integer("output_datatype", 1));
            const auto dtype = onnx::dtype_of(static_cast<int>(type));
            if (!dtype || !is_float(*dtype))
              return site.unsupported("it makes {}", onnx::type_name(static_cast<int>(type)));
            const bool periodic = LATHE_TRY(site.integer("periodic", 1)) != 0;
            const auto steps = static_cast<double>(periodic ? size[0] : size[0] - 1);
            std::vector<double> values;
            for (std::int64_t n = 0; n < size[0]; ++n) {
              const double angle =
                  steps == 0 ? 0 : 2 * std::numbers::pi * static_cast<double>(n) / steps;
              values.push_back(first - second * std::cos(angle) + third * std::cos(2 * angle));
            }
            return std::vector<int>{site.constant(*dtype, {size[0]}, values)};
          }};
}

// How a part of each element of a row, real and imaginary, counts for both parts of each wave: of
// [in, parts, out, 2] numbers.
std::vector<double> waves(std::int64_t length, std::int64_t in, std::int64_t parts,
                          std::int64_t out, bool inverse) {
  std::vector<double> table;
  const double scale = inverse ? 1 / static_cast<double>(length) : 1;
  for (std::int64_t n = 0; n < in; ++n)
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t k = 0; k < out; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(n * k % length) /
                             static_cast<double>(length) * (inverse ? 1 : -1);
        const double real = scale * std::cos(angle), imaginary = scale * std::sin(angle);
        table.push_back(part == 0 ? real : -imaginary);
        table.push_back(part == 0 ? imaginary : real);
      }
  return table;
}

struct Waves {
  std::int64_t length, in, parts, out;
  bool inverse;

  Shape shape() const { return {in, parts, out, 2}; }
};
Result<int> table_of(Site& site, const Waves& w) {
  if (w.length < 1 || w.parts < 1 || w.parts > 2)
    return site.wrong("its length is {}, and an element has {} parts", w.length, w.parts);
  if (w.length > 1 << 20 || elements_of(w.shape()) > kMostOfTable)
    return site.unsupported("its table of waves has {} numbers", elements_of(w.shape()));
  return site.constant(site.dtype(0), w.shape(), waves(w.length, w.in, w.parts, w.out, w.inverse));
}

Result<std::int64_t> known_length(const Site& site, std::size_t input, std::int64_t otherwise) {
  if (!site.has(input)) return otherwise;
  const auto given = LATHE_TRY(site.known_integers(input, "lengths"));
  if (given.size() != 1) return site.wrong("its input {} has {} elements", input, given.size());
  return given[0];
}

Made fourier(Site& site) {
  const Shape shape = site.shape(0);
  if (shape.size() < 2 || !is_float(site.dtype(0)))
    return site.unsupported("its input is {}", typed(site.dtype(0), shape));
  const std::int64_t given = site.version() < 20 ? LATHE_TRY(site.integer("axis", 1))
                                                 : LATHE_TRY(known_length(site, 2, -2));
  const std::size_t axis = LATHE_TRY(site.axis(given, shape.size()));
  if (axis + 1 == shape.size()) return site.wrong("its axis is that of the parts of numbers");
  const std::int64_t length = LATHE_TRY(known_length(site, 1, shape[axis]));
  const bool half = LATHE_TRY(site.integer("onesided", 0)) != 0,
             inverse = LATHE_TRY(site.integer("inverse", 0)) != 0;
  if (half && inverse) return site.unsupported("it makes half of an inverse");
  const Waves waves{length, std::min(length, shape[axis]), shape.back(),
                    half ? length / 2 + 1 : length, inverse};
  const int table = LATHE_TRY(table_of(site, waves));
  Shape output = shape;
  output[axis] = waves.out;
  output.back() = 2;
  std::vector<std::string> read, made;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    made.push_back(fmt::format("i{}", d));
    read.push_back(d == axis ? "n" : d + 1 == shape.size() ? "p" : made.back());
  }
  return site.write(
      fmt::format("{}\n{}\noutput {}\nY[{}] = sum(n:{},p:{}) X[{}] * T[n,p,{},{}]\n",
                  declared("X", site.dtype(0), shape), declared("T", site.dtype(0), waves.shape()),
                  declared("Y", site.dtype(0), output), iterators(output), waves.in, waves.parts,
                  fmt::join(read, ","), made[axis], made.back()),
      {site.input(0), table}, output);
}

// Of each frame, a step further than the one before, the waves of what a window leaves of it.
Made short_fourier(Site& site) {
  const Shape shape = site.shape(0);
  if ((shape.size() != 2 && (shape.size() != 3 || shape[2] != 1)) || !is_float(site.dtype(0)))
    return site.unsupported("its input is {}", typed(site.dtype(0), shape));
  const std::int64_t step = LATHE_TRY(known_length(site, 1, 0)),
                     window = site.has(2) ? site.at(2).elements() : shape[1],
                     length = LATHE_TRY(known_length(site, 3, window));
  if (step < 1 || length < 1 || length > shape[1] || (site.has(2) && window != length))
    return site.wrong("its frames have {} elements, its window {}, and they are {} apart", length,
                      window, step);
  const bool half = LATHE_TRY(site.integer("onesided", 1)) != 0;
  const Waves waves{length, length, 1, half ? length / 2 + 1 : length, false};
  const int table = LATHE_TRY(table_of(site, waves));
  const Shape output{shape[0], (shape[1] - length) / step + 1, waves.out, 2};
  std::vector<int> ids{site.view(site.input(0), {shape[0], shape[1]}), table};
  std::string text = declared("X", site.dtype(0), {shape[0], shape[1]}) + "\n" +
                     declared("T", site.dtype(0), waves.shape()) + "\n",
              windowed;
  if (site.has(2)) {
    ids.push_back(site.input(2));
    text += declared("W", site.dtype(2), {length}) + "\n";
    windowed = " * W[n]";
  }
  return site.write(
      fmt::format("{}output {}\nY[{}] = sum(n:{}) X[i0,{}*i1 + n]{} * T[n,0,i2,i3]\n", text,
                  declared("Y", site.dtype(0), output), iterators(output), length, step, windowed),
      ids, output);
}

}  // namespace

std::vector<Row> signal_rows() {
  return {{"DFT", 17, 1, fourier},
          {"STFT", 17, 2, short_fourier},
          window("HannWindow", 0.5, 0.5, 0),
          window("HammingWindow", 25.0 / 46, 21.0 / 46, 0),
          window("BlackmanWindow", 0.42, 0.5, 0.08)};
}

}  // namespace lathe::graph
