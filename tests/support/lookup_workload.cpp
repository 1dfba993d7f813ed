#include "support/lookup_workload.h"

#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe {
namespace {

class LookupGenerator {
 public:
  LookupGenerator(Rng& rng, const std::string& type)
      : rng_(rng), type_(type), real_(type[0] != 'i' && type[0] != 'u') {}

  std::string text() {
    using Form = std::string (LookupGenerator::*)();
    static constexpr std::array<Form, 14> kForms = {
        &LookupGenerator::shifted,      &LookupGenerator::shifted,   &LookupGenerator::embedding,
        &LookupGenerator::embedding,    &LookupGenerator::resize,    &LookupGenerator::edges,
        &LookupGenerator::pooling,      &LookupGenerator::regrouped, &LookupGenerator::table,
        &LookupGenerator::of_stage,     &LookupGenerator::computed,  &LookupGenerator::bag_of_rows,
        &LookupGenerator::from_numbers, &LookupGenerator::rows};
    return (this->*kForms[rng_.below(kForms.size())])();
  }

 private:
  std::int64_t size() {
    static constexpr std::array<std::int64_t, 10> kSizes = {1, 2, 3, 5, 7, 8, 11, 13, 17, 31};
    return kSizes[rng_.below(kSizes.size())];
  }
  bool coin(double p = 0.5) { return rng_.chance(p); }
  std::string tensor(const std::string& name, const std::vector<std::int64_t>& shape) {
    return fmt::format("{}{}: {}[{}]\n", coin(0.15) ? "const " : "", name, type_,
                       fmt::join(shape, ","));
  }
  // An index tensor whose elements lie within these.
  std::string places(const std::string& shape, std::int64_t low, std::int64_t high) {
    static constexpr std::array<const char*, 4> kTypes = {"i32", "i64", "i8", "i32"};
    return fmt::format("I: {}[{}] in {}..{}\n", kTypes[rng_.below(kTypes.size())], shape, low,
                       high);
  }
  // What becomes of the element.
  std::string used(const std::string& element) {
    switch (rng_.below(4)) {
      case 0: return element + " * 2";
      case 1: return "relu(" + element + ")";
      default: return element;
    }
  }

  std::string embedding() {
    const std::int64_t n = size(), rows = size(), m = size();
    const std::string head = tensor("T", {rows, m});
    const std::string left = coin() ? "Y[n,j] = " : "Y[j,n] = ";
    if (coin(0.3))
      return head + places(std::to_string(n), -3, rows + 2) + left +
             used(fmt::format("T[I[n],{}]", coin() ? "j else 0" : "j else 1")) + "\n";
    if (coin(0.3))
      return head + places(std::to_string(n), -5, 5) + left +
             used(fmt::format("T[min(max(I[n],0),{}),j]", rows - 1)) + "\n";
    return head + places(std::to_string(n), 0, rows - 1) + left + used("T[I[n],j]") + "\n";
  }

  // Pieces of two axes, also with long rows, each copied as it lies.
  std::string rows() {
    const std::int64_t n = size(), count = size(), i = size() % 5 + 1, j = rng_.between(1, 70);
    const std::string head = tensor("T", {count, i, j});
    if (coin(0.3))
      return head + places(std::to_string(n), -2, count) +
             "Y[n,i,j] = " + used("T[I[n],i,j else 1]") + "\n";
    return head + places(std::to_string(n), 0, count - 1) +
           (coin() ? "Y[n,i,j] = " + used("T[I[n],i,j]")
                   : "Y[i,n,j] = " + used("T[I[n],i,j] + T[0,i,j]")) +
           "\n";
  }

  // Each row begins elsewhere.
  std::string shifted() {
    const std::int64_t n = size(), w = size(), most = rng_.between(0, w - 1), rows = size();
    const std::string row =
        coin() ? "n % " + std::to_string(rows) : "min(n," + std::to_string(rows - 1) + ")";
    const std::string head = tensor("T", {rows, w});
    if (coin(0.4))
      return head + places(std::to_string(n), -4, w + 1) +
             fmt::format("Y[n,j:{}] = {}\n", size(),
                         used(fmt::format("T[{},I[n] + j else 1]", coin() ? row : "I[n]")));
    return head + places(std::to_string(n), 0, most) +
           fmt::format("Y[{},{}] = {}\n", coin() ? "n" : "n:" + std::to_string(n),
                       fmt::format("j:{}", w - most), used(fmt::format("T[{},I[n] + j]", row)));
  }

  std::string resize() {
    const std::int64_t c = size() % 4 + 1, h = size(), w = size(), y = size(), x = size();
    return tensor("X", {c, h, w}) +
           fmt::format("Y[c,y:{0},x:{1}] = {2}\n", y, x,
                       used(fmt::format(
                           "X[c,y*{}/{},{}]", h, y,
                           x <= w && coin() ? std::string("x") : fmt::format("x*{}/{}", w, x))));
  }

