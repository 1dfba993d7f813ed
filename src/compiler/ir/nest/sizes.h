// The table of a nest's sizes: every loop extent, digit weight and offset is an entry. A
// configuration fills in the knobs only; to instantiate a program costs no more than to evaluate
// the table, of about 100 entries (docs/nest.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lathe::ir {

// An index into the table; kNone where an optional size is absent.
enum class SizeId : std::int32_t { kNone = -1 };

class Sizes {
 public:
  enum class Op : std::uint8_t { kConst, kKnob, kAdd, kMul, kCeilDiv, kMin, kMax };
  struct Entry {
    Op op;
    std::int64_t value;  // kConst: the value; kKnob: the knob's number
    SizeId a, b;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // Equal entries are shared and have one form: constants are folded, products and sums flattened
  // and sorted, equal terms of a sum collected, exact divisions carried out. Two sizes that are
  // known to be equal have equal ids.
  SizeId constant(std::int64_t value);
  SizeId knob(int number, const std::string& name);  // its value comes from the configuration
  SizeId add(SizeId a, SizeId b);
  SizeId mul(SizeId a, SizeId b);
  SizeId ceildiv(SizeId a, SizeId b);
  SizeId min(SizeId a, SizeId b);
  SizeId max(SizeId a, SizeId b);

  // What is known whatever the (positive) knobs are; false may mean "not known".
  bool divides(SizeId divisor, SizeId size) const;
  bool at_least(SizeId size, SizeId bound) const;
  bool is_negative(SizeId id) const;  // a product with a negative constant

  // For an entry that does not depend on knobs.
  bool is_constant(SizeId id) const { return at(id).op == Op::kConst; }
  std::int64_t constant_value(SizeId id) const { return at(id).value; }

  int count() const { return static_cast<int>(entries_.size()); }
  int knob_count() const { return static_cast<int>(knob_names_.size()); }
  const Entry& at(SizeId id) const { return entries_[static_cast<std::size_t>(id)]; }
  const std::string& knob_name(int number) const {
    return knob_names_[static_cast<std::size_t>(number)];
  }

  // Fills `out` with the values of all count() entries for these knob values. It allocates nothing
  // once `out` has the capacity.
  void evaluate(std::span<const std::int64_t> knobs, std::vector<std::int64_t>& out) const;
  // The value of a computed entry (no constant, no knob), from the values of the entries before it.
  std::int64_t evaluate(SizeId id, std::span<const std::int64_t> values) const;
  std::string text(SizeId id) const;  // "ceildiv(1024, p)"

 private:
  // constant * product of factors. Factors are sorted; none is a constant or a product.
  struct Product {
    std::int64_t constant = 1;
    std::vector<SizeId> factors;
  };
  // constant + sum of coefficient * term. Terms are sorted; none is a constant or a sum.
  struct Sum {
    std::int64_t constant = 0;
    std::vector<std::pair<SizeId, std::int64_t>> terms;
  };
  SizeId intern(Entry entry);
  SizeId combine(Op op, SizeId a, SizeId b);
  void collect(SizeId id, Product& out) const;
  Product product_of(SizeId id) const;
  void collect(SizeId id, std::int64_t factor, Sum& out) const;
  SizeId build(const Product& product);
  SizeId build(Sum sum);
  static std::optional<Product> quotient(const Product& a, const Product& b);
  bool at_least(const Product& size, SizeId bound, int depth) const;
  bool at_least(SizeId size, SizeId bound, int depth) const;

  std::vector<Entry> entries_;
  std::vector<std::string> knob_names_;
};

}  // namespace lathe::ir
