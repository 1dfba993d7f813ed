// bench_math: the accuracy of the elementary functions that lowering writes out, in the code that
// Lathe makes of them: f32 over all 2^32 arguments, f64 over chosen ones (docs/benchmarks.md).
#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <lathe/lathe.h>

#include "math/functions.h"

namespace {

using namespace lathe::bench;

const std::vector<Function>& functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> out = {
        function("exp", "exp(X[i])", -746, 710, [](auto x, auto) { return wide::exp(x); }),
        function("log", "log(X[i])", 0, 4, [](auto x, auto) { return wide::log(x); }),
        function("tanh", "tanh(X[i])", -20, 20, [](auto x, auto) { return wide::tanh(x); }),
        function("erf", "erf(X[i])", -6, 6, [](auto x, auto) { return wide::erf(x); }),
        function("sigmoid", "sigmoid(X[i])", -746, 40, [](auto x, auto) { return sigmoid(x); }),
        function("rsqrt", "rsqrt(X[i])", 0, 4, [](auto x, auto) { return 1 / wide::sqrt(x); }),
        function("pow", "pow(X[i], Y[i])", 0, 10, [](auto x, auto y) { return wide::pow(x, y); })};
    out.back().of_two = true;
    const auto add = [&](auto f, bool turns) {
      out.push_back(f);
      out.back().turns = turns;
    };
    add(function("expm1", "expm1(X[i])", -40, 710, [](auto x, auto) { return wide::expm1(x); }),
        false);
    add(function("log1p", "log1p(X[i])", -1, 4, [](auto x, auto) { return wide::log1p(x); }),
        false);
    add(function("sin", "sin(X[i])", -4000, 4000, [](auto x, auto) { return wide::sin(x); }), true);
    add(function("cos", "cos(X[i])", -4000, 4000, [](auto x, auto) { return wide::cos(x); }), true);
    add(function("tan", "tan(X[i])", -4000, 4000, [](auto x, auto) { return wide::tan(x); }), true);
    return out;
  }();
  return all;
}

struct Settings {
  std::vector<std::string> names;  // empty: all
  std::string target = "cpu:host", dtype;
  int jobs = 2, millions = 256;
  int every = 1;  // takes one chunk of so many of all floats
};

constexpr std::int64_t kChunk = 1 << 16;
// Up to it sin, cos and tan are promised to be exact.
template <class T>
constexpr double kMostAngle = sizeof(T) == 4 ? 0x1p20 : 0x1p26;

// The format of T, and how far from its rounding unit an answer is.
template <class T>
struct Format {
  static constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  static constexpr int kLeast = std::numeric_limits<T>::min_exponent - 1 - kFraction;
  static constexpr int kBeyond = std::numeric_limits<T>::max_exponent;
};

template <class T, class Wide>
bool is_special(T got, Wide want) {
  if (want != want || got != got) return !(want != want && got != got);
  return std::signbit(got) != std::signbit(static_cast<double>(want));
}

// |got - want| in units in the last place that T has at `want`. Infinity counts as the power of two
// behind T's largest number, on both sides.
template <class T, class Wide>
double ulps(T got, Wide want) {
  using F = Format<T>;
  static const Wide beyond = std::ldexp(1.0L, F::kBeyond);
  const Wide a = got < 0 ? -static_cast<Wide>(got) : static_cast<Wide>(got);
  const Wide b = want < 0 ? -want : want;
  const Wide x = a < beyond ? a : beyond, y = b < beyond ? b : beyond;
  if (x == y) return 0;
  const Wide difference = x < y ? y - x : x - y;
  if constexpr (std::is_same_v<Wide, double>) {  // by bits: this runs 2^32 times
    const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(y) >> 52) - 1023;
    const int last = std::clamp(exponent, F::kLeast + F::kFraction, F::kBeyond - 1) - F::kFraction;
    return difference * std::bit_cast<double>(static_cast<std::uint64_t>(1023 - last) << 52);
  } else {
    const int exponent = y == 0 ? F::kLeast : std::ilogb(static_cast<long double>(y));
    const int last = std::clamp(exponent, F::kLeast + F::kFraction, F::kBeyond - 1) - F::kFraction;
    return static_cast<double>(std::ldexp(static_cast<long double>(difference), -last));
  }
}