  // Clamped, mirrored or going round, or with something else outside.
  std::string edge(const std::string& iter, std::int64_t size, std::int64_t pad) {
    switch (rng_.below(size > pad ? 3 : 2)) {
      case 0: return fmt::format("min(max({} - {},0),{})", iter, pad, size - 1);
      case 1: return fmt::format("({} + {}) % {}", iter, size * (pad + 1) - pad, size);
      default: return fmt::format("{0} - abs({0} - abs({1} - {2}))", size - 1, iter, pad);
    }
  }
  std::string edges() {
    const std::int64_t c = size() % 3 + 1, h = size(), w = size();
    const std::int64_t p = rng_.between(0, 3), q = rng_.between(0, 3);
    if (coin(0.2))
      return tensor("X", {h, w}) +
             fmt::format("Y[y:{},x:{}] = X[y - 1,x*x/2 - {} else 1]\n", h + 1, w, q);
    return tensor("X", {c, h, w}) +
           fmt::format("Y[c,y:{},x:{}] = {}\n", h + 2 * p, w + 2 * q,
                       used(fmt::format("X[c,{},{}]", edge("y", h, p), edge("x", w, q))));
  }

  std::string pooling() {
    const std::int64_t c = size(), h = size() + 2, w = size(), o = rng_.between(1, 4);
    const std::int64_t taps = (h + o - 1) / o + 1;
    const bool sums = coin();
    const std::string read = fmt::format("X[c,min(y*{0}/{1} + r,{2}),x]", h, o, h - 1);
    const std::string inside = fmt::format("y*{0}/{1} + r < ((y + 1)*{0} + {2})/{1}", h, o, o - 1);
    return tensor("X", {c, h, w}) + fmt::format("Y[c,y:{},x] = {}(r:{}) select({},{},{})\n", o,
                                                sums ? "sum" : "max", taps, inside, read,
                                                sums || !real_ ? "0" : "-inf");
  }

  std::string regrouped() {
    const std::int64_t a = size(), b = size();
    return tensor("X", {a, b}) + (coin() ? fmt::format("Y[i:{}] = X[i/{},i%{}]\n", a * b, b, b)
                                         : fmt::format("Y[i:{}] = X[i%{},i/{}]\n", a * b, a, a));
  }

  std::string table() {
    const std::int64_t n = size(), rows = size(), m = size();
    std::vector<std::int64_t> entries;
    for (std::int64_t i = 0; i < n; ++i)
      entries.push_back(static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(rows))));
    const std::string index = coin() ? "X[G[i],j]" : "X[select(i < 2,G[i],0),j]";
    return fmt::format("G: i32[{}] = {{{}}}\n", n, fmt::join(entries, ",")) +
           tensor("X", {rows, m}) + "Y[i,j] = " + used(index) + "\n";
  }

  // Of a tensor that another stage makes.
  std::string of_stage() {
    const std::int64_t n = size(), rows = size(), m = size();
    const std::string made = coin() ? "P[i,j] = A[i,j] * 2 + B[j]\n"
                                    : fmt::format("P[i,j:{}] = sum(k) A[i,k] * B[k]\n", m);
    return tensor("A", {rows, m}) + tensor("B", {m}) + places(std::to_string(n), 0, rows - 1) +
           made + fmt::format("Y[n:{},j] = ", n) +
           used(rows >= n && coin(0.3) ? "P[I[n],j] + P[n,j]" : "P[I[n],j]") + "\n";
  }

  // Places that a stage computes.
  std::string computed() {
    const std::int64_t n = size(), m = size(), w = size();
    return tensor("X", {m, w}) + fmt::format("K[i:{}] = (i*5/3 + 1) % {}\n", n, m) +
           "Y[i,x] = " + used("X[K[i],x]") + "\n";
  }

  std::string bag_of_rows() {
    const std::int64_t n = size() % 9 + 1, k = size() % 6 + 1, rows = size(), m = size();
    return tensor("T", {rows, m}) + tensor("W", {n, k}) +
           places(fmt::format("{},{}", n, k), 0, rows - 1) +
           (coin() ? "Y[n,j] = sum(k) T[I[n,k],j] * W[n,k]\n"
                   : "Y[n,j] = sum(k) T[I[n,k],j]\nZ[n] = sum(k) W[n,k]\n");
  }

  std::string from_numbers() {
    const std::int64_t n = size(), m = size();
    return tensor("X", {m}) + fmt::format("F: f32[{}]\n", n) +
           fmt::format("Y[n] = X[min(max(i32(F[n]*3 + 1),0),{})]\n", m - 1);
  }

  Rng& rng_;
  const std::string& type_;
  bool real_;
};

}  // namespace

std::string lookup_text(Rng& rng, const std::string& type) {
  return LookupGenerator(rng, type).text();
}

}  // namespace lathe
