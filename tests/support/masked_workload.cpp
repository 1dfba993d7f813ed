#include "support/masked_workload.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "compiler/te/parse.h"

namespace lathe {
namespace {

using ir::LoopKind;
using ir::Tail;
using schedule::Annotate, schedule::Cache, schedule::Split;

constexpr std::int64_t kWidest = 129, kMostRows = 12;
constexpr std::int64_t kMostLanes = 128;  // that a loop may be vectorized with

class Maker {
 public:
  explicit Maker(Rng& rng) : rng_(rng) {
    static constexpr std::array<const char*, 9> kTypes = {"f32", "f64", "f16", "bf16", "i8",
                                                          "u8",  "i32", "i64", "bool"};
    type_ = kTypes[rng_.below(kTypes.size())];
    rows_ = rng_.between(1, 5);
    width_ = coin(0.3) ? rng_.between(1, 12) : width();
  }

  MaskedWorkload make() {
    auto workload = te::parse_workload(text());
    LATHE_CHECK(workload.has_value(), "{}", workload ? "" : workload.error().text());
    return {*std::move(workload), steps()};
  }

 private:
  bool coin(double p = 0.5) { return rng_.chance(p); }
  bool is_bool() const { return type_ == "bool"; }
  std::string pick(std::initializer_list<const char*> options) {
    return options.begin()[rng_.below(options.size())];
  }

  // Often near a multiple of a register's lanes.
  std::int64_t width() {
    if (coin()) return rng_.between(1, kWidest);
    const std::int64_t near = (std::int64_t{4} << rng_.below(5)) * rng_.between(1, 4);
    return std::clamp<std::int64_t>(near + rng_.between(-1, 1), 1, kWidest);
  }
  std::int64_t pad(std::int64_t size) {
    switch (rng_.below(5)) {
      case 0: return 0;
      case 1: return rng_.between(0, 3);
      case 2: return rng_.between(0, size);
      case 3: return size;
      default: return size + rng_.between(0, 40);
    }
  }
  std::string shifted(const std::string& index, std::int64_t by) {
    return by == 0 ? index : fmt::format("{}-{}", index, by);
  }
  std::string dilated(const char* tap, int taps) {
    return taps == 1 ? "" : fmt::format("+{}*{}", rng_.between(1, coin() ? 4 : 30), tap);
  }

  std::string text() {
    std::string head = fmt::format("A: {}[{},{}]\n", type_, rows_, width_), body;
    if (coin()) {
      source_ = "S";
      if (!is_bool()) {
        body = "S[i,j] = A[i,j] + A[i,j]\n";
      } else if (coin()) {
        body = "S[i,j] = !A[i,j]\n";
      } else {
        head = fmt::format("A: f32[{},{}]\n", rows_, width_);
        body = "S[i,j] = A[i,j] > 0.25\n";
      }
    }
    taps_ = is_bool() || coin() ? 1 : static_cast<int>(rng_.between(2, 4));
    const std::int64_t above = pad(rows_), left = pad(width_);
    const std::string across = taps_ == 1 && coin(0.1) ? "2*j" : "j";
    const std::string read = fmt::format(
        "{}[{},{} else {}]", source_, shifted("i" + dilated("n", taps_ > 2 ? 2 : 1), above),
        shifted(across + dilated("o", taps_), left),
        is_bool() ? pick({"false", "false", "true"}) : pick({"0", "0", "0", "1", "3"}));
    const std::string result = fmt::format(
        "C[i:{},j:{}]", rng_.between(1, std::min<std::int64_t>(rows_ + 2 * above, kMostRows)),
        coin() ? width() : std::min(kWidest, width_ + left + rng_.between(0, left)));
    return head + body + result + " = " + value(read, head) + "\n";
  }

  // Of an element of the result. May declare another input.
  std::string value(const std::string& read, std::string& head) {
    if (taps_ == 1) return is_bool() || coin() ? read : fmt::format("{0} + {0}", read);
    const std::string taps =
        taps_ > 2 ? fmt::format("n:2,o:{}", taps_) : fmt::format("o:{}", taps_);
    if (coin(0.3)) return fmt::format("max({}) {}", taps, read);
    head += fmt::format("B: {}[2,{}]\n", type_, taps_);
    return fmt::format("sum({}) {} * B[{},o]", taps, read, taps_ > 2 ? "n" : "0");
  }

  void vectorize(schedule::Trace& steps, const std::string& loop, const std::string& stem) {
    if (coin(0.4)) {
      steps.push_back(Annotate{.loop = loop, .kind = LoopKind::kVectorized});
      return;
    }
    const std::int64_t lanes = coin() ? std::min(kMostLanes, width()) : rng_.between(2, kMostLanes);
    steps.push_back(Split{loop, lanes, stem + "o", stem + "i", static_cast<Tail>(rng_.below(4))});
    steps.push_back(Annotate{.loop = stem + "i", .kind = LoopKind::kVectorized});
    if (coin(0.3)) steps.push_back(Annotate{.loop = stem + "o", .kind = LoopKind::kUnrolled});
  }

  void copy(schedule::Trace& steps, const std::string& buffer, const std::string& name) {
    Cache cache{buffer, name, pick({"", "", "C.i", "C.j"})};
    if (coin(0.6)) cache.layout = {{0, std::int64_t{1}}, {1, std::int64_t{1}}};
    else if (coin(0.3)) cache.layout = {{1, std::int64_t{1}}, {0, std::int64_t{1}}};
    if (buffer != "C" && coin()) cache.reader = buffer == "A" && source_ == "S" ? "S" : "C";
    steps.push_back(cache);
    vectorize(steps, name + (coin(0.85) ? ".d1" : ".d0"), name);
  }

  schedule::Trace steps() {
    std::vector<schedule::Trace> groups(4);
    if (taps_ > 1 && coin(0.7))
      groups[0].push_back(taps_ > 2 ? schedule::Reorder{{"C.n", "C.o", "C.j"}}
                                    : schedule::Reorder{{"C.o", "C.j"}});
    if (coin(0.8)) vectorize(groups[0], "C.j", "c");
    if (coin(0.7)) copy(groups[1], coin(0.8) ? source_ : "A", "K");
    if (coin(0.3)) copy(groups[2], "C", "W");
    if (source_ == "S") {
      if (coin(0.3)) groups[3].push_back(schedule::ComputeAt{"S", "C.i"});
      else if (coin(0.2)) groups[3].push_back(schedule::Inline{"S"});
      if (coin(0.7)) vectorize(groups[3], "S.j", "s");
    }
    shuffle(groups, rng_);
    schedule::Trace all;
    for (const schedule::Trace& group : groups) all.insert(all.end(), group.begin(), group.end());
    return all;
  }

  Rng& rng_;
  std::string type_, source_ = "A";
  std::int64_t rows_, width_;
  int taps_ = 1;
};

}  // namespace

MaskedWorkload random_masked(Rng& rng) { return Maker(rng).make(); }

}  // namespace lathe