// What pow may be off by: its logarithm is exact to f64, and e^x multiplies the error by x.
double allowance(bool of_two, bool narrow, double x, double y) {
  if (!of_two || narrow) return 1;
  const double exponent = std::fabs(y * std::log2(std::fabs(x)));
  return 2 + (std::isfinite(exponent) ? 1.5 * exponent : 0);
}

struct Worst {
  double error = 0, x = 0, y = 0;
  std::int64_t wrong = 0;  // NaN or a sign that should not be
  double wrong_x = 0, wrong_y = 0;

  void add(const Worst& other) {
    if (other.error > error) error = other.error, x = other.x, y = other.y;
    if (other.wrong > 0 && wrong == 0) wrong_x = other.wrong_x, wrong_y = other.wrong_y;
    wrong += other.wrong;
  }
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform(double low, double high) {
    return low + (high - low) * 0x1p-53 * static_cast<double>(next() >> 11);
  }

 private:
  std::uint64_t state_;
};

// Numbers at which something changes: the limits of the format, of overflow and underflow, and of
// the formulas' parts; each with its neighbours and of both signs.
template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> out = {L::quiet_NaN()};
  for (const double v : {0.0,
                         1.0,
                         0.5,
                         2.0,
                         3.0,
                         1.5,
                         0.625,
                         0.9,
                         0.9277,
                         0.34657359027997264,
                         0.7071067811865476,
                         1.4142135623730951,
                         4.0,
                         6.0,
                         9.0,
                         19.1,
                         88.7228,
                         89.0,
                         103.97,
                         104.0,
                         709.7827128933841,
                         710.0,
                         745.1332191019412,
                         746.0,
                         0x1p-149,
                         0x1p-126,
                         0x1.8p-130,
                         0x1p-1074,
                         0x1p-1022,
                         0x1p24,
                         0x1p53,
                         0x1.fffffep127,
                         0x1.fffffffffffffp1023,
                         HUGE_VAL}) {
    const T middle = static_cast<T>(v);
    for (const T x : {std::nextafter(middle, T{0}), middle, std::nextafter(middle, L::infinity())})
      out.push_back(x), out.push_back(-x);
  }
  return out;
}

// Arguments number first ... first + kChunk - 1.
template <class T>
void all_bits(std::int64_t chunk, T* x) {
  for (std::int64_t i = 0; i < kChunk; ++i)
    x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(chunk * kChunk + i));
}

template <class T>
T any_bits(Random& random) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<std::uint32_t>(random.next()));
  else return std::bit_cast<T>(random.next());
}

// Two chunks of four lie in the interval, one has all exponents of it, one has any bits.
template <class T>
void chosen(const Function& f, std::int64_t chunk, T* x) {
  Random random(static_cast<std::uint64_t>(chunk) + 1);
  for (std::int64_t i = 0; i < kChunk; ++i) {
    if (chunk % 4 < 2) x[i] = static_cast<T>(random.uniform(f.low, f.high));
    else if (chunk % 4 == 3) x[i] = any_bits<T>(random);
    else x[i] = static_cast<T>(std::exp2(random.uniform(-40, 0)) * (i % 2 == 0 ? f.low : f.high));
  }
}

// Pairs near 1, of integral exponents, of large powers, and of any bits.
template <class T>
void chosen_pairs(const Function& f, std::int64_t chunk, T* x, T* y) {
  Random random(static_cast<std::uint64_t>(chunk) + 1);
  for (std::int64_t i = 0; i < kChunk; ++i) {
    double a = random.uniform(f.low, f.high), b = random.uniform(-f.high, f.high);
    if (chunk % 4 == 1) a = random.uniform(-f.high, f.high), b = std::floor(2 * b);
    if (chunk % 4 == 2) a = std::exp2(random.uniform(-120, 120)), b = random.uniform(-9, 9);
    x[i] = chunk % 4 == 3 ? any_bits<T>(random) : static_cast<T>(a);
    y[i] = chunk % 4 == 3 ? any_bits<T>(random) : static_cast<T>(b);
  }
}

