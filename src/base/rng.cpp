#include "base/rng.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace lathe {
namespace {

std::uint64_t splitmix(std::uint64_t& x) {
  std::uint64_t z = (x += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t seed) {
  for (auto& word : state_.s) word = splitmix(seed);
}

std::uint64_t Rng::next() {
  auto& s = state_.s;
  const std::uint64_t result = std::rotl(s[1] * 5, 7) * 9;
  const std::uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = std::rotl(s[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t n) {
  // Lemire's method: multiply, and reject the few values that would bias.
  unsigned __int128 product = static_cast<unsigned __int128>(next()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t threshold = -n % n;
    while (static_cast<std::uint64_t>(product) < threshold)
      product = static_cast<unsigned __int128>(next()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

std::int64_t Rng::between(std::int64_t low, std::int64_t high) {
  // Unsigned arithmetic wraps; the width of the widest range does not fit a signed number.
  const auto first = static_cast<std::uint64_t>(low);
  const std::uint64_t count = static_cast<std::uint64_t>(high) - first + 1;
  return static_cast<std::int64_t>(first + (count == 0 ? next() : below(count)));
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Rng::normal() {
  const double u = 1.0 - uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform());
}

Rng Rng::fork() { return Rng(next()); }

}  // namespace lathe
