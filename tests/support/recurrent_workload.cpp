#include "support/recurrent_workload.h"

#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe {
namespace {

class Recurrent {
 public:
  Recurrent(Rng& rng, bool dtypes) : rng_(rng) {
    static constexpr std::array<const char*, 6> kTypes = {"f32",  "f64", "f16",
                                                          "bf16", "i32", "f32"};
    if (dtypes) type_ = kTypes[rng.below(kTypes.size())];
    backward_ = coin(0.4);
  }

  std::string text() {
    switch (rng_.below(4)) {
      case 0: return summed();
      case 1: return neighbours();
      case 2: return cell();
      default: return element_wise();
    }
  }

 private:
  bool coin(double p = 0.5) { return rng_.chance(p); }
  std::int64_t size(std::int64_t largest) {
    static constexpr std::array<std::int64_t, 10> kSizes = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17};
    for (;;)
      if (const std::int64_t s = kSizes[rng_.below(kSizes.size())]; s <= largest) return s;
  }
  bool real() const { return type_[0] != 'i'; }
  std::string number() {
    static constexpr std::array<const char*, 4> kReal = {"0.5", "-0.25", "0.75", "1"},
                                                kWhole = {"1", "2", "-1", "3"};
    return (real() ? kReal : kWhole)[rng_.below(4)];
  }
  std::string declared(const std::string& name, const std::vector<std::int64_t>& shape,
                       bool constant = false) const {
    return fmt::format("{}{}: {}[{}]\n", constant ? "const " : "", name, type_,
                       fmt::join(shape, ","));
  }
  std::string step(std::int64_t far) const {
    return fmt::format("t{}{}", backward_ ? "+" : "-", far);
  }

  // Two or three states at one element.
  std::string element_wise() {
    const std::int64_t m = size(17), n = size(17);
    const bool first = coin(), third = coin(0.4);
    const auto at = [&](const std::string& t) {
      return first ? fmt::format("{},i", t) : fmt::format("i,{}", t);
    };
    const auto before = [&](const char* of) {
      return fmt::format("{}[{} else {}]", of, at(step(coin(0.2) ? 2 : 1)), number());
    };
    const std::string here = at("t"), sized = first ? fmt::format("t:{},i:{}", n, m)
                                                    : fmt::format("i:{},t:{}", m, n);
    std::string text = declared("X", first ? std::vector{n, m} : std::vector{m, n});
    text += fmt::format("A[{}] = {} * {} + {} + X[{}]\n", sized, number(), before("A"),
                        before(third ? "C" : "B"), here);
    text += fmt::format("B[{}] = {} * {} - {}\n", sized, number(),
                        coin() ? before("B") : fmt::format("X[{}]", here),
                        coin() ? fmt::format("A[{}]", here) : before("A"));
    if (third) text += fmt::format("C[{0}] = max(B[{1}], {2})\n", sized, here, before("A"));
    if (coin(0.3)) text += fmt::format("Z[{0}] = B[{1}] * {2}\n", sized, here, number());
    return text;
  }

  // A state that is summed up in each step.
  std::string summed() {
    const std::int64_t t = size(8), n = size(5), k = size(17);
    std::string text = declared("X", {t, n, k}) + declared("U", {k, k}, coin());
    const std::string earlier = fmt::format("H[{},n,k else {}]", step(1), number());
    std::string state = earlier;
    if (coin(0.3)) {
      text += declared("S", {n, k});
      state = fmt::format("select(t == {}, S[n,k], {})", backward_ ? t - 1 : 0, earlier);
    }
    const std::string scaled = real() ? "0.125 * " : "";
    text += fmt::format("H[t,n,j] = X[t,n,j] + {}(sum(k) {} * U[{}])\n", scaled, state,
                        coin() ? "j,k" : "k,j");
    if (coin(0.3)) text += "Y[t,n] = max(j) H[t,n,j]\n";
    return text;
  }

  // Elements beside each one, in two tensors.
  std::string neighbours() {
    const std::int64_t t = size(13), m = size(17);
    return declared("X", {t, m}) + fmt::format(
                                       "A[t:{0},i:{1}] = {2} * B[{3},i-1 else 0] + X[t,i]\n"
                                       "B[t:{0},i:{1}] = A[t,i] - {4} * A[{3},i+1 else 1]\n",
                                       t, m, number(), step(1), number());
  }

  // Parts of one product as gates.
  std::string cell() {
    const std::int64_t t = size(7), n = size(3), k = size(13);
    const std::string scaled = real() ? "0.25 * " : "";
    return declared("X", {t, n, 2 * k}) + declared("U", {2 * k, k}, true) +
           (coin() ? "output " + declared("C", {t, n, k}) : "") +
           fmt::format(
               "G[t,n,g] = X[t,n,g] + {0}(sum(k) H[{1},n,k else 0] * U[g,k])\n"
               "C[t:{2},n:{3},j:{4}] = min(G[t,n,{4}+j], 1) + {5} * C[{1},n,j else 1]\n"
               "H[t:{2},n:{3},j:{4}] = max(G[t,n,j], -1) - {0}C[t,n,j]\n",
               scaled, step(1), t, n, k, number());
  }

  Rng& rng_;
  std::string type_ = "f32";
  bool backward_ = false;
};

}  // namespace

std::string recurrent_text(Rng& rng, bool dtypes) { return Recurrent(rng, dtypes).text(); }

}  // namespace lathe