// The arguments of a function in chunks: the special values first.
template <class T>
class Arguments {
 public:
  Arguments(const Function& f, const Settings& settings)
      : f_(f), special_(special_values<T>()), every_(settings.every) {
    chunks_ = every_float() ? (std::int64_t{1} << 32) / kChunk / every_
                            : settings.millions * std::int64_t{1'000'000} / kChunk;
  }
  std::int64_t chunks() const { return chunks_ + 1; }

  void fill(std::int64_t chunk, T* x, T* y) const {
    if (chunk == 0) return fill_special(x, y);
    if (f_.of_two) chosen_pairs(f_, chunk - 1, x, y);
    else if (every_float()) all_bits((chunk - 1) * every_, x);
    else chosen(f_, chunk - 1, x);
  }

 private:
  bool every_float() const { return sizeof(T) == 4 && !f_.of_two; }
  void fill_special(T* x, T* y) const {
    const auto n = static_cast<std::int64_t>(special_.size());
    for (std::int64_t i = 0; i < kChunk; ++i) {
      x[i] = special_[static_cast<std::size_t>(i % n)];
      y[i] = special_[static_cast<std::size_t>(i / n % n)];
    }
  }

  const Function& f_;
  const std::vector<T> special_;
  std::int64_t every_, chunks_;
};

lathe::Expected<lathe::Program> compiled(const Function& f, const char* dtype,
                                         const Settings& settings) {
  lathe::Inputs inputs;
  for (const char* name : {"X", "Y"}) {
    if (*name == 'Y' && !f.of_two) continue;
    inputs.shapes[name] = {kChunk};
    inputs.dtypes[name] = dtype;
  }
  auto workload = lathe::Workload::parse(std::string("Z[i] = ") + f.expression, inputs);
  if (!workload) return std::unexpected(workload.error());
  return workload->compile("default", {.target = settings.target}, lathe::Check::kSkip);
}

// Compares a chunk's answers with f64, or with long double.
template <class T>
Worst compare(const Function& f, const T* x, const T* y, const T* z) {
  constexpr bool kNarrow = sizeof(T) == 4;
  Worst worst;
  for (std::int64_t i = 0; i < kChunk; ++i) {
    const auto want = [&] {
      if constexpr (kNarrow) return f.narrow(x[i], y[i]);
      else return f.middle(x[i], y[i]);
    }();
    if (f.turns && std::isfinite(x[i]) && std::fabs(x[i]) > kMostAngle<T>) continue;
    if (is_special(z[i], want)) {
      if (worst.wrong++ == 0) worst.wrong_x = x[i], worst.wrong_y = y[i];
      continue;
    }
    if (want != want) continue;
    const double error = ulps(z[i], want) / allowance(f.of_two, kNarrow, x[i], y[i]);
    if (error > worst.error) worst.error = error, worst.x = x[i], worst.y = y[i];
  }
  return worst;
}

// One worker: takes chunks until there are none.
template <class T>
Worst work(const Function& f, const Arguments<T>& arguments, lathe::Program& program,
           std::atomic<std::int64_t>& next, std::string& failure) {
  std::vector<T> x(kChunk), y(kChunk), z(kChunk);
  const void* in[] = {x.data(), y.data()};
  void* out[] = {z.data()};
  Worst worst;
  for (std::int64_t chunk = next++; chunk < arguments.chunks(); chunk = next++) {
    arguments.fill(chunk, x.data(), y.data());
    if (const auto ran = program.run({in, f.of_two ? 2U : 1U}, out); !ran)
      return failure = ran.error().text(), worst;
    worst.add(compare(f, x.data(), y.data(), z.data()));
  }
  return worst;
}

// The error at the worst argument again, by quadruple precision.
template <class T>
lathe::Expected<double> exact_error(const Function& f, lathe::Program& program, const Worst& at) {
  std::vector<T> x(kChunk, static_cast<T>(at.x)), y(kChunk, static_cast<T>(at.y)), z(kChunk);
  const void* in[] = {x.data(), y.data()};
  void* out[] = {z.data()};
  if (const auto ran = program.run({in, f.of_two ? 2U : 1U}, out); !ran)
    return std::unexpected(ran.error());
  return ulps(z[0], f.exact(x[0], y[0])) / allowance(f.of_two, sizeof(T) == 4, at.x, at.y);
}

