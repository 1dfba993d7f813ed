#include "support/recurrent_workload.h"

#include <algorithm>
#include <array>
#include <string_view>
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
    switch (rng_.below(8)) {
      case 0: return summed();
      case 1: return neighbours();
      case 2: return cell();
      case 3:
      case 4:
      case 5:
      case 6: return mixed();
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

  // A tensor that goes on along t, which is one of its indices, wherever it stands.
  struct State {
    std::string name;
    std::vector<char> indices;
  };
  static std::string index(const State& of, const std::string& t, const std::string& others) {
    std::vector<std::string> out;
    std::size_t other = 0;
    for (const char letter : of.indices)
      out.push_back(letter == 't' ? t : std::string(1, others[other++]));
    return fmt::format("{}", fmt::join(out, ","));
  }

  // What `to` adds of an element of `from`: of the same indices, or summed up over those that it
  // takes anew, perhaps with weights.
  std::string term(const State& to, const State& from, bool now, std::string& declarations) {
    static constexpr std::array<const char*, 4> kReductions = {"sum", "sum", "sum", "max"};
    std::string others, reduced, weights;
    for (const char letter : from.indices) {
      if (letter == 't') continue;
      const bool own = std::ranges::count(to.indices, letter) > 0 && coin(0.4);
      others += own ? letter : letter == 'i' ? 'k' : 'l';
      if (!own) reduced += others.back();
    }
    const std::string read =
        fmt::format("{}[{}{}]", from.name, index(from, now ? "t" : step(coin(0.2) ? 2 : 1), others),
                    now ? "" : " else " + number());
    if (reduced.empty()) return fmt::format("{} * {}", number(), read);
    std::vector<std::string> over;
    for (const char letter : reduced)
      over.push_back(fmt::format("{}:{}", letter, extent(letter == 'k' ? 'i' : 'j')));
    std::string product = read;
    if (coin(0.6)) {
      weights = reduced;
      for (const char letter : to.indices)
        if (letter != 't' && coin(0.8)) weights += letter;
      if (coin()) std::ranges::reverse(weights);
      std::vector<std::int64_t> shape;
      std::vector<std::string> at;
      for (const char letter : weights)
        shape.push_back(extent(letter == 'k'   ? 'i'
                               : letter == 'l' ? 'j'
                                               : letter)),
            at.emplace_back(1, letter);
      const std::string name = fmt::format("W{}", weights_++);
      declarations += declared(name, shape, coin());
      product += fmt::format(" * {}[{}]", name, fmt::join(at, ","));
    }
    return fmt::format("{}({}({}) {})", real() ? "0.125 * " : "",
                       kReductions[rng_.below(kReductions.size())], fmt::join(over, ","), product);
  }
  std::int64_t extent(char letter) const {
    return letter == 't' ? steps_ : letter == 'i' ? rows_ : columns_;
  }

  // Several states with their axes in any order, each of which takes sums over others.
  std::string mixed() {
    steps_ = size(13), rows_ = size(17), columns_ = size(7);
    static constexpr std::array<std::string_view, 5> kOthers = {"i", "i", "ij", "ji", ""};
    std::vector<State> states;
    std::string declarations, statements;
    const std::int64_t count = rng_.between(1, 3);
    for (std::int64_t s = 0; s < count; ++s) {
      const std::string_view others = kOthers[rng_.below(kOthers.size())];
      std::vector<char> indices(others.begin(), others.end());
      indices.insert(indices.begin() + rng_.between(0, std::ssize(indices)), 't');
      states.push_back({std::string(1, static_cast<char>('A' + s)), std::move(indices)});
    }
    for (std::size_t s = 0; s < states.size(); ++s) {
      const State& own = states[s];
      std::vector<std::int64_t> shape;
      std::vector<std::string> sized, at;
      for (const char letter : own.indices) {
        shape.push_back(extent(letter));
        sized.push_back(fmt::format("{}:{}", letter, extent(letter)));
        at.emplace_back(1, letter);
      }
      declarations += declared("X" + own.name, shape);
      std::string value = fmt::format("X{}[{}]", own.name, fmt::join(at, ","));
      // Each takes of the one before, so that it may take of what comes after it, too.
      if (s > 0) value += " + " + term(own, states[s - 1], coin(0.3), declarations);
      for (std::int64_t terms = rng_.between(s > 0 ? 0 : 1, 2); terms > 0; --terms) {
        const std::size_t from = rng_.below(states.size());
        value += " + " + term(own, states[from], from < s && coin(0.3), declarations);
      }
      if (coin(0.2)) value = fmt::format("min({}, 3)", value);
      if (coin(0.3)) declarations += "output " + declared(own.name, shape);
      statements += fmt::format("{}[{}] = {}\n", own.name, fmt::join(sized, ","), value);
    }
    return declarations + statements;
  }

  Rng& rng_;
  std::int64_t steps_ = 1, rows_ = 1, columns_ = 1;
  int weights_ = 0;
  std::string type_ = "f32";
  bool backward_ = false;
};

}  // namespace

std::string recurrent_text(Rng& rng, bool dtypes) { return Recurrent(rng, dtypes).text(); }

}  // namespace lathe
