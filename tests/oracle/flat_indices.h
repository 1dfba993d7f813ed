// Index expressions lane by lane, for flat_count.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::interp {

using Lanes = std::vector<std::int64_t>;

template <class... Kinds>
bool is_one_of(const flat::Expr& e) {
  return (std::holds_alternative<Kinds>(e->value) || ...);
}

class Indices {
 public:
  void set(int var, std::int64_t value) { vars_[var] = value; }
  Lanes lanes(const flat::Expr& e) const;
  std::int64_t scalar(const flat::Expr& e) const { return lanes(e)[0]; }

  // Integers that are made from a real or from bits count as data, too.
  bool reads_data(const flat::Expr& e);
  // True if it is a real number, or made from one.
  bool has_real(const flat::Expr& e);

 private:
  std::map<int, std::int64_t> vars_;
  std::unordered_map<const flat::Node*, bool> reads_data_, has_real_;
};

}  // namespace lathe::interp