void print(const Function& f, const char* dtype, std::int64_t count, const Worst& worst) {
  std::printf("%-8s %s %12lld  %8.4f%s at %.17g", f.name, dtype, static_cast<long long>(count),
              worst.error, f.of_two && dtype[1] == '6' ? " of its bound" : " ulp", worst.x);
  if (f.of_two) std::printf(", %.17g", worst.y);
  std::printf(" (%a)", worst.x);
  if (worst.wrong == 0) std::printf("  none wrong\n");
  else
    std::printf("  %lld WRONG, first at %.17g, %.17g\n", static_cast<long long>(worst.wrong),
                worst.wrong_x, worst.wrong_y);
  std::fflush(stdout);
}

// True where no sign and no NaN is wrong.
template <class T>
lathe::Expected<bool> verify(const Function& f, const char* dtype, const Settings& settings) {
  const Arguments<T> arguments(f, settings);
  const auto jobs = static_cast<std::size_t>(settings.jobs);
  std::vector<lathe::Program> programs;
  for (std::size_t job = 0; job < jobs; ++job) {
    auto program = compiled(f, dtype, settings);
    if (!program) return std::unexpected(program.error());
    programs.push_back(std::move(*program));
  }
  std::vector<Worst> worsts(jobs);
  std::vector<std::string> failures(jobs);
  std::atomic<std::int64_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t job = 0; job < jobs; ++job)
      threads.emplace_back(
          [&, job] { worsts[job] = work<T>(f, arguments, programs[job], next, failures[job]); });
  }
  for (const std::string& failure : failures)
    if (!failure.empty()) return std::unexpected(lathe::Failure{"internal", failure, f.name});
  Worst worst;
  for (const Worst& one : worsts) worst.add(one);
  const auto exact = exact_error<T>(f, programs[0], worst);
  if (!exact) return std::unexpected(exact.error());
  worst.error = *exact;
  print(f, dtype, arguments.chunks() * kChunk, worst);
  return worst.wrong == 0;
}

int usage(const std::string& wrong) {
  std::fprintf(
      stderr,
      "bench_math: %s\nusage: bench_math [FUNCTION...] [--dtype f32|f64] [--target TARGET] "
      "[--millions N] [--every N] [--jobs N]\n",
      wrong.c_str());
  return 2;
}

// Tells what is wrong with the words; empty: nothing.
std::string read(int argc, char** argv, Settings& settings) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      settings.names.push_back(word);
      continue;
    }
    const std::string value = ++i < argc ? argv[i] : "";
    int* number = word == "--jobs"       ? &settings.jobs
                  : word == "--millions" ? &settings.millions
                  : word == "--every"    ? &settings.every
                                         : nullptr;
    if (word == "--target") settings.target = value;
    else if (word == "--dtype" && (value == "f32" || value == "f64")) settings.dtype = value;
    else if (number == nullptr) return word + " " + value + " is not known here";
    else if (std::from_chars(value.data(), value.data() + value.size(), *number).ec !=
                 std::errc{} ||
             *number < 1)
      return word + " must be a whole number above 0";
  }
  for (const std::string& name : settings.names)
    if (std::ranges::none_of(functions(), [&](const Function& f) { return name == f.name; }))
      return "there is no function " + name;
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (const std::string wrong = read(argc, argv, settings); !wrong.empty()) return usage(wrong);
  bool right = true;
  for (const Function& f : functions()) {
    if (!settings.names.empty() &&
        std::ranges::find(settings.names, f.name) == settings.names.end())
      continue;
    for (const char* dtype : {"f32", "f64"}) {
      if (!settings.dtype.empty() && settings.dtype != dtype) continue;
      const auto ok =
          dtype[1] == '3' ? verify<float>(f, dtype, settings) : verify<double>(f, dtype, settings);
      if (!ok) {
        std::fprintf(stderr, "bench_math: %s\n", ok.error().text().c_str());
        return 1;
      }
      right = right && *ok;
    }
  }
  return right ? 0 : 1;
}
